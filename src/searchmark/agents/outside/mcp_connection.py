"""A connection to an MCP server, kept in a thread of its own with its event loop, for callers that just wait."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult, Implementation, Tool

from searchmark.agents.outside.mcp_stdio import ServerProgram, StdioServer
from searchmark.errors import UsageError
from searchmark.services.excerpts import excerpt_of

MOST_PAGES = 100
_SHOWN = 300
_FIRST_ERROR, _LOOKED_AT = 400, 1 << 16
_LOGGERS = ("mcp", "httpx2", "httpcore2")


class ServerFailed(UsageError):
    """An MCP server cannot be started or asked; it has to be started again before the next question."""


@dataclass(frozen=True)
class ServerAddress:
    """A server over HTTP."""

    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Limits:
    """How long a server may take for an answer, and until it is ready."""

    seconds: float
    start_seconds: float


@dataclass(frozen=True)
class Offer:
    """What a server says that it is and can do."""

    name: str | None
    version: str | None
    tools: Sequence[Tool]


class Connection:
    """A server that was started or connected to. It is ended by `close`, whatever has happened before."""

    def __init__(self, server: ServerProgram | ServerAddress, shown: str, limits: Limits) -> None:
        self._server, self._shown, self._limits = server, shown, limits
        self._process = StdioServer(server) if isinstance(server, ServerProgram) else None
        self._refused: str | None = None  # what a server over HTTP said last that is an error
        self._client: Client | None = None
        self._stop: anyio.Event | None = None
        self._broken = False
        self._until_closed = ExitStack()
        _silence_the_sdk()
        self._portal: BlockingPortal = self._until_closed.enter_context(start_blocking_portal())
        self._life: Future[None] | None = None
        try:
            self.offer = self._open()
        except BaseException:
            self.close()
            raise

    @property
    def is_usable(self) -> bool:
        """Whether it can be asked; a server over HTTP is taken to be there until it fails."""
        alive = self._life is not None and not self._life.done() and not self._broken
        return alive and (self._process is None or self._process.is_alive)

    def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """What a tool answers, in time."""
        assert self._client is not None  # noqa: S101  # there is no connection without one
        self._refused = None
        future: Future[CallToolResult] = self._portal.start_task_soon(self._client.call_tool, tool, arguments)
        try:
            return future.result(self._limits.seconds)
        except TimeoutError as error:
            self._broken = True  # what it is doing now would fall upon the next question
            future.cancel()
            raise ServerFailed(self._sentence(f"did not answer {tool!r} within {self._limits.seconds:g} s")) from error
        except Exception as error:
            # Over HTTP an error may mean that the session is unknown there, and a new one is cheap.
            self._broken = self._process is None or not _says_the_server(error) or not self.is_usable
            self._settle()
            raise ServerFailed(self._sentence(f"has failed in {tool!r}: {_said(error)}")) from error

    def close(self) -> None:
        """End the session, and with it the process; nothing is left running."""
        life = self._life
        if life is not None and not life.done():
            if self._stop is None or self._broken:
                life.cancel()
            else:
                self._portal.call(self._stop.set)
            wait([life])
        self._until_closed.close()

    def _open(self) -> Offer:
        opened: Future[Offer] = Future()
        self._life = self._portal.start_task_soon(self._live, opened)
        either: list[Future[Any]] = [opened, self._life]
        wait(either, self._limits.start_seconds, FIRST_COMPLETED)
        if opened.done():
            return opened.result()
        if self._life.done():
            raise ServerFailed(self._sentence(f"cannot be started: {_said(self._life.exception())}")) from None
        self._broken = True
        raise ServerFailed(self._sentence(f"did not get ready within {self._limits.start_seconds:g} s"))

    async def _live(self, opened: Future[Offer]) -> None:
        self._stop = anyio.Event()
        async with Client(self._transport()) as self._client:
            opened.set_result(await _offer(self._client))
            await self._stop.wait()

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        if self._process is not None:
            return self._process.streams()
        assert isinstance(self._server, ServerAddress)  # noqa: S101  # the one or the other
        return _http_streams(self._server, self._limits.seconds, self._remember)

    async def _remember(self, response: httpx2.Response) -> None:
        """Keep status and beginning of an error: the SDK says no more than that there was one."""
        if response.status_code < _FIRST_ERROR:
            return
        said = b""
        with anyio.move_on_after(self._limits.seconds), suppress(httpx2.HTTPError):
            async for piece in response.aiter_bytes():
                said += piece
                if len(said) > _LOOKED_AT:
                    break
        response._content = said  # the SDK reads it as well, and a stream can be read once
        text = " ".join(said[:_LOOKED_AT].decode("utf-8", "replace").split())
        self._refused = f"{response.status_code} {excerpt_of(text, _SHOWN)!r}"

    def _settle(self) -> None:
        if self._process is not None and self._broken:
            self._portal.call(self._process.settle)

    def _sentence(self, what: str) -> str:
        """What happened, and all that is known of why."""
        refused = "" if self._refused is None else f"; its last refusal: {self._refused}"
        remarks = refused if self._process is None else self._process.remarks()
        return f"the MCP server {self._shown} {what}{remarks}"


@asynccontextmanager
async def _http_streams(server: ServerAddress, seconds: float, hook: Callable[[httpx2.Response], Awaitable[None]]) -> Any:
    timeout = httpx2.Timeout(seconds, read=None)  # a call has its own end, and the stream of notifications has none
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout, event_hooks={"response": [hook]}) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


async def _offer(client: Client) -> Offer:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    info: Implementation | None = client.server_info
    return Offer(None if info is None else info.name, None if info is None else info.version, tools)


def _says_the_server(error: Exception) -> bool:
    """Whether this is an answer of a server that can be asked again: an error of the protocol, or a result of the wrong shape."""
    if isinstance(error, MCPError):
        return error.code != CONNECTION_CLOSED
    return isinstance(error, RuntimeError | ValueError)


def _said(error: BaseException | None) -> str:
    """The first reason in a group of errors, as the SDK raises them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError | PermissionError) and error.filename:
        return f"{error.strerror}: {error.filename}"
    named = error is None or isinstance(error, MCPError | RuntimeError)
    text = " ".join(str(error).split())
    return excerpt_of(text if named and text else f"{type(error).__name__}: {text}", _SHOWN)


def _silence_the_sdk() -> None:
    """What the SDK logs is said by our errors already; without a handler it would be printed."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.propagate = False
        with suppress(ValueError):
            if not logger.handlers:
                logger.addHandler(logging.NullHandler())
