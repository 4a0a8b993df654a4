"""What starting a program takes, measured by starting it for nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from threading import Event, Timer
from time import perf_counter_ns

from searchmark.agents.outside.process import Child, CommandFailed, found_program, one_line, running

STARTS = 5
ENOUGH_MS = 2000.0  # for all starts together; a slow program is started fewer times
PATIENCE = 5.0  # seconds for one start
_LONGEST = 1 << 16
_SHOWN = 100


@dataclass(frozen=True)
class MeasuredStart:
    """The median time of a program that is only started, and the first line that it printed: usually its version."""

    ms: float
    version: str

    @classmethod
    def of(cls, argv: Sequence[str], variables: frozenset[str]) -> MeasuredStart:
        program, times, printed = found_program(argv[0]), list[float](), b""
        while len(times) < STARTS and sum(times) < ENOUGH_MS:
            begun = perf_counter_ns()
            printed = _printed(program, argv[1:], variables)
            times.append((perf_counter_ns() - begun) / 1e6)
        return cls(median(times), one_line(printed.partition(b"\n")[0], _SHOWN))


@contextmanager
def _deadline(child: Child) -> Iterator[Event]:
    """End a program that takes too long, and say by the event that this has happened."""
    late = Event()

    def end() -> None:
        late.set()
        child.kill()

    timer = Timer(PATIENCE, end)
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


def _printed(program: str, arguments: Sequence[str], variables: frozenset[str]) -> bytes:
    with running(program, arguments, None, variables=variables) as child, _deadline(child) as late:
        printed = bytearray()
        while piece := child.read():
            printed += piece[: max(0, _LONGEST - len(printed))]
        code = child.wait()
        if late.is_set():
            words = " ".join([child.name, *arguments])
            raise CommandFailed(
                f"startup has failed: {words!r} did not end within {PATIENCE:g} s; give one that only starts and ends"
            )
        if code:
            raise CommandFailed(f"startup has failed: {child.ending(code, bytes(printed))}")
        return bytes(printed)
