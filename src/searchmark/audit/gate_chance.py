"""Rules of a gate that rankings decide on, as values of every ranking of every case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from searchmark.analysis.chance import can_be_drawn
from searchmark.analysis.pools import Bools, Pool
from searchmark.audit.gate.rankings import Rankings
from searchmark.gates.bounds import NumberRule
from searchmark.gates.fixture_baseline import FixtureRule, row_of
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.pins import EachCaseRule, KnownFailureRule, PinRule
from searchmark.gates.quantities import MeanOf
from searchmark.gates.rules import Rule
from searchmark.gates.segments import Rows, rows_of
from searchmark.gates.sentences import ROUNDING
from searchmark.judging.spelling import normal_path
from searchmark.measures.formulas import Floats
from searchmark.measures.grammar import parse_measure
from searchmark.options.gate_options import NumberBound

_SIGN: dict[NumberBound, tuple[int, float]] = {
    "at_least": (1, -ROUNDING),
    "above": (1, ROUNDING),
    "at_most": (-1, -ROUNDING),
    "below": (-1, ROUNDING),
}


@dataclass(frozen=True, eq=False)
class RankedRule:
    """A bound on the mean of some cases, or on each of them. ``values`` has a row per ranking and a column per case of ``rows``.

    One that is ``out_of_reach`` is met by no ranking, whether these are listed or drawn.
    """

    name: str
    rows: Rows
    values: Floats
    bound: NumberBound
    expected: float
    each: bool = False
    out_of_reach: bool = False

    def met(self, values: Floats) -> Bools:
        """Which of some values, a row per suite of rankings and a column per case, meet the rule."""
        sign, least = _SIGN[self.bound]
        if self.each:
            return np.asarray((np.isnan(values) | (sign * (values - self.expected) >= least)).all(axis=1))
        defined = ~np.isnan(values)
        counts = defined.sum(axis=1)
        means = np.where(defined, values, 0.0).sum(axis=1) / np.maximum(1, counts)
        return np.asarray((counts > 0) & (sign * (means - self.expected) >= least))

    @property
    def by_case(self) -> bool:
        """Whether every case decides on its own."""
        return self.each or len(self.rows) == 1


def rankings_of(rules: Sequence[Rule], pool: Pool, ids: Set[str] | None) -> Rankings | None:
    """What rankings there are, with the documents that rules pin; None if it is not known what is ranked."""
    if pool.documents is None or pool.parts.any() or not pool.traits[0].all():
        return None
    tracked: dict[int, list[str]] = {}
    own = pool.suite.table.documents
    for pin in _pins(rules):
        row = pool.suite.table.index.get(pin.pin.case)
        if row is not None:
            known = {each.id for each in own[row]} if own is not None and own[row] else ids or frozenset()
            tracked.setdefault(row, []).extend(name for name in map(normal_path, pin.wanted) if name in known)
    return Rankings(pool, pool.documents, tracked)


def _pins(rules: Sequence[Rule]) -> Iterator[PinRule]:
    for rule in rules:
        yield from (rule,) if isinstance(rule, PinRule) else rule.pins if isinstance(rule, KnownFailureRule) else ()


def ranked_rule(rule: Rule, rankings: Rankings) -> RankedRule | None:
    """A rule as values of rankings; None if something else decides on it, or if rankings do not say it all."""
    suite = rankings.pool.suite
    if isinstance(rule, NumberRule):
        rows = rows_of(suite, rule.segment)
        values = None if rows is None else _values(rule, rankings, rows)
        return None if rows is None or values is None else RankedRule(rule.name, rows, values, rule.bound, rule.expected)
    if isinstance(rule, FixtureRule):
        row = row_of(suite, rule.fixture)
        values = None if row is None else _own_k(AtOwnK(rule.metric, (rule.fixture,)), rankings, np.array([row]))
        return None if values is None else RankedRule(rule.name, np.array([row]), values, "at_least", rule.threshold)
    if isinstance(rule, EachCaseRule):
        return _each_case(rule, rankings)
    return _single(rule, rankings) if isinstance(rule, PinRule | KnownFailureRule) else None


def _values(rule: NumberRule, rankings: Rankings, rows: Rows) -> Floats | None:
    if isinstance(rule.quantity, AtOwnK):
        return _own_k(rule.quantity, rankings, rows)
    return _measured(rule.quantity, rankings, rows) if isinstance(rule.quantity, MeanOf) else None


def _measured(quantity: MeanOf, rankings: Rankings, rows: Rows) -> Floats | None:
    measure = quantity.measure.resolve(rankings.pool.suite.defaults)
    return rankings.values(measure)[:, rows] if can_be_drawn(measure, rankings.pool) else None


def _own_k(quantity: AtOwnK, rankings: Rankings, rows: Rows) -> Floats | None:
    suite, measures = quantity.as_measures(rankings.pool.suite, rows)
    if any(row not in measures for row in rows.tolist()):
        return None
    pool = replace(rankings.pool, suite=suite)
    values = {measure: rankings.values(measure, pool) for measure in set(measures.values())}
    return np.stack([values[measures[row]][:, row] for row in rows.tolist()], axis=1)


def _each_case(rule: EachCaseRule, rankings: Rankings) -> RankedRule | None:
    suite = rankings.pool.suite
    measure = rule.measure.resolve(suite.defaults)
    rows = np.array([row for row, case in enumerate(suite.table.ids) if case not in rule.spared], np.intp)
    if not len(rows) or not can_be_drawn(measure, rankings.pool):
        return None
    return RankedRule(rule.name, rows, rankings.values(measure)[:, rows], "at_least", rule.expected, each=True)


def _single(rule: PinRule | KnownFailureRule, rankings: Rankings) -> RankedRule | None:
    """A rule about one case: 1 where its pins are met, or the value of its measure."""
    case = rule.pin.case if isinstance(rule, PinRule) else rule.failure.case
    row = rankings.pool.suite.table.index.get(case)
    if row is None:
        return None
    rows = np.array([row], np.intp)
    if isinstance(rule, PinRule):
        return RankedRule(rule.name, rows, _met(rule, rankings, row), "at_least", 1.0)
    if rule.pins:
        all_met = np.min([_met(pin, rankings, row) for pin in rule.pins], axis=0)
        return RankedRule(rule.name, rows, all_met, "below", 1.0)
    measure = parse_measure(rule.failure.measure).resolve(rankings.pool.suite.defaults)
    if not can_be_drawn(measure, rankings.pool):
        return None
    return RankedRule(rule.name, rows, rankings.values(measure)[:, rows], "below", rule.failure.at_least)


def _met(rule: PinRule, rankings: Rankings, row: int) -> Floats:
    """A column that is 1 where a pin is met; a longer one than there are rankings of its case begins again."""
    ranks = [rankings.rank_of(row, normal_path(each)) for each in rule.wanted]
    match rule.bound:
        case "must_be_first":
            met = ranks[0] == 1
        case "must_contain":
            met = np.all([each <= rule.pin.k for each in ranks], axis=0)
        case "must_not_contain":
            met = np.all([each > rule.pin.k for each in ranks], axis=0)
        case _:
            met = ranks[0] < ranks[-1]
    return np.asarray(met, np.float64)[:, None]
