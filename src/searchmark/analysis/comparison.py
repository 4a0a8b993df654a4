"""Two or more runs on one suite: paired differences with evidence, and a verdict that may be "not enough evidence".

A pair is compared on the cases where both values are defined; cases of one origin count as one observation.
IMPROVED and REGRESSED need an interval that excludes 0 and a difference of at least ``min_effect``; with several
pairs also a Holm-adjusted p below 0.05. WITHIN NOISE: the interval lies inside ±``min_effect``. INVALID: one of
the runs cannot be trusted, or they differ in more than their agents. Everything else is INCONCLUSIVE, and so is a verdict
that rests on cases that failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import fsum, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.intervals import FEWEST_CASES, cluster_sums, effective_size
from searchmark.analysis.paired_statistics import (
    cases_needed,
    detectable_difference,
    difference_intervals,
    holm,
    newcombe,
    randomisation_p,
    rank_biased_overlap,
)
from searchmark.analysis.scores import Scores, clusters_of, segment_rows, untrusted_because
from searchmark.comparability import Mismatch, check_judged, mismatches
from searchmark.errors import UsageError
from searchmark.judging.judge import target_ranks
from searchmark.judging.matching import apart, normal_path
from searchmark.judging.names import CaseKinds
from searchmark.measures.grammar import AnyMeasure
from searchmark.options.compare_options import CompareOptions
from searchmark.records import ERROR, NOT_RUN, OK, TIMEOUT, Run, Suite, display_names

Rows = NDArray[np.intp]
Verdict = Literal["IMPROVED", "REGRESSED", "WITHIN NOISE", "INCONCLUSIVE", "INVALID"]

SIGNIFICANT = 0.05
SAME = 1e-9
TELLING = 10
CHURN_DEPTH = 10


@dataclass(frozen=True)
class Difference:
    """Candidate minus baseline on one measure. None is undefined.

    ``independent`` counts the observations, cases of one origin being one; ``detectable`` is for 80 % power.
    """

    baseline: str
    candidate: str
    measure: str
    cases: int
    baseline_mean: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    independent: int
    detectable: float | None
    cases_needed: int | None
    non_inferior: bool | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class RankMove:
    """Where a relevant target stood before and after; None if it was not returned."""

    target: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class TellingCase:
    """A case that moved much."""

    case: str
    query: str | None
    before: float
    after: float
    moves: tuple[RankMove, ...]


@dataclass(frozen=True)
class Churn:
    """How much changed for users, whatever is right: no judgment is needed for this."""

    cases: int
    first_changed: int
    overlap: float
    parting_depth: float | None


@dataclass(frozen=True)
class Pair:
    """All that is known about two runs; ``mismatches`` is why differences of theirs are INVALID."""

    baseline: str
    candidate: str
    differences: tuple[Difference, ...]
    segments: Mapping[str, Mapping[str, tuple[Difference, ...]]]
    telling: tuple[TellingCase, ...]
    churn: Churn
    mismatches: tuple[Mismatch, ...] = ()


def compare(scores: Sequence[Scores], by: Sequence[str] = (), options: CompareOptions = CompareOptions()) -> list[Pair]:
    """Compare every pair of runs; the first of a pair, in the order given, is its baseline, unless one is named for all."""
    check_judged([each.judged for each in scores], [each.names for each in scores])
    names = unique_names(scores)
    pairs = _pairs_of(names, options.baseline)
    mismatched = _mismatched(scores, names, pairs)
    everything = np.arange(len(scores[0].judged.suite))
    overall = _differences(scores, names, pairs, everything, options)
    _invalidate(overall, mismatched, scores[0].measures)
    _with_holm([overall])
    segments = {name: _segment_differences(scores, names, mismatched, name, options) for name in by}
    files = _names_files(scores[0].judged.suite)
    firsts = [[_first_hits(each.judged.run, case, files) for case in each.judged.suite.table.ids] for each in scores]
    return [
        Pair(
            baseline=names[first],
            candidate=names[second],
            differences=tuple(overall[first, second]),
            segments={
                name: {value: tuple(found[first, second]) for value, found in values.items()} for name, values in segments.items()
            },
            telling=tuple(_telling_cases(scores[first], scores[second])),
            churn=_churn(firsts[first], firsts[second]),
            mismatches=mismatched[first, second],
        )
        for first, second in pairs
    ]


def unique_names(scores: Sequence[Scores]) -> list[str]:
    """A name for each run, made from its label."""
    return display_names([each.judged.run.label for each in scores])


def _pairs_of(names: list[str], baseline: str | None) -> list[tuple[int, int]]:
    """Whom to compare with whom; the baseline of a pair comes first."""
    if baseline is None:
        return list(combinations(range(len(names)), 2))
    check_baseline(baseline, names)
    first = names.index(baseline)
    return [(first, other) for other in range(len(names)) if other != first]


def check_baseline(baseline: str | None, names: Sequence[str]) -> None:
    if baseline is not None and baseline not in names:
        raise UsageError(f"the baseline {baseline!r} is not among the runs: {', '.join(names)}")


Table = dict[tuple[int, int], list[Difference]]
Mismatched = dict[tuple[int, int], tuple[Mismatch, ...]]


def _mismatched(scores: Sequence[Scores], names: list[str], pairs: list[tuple[int, int]]) -> Mismatched:
    """For every pair what spoils it for one of the measures at least."""
    runs, measures = [each.judged.run for each in scores], scores[0].measures
    found = {(one, two): mismatches(runs[one], runs[two], (names[one], names[two])) for one, two in pairs}
    return {pair: tuple(each for each in known if any(map(each.concerns, measures))) for pair, known in found.items()}


def _invalidate(table: Table, mismatched: Mismatched, measures: Sequence[AnyMeasure]) -> None:
    """What is not comparable has no verdict, and is in no family; that a run is untrusted has been said before."""
    for pair, found in table.items():
        for column, measure in enumerate(measures):
            reasons = [each.sentence for each in mismatched[pair] if each.concerns(measure)]
            if reasons and found[column].verdict != "INVALID":
                found[column] = replace(found[column], verdict="INVALID", reason="; ".join(reasons), non_inferior=None)


def _differences(
    scores: Sequence[Scores], names: list[str], pairs: list[tuple[int, int]], rows: Rows, options: CompareOptions
) -> Table:
    """Every pair on every measure over some cases; columns that are defined for the same cases share their draws."""
    table: Table = {pair: [] for pair in pairs}
    for column, measure in enumerate(scores[0].measures):
        columns = {pair: (scores[pair[0]].values[rows, column], scores[pair[1]].values[rows, column]) for pair in pairs}
        groups: dict[bytes, list[tuple[int, int]]] = {}
        for pair, (first, second) in columns.items():
            groups.setdefault((~np.isnan(first) & ~np.isnan(second)).tobytes(), []).append(pair)
        for mask, members in groups.items():
            kept = rows[np.frombuffer(mask, bool)]
            found = _group_differences(scores, members, kept, column, measure.binary)
            for pair, evidence in zip(members, found, strict=True):
                table[pair].append(_verdict(scores, names, pair, column, evidence, options))
    return table


@dataclass(frozen=True)
class _PairEvidence:
    """The numbers of one difference before they are judged."""

    rows: Rows
    values: NDArray[np.float64]
    low: float | None = None
    high: float | None = None
    p: float | None = None
    error: float | None = None
    clusters: int = 0


def _group_differences(
    scores: Sequence[Scores], pairs: list[tuple[int, int]], rows: Rows, column: int, binary: bool
) -> list[_PairEvidence]:
    values = [scores[second].values[rows, column] - scores[first].values[rows, column] for first, second in pairs]
    if not len(rows):
        return [_PairEvidence(rows, value) for value in values]
    sums, sizes = cluster_sums(np.column_stack(values), clusters_of(scores[0].judged.suite.table, rows))
    clusters = len(sizes)
    if clusters < FEWEST_CASES:
        return [_PairEvidence(rows, value, clusters=clusters) for value in values]
    low, high, error = difference_intervals(sums, sizes)
    p = randomisation_p(sums, mid=binary)
    worth = effective_size(clusters_of(scores[0].judged.suite.table, rows))
    found = []
    for place, (first, second) in enumerate(pairs):
        bounds = (float(low[place]), float(high[place]))
        if binary:
            bounds = newcombe(scores[first].values[rows, column], scores[second].values[rows, column], worth)
        found.append(_PairEvidence(rows, values[place], *bounds, float(p[place]), float(error[place]), clusters))
    return found


def _verdict(
    scores: Sequence[Scores], names: list[str], pair: tuple[int, int], column: int, evidence: _PairEvidence, options: CompareOptions
) -> Difference:
    first, second = scores[pair[0]], scores[pair[1]]
    values = evidence.values
    mean = _mean(values)
    error = evidence.error if evidence.error is not None and evidence.error > SAME else None
    untrusted = [f"{names[i]} ({'; '.join(reasons)})" for i in pair if (reasons := untrusted_because(scores[i]))]
    if untrusted:
        verdict, reason = "INVALID", f"untrusted: {' and '.join(untrusted)}"
    else:
        verdict, reason = _judged_by_interval(mean, evidence.low, evidence.high, options.min_effect)
        without = _without_failures(first, second, column, evidence, options.min_effect)
        if without is not None and without != verdict:
            verdict, reason = "INCONCLUSIVE", f"it would be {without} without the cases that failed"
    return Difference(
        baseline=names[pair[0]],
        candidate=names[pair[1]],
        measure=first.names[column],
        cases=len(values),
        baseline_mean=_mean(first.values[evidence.rows, column]),
        difference=mean,
        low=evidence.low,
        high=evidence.high,
        p=evidence.p,
        p_holm=evidence.p,
        effect_size=None if error is None or mean is None else mean / (error * sqrt(evidence.clusters)),
        wins=int((values > SAME).sum()),
        ties=int((np.abs(values) <= SAME).sum()),
        losses=int((values < -SAME).sum()),
        independent=evidence.clusters,
        detectable=None if error is None else detectable_difference(error, evidence.clusters),
        cases_needed=None if error is None else cases_needed(error, evidence.clusters, options.min_effect),
        non_inferior=None if evidence.low is None or untrusted else evidence.low > -options.margin,
        verdict=verdict,  # type: ignore[arg-type]  # one of the words above
        reason=reason,
    )


def _mean(values: NDArray[np.float64]) -> float | None:
    """The mean, summed exactly, so that the order of the cases cannot change its last digit."""
    return fsum(values.tolist()) / len(values) if len(values) else None


def _judged_by_interval(mean: float | None, low: float | None, high: float | None, min_effect: float) -> tuple[str, str]:
    if mean is None:
        return "INCONCLUSIVE", "no case has a value on both sides"
    if low is None or high is None:
        return "INCONCLUSIVE", f"fewer than {FEWEST_CASES} independent cases"
    if (low > 0 or high < 0) and abs(mean) >= min_effect:
        return ("IMPROVED", "the interval lies above 0") if low > 0 else ("REGRESSED", "the interval lies below 0")
    if -min_effect <= low and high <= min_effect:
        return "WITHIN NOISE", f"the interval lies inside ±{min_effect:g}"
    if low > 0 or high < 0:
        return "INCONCLUSIVE", f"a difference, but smaller than {min_effect:g}"
    return "INCONCLUSIVE", "the interval contains 0 and reaches beyond the smallest effect that counts"


def _without_failures(first: Scores, second: Scores, column: int, evidence: _PairEvidence, min_effect: float) -> str | None:
    """The verdict on the cases that neither side failed on; None if neither failed on any."""
    failed = np.isin(first.judged.status[evidence.rows], (ERROR, TIMEOUT)) | np.isin(
        second.judged.status[evidence.rows], (ERROR, TIMEOUT)
    )
    if not failed.any() or evidence.low is None:
        return None
    (left,) = _group_differences([first, second], [(0, 1)], evidence.rows[~failed], column, first.measures[column].binary)
    return _judged_by_interval(_mean(left.values), left.low, left.high, min_effect)[0]


def _with_holm(tables: Sequence[Table]) -> None:
    """Adjust p over the family of all comparisons, measure by measure; a run that cannot be trusted is in none."""
    columns = range(len(next(iter(tables[0].values()))) if tables and tables[0] else 0)
    for column in columns:
        family = [
            found
            for table in tables
            for found in table.values()
            if found[column].p is not None and found[column].verdict != "INVALID"
        ]
        for found, p in zip(family, holm([each[column].p or 0.0 for each in family]), strict=True):
            found[column] = _heeding_family(found[column], p, len(family))


def _heeding_family(found: Difference, p: float, family: int) -> Difference:
    found = replace(found, p_holm=p)
    if family > 1 and found.verdict in ("IMPROVED", "REGRESSED") and p >= SIGNIFICANT:
        return replace(found, verdict="INCONCLUSIVE", reason=f"not significant after Holm correction for {family} comparisons")
    return found


def _segment_differences(
    scores: Sequence[Scores], names: list[str], mismatched: Mismatched, by: str, options: CompareOptions
) -> dict[str, Table]:
    """Differences within every value of a field; p is adjusted over all values and pairs."""
    values = segment_rows(scores[0].judged.suite, by)
    tables = {value: _differences(scores, names, list(mismatched), rows, options) for value, rows in values.items()}
    for table in tables.values():
        _invalidate(table, mismatched, scores[0].measures)
    _with_holm(list(tables.values()))
    return tables


def _telling_cases(first: Scores, second: Scores) -> Iterator[TellingCase]:
    """The cases whose first measure moved most, with the moves of their relevant targets."""
    change = second.values[:, 0] - first.values[:, 0]
    moved = np.flatnonzero(np.abs(np.nan_to_num(change)) > SAME)
    order = sorted(moved.tolist(), key=lambda row: (-abs(change[row]), first.judged.suite.table.ids[row]))
    table = first.judged.suite.table
    for row in order[:TELLING]:
        before, after = target_ranks(first.judged, row), target_ranks(second.judged, row)
        moves = [RankMove(target, before[target], after[target]) for target in before if before[target] != after[target]]
        query = None if table.queries is None else table.queries[row]
        yield TellingCase(table.ids[row], query, float(first.values[row, 0]), float(second.values[row, 0]), tuple(moves))


def _churn(first: Sequence[list[str] | None], second: Sequence[list[str] | None]) -> Churn:
    """Over the cases that both runs answered: changed first hits, overlap of the first hits, where they part."""
    answered = [(one, two) for one, two in zip(first, second, strict=True) if one is not None and two is not None]
    changed = sum(one[:1] != two[:1] for one, two in answered)
    overlaps = [rank_biased_overlap(one, two, CHURN_DEPTH) if one != two else 1.0 for one, two in answered]
    depths = [_parting_depth(one, two) for one, two in answered if one != two]
    overlap = float(np.mean(overlaps)) if overlaps else 1.0
    return Churn(len(answered), changed, overlap, float(np.median(depths)) if depths else None)


def _parting_depth(first: list[str], second: list[str]) -> int:
    """The first rank at which two lists differ; behind the shorter one if that is where they begin to."""
    shorter = min(len(first), len(second))
    return next((rank for rank in range(1, shorter + 1) if first[rank - 1] != second[rank - 1]), shorter + 1)


def _names_files(suite: Suite) -> bool:
    kinds = CaseKinds.of(suite)
    return bool((kinds.paths | kinds.lines).any())


def _first_hits(run: Run, case: str, files: bool) -> list[str] | None:
    """The first distinct hits of an answer; a file has one name, however it is spelt and whichever of its lines are meant."""
    row = run.index.get(case)
    if row is not None and run.status[row] in (ERROR, TIMEOUT, NOT_RUN):
        return None
    hits = run.ids_of(row) if row is not None and run.status[row] == OK else []
    names = (normal_path(apart(hit)[0]) for hit in hits) if files else iter(hits)
    first: dict[str, None] = {}
    while len(first) < CHURN_DEPTH and (name := next(names, None)) is not None:
        first[name] = None
    return list(first)


def flipped(found: Difference) -> Difference:
    """The same difference seen from the other side."""
    opposite: dict[Verdict, Verdict] = {"IMPROVED": "REGRESSED", "REGRESSED": "IMPROVED"}
    difference = found.difference
    mean = None if found.baseline_mean is None or difference is None else found.baseline_mean + difference
    return replace(
        found,
        baseline=found.candidate,
        candidate=found.baseline,
        baseline_mean=mean,
        difference=None if difference is None else -difference,
        low=None if found.high is None else -found.high,
        high=None if found.low is None else -found.low,
        effect_size=None if found.effect_size is None else -found.effect_size,
        wins=found.losses,
        losses=found.wins,
        verdict=opposite.get(found.verdict, found.verdict),
    )
