"""A session with an MCP server, started as a program or asked by address, in a thread with its own event loop.

It imports the SDK, so it is loaded only when a server is asked.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio
import httpx2
import mcp_types
from anyio.abc import Process
from anyio.from_thread import BlockingPortal, start_blocking_portal
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, CallToolResult, Implementation, Tool

from searchmark.errors import Missing, UsageError, is_missing
from searchmark.io.secrets import end_of, excerpt_of, output_end

# An MCP server as a process of ours: its messages as the SDK takes them, and what is left when it fails.
#
# The SDK's own transport for this neither says how a process ended nor what it wrote to stderr, and takes lines of any length.

GRACE_SECONDS = 1.0  # for a server whose stdin was closed to end by itself

KILLED_SECONDS = 5.0  # for the system to end what was killed

KEPT_STDERR_BYTES = 4096  # bytes of what it wrote to stderr

_LINE_EXCERPT_LENGTH = 200

_POLL_SECONDS = 0.005

_CLOSED_ERRORS = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

Incoming: TypeAlias = "MemoryObjectSendStream[SessionMessage | Exception]"

Streams: TypeAlias = "tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]"


@dataclass(frozen=True)
class McpServerProgram:
    """What is started, where, and how long a message of it may be."""

    argv: Sequence[str]
    folder: str | None
    environment: Mapping[str, str]
    longest_message: int


class StdioMcpServer:
    """A server that speaks over its standard streams. It lives as long as ``streams`` is entered, with all that it starts."""

    def __init__(self, program: McpServerProgram) -> None:
        self._program = program
        self._process: Process | None = None
        self._stderr = bytearray()
        self._not_understood: str | None = None
        self._too_long = False
        self._hung_up = False  # it has closed its stdout
        self._code: int | None = None  # of its own ending, not of the one that we have put to it

    def remarks(self) -> str:
        """How it ended, if it has, what it wrote that is no message, and the end of its stderr; as the rest of a sentence."""
        parts = [self._ending(), self._strange_words(), self._last_words()]
        return "".join(f"; {part}" for part in parts if part)

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.returncode is None and not self._too_long and not self._hung_up

    async def settle(self) -> None:
        """Wait for the end of a process that has hung up, so that it can be said how it ended."""
        if self._process is not None and self._hung_up:
            await _wait_for_exit(self._process, GRACE_SECONDS)
            self._code = self._process.returncode

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[Streams, None]:
        """The messages of the server and to it."""
        self._process = process = await anyio.open_process(
            list(self._program.argv),
            stderr=subprocess.PIPE,
            cwd=self._program.folder,
            env=self._program.environment,
            start_new_session=True,  # so that it can be ended with all that it has started
        )
        incoming, incoming_reader = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, outgoing_reader = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, process, incoming)
            tasks.start_soon(self._write, process, outgoing_reader)
            tasks.start_soon(self._keep_stderr, process)
            try:
                yield incoming_reader, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    for stream in (incoming_reader, outgoing):
                        await stream.aclose()
                    await self.settle()
                    await _end_server(process)
                tasks.cancel_scope.cancel()

    async def _read(self, process: Process, incoming: Incoming) -> None:
        assert process.stdout is not None  # noqa: S101  # it is a pipe
        line: list[bytes] = []
        size = 0
        async with incoming:
            with suppress(*_CLOSED_ERRORS):
                while True:
                    first, *rest = (await process.stdout.receive()).split(b"\n")
                    line.append(first)
                    size += len(first)
                    for following in rest:
                        await self._pass_on(b"".join(line), incoming)
                        line, size = [following], len(following)
                    if size > self._program.longest_message:
                        self._too_long = True
                        return
            self._hung_up = True

    async def _pass_on(self, line: bytes, incoming: Incoming) -> None:
        """Give a message to the SDK. Whatever else a server prints is kept for an error, should there be one, and ignored."""
        if not line.strip():
            return
        try:
            message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._not_understood = excerpt_of(line.decode("utf-8", "replace").strip(), _LINE_EXCERPT_LENGTH)
            return
        await incoming.send(SessionMessage(message))

    async def _write(self, process: Process, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert process.stdin is not None  # noqa: S101  # it is a pipe
        async with messages:
            with suppress(*_CLOSED_ERRORS):
                async for each in messages:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(text.encode() + b"\n")

    async def _keep_stderr(self, process: Process) -> None:
        assert process.stderr is not None  # noqa: S101  # it is a pipe
        with suppress(*_CLOSED_ERRORS):
            while True:
                self._stderr = (self._stderr + await process.stderr.receive())[-KEPT_STDERR_BYTES:]

    def _ending(self) -> str | None:
        code = self._code
        if self._too_long:
            return f"it wrote a message of more than {self._program.longest_message} bytes"
        if code is None:
            return None
        return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it exited with code {code}"

    def _strange_words(self) -> str | None:
        words = self._not_understood
        return None if words is None else f"it wrote a line to stdout that is not an MCP message: {words!r}"

    def _last_words(self) -> str | None:
        lines = [line.strip() for line in output_end(bytes(self._stderr), KEPT_STDERR_BYTES).splitlines() if line.strip()]
        return f"the end of its stderr: {end_of(' | '.join(lines), _LINE_EXCERPT_LENGTH)}" if lines else None


async def _end_server(process: Process) -> None:
    """Close its stdin, which asks a server to end; then kill it and all that it has started."""
    if process.stdin is not None:
        with suppress(*_CLOSED_ERRORS):
            await process.stdin.aclose()
    await _wait_for_exit(process, GRACE_SECONDS)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await _wait_for_exit(process, KILLED_SECONDS)
    with anyio.move_on_after(GRACE_SECONDS):  # a process that has left the group may still hold the pipes
        await process.aclose()


async def _wait_for_exit(process: Process, seconds: float) -> None:
    """Wait for the process alone: `wait` would wait for its pipes too, which others may hold."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:
            await anyio.sleep(_POLL_SECONDS)


# A connection to an MCP server, kept in a thread of its own with its event loop, for callers that just wait.

MAX_TOOL_PAGES = 100

_ERROR_EXCERPT_LENGTH = 300

_FIRST_ERROR, _LONGEST_ERROR_BODY = 400, 1 << 16

_LOGGERS = ("mcp", "httpx2", "httpcore2")


class McpServerFailed(UsageError):
    """An MCP server cannot be started or asked; it has to be started again before the next question."""


class McpServerMissing(McpServerFailed, Missing):
    """Nobody answers at the address of an MCP server, or its program is not there."""


@dataclass(frozen=True)
class McpServerAddress:
    """A server over HTTP."""

    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class McpTimeouts:
    """How long a server may take for an answer, and until it is ready."""

    seconds: float
    start_seconds: float


@dataclass(frozen=True)
class McpServerOffer:
    """What a server says that it is and can do."""

    name: str | None
    version: str | None
    tools: Sequence[Tool]


class McpConnection:
    """A server that was started or connected to. It is ended by `close`, whatever has happened before."""

    def __init__(self, server: McpServerProgram | McpServerAddress, server_text: str, limits: McpTimeouts) -> None:
        self._server, self._server_text, self._limits = server, server_text, limits
        self._process = StdioMcpServer(server) if isinstance(server, McpServerProgram) else None
        self._refusal: str | None = None  # what a server over HTTP said last that is an error
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
        self._refusal = None
        future: Future[CallToolResult] = self._portal.start_task_soon(self._client.call_tool, tool, arguments)
        try:
            return future.result(self._limits.seconds)
        except TimeoutError as error:
            self._broken = True  # what it is doing now would fall upon the next question
            future.cancel()
            raise McpServerFailed(self._sentence(f"did not answer {tool!r} within {self._limits.seconds:g} s")) from error
        except Exception as error:
            # Over HTTP an error may mean that the session is unknown there, and a new one is cheap.
            self._broken = self._process is None or not _is_server_error(error) or not self.is_usable
            self._settle()
            raise McpServerFailed(self._sentence(f"has failed in {tool!r}: {_error_reason(error)}")) from error

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

    def _open(self) -> McpServerOffer:
        offer: Future[McpServerOffer] = Future()
        self._life = self._portal.start_task_soon(self._live, offer)
        either: list[Future[Any]] = [offer, self._life]
        wait(either, self._limits.start_seconds, FIRST_COMPLETED)
        if offer.done():
            return offer.result()
        if self._life.done():
            error = _first_error(self._life.exception())
            kind = McpServerMissing if is_missing(error) else McpServerFailed
            raise kind(self._sentence(f"cannot be started: {_error_reason(error)}")) from None
        self._broken = True
        raise McpServerFailed(self._sentence(f"did not get ready within {self._limits.start_seconds:g} s"))

    async def _live(self, offer: Future[McpServerOffer]) -> None:
        self._stop = anyio.Event()
        async with Client(self._transport()) as self._client:
            offer.set_result(await _offer(self._client))
            await self._stop.wait()

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        if self._process is not None:
            return self._process.streams()
        assert isinstance(self._server, McpServerAddress)  # noqa: S101  # the one or the other
        return _http_streams(self._server, self._limits.seconds, self._remember)

    async def _remember(self, response: httpx2.Response) -> None:
        """Keep status and beginning of an error: the SDK says no more than that there was one."""
        if response.status_code < _FIRST_ERROR:
            return
        body = b""
        with anyio.move_on_after(self._limits.seconds), suppress(httpx2.HTTPError):
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > _LONGEST_ERROR_BODY:
                    break
        response._content = body  # the SDK reads it as well, and a stream can be read once
        text = " ".join(body[:_LONGEST_ERROR_BODY].decode("utf-8", "replace").split())
        self._refusal = f"{response.status_code} {excerpt_of(text, _ERROR_EXCERPT_LENGTH)!r}"

    def _settle(self) -> None:
        if self._process is not None and self._broken:
            self._portal.call(self._process.settle)

    def _sentence(self, what: str) -> str:
        """What happened, and all that is known of why."""
        refusal = "" if self._refusal is None else f"; its last refusal: {self._refusal}"
        remarks = refusal if self._process is None else self._process.remarks()
        return f"the MCP server {self._server_text} {what}{remarks}"


@asynccontextmanager
async def _http_streams(server: McpServerAddress, seconds: float, hook: Callable[[httpx2.Response], Awaitable[None]]) -> Any:
    timeout = httpx2.Timeout(seconds, read=None)  # a call has its own end, and the stream of notifications has none
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout, event_hooks={"response": [hook]}) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


async def _offer(client: Client) -> McpServerOffer:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(MAX_TOOL_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    info: Implementation | None = client.server_info
    return McpServerOffer(None if info is None else info.name, None if info is None else info.version, tools)


def _is_server_error(error: Exception) -> bool:
    """Whether this is an answer of a server that can be asked again: an error of the protocol, or a result of the wrong shape."""
    if isinstance(error, MCPError):
        return error.code != CONNECTION_CLOSED
    return isinstance(error, RuntimeError | ValueError)


def _first_error(error: BaseException | None) -> BaseException | None:
    """The first in a group of errors, as the SDK raises them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _error_reason(error: BaseException | None) -> str:
    """The reason of an error, or of the first in a group."""
    error = _first_error(error)
    if isinstance(error, FileNotFoundError | PermissionError) and error.filename:
        return f"{error.strerror}: {error.filename}"
    text_suffices = error is None or isinstance(error, MCPError | RuntimeError)
    text = " ".join(str(error).split())
    return excerpt_of(text if text_suffices and text else f"{type(error).__name__}: {text}", _ERROR_EXCERPT_LENGTH)


def _silence_the_sdk() -> None:
    """What the SDK logs is said by our errors already; without a handler it would be printed."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.propagate = False
        with suppress(ValueError):
            if not logger.handlers:
                logger.addHandler(logging.NullHandler())
