"""Advice about groups of cases: typos, a language, a category that fails more often than the rest of the suite.

That a group fails "as a group" is a claim. It is made where Fisher's exact test finds it unlikely by chance, adjusted for all
groups of all runs that were looked at, and where the group is worse by a margin that matters. docs/recommendations.md has the
simulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from searchmark.analysis.exact_tests import binomial_tail, hypergeometric_tail
from searchmark.measures.formulas import Ints
from searchmark.records import EMPTY, OK
from searchmark.reports.advice import Recommendation, percent, recommendation
from searchmark.reports.case_arrays import CaseArrays, Marks
from searchmark.reports.case_groups import CaseGroup, FactTable, GroupKind
from searchmark.reports.failed import failed

LEVEL = 0.05
FEWEST_CASES = 5
LEAST_GAP = 0.15
ALIKE = 0.8  # the share of the cases of two groups that are in both

_CODES: dict[GroupKind, str] = {"typos": "typos-fail", "language": "language-fails", "category": "category-fails"}
_ADVICE: dict[GroupKind, str] = {
    "typos": "Make the search tolerant of typos: character n-grams, edit distance, or a corrected query.",
    "language": "Check that analyser and embedding model know this language, and that its documents are indexed.",
    "category": "Look at these cases together: what they have in common is not found, or not ranked first.",
}


@dataclass(frozen=True)
class FailureCount:
    """How many failed, of how many."""

    failed: int
    size: int

    @property
    def share(self) -> float:
        return self.failed / self.size if self.size else 0.0


@dataclass(frozen=True, eq=False)
class PerOrigin:
    """How many cases of each of some origins failed, of how many."""

    failed: Ints
    sizes: Ints

    def plus(self, other: PerOrigin) -> PerOrigin:
        return PerOrigin(self.failed + other.failed, self.sizes + other.sizes)


@dataclass(frozen=True, eq=False)
class Answered:
    """The cases of a run that were answered, also with nothing, and can be judged: which of them failed.

    A case that ended in an error says nothing of what the search does with a typo. Cases of one origin are one observation,
    which failed if more than half of them did.
    """

    run: str
    cases: CaseArrays
    origins: Ints
    measured: Marks
    failed: Marks

    @classmethod
    def of(cls, run: str, cases: CaseArrays, origins: Ints) -> Answered:
        measured = np.isin(cases.status, (OK, EMPTY)) & (~cases.unanswerable | ~np.isnan(cases.column("Abstain")))
        return cls(run, cases, origins, measured, failed(cases) & measured)

    def count(self, rows: Ints) -> tuple[FailureCount, FailureCount]:
        """The cases in some rows, and all others."""
        size, fails = int(self.measured[rows].sum()), int(self.failed[rows].sum())
        return FailureCount(fails, size), FailureCount(int(self.failed.sum()) - fails, int(self.measured.sum()) - size)

    def observed(self, rows: Ints) -> tuple[FailureCount, FailureCount]:
        """The same in observations; an origin with cases on both sides is one on each."""
        inside, beside = self.by_origin(rows)
        whole, within = _observations(self._origins), _observations(inside.plus(beside))
        rest = _observations(beside)
        return _observations(inside), FailureCount(whole.failed - within.failed + rest.failed, whole.size - within.size + rest.size)

    def by_origin(self, rows: Ints) -> tuple[PerOrigin, PerOrigin]:
        """For each origin of some cases how many of these failed, of how many, and the same of its other cases."""
        rows = rows[self.measured[rows]]
        origins, which, sizes = np.unique(self.origins[rows], return_inverse=True, return_counts=True)
        inside = PerOrigin(_bincount(which[self.failed[rows]], len(origins)), sizes.astype(np.int64))
        whole = self._origins
        return inside, PerOrigin(whole.failed[origins] - inside.failed, whole.sizes[origins] - inside.sizes)

    @cached_property
    def _origins(self) -> PerOrigin:
        size = len(self.measured)
        return PerOrigin(_bincount(self.origins[self.failed], size), _bincount(self.origins[self.measured], size))


def _bincount(numbers: Ints, size: int) -> Ints:
    return np.bincount(numbers, minlength=size).astype(np.int64)


def _observations(found: PerOrigin) -> FailureCount:
    return FailureCount(int((2 * found.failed > found.sizes).sum()), int((found.sizes > 0).sum()))


def group_advice(runs: Sequence[Answered], facts: FactTable) -> Iterator[Recommendation]:
    """What is said of every group that clearly fails more often than the others; groups of nearly the same cases are one."""
    groups = [group for group in facts.groups() if len(group.rows) >= FEWEST_CASES]
    looks = [_GroupInRun(run, group, _twins(run, group)) for run in runs for group in groups if _can_tell(run, group)]
    tests = len(looks) + sum(look.twins is not None for look in looks)
    for run in runs:
        failing = (look for look in looks if look.run is run and look.fails(LEVEL / tests))
        yield from (_said(*alike) for alike in _alike(failing))


@dataclass(frozen=True, eq=False)
class _GroupInRun:
    """A group in one run, and its cases beside those of the same origin where it is one of typos."""

    run: Answered
    group: CaseGroup
    twins: FailureCount | None

    def fails(self, level: float) -> bool:
        return _fails_as_a_group(self.run, self.group, level) or _fails_beside_its_twins(self.twins, level)

    @cached_property
    def rows(self) -> Ints:
        """Its cases that can be judged."""
        return self.group.rows[self.run.measured[self.group.rows]]

    def common(self, other: _GroupInRun) -> int:
        return len(np.intersect1d(self.rows, other.rows, assume_unique=True))

    def is_like(self, other: _GroupInRun) -> bool:
        """Whether nearly the same cases are in both, so that these do not tell which of the two it is."""
        common = self.common(other)
        return common >= ALIKE * (len(self.rows) + len(other.rows) - common)


def _alike(looks: Iterable[_GroupInRun]) -> list[list[_GroupInRun]]:
    """Groups of nearly the same cases together, under the first of them."""
    found: list[list[_GroupInRun]] = []
    for look in looks:
        same = next((each for each in found if each[0].is_like(look)), None)
        if same is None:
            found.append([look])
        else:
            same.append(look)
    return found


def _can_tell(run: Answered, group: CaseGroup) -> bool:
    return all(side.size >= FEWEST_CASES for side in run.observed(group.rows))


def _fails_as_a_group(run: Answered, group: CaseGroup, level: float) -> bool:
    inside, outside = run.observed(group.rows)
    if inside.share - outside.share < LEAST_GAP:
        return False
    total, marked = inside.size + outside.size, inside.failed + outside.failed
    return hypergeometric_tail(inside.failed, inside.size, marked, total) <= level


def _twins(run: Answered, group: CaseGroup) -> FailureCount | None:
    """Cases with a typo beside those of the same origin without: in how many pairs the typo fails more, of how many that differ."""
    if group.kind != "typos":
        return None
    varied, original = run.by_origin(group.rows)
    paired = original.sizes > 0
    gaps = varied.failed[paired] * original.sizes[paired] - original.failed[paired] * varied.sizes[paired]
    return FailureCount(int((gaps > 0).sum()), int((gaps != 0).sum())) if len(gaps) else None


def _fails_beside_its_twins(twins: FailureCount | None, level: float) -> bool:
    return twins is not None and twins.failed >= FEWEST_CASES and binomial_tail(twins.failed, twins.size, 0.5) <= level


def _said(look: _GroupInRun, *others: _GroupInRun) -> Recommendation:
    """What is said of one group, which has nearly the same cases as some others."""
    run, group = look.run, look.group
    inside, outside = run.count(group.rows)
    seen = (
        f"{inside.failed} of {inside.size} cases {_which(group)} failed ({percent(inside.share)}), "
        f"and {outside.failed} of the {outside.size} others ({percent(outside.share)})"
    )
    if look.twins is not None and look.twins.size:
        seen += f"; of {look.twins.size} origins that differ with and without the typo, {look.twins.failed} fail more often with it"
    if others:
        seen += f"; of these {inside.size}, {' and '.join(f'{look.common(each)} are {_which(each.group)}' for each in others)}"
    marked = np.zeros(len(run.measured), bool)
    marked[group.rows] = True
    marked &= run.failed
    advice = _advice([group.kind, *(each.group.kind for each in others)])
    return recommendation(_CODES[group.kind], run.run, seen, advice, run.cases.named(marked), int(marked.sum()))


def _which(group: CaseGroup) -> str:
    words = {"typos": "with typos", "language": f"in the language {group.name!r}", "category": f"of the category {group.name!r}"}
    return words[group.kind]


def _advice(kinds: Sequence[GroupKind]) -> str:
    """What to do about a group; where others have the same cases, first to find out which of them it is."""
    if len(kinds) == 1:
        return _ADVICE[kinds[0]]
    causes = dict.fromkeys(_ADVICE[kind] for kind in kinds if kind != "category")
    return " ".join(filter(None, ("Add cases that are only one of these, to tell which of them it is.", " Or: ".join(causes))))
