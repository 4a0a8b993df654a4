"""Runs whose answers belong to the cases before or after them, while the judgments belong to their queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from searchmark.audit.gold_and_corpus.own_queries import (
    DEPTH,
    FEWEST_CASES,
    MORE_FOUND,
    MOST_CASES,
    TIMES_FOUND,
    judgments_of_other_queries,
    later,
    rolled,
)
from searchmark.audit.gold_and_corpus.shifts import Shift, best_shift
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.judging.judge import judge
from searchmark.measures.formulas import Floats
from searchmark.records import Run, Suite
from searchmark.runs.cut import cut_to

CERTAINLY = 6.0  # standard errors from which on a run need not find twice as much: neighbours may share most of their targets


def shifted_runs(subject: Subject) -> Iterator[Finding]:
    """Runs that find far more with the judgments of a neighbouring case; if others do as well, the judgments are shifted."""
    suite = _looked_at(subject.expanded)
    if len(suite) < FEWEST_CASES or not subject.scores:
        return
    fits = {name: _FoundByShift(suite, cut_to(scores.judged.run, DEPTH)) for name, scores in subject.scores.items()}
    found = {name: shift for name, fit in fits.items() if (shift := fit.shift) is not None}
    if not found or any(each.code == "shifted-judgments" for each in judgments_of_other_queries(subject)):
        return
    for name, shift in found.items():
        others = [fit for other, fit in fits.items() if other != name]
        if sum(fit.gained(shift) for fit in others) > 0:
            yield finding(
                "shifted-judgments", f"{_sentence(suite, name, shift, fits[name])}; the other runs find more that way too"
            )
            return
        cases = suite.table.ids[shift.first : shift.end]
        yield finding("shifted-run", _sentence(suite, name, shift, fits[name]), cases)


def _sentence(suite: Suite, name: str, shift: Shift, fit: _FoundByShift) -> str:
    ids = suite.table.ids
    part = "answers" if shift.whole else f"answers from case {ids[shift.first]} to {ids[shift.end - 1]}"
    told = (
        f"{fit.sum(shift, shift.step)} relevant documents are among the first {DEPTH} hits that way, otherwise {fit.sum(shift, 0)}"
    )
    return f"{name}: {part} fit the judgments of the case that comes {later(shift.step)}: {told}"


def _looked_at(suite: Suite) -> Suite:
    """The first and the last cases, where there are very many."""
    ids, half = suite.table.ids, MOST_CASES // 2
    return suite if len(suite) <= MOST_CASES else suite.only({*ids[:half], *ids[-half:]})


class _FoundByShift:
    """Relevant documents among the first hits of each case, with the judgments of the case so many later."""

    def __init__(self, suite: Suite, run: Run) -> None:
        self._suite, self._run = suite, run
        self._known: dict[int, Floats] = {}

    def __call__(self, step: int) -> Floats:
        if step not in self._known:
            self._known[step] = self._found(step)
        return self._known[step]

    @property
    def shift(self) -> Shift | None:
        """The one by which this run finds far more."""
        shift = best_shift(len(self._suite), self)
        if shift is None or self.gained(shift) < MORE_FOUND:
            return None
        twice = self.sum(shift, shift.step) >= TIMES_FOUND * self.sum(shift, 0)
        return shift if twice or shift.gain >= CERTAINLY else None

    def sum(self, rows: Shift, step: int) -> int:
        return int(np.nansum(self(step)[rows.first : rows.end]))

    def gained(self, shift: Shift) -> int:
        return self.sum(shift, shift.step) - self.sum(shift, 0)

    def _found(self, step: int) -> Floats:
        suite = replace(self._suite, judgments=rolled(self._suite.judgments, step)) if step else self._suite
        hits = judge(suite, self._run).hits
        relevant = (hits.rank <= DEPTH) & (hits.grade > 0)
        found = np.bincount(hits.case[relevant], minlength=len(suite)).astype(np.float64)
        found[len(found) - step if step > 0 else 0 : None if step > 0 else -step] = np.nan
        return found
