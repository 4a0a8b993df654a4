"""Queries in the words of a language model: any service that speaks OpenAI's chat interface, cached, with bounds.

Whatever goes wrong, a case falls back to the query that the rules made, is marked ``llm_failed``, and the reason is
kept. The key comes from the environment and goes nowhere but into the request.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from searchmark.config import RewriterConfig
from searchmark.errors import FormatError, UsageError
from searchmark.files.store import cache_folder, parse_json, read_text, write_text
from searchmark.mining.cases import Rewriting

PROMPT = (
    "You turn the message of a commit into the question that a developer would have typed into a code search before the change was "
    "made. Ask for the behaviour or the place in the code, not for the change. One sentence, at most 25 words, plain English. Keep "
    "names of functions, classes, options and error texts that stand in the message. Add no names of files or folders, no ticket "
    "numbers, and nothing that the message does not say. Answer with the question alone."
)
_LONGEST_ANSWER = 500  # characters: more is no query
_LONGEST_MESSAGE = 4_000
_LONGEST_WAIT = 60.0
_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_OK = 200


class _Failed(Exception):
    """One request did not give an answer; ``after`` is when another try may help, None if it will not."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class Rewriter:
    """Words queries anew, one request each, within the bounds of its config. ``tell`` hears why one has failed."""

    def __init__(self, config: RewriterConfig, tell: Callable[[str], None] = lambda _: None) -> None:
        self._config = config
        self._tell = tell
        self._url = urlsplit(config.base_url)
        self._shown = without_password(config.base_url)
        self._unreachable = 0
        if self._url.scheme not in ("http", "https") or not self._url.hostname:
            raise UsageError(f"dataset.rewriter.base_url: {self._shown!r} is not an http or https address")
        self._key = os.environ.get(config.key_variable, "")
        self._prompt = config.prompt or PROMPT
        self._cache = Path(config.cache) if config.cache else _cache_folder()
        self.requests = 0
        self.tokens = 0

    def rewrite(self, message: str, query: str) -> Rewriting:
        """The query of one message: from the cache, from the service, or not at all, with the reason."""
        body = self._body(message, query)
        file = self._file(body)
        known = _cached(file)
        if known is not None:
            return Rewriting(known)
        try:
            text = self._asked(body)
        except _Failed as error:
            self._tell(f"not rewritten, the rule's query stays: {error}")
            return Rewriting(None, str(error))
        write_text(file, json.dumps({"query": text}) + "\n")
        return Rewriting(text)

    def _body(self, message: str, query: str) -> dict[str, Any]:
        told = f"Message:\n{message[:_LONGEST_MESSAGE]}\n\nWithout noise:\n{query}"
        messages = [{"role": "system", "content": self._prompt}, {"role": "user", "content": told}]
        return {"model": self._config.model, "messages": messages, "temperature": 0}

    def _file(self, body: dict[str, Any]) -> Path:
        digest = sha256(json.dumps([self._config.base_url, body], sort_keys=True).encode()).hexdigest()
        return self._cache / digest[:2] / f"{digest}.json"

    def _asked(self, body: dict[str, Any]) -> str:
        """Ask, and ask again where that may help, as often as is allowed."""
        for attempt in range(self._config.retries + 1):
            try:
                return self._answer(body)
            except _Failed as error:
                if error.after is None or attempt == self._config.retries:
                    raise
                time.sleep(min(max(error.after, self._config.backoff_seconds * 2**attempt), _LONGEST_WAIT))
        raise AssertionError("the last try either answers or raises")

    def _answer(self, body: dict[str, Any]) -> str:
        if self._unreachable > self._config.retries:
            raise _Failed(f"{self._shown} could not be reached {self._unreachable} times in a row")
        if self.requests >= self._config.max_requests:
            raise _Failed(f"the bound of {self._config.max_requests} requests is reached")
        if self._config.max_tokens is not None and self.tokens >= self._config.max_tokens:
            raise _Failed(f"the bound of {self._config.max_tokens} tokens is reached")
        self.requests += 1
        answer = self._decoded(self._posted(json.dumps(body).encode()))
        usage = answer.get("usage")
        self.tokens += usage.get("total_tokens", 0) if isinstance(usage, dict) else 0
        return _text(answer)

    def _posted(self, body: bytes) -> bytes:
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=self._config.timeout_seconds)
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self._key}"} if self._key else {})}
        try:
            connection.request("POST", f"{self._url.path.rstrip('/')}/chat/completions", body, headers)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._unreachable += 1
            raise _Failed(f"{self._shown} cannot be reached: {error or type(error).__name__}", 0.0) from error
        finally:
            connection.close()
        self._unreachable = 0
        if response.status != _OK:
            raise _Failed(f"{self._shown} answers {response.status} {response.reason}", _after(response))
        return content

    def _decoded(self, content: bytes) -> dict[str, Any]:
        try:
            answer = parse_json(self._shown, content.decode("utf-8", "replace"))
        except FormatError as error:
            raise _Failed(str(error)) from error
        if not isinstance(answer, dict):
            raise _Failed(f"{self._shown} answers something that is no chat completion")
        return answer


def without_password(address: str) -> str:
    """An address as it may be shown: without a name and a password in it."""
    return re.sub(r"(?<=://)[^/\s]+@", "", address)


def _after(response: http.client.HTTPResponse) -> float | None:
    """When to try again, in seconds; None if the service means what it says."""
    if response.status not in _TRY_AGAIN:
        return None
    wanted = response.headers.get("Retry-After", "0")
    return float(wanted) if wanted.isdigit() else 0.0


def _text(answer: dict[str, Any]) -> str:
    """The text of a chat completion, on one line; anything else is a failure."""
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError) as error:
        raise _Failed("the answer has no choices[0].message.content") from error
    line = " ".join(text.split()).strip("\"'` ") if isinstance(text, str) else ""
    if not line or len(line) > _LONGEST_ANSWER:
        raise _Failed("the answer is empty" if not line else "the answer is too long to be a query")
    return line


def _cached(file: Path) -> str | None:
    """What was answered before; a file that cannot be read was never written by us."""
    if not file.is_file():
        return None
    try:
        query = parse_json(file, read_text(file))["query"]
    except (FormatError, KeyError, TypeError):
        return None
    return query if isinstance(query, str) else None


def _cache_folder() -> Path:
    return cache_folder() / "rewriting"
