"""A worker as the runner sees it: ask, with a deadline, or put an end to it and to all that it has started."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import subprocess
import sys
import time
from typing import Any

from searchmark.running.frames import LONGEST_ANSWER, FrameBuffer, Garbled, packed
from searchmark.running.processes import PATIENCE, TOKEN, how_it_ended, kill_descendants, kill_marked

KEPT_OUTPUT = 64 << 10
PIECE = 1 << 18


class Gone(Exception):
    """The worker has ended, or does not speak our language any more."""


class Late(Exception):
    """The worker has not answered in time."""


class Output:
    """What an agent has printed: its beginning, and how much there was."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.kept += piece[: KEPT_OUTPUT - len(self.kept)]
        self.size += len(piece)

    def text(self) -> str:
        return self.kept.decode("utf-8", "replace")


class Process:
    """A worker with its keeper. After `Gone` or `Late` it has to be ended; nobody can know what it is doing."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(16)
        self._number = 0
        self._buffer = FrameBuffer(LONGEST_ANSWER)
        self.output = {"stdout": Output(), "stderr": Output()}
        self._ended = False
        self._born = time.perf_counter()
        self._popen = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        lifeline, self._lifeline = os.pipe()
        self._endings, endings = os.pipe()
        theirs = (requests, answers, lifeline, endings)
        os.set_blocking(self._requests, False)
        command = [sys.executable, "-m", "searchmark.running.worker", *map(str, theirs)]
        try:
            popen = subprocess.Popen(  # noqa: S603  # our own interpreter and our own module
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=theirs,
                start_new_session=True,  # Ctrl-C is the runner's business
                env=os.environ | {TOKEN: self._token},
            )
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        assert popen.stdout is not None and popen.stderr is not None  # noqa: S101, PT018  # both are pipes
        self._streams = {popen.stdout.fileno(): self.output["stdout"], popen.stderr.fileno(): self.output["stderr"]}
        self._poll = select.poll()
        for descriptor in (self._answers, self._endings, *self._streams):
            self._poll.register(descriptor, select.POLLIN)
        return popen

    def age(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._born

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self._number += 1
        deadline = time.monotonic() + seconds
        try:
            self._send(packed({"id": self._number, **message}), deadline)
            return self._answer(deadline)
        except Garbled as error:
            raise Gone(str(error)) from error

    def _send(self, frame: bytes, deadline: float) -> None:
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[os.write(self._requests, rest) :]
            except BlockingIOError:
                if not select.select([], [self._requests], [], max(0.0, deadline - time.monotonic()))[1]:
                    raise Late from None
            except BrokenPipeError:
                raise Gone(self._ending()) from None

    def _answer(self, deadline: float) -> dict[str, Any]:
        while True:
            message = self._buffer.take()
            if message is not None:
                if message.get("id") != self._number:
                    raise Garbled("an answer belongs to no question")
                return message
            self._wait(deadline)

    def _wait(self, deadline: float) -> None:
        """Take in whatever there is; an answer that was sent before the worker ended still counts."""
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise Late
        ready = dict(self._poll.poll(remaining * 1000 + 1))
        if self._answers in ready:
            piece = os.read(self._answers, PIECE)
            if piece:
                self._buffer.feed(piece)
                return
            self._poll.unregister(self._answers)
        for descriptor in self._streams.keys() & ready.keys():
            self._take_output(descriptor)
        if self._endings in ready:
            raise Gone(self._ending())

    def _take_output(self, descriptor: int) -> None:
        piece = os.read(descriptor, PIECE)
        if piece:
            self._streams[descriptor].add(piece)
        else:
            self._poll.unregister(descriptor)

    def _ending(self) -> str:
        """How the worker has ended, from its keeper."""
        ready, _, _ = select.select([self._endings], [], [], PATIENCE)
        status = os.read(self._endings, 64) if ready else b""
        return f"the worker {how_it_ended(int(status))}" if status else "the worker is gone"

    def end(self) -> None:
        """Kill the worker and everything that stems from it; wait until nothing of it is left."""
        if self._ended:
            return
        self._ended = True
        os.close(self._lifeline)
        try:
            self._popen.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # somebody has stopped the keeper
            kill_descendants(self._popen.pid)
            self._popen.kill()
            self._popen.wait()
        kill_marked(self._token)
        self._drain()
        for descriptor in (self._requests, self._answers, self._endings):
            os.close(descriptor)
        for stream in (self._popen.stdout, self._popen.stderr):
            if stream is not None:
                stream.close()

    def _drain(self) -> None:
        """What was still in the pipes when everybody had gone."""
        for descriptor, output in self._streams.items():
            os.set_blocking(descriptor, False)
            with contextlib.suppress(OSError):
                while piece := os.read(descriptor, PIECE):
                    output.add(piece)
