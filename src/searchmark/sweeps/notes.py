"""What must be known about rows before their numbers are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from searchmark.sweeps.result import Sweep, SweepRow

APART = timedelta(minutes=1)  # between the end of a row and the start of the next
UNSTEADY = 10  # p95 over p50 of the time in the index alone


def row_notes(sweep: Sweep) -> Iterator[str]:
    """Rows without numbers, one note for each reason; rows of another time or under another load; and those whose times vary."""
    yield from _failures(sweep.rows)
    yield from _measured_apart(sweep.rows)
    yield from _loaded_otherwise(sweep.rows)
    yield from _unsteady(sweep.rows)


def _failures(rows: Iterable[SweepRow]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row.failure is not None:
            by_reason.setdefault(row.failure, []).append(row.name)
    for reason, names in by_reason.items():
        yield f"{names[0]} has no numbers: {reason}" if len(names) == 1 else f"{len(names)} settings have no numbers: {reason}"


def _measured_apart(rows: Sequence[SweepRow]) -> Iterator[str]:
    """Rows that were measured in an earlier session: more than a minute lies between one of them and the next."""
    sessions = _sessions(rows)
    for earlier in sessions[:-1]:
        numbers = sorted(each.number for each in earlier)
        which = f"row {numbers[0]} was" if len(numbers) == 1 else f"rows {', '.join(map(str, numbers))} were"
        yield (
            f"{which} measured on {_when(earlier)}, the last ones on {_when(sessions[-1])}: "
            "times may not be comparable; --fresh measures all again"
        )


def _loaded_otherwise(rows: Sequence[SweepRow]) -> Iterator[str]:
    """Rows that were not all measured by as many workers, as on a cluster that has grown meanwhile."""
    counts = sorted({row.workers for row in rows if row.workers is not None})
    if len(counts) > 1:
        yield (
            f"rows were measured by {counts[0]} to {counts[-1]} workers at a time: times may not be comparable; "
            "--fresh measures all again"
        )


@dataclass(frozen=True, order=True)
class _RowTime:
    """When a row was measured."""

    started: datetime
    ended: datetime
    number: int


def _sessions(rows: Sequence[SweepRow]) -> list[list[_RowTime]]:
    sessions: list[list[_RowTime]] = []
    for span in sorted(_RowTime(row.started, row.ended, at) for at, row in enumerate(rows, 1) if row.started and row.ended):
        if not sessions or span.started - max(each.ended for each in sessions[-1]) > APART:
            sessions.append([])
        sessions[-1].append(span)
    return sessions


def _when(session: Sequence[_RowTime]) -> str:
    return f"{session[0].started.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _unsteady(rows: Iterable[SweepRow]) -> Iterator[str]:
    ratios = {
        number: row.index_ms.p95 / row.index_ms.p50
        for number, row in enumerate(rows, 1)
        if row.index_ms is not None and row.index_ms.p50 > 0 and row.index_ms.p95 > UNSTEADY * row.index_ms.p50
    }
    if ratios:
        which = ", ".join(f"{number} ({ratio:.0f}-fold)" for number, ratio in ratios.items())
        what = "row" if len(ratios) == 1 else "rows"
        yield f"in the index, p95 is far above p50 in {what} {which}: was the machine busy? --fresh measures all again"
