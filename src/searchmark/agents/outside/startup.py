"""What starting a program takes, measured by starting it for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns

from searchmark.agents.outside.process import CommandFailed, found_program, one_line, running

STARTS = 5
ENOUGH_MS = 2000.0  # for all starts together; a slow program is started fewer times
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


def _printed(program: str, arguments: Sequence[str], variables: frozenset[str]) -> bytes:
    with running(program, arguments, None, variables=variables) as child:
        printed = bytearray()
        while piece := child.read():
            printed += piece[: max(0, _LONGEST - len(printed))]
        code = child.wait()
        if code:
            raise CommandFailed(f"startup has failed: {child.ending(code, bytes(printed))}")
        return bytes(printed)
