"""Asks a service for JSON, and remembers what it said where there is a cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from searchmark.errors import FormatError
from searchmark.files.store import parse_json
from searchmark.services.budget import Budget, tokens_of
from searchmark.services.exchange import ClientOptions, Reply, Request, Unusable
from searchmark.services.http_client import HttpAnswer, HttpClient, Refusal, excerpt
from searchmark.services.outgoing import Outgoing, check_address, outgoing
from searchmark.services.redaction import without_secrets
from searchmark.services.response_cache import ResponseCache
from searchmark.services.secret_forms import without_credentials

DEFAULTS = ClientOptions()

T = TypeVar("T")


class JsonClient:
    """One service that speaks JSON. Safe between threads; connections are opened when first needed and kept until `close`."""

    def __init__(
        self,
        url: str,
        options: ClientOptions = DEFAULTS,
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
        """What ``read`` makes of the answer. It raises `Unusable` for one of the wrong shape, which is then not cached."""
        question = self._question(request)
        kept = self._cached(question, read)
        if kept is not None:
            return kept
        sent = self._outgoing(request)
        answer = self._http.ask(sent)
        content = self._parsed(answer, sent)
        tokens = self._charged(content, sent, answer.attempts)
        try:
            value = read(content)
        except Unusable as error:
            unusable = Refusal(str(error), status=answer.status)
        else:
            if self._cache is not None:
                self._cache.put(question, content)
            return Reply(value, answer.attempts, answer.waited_seconds, tokens)
        raise self._http.error(unusable, sent, answer.attempts)

    def close(self) -> None:
        """Let go of the connections; the next request opens others."""
        self._http.close()

    def _cached(self, question: Any, read: Callable[[Any], T]) -> Reply[T] | None:
        content = None if self._cache is None else self._cache.get(question)
        try:
            return None if content is None else Reply(read(content))
        except Unusable:
            return None

    def _question(self, request: Request) -> Any:
        """What tells one request from another, without secrets: another key gets the same answer."""
        headers = without_secrets({**self._options.headers, **request.headers})
        parameters = without_secrets(dict(request.parameters))
        return [request.method, self.shown_url, request.path, parameters, headers, request.body]

    def _parsed(self, answer: HttpAnswer, sent: Outgoing) -> Any:
        text = answer.text
        try:
            return parse_json(self.shown_url, text)
        except FormatError as error:
            said = excerpt(text, sent.secrets)
            failure = Refusal(f"gave an answer that is not JSON: {said} ({error.reason})", status=answer.status)
        raise self._http.error(failure, sent, answer.attempts)

    def _charged(self, content: Any, sent: Outgoing, attempts: int) -> int | None:
        """Count the tokens of an answer. A bound that cannot be kept is an error, or else it would be none."""
        tokens = tokens_of(content)
        if tokens is not None:
            self.budget.add_tokens(tokens)
        elif self.budget.max_tokens is not None:
            silent = "does not say how many tokens it used, so max_tokens cannot be enforced; use max_requests instead"
            raise self._http.error(Refusal(silent, lasting=True), sent, attempts)
        return tokens

    def _outgoing(self, request: Request) -> Outgoing:
        key = {} if self._options.key is None else self._options.key.header_for(self.shown_url)
        return outgoing(self._url, request, {**self._options.headers, **request.headers, **key})
