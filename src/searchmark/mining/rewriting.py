"""Queries in the words of a language model, over OpenAI's chat API or Anthropic's Messages API, cached, with bounds.

Whatever goes wrong, a case falls back to the query that the rules made, is marked ``llm_failed``, and the reason is
kept. The key comes from the environment and goes nowhere but into the request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from searchmark.config import RewriterConfig
from searchmark.errors import ServiceError, UsageError
from searchmark.files.cache_folders import cache_folder
from searchmark.mining.cases import Rewriting
from searchmark.services.budget import Budget
from searchmark.services.chat import ChatModel, ChatOptions
from searchmark.services.exchange import ClientOptions, Unusable
from searchmark.services.redaction import without_secrets
from searchmark.services.response_cache import ResponseCache

PROMPT = (
    "You turn the message of a commit into the question that a developer would have typed into a code search before the change was "
    "made. Ask for the behaviour or the part of the code, not for the change. One sentence, at most 25 words, simple English. Keep "
    "names of functions, classes, options and error texts that the message holds. Add no names of files or folders, no ticket "
    "numbers, and nothing that the message does not say. Answer with the question alone."
)
_LONGEST_ANSWER = 500  # characters: more is no query
_LONGEST_MESSAGE = 4_000


class Rewriter:
    """Rewrites queries, one request each, within the bounds of its config. ``tell`` hears why one has failed."""

    def __init__(self, config: RewriterConfig, tell: Callable[[str], None] = lambda _: None) -> None:
        self.budget = Budget(config.max_requests, config.max_tokens)
        self._tell = tell
        self._prompt = config.prompt or PROMPT
        cache = ResponseCache(Path(config.cache) if config.cache else cache_folder() / "rewriting")
        try:
            self._model = ChatModel(_chat_options(config), _client_options(config), self.budget, cache)
        except UsageError as error:
            raise UsageError(f"dataset.rewriter: {error}") from error

    def __enter__(self) -> Rewriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._model.close()

    def rewrite(self, message: str, query: str) -> Rewriting:
        """The query of one message: from the cache, from the service, or not at all, with the reason."""
        told = f"Message:\n{message[:_LONGEST_MESSAGE]}\n\nWithout noise:\n{query}"
        try:
            return Rewriting(self._model.ask(self._prompt, told, _query).value)
        except ServiceError as error:
            self._tell(f"not rewritten, the query of the rules is used: {error}")
            return Rewriting(None, str(error))


def described(config: RewriterConfig) -> dict[str, Any]:
    """The settings as they may be written down: with the defaults of the API, without secrets."""
    described: dict[str, Any] = without_secrets(asdict(config) | asdict(_chat_options(config).resolved()))
    return described


def _chat_options(config: RewriterConfig) -> ChatOptions:
    return ChatOptions(config.model, config.api, config.base_url, config.key_variable, config.temperature, config.max_answer_tokens)


def _client_options(config: RewriterConfig) -> ClientOptions:
    return ClientOptions(
        timeout_seconds=config.timeout_seconds,
        retries=config.retries,
        backoff_seconds=config.backoff_seconds,
        requests_per_second=config.requests_per_second,
        gives_up=True,
    )


def _query(text: str) -> str:
    """A text on one line and without quotes; one that cannot be a query is refused."""
    line = " ".join(text.split()).strip("\"'` ")
    if not line or len(line) > _LONGEST_ANSWER:
        raise Unusable(f"gave an answer that is {'too long to be a query' if line else 'empty'}")
    return line
