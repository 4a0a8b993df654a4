"""Asks a service over HTTP: as often as it allows, again when it is busy, within a budget, and never for ever.

No key and no password leaves it except in the request itself: addresses are shown without them, and whatever a service
says in an error is searched for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

from searchmark.errors import ServiceError, shortened
from searchmark.files.store import BOM
from searchmark.services.budget import Budget
from searchmark.services.content import Content, content_of, saved_content
from searchmark.services.exchange import ClientOptions
from searchmark.services.network import check_network
from searchmark.services.outgoing import Outgoing
from searchmark.services.rate_limit import RateLimit
from searchmark.services.redaction import scrubbed
from searchmark.services.redirects import redirected
from searchmark.services.retrying import ANSWERS, HOPELESS, LONGEST_WAITS, backoff, is_retried, retry_after
from searchmark.services.search_end import seconds_left
from searchmark.services.secret_forms import without_credentials

if TYPE_CHECKING:
    import httpx

_LOOKED_AT = 1 << 16  # characters of an answer that are searched for secrets before the first of them are shown
_SHOWN = 200
_LONGEST_REASON = 600
_MOST_REDIRECTS = 5


@dataclass(frozen=True)
class HttpAnswer:
    """What a service answered, and what that took: attempts, and seconds of waiting between them and for a turn."""

    content: bytes
    status: int
    content_type: str = ""
    attempts: int = 1
    waited_seconds: float = 0.0

    @property
    def text(self) -> str:
        return _text(self.content)


@dataclass(frozen=True)
class Refusal:
    """Why an attempt gave no answer, and what the service said.

    ``again``: another attempt may help, after ``wait`` seconds if the service says so. ``lasting``: every other request
    would fail as well. ``instead``: what came instead of an answer that can be read; it differs from request to request.
    """

    reason: str
    said: str | None = None
    status: int | None = None
    again: bool = False
    wait: float | None = None
    lasting: bool = False
    instead: str | None = None


class HttpClient:
    """One service. Safe between threads; connections are opened when first needed and kept until `close`."""

    def __init__(
        self,
        shown_url: str,
        options: ClientOptions,
        *,
        budget: Budget | None = None,
        error_in: Callable[[str], str | None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.shown_url = shown_url
        self._error_in = error_in
        self.budget = Budget() if budget is None else budget
        self._options, self._sleep = options, sleep
        self._limit = RateLimit(options.requests_per_second, clock, sleep)
        self._lock = Lock()
        self._http: httpx.Client | None = None
        self._given_up: ServiceError | None = None

    def ask(self, sent: Outgoing, into: IO[bytes] | None = None) -> HttpAnswer:
        """Ask, and ask again where that may help. With a file, the content of the answer is written ``into`` it and not held."""
        check_network(self.shown_url)
        if self._given_up is not None:
            raise ServiceError(f"{self._given_up.sentence}; not asked again", self._given_up.status)
        waited = paused = 0.0
        refused: Refusal | None = None
        for attempt in range(1, self._options.retries + 2):
            self.budget.take_request()
            waited += self._limit.wait()
            outcome = self._attempt(sent.request, self._seconds(refused), into)
            if refused is not None and isinstance(outcome, Refusal) and seconds_left() <= 0:
                raise self.error(_without_time(refused), sent, attempt)
            if isinstance(outcome, HttpAnswer):
                return outcome if attempt == 1 and not waited else replace(outcome, attempts=attempt, waited_seconds=waited)
            if not outcome.again or attempt > self._options.retries:
                raise self.error(outcome, sent, attempt)
            pause = backoff(self._options.backoff_seconds, attempt) if outcome.wait is None else outcome.wait
            paused += pause
            if paused > LONGEST_WAITS:
                too_long = f"{outcome.reason} (not asked again: its waits add up to more than {LONGEST_WAITS:g} seconds)"
                raise self.error(replace(outcome, reason=too_long), sent, attempt)
            if pause >= seconds_left():
                raise self.error(_without_time(outcome), sent, attempt)
            self._sleep(pause)
            waited += pause
            refused = outcome
        raise AssertionError("the last attempt either answers or raises")

    def _seconds(self, refused: Refusal | None) -> float:
        """For an attempt: one that follows a refusal ends with the search, so that what was refused can still be said."""
        whole = self._options.timeout_seconds
        return whole if refused is None else max(0.0, min(whole, seconds_left()))

    def error(self, failure: Refusal, sent: Outgoing, attempts: int) -> ServiceError:
        """The failure in one sentence, without a secret of the request."""
        tries = f" ({attempts} attempts)" if attempts > 1 else ""
        said = "" if failure.said is None else f" {excerpt(failure.said, sent.secrets)}"
        reason = shortened(_harmless(failure.reason, sent.secrets), _LONGEST_REASON)
        instead = None if failure.instead is None else excerpt(failure.instead, sent.secrets)
        error = ServiceError(f"{self.shown_url} {reason}{said}{tries}", failure.status, attempts, instead)
        if self._options.gives_up and failure.lasting:
            self._given_up = error
        return error

    def close(self) -> None:
        """Let go of the connections; the next request opens others."""
        with self._lock:
            http, self._http = self._http, None
        if http is not None:
            http.close()

    def _attempt(self, request: httpx.Request, seconds: float, into: IO[bytes] | None) -> HttpAnswer | Refusal:
        """Ask once; from the connection to the last byte of the answer it takes no longer than so many seconds."""
        import httpx

        from searchmark.services.deadline import must_end_within

        try:
            with must_end_within(seconds):
                return self._exchanged(request, into)
        except httpx.TimeoutException:
            late = f"gave no complete answer within {self._options.timeout_seconds:g} seconds (timeout_seconds)"
            return Refusal(late, again=True, lasting=True)
        except httpx.HTTPError as error:
            ours = isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol)
            again = isinstance(error, httpx.TransportError) and not ours
            return Refusal(f"did not answer as it should: {type(error).__name__}: {error}", again=again, lasting=True)

    def _exchanged(self, request: httpx.Request, into: IO[bytes] | None) -> HttpAnswer | Refusal:
        """One request and its answer; as many more as there are redirects that may be followed."""
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._response(request)
            try:
                options = self._options
                following = redirected(request, response, elsewhere=options.leave_host) if options.follow_redirects else None
                if following is None:
                    return self._received(response, into)
            finally:
                response.close()
            request = following
        return Refusal(f"did not answer as it should: it redirects more than {_MOST_REDIRECTS} times")

    def _response(self, request: httpx.Request) -> httpx.Response:
        """What the transport answers; `httpx.Client.send` would log the address, keep cookies, and take a third of the time."""
        opened: Any = self._opened()
        request.extensions["timeout"] = {"pool": self._options.timeout_seconds}  # for the rest there is the deadline
        response: httpx.Response = opened._transport_for_url(request.url).handle_request(request)
        return response

    def _received(self, response: httpx.Response, into: IO[bytes] | None) -> HttpAnswer | Refusal:
        status, limit = response.status_code, self._options.max_response_bytes
        answers = status in ANSWERS
        content = self._content(response, limit, into) if answers else self._content(response, _LOOKED_AT)
        if not answers:
            wait, said = retry_after(response.headers.get("retry-after")), _text(content.data)
            return Refusal(
                _refusal(response), self._error_in(said) or said, status, is_retried(status), wait, lasting=status in HOPELESS
            )
        if not content.whole:
            return Refusal(f"gave more than {limit} bytes (max_response_bytes)", status=status)
        return HttpAnswer(content.data, status, response.headers.get("content-type", ""))

    def _content(self, response: httpx.Response, limit: int, into: IO[bytes] | None = None) -> Content:
        from searchmark.services.deadline import end_if_more_came

        content = content_of(response, limit) if into is None else saved_content(response, limit, into)
        if content.whole:
            end_if_more_came(response)
        return content

    def _opened(self) -> httpx.Client:
        if self._http is not None:
            return self._http
        import httpx

        from searchmark.services.deadline import with_deadlines

        with self._lock:
            if self._http is None:
                most = self._options.connections
                limits = httpx.Limits(max_connections=most, max_keepalive_connections=most)
                self._http = with_deadlines(httpx.Client(limits=limits))
            return self._http


def _without_time(refused: Refusal) -> Refusal:
    return replace(refused, reason=f"{refused.reason} (not asked again: the search has no more time)")


def _refusal(response: httpx.Response) -> str:
    said = f"did not answer as it should: {response.status_code}"
    if response.has_redirect_location:
        return f"{said}, which points to {response.headers['location']!r} (configure that address if it is right):"
    return said


def _text(content: bytes) -> str:
    return content.removeprefix(BOM).decode("utf-8", "replace").strip()


def _harmless(text: str, secrets: frozenset[str]) -> str:
    return scrubbed(without_credentials(text), secrets)


def excerpt(text: str, secrets: frozenset[str]) -> str:
    """The beginning of a stranger's words, without secrets, and with everything escaped that a terminal might obey."""
    known = _harmless(text[:_LOOKED_AT], secrets)
    return repr(known if len(known) <= _SHOWN else f"{known[: _SHOWN - 3]}...")
