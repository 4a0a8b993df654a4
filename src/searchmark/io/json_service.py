"""Services that speak JSON: a client with a cache, and chat models."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar

from searchmark.errors import FormatError
from searchmark.io.data import Schema, parse_json
from searchmark.io.http import (
    ApiKey,
    Budget,
    ClientSettings,
    HttpAnswer,
    HttpClient,
    PreparedRequest,
    Refusal,
    Reply,
    Request,
    UnusableAnswer,
    check_address,
    excerpt_without,
    prepare_request,
    tokens_of,
)
from searchmark.io.network import key_variable_for
from searchmark.io.secrets import without_credentials, without_secrets
from searchmark.io.store import atomic_write, read_text

# Answers on disk, so that nothing is paid for twice.

RESPONSE_SCHEMA = Schema("response", 1)


@dataclass(frozen=True)
class ResponseCache:
    """A folder with one file per answer, readable by its owner alone. Files may be deleted at any time."""

    folder: Path

    def get(self, question: Any) -> Any:
        """What was answered before; None if nothing was, or if the file is damaged."""
        file = self._file(question)
        if not file.is_file():
            return None
        try:
            return RESPONSE_SCHEMA.upgrade(file, parse_json(file, read_text(file)))["answer"]
        except (FormatError, KeyError, TypeError, AttributeError):
            return None

    def put(self, question: Any, answer: Any) -> None:
        with atomic_write(self._file(question), private=True) as file:
            file.write(json.dumps({**RESPONSE_SCHEMA.header(), "answer": answer}).encode() + b"\n")

    def _file(self, question: Any) -> Path:
        digest = sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
        return self.folder / digest[:2] / f"{digest}.json"


# Asks a service for JSON, and remembers what it said where there is a cache.

CLIENT_DEFAULTS = ClientSettings()

T = TypeVar("T")


class JsonClient:
    """One service that speaks JSON. Safe between threads; connections are opened when first needed and kept until `close`."""

    def __init__(
        self,
        url: str,
        options: ClientSettings = CLIENT_DEFAULTS,
        *,
        budget: Budget | None = None,
        cache: ResponseCache | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.shown_url = without_credentials(url)
        check_address(url)
        self._http = HttpClient(self.shown_url, options, budget=budget, clock=clock, sleep=sleep)
        self._url, self._options, self._cache = url, options, cache

    def __repr__(self) -> str:
        return f"JsonClient({self.shown_url!r})"

    @property
    def budget(self) -> Budget:
        return self._http.budget

    def send(self, request: Request, read: Callable[[Any], T]) -> Reply[T]:
        """What ``read`` makes of the answer. It raises `UnusableAnswer` for one of the wrong shape, which is then not cached."""
        question = self._question(request)
        reply = self._cached_reply(question, read)
        if reply is not None:
            return reply
        prepared_request = self._prepare(request)
        answer = self._http.ask(prepared_request)
        content = self._parse(answer, prepared_request)
        tokens = self._charge(content, prepared_request, answer.attempts)
        try:
            value = read(content)
        except UnusableAnswer as error:
            unusable = Refusal(str(error), status=answer.status)
        else:
            if self._cache is not None:
                self._cache.put(question, content)
            return Reply(value, answer.attempts, answer.waited_seconds, tokens)
        raise self._http.error(unusable, prepared_request, answer.attempts)

    def close(self) -> None:
        """Let go of the connections; the next request opens others."""
        self._http.close()

    def _cached_reply(self, question: Any, read: Callable[[Any], T]) -> Reply[T] | None:
        content = None if self._cache is None else self._cache.get(question)
        try:
            return None if content is None else Reply(read(content))
        except UnusableAnswer:
            return None

    def _question(self, request: Request) -> Any:
        """What tells one request from another, without secrets: another key gets the same answer."""
        headers = without_secrets({**self._options.headers, **request.headers})
        parameters = without_secrets(dict(request.parameters))
        return [request.method, self.shown_url, request.path, parameters, headers, request.body]

    def _parse(self, answer: HttpAnswer, prepared_request: PreparedRequest) -> Any:
        text = answer.text
        try:
            return parse_json(self.shown_url, text)
        except FormatError as error:
            excerpt = excerpt_without(text, prepared_request.secrets)
            failure = Refusal(f"gave an answer that is not JSON: {excerpt} ({error.reason})", status=answer.status)
        raise self._http.error(failure, prepared_request, answer.attempts)

    def _charge(self, content: Any, prepared_request: PreparedRequest, attempts: int) -> int | None:
        """Count the tokens of an answer. A bound that cannot be kept is an error, or else it would be none."""
        tokens = tokens_of(content)
        if tokens is not None:
            self.budget.add_tokens(tokens)
        elif self.budget.max_tokens is not None:
            silent = "does not say how many tokens it used, so max_tokens cannot be enforced; use max_requests instead"
            raise self._http.error(Refusal(silent, lasting=True), prepared_request, attempts)
        return tokens

    def _prepare(self, request: Request) -> PreparedRequest:
        key = {} if self._options.key is None else self._options.key.header_for(self.shown_url)
        return prepare_request(self._url, request, {**self._options.headers, **request.headers, **key})


# One question to a language model, over OpenAI's chat API or Anthropic's Messages API.


@dataclass(frozen=True)
class ChatSettings:
    """Which model is asked, and where.

    ``base_url`` and ``key_variable`` are those of the API's own service if they are not given. Its key goes to no other
    address: there ``key_variable`` has to be named; an empty one sends no key. ``temperature``: None leaves it to the model,
    since some refuse any. ``max_answer_tokens`` bounds one answer; Anthropic's API demands a bound, which is 1024 if none is
    given.
    """

    model: str
    api: Literal["openai", "anthropic"] = "openai"
    base_url: str | None = None
    key_variable: str | None = None
    temperature: float | None = 0.0
    max_answer_tokens: int | None = None

    def resolve(self) -> ChatSettings:
        """The same with the defaults of its API filled in."""
        api = CHAT_APIS[self.api]
        base_url = api.base_url if self.base_url is None else self.base_url
        return replace(
            self,
            base_url=base_url,
            key_variable=key_variable_for(base_url, self.key_variable, api.base_url, api.key.variable) or "",
            max_answer_tokens=api.max_answer_tokens if self.max_answer_tokens is None else self.max_answer_tokens,
        )


@dataclass(frozen=True)
class ChatApi:
    """How one kind of service is asked, and where its answer has the text."""

    base_url: str
    key: ApiKey  # with the variable of its own service; no key need be there, as a server of one's own needs none
    path: str
    body: Callable[[ChatSettings, str, str], dict[str, Any]]  # of the system's words and the question
    text: Callable[[Any], str]  # of an answer; `UnusableAnswer` if it has none or is not complete
    headers: Mapping[str, str] = field(default_factory=dict)
    max_answer_tokens: int | None = None


def _openai_body(options: ChatSettings, system: str, question: str) -> dict[str, Any]:
    limits = {} if options.max_answer_tokens is None else {"max_completion_tokens": options.max_answer_tokens}
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {"model": options.model, "messages": messages, **limits, **_temperature(options)}


def _openai_text(answer: Any) -> str:
    try:
        choice = answer["choices"][0]
        text, end = choice["message"]["content"], choice.get("finish_reason")
        refusal = choice["message"].get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise UnusableAnswer("gave an answer that is not a chat completion: it has no choices[0].message.content") from None
    if refusal or end not in (None, "stop"):
        raise UnusableAnswer(_unfinished_reason("refusal" if refusal else end))
    if not isinstance(text, str):
        raise UnusableAnswer("gave an answer that has no text")
    return text


def _anthropic_body(options: ChatSettings, system: str, question: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    limits = {"max_tokens": options.max_answer_tokens}
    return {"model": options.model, "system": system, "messages": messages, **limits, **_temperature(options)}


def _anthropic_text(answer: Any) -> str:
    try:
        texts = [block["text"] for block in answer["content"] if block["type"] == "text"]
        end, whole = answer["stop_reason"], "".join(texts)
    except (KeyError, TypeError):
        raise UnusableAnswer("gave an answer that is not a message: it has no content blocks or no stop_reason") from None
    if end not in ("end_turn", "stop_sequence"):
        raise UnusableAnswer(_unfinished_reason(end))
    if not texts:
        raise UnusableAnswer("gave an answer that has no text")
    return whole


def _temperature(options: ChatSettings) -> dict[str, Any]:
    return {} if options.temperature is None else {"temperature": options.temperature}


def _unfinished_reason(end: object) -> str:
    """Why an answer ended before it was complete."""
    if end in ("max_tokens", "length"):
        return "cut its answer off; raise max_answer_tokens"
    if end in ("refusal", "content_filter"):
        return "refused to answer"
    return f"did not finish its answer ({end!r})"


CHAT_APIS = {
    # ``POST /chat/completions``, as OpenAI, Ollama, vLLM and many others have it.
    "openai": ChatApi(
        "https://api.openai.com/v1", ApiKey("OPENAI_API_KEY", required=False), "/chat/completions", _openai_body, _openai_text
    ),
    # ``POST /messages``, version 2023-06-01.
    "anthropic": ChatApi(
        "https://api.anthropic.com/v1",
        ApiKey("ANTHROPIC_API_KEY", header="x-api-key", prefix="", required=False),
        "/messages",
        _anthropic_body,
        _anthropic_text,
        {"anthropic-version": "2023-06-01"},
        max_answer_tokens=1024,
    ),
}


class ChatModel:
    """A language model behind an address."""

    def __init__(
        self,
        options: ChatSettings,
        client: ClientSettings = CLIENT_DEFAULTS,
        budget: Budget | None = None,
        cache: ResponseCache | None = None,
    ) -> None:
        self._options, self._api = options.resolve(), CHAT_APIS[options.api]
        variable = self._options.key_variable
        key = replace(self._api.key, variable=variable) if variable else None
        settings = replace(client, key=key, headers={**self._api.headers, **client.headers})
        self._client = JsonClient(self._options.base_url or self._api.base_url, settings, budget=budget, cache=cache)

    def ask(self, system: str, question: str, read: Callable[[str], T]) -> Reply[T]:
        """What ``read`` makes of the text that answers a question; it raises `UnusableAnswer` for a text that will not do."""
        request = Request(path=self._api.path, body=self._api.body(self._options, system, question))
        return self._client.send(request, lambda answer: read(self._api.text(answer)))

    def close(self) -> None:
        self._client.close()
