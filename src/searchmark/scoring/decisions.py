"""From runs to a decision: a table of rules, each tested against its own line.

A rule that wants more than so much gain holds if the whole interval of the gain lies above its line, and is refuted if it
lies below; a rule that wants less, the other way round. An interval that straddles the line decides nothing: if no rule
holds and one is undecided, there is not enough evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Literal

import numpy as np

from searchmark.analysis.comparison import Pair
from searchmark.analysis.paired_evidence import Rows, measure_span
from searchmark.analysis.prices import price_sentences
from searchmark.analysis.relative_gain import Gain, gain_of
from searchmark.analysis.scores import Scores, category_name, clusters_of, segment_rows
from searchmark.errors import UsageError
from searchmark.measures.grammar import parse_measure
from searchmark.measures.undefined import refuse_over_cases
from searchmark.options.compare_options import DecisionRule, DecisionTable
from searchmark.records.frames import Framed, typed_frame
from searchmark.records.shown import counted, on_a_line, quoted

if TYPE_CHECKING:
    import polars as pl

Answer = Literal["yes", "no", "undecided"]
NOT_ENOUGH = "not enough evidence"


@dataclass(frozen=True)
class Reading:
    """How one rule fares in one segment: the suite as a whole or a category. ``rule`` is what it would decide.

    ``gain``, ``low`` and ``high`` are relative to the baseline, or in the unit of the measure if ``absolute``; None is
    undefined, and so is the upper end if nothing bounds it. The rule wants more than ``above`` and less than ``below``.
    """

    rule: str
    segment: str
    answer: Answer
    sentence: str
    above: float | None = None
    below: float | None = None
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    cases: int = 0
    absolute: bool = False

    @property
    def bound(self) -> float:
        """The line that the gain is held against."""
        return self.above if self.above is not None else self.below if self.below is not None else 0.0


_READING: dict[str, type] = {
    "rule": str,
    "segment": str,
    "answer": str,
    "above": float,
    "below": float,
    "gain": float,
    "low": float,
    "high": float,
    "cases": int,
    "absolute": bool,
    "sentence": str,
}


@dataclass(frozen=True, repr=False)
class Decision(Framed):
    """One sentence for whoever decides, what it rests on, what would flip it, and how every rule fared."""

    candidate: str
    baseline: str
    measure: str
    decision: str
    sentence: str
    evidence: tuple[str, ...]
    flips: tuple[str, ...]
    readings: tuple[Reading, ...] = ()

    def frame(self) -> pl.DataFrame:
        """One row per rule and segment that it was read in; one with nulls where the table has no rules."""
        about = {name: getattr(self, name) for name in ("candidate", "baseline", "measure", "decision")}
        read = [vars(reading) for reading in self.readings] or [dict.fromkeys(_READING)]
        return typed_frame([about | each for each in read], dict.fromkeys(about, str) | _READING)

    def __repr__(self) -> str:
        return on_a_line(
            f"Decision({quoted(self.candidate)} against {quoted(self.baseline)} by {self.measure}: {quoted(self.decision)})"
        )


def tables_about(tables: Sequence[DecisionTable], pairs: Sequence[Pair]) -> list[DecisionTable]:
    """The tables whose arms were compared; one of them at least, if there are any."""
    compared = [{pair.baseline, pair.candidate} for pair in pairs]
    about = [table for table in tables if {table.candidate, table.baseline} in compared]
    if tables and not about:
        arms = "; ".join(f"{table.candidate} against {table.baseline}" for table in tables)
        names = ", ".join(sorted(set().union(*compared)))
        raise UsageError(f"the decision tables are about {arms}; the runs are {names}")
    return about


def decide(table: DecisionTable, pairs: Sequence[Pair], scores: Mapping[str, Scores]) -> Decision:
    """Apply a decision table to its two arms; ``scores`` has every run under its display name."""
    pair = _pair(table, pairs)
    arms = _Arms(table, scores[table.baseline], scores[table.candidate], pair)
    looks = [(rule, arms.looks(rule)) for rule in table.rules]
    answers = [(rule, found, _together(found)) for rule, found in looks]
    chosen = next(((rule, found) for rule, found, answer in answers if answer == "yes"), None)
    open_rules = [(rule, found) for rule, found, answer in answers if answer == "undecided"]
    if chosen is not None:
        decision, basis = chosen[0].decision, chosen[1]
    elif open_rules:
        decision, basis = NOT_ENOUGH, open_rules[0][1]
    else:
        decision, basis = table.otherwise, looks[0][1] if looks else []
    prices = price_sentences(scores[table.baseline].judged.run, scores[table.candidate].judged.run)
    return Decision(
        candidate=table.candidate,
        baseline=table.baseline,
        measure=arms.measure,
        decision=decision,
        sentence=f"{table.candidate} against {table.baseline} by {arms.measure}: {decision}",
        evidence=(*(look.sentence for look in basis), *prices),
        flips=tuple(_flips(decision, basis, open_rules)),
        readings=tuple(reading for _, found in looks for reading in found),
    )


def _pair(table: DecisionTable, pairs: Sequence[Pair]) -> Pair:
    for pair in pairs:
        if {pair.baseline, pair.candidate} == {table.baseline, table.candidate}:
            return pair
    known = sorted({name for pair in pairs for name in (pair.baseline, pair.candidate)})
    raise UsageError(f"a decision is about {table.candidate!r} against {table.baseline!r}; the runs are {', '.join(known)}")


class _Arms:
    """The two runs of a decision table on its measure: the first, unless it names one."""

    def __init__(self, table: DecisionTable, baseline: Scores, candidate: Scores, pair: Pair) -> None:
        suite = baseline.judged.suite
        measure = parse_measure(table.measure or pair.primary)
        refuse_over_cases(measure, "decided on")
        known = baseline.known_as(measure)
        if known is None:
            name = measure.resolve(suite.defaults).name
            raise UsageError(f"the decision about {table.candidate!r} rests on {name}, which was not computed")
        self.measure = known
        self._column = baseline.names.index(self.measure)
        self._baseline, self._candidate = baseline, candidate
        found = pair.differences[self._column]
        self._invalid = found.reason if found.verdict == "INVALID" else None
        self._categories = {} if suite.table.categories is None else segment_rows(suite, "category")
        self._gains: dict[str, Gain] = {}

    def looks(self, rule: DecisionRule) -> list[Reading]:
        if not rule.categories:
            return [self._look(rule, "all cases", np.arange(len(self._baseline.judged.suite)))]
        if not self._categories:
            return [_undecided(rule, "categories", "the suite has no categories")]
        suite = self._baseline.judged.suite
        wanted = list(self._categories) if "all" in rule.categories else [category_name(suite, name) for name in rule.categories]
        return [self._look(rule, name, self._categories.get(name)) for name in wanted]

    def _look(self, rule: DecisionRule, segment: str, rows: Rows | None) -> Reading:
        if rows is None:
            return _undecided(rule, segment, f"{segment}: no case of this category")
        if self._invalid is not None:
            return _undecided(rule, segment, f"{segment}: INVALID, {self._invalid}")
        gain = self._gains.setdefault(segment, self._gain(rows))
        if gain.mean is None:
            return _undecided(rule, segment, f"{segment}: no case has a value on both sides")
        return _reading(rule, segment, gain)

    def _gain(self, rows: Rows) -> Gain:
        before, after = (each.values[rows, self._column] for each in (self._baseline, self._candidate))
        both = ~np.isnan(before) & ~np.isnan(after)
        if not both.any():
            return Gain(None, None, None, 0)
        before, after, rows = before[both], after[both], rows[both]
        clusters = clusters_of(self._baseline.judged.suite, rows)
        measure = self._baseline.measures[self._column]
        return gain_of(before, after, clusters, measure_span(measure, before, after), measure.low)


def _undecided(rule: DecisionRule, segment: str, because: str) -> Reading:
    return Reading(rule.decision, segment, "undecided", because, rule.above, rule.below)


def _reading(rule: DecisionRule, segment: str, gain: Gain) -> Reading:
    return Reading(
        rule=rule.decision,
        segment=segment,
        answer=_answer(rule, gain),
        sentence=_sentence(segment, gain),
        above=rule.above,
        below=rule.below,
        gain=gain.mean,
        low=gain.low,
        high=None if gain.high is None or not isfinite(gain.high) else gain.high,
        cases=gain.cases,
        absolute=gain.absolute,
    )


def _sentence(segment: str, gain: Gain) -> str:
    amount, note = (_absolute, ", absolute, since the baseline has 0") if gain.absolute else (_relative, "")
    mean = "undefined" if gain.mean is None else amount(gain.mean)
    if gain.low is None or gain.high is None:
        return f"{segment}: {mean}{note}, {counted(gain.cases, 'case')}, too few independent ones for an interval"
    high = f"to {amount(gain.high)}" if isfinite(gain.high) else "and no upper end"
    return f"{segment}: {mean} (interval {amount(gain.low)} {high}){note}, {counted(gain.cases, 'case')}"


def _relative(gain: float) -> str:
    return f"{gain:+.1%}"


def _absolute(gain: float) -> str:
    return f"{gain:+.4f}"


def _answer(rule: DecisionRule, gain: Gain) -> Answer:
    low, high = (gain.mean, gain.mean) if rule.evidence == "mean" else (gain.low, gain.high)
    if low is None or high is None:
        return "undecided"
    if (rule.above is not None and high <= rule.above) or (rule.below is not None and low >= rule.below):
        return "no"
    holds = (rule.above is None or low > rule.above) and (rule.below is None or high < rule.below)
    return "yes" if holds else "undecided"


def _together(looks: Sequence[Reading]) -> Answer:
    answers = {look.answer for look in looks}
    if not looks or "no" in answers:
        return "no"
    return "undecided" if "undecided" in answers else "yes"


def _flips(decision: str, basis: Sequence[Reading], open_rules: Sequence[tuple[DecisionRule, Sequence[Reading]]]) -> list[str]:
    known = [look for look in basis if look.gain is not None]
    flips = []
    if known and decision != NOT_ENOUGH:
        closest = min(known, key=lambda look: abs((look.gain or 0.0) - look.bound))
        amount = _absolute if closest.absolute else _relative
        line = amount(closest.bound)
        flips.append(f"the closest call is {closest.segment}: {amount(closest.gain or 0.0)}, and the line is drawn at {line}")
    flips += [_open_sentence(rule, [look for look in looks if look.answer == "undecided"]) for rule, looks in open_rules]
    return flips


def _open_sentence(rule: DecisionRule, undecided: Sequence[Reading]) -> str:
    """What would decide a rule. More cases do not, where nothing is known, such as of a category that has no case."""
    unknown = [look.segment for look in undecided if look.gain is None]
    if unknown:
        return f"nothing is known of {', '.join(unknown)}, so this stays open: {rule.decision}"
    return f"with more cases in {', '.join(look.segment for look in undecided)} it could become: {rule.decision}"
