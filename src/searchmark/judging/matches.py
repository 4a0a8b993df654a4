"""Which hit met which judgment, in columns: found part by part, kept as one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from searchmark.judging.credit import PairRow, pair_columns
from searchmark.judging.names import Spelling
from searchmark.measures.formulas import DirectoryPairs, Ints
from searchmark.options.short_repr import short_repr
from searchmark.records import Run, Suite

NO_JUDGMENT = -1
NOT_MET = -1


@dataclass(frozen=True, eq=False)
class Matches:
    """Every hit that is judged, and every judgment that was met.

    Per judged hit, by case and rank: its ``case``, its ``rank`` among the distinct hits of the answer, its ``row`` in the
    run, the ``judgment`` that it alone meets (a row of the suite's; NO_JUDGMENT where only descriptions fit), its ``grade``,
    and whether it is ``valid``: a hit that does not exist is worth nothing, whatever it meets.

    Per judgment, ``met`` is the number of the hit above that meets it, NOT_MET if none does; ``seen`` is that, or else the
    number of the first hit that has lines of it and meets another judgment of that file. Per case, ``returned``
    counts the distinct hits. ``duplicates`` counts those that were dropped; ``directories`` are hits above targets.
    """

    case: Ints
    rank: Ints
    row: Ints
    judgment: Ints
    grade: Ints
    valid: NDArray[np.bool_]
    met: Ints
    seen: Ints
    returned: Ints
    duplicates: int
    directories: DirectoryPairs

    __repr__ = short_repr

    def of_judgments(self, values: Ints, otherwise: int) -> Ints:
        """A value of the hit that meets each judgment, if it exists."""
        return self._of(self.met, values, otherwise)

    @property
    def seen_ranks(self) -> Ints:
        """The rank at which the target of each judgment was first seen, 0 for one that was not."""
        return self._of(self.seen, self.rank, 0)

    def _of(self, numbers: Ints, values: Ints, otherwise: int) -> Ints:
        standing = numbers != NOT_MET
        standing[standing] = self.valid[numbers[standing]]
        column = np.full(len(numbers), otherwise)
        column[standing] = values[numbers[standing]]
        return column


@dataclass(frozen=True, eq=False)
class Matching:
    """A suite and the run that it is matched with, whose ids name no lines.

    ``rows`` says where in the run the answer to each case is, -1 for none; ``valid`` which hits exist, None if all do;
    ``spelling`` how clean the ids are.
    """

    suite: Suite
    run: Run
    rows: Ints
    valid: NDArray[np.bool_] | None
    spelling: Spelling

    def exists(self, row: int) -> bool:
        return self.valid is None or bool(self.valid[row])


@dataclass(frozen=True, eq=False)
class Part:
    """The matches of some cases: ``hits`` has five rows, the case, rank, row, judgment and grade of every judged hit.

    ``met`` has two, the judgments that were met and the numbers of the hits in this part that meet them; ``covered`` the same for
    those of which a hit has lines that meets another.
    ``repeats`` is the case of every duplicate that was dropped.
    """

    hits: Ints
    met: Ints
    repeats: Ints
    pairs: Sequence[PairRow]
    covered: Ints = field(default_factory=lambda: np.zeros((2, 0), np.int64))


def put_together(matching: Matching, parts: Sequence[Part]) -> Matches:
    """All parts as one, by case and rank."""
    hits = np.concatenate([np.zeros((5, 0), np.int64), *(part.hits for part in parts)], axis=1)
    order = _by_case_and_rank(hits[0], hits[1])
    case, rank, row, judgment, grade = hits[:, order]
    met = _numbers(np.full(len(matching.suite.judgments), NOT_MET), [part.met for part in parts], parts, order)
    seen = _numbers(met.copy(), [part.covered for part in parts], parts, order)
    repeats = np.concatenate([np.zeros(0, np.int64), *(part.repeats for part in parts)])
    return Matches(
        case=case,
        rank=rank,
        row=row,
        judgment=judgment,
        grade=grade,
        valid=np.ones(len(row), bool) if matching.valid is None else matching.valid[row],
        met=met,
        seen=seen,
        returned=_lengths(matching) - np.bincount(repeats, minlength=len(matching.suite)),
        duplicates=len(repeats),
        directories=pair_columns([pair for part in parts for pair in part.pairs]),
    )


def _by_case_and_rank(case: Ints, rank: Ints) -> Ints:
    """The order of hits, found by one key: sorting by two takes several times as long."""
    key = case * (int(rank.max(initial=0)) + 1) + rank
    return np.arange(len(key)) if (key[1:] > key[:-1]).all() else np.argsort(key, kind="stable")


def _numbers(column: Ints, pairs: Sequence[Ints], parts: Sequence[Part], order: Ints) -> Ints:
    """A column with the hits of some judgments, by the number that each has after sorting."""
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    before = 0
    for (judgment, hit), part in zip(pairs, parts, strict=True):
        column[judgment] = number[before + hit]
        before += part.hits.shape[1]
    return column


def _lengths(matching: Matching) -> Ints:
    """How many hits the answer to every case has, duplicates included."""
    rows, starts = matching.rows, matching.run.starts
    return np.where(rows >= 0, starts[rows + 1] - starts[rows], 0)
