"""An end for a whole HTTP exchange. Apart from the client, since it imports httpcore."""

from __future__ import annotations

import logging
import math
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from ssl import SSLContext
from typing import TYPE_CHECKING, Any

import httpcore

if TYPE_CHECKING:
    import httpx


# Of the exchange that this thread is in: one exchange is one thread's work, on whichever connection the pool has for it.
_END: ContextVar[float] = ContextVar("end", default=math.inf)


# Bytes. A socket that can be written to has room for these, so one write is one wait; more could be several.
_PIECE = 4096

_LOGGERS = ("httpcore.connection", "httpcore.http11", "httpcore.proxy")


@contextmanager
def exchange_deadline(seconds: float) -> Iterator[None]:
    """All that is read, written and connected here ends within so many seconds, or is late."""
    token = _END.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _END.reset(token)


def with_deadlines(client: httpx.Client) -> httpx.Client:
    """The same client, whose connections (those through proxies too) keep to `exchange_deadline` and out of logs."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_is_not_our_exchange)
    private: Any = client  # httpx hands no network backend on to the pools that it makes, so they are given theirs here
    for transport in (private._transport, *private._mounts.values()):
        if transport is not None:
            transport._pool._network_backend = _DeadlineNetwork(transport._pool._network_backend)
    return client


def close_after_extra_bytes(response: httpx.Response) -> None:
    """Close the connection of an answer that is over, if more than it was sent: the next request would get that as its answer."""
    private: Any = response.stream
    http11 = private._httpcore_stream._pool_request.connection
    while not hasattr(http11, "_h11_state"):  # inside of one per proxy
        http11 = http11._connection
    trailing, _ = http11._h11_state.trailing_data
    if trailing:
        http11._network_stream.close()  # found closed by the pool, which then opens another


def _is_not_our_exchange(_: logging.LogRecord) -> bool:
    """httpcore logs the headers of an answer, in which a service may repeat a key. A filter that is there is not added again."""
    return _END.get() == math.inf


def _seconds_left(late: type[httpcore.TimeoutException]) -> float:
    seconds = _END.get() - time.monotonic()
    if seconds <= 0:
        raise late("the time for the whole exchange is over")
    return seconds


class _DeadlineNetwork(httpcore.NetworkBackend):
    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002  # httpcore's signature; the end of the exchange decides
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Try one address after the other; each gets its share of the time, so that the first cannot use it up."""
        addresses = _addresses(host, port)
        for place, address in enumerate(addresses):
            share = _seconds_left(httpcore.ConnectTimeout) / (len(addresses) - place)
            try:
                return _DeadlineStream(self._backend.connect_tcp(address, port, share, local_address, socket_options))
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if place == len(addresses) - 1:
                    raise
        raise AssertionError("the last address either answers or raises")

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(min(seconds, _seconds_left(httpcore.ConnectTimeout)))


def _addresses(host: str, port: int) -> list[str]:
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


class _DeadlineStream(httpcore.NetworkStream):
    """A connection that is late as soon as its exchange is, whatever each single step may take.

    Head and body of a request are written apart, and here sent together: two packets would wake the service twice.
    """

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream
        self._unsent = b""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002  # as in connect_tcp
        with suppress(httpcore.WriteError):  # a service may answer and hang up before it has heard all, so it is heard
            self._flush()
        return self._stream.read(max_bytes, _seconds_left(httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002  # as in connect_tcp
        self._unsent += buffer
        if len(self._unsent) > _PIECE:
            self._flush()

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, b""
        for start in range(0, len(unsent), _PIECE):
            self._stream.write(unsent[start : start + _PIECE], _seconds_left(httpcore.WriteTimeout))

    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002  # as in connect_tcp
    ) -> httpcore.NetworkStream:
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, _seconds_left(httpcore.ConnectTimeout)))

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
