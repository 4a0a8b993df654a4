"""A worker as the runner sees it: ask with a deadline, or end it with everything it has started.

Agents of this process have the same methods.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from time import monotonic, perf_counter, perf_counter_ns
from typing import Any

from searchmark.config.agents import AgentSpec
from searchmark.io.folders import private_folder
from searchmark.io.secrets import output_end, without_secret_values
from searchmark.running.sandbox.launch import Launch
from searchmark.running.worker.frames import FrameBuffer, InvalidFrame, await_ready, encode_frame
from searchmark.running.worker.process_tree import TOKEN, describe_exit, kill_by_token, kill_descendants, wait_for_core
from searchmark.running.worker.protocol import HitReceiver
from searchmark.running.worker.server import Server

KEPT_OUTPUT = 8 << 10

KEPT_END = 2 << 10  # of what was printed last: what a search that failed has printed

LONGEST_WAIT_MS = 1 << 30

AWAKE = 100e-6  # seconds after a request; an agent that takes longer is waited for asleep, and has all cores to itself

PIECE = 1 << 18

ENDING_SECONDS = 2.0  # for the keeper to say how the worker ended

KEEPER_SECONDS = 3.0  # for the keeper to end the family; then we do


class WorkerDied(Exception):
    """The worker has ended, or does not speak our language any more."""


class DeadlinePassed(Exception):
    """The worker has not answered in time."""


class OutputCapture:
    """What an agent has printed: its beginning, its end, and how much there was."""

    def __init__(self) -> None:
        self.beginning = bytearray()
        self.size = 0
        self._end = bytearray()

    def add(self, piece: bytes) -> None:
        self.beginning += piece[: KEPT_OUTPUT - len(self.beginning)]
        self.size += len(piece)
        self._end = (self._end + piece[-KEPT_END:])[-KEPT_END:]

    def end_since(self, size: int) -> str:
        """What was printed since there was so much of it, or the end of that."""
        new = min(self.size - size, len(self._end))
        cut = new < self.size - size
        return without_secret_values(output_end(bytes(self._end[-new:]), KEPT_END if cut else KEPT_END + 1)) if new > 0 else ""

    def text(self) -> str:
        return without_secret_values(self.beginning.decode("utf-8", "replace"))


class WorkerProcess:
    """A worker with its keeper. After `WorkerDied` or `DeadlinePassed` it has to be ended; nobody can know what it is doing."""

    def __init__(self, output: Mapping[str, OutputCapture], longest_answer: int, launch: Launch) -> None:
        self._launch = launch
        self._token = secrets.token_hex(16)
        self._question = ""
        self.took_ns = 0  # from the last request to the last byte of its answer, by our clock
        self.unseen_ns = 0  # how much earlier that byte may have come, while we were not looking
        self.first_hit_ns: int | None = None  # until the first hit of an answer that came in parts
        self._buffer = FrameBuffer(longest_answer)
        self._output = output
        self._ended = False
        self._awake_until = 0.0
        self._hanging_up = threading.Lock()
        self._born = time.perf_counter()
        self._until_the_end = ExitStack()
        self._popen = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        requests, self._requests = _pipe()
        self._answers, answers = _pipe()
        lifeline, self._lifeline = _pipe()
        self._endings, endings = _pipe()
        theirs = (requests, answers, lifeline, endings)
        os.set_blocking(self._requests, False)
        # -P: a file in the working directory must not pass for a module of ours or of Python's.
        command = [sys.executable, "-P", "-m", "searchmark.running.worker.main", *map(str, theirs)]
        scratch = self._until_the_end.enter_context(private_folder())
        try:
            with self._launch.prepared(command, scratch) as launch:
                popen = subprocess.Popen(  # noqa: S603  # our own interpreter and our own module
                    launch.command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=(*theirs, *launch.descriptors),
                    start_new_session=True,  # Ctrl-C is the runner's business
                    env=launch.environment | {TOKEN: self._token},
                    cwd=self._launch.folder,
                )
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        assert popen.stdout is not None and popen.stderr is not None  # noqa: S101, PT018  # both are pipes
        self._streams = {popen.stdout.fileno(): self._output["stdout"], popen.stderr.fileno(): self._output["stderr"]}
        self._answers_poll = select.poll()
        self._answers_poll.register(self._answers, select.POLLIN)
        self._poll = select.poll()
        for descriptor in (self._answers, self._endings, *self._streams):
            self._poll.register(descriptor, select.POLLIN)
        return popen

    def age(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._born

    def ask(self, message: dict[str, Any], seconds: float, meanwhile: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Send a request and wait for its answer. Nobody can answer before the question: its id is drawn when it is asked.

        Between the two, ``meanwhile`` does what there is to do here, on a core that the worker does not need.
        """
        self._question = secrets.token_hex(8)
        deadline = time.monotonic() + seconds
        try:
            self._refuse_early_bytes()
            start, self._arrived_ns, self.unseen_ns = time.perf_counter_ns(), 0, 0
            self._send(encode_frame({"id": self._question, **message}), deadline)
            self._do(meanwhile)
            receiver = HitReceiver(message)
            reply = receiver.joined(self._answer(deadline + self.unseen_ns / 1e9, receiver))
        except InvalidFrame as error:
            raise WorkerDied(str(error)) from error
        self.took_ns = self._arrived_ns - start
        self.first_hit_ns = None if receiver.first_hit_ns is None else receiver.first_hit_ns - start
        return reply

    def _do(self, meanwhile: Callable[[], None]) -> None:
        """Work of our own, which is not the worker's time: its deadline does not run, and its clock is not compared with ours.

        An answer that is there when we look again came at some moment of that work, and a pipe does not say which. So the true
        time lies between ``took_ns`` less ``unseen_ns`` and ``took_ns``: a worker that claims more than the latter lies, one
        that claims much less than the former does too. An answer that is not there yet is seen when it comes; then
        ``unseen_ns`` is 0, and our clock as exact as if we had done nothing.
        """
        start = time.perf_counter_ns()
        meanwhile()
        end = time.perf_counter_ns()
        self.unseen_ns, self._awake_until = end - start, end / 1e9 + AWAKE

    def _refuse_early_bytes(self) -> None:
        if len(self._buffer) or any(event & select.POLLIN for _, event in self._answers_poll.poll(0)):
            raise InvalidFrame("an answer came before the question")

    def _send(self, frame: bytes, deadline: float) -> None:
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[os.write(self._requests, rest) :]
            except BlockingIOError:
                if not _wait_for_descriptor(self._requests, select.POLLOUT, deadline - time.monotonic()):
                    raise DeadlinePassed from None
            except BrokenPipeError:
                raise WorkerDied(self._ending()) from None

    def _answer(self, deadline: float, receiver: HitReceiver) -> dict[str, Any]:
        """The last frame of the answer; those before it are taken in, and the deadline is that of all."""
        self._buffer.begin()
        while "part" in (message := self._frame(deadline)):
            receiver.add(message, self._arrived_ns)
        return message

    def _frame(self, deadline: float) -> dict[str, Any]:
        while (message := self._buffer.take()) is None:
            self._wait(deadline)
        if message.get("id") != self._question:
            raise InvalidFrame("an answer does not belong to any question")
        return message

    def _wait(self, deadline: float) -> None:
        """Take in whatever there is; an answer that was sent before the worker ended still counts."""
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise DeadlinePassed
        ready = dict(self._poll.poll(0))
        if not ready:
            self.unseen_ns = 0  # whatever comes from now on is seen when it comes
            ready = dict(await_ready(self._poll, min(remaining * 1000 + 1, LONGEST_WAIT_MS), self._awake_until))
        if self._answers in ready:
            piece = os.read(self._answers, PIECE)
            self._arrived_ns = (
                time.perf_counter_ns()
            )  # of the last piece: a worker that has written the first may still be searching
            if piece:
                self._buffer.feed(piece)
                return
            self._poll.unregister(self._answers)
            if not self._endings_ready(ENDING_SECONDS):  # its keeper, which would say how it ended, has been stopped or killed
                raise WorkerDied("the worker has closed its channel")
        for descriptor in self._streams.keys() & ready.keys():
            self._take_output(descriptor)
        if self._endings in ready:
            raise WorkerDied(self._ending())

    def _take_output(self, descriptor: int) -> None:
        piece = os.read(descriptor, PIECE)
        if piece:
            self._streams[descriptor].add(piece)
        else:
            self._poll.unregister(descriptor)

    def take_printed(self) -> None:
        """Take in what the agent has printed so far; nobody waits for more."""
        for descriptor in self._streams.keys() & dict(self._poll.poll(0)).keys():
            self._take_output(descriptor)

    def _ending(self) -> str:
        """How the worker has ended, from its keeper."""
        status = os.read(self._endings, 64) if self._endings_ready(ENDING_SECONDS) else b""
        if status:
            return f"the worker {describe_exit(int(status))}"
        self._drain()
        return self._launch.why_gone(self._output["stderr"].text())

    def _endings_ready(self, seconds: float) -> bool:
        """Whether the keeper says how the worker ended; one that somebody has stopped is woken up for that."""
        with contextlib.suppress(ProcessLookupError):
            self._popen.send_signal(signal.SIGCONT)
        return _wait_for_descriptor(self._endings, select.POLLIN, seconds)

    def waited_ns(self) -> int | None:
        """How long the worker has been ready to run and waited for a core, since it began; None where nobody knows."""
        return wait_for_core(self._popen.pid)

    def hang_up(self) -> None:
        """Have the keeper end the worker: whoever waits for an answer gets none. For any thread, as nothing else here is."""
        with self._hanging_up:
            lifeline, self._lifeline = self._lifeline, -1
        if lifeline >= 0:
            os.close(lifeline)

    def end(self) -> None:
        """Kill the worker and everything that stems from it; wait until nothing of it is left."""
        if self._ended:
            return
        self._ended = True
        self.hang_up()
        self._popen.send_signal(signal.SIGCONT)  # an agent may have stopped its keeper
        try:
            self._popen.wait(KEEPER_SECONDS)
        except subprocess.TimeoutExpired:  # somebody has stopped the keeper
            kill_descendants(self._popen.pid)
            self._popen.kill()
            self._popen.wait()
        kill_by_token(self._token)
        self._drain()
        for descriptor in (self._requests, self._answers, self._endings):
            os.close(descriptor)
        for stream in (self._popen.stdout, self._popen.stderr):
            if stream is not None:
                stream.close()
        self._until_the_end.close()

    def _drain(self) -> None:
        """What was still in the pipes when everybody had gone."""
        for descriptor, output in self._streams.items():
            os.set_blocking(descriptor, False)
            with contextlib.suppress(OSError):
                while piece := os.read(descriptor, PIECE):
                    output.add(piece)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are none of the standard streams, even if somebody has closed those."""
    ends = os.pipe()
    new_ends = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) if end < 3 else end for end in ends)  # noqa: PLR2004  # 0, 1, 2
    for end, now in zip(ends, new_ends, strict=True):
        if end != now:
            os.close(end)
    return new_ends[0], new_ends[1]


def _wait_for_descriptor(descriptor: int, event: int, seconds: float) -> bool:
    """Wait until a descriptor can be used; select() could not do that beyond 1024."""
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(min(max(0.0, seconds) * 1000, LONGEST_WAIT_MS)))


# An agent that only this process has, behind the methods of a worker; sessions do not notice.
#
# Nothing protects the run from it: a deadline cannot end it, so an answer that came too late is a time-out afterwards; its
# memory is ours and has no limit; what it prints goes where the program prints; if it crashes, so does the run.


class InProcessWorker:
    """Answers requests in the thread that asks; Ctrl-C reaches the program."""

    def __init__(self, spec: AgentSpec) -> None:
        self._server = Server(spec)
        self._born = perf_counter()
        self._closed = False
        self.took_ns = self.unseen_ns = 0
        self.first_hit_ns: int | None = None

    def age(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._born

    def ask(self, message: dict[str, Any], seconds: float, meanwhile: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Have a request answered, however long that takes, and then look at the clock; ``meanwhile`` comes before."""
        meanwhile()
        start, start_ns = monotonic(), perf_counter_ns()
        self._closed = self._closed or message["op"] == "close"
        receiver = HitReceiver(message)
        request = message | {"memory_limit_mb": None}  # a limit would be ours for good
        reply = self._server.answer(request, lambda part: receiver.add(part, perf_counter_ns()))
        self.took_ns = perf_counter_ns() - start_ns
        self.first_hit_ns = None if receiver.first_hit_ns is None else receiver.first_hit_ns - start_ns
        if monotonic() - start > seconds:
            raise DeadlinePassed
        return receiver.joined(reply) | {"memory": None}  # that of the whole program would say nothing about the agent

    def take_printed(self) -> None:
        """Nothing: what an agent of this process prints is seen where the program prints."""

    def waited_ns(self) -> int | None:
        """Not known of a thread that is this one: nothing is between it and its answers."""
        return None

    def hang_up(self) -> None:
        """Nothing: no thread can be ended from outside."""

    def end(self) -> None:
        """Close the agent and give back what was opened for it: no process ends here that would do so."""
        if not self._closed:
            self._closed = True
            self._server.answer({"op": "close"})


Worker = WorkerProcess | InProcessWorker


def start_worker(spec: AgentSpec, output: Mapping[str, OutputCapture], longest_answer: int, launch: Launch) -> Worker:
    """A process of its own for every agent that can have one."""
    return WorkerProcess(output, longest_answer, launch) if spec.isolated else InProcessWorker(spec)
