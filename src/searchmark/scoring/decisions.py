"""Decision tables: rules about gains, each tested against its own line, and the sentence that follows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Literal

import numpy as np

from searchmark.config.gates import CompareSettings, DecisionRule, DecisionTable
from searchmark.errors import UsageError
from searchmark.measures.grammar import parse_measure, refuse_over_cases
from searchmark.records.columns import Floats, HasFrame, typed_frame
from searchmark.records.sentences import count_of, fit_line, quote_name
from searchmark.records.suite import Suite
from searchmark.scoring.comparison import Pair, Rows, exact_mean, measure_span
from searchmark.scoring.costs import price_sentences
from searchmark.scoring.scores import Scores, category_name, clusters_of, segment_rows
from searchmark.scoring.statistics import SHOWN_LEVEL, Clusters, difference_intervals, observations

if TYPE_CHECKING:
    import polars as pl


# Decision tables that come with Searchmark, and what tables mean for a suite and its runs before anything is run.

FTS5, VECTOR, RERANKER = "fts5", "fts5+vector", "fts5+vector+reranker"  # as the built-in agents are called


# The table that many projects start from: is vector search, added to full text search, worth it, and is a reranker?
PRESETS = {
    "vector-search": (
        DecisionTable(
            candidate=VECTOR,
            baseline=FTS5,
            measure="P@5",
            rules=(
                DecisionRule("keep vector search and promote it", above=0.10, categories=("all",)),
                DecisionRule("keep vector search, document its use cases", above=0.10, categories=(1, 2, 5)),
                DecisionRule("drop vector search, simplify the system", below=0.05),
            ),
            otherwise="between the lines: decide by what vector search costs",
        ),
        DecisionTable(
            candidate=RERANKER,
            baseline=VECTOR,
            measure="P@5",
            rules=(DecisionRule("recommend the reranker by default", above=0.15),),
        ),
    )
}


def preset_tables(preset: str, primary: str | None = None) -> tuple[DecisionTable, ...]:
    """The tables of a preset, which decide by the primary measure where one is declared."""
    return tuple(replace(table, measure=primary or table.measure) for table in PRESETS[preset])


def check_preset(preset: str, runs: Collection[str]) -> None:
    """Refuse runs among which a preset finds none of its pairs."""
    tables = PRESETS[preset]
    if any(_is_about(table, runs) for table in tables):
        return
    arms = list(dict.fromkeys(name for table in tables for name in (table.baseline, table.candidate)))
    pairs = " or ".join(f"{table.baseline} and {table.candidate}" for table in tables)
    raise UsageError(
        f"--decide {preset} compares {pairs}, and finds its runs by these names; the runs are {', '.join(runs)}. "
        f"Name agents so (--agents {arms[0]}=AGENT {arms[1]}=AGENT), or call the modes of an agent so"
    )


def tables_left_out(baseline: str | None, tables: Sequence[DecisionTable], runs: Collection[str]) -> Iterator[DecisionTable]:
    """Tables whose arms are among the runs, and are not compared where all others are compared with this one alone."""
    if baseline is not None:
        yield from (each for each in tables if _is_about(each, runs) and baseline not in (each.candidate, each.baseline))


def measures_of_tables(tables: Sequence[DecisionTable], runs: Collection[str]) -> list[str]:
    """The measures that tables about these runs name."""
    return [table.measure for table in tables if table.measure is not None and _is_about(table, runs)]


def table_for_suite(table: DecisionTable, suite: Suite) -> DecisionTable:
    """The table with the names of the suite's categories, so that ``all`` are those of the suite, whichever cases are asked."""
    if suite.table.categories is None:
        return table
    return replace(table, rules=tuple(replace(rule, categories=_categories(rule, suite)) for rule in table.rules))


def with_decisions(options: CompareSettings, suite: Suite, preset: str | None = None) -> CompareSettings:
    """The options with all tables for this suite; those of a preset decide by the primary measure where one is declared."""
    config_tables = tuple(table_for_suite(table, suite) for table in options.decisions)
    tables = preset_tables(preset, options.primary) if preset else ()
    # A config may hold the table of the preset as well: one decision is told once.
    new_tables = (about for table in tables if (about := table_for_suite(table, suite)) not in config_tables)
    return replace(options, decisions=(*config_tables, *new_tables))


def _categories(rule: DecisionRule, suite: Suite) -> tuple[str, ...]:
    return tuple(
        segment_rows(suite, "category") if "all" in rule.categories else (category_name(suite, each) for each in rule.categories)
    )


def _is_about(table: DecisionTable, runs: Collection[str]) -> bool:
    return table.candidate in runs and table.baseline in runs


# How much better one run is than another in relation to the other's mean, with an interval that doubts both means.
#
# The interval holds every gain g that is not refuted: those for which the mean of candidate - (1 + g) * baseline, case by
# case, could be 0 by the interval of differences. This is Fieller's method (1954); it needs no baseline that is known
# exactly, and where the baseline's own mean could be 0 it says so by having no upper end.

_ROUNDS = 9


@dataclass(frozen=True)
class Gain:
    """The gain of a candidate. ``absolute``: in the unit of the measure, since the baseline's mean is 0.

    ``low`` and ``high`` are None without enough independent cases; ``high`` is infinite if nothing bounds it.
    """

    mean: float | None
    low: float | None
    high: float | None
    cases: int
    absolute: bool = False


def gain_of(baseline: Floats, candidate: Floats, clusters: Clusters, span: float, lowest: float = 0.0) -> Gain:
    """The relative gain over the baseline, or the difference itself where the baseline has nothing to relate it to.

    ``lowest`` is the lowest value that there can be: what is never below 0 cannot lose more than all of it.
    """
    before, after = exact_mean(baseline), exact_mean(candidate)
    if before is None or after is None:
        return Gain(None, None, None, 0)
    lines = _GainLimits(baseline / span, candidate / span, clusters)
    relative = before > 0
    mean = after / before - 1 if relative else after - before
    if not lines.enough:
        return Gain(mean, None, None, len(baseline), not relative)
    if relative:
        low, high = lines.interval(mean, before / span)
        return Gain(mean, max(low, -1.0) if lowest >= 0 else low, high, len(baseline))
    low, high = lines.difference()
    return Gain(mean, low * span, high * span, len(baseline), absolute=True)


class _GainLimits:
    """Limits of the mean of candidate - (1 + g) * baseline for several gains g; both limits fall as g grows."""

    def __init__(self, baseline: Floats, candidate: Floats, clusters: Clusters) -> None:
        self._baseline, self._candidate, self._clusters = baseline, candidate, clusters
        self.enough = observations(baseline[:, None], clusters).enough

    def limits(self, gains: Floats) -> tuple[Floats, Floats]:
        scale = np.maximum(1.0, 1 + gains)  # so that no difference is larger than 1
        values = (self._candidate[:, None] - self._baseline[:, None] * (1 + gains)) / scale
        low, high = difference_intervals(observations(values, self._clusters), SHOWN_LEVEL)
        return low * scale, high * scale

    def difference(self) -> tuple[float, float]:
        """The interval of the difference itself."""
        low, high = self.limits(np.zeros(1))
        return float(low[0]), float(high[0])

    def interval(self, gain: float, baseline: float) -> tuple[float, float]:
        """The gains at which the lower and the upper limit are 0, on either side of the observed gain.

        It is never narrower than the interval of the difference over the baseline's mean: ties of the two runs are ties no
        longer once one of them is scaled, and must not prove more for that.
        """
        highest = self._highest(gain)
        low, high = self._crossing(np.array([-1.0, gain]), np.array([gain, gain if highest is None else highest]))
        least, most = (limit / baseline for limit in self.difference())
        return min(low, least), float("inf") if highest is None else max(high, most)

    def _highest(self, gain: float) -> float | None:
        """A gain that is surely too high; None if there is none that counts."""
        steps = np.array([gain + 0.5 * 4.0**step for step in range(9)])
        too_high = np.flatnonzero(self.limits(steps)[1] < 0)
        return float(steps[too_high[0]]) if len(too_high) else None

    def _crossing(self, below: Floats, above: Floats) -> tuple[float, float]:
        """Where the limits change their sign, by the Illinois method for both ends at once."""
        value_below, value_above = self._ends(below), self._ends(above)
        for _ in range(_ROUNDS):
            span = value_below - value_above
            share = np.where(span > 0, value_below / np.where(span > 0, span, 1.0), 0.5)
            middle = below + np.clip(share, 0.0, 1.0) * (above - below)
            value = self._ends(middle)
            positive = value > 0
            # The end that stays counts half, so that both ends move.
            value_above, value_below = (
                np.where(positive, value_above / 2, value),
                np.where(positive, value, value_below / 2),
            )
            below, above = np.where(positive, middle, below), np.where(positive, above, middle)
        return float(middle[0]), float(middle[1])

    def _ends(self, gains: Floats) -> Floats:
        low, high = self.limits(gains)
        return np.array([low[0], high[1]])


# From runs to a decision: a table of rules, each tested against its own line.
#
# A rule that wants more than so much gain holds if the whole interval of the gain lies above its line, and is refuted if it
# lies below; a rule that wants less, the other way round. An interval that straddles the line decides nothing: if no rule
# holds and one is undecided, there is not enough evidence.

Answer = Literal["yes", "no", "undecided"]

NOT_ENOUGH = "not enough evidence"

NOTHING_DECIDED = "nothing is decided"  # about runs that cannot be relied on, or not be compared


@dataclass(frozen=True)
class RuleOutcome:
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
        """The line that the gain is compared with."""
        return self.above if self.above is not None else self.below if self.below is not None else 0.0


_OUTCOME_COLUMNS: dict[str, type] = {
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
class Decision(HasFrame):
    """One sentence for the person who decides, what it rests on, what would flip it, and how every rule fared."""

    candidate: str
    baseline: str
    measure: str
    decision: str
    sentence: str
    evidence: tuple[str, ...]
    flips: tuple[str, ...]
    readings: tuple[RuleOutcome, ...] = ()

    def frame(self) -> pl.DataFrame:
        """One row per rule and segment that it was read in; one with nulls where the table has no rules."""
        about = {name: getattr(self, name) for name in ("candidate", "baseline", "measure", "decision")}
        rows = [vars(reading) for reading in self.readings] or [dict.fromkeys(_OUTCOME_COLUMNS)]
        return typed_frame([about | each for each in rows], dict.fromkeys(about, str) | _OUTCOME_COLUMNS)

    def __repr__(self) -> str:
        return fit_line(
            f"Decision({quote_name(self.candidate)} against {quote_name(self.baseline)} by {self.measure}: "
            f"{quote_name(self.decision)})"
        )


def tables_for_pairs(tables: Sequence[DecisionTable], pairs: Sequence[Pair]) -> list[DecisionTable]:
    """The tables whose arms were compared; one of them at least, if there are any."""
    name_pairs = [{pair.baseline, pair.candidate} for pair in pairs]
    about = [table for table in tables if {table.candidate, table.baseline} in name_pairs]
    if tables and not about:
        arms = "; ".join(f"{table.candidate} against {table.baseline}" for table in tables)
        names = ", ".join(sorted(set().union(*name_pairs)))
        raise UsageError(f"the decision tables are about {arms}; the runs are {names}")
    return about


def decide(table: DecisionTable, pairs: Sequence[Pair], scores: Mapping[str, Scores]) -> Decision:
    """Apply a decision table to its two arms; ``scores`` has every run under its display name."""
    pair = _pair(table, pairs)
    arms = _Arms(table, scores[table.baseline], scores[table.candidate], pair)
    about = f"{table.candidate} against {table.baseline} by {arms.measure}"
    if arms.invalid is not None:
        sentence = f"{about}: {NOTHING_DECIDED}, {arms.invalid}"
        return Decision(table.candidate, table.baseline, arms.measure, NOTHING_DECIDED, sentence, (), ())
    looks = [(rule, arms.looks(rule)) for rule in table.rules]
    answers = [(rule, outcomes, _combine_answers(outcomes)) for rule, outcomes in looks]
    first_match = next(((rule, outcomes) for rule, outcomes, answer in answers if answer == "yes"), None)
    open_rules = [(rule, outcomes) for rule, outcomes, answer in answers if answer == "undecided"]
    if first_match is not None:
        decision, basis = first_match[0].decision, first_match[1]
    elif open_rules:
        decision, basis = NOT_ENOUGH, open_rules[0][1]
    else:
        decision, basis = table.otherwise, looks[0][1] if looks else []
    prices = price_sentences(scores[table.baseline].matched.run, scores[table.candidate].matched.run)
    return Decision(
        candidate=table.candidate,
        baseline=table.baseline,
        measure=arms.measure,
        decision=decision,
        sentence=f"{about}: {decision}",
        evidence=(*(look.sentence for look in basis), *prices),
        flips=tuple(_flips(decision, basis, open_rules)),
        readings=tuple(reading for _, outcomes in looks for reading in outcomes),
    )


def _pair(table: DecisionTable, pairs: Sequence[Pair]) -> Pair:
    for pair in pairs:
        if {pair.baseline, pair.candidate} == {table.baseline, table.candidate}:
            return pair
    names = sorted({name for pair in pairs for name in (pair.baseline, pair.candidate)})
    raise UsageError(f"a decision is about {table.candidate!r} against {table.baseline!r}; the runs are {', '.join(names)}")


class _Arms:
    """The two runs of a decision table on its measure: the first, unless it names one."""

    def __init__(self, table: DecisionTable, baseline: Scores, candidate: Scores, pair: Pair) -> None:
        suite = baseline.matched.suite
        measure = parse_measure(table.measure or pair.primary)
        refuse_over_cases(measure, "decided on")
        known_name = baseline.known_as(measure)
        if known_name is None:
            name = measure.resolve(suite.defaults).name
            raise UsageError(f"the decision about {table.candidate!r} rests on {name}, which was not computed")
        self.measure = known_name
        self._column = baseline.names.index(self.measure)
        self._baseline, self._candidate = baseline, candidate
        difference = pair.differences[self._column]
        self.invalid = difference.reason if difference.verdict == "INVALID" else None
        self._categories = {} if suite.table.categories is None else segment_rows(suite, "category")
        self._gains: dict[str, Gain] = {}

    def looks(self, rule: DecisionRule) -> list[RuleOutcome]:
        if not rule.categories:
            return [self._look(rule, "all cases", np.arange(len(self._baseline.matched.suite)))]
        if not self._categories:
            return [_undecided_outcome(rule, "categories", "the suite has no categories")]
        suite = self._baseline.matched.suite
        categories = (
            list(self._categories) if "all" in rule.categories else [category_name(suite, name) for name in rule.categories]
        )
        return [self._look(rule, name, self._categories.get(name)) for name in categories]

    def _look(self, rule: DecisionRule, segment: str, rows: Rows | None) -> RuleOutcome:
        if rows is None:
            return _undecided_outcome(rule, segment, f"{segment}: no case of this category")
        gain = self._gains.setdefault(segment, self._gain(rows))
        if gain.mean is None:
            return _undecided_outcome(rule, segment, f"{segment}: no case has a value on both sides")
        return _rule_outcome(rule, segment, gain)

    def _gain(self, rows: Rows) -> Gain:
        before, after = (each.values[rows, self._column] for each in (self._baseline, self._candidate))
        both = ~np.isnan(before) & ~np.isnan(after)
        if not both.any():
            return Gain(None, None, None, 0)
        before, after, rows = before[both], after[both], rows[both]
        clusters = clusters_of(self._baseline.matched.suite, rows)
        measure = self._baseline.measures[self._column]
        return gain_of(before, after, clusters, measure_span(measure, before, after), measure.low)


def _undecided_outcome(rule: DecisionRule, segment: str, because: str) -> RuleOutcome:
    return RuleOutcome(rule.decision, segment, "undecided", because, rule.above, rule.below)


def _rule_outcome(rule: DecisionRule, segment: str, gain: Gain) -> RuleOutcome:
    return RuleOutcome(
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
        return f"{segment}: {mean}{note}, {count_of(gain.cases, 'case')}, too few independent ones for an interval"
    high = f"to {amount(gain.high)}" if isfinite(gain.high) else "and no upper end"
    return f"{segment}: {mean} (interval {amount(gain.low)} {high}){note}, {count_of(gain.cases, 'case')}"


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


def _combine_answers(looks: Sequence[RuleOutcome]) -> Answer:
    answers = {look.answer for look in looks}
    if not looks or "no" in answers:
        return "no"
    return "undecided" if "undecided" in answers else "yes"


def _flips(
    decision: str, basis: Sequence[RuleOutcome], open_rules: Sequence[tuple[DecisionRule, Sequence[RuleOutcome]]]
) -> list[str]:
    known_looks = [look for look in basis if look.gain is not None]
    flips = []
    if known_looks and decision != NOT_ENOUGH:
        closest = min(known_looks, key=lambda look: abs((look.gain or 0.0) - look.bound))
        amount = _absolute if closest.absolute else _relative
        line = amount(closest.bound)
        flips.append(f"the closest call is {closest.segment}: {amount(closest.gain or 0.0)}, and the line is drawn at {line}")
    flips += [_open_sentence(rule, [look for look in looks if look.answer == "undecided"]) for rule, looks in open_rules]
    return flips


def _open_sentence(rule: DecisionRule, open_looks: Sequence[RuleOutcome]) -> str:
    """What would decide a rule. More cases do not, where nothing is known, such as of a category that has no case."""
    unknown_segments = [look.segment for look in open_looks if look.gain is None]
    if unknown_segments:
        return f"nothing is known of {', '.join(unknown_segments)}, so this stays open: {rule.decision}"
    return f"with more cases in {', '.join(look.segment for look in open_looks)} it could become: {rule.decision}"
