"""What the measures of a suite can be: the attainable, a random order, and where the runs lie between them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.analysis.chance import simulated
from searchmark.analysis.intervals import FEWEST_CASES
from searchmark.analysis.measure_limits import MeasureLimits, mean_of
from searchmark.analysis.scores import Scores
from searchmark.audit.result import AuditCell, AuditTable
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import three_digits
from searchmark.gates.bounds import NumberRule
from searchmark.gates.relative import RelativeRule
from searchmark.gates.segments import EVERYTHING, CaseSegment, rows_of
from searchmark.measures.formulas import Floats
from searchmark.records.shown import listed, quoted

# A perfect search that gets less looks like one that misses a fifth of what there is.
LOW_ATTAINABLE = 0.8
# Chance alone is then worth as much as all that a search can add.
HIGH_CHANCE = 0.5
BEYOND_ROUNDING = 1e-9
EXAMPLES = 3  # categories that are named


def about_limits(subject: Subject) -> Iterator[Finding]:
    """What the suite alone makes of its measures."""
    limits = [each for each in subject.limits if each.tells_of_rankings and each.measure.high == 1]
    low: dict[str, Floats] = {}
    for each in filter(lambda one: subject.is_in_question(one.measure), limits):
        mean = mean_of(each.attainable)
        if each.attainable is not None and mean is not None and 0 < mean < LOW_ATTAINABLE:
            low[f"{each.measure.name} {three_digits(mean)}"] = each.attainable
    if low:
        cases = np.any([values < 1 - BEYOND_ROUNDING for values in low.values()], axis=0)
        yield finding("low-attainable", f"the highest possible means: {', '.join(low)}{_why_low(subject)}", _ids(subject, cases))
    yield from _about_chance(limits)


def _why_low(subject: Subject) -> str:
    """What keeps a perfect search from 1."""
    pool = subject.pool
    relevant = pool.suite.judgments.grades >= pool.suite.defaults.rel
    asked = pool.traits[1] & pool.traits[3]
    counts, missing = pool.count(relevant)[asked], int((relevant & ~pool.findable).sum())
    told = f"median of relevant targets per case: {three_digits(float(np.median(counts)))}" if len(counts) else ""
    reasons = list(filter(None, (told, f"targets that the corpus lacks: {missing}" if missing else "")))
    return f" ({', '.join(reasons)})" if reasons else ""


def _about_chance(limits: list[MeasureLimits]) -> Iterator[Finding]:
    high = []
    for each in limits:
        random, best = mean_of(each.random), mean_of(each.attainable)
        if random is not None and best is not None and best - random > BEYOND_ROUNDING and random >= HIGH_CHANCE * best:
            high.append(f"{each.measure.name} {three_digits(random)} of {three_digits(best)}")
    if high:
        yield finding("random-is-high", f"what a random order of the documents gets, of the attainable: {', '.join(high)}")


def about_runs_in_limits(subject: Subject) -> Iterator[Finding]:
    """Runs that lie outside of what can be, and those that are not above a random order."""
    for name, scores in subject.scores.items():
        yield from _above_attainable(subject, name, scores)
        if not _is_random(scores):
            yield from _no_better(subject, name, scores)


def _is_random(scores: Scores) -> bool:
    """Whether the run is the control that orders at random, of which nothing else is expected."""
    agent = scores.judged.run.provenance.agent
    return (scores.judged.run.agent if agent is None else agent.source) == "random"


def _above_attainable(subject: Subject, name: str, scores: Scores) -> Iterator[Finding]:
    above = {
        each.measure.name: values > each.attainable + BEYOND_ROUNDING
        for each, values in zip(subject.limits, scores.values.T, strict=True)
        if each.attainable is not None
    }
    wrong = [measure for measure, cases in above.items() if cases.any()]
    if wrong:
        cases = np.any([above[measure] for measure in wrong], axis=0)
        told = f"{name}: above the highest possible value in {int(cases.sum())} of {len(cases)} cases, by {', '.join(wrong)}"
        yield finding("above-attainable", told, _ids(subject, cases))


def _no_better(subject: Subject, name: str, scores: Scores) -> Iterator[Finding]:
    """With an interval: it does not exclude a random order. Of fewer cases only what they are: on average not above it."""
    candidates = [each for each in subject.limits if each.tells_of_rankings and each.random is not None and _can_vary(each)]
    summaries = scores.summaries() if candidates else {}
    unproven, not_above, proven = list[str](), list[str](), list[MeasureLimits]()
    for each in candidates:
        found, random = summaries[each.measure.name], mean_of(each.random)
        if random is None or found.mean is None:
            continue
        told = f"{each.measure.name} {three_digits(found.mean)} (random {three_digits(random)})"
        if found.low is None:
            not_above += [told] if found.mean <= random else []
        elif found.low <= random:
            unproven.append(told)
        else:
            proven.append(each)
    few = max((summaries[each.measure.name].cases for each in candidates), default=0)
    parts = (
        f"not shown to be better than a random order of the documents by {', '.join(unproven)}" if unproven else "",
        f"in these {few} cases not above a random order of the documents by {', '.join(not_above)}" if not_above else "",
        *(_weak_categories(subject, each, scores) for each in proven if each.measure == subject.primary),
    )
    if any(parts):
        yield finding("no-better-than-random", f"{name}: {'; '.join(filter(None, parts))}")


def _weak_categories(subject: Subject, limits: MeasureLimits, scores: Scores) -> str:
    """The categories in which a run that is better than a random order is not above it, if they have an interval.

    By the primary measure alone, and by the mean instead of the interval: otherwise small categories of sound runs are told.
    """
    categories, random = subject.pool.suite.table.categories, limits.random
    if categories is None or random is None:
        return ""
    values = scores.values[:, scores.names.index(limits.measure.name)]
    more, names = values - random, np.array([each or "" for each in categories])
    kept = np.flatnonzero(~np.isnan(more) & (names != ""))
    distinct, number = np.unique(names[kept], return_inverse=True)
    below = np.flatnonzero(np.bincount(number, more[kept], minlength=len(distinct)) <= 0)
    told = []
    for rows, category in ((kept[number == each], str(distinct[each])) for each in below.tolist()):
        found = scores.summaries(rows)[limits.measure.name] if len(rows) >= FEWEST_CASES else None
        if found is not None and found.low is not None and found.mean is not None:
            expected = three_digits(float(random[rows].mean()))
            told.append(f"{quoted(category)} {three_digits(found.mean)} (random {expected}, {found.cases} cases)")
    return f"by {limits.measure.name} not above a random order in {listed(told, EXAMPLES)}" if told else ""


def _can_vary(each: MeasureLimits) -> bool:
    best, random = mean_of(each.attainable), mean_of(each.random)
    return best is not None and random is not None and best - random > BEYOND_ROUNDING


def _ids(subject: Subject, cases: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Iterator[str]:
    ids = subject.pool.suite.table.ids
    return (ids[row] for row in np.flatnonzero(cases).tolist())


def measures_table(subject: Subject) -> AuditTable | None:
    """Every measure over all cases and over the segments that rules are about: what it can be, and what the runs get."""
    known = ("measure", "cases", "attainable", "random", "standard error of random")
    columns = (*known, *(f"run {name}" if name in known else name for name in subject.scores))
    rows = [row for segment in _segments(subject) for row in _rows(subject, segment)]
    return AuditTable("measures", "What the measures can be on this suite", columns, tuple(rows)).without_empty() if rows else None


def _segments(subject: Subject) -> list[CaseSegment]:
    asked = [rule.segment for rule in subject.rules if isinstance(rule, NumberRule | RelativeRule)]
    return list(dict.fromkeys([EVERYTHING, *asked]))


def _rows(subject: Subject, segment: CaseSegment) -> Iterator[tuple[AuditCell, ...]]:
    rows = rows_of(subject.pool.suite, segment)
    for column, each in enumerate(subject.limits if rows is not None else ()):
        drawn = simulated(each.measure, subject.pool) if each.random is None else None
        random = each.random if drawn is None else drawn.values
        means = [mean_of(scores.values[:, column], rows) for scores in subject.scores.values()]
        error = None if drawn is None or segment != EVERYTHING else drawn.error
        where = "all" if segment == EVERYTHING else segment.words.removeprefix(" in ")
        yield each.measure.name, where, mean_of(each.attainable, rows), mean_of(random, rows), error, *means
