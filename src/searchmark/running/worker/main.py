"""`python -m searchmark.running.worker.main`: the process of an agent, and its keeper.

It imports almost nothing, since it runs before anything is confined.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from functools import partial
from typing import Any

from searchmark.io.guard import GUARD_VARIABLE
from searchmark.running.worker.frames import InvalidFrame, Receiver, send
from searchmark.running.worker.process_tree import adopt_orphans, die_with_parent, hide_memory_for_good, kill_descendants, reap


def main() -> None:
    requests, answers, lifeline, endings, *more = map(int, sys.argv[1:])
    confinement = _read_confinement(more)
    if GUARD_VARIABLE in os.environ:  # code of others runs beside us, and must not read the guard or write into our memory
        hide_memory_for_good()
    adopt_orphans()
    # The wake-up pipe must be there before the worker can end.
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    keeper = os.getpid()
    worker = os.fork()
    if not worker:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in (lifeline, endings, wake, waker):
            os.close(descriptor)
        die_with_parent(keeper)
        if confinement is not None:
            confinement.enter()
        _answer_requests(requests, answers)
        os._exit(0)
    _close_worker_pipes(requests, answers)
    _watch_worker(worker, lifeline, endings, wake)


def _read_confinement(descriptors: list[int]) -> Any:
    """What keeps the worker in its sandbox, if it has one; root gives up its rights right here."""
    if not descriptors:
        return None
    from searchmark.running.sandbox.confinement import Confinement

    confinement = Confinement.read(descriptors[0])
    confinement.become_user()
    confinement.protect_keeper()
    return confinement


def _close_worker_pipes(*descriptors: int) -> None:
    """The keeper holds none of the worker's pipes, lest they never end."""
    for descriptor in descriptors:
        os.close(descriptor)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (1, 2):
        os.dup2(nowhere, standard)


def _watch_worker(worker: int, lifeline: int, endings: int, wake: int) -> None:
    status: int | None = None
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(wake, select.POLLIN)
    while status is None:
        ready = dict(poll.poll())
        if lifeline in ready:  # nothing is ever written there: the runner has hung up
            break
        os.read(wake, 512)
        status = reap().get(worker)
    if status is not None:
        with contextlib.suppress(OSError):
            os.write(endings, f"{status}\n".encode())
    kill_descendants(os.getpid())
    os._exit(0)


def _answer_requests(requests: int, answers: int) -> None:
    """Answer requests until there are no more; what the agent prints goes to its own pipes."""
    for descriptor in (requests, answers):
        os.set_inheritable(descriptor, False)
    from searchmark.running.worker.server import Server

    server = Server()
    receiver = Receiver(requests)
    worker = os.getpid()

    def say(question: str, message: dict[str, Any]) -> None:
        if os.getpid() != worker:  # the agent has forked, and its child has come back as well
            os._exit(0)
        send(answers, {"id": question, **message})

    with contextlib.suppress(InvalidFrame, OSError):
        while (request := receiver.next()) is not None:
            answer = partial(say, request["id"])
            reply = server.answer(request, answer)
            _flush()  # what is printed during a search that fails tells why, and must not be mixed with what was printed before
            answer(reply)
            if request["op"] == "close":
                break
    _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


if __name__ == "__main__":
    main()
