"""How far people and the rule agree: quadratic-weighted kappa (Cohen 1968) of a sample that was stratified by the rule's grade.

The rare grades are drawn as often as the common ones, so the sample is not the population. Kappa is therefore given twice: for
pairs of which every stratum is as frequent as in the sample, and for all pairs, with each stratum weighted by its size.

The interval is the middle 95 % of the posterior of a Dirichlet model per stratum. A few equal grades do not prove that all are
equal, so every stratum begins with one pair that was not seen. Which grade that had decides a lot in small samples: where it is
near the rule's, the interval is too high for people who agree badly, and where it may be any, too low for those who agree well.
So both are computed, and the interval holds both. Draws have a fixed seed; a test simulates what such intervals cover.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GRADE_COUNT = 4
CONFIDENCE = 0.95
FEWEST = 10  # pairs, for an interval
FALL = 4.0  # how much less likely a grade becomes with every step away from the rule's, before any is seen
DRAWS, SEED = 20_000, 0


@dataclass(frozen=True)
class Stratum:
    """Pairs that are alike to the rule: its grade, and how many such pairs there are. Near misses are a stratum of grade 0."""

    name: str
    rule: int
    size: int


@dataclass(frozen=True)
class Kappa:
    """An estimate with its interval; None where it is not defined, or where too few pairs were judged for one."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Agreement:
    """What comparing both says: ``confusion[rule][human]`` counts pairs of the sample."""

    confusion: tuple[tuple[int, ...], ...]
    sample: Kappa
    population: Kappa | None  # None where the sample was not drawn from these strata, or not from all of them
    undefined: str | None = None
    unjudged: tuple[Stratum, ...] = ()  # that hold pairs, of which none was judged

    @property
    def pairs(self) -> int:
        return sum(map(sum, self.confusion))

    @property
    def equal(self) -> int:
        return sum(self.confusion[grade][grade] for grade in range(GRADE_COUNT))

    @property
    def within_one(self) -> int:
        return sum(count for rule, row in enumerate(self.confusion) for human, count in enumerate(row) if abs(rule - human) <= 1)


def agreement(strata: Sequence[Stratum], grades: Mapping[str, Sequence[int]], *, weighted: bool = True) -> Agreement:
    """Compare the grades that people gave to pairs of each stratum with the rule's.

    ``weighted`` also says what all pairs would show: it needs a sample that was drawn from these strata, and from each of them.
    """
    import numpy as np

    drawn = [stratum for stratum in strata if grades.get(stratum.name)]
    counts = np.array([np.bincount(grades[stratum.name], minlength=GRADE_COUNT) for stratum in drawn], float)
    rules = np.array([stratum.rule for stratum in drawn])
    confusion = np.zeros((GRADE_COUNT, GRADE_COUNT), np.int64)
    np.add.at(confusion, rules, counts.astype(np.int64))
    table = tuple(tuple(map(int, row)) for row in confusion)
    if (undefined := _undefined(confusion)) is not None:
        return Agreement(table, Kappa(None), None, undefined)
    in_sample = counts.sum(axis=1) / counts.sum()
    sizes = np.array([stratum.size for stratum in drawn], float)
    unjudged = tuple(stratum for stratum in strata if stratum not in drawn) if weighted else ()
    population = kappa(counts, rules, sizes / sizes.sum()) if weighted and not unjudged else None
    return Agreement(table, kappa(counts, rules, in_sample), population, unjudged=unjudged)


def _undefined(confusion: NDArray[np.int64]) -> str | None:
    for who, margin in (("the rule", confusion.sum(axis=1)), ("the sample", confusion.sum(axis=0))):
        if (margin > 0).sum() == 1:
            return f"kappa is not defined: all grades of {who} are {int(margin.argmax())}"
    return None


def kappa(counts: NDArray[np.float64], rules: NDArray[np.int64], shares: NDArray[np.float64]) -> Kappa:
    """Kappa where each row of counts (people's grades in a stratum, of which the rule's is known) has this share of all pairs."""

    value = float(_kappas(counts / counts.sum(axis=1, keepdims=True), rules, shares))
    if counts.sum() < FEWEST:
        return Kappa(value)
    ends = [value, *(end for unseen in _unseen() for end in _posterior(counts + unseen[rules], rules, shares))]
    return Kappa(value, min(ends), max(ends))


def _posterior(counts: NDArray[np.float64], rules: NDArray[np.int64], shares: NDArray[np.float64]) -> list[float]:
    """The ends of the middle of all kappas that these counts leave likely."""
    import numpy as np

    drawn = np.random.default_rng(SEED).standard_gamma(counts, size=(DRAWS, *counts.shape))
    kappas = _kappas(drawn / drawn.sum(axis=-1, keepdims=True), rules, shares)
    ends: list[float] = np.quantile(kappas, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist()
    return ends


def _kappas(given: NDArray[np.float64], rules: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """One kappa for each set of shares of grades, which are the last two dimensions: by stratum, then by people's grade."""
    import numpy as np

    apart = _steps() ** 2
    by_chance = np.bincount(rules, shares, minlength=GRADE_COUNT) @ apart  # what each grade costs if the rule's is drawn by chance
    observed = (given * apart[rules]).sum(axis=-1) @ shares
    kappas: NDArray[np.float64] = 1 - observed / ((given @ by_chance) @ shares)
    return kappas


def _unseen() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each grade of the rule, how likely people give each grade to a pair that was not seen: near the rule's, or any."""
    import numpy as np

    likely = FALL ** -_steps()
    return likely / likely.sum(axis=1, keepdims=True), np.full((GRADE_COUNT, GRADE_COUNT), 1 / GRADE_COUNT)


def _steps() -> NDArray[np.float64]:
    import numpy as np

    grades = np.arange(GRADE_COUNT, dtype=float)
    return np.abs(grades[:, None] - grades[None, :])
