"""An MCP server as a process of ours: its messages as the SDK takes them, and what is left when it fails.

The SDK's own transport for this neither says how a process ended nor what it wrote to stderr, and takes lines of any length.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

import anyio
import mcp_types
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from searchmark.services.excerpts import end_of, excerpt_of, kept_end

GRACE_SECONDS = 1.0  # for a server whose stdin was closed to end by itself
KILLED_SECONDS = 5.0  # for the system to end what was killed
KEPT = 4096  # bytes of what it wrote to stderr
_SHOWN = 200
_POLL_SECONDS = 0.005
_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

Incoming: TypeAlias = "MemoryObjectSendStream[SessionMessage | Exception]"
Streams: TypeAlias = "tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]"


@dataclass(frozen=True)
class ServerProgram:
    """What is started, where, and how long a message of it may be."""

    argv: Sequence[str]
    folder: str | None
    environment: Mapping[str, str]
    longest_message: int


class StdioServer:
    """A server that speaks over its standard streams. It lives as long as ``streams`` is entered, with all that it starts."""

    def __init__(self, program: ServerProgram) -> None:
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
            await _ended(self._process, GRACE_SECONDS)
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
        incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, accepted = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, process, incoming)
            tasks.start_soon(self._write, process, accepted)
            tasks.start_soon(self._keep_stderr, process)
            try:
                yield received, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    for stream in (received, outgoing):
                        await stream.aclose()
                    await self.settle()
                    await _end(process)
                tasks.cancel_scope.cancel()

    async def _read(self, process: Process, incoming: Incoming) -> None:
        assert process.stdout is not None  # noqa: S101  # it is a pipe
        line: list[bytes] = []
        size = 0
        async with incoming:
            with suppress(*_GONE):
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
            self._not_understood = excerpt_of(line.decode("utf-8", "replace").strip(), _SHOWN)
            return
        await incoming.send(SessionMessage(message))

    async def _write(self, process: Process, accepted: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert process.stdin is not None  # noqa: S101  # it is a pipe
        async with accepted:
            with suppress(*_GONE):
                async for each in accepted:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(text.encode() + b"\n")

    async def _keep_stderr(self, process: Process) -> None:
        assert process.stderr is not None  # noqa: S101  # it is a pipe
        with suppress(*_GONE):
            while True:
                self._stderr = (self._stderr + await process.stderr.receive())[-KEPT:]

    def _ending(self) -> str | None:
        code = self._code
        if self._too_long:
            return f"it wrote a message of more than {self._program.longest_message} bytes"
        if code is None:
            return None
        return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it exited with code {code}"

    def _strange_words(self) -> str | None:
        said = self._not_understood
        return None if said is None else f"it wrote a line to stdout that is not an MCP message: {said!r}"

    def _last_words(self) -> str | None:
        lines = [line.strip() for line in kept_end(bytes(self._stderr), KEPT).splitlines() if line.strip()]
        return f"the end of its stderr: {end_of(' | '.join(lines), _SHOWN)}" if lines else None


async def _end(process: Process) -> None:
    """Close its stdin, which asks a server to end; then kill it and all that it has started."""
    if process.stdin is not None:
        with suppress(*_GONE):
            await process.stdin.aclose()
    await _ended(process, GRACE_SECONDS)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await _ended(process, KILLED_SECONDS)
    with anyio.move_on_after(GRACE_SECONDS):  # a process that has left the group may still hold the pipes
        await process.aclose()


async def _ended(process: Process, seconds: float) -> None:
    """Wait for the process alone: `wait` would wait for its pipes too, which others may hold."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:
            await anyio.sleep(_POLL_SECONDS)
