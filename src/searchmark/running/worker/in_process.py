"""An agent that only this process has, behind the methods of a worker; sessions do not notice.

Nothing protects the run from it: a deadline cannot end it, so an answer that came too late is a time-out afterwards; its
memory is ours and has no limit; what it prints goes where the program prints; if it crashes, so does the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic, perf_counter, perf_counter_ns
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.running.sandbox.launch import Launch
from searchmark.running.worker.client import Late, Output, Process
from searchmark.running.worker.server import Server
from searchmark.running.worker.streaming import ReceivedHits


class InProcessWorker:
    """Answers requests in the thread that asks; Ctrl-C goes through to whoever runs the program."""

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
        received = ReceivedHits(message)
        request = message | {"memory_limit_mb": None}  # a limit would be ours for good
        reply = self._server.answer(request, lambda part: received.add(part, perf_counter_ns()))
        self.took_ns = perf_counter_ns() - start_ns
        self.first_hit_ns = None if received.first_hit_ns is None else received.first_hit_ns - start_ns
        if monotonic() - start > seconds:
            raise Late
        return received.joined(reply) | {"memory": None}  # that of the whole program would say nothing about the agent

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


Worker = Process | InProcessWorker


def start_worker(spec: AgentSpec, output: Mapping[str, Output], longest_answer: int, launch: Launch) -> Worker:
    """A process of its own for every agent that can have one."""
    return Process(output, longest_answer, launch) if spec.isolated else InProcessWorker(spec)
