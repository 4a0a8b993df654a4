"""What a bound is worth on a suite: whether any ranking can meet it, and whether a random one does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from math import fsum, isfinite, isnan

import numpy as np

from searchmark.analysis.attainable import attainable
from searchmark.analysis.chance import by_chance, drawn_values, simulated
from searchmark.analysis.pools import Pool
from searchmark.errors import UsageError
from searchmark.findings import Finding, finding
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.quantities import MeanOf
from searchmark.gates.segments import Rows
from searchmark.gates.sentences import told_apart, within
from searchmark.measures.formulas import Floats
from searchmark.measures.grammar import AnyMeasure
from searchmark.options.gate_options import KnownFailure, NumberBound
from searchmark.records import Suite

Limit = Callable[[AnyMeasure, Pool], Floats | None]
DRAWS = 50
FEWEST_PER_CENT = 2


class Reach:
    """The best and the random ranking of a suite, each worked out when something first asks for it."""

    def __init__(self, suite: Suite, corpus: Set[str] | None = None) -> None:
        self._suite, self._corpus = suite, corpus

    @property
    def suite(self) -> Suite:
        """What rankings are of."""
        return self._suite

    def findings(self, quantity: MeanOf | AtOwnK, bound: NumberBound, expected: float, rows: Rows) -> Iterator[Finding]:
        """What has to be known about a bound before it is relied on."""
        name = quantity.subject(None)
        settled = _settled_by_range(name, quantity.low, quantity.high, bound, expected)
        if settled is not None:
            yield settled
        if settled is not None or bound in ("at_most", "below"):
            return
        best = self.highest(quantity, rows)
        if best is not None and _misses(bound, best, expected):
            message = f"the highest possible {name} on these cases is {told_apart(best, expected)}: no ranking can meet this bound"
            yield finding("unattainable-threshold", message)
        random = self.by_chance(quantity, rows)
        if random is not None and not _misses(bound, random, expected):
            message = f"a random ranking gets {random:.4g} on average and meets this bound, so it says nothing about quality"
            yield finding("threshold-below-random", message)

    def highest(self, quantity: MeanOf | AtOwnK, rows: Rows) -> float | None:
        """The highest possible mean of some cases; None if it is not known."""
        return self._mean(attainable, quantity, rows)

    def by_chance(self, quantity: MeanOf | AtOwnK, rows: Rows) -> float | None:
        """What a random ranking gets on average; None if it is not known what is ranked."""
        return self._mean(_expected, quantity, rows)

    def findings_of_each(self, measure: AnyMeasure, expected: float, spared: Collection[str] = ()) -> Iterator[Finding]:
        """The same about a lowest value of every case but those that are spared."""
        settled = _settled_by_range(measure.name, measure.low, measure.high, "at_least", expected)
        if settled is not None:
            yield settled
            return
        measure = measure.resolve(self._suite.defaults)
        for case, value in self._values(attainable(measure, self.pool), spared):
            if _misses("at_least", value, expected):
                best = f"the highest possible {measure.name} of case {case} is {told_apart(value, expected)}"
                message = f"{best}: no ranking can meet this bound"
                yield finding("unattainable-threshold", message, [case])
                break
        tables = drawn_values([measure], self.pool, DRAWS)
        drawn = [[value for _, value in self._values(table[:, 0], spared)] for table in tables]
        met = sum(bool(values) and not any(_misses("at_least", each, expected) for each in values) for values in drawn)
        if 2 * met > len(drawn):
            message = f"{met} of {len(drawn)} random rankings meet this bound in every case, so it says nothing about quality"
            yield finding("threshold-below-random", message)

    def _values(self, values: Floats | None, spared: Collection[str]) -> Iterator[tuple[str, float]]:
        """The cases for which a measure is defined, and its values."""
        for case, value in zip(self._suite.table.ids, () if values is None else values.tolist(), strict=False):
            if case not in spared and not isnan(value):
                yield case, value

    def _mean(self, limit: Limit, quantity: MeanOf | AtOwnK, rows: Rows) -> float | None:
        """The mean of what each case could get; None if that is not known for one of them."""
        if isinstance(quantity, MeanOf):
            return _mean_of(limit(quantity.measure.resolve(self._suite.defaults), self.pool), rows)
        suite, measures = quantity.as_measures(self._suite, rows)
        pool, values = replace(self.pool, suite=suite), np.full(len(suite), np.nan)
        limits = {measure: limit(measure, pool) for measure in set(measures.values())}
        for row, measure in measures.items():
            found = limits[measure]
            values[row] = np.nan if found is None else found[row]
        return None if np.isnan(values[rows]).any() else _mean_of(values, rows)

    def lacking(self, ids: Sequence[str]) -> list[str]:
        """Those that are not among the documents, where these are known."""
        return [] if self._corpus is None else [each for each in ids if each not in self._corpus]

    @cached_property
    def pool(self) -> Pool:
        """What there is to rank."""
        return Pool.of(self._suite, self._corpus)


def _mean_of(values: Floats | None, rows: Rows) -> float | None:
    defined = [] if values is None else values[rows][~np.isnan(values[rows])].tolist()
    return fsum(defined) / len(defined) if defined else None


def _expected(measure: AnyMeasure, pool: Pool) -> Floats | None:
    """What random rankings get on average, by formula or else by drawing them."""
    known = by_chance(measure, pool)
    drawn = simulated(measure, pool) if known is None else None
    return known if drawn is None else drawn.values


def _misses(bound: NumberBound, value: float, expected: float) -> bool:
    return not within(bound, value, expected)


def _settled_by_range(name: str, low: float, high: float, bound: NumberBound, expected: float) -> Finding | None:
    """What the range of a measure alone says about a bound; None if it says nothing."""
    wants_much = bound in ("at_least", "above")
    if not low <= expected <= high:
        code = "unattainable-threshold" if wants_much is (expected > high) else "threshold-always-met"
        return finding(code, outside(name, low, high, expected))
    worst, best, beyond = (low, high, "lower") if wants_much else (high, low, "higher")
    if not _misses(bound, worst, expected):
        return finding("threshold-always-met", f"every ranking meets this bound: no {name} is {beyond} than {worst:g}")
    if not wants_much and _misses(bound, best, expected):
        return finding("unattainable-threshold", f"no ranking can meet this bound: no {name} is lower than {best:g}")
    return None


def outside(name: str, low: float, high: float, expected: float) -> str:
    """That a bound lies outside of the range of a measure."""
    highest = f"{high:g}" if isfinite(high) else "any number"
    return f"values of {name} lie between {low:g} and {highest}: {expected:.12g} is outside{_percent(expected, high)}"


def _percent(expected: float, high: float) -> str:
    """A hint for those who think in per cent."""
    meant = high == 1 and FEWEST_PER_CENT <= expected <= 100  # noqa: PLR2004  # per cent
    return f"; write {expected / 100:.12g} for {expected:.12g} %" if meant else ""


def known_failure_in_range(failure: KnownFailure, measure: AnyMeasure) -> KnownFailure:
    """A known failure, refused if its bound lies outside of the range of its measure: it would fail for ever."""
    if not measure.low <= failure.at_least <= measure.high:
        reason = outside(measure.name, measure.low, measure.high, failure.at_least)
        raise UsageError(f"at_least of the known failure {failure.case!r}: {reason}")
    return failure


def telling_margin(measure: AnyMeasure, margin: float) -> float:
    """A margin, refused if no loss is larger."""
    span = measure.high - measure.low
    if margin >= span:
        raise UsageError(
            f"a margin of {margin:g} allows every loss, since none of {measure.name} is larger than {span:g}; lower it"
        )
    return margin
