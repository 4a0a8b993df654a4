"""Fuzzing: every target is given mutations of real input until its time is over; what it may do is answer or refuse.

    python -m tests.hostile.fuzz SECONDS [SEED [TARGET ...]]

Found inputs are written to the working directory, one for each line of our code that gave up.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from searchmark import SearchmarkError
from tests.hostile.mutation import Mutate

SECONDS_OF_WORK = 3.0  # for one input, in time of the processor: others may use the machine too
SECONDS_OF_WAITING = 60.0


class TooLong(BaseException):
    """An input kept a reader busy, or waiting."""


@dataclass(frozen=True)
class Target:
    """What is fuzzed: real inputs, how they are mutated, and what is done with each; ``name`` is how its file is called."""

    seeds: tuple[bytes, ...]
    mutate: Mutate
    exercise: Callable[[Path], object]
    name: str


@dataclass(frozen=True)
class Finding:
    """An input that was neither read nor refused, and where that happened."""

    content: bytes
    number: int
    failure: str
    trace: str


def tried(target: Target, path: Path) -> tuple[str, str] | None:
    """Nothing if the target answers or refuses with one sentence; else the failure in a line, and its traceback."""
    try:
        with _time_limit():
            target.exercise(path)
    except SearchmarkError as error:
        return None if error.exit_code in (2, 4, 5) else (f"exit code {error.exit_code}", traceback.format_exc())
    except (Exception, TooLong) as error:  # noqa: BLE001  # whatever it is, it is what was looked for
        return f"{type(error).__name__} at {_where(error)}", traceback.format_exc()
    return None


def _where(error: BaseException) -> str:
    """The last line of ours."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "searchmark/" in frame.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"


@contextmanager
def _time_limit() -> Iterator[None]:
    def end(*_: object) -> None:
        raise TooLong

    before = {number: signal.signal(number, end) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, SECONDS_OF_WORK)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_OF_WAITING)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def campaign(target: Target, folder: Path, seconds: float, seed: str, at_least: int) -> tuple[int, list[Finding]]:
    """How many mutations were tried, and one finding for each place of failure, the smallest."""
    random, found, number, end = Random(seed), dict[str, Finding](), 0, time.monotonic() + seconds
    path = folder / target.name
    path.parent.mkdir(parents=True, exist_ok=True)
    while number < at_least or time.monotonic() < end:
        content = target.mutate(random, random.choice(target.seeds), random.choice(target.seeds))
        path.write_bytes(content)
        failed = tried(target, path)
        if failed and (failed[0] not in found or len(content) < len(found[failed[0]].content)):
            found[failed[0]] = Finding(content, number, *failed)
        number += 1
    return number, list(found.values())


def main(arguments: list[str]) -> None:
    from tests.hostile.targets import all_targets

    seconds, seed, *names = [*arguments, *["60", "0"][len(arguments) :]]
    with tempfile.TemporaryDirectory() as folder:
        targets = all_targets(Path(folder, "seeds"))
        for name in names or targets:
            share = float(seconds) / len(names or targets)
            count, findings = campaign(targets[name], Path(folder, name), share, f"{seed} {name}", 1)
            print(f"{name}: {count} mutations, {len(findings)} findings", flush=True)  # noqa: T201  # what it is run for
            for finding in findings:
                file = Path(f"{name}--{abs(hash(finding.failure)) % 10**6}-{Path(targets[name].name).name}")
                file.write_bytes(finding.content)
                print(f"  {finding.failure} ({file})\n{finding.trace[-1500:]}", flush=True)  # noqa: T201  # as above


if __name__ == "__main__":
    main(sys.argv[1:])
