"""What the numbers of a suite can be: limits, ties, ranks, unjudged hits, measures that say the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import inf
from string import ascii_letters
from typing import NamedTuple

import numpy as np

from searchmark.audit.check import AuditCell, AuditTable, Subject, check, ids_of, once_per_subject
from searchmark.config.gates import DecisionTable
from searchmark.gates.bounds import NumberRule, RelativeRule
from searchmark.gates.quantities import EVERYTHING, rows_of
from searchmark.measures.grammar import AnyMeasure, Measure, undefined_cases
from searchmark.measures.hits import NOTHING, GradedHits, Pool
from searchmark.records.answers import OK
from searchmark.records.columns import Bools, Floats, Ints, distinct
from searchmark.records.finding import GATE, NUMBERS, Finding, FindingKind, finding
from searchmark.records.sentences import list_first, plain_count, quote_name, three_digits
from searchmark.scoring.comparability import depth_reached
from searchmark.scoring.comparison import compare, primary_column, unique_names
from searchmark.scoring.limits import MeasureLimits, mean_of, range_of_full_rankings, simulate_mean
from searchmark.scoring.scores import Scores
from searchmark.scoring.statistics import FEWEST_CASES
from searchmark.scoring.unjudged import DEEPEST, Flip, UnjudgedHits, can_be_labelled, label_range, possible_flip, unjudged_hits

# Gaps between the rules of a decision table.

_OTHERWISE = next(field.default for field in DecisionTable.__dataclass_fields__.values() if field.name == "otherwise")


@check(FindingKind("decision-hole", "warning", "A decision table that has no rule for gains between two of its lines.",
    "A clear gain in between is decided by 'otherwise', which was not written for it.",
    "Add a rule for these gains, or write 'otherwise' for them.",
), theme=GATE, quick=True)  # fmt: skip
def decision_holes(subject: Subject) -> Iterator[Finding]:
    """Gains between two lines of a table that no rule covers; a table with its own 'otherwise' covers all."""
    for table in subject.decisions:
        gaps = [f"{low:.4g} to {high:.4g}" for low, high in holes(table)] if table.otherwise == _OTHERWISE else []
        if gaps:
            about = f"{table.candidate} against {table.baseline}: no rule is about gains from {', '.join(gaps)}"
            yield finding("decision-hole", f"{about}: {table.otherwise!r} is decided")


def holes(table: DecisionTable) -> Iterator[tuple[float, float]]:
    """The gaps between the lowest line and the highest, whichever cases the rules are about."""
    end = -inf
    spans = sorted((-inf if rule.above is None else rule.above, inf if rule.below is None else rule.below) for rule in table.rules)
    for low, high in spans:
        if -inf < end < low:
            yield end, low
        end = max(end, high)


# What the measures of a suite can be: the attainable, a random order, and where the runs lie between them.

# A perfect search that gets less looks like one that misses a fifth of what there is.
LOW_ATTAINABLE = 0.8
# Chance alone is then worth as much as all that a search can add.
HIGH_CHANCE = 0.5
BEYOND_ROUNDING = 1e-9
EXAMPLES = 3  # categories that are named


@check(FindingKind("low-attainable", "note", "A measure whose highest possible mean is far below 1.",
    "A perfect search would look mediocre, and a threshold above that value can never be met.",
    "Read values as shares of the attainable, or use a cutoff that suits the number of targets; nDCG reaches 1 at any.",
), FindingKind("random-is-high", "warning", "A random order of the documents gets half of the attainable value or more.",
    "So few documents flatter every search: high values do not show quality.",
    "Search the whole corpus, add documents that are not relevant, or use a smaller cutoff.",
), theme=NUMBERS, quick=True)  # fmt: skip
def about_limits(subject: Subject) -> Iterator[Finding]:
    low, high = dict[str, Floats](), list[str]()
    for each in (each for each in subject.limits if each.tells_of_rankings and each.measure.high == 1):
        random, best = mean_of(each.random), mean_of(each.attainable)
        if each.attainable is not None and best is not None and 0 < best < LOW_ATTAINABLE and subject.is_in_question(each.measure):
            low[f"{each.measure.name} {three_digits(best)}"] = each.attainable
        if random is not None and best is not None and best - random > BEYOND_ROUNDING and random >= HIGH_CHANCE * best:
            high.append(f"{each.measure.name} {three_digits(random)} of {three_digits(best)}")
    if low:
        cases = np.any([values < 1 - BEYOND_ROUNDING for values in low.values()], axis=0)
        message = f"the highest possible means: {', '.join(low)}{_why_low(subject)}"
        yield finding("low-attainable", message, ids_of(subject.pool.suite, cases))
    if high:
        yield finding("random-is-high", f"what a random order of the documents gets, of the attainable: {', '.join(high)}")


def _why_low(subject: Subject) -> str:
    """What keeps a perfect search from 1."""
    pool = subject.pool
    relevant = pool.suite.judgments.grades >= pool.suite.defaults.rel
    cases = pool.traits[1] & pool.traits[3]
    counts, missing = pool.count(relevant)[cases], int((relevant & ~pool.findable).sum())
    median = f"median of relevant targets per case: {three_digits(float(np.median(counts)))}" if len(counts) else ""
    reasons = list(filter(None, (median, f"targets that the corpus lacks: {missing}" if missing else "")))
    return f" ({', '.join(reasons)})" if reasons else ""


@check(FindingKind("above-attainable", "error", "A run with a value above the highest one that any ranking can have.",
    "That is impossible: the run was not judged against this suite and corpus, or a formula is wrong.",
    "Give the corpus that was searched, and report this as a defect if it was that one.",
), FindingKind("no-better-than-random", "warning", "A run whose interval does not exclude what a random order gets on average.",
    "These cases do not show that it searches better than chance, and a lead over it is hardly more than one over chance.",
    "Look at its first hits: how it is asked, what it searches and how its ids are spelt.",
), theme=NUMBERS, quick=True)  # fmt: skip
def about_runs_in_limits(subject: Subject) -> Iterator[Finding]:
    for name, scores in subject.scores.items():
        above = {
            each.measure.name: values > each.attainable + BEYOND_ROUNDING
            for each, values in zip(subject.limits, scores.values.T, strict=True)
            if each.attainable is not None
        }
        wrong = [measure for measure, marks in above.items() if marks.any()]
        if wrong:
            cases = np.any([above[measure] for measure in wrong], axis=0)
            of = f"{int(cases.sum())} of {len(cases)} cases, by {', '.join(wrong)}"
            message = f"{name}: above the highest possible value in {of}"
            yield finding("above-attainable", message, ids_of(subject.pool.suite, cases))
        run = scores.matched.run
        agent = run.provenance.agent
        if (run.agent if agent is None else agent.source) != "random":  # the control, of which nothing else is expected
            yield from _no_better(subject, name, scores)


def _no_better(subject: Subject, name: str, scores: Scores) -> Iterator[Finding]:
    """With an interval: it does not exclude a random order. Of fewer cases only what they are: on average not above it."""
    doubtful, not_above, weak, few = list[str](), list[str](), "", 0
    summaries = scores.summaries()
    for each in subject.limits:
        random, best, summary = mean_of(each.random), mean_of(each.attainable), summaries[each.measure.name]
        if not each.tells_of_rankings or random is None or best is None or best - random <= BEYOND_ROUNDING:
            continue
        few = max(few, summary.cases)
        if summary.mean is None:
            continue
        value = f"{each.measure.name} {three_digits(summary.mean)} (random {three_digits(random)})"
        if summary.low is None:
            not_above += [value] if summary.mean <= random else []
        elif summary.low <= random:
            doubtful.append(value)
        elif each.measure == subject.primary:
            weak = _weak_categories(subject, each, scores)
    parts = (
        f"not shown to be better than a random order of the documents by {', '.join(doubtful)}" if doubtful else "",
        f"in these {few} cases not above a random order of the documents by {', '.join(not_above)}" if not_above else "",
        weak,
    )
    if any(parts):
        yield finding("no-better-than-random", f"{name}: {'; '.join(filter(None, parts))}")


def _weak_categories(subject: Subject, limits: MeasureLimits, scores: Scores) -> str:
    """The categories in which a run that is better than a random order is not above it, if they have an interval.

    By the primary measure alone, and by the mean instead of the interval: otherwise small categories of sound runs are reported.
    """
    categories, random = subject.pool.suite.table.categories, limits.random
    if categories is None or random is None:
        return ""
    values = scores.values[:, scores.names.index(limits.measure.name)]
    more, names = values - random, np.array([each or "" for each in categories])
    usable = np.flatnonzero(~np.isnan(more) & (names != ""))
    distinct, number = np.unique(names[usable], return_inverse=True)
    below = np.flatnonzero(np.bincount(number, more[usable], minlength=len(distinct)) <= 0)
    weak = []
    for rows, category in ((usable[number == each], str(distinct[each])) for each in below.tolist()):
        summary = scores.summaries(rows)[limits.measure.name] if len(rows) >= FEWEST_CASES else None
        if summary is not None and summary.low is not None and summary.mean is not None:
            expected = three_digits(float(random[rows].mean()))
            weak.append(f"{quote_name(category)} {three_digits(summary.mean)} (random {expected}, {summary.cases} cases)")
    return f"by {limits.measure.name} not above a random order in {list_first(weak, EXAMPLES)}" if weak else ""


def measures_table(subject: Subject) -> AuditTable | None:
    """Every measure over all cases and over the segments that rules are about: what it can be, and what the runs get."""
    fixed_columns = ("measure", "cases", "attainable", "random", "standard error of random")
    columns = (*fixed_columns, *(f"run {name}" if name in fixed_columns else name for name in subject.scores))
    of_rules = [rule.segment for rule in subject.rules if isinstance(rule, NumberRule | RelativeRule)]
    table = list[tuple[AuditCell, ...]]()
    for segment in dict.fromkeys([EVERYTHING, *of_rules]):
        rows = rows_of(subject.pool.suite, segment)
        for column, each in enumerate(subject.limits if rows is not None else ()):
            simulation = simulate_mean(each.measure, subject.pool) if each.random is None else None
            random = each.random if simulation is None else simulation.values
            means = [mean_of(scores.values[:, column], rows) for scores in subject.scores.values()]
            error = None if simulation is None or segment != EVERYTHING else simulation.error
            where = "all" if segment == EVERYTHING else segment.words.removeprefix(" in ")
            table.append((each.measure.name, where, mean_of(each.attainable, rows), mean_of(random, rows), error, *means))
    return (
        AuditTable("measures", "What the measures can be on this suite", columns, tuple(table)).without_empty() if table else None
    )


# Measures that are constant, or equal to another, for every ranking. The suite alone shows this; equal numbers of runs do not.
#
# On one case most measures are a weight times a count or a rank: P@5 and R@5 both count the relevant among the first five.
# That form, a measure's `shape`, is written down for every case; measures with the same forms in all cases are one measure.

# More of the cases than not: the mean then moves less than half as far as it seems to.
MOST_OF_THEM = 0.5


@check(FindingKind("constant-measure", "warning", "A measure that all rankings of all documents share, in most cases.",
    "It tells only how many documents were returned, and a gate on it cannot see a worse order.",
    "Use a cutoff below the number of documents, or a measure of the order: RR, AP or nDCG.",
), theme=NUMBERS, quick=True)  # fmt: skip
def about_constant(subject: Subject) -> Iterator[Finding]:
    constant: dict[str, Bools] = {}
    for each in subject.limits:
        if isinstance(each.measure, Measure) and each.tells_of_rankings:
            cases = _constant_cases(each.measure, subject.pool)
            constant |= {} if cases is None else {each.measure.name: cases}
    if constant:
        counts = ", ".join(f"{name} in {int(cases.sum())} of {len(cases)} cases" for name, cases in constant.items())
        cases = np.any(list(constant.values()), axis=0)
        yield finding(
            "constant-measure", f"the same for all rankings of all documents: {counts}", ids_of(subject.pool.suite, cases)
        )


def _constant_cases(measure: Measure, pool: Pool) -> Bools | None:
    """The cases in which no order of all documents makes a difference, if they are most of those with something to find."""
    if pool.documents is None or (measure.cutoff is None and not measure.definition.ordered):
        return None
    # With more documents than this, some ranking has nothing at all of what is relevant among the first ones.
    few = pool.documents < pool.count(pool.drawn) + (measure.cutoff or 1)
    with_targets = float((pool.count(pool.drawn & (pool.suite.judgments.grades > 0)) > 0).mean())
    value_range = range_of_full_rankings(measure, pool) if few.sum() > MOST_OF_THEM * few.size * with_targets else None
    if value_range is None:
        return None
    low, high = value_range
    cases = (high > 0) & (high - low < BEYOND_ROUNDING)
    return cases if cases.sum() > MOST_OF_THEM * (high > 0).sum() else None


@check(FindingKind(
    "identical-measures", "note", "Measures that are the same number for every ranking, by construction of the suite.",
    "They look like several proofs and are one.",
    "Keep one of them.",
), theme=NUMBERS, quick=True)  # fmt: skip
def about_identical(subject: Subject) -> Iterator[Finding]:
    groups: dict[bytes, list[AnyMeasure]] = {}
    for each in subject.limits:
        form = form_of(each.measure, subject.pool) if isinstance(each.measure, Measure) else None
        if form is not None and (np.nan_to_num(form[:, 0]) != NOTHING).any():
            groups.setdefault(form.tobytes(), []).append(each.measure)
    same = [" = ".join(each.name for each in group) + _reason(group, subject.pool) for group in groups.values() if len(group) > 1]
    if same:
        yield finding("identical-measures", f"the same number for every ranking: {'; '.join(same)}")


def _reason(group: list[AnyMeasure], pool: Pool) -> str:
    parts, cases = [part for each in group for part in each.parts], ~undefined_cases(group[0], pool.traits)
    counts = {int(count) for part in parts for count in pool.relevant(int(part.options.get("rel", 1)))[cases]}
    if {part.cutoff for part in parts} == {1}:
        return " (the first hit alone)"
    return f" (every case has {counts.pop()} relevant)" if len(counts) == 1 else " (by the targets and grades of these cases)"


def form_of(measure: Measure, pool: Pool) -> Floats | None:
    """What a measure is on every case, NaN where it is undefined; None if it has no such form."""
    shape = measure.definition.shape
    if shape is None or measure.options.get("credit") == "dir" or not pool.traits[0].all():
        return None
    with np.errstate(divide="ignore"):
        form = shape(measure.on(pool))
    if form is not None:
        form[undefined_cases(measure, pool.traits)] = np.nan
    return form


# What unjudged hits leave open: the range of every run, and whether labels could turn the order of two runs round.

# A relevant hit in every fifth case is what even a weak search finds; that as much was left unjudged can be expected.
EXPECTED_LABELS = 0.2
MOST_LABELS = 20  # that can be judged in one sitting


def _columns(scores: Scores) -> list[int]:
    return [column for column, each in enumerate(scores.measures) if each.tells_quality and can_be_labelled(each)]


@once_per_subject
def _unjudged(subject: Subject) -> dict[str, UnjudgedHits]:
    return unjudged_hits(subject.scores, subject.suite)


def bounds_table(subject: Subject) -> AuditTable | None:
    """The mean of every run with no unjudged hit relevant, with all of them, and without them."""
    unjudged, rows = _unjudged(subject), list[tuple[AuditCell, ...]]()
    for name, scores in subject.scores.items():
        # If nothing is judged as not relevant, the judged hits of every answer are all relevant, and say nothing alone.
        grades, rel = scores.matched.suite.judgments.grades, scores.matched.suite.defaults.rel
        has_irrelevant = bool(((grades >= 0) & (grades < rel)).any())
        for column in _columns(scores):
            bounds = label_range(scores, column, unjudged[name])
            means = (mean_of(each) for each in (bounds.none, bounds.all, bounds.condensed if has_irrelevant else None))
            rows.append((name, scores.names[column], bounds.unjudged, *means))
    title = f"What unjudged hits leave open, among the first {DEEPEST} where there is no cutoff"
    columns = ("run", "measure", "unjudged hits", "score", "score if all are relevant", "score without unjudged hits")
    return AuditTable("bounds", title, columns, tuple(rows)).without_empty() if any(row[2] for row in rows) else None


@once_per_subject
def _primary_flips(subject: Subject) -> tuple[str, list[tuple[str, str, Flip]]]:
    """The measure that runs are compared by, and what labels could make of every pair."""
    scores = next(iter(subject.scores.values()), None)
    column = 0 if scores is None else primary_column(scores, subject.options.primary)
    if scores is None or column not in _columns(scores):
        return "", []
    unjudged, flips = _unjudged(subject), list[tuple[str, str, Flip]]()
    for pair in combinations(subject.scores, 2):
        means = {name: mean_of(subject.scores[name].values[:, column]) for name in pair}
        if None not in means.values() and any(len(unjudged[name]) for name in pair):
            ahead, behind = sorted(means, key=lambda name: -(means[name] or 0.0))
            flip = possible_flip(subject.scores[ahead], subject.scores[behind], column, unjudged[ahead], unjudged[behind])
            flips += [] if flip is None else [(ahead, behind, flip)]
    return scores.names[column], flips


def flips_table(subject: Subject) -> AuditTable | None:
    """Every pair of runs: the lead by the primary measure, what labels could make of it, and how many of them are needed."""
    measure, flips = _primary_flips(subject)
    rows = tuple(
        (ahead, behind, each.difference, each.labelled, each.bound, each.enough, each.unjudged, each.possible)
        for ahead, behind, each in flips
    )
    leads = ("ahead", "behind", "lead", "reverse lead by labels", "reverse lead at most", "labels that reverse it")
    columns = (*leads, "unjudged hits of behind", "order can reverse")
    title = f"What labels of unjudged hits could make of leads by {measure}"
    return AuditTable("flips", title, columns, rows).without_empty() if rows else None


@check(FindingKind("order-could-flip", "note", "Runs whose order at most 20 labels of unjudged hits would turn round.",
    "Unjudged hits count as not relevant, which is hardest on runs that find what others did not.",
    "Judge the hits that --next lists.",
    table="flips",
), theme=NUMBERS)  # fmt: skip
def about_flips(subject: Subject) -> Iterator[Finding]:
    measure, flips = _primary_flips(subject)
    sentences = [
        f"{behind} is {three_digits(flip.difference)} behind {ahead}, and {flip.enough} of its "
        f"{plain_count(flip.unjudged, 'unjudged hit')} being relevant would put it ahead"
        for ahead, behind, flip in flips
        if _is_easy(flip)
    ]
    if sentences:
        more = f"; and {len(sentences) - EXAMPLES} more" if len(sentences) > EXAMPLES else ""
        message = f"labels that would turn round the order by {measure}: {'; '.join(sentences[:EXAMPLES])}{more}"
        yield finding("order-could-flip", message)


def _is_easy(flip: Flip) -> bool:
    return flip.difference > 0 and flip.enough is not None and flip.enough <= min(MOST_LABELS, EXPECTED_LABELS * flip.cases)


# Which ranks of a table of runs really differ, by the verdicts of the comparison.

MOST_RUNS = 26
LETTERS = ascii_letters  # of groups; runs that need more of them get none


@dataclass(frozen=True)
class RankedRuns:
    """Runs by their mean of the primary measure, and which of them differ."""

    measure: str
    means: tuple[tuple[str, float], ...]  # run and mean, the best first
    apart: frozenset[frozenset[str]]  # pairs that differ for sure
    alike: frozenset[frozenset[str]] = frozenset()  # pairs with the same value in every case
    repeats: frozenset[frozenset[str]] = frozenset()  # pairs that are runs of one agent

    def are_apart(self, first: str, second: str) -> bool:
        return frozenset((first, second)) in self.apart

    @property
    def groups(self) -> dict[str, str]:
        """Letters such that two runs share one if and only if they do not differ for sure; none where that takes too many."""
        names = [name for name, _ in self.means]
        members = _groups(names, [(a, b) for a, b in combinations(names, 2) if self.are_apart(a, b)])
        return {name: "".join(letter for letter, group in zip(LETTERS, members, strict=False) if name in group) for name in names}


def _groups(names: Sequence[str], apart: Sequence[tuple[str, str]]) -> list[frozenset[str]]:
    """Insert and absorb (Piepho, 2004): a group with two runs that differ becomes two, and those within another one go."""
    groups = [frozenset(names)]
    for pair in apart:
        parts = [part for group in groups for part in ([group - {each} for each in pair] if group >= {*pair} else [group])]
        parts = list(dict.fromkeys(parts))
        groups = [part for part in parts if not any(part < other for other in parts)]
        if len(groups) > len(LETTERS):
            return []
    return sorted(groups, key=lambda group: [n for n, name in enumerate(names) if name in group])


@once_per_subject
def ranked_runs(subject: Subject) -> RankedRuns | None:
    """The runs in their order; None if there are not two with a mean."""
    scores = list(subject.scores.values())
    if not 1 < len(scores) <= MOST_RUNS:
        return None
    measure = scores[0].names[primary_column(scores[0], subject.options.primary)]
    by_name = dict(zip(unique_names(scores), scores, strict=True))
    means = {name: each.mean(measure) for name, each in by_name.items()}
    ranking = sorted((each for each in means.items() if not np.isnan(each[1])), key=lambda each: -each[1])
    if len(ranking) < 2:  # noqa: PLR2004  # a rank is among others
        return None
    pairs = compare(scores, (), replace(subject.options, baseline=None, decisions=()))
    apart = {frozenset((pair.baseline, pair.candidate)) for pair in pairs if pair.main.verdict in ("IMPROVED", "REGRESSED")}
    alike, repeats = set[frozenset[str]](), set[frozenset[str]]()
    for names in pairwise(name for name, _ in ranking):
        first, second = (by_name[name].values[:, by_name[name].names.index(measure)] for name in names)
        if np.array_equal(first, second, equal_nan=True):
            alike.add(frozenset(names))
        one, other = ((replace(run.label, repeat=1), run.provenance.agent) for run in (by_name[name].matched.run for name in names))
        if one == other and one[1] is not None:
            repeats.add(frozenset(names))
    return RankedRuns(measure, tuple(ranking), frozenset(apart), frozenset(alike), frozenset(repeats))


@check(FindingKind("ranks-not-apart", "note", "Neighbouring ranks of runs that these cases cannot tell apart.",
    "Their order in a table is not proven: other cases may turn it round.",
    "Share the rank, or add cases; a comparison says how many.",
    table="ranks",
), theme=NUMBERS)  # fmt: skip
def about_ranks(subject: Subject) -> Iterator[Finding]:
    ranking = ranked_runs(subject)
    differ, alike = list[str](), list[str]()
    for (a, x), (b, y) in pairwise(ranking.means if ranking else ()):
        if ranking and frozenset((a, b)) in ranking.alike - ranking.apart - ranking.repeats:
            alike.append(f"{a} and {b} ({three_digits(x)})")
        elif ranking and frozenset((a, b)) not in ranking.apart | ranking.repeats:
            differ.append(f"{a} ({three_digits(x)}) and {b} ({three_digits(y)})")
    parts = (
        f"without a proven difference: {list_first(differ, EXAMPLES)}" if differ else "",
        f"answered alike, with the same value in every case: {list_first(alike, EXAMPLES)}" if alike else "",
    )
    if ranking and any(parts):
        yield finding("ranks-not-apart", f"neighbours by {ranking.measure} {'; '.join(filter(None, parts))}")


def ranks_table(subject: Subject) -> AuditTable | None:
    """Runs by rank; those that share a letter do not differ for sure."""
    ranking = ranked_runs(subject)
    if ranking is None:
        return None
    rows = tuple((rank, name, mean, ranking.groups[name]) for rank, (name, mean) in enumerate(ranking.means, 1))
    title = "Runs by rank: those that share a letter cannot be told apart"
    return AuditTable("ranks", title, ("rank", "run", ranking.measure, "group"), rows)


# Runs that were cut above the cutoff of a measure: P@10 of three hits is at most .3, and R@10 is R@3.

FEWEST_ANSWERS = 10
CUT = 0.5  # share of answers that have exactly as many hits as the longest: a search that finds little ends at different lengths


@check(FindingKind(
    "short-answers", "warning", "A run that was cut above the cutoff of a measure, beside runs or a corpus that have more.",
    "What it would have found below counts as not found: a lower value says how the run was saved, and not how it searches.",
    "Save the run as deep as the largest cutoff, or use cutoffs that all runs reach.",
), theme=NUMBERS, quick=True)  # fmt: skip
def short_answers(subject: Subject) -> Iterator[Finding]:
    # Hits of every answer that has any, and documents that all cases choose from, as far as they are known.
    lengths = {name: each.matched.matches.returned[each.matched.status == OK] for name, each in subject.scores.items()}
    longest = {name: int(each.max(initial=0)) for name, each in lengths.items()}
    corpus_size = len(subject.ids) if subject.ids is not None and subject.suite.table.documents is None else 0
    for name, scores in subject.scores.items():
        most, several = longest[name], len(longest) > 1
        others = max((each for other, each in longest.items() if other != name), default=corpus_size)
        quality = (each for each in scores.measures if each.tells_quality)
        blind = [each.name for each in quality if max((part.cutoff or 0 for part in each.parts), default=0) > most]
        # Most answers end where the longest does; a depth that was asked for has another check.
        cut = len(lengths[name]) >= FEWEST_ANSWERS and float(np.mean(lengths[name] == most)) >= CUT
        if blind and 0 < most < others and cut and depth_reached(scores.matched.run) is None:
            beside = f"those of other runs up to {others}" if several else f"of {others} documents"
            at_most = f"{f'{name}: ' if several else ''}answers have at most {plain_count(most, 'hit')}"
            yield finding("short-answers", f"{at_most}, {beside}: {', '.join(blind)} see no more")


# How much the order of hits with equal scores matters: the best and the worst that it could have been.


class TieRange(NamedTuple):
    """The mean of a measure with equal scores in the worst, the actual and the best order."""

    measure: str
    worst: float
    mean: float
    best: float


@dataclass(frozen=True, eq=False)
class TiedRun:
    """What ties leave open in one run."""

    tied: int  # hits with the same score as a neighbour
    hits: int  # all hits
    ranges: tuple[TieRange, ...]  # of the measures that ties could move


def ties_of_run(scores: Scores) -> TiedRun | None:
    """The ranges of all measures that ties could move; None without ties, or where scores did not make the order."""
    groups = _tie_groups(scores)
    if groups is None:
        return None
    first, size, tied, hits = groups
    graded, ranges = scores.matched.hits, []
    place = _place_in_group(graded, first)
    worst, best = (graded.select(np.lexsort((rank, graded.case)), rank) for rank in (first + size - 1 - place, first + place))
    for measure, values in zip(scores.measures, scores.values.T, strict=True):
        fixed = (
            part.definition.ideal != "ranking" or part.options.get("credit") == "dir" or part.options.get("gains")
            for part in measure.parts
        )
        if measure.tells_quality and measure.per_case and not any(fixed):
            rows = ~np.isnan(values)
            means = (
                float(each[rows].mean()) if rows.any() else 0.0 for each in (measure.compute(worst), values, measure.compute(best))
            )
            ranges.append(TieRange(measure.name, *means))
    return TiedRun(tied, hits, tuple(each for each in ranges if each.best - each.worst > BEYOND_ROUNDING))


def _tie_groups(scores: Scores) -> tuple[Ints, Ints, int, int] | None:
    """For every matched hit the first rank and the size of its group of equal scores; how many hits are tied, and of how many."""
    matched, run = scores.matched, scores.matched.run
    answers = np.array([run.index.get(case, -1) for case in matched.suite.table.ids], np.int64)
    rows, starts = run.first_rows(np.where(matched.status == OK, answers, -1), run.longest)
    answer = np.repeat(np.arange(len(answers)), np.diff(starts))
    same = np.r_[False, (run.scores[rows[1:]] == run.scores[rows[:-1]]) & (answer[1:] == answer[:-1])]
    # Dropped duplicates shift ranks against rows. Scores that are all equal did not make the order, so there are no ties.
    if matched.matches.duplicates or not same.any() or (run.rank is None and int(same.sum()) == len(rows) - len(distinct(answer))):
        return None
    group = np.cumsum(~same) - 1
    size = np.bincount(group)
    position = starts[matched.hits.case] + matched.hits.rank - 1
    first_of_group = np.flatnonzero(~same)
    first = first_of_group[group[position]] - starts[matched.hits.case] + 1
    return first, size[group[position]], int(size[size > 1].sum()), len(rows)


def _place_in_group(hits: GradedHits, first: Ints) -> Ints:
    """0, 1, 2, ... among the judged hits of a group, the highest grade first; those not judged come after them."""
    gain = hits.grade if hits.gain is None else hits.gain
    order = np.lexsort((-gain, first, hits.case))
    key = np.stack([hits.case[order], first[order]])
    begins = np.r_[True, (key[:, 1:] != key[:, :-1]).any(axis=0)] if len(order) else np.zeros(0, bool)
    number = np.arange(len(order))
    place = np.empty(len(order), np.int64)
    place[order] = number - np.maximum.accumulate(np.where(begins, number, 0))
    return place


@once_per_subject
def _tied_runs(subject: Subject) -> dict[str, TiedRun]:
    return {name: ties for name, scores in subject.scores.items() if (ties := ties_of_run(scores)) is not None}


@check(FindingKind("ties-decide", "warning", "A run whose mean depends on how hits with equal scores are ordered.",
    "Ids or chance order them, and another tool or another run orders them differently.",
    "Take differences within the range for none; a search of your own should break ties by a second key (ours do, by id).",
    table="ties",
), theme=NUMBERS)  # fmt: skip
def about_ties(subject: Subject) -> Iterator[Finding]:
    for name, ties in _tied_runs(subject).items():
        sentences = [
            f"{each.measure} {three_digits(each.worst)} to {three_digits(each.best)} ({three_digits(each.mean)} as it is)"
            for each in ties.ranges
            if _has_weight(subject, name, each)
        ]
        if sentences:
            message = f"{name}: {ties.tied} of {ties.hits} hits have equal scores, whose order leaves open {', '.join(sentences)}"
            yield finding("ties-decide", message)


def _has_weight(subject: Subject, name: str, span: TieRange) -> bool:
    """Whether ties move a mean by more than the smallest effect that matters, or past a run that it differs from by verdict."""
    if span.best - span.worst > subject.options.min_effect:
        return True
    rivals = [other for other, each in subject.scores.items() if span.worst < each.mean(span.measure) < span.best]
    ranking = ranked_runs(subject) if rivals else None
    return ranking is not None and ranking.measure == span.measure and any(ranking.are_apart(name, other) for other in rivals)


def ties_table(subject: Subject) -> AuditTable | None:
    """What ties leave open, run by run."""
    rows = tuple((name, *each) for name, ties in _tied_runs(subject).items() for each in ties.ranges)
    columns = ("run", "measure", "worst order", "as it is", "best order")
    return AuditTable("ties", "What the order of equal scores leaves open", columns, rows) if rows else None
