"""Asks a service over HTTP for JSON: as often as it allows, again when it is busy, within a budget, and never for ever.

No key and no password leaves it except in the request itself: addresses are shown without them, and whatever a service
says in an error is searched for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from searchmark.errors import FormatError, ServiceError, shortened
from searchmark.files.store import BOM, parse_json
from searchmark.services.budget import Budget, tokens_of
from searchmark.services.content import content_of
from searchmark.services.exchange import ClientOptions, Reply, Request, Unusable
from searchmark.services.network import check_network
from searchmark.services.outgoing import Outgoing, check_address, outgoing
from searchmark.services.rate_limit import RateLimit
from searchmark.services.redaction import scrubbed, without_secrets
from searchmark.services.response_cache import ResponseCache
from searchmark.services.retrying import HOPELESS, LONGEST_WAITS, backoff, is_retried, retry_after
from searchmark.services.secret_forms import without_credentials

if TYPE_CHECKING:
    import httpx

DEFAULTS = ClientOptions()
_LOOKED_AT = 1 << 16  # characters of an answer that are searched for secrets before the first of them are shown
_SHOWN = 200
_LONGEST_REASON = 600

T = TypeVar("T")


@dataclass(frozen=True)
class _Received:
    content: bytes
    status: int


@dataclass(frozen=True)
class _Refusal:
    """Why an attempt gave no answer, and what the service said.

    ``again``: another attempt may help, after ``wait`` seconds if the service says so. ``lasting``: every other request
    would fail as well.
    """

    reason: str
    said: str | None = None
    status: int | None = None
    again: bool = False
    wait: float | None = None
    lasting: bool = False


class JsonClient:
    """One service. Safe between threads; connections are opened when first needed and kept until `close`."""

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
        self.budget = Budget() if budget is None else budget
        self._url, self._options, self._cache = url, options, cache
        self._clock, self._sleep = clock, sleep
        self._limit = RateLimit(options.requests_per_second, clock, sleep)
        self._lock = Lock()
        self._http: httpx.Client | None = None
        self._given_up: ServiceError | None = None

    def __repr__(self) -> str:
        return f"JsonClient({self.shown_url!r})"

    def send(self, request: Request, read: Callable[[Any], T]) -> Reply[T]:
        """What ``read`` makes of the answer. It raises `Unusable` for one of the wrong shape, which is then not cached."""
        question = self._question(request)
        kept = self._cached(question, read)
        if kept is not None:
            return kept
        sent = self._outgoing(request)
        answer, attempts, waited = self._answered(sent)
        content = self._parsed(answer, sent, attempts)
        tokens = self._charged(content, sent, attempts)
        try:
            value = read(content)
        except Unusable as error:
            unusable = _Refusal(str(error), status=answer.status)
        else:
            if self._cache is not None:
                self._cache.put(question, content)
            return Reply(value, attempts, waited, tokens)
        raise self._error(unusable, sent, attempts)

    def close(self) -> None:
        """Let go of the connections; the next request opens others."""
        with self._lock:
            http, self._http = self._http, None
        if http is not None:
            http.close()

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

    def _answered(self, sent: Outgoing) -> tuple[_Received, int, float]:
        """Ask, and ask again where that may help; the answer, how many attempts it took and how long they waited."""
        check_network(self.shown_url)
        if self._given_up is not None:
            raise ServiceError(f"{self._given_up}; not asked again", self._given_up.status)
        waited = paused = 0.0
        for attempt in range(1, self._options.retries + 2):
            self.budget.take_request()
            waited += self._limit.wait()
            outcome = self._attempt(sent.request)
            if isinstance(outcome, _Received):
                return outcome, attempt, waited
            if not outcome.again or attempt > self._options.retries:
                raise self._error(outcome, sent, attempt)
            pause = backoff(self._options.backoff_seconds, attempt) if outcome.wait is None else outcome.wait
            paused += pause
            if paused > LONGEST_WAITS:
                too_long = f"{outcome.reason} (not asked again: its waits add up to more than {LONGEST_WAITS:g} seconds)"
                raise self._error(replace(outcome, reason=too_long), sent, attempt)
            self._sleep(pause)
            waited += pause
        raise AssertionError("the last attempt either answers or raises")

    def _error(self, failure: _Refusal, sent: Outgoing, attempts: int) -> ServiceError:
        tries = f" ({attempts} attempts)" if attempts > 1 else ""
        said = "" if failure.said is None else f" {_excerpt(failure.said, sent.secrets)}"
        reason = shortened(_harmless(failure.reason, sent.secrets), _LONGEST_REASON)
        sentence = f"{self.shown_url} {reason}{said}{tries}"
        error = ServiceError(sentence, failure.status, attempts)
        if self._options.gives_up and failure.lasting:
            self._given_up = error
        return error

    def _attempt(self, request: httpx.Request) -> _Received | _Refusal:
        """Ask once; from the connection to the last byte of the answer it takes no longer than `timeout_seconds`."""
        import httpx

        from searchmark.services.deadline import must_end_within

        try:
            with must_end_within(self._options.timeout_seconds):
                response = self._opened().send(request, stream=True)
                try:
                    return self._received(response)
                finally:
                    response.close()
        except httpx.TimeoutException:
            late = f"gave no complete answer within {self._options.timeout_seconds:g} seconds (timeout_seconds)"
            return _Refusal(late, again=True, lasting=True)
        except httpx.HTTPError as error:
            ours = isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol)
            again = isinstance(error, httpx.TransportError) and not ours
            return _Refusal(f"did not answer as it should: {type(error).__name__}: {error}", again=again, lasting=True)

    def _received(self, response: httpx.Response) -> _Received | _Refusal:
        status = response.status_code
        if not response.is_success:
            wait, said = retry_after(response.headers.get("retry-after")), _text(content_of(response, _LOOKED_AT).data)
            return _Refusal(_refusal(response), said, status, is_retried(status), wait, lasting=status in HOPELESS)
        limit = self._options.max_response_bytes
        content = content_of(response, limit)
        return _Received(content.data, status) if content.whole else _Refusal(f"gave more than {limit} bytes", status=status)

    def _parsed(self, answer: _Received, sent: Outgoing, attempts: int) -> Any:
        text = _text(answer.content)
        try:
            return parse_json(self.shown_url, text)
        except FormatError as error:
            failure = _Refusal(
                f"gave an answer that is not JSON: {_excerpt(text, sent.secrets)} ({error.reason})", status=answer.status
            )
        raise self._error(failure, sent, attempts)

    def _charged(self, content: Any, sent: Outgoing, attempts: int) -> int | None:
        """Count the tokens of an answer. A bound that cannot be kept is an error, or else it would be none."""
        tokens = tokens_of(content)
        if tokens is not None:
            self.budget.add_tokens(tokens)
        elif self.budget.max_tokens is not None:
            silent = "does not say how many tokens it used, so max_tokens cannot be enforced; use max_requests instead"
            raise self._error(_Refusal(silent, lasting=True), sent, attempts)
        return tokens

    def _outgoing(self, request: Request) -> Outgoing:
        key = {} if self._options.key is None else self._options.key.header_for(self.shown_url)
        return outgoing(self._url, request, {**self._options.headers, **request.headers, **key})

    def _opened(self) -> httpx.Client:
        import httpx

        from searchmark.services.deadline import with_deadlines

        with self._lock:
            if self._http is None:
                self._http = with_deadlines(httpx.Client(timeout=self._options.timeout_seconds, follow_redirects=False))
            return self._http


def _refusal(response: httpx.Response) -> str:
    said = f"did not answer as it should: {response.status_code}"
    if response.has_redirect_location:
        return f"{said}, which points to {response.headers['location']!r} (configure that address if it is right):"
    return said


def _text(content: bytes) -> str:
    return content.removeprefix(BOM).decode("utf-8", "replace").strip()


def _harmless(text: str, secrets: frozenset[str]) -> str:
    return scrubbed(without_credentials(text), secrets)


def _excerpt(text: str, secrets: frozenset[str]) -> str:
    """The beginning of a stranger's words, without secrets, and with everything escaped that a terminal might obey."""
    known = _harmless(text[:_LOOKED_AT], secrets)
    return repr(known if len(known) <= _SHOWN else f"{known[: _SHOWN - 3]}...")
