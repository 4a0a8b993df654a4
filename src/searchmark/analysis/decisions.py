"""From differences to a decision: a table of rules, read with the evidence that there is.

A rule that wants more than so much gain holds if the gain is that large and the difference is IMPROVED. A rule
that wants less holds if even the upper end of the interval is below. A rule that the means fulfil and the
evidence does not is undecided; if no rule holds and one is undecided, there is not enough evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from searchmark.analysis.comparison import Difference, Pair, flipped
from searchmark.analysis.prices import price_of
from searchmark.analysis.scores import Summary
from searchmark.errors import UsageError
from searchmark.measures.grammar import parse_measure
from searchmark.options.compare_options import DecisionRule, DecisionTable
from searchmark.records import Run, Suite

Answer = Literal["yes", "no", "undecided"]
NOT_ENOUGH = "not enough evidence"
MEGABYTE = 1e6
# The parts of a price in the order in which they are told, with the unit of each.
PRICES = (("latency", "ms", 1.0), ("index_size", "MB", MEGABYTE), ("memory", "MB", MEGABYTE), ("cost", "", 1.0))
# The decision table that many projects start from: is vector search worth it, and is a reranker?
PRESETS = {
    "vector-search": (
        DecisionTable(
            candidate="vector",
            baseline="fts5",
            rules=(
                DecisionRule("keep vector search and promote it", above=0.10, categories=("all",)),
                DecisionRule("keep vector search and document what it is good for", above=0.10, categories=(1, 2, 5)),
                DecisionRule("drop vector search and simplify the system", below=0.05),
            ),
        ),
        DecisionTable(
            candidate="reranker",
            baseline="vector",
            rules=(DecisionRule("recommend the reranker by default", above=0.15),),
        ),
    )
}


@dataclass(frozen=True)
class Decision:
    """One sentence for whoever decides, what it rests on, and what would flip it."""

    candidate: str
    baseline: str
    measure: str
    decision: str
    sentence: str
    evidence: tuple[str, ...]
    flips: tuple[str, ...]


@dataclass(frozen=True)
class _Look:
    """How one rule fares in one segment: the suite as a whole or a category."""

    place: str
    gain: float | None
    answer: Answer
    sentence: str
    bound: float


def tables_about(tables: Sequence[DecisionTable], pairs: Sequence[Pair]) -> list[DecisionTable]:
    """The tables whose arms were compared; one of them at least, if there are any."""
    compared = [{pair.baseline, pair.candidate} for pair in pairs]
    about = [table for table in tables if {table.candidate, table.baseline} in compared]
    if tables and not about:
        arms = "; ".join(f"{table.candidate} against {table.baseline}" for table in tables)
        names = ", ".join(sorted(set().union(*compared)))
        raise UsageError(f"the decision tables are about {arms}; the runs are {names}")
    return about


def decide(
    table: DecisionTable, pairs: Sequence[Pair], means: Mapping[str, Mapping[str, Summary]], suite: Suite, runs: Mapping[str, Run]
) -> Decision:
    """Apply a decision table to the comparison of its two arms; ``means`` are the summaries of every run."""
    pair = _pair(table, pairs)
    measure = pair.differences[0].measure if table.measure is None else parse_measure(table.measure).resolve(suite.defaults).name
    if measure not in means[table.baseline]:
        raise UsageError(f"the decision about {table.candidate!r} rests on {measure}, which was not computed")
    looks = [(rule, _looks(rule, pair, measure, means[table.baseline], suite)) for rule in table.rules]
    answers = [(rule, found, _together(found)) for rule, found in looks]
    chosen = next(((rule, found) for rule, found, answer in answers if answer == "yes"), None)
    open_rules = [(rule, found) for rule, found, answer in answers if answer == "undecided"]
    if chosen is not None:
        decision, basis = chosen[0].decision, chosen[1]
    elif open_rules:
        decision, basis = NOT_ENOUGH, open_rules[0][1]
    else:
        decision, basis = table.otherwise, looks[0][1] if looks else []
    evidence = (*(look.sentence for look in basis), *_prices(runs[table.baseline], runs[table.candidate]))
    sentence = f"{table.candidate} against {table.baseline} by {measure}: {decision}"
    return Decision(
        table.candidate, table.baseline, measure, decision, sentence, evidence, tuple(_flips(decision, basis, open_rules))
    )


def _pair(table: DecisionTable, pairs: Sequence[Pair]) -> Pair:
    for pair in pairs:
        if (pair.baseline, pair.candidate) == (table.baseline, table.candidate):
            return pair
        if (pair.baseline, pair.candidate) == (table.candidate, table.baseline):
            return _seen_from_the_other_side(pair)
    known = sorted({name for pair in pairs for name in (pair.baseline, pair.candidate)})
    raise UsageError(f"a decision is about {table.candidate!r} against {table.baseline!r}; the runs are {', '.join(known)}")


def _seen_from_the_other_side(pair: Pair) -> Pair:
    """The pair with its runs in the order that a table names them."""
    segments = {
        name: {value: tuple(map(flipped, found)) for value, found in values.items()} for name, values in pair.segments.items()
    }
    differences = tuple(map(flipped, pair.differences))
    return replace(pair, baseline=pair.candidate, candidate=pair.baseline, differences=differences, segments=segments)


def _looks(rule: DecisionRule, pair: Pair, measure: str, baseline: Mapping[str, Summary], suite: Suite) -> list[_Look]:
    if not rule.categories:
        found = next(d for d in pair.differences if d.measure == measure)
        return [_look(rule, "all cases", found, baseline[measure].mean)]
    segments = pair.segments.get("category")
    if segments is None:
        return [_Look("categories", None, "no", "the comparison was not split by category", 0.0)]
    wanted = list(segments) if "all" in rule.categories else [_category(name, suite, segments) for name in rule.categories]
    return [_look_into(rule, name, segments, measure) for name in wanted]


def _category(wanted: str | int, suite: Suite, segments: Mapping[str, object]) -> str:
    """The name of a category that may be given by its number."""
    if str(wanted) in segments:
        return str(wanted)
    for row, fields in enumerate(suite.table.fields or ()):
        if str(fields.get("category_number")) == str(wanted) and suite.table.categories is not None:
            return suite.table.categories[row] or str(wanted)
    return str(wanted)


def _look_into(rule: DecisionRule, category: str, segments: Mapping[str, tuple[Difference, ...]], measure: str) -> _Look:
    found = next((d for d in segments.get(category, ()) if d.measure == measure), None)
    if found is None:
        return _Look(category, None, "no", f"{category}: no such category in the suite", 0.0)
    return _look(rule, category, found, found.baseline_mean)


def _look(rule: DecisionRule, place: str, found: Difference, mean: float | None) -> _Look:
    if found.difference is None or not mean:
        reason = f"{place}: no relative gain, since the baseline's mean is 0 or undefined"
        return _Look(place, None, "undecided", reason, 0.0)
    gain = found.difference / mean
    bounds = "" if found.low is None or found.high is None else f" (interval {found.low / mean:+.0%} to {found.high / mean:+.0%})"
    sentence = f"{place}: {gain:+.1%}{bounds}, {found.cases} cases, {found.verdict}"
    bound = rule.above if rule.above is not None else rule.below if rule.below is not None else 0.0
    return _Look(place, gain, _answer(rule, gain, found, mean), sentence, bound)


def _answer(rule: DecisionRule, gain: float, found: Difference, mean: float) -> Answer:
    if found.verdict == "INVALID":
        return "undecided"
    fulfilled = (rule.above is None or gain > rule.above) and (rule.below is None or gain < rule.below)
    if not fulfilled:
        return "no"
    return "yes" if rule.evidence == "mean" or _supported(rule, found, mean) else "undecided"


def _supported(rule: DecisionRule, found: Difference, mean: float) -> bool:
    """Whether the evidence, and not only the mean, speaks for a rule."""
    clear_gain = rule.above is None or found.verdict == "IMPROVED"
    surely_below = rule.below is None or (found.high is not None and found.high / mean < rule.below)
    return clear_gain and surely_below


def _together(looks: Sequence[_Look]) -> Answer:
    answers = {look.answer for look in looks}
    if not looks or "no" in answers:
        return "no"
    return "undecided" if "undecided" in answers else "yes"


def _flips(decision: str, basis: Sequence[_Look], open_rules: Sequence[tuple[DecisionRule, Sequence[_Look]]]) -> list[str]:
    known = [look for look in basis if look.gain is not None]
    flips = []
    if known and decision != NOT_ENOUGH:
        closest = min(known, key=lambda look: abs((look.gain or 0.0) - look.bound))
        flips.append(f"the closest call is {closest.place}: {closest.gain:+.1%}, and the line is drawn at {closest.bound:+.0%}")
    for rule, looks in open_rules:
        doubtful = ", ".join(look.place for look in looks if look.answer == "undecided")
        flips.append(f"with more cases in {doubtful} it could become: {rule.decision}")
    return flips


def _prices(baseline: Run, candidate: Run) -> list[str]:
    """What the better answer costs, where both runs know."""
    sentences = []
    before, after = price_of(baseline), price_of(candidate)
    for name, unit, scale in PRICES:
        old, new = getattr(before, name), getattr(after, name)
        if old is not None and new is not None:
            times = f"{new / old:.1f}x that of {baseline.agent}" if old > 0 else f"none for {baseline.agent}"
            amounts = f"{_amount(old / scale, unit)} to {_amount(new / scale, unit)}"
            sentences.append(f"{name.replace('_', ' ')}: {times} ({amounts})")
    return sentences


def _amount(value: float, unit: str) -> str:
    return f"{value:.2g} {unit}".strip() if value < 10 else f"{value:,.0f} {unit}".strip()  # noqa: PLR2004  # two digits tell enough
