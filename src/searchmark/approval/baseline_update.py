"""A run becomes the baseline: what that changes, and the file that it is kept in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from searchmark.analysis.intervals import SAME
from searchmark.analysis.scores import Scores
from searchmark.errors import UsageError
from searchmark.files.store import check_replaceable
from searchmark.records import BaselineRecord, Run

NEVER_BELOW = ".searchmark"  # which Git ignores, and which may be removed at any time


@dataclass(frozen=True)
class ValueChange:
    """A value of a measure before and after; None where there is none."""

    name: str
    before: float | None
    after: float | None

    @property
    def changed(self) -> bool:
        if self.before is None or self.after is None:
            return self.before is not self.after
        return abs(self.before - self.after) > SAME

    @property
    def falls(self) -> bool:
        return self.before is not None and (self.after is None or self.before - self.after > SAME)


@dataclass(frozen=True)
class CaseChange:
    """A case and the values of it that changed."""

    case: str
    values: tuple[ValueChange, ...]


@dataclass(frozen=True)
class BaselineChange:
    """What a new baseline changes: every measure, and the cases that have another value."""

    measures: tuple[ValueChange, ...]
    cases: tuple[CaseChange, ...] = ()


def change_between(before: Scores | None, after: Scores) -> BaselineChange:
    """What changes from one run to another, both judged and scored alike."""
    means = after.means()
    former = {} if before is None else before.means()
    measures = tuple(ValueChange(name, _known(former.get(name)), _known(mean)) for name, mean in means.items())
    return BaselineChange(measures, () if before is None else tuple(_cases(before, after)))


def _cases(before: Scores, after: Scores) -> Iterator[CaseChange]:
    for row, case in enumerate(after.judged.suite.table.ids):
        columns = zip(after.names, before.values[row].tolist(), after.values[row].tolist(), strict=True)
        changes = (ValueChange(name, _known(old), _known(new)) for name, old, new in columns)
        changed = tuple(each for each in changes if each.changed)
        if changed:
            yield CaseChange(case, changed)


def _known(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else value


def next_record(run: Run, former: Run | None, *, author: str, reason: str | None, date: datetime) -> BaselineRecord:
    """The record of the next version of the baseline."""
    last = former.provenance.baseline if former else None
    return BaselineRecord(last.version + 1 if last else 1, date, author, searched_with(run) or run.agent, reason)


def as_baseline(run: Run, record: BaselineRecord | None) -> Run:
    """The run with the record that makes it the baseline, or without any."""
    return replace(run, provenance=replace(run.provenance, baseline=record))


def searched_with(run: Run) -> str | None:
    """The embedding model of a run, if it is known."""
    agent = run.provenance.agent
    return None if agent is None else agent.model


def same_run(one: Run, other: Run) -> bool:
    """Whether two runs are one, whatever versions of the baseline they were."""
    return as_baseline(one, None) == as_baseline(other, None)


def check_location(file: Path) -> None:
    """Refuse to keep a baseline where it is not under version control, or in a file that must not be replaced."""
    check_replaceable(file)
    if NEVER_BELOW in (*file.absolute().parts, *file.resolve().parts):
        raise UsageError(
            f"{file} is below {NEVER_BELOW}, which Git ignores; name a file beside the config, with gates.baseline or --against"
        )
