"""Formulas for queries with several aspects: what an answer repeats pays less than what it adds.

Each aspect that a hit covers pays 1, less a share of ``alpha`` for every hit above that covers it too (Clarke et al., 2008).
The definitions are those of ndeval, the program of the TREC Web tracks; an aspect that no target covers counts nowhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.formulas import NO_TARGET, Coverage, Floats, GradedHits, Ints


@dataclass(frozen=True, eq=False)
class _AspectCase:
    """One case: the ranks of the hits that cover aspects, and which ones, one row each; the same for the targets to find."""

    rank: Ints
    hits: NDArray[np.bool_]
    targets: NDArray[np.bool_]

    @property
    def aspects(self) -> int:
        return int(self.targets.shape[1])


def alpha_ndcg(hits: GradedHits, *, k: int | None = None, rel: int = 1, alpha: float = 0.5) -> Floats:
    """Discounted gain (log2 of rank + 1) of new aspects over that of the best list. No aspect to cover: 0; none known: NaN."""
    return _per_case(hits, rel, lambda case: _normalised(case, k, alpha, _by_logarithm))


def normalised_err_of_aspects(hits: GradedHits, *, k: int | None = None, rel: int = 1, alpha: float = 0.5) -> Floats:
    """ERR-IA over that of the best list. No aspect to cover: 0; none known: NaN."""
    return _per_case(hits, rel, lambda case: _normalised(case, k, alpha, _by_rank))


def err_of_aspects(hits: GradedHits, *, k: int, rel: int = 1, alpha: float = 0.5) -> Floats:
    """ERR-IA (Chapelle et al., 2009), as ndeval has it: over the value of k hits that each cover every aspect of the case."""

    def share(case: _AspectCase) -> float:
        ranks = np.arange(1, k + 1)
        best = case.aspects * float(np.sum((1.0 - alpha) ** (ranks - 1.0) / ranks))
        return _gained(case.hits, case.rank, k, alpha, _by_rank) / best

    return _per_case(hits, rel, share)


def aspect_recall(hits: GradedHits, *, k: int | None = None, rel: int = 1) -> Floats:
    """Share of the aspects that the first k hits cover (Zhai, Cohen and Lafferty, 2003). None to cover: 0; none known: NaN."""
    return _per_case(hits, rel, lambda case: float(case.hits[case.rank <= (k or np.inf)].any(axis=0).mean()))


def _by_logarithm(rank: Ints) -> Floats:
    return np.asarray(1.0 / np.log2(rank + 1.0), np.float64)


def _by_rank(rank: Ints) -> Floats:
    return np.asarray(1.0 / rank, np.float64)


def _per_case(hits: GradedHits, rel: int, value: Callable[[_AspectCase], float]) -> Floats:
    if hits.coverage is None:
        return np.full(hits.cases, np.nan)
    values = np.where(_has_aspects(hits, hits.coverage), 0.0, np.nan)
    for number, case in _cases(hits, hits.coverage, rel):
        values[number] = value(case)
    return values


def _has_aspects(hits: GradedHits, coverage: Coverage) -> NDArray[np.bool_]:
    return np.bincount(hits.target_case, np.diff(coverage.starts), minlength=hits.cases) > 0


def _cases(hits: GradedHits, coverage: Coverage, rel: int) -> Iterator[tuple[int, _AspectCase]]:
    """The cases that have an aspect to cover. Their targets come by name, the last first, as ndeval resolves ties."""
    target = np.repeat(np.arange(len(hits.target_case)), np.diff(coverage.starts))
    covers = coverage.grade >= rel
    target, aspect = target[covers], coverage.aspect[covers]
    case = hits.target_case[target]
    for first, last in itertools.pairwise(np.flatnonzero(np.diff(case, prepend=-1, append=-1)).tolist()):
        number, here = int(case[first]), slice(first, last)
        known, column = np.unique(aspect[here], return_inverse=True)
        names, row = np.unique(-coverage.name_order[target[here]], return_inverse=True)
        targets = np.zeros((len(names), len(known)), bool)
        targets[row.reshape(-1), column.reshape(-1)] = True
        row_of = dict(zip(target[here].tolist(), row.reshape(-1).tolist(), strict=True))
        found = slice(*np.searchsorted(hits.case, [number, number + 1]).tolist())
        rows = np.array([row_of.get(each, NO_TARGET) for each in coverage.hit[found].tolist()], np.int64)
        yield number, _AspectCase(hits.rank[found][rows >= 0], targets[rows[rows >= 0]], targets)


def _normalised(case: _AspectCase, k: int | None, alpha: float, discount: Callable[[Ints], Floats]) -> float:
    """Never above 1, although an answer can beat the order that is taken for the best: ndeval then says more than 1."""
    best = _best_order(case.targets, k, alpha)
    gained = _gained(case.hits, case.rank, k, alpha, discount)
    return min(1.0, gained / _gained(best, np.arange(1, len(best) + 1), k, alpha, discount))


def _gained(covered: NDArray[np.bool_], rank: Ints, k: int | None, alpha: float, discount: Callable[[Ints], Floats]) -> float:
    first = rank <= (k or np.inf)
    covered, rank = covered[first], rank[first]
    before: Floats = (np.cumsum(covered, axis=0) - covered).astype(np.float64)
    new = np.where(covered, (1.0 - alpha) ** before, 0.0).sum(axis=1)
    return float(np.sum(new * discount(rank)))


def _best_order(targets: NDArray[np.bool_], k: int | None, alpha: float) -> NDArray[np.bool_]:
    """The targets by what each adds to those before it: the very best order would take too long to find."""
    left, chosen = np.ones(len(targets), bool), []
    worth = np.ones(targets.shape[1])
    for _ in range(min(len(targets), k or len(targets))):
        gain = np.zeros(len(targets))
        for aspect in range(targets.shape[1]):  # one by one, as ndeval adds them: their order decides what is equal
            gain += np.where(targets[:, aspect], worth[aspect], 0.0)
        best = int(np.argmax(np.where(left, gain, -1.0)))
        left[best] = False
        chosen.append(best)
        worth[targets[best]] *= 1.0 - alpha
    return targets[chosen]
