"""The HTTP client of all services: requests, replies, retries, redirects, rate limit and budget."""

from __future__ import annotations

import json
import math
import os
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from email.utils import parsedate_to_datetime
from math import inf
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast
from urllib.parse import quote, unquote, urlsplit

from searchmark.errors import BudgetSpent, MissingService, ServiceError, UsageError, is_missing, shortened
from searchmark.io.network import check_network, seconds_left, url_origin
from searchmark.io.secrets import scrub, secrets_in, without_credentials
from searchmark.io.store import BOM
from searchmark.io.text import replace_surrogates

if TYPE_CHECKING:
    import httpx


# What asking may cost: a bound on requests and tokens that many clients and threads share.

# Of Anthropic's API; what was written to and read from its prompt cache is not part of input_tokens, and is paid for as well.
_TOKEN_FIELDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

_MOST_TOKENS = 10**12  # of one answer; a service that says more has not counted


@dataclass
class Budget:
    """Counts requests, repeated ones too, and tokens; without bounds it only counts.

    Requests that are under way are not stopped, so that tokens may exceed their bound by what these use.
    """

    max_requests: int | None = None
    max_tokens: int | None = None
    requests: int = field(default=0, init=False)
    tokens: int = field(default=0, init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("max_requests", "max_tokens"):
            bound = getattr(self, name)
            if bound is not None and bound < 0:
                raise UsageError(f"{name} is {bound}, and must be 0 or more")

    def take_request(self) -> None:
        """Count one request, or refuse it."""
        with self._lock:
            if self.max_requests is not None and self.requests >= self.max_requests:
                raise BudgetSpent(f"the budget of {self.max_requests} requests is spent (max_requests)")
            if self.max_tokens is not None and self.tokens >= self.max_tokens:
                raise BudgetSpent(f"the budget of {self.max_tokens} tokens is spent (max_tokens)")
            self.requests += 1

    def add_tokens(self, tokens: int) -> None:
        with self._lock:
            self.tokens += tokens


def tokens_of(answer: Any) -> int | None:
    """How many tokens an answer says it used, in OpenAI's words or Anthropic's; None if it does not say."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    total = _token_count(usage.get("total_tokens"))
    if total is not None:
        return total
    parts = [count for count in (_token_count(usage.get(name)) for name in _TOKEN_FIELDS) if count is not None]
    return sum(parts) if parts else None


def _token_count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


# The content of an answer, unpacked, and never more of it than allowed.

ACCEPTED_ENCODING = "gzip"

_GZIP_ONLY = zlib.MAX_WBITS | 16


@dataclass(frozen=True)
class BoundedContent:
    """What was read; ``whole`` is false if there is more than was allowed."""

    data: bytes
    whole: bool


def read_content(response: httpx.Response, limit: int) -> BoundedContent:
    """At most so many bytes, as sent and as unpacked.

    httpx would unpack every piece completely, and several layers of packing one after the other, before a limit could be held.
    """
    data = bytearray()
    whole = _pass_on_pieces(response, limit, data.extend)
    return BoundedContent(bytes(data[:limit]), whole)


def save_content(response: httpx.Response, limit: int, file: IO[bytes]) -> BoundedContent:
    """The same into a file, in place of what is there; none of it is held."""
    file.seek(0)
    file.truncate()
    return BoundedContent(b"", _pass_on_pieces(response, limit, file.write))


def _pass_on_pieces(response: httpx.Response, limit: int, consume: Callable[[bytes], object]) -> bool:
    """Hand on piece by piece; whether that is all, or there is more than was allowed."""
    received = passed_on = 0
    unpacker = _unpacker(response)
    for piece in cast("httpx.SyncByteStream", response.stream):  # as it was sent
        received += len(piece)
        plain = piece if unpacker is None else _unpack_piece(unpacker, piece, limit + 1 - passed_on)
        passed_on += len(plain)
        consume(plain)
        if max(received, passed_on) > limit:
            return False
    if unpacker is not None and received and not unpacker.eof:
        raise _decoding_error("its gzip data ends too early")
    return True


def _unpacker(response: httpx.Response) -> zlib._Decompress | None:
    encodings = [name.lower() for name in response.headers.get_list("content-encoding", split_commas=True)]
    if encodings in ([], [""], ["identity"]):
        return None
    if encodings != [ACCEPTED_ENCODING]:
        raise _decoding_error("its content encoding is not the one that was asked for")
    return zlib.decompressobj(_GZIP_ONLY)


def _unpack_piece(unpacker: zlib._Decompress, piece: bytes, limit: int) -> bytes:
    try:
        return unpacker.decompress(piece, limit)
    except zlib.error:
        raise _decoding_error("its gzip data is damaged") from None


def _decoding_error(reason: str) -> httpx.DecodingError:
    import httpx

    return httpx.DecodingError(reason)


# What is sent between us and a service: a request, a reply, and how the service is to be asked.

LONGEST_TIMEOUT = 86_400  # seconds: a day

MOST_RETRIES = 100

T = TypeVar("T")


@dataclass(frozen=True)
class ApiKey:
    """Where the key of a service is and how it is sent: ``variable`` names the environment variable that holds it."""

    variable: str
    header: str = "Authorization"
    prefix: str = "Bearer "
    required: bool = True

    def header_for(self, address: str) -> dict[str, str]:
        """The header with the key, read now; none where there is no key and none is required."""
        key = os.environ.get(self.variable, "").strip()
        if not key and self.required:
            raise UsageError(f"{address} needs a key; put it into the environment variable {self.variable}")
        if not key.isascii() or not key.isprintable():
            raise UsageError(f"the environment variable {self.variable} holds characters that a key cannot have; set it again")
        return {self.header: f"{self.prefix}{key}"} if key else {}


@dataclass(frozen=True)
class ClientSettings:
    """How a service is asked."""

    key: ApiKey | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 60.0  # of one attempt, from the connection to the last byte of the answer
    retries: int = 5  # attempts that follow the first
    # first wait between attempts, then doubled unless the service says how long; at most five minutes, all of one call ten
    backoff_seconds: float = 0.5
    requests_per_second: float | None = None
    max_response_bytes: int = 64 << 20
    # a failure that holds for every other call (no connection, a refused key, a wrong address) ends later calls without a request
    gives_up: bool = False
    connections: int = 10  # how many are kept open
    follow_redirects: bool = False  # to the same scheme, host and port
    leave_host: bool = False  # also to other hosts over https; for requests that carry no secret

    @classmethod
    def of(cls, options: Any, **more: Any) -> ClientSettings:
        """With whatever a record of options has under the same names."""
        names = [each.name for each in fields(cls) if each.name not in ("key", "headers")]
        return cls(**{name: getattr(options, name) for name in names if hasattr(options, name)}, **more)

    def __post_init__(self) -> None:
        day, most, rate = LONGEST_TIMEOUT, MOST_RETRIES, self.requests_per_second
        _check_option("timeout_seconds", self.timeout_seconds, 0 < self.timeout_seconds <= day, f"more than 0 and at most {day}")
        _check_option("retries", self.retries, 0 <= self.retries <= most, f"between 0 and {most}")
        _check_option("backoff_seconds", self.backoff_seconds, 0 <= self.backoff_seconds <= day, f"between 0 and {day}")
        _check_option("requests_per_second", rate, rate is None or 1 / day <= rate < inf, "at least one in a day")
        _check_option("max_response_bytes", self.max_response_bytes, self.max_response_bytes > 0, "more than 0")
        _check_option("connections", self.connections, self.connections > 0, "more than 0")


def _check_option(name: str, value: float | None, holds: bool, rule: str) -> None:
    if not holds:
        raise UsageError(f"{name} is {value}, and must be {rule}")


@dataclass(frozen=True)
class Request:
    """One question to a service. ``path`` follows the address of the client; ``body`` is sent as JSON, None not at all."""

    method: Literal["GET", "POST"] = "POST"
    path: str = ""
    body: Any = None
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Reply(Generic[T]):
    """What was made of an answer, and what it took: attempts (none if it was cached), seconds of waiting, tokens."""

    value: T
    attempts: int = 0
    waited_seconds: float = 0.0
    tokens: int | None = None

    @property
    def cached(self) -> bool:
        return self.attempts == 0


class UnusableAnswer(Exception):
    """An answer of another shape than expected; the text goes behind the address: "gave 3 vectors for 4 texts"."""


# A request as it is sent, and the texts in it that must not be shown.

_HEADERS = {"Accept": "application/json", "Accept-Encoding": ACCEPTED_ENCODING, "User-Agent": "searchmark"}

_LONGEST_ADDRESS = 1 << 16  # characters; httpx takes no more


@dataclass(frozen=True)
class PreparedRequest:
    """A request that is ready to be sent, as often as need be. Neither it nor its secrets are shown."""

    request: httpx.Request = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


def prepare_request(address: str, request: Request, headers: Mapping[str, str]) -> PreparedRequest:
    """The request to this address with these headers, which may hold a key."""
    content = None if request.body is None else json_content(request.body)
    types = _HEADERS | ({} if content is None else {"Content-Type": "application/json"})
    http_request = build_request(request.method, _request_url(address, request), types | dict(headers), content)
    return PreparedRequest(http_request, _secrets_of_request(address, headers, request.parameters))


def parse_url(text: str) -> httpx.URL:
    """An address in its parts."""
    import httpx

    if len(text) > _LONGEST_ADDRESS:
        raise UsageError(
            f"the address has {len(text)} characters, more than {_LONGEST_ADDRESS}: send the query in a body or a form"
        )
    try:
        return httpx.URL(text)
    except httpx.InvalidURL:
        raise _no_address_error(text) from None  # its text may quote the password


def build_request(method: str, url: httpx.URL, headers: Mapping[str, str], content: bytes | None) -> httpx.Request:
    """A request in all its parts; user and password of the address become a header, as in every client."""
    import httpx

    _check_headers(headers)
    request = httpx.Request(method, url, headers=headers, content=content)
    if url.userinfo and "authorization" not in request.headers:
        request.headers["Authorization"] = _basic_auth(url)
    return request


def _basic_auth(url: httpx.URL) -> str:
    return f"Basic {b64encode(f'{url.username}:{url.password}'.encode()).decode()}"


def check_address(address: str) -> None:
    """Refuse what is not an http or https address."""
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not close
        valid = False
    if not valid:
        raise _no_address_error(address)


def _no_address_error(address: str) -> UsageError:
    return UsageError(f"{without_credentials(address)!r} is not an http or https address")


def _check_headers(headers: Mapping[str, str]) -> None:
    """Refuse what would be refused further down, where the sentence would quote the value, which may be a key."""
    for name, value in headers.items():
        if not value.isascii() or not value.isprintable():
            raise UsageError(f"the header {name} holds characters that HTTP does not allow")


def json_content(body: Any) -> bytes:
    """A body as JSON; a lone surrogate, which no encoding has, becomes a question mark."""
    return replace_surrogates(json.dumps(body, ensure_ascii=False, allow_nan=False)).encode()


def _request_url(address: str, request: Request) -> httpx.URL:
    """Address and path, with the parameters of both."""
    base = parse_url(address)
    path = f"{base.path.rstrip('/')}{request.path}" if request.path else base.path
    return base.copy_with(path=path, fragment=None).copy_merge_params(dict(request.parameters))


def _secrets_of_request(address: str, headers: Mapping[str, str], parameters: Mapping[str, str]) -> frozenset[str]:
    """Every text that must not be shown, in each form in which a service might quote it."""
    secrets = secrets_in([address, dict(headers), dict(parameters)]) | _credentials_of_address(address)
    words = {value.split()[-1] for value in secrets if value.split()}  # of "Bearer KEY"
    texts = secrets | words | {unquote(value) for value in secrets}
    return texts | {quote(value, safe="") for value in texts} | {json.dumps(value)[1:-1] for value in texts}


def _credentials_of_address(address: str) -> frozenset[str]:
    """The password of an address, and how httpx sends it."""
    parts = urlsplit(address)
    if not parts.password:
        return frozenset()
    password = unquote(parts.password)
    return frozenset({password, b64encode(f"{unquote(parts.username or '')}:{password}".encode()).decode()})


# No more requests per second than allowed.


class RateLimit:
    """Gives every request its turn, in the order in which they ask; safe between threads."""

    def __init__(self, per_second: float | None, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._interval = 0.0 if per_second is None else 1 / per_second
        self._clock, self._sleep = clock, sleep
        self._lock = Lock()
        self._next = -float("inf")

    def wait(self) -> float:
        """Wait for a turn; returns for how many seconds."""
        if not self._interval:
            return 0.0
        with self._lock:  # only the turn is reserved under the lock; waiting happens outside, or one would hold up all
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._interval
        if turn > now:
            self._sleep(turn - now)
        return turn - now


# Where an answer points to: followed within one service, and to another, which would get the query, only if that is allowed.

_SEE_OTHER = 303

_HEADERS_PASSED_ON = ("Accept", "Accept-Encoding", "User-Agent")


def follow_redirect(request: httpx.Request, response: httpx.Response, *, elsewhere: bool = False) -> httpx.Request | None:
    """The request that follows; None if the answer points nowhere, or to another scheme, host or port.

    With ``elsewhere`` it may be another host, over https, which gets no more than the address and the user agent. After
    301 and 302 within one service it is the same request, as HTTP allows: a GET would lose the query in its body.
    """
    import httpx

    if not response.has_redirect_location:
        return None
    try:
        url = request.url.join(response.headers["location"])
    except httpx.InvalidURL:
        return None
    if url_origin(str(url)) != url_origin(str(request.url)):
        if not elsewhere or url.scheme != "https" or url.userinfo:
            return None
        return httpx.Request(
            "GET", url, headers={name: request.headers[name] for name in _HEADERS_PASSED_ON if name in request.headers}
        )
    sees = response.status_code == _SEE_OTHER
    headers = [(name, value) for name, value in request.headers.raw if not sees or not name.lower().startswith(b"content-")]
    return httpx.Request("GET" if sees else request.method, url, headers=headers, content=None if sees else request.content)


# Which answers are whole, and when a request is worth repeating and after how long.

LONGEST_BACKOFF = 30.0

LONGEST_WAIT = 300.0  # seconds, whatever the service says

LONGEST_WAITS = 600.0  # all between the attempts of one call together

_REQUEST_TIMEOUT, _TOO_MANY_REQUESTS, _SERVER_ERRORS = 408, 429, range(500, 600)


# Whole answers: some say of a POST that it has created something, and 204 that there is nothing. 206 is a part, 202 a promise.
ANSWER_STATUSES = frozenset({200, 201, 203, 204})


_NOT_IMPLEMENTED = (405, 501, 505)


# Refused for what holds for every request: no valid key, no permission, no such address or model.
HOPELESS_STATUSES = frozenset({401, 403, 404, *_NOT_IMPLEMENTED})


def is_retried_status(status: int) -> bool:
    return status in (_REQUEST_TIMEOUT, _TOO_MANY_REQUESTS) or (status in _SERVER_ERRORS and status not in _NOT_IMPLEMENTED)


def backoff(first: float, attempt: int) -> float:
    """Seconds after the given attempt, counted from 1: doubled each time, up to half a minute."""
    return min(first * 2.0 ** min(attempt - 1, 60), LONGEST_BACKOFF)


def retry_after(value: str | None) -> float | None:
    """Seconds that a ``Retry-After`` asks for, which holds a number or a date; at most five minutes, None if it is neither."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST_WAIT)


# Asks a service over HTTP: as often as it allows, again when it is busy, within a budget, and never for ever.
#
# No key and no password leaves it except in the request itself: addresses are shown without them, and whatever a service
# says in an error is searched for them.

_BYTES_READ = 1 << 16  # characters of an answer that are searched for secrets before the first of them are shown

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
        return _decode_answer(self.content)


@dataclass(frozen=True)
class Refusal:
    """Why an attempt gave no answer, and what the service said."""

    reason: str
    message: str | None = None  # what the service said
    status: int | None = None
    again: bool = False  # another attempt may help
    wait: float | None = None  # seconds before that attempt, if the service says so
    lasting: bool = False  # every other request would fail as well
    missing: bool = False  # nobody is there
    instead: str | None = None  # what came instead of an answer that can be read; differs from request to request


class HttpClient:
    """One service. Safe between threads; connections are opened when first needed and kept until `close`."""

    def __init__(
        self,
        shown_url: str,
        options: ClientSettings,
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

    def ask(self, prepared_request: PreparedRequest, into: IO[bytes] | None = None) -> HttpAnswer:
        """Ask, and ask again where that may help. With a file, the content of the answer is written ``into`` it and not held."""
        check_network(self.shown_url)
        if self._given_up is not None:
            raise ServiceError(f"{self._given_up.sentence}; not asked again", self._given_up.status)
        delay = pauses = 0.0
        refusal: Refusal | None = None
        for attempt in range(1, self._options.retries + 2):
            self.budget.take_request()
            delay += self._limit.wait()
            outcome = self._attempt(prepared_request.request, self._seconds(refusal), into)
            if refusal is not None and isinstance(outcome, Refusal) and seconds_left() <= 0:
                raise self.error(_without_retry_time(refusal), prepared_request, attempt)
            if isinstance(outcome, HttpAnswer):
                return outcome if attempt == 1 and not delay else replace(outcome, attempts=attempt, waited_seconds=delay)
            if not outcome.again or attempt > self._options.retries:
                raise self.error(outcome, prepared_request, attempt)
            pause = backoff(self._options.backoff_seconds, attempt) if outcome.wait is None else outcome.wait
            pauses += pause
            if pauses > LONGEST_WAITS:
                too_long = f"{outcome.reason} (not asked again: its waits add up to more than {LONGEST_WAITS:g} seconds)"
                raise self.error(replace(outcome, reason=too_long), prepared_request, attempt)
            if pause >= seconds_left():
                raise self.error(_without_retry_time(outcome), prepared_request, attempt)
            self._sleep(pause)
            delay += pause
            refusal = outcome
        raise AssertionError("the last attempt either answers or raises")

    def _seconds(self, refusal: Refusal | None) -> float:
        """For an attempt: one that follows a refusal ends with the search, so that what was refused can still be said."""
        whole = self._options.timeout_seconds
        return whole if refusal is None else max(0.0, min(whole, seconds_left()))

    def error(self, failure: Refusal, prepared_request: PreparedRequest, attempts: int) -> ServiceError:
        """The failure in one sentence, without a secret of the request."""
        tries = f" ({attempts} attempts)" if attempts > 1 else ""
        message = "" if failure.message is None else f" {excerpt_without(failure.message, prepared_request.secrets)}"
        reason = shortened(_escape_text(failure.reason, prepared_request.secrets), _LONGEST_REASON)
        instead = None if failure.instead is None else excerpt_without(failure.instead, prepared_request.secrets)
        kind = MissingService if failure.missing else ServiceError
        error = kind(f"{self.shown_url} {reason}{message}{tries}", failure.status, attempts, instead)
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
        from socket import gaierror

        import httpx

        from searchmark.io.http_deadline import exchange_deadline

        try:
            with exchange_deadline(seconds):
                return self._exchange(request, into)
        except httpx.TimeoutException:
            late = f"gave no complete answer within {self._options.timeout_seconds:g} seconds (timeout_seconds)"
            return Refusal(late, again=True, lasting=True)
        except httpx.HTTPError as error:
            ours = isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol)
            again = isinstance(error, httpx.TransportError) and not ours
            reason = f"did not answer as it should: {type(error).__name__}: {error}"
            return Refusal(reason, again=again, lasting=True, missing=is_missing(error, (ConnectionRefusedError, gaierror)))

    def _exchange(self, request: httpx.Request, into: IO[bytes] | None) -> HttpAnswer | Refusal:
        """One request and its answer; as many more as there are redirects that may be followed."""
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._response(request)
            try:
                options = self._options
                following = follow_redirect(request, response, elsewhere=options.leave_host) if options.follow_redirects else None
                if following is None:
                    return self._read_response(response, into)
            finally:
                response.close()
            request = following
        return Refusal(f"did not answer as it should: it redirects more than {_MOST_REDIRECTS} times")

    def _response(self, request: httpx.Request) -> httpx.Response:
        """What the transport answers; `httpx.Client.send` would log the address, keep cookies, and take a third of the time."""
        client: Any = self._open_client()
        request.extensions["timeout"] = {"pool": self._options.timeout_seconds}  # for the rest there is the deadline
        response: httpx.Response = client._transport_for_url(request.url).handle_request(request)
        return response

    def _read_response(self, response: httpx.Response, into: IO[bytes] | None) -> HttpAnswer | Refusal:
        status, limit = response.status_code, self._options.max_response_bytes
        answers = status in ANSWER_STATUSES
        content = self._content(response, limit, into) if answers else self._content(response, _BYTES_READ)
        if not answers:
            wait, message = retry_after(response.headers.get("retry-after")), _decode_answer(content.data)
            return Refusal(
                _refusal_text(response),
                self._error_in(message) or message,
                status,
                is_retried_status(status),
                wait,
                lasting=status in HOPELESS_STATUSES,
            )
        if not content.whole:
            return Refusal(f"gave more than {limit} bytes (max_response_bytes)", status=status)
        return HttpAnswer(content.data, status, response.headers.get("content-type", ""))

    def _content(self, response: httpx.Response, limit: int, into: IO[bytes] | None = None) -> BoundedContent:
        from searchmark.io.http_deadline import close_after_extra_bytes

        content = read_content(response, limit) if into is None else save_content(response, limit, into)
        if content.whole:
            close_after_extra_bytes(response)
        return content

    def _open_client(self) -> httpx.Client:
        if self._http is not None:
            return self._http
        import httpx

        from searchmark.io.http_deadline import with_deadlines

        with self._lock:
            if self._http is None:
                most = self._options.connections
                limits = httpx.Limits(max_connections=most, max_keepalive_connections=most)
                self._http = with_deadlines(httpx.Client(limits=limits))
            return self._http


def _without_retry_time(refusal: Refusal) -> Refusal:
    return replace(refusal, reason=f"{refusal.reason} (not asked again: the search has no more time)")


def _refusal_text(response: httpx.Response) -> str:
    problem = f"did not answer as it should: {response.status_code}"
    if response.has_redirect_location:
        return f"{problem}, which points to {response.headers['location']!r} (configure that address if it is right):"
    if response.status_code in _NOT_IMPLEMENTED:
        return f"{problem}, it does not implement this request (is the method right?):"
    return problem


def _decode_answer(content: bytes) -> str:
    return content.removeprefix(BOM).decode("utf-8", "replace").strip()


def _escape_text(text: str, secrets: frozenset[str]) -> str:
    return scrub(without_credentials(text), secrets)


def excerpt_without(text: str, secrets: frozenset[str]) -> str:
    """The beginning of a stranger's words, without secrets, and with everything escaped that a terminal might obey."""
    excerpt = _escape_text(text[:_BYTES_READ], secrets)
    return repr(excerpt if len(excerpt) <= _SHOWN else f"{excerpt[: _SHOWN - 3]}...")
