"""The numbers of a sweep and the sentences that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from itertools import combinations
from math import inf
from typing import Any

from searchmark.config.gates import CompareSettings
from searchmark.errors import NothingEvaluated
from searchmark.experiments.evaluation import score_runs
from searchmark.experiments.sweep import RowOutcome
from searchmark.experiments.sweep_grid import EMBEDDER, NORMALIZE, Grid, GridSetting, SweepSettings, same_text
from searchmark.formats.corpora.corpus import Survey
from searchmark.io.secrets import without_secrets
from searchmark.records.answers import ERROR, TIMEOUT
from searchmark.records.run import Run
from searchmark.records.sentences import count_of, list_first, three_digits
from searchmark.records.suite import Suite
from searchmark.reports import cells
from searchmark.reports.build import build_comparison
from searchmark.reports.chart_data import beaten_by_none
from searchmark.reports.report import Report
from searchmark.reports.sweep import BaselineDifference, Deciding, Equivalence, MeanValue, Sweep, SweepRow, SweepSuite
from searchmark.scoring.comparison import Comparison, Pair, compare, primary_column
from searchmark.scoring.costs import ann_recall_of, latencies_of, why_runs_not_compared
from searchmark.scoring.planned_tests import NonInferiority, non_inferiorities
from searchmark.scoring.scores import Scores, default_splits
from searchmark.scoring.statistics import EQUAL_WITHIN

# Rankings that should be the same, compared: cosine, inner product and Euclidean distance order vectors of length one alike.

DISTANCE = "distance"

MOST_NAMED = 20

TOLERANCE = 1e-3


def equivalences(runs: Sequence[tuple[GridSetting, Run]]) -> Iterator[Equivalence]:
    """Every pair of settings that differ in the distance alone, and whose vectors were measured to have length one."""
    groups: dict[str, list[tuple[str, Run]]] = {}
    for setting, run in runs:
        if DISTANCE in setting.choices and _of_length_one(run):
            others = same_text({key: value for key, value in setting.options.items() if key != DISTANCE})
            groups.setdefault(others, []).append((setting.name, run))
    for members in groups.values():
        for (first, one), (second, other) in combinations(members, 2):
            yield _compare_rankings(first, second, one, other)


def _of_length_one(run: Run) -> bool:
    """Whether all vectors were measured to have length one; those of zeros are near to nothing by one distance alone."""
    odd = any(each.zero or each.not_finite or each.wrong_dimension for each in run.provenance.vectors)
    lengths = [length for each in run.provenance.vectors for length in (each.norm_min, each.norm_max)]
    return bool(lengths) and not odd and all(each is not None and abs(each - 1) <= TOLERANCE for each in lengths)


def _compare_rankings(first: str, second: str, one: Run, other: Run) -> Equivalence:
    cases = [case for case in one.case_ids if case in other.index]
    differing = [case for case in cases if one.ids_of(one.index[case]) != other.ids_of(other.index[case])]
    return Equivalence(first, second, len(cases), len(cases) - len(differing), tuple(differing[:MOST_NAMED]))


# What must be known about rows before their numbers are compared.

APART_SECONDS = timedelta(minutes=1)  # between the end of a row and the start of the next

UNSTEADY_RATIO = 10  # p95 over p50 of the time in the index alone


def row_notes(sweep: Sweep) -> Iterator[str]:
    """Rows without numbers, one note for each reason; rows of another time or under another load; and those whose times vary."""
    yield from _failures(sweep.rows)
    yield from _separate_sessions(sweep.rows)
    yield from _other_loads(sweep.rows)
    yield from _unsteady_times(sweep.rows)


def _failures(rows: Iterable[SweepRow]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row.failure is not None:
            by_reason.setdefault(row.failure, []).append(row.name)
    for reason, names in by_reason.items():
        yield f"{names[0]} has no numbers: {reason}" if len(names) == 1 else f"{len(names)} settings have no numbers: {reason}"


def _separate_sessions(rows: Sequence[SweepRow]) -> Iterator[str]:
    """Rows that were measured in an earlier session: more than a minute lies between one of them and the next."""
    sessions = _sessions(rows)
    for earlier in sessions[:-1]:
        numbers = sorted(each.number for each in earlier)
        which = f"row {numbers[0]} was" if len(numbers) == 1 else f"rows {', '.join(map(str, numbers))} were"
        yield (
            f"{which} measured on {_when(earlier)}, the last ones on {_when(sessions[-1])}: "
            "times may not be comparable; --fresh measures all again"
        )


def _other_loads(rows: Sequence[SweepRow]) -> Iterator[str]:
    """Rows that were not all measured by as many workers, as on a cluster that has grown meanwhile."""
    counts = sorted({row.workers for row in rows if row.workers is not None})
    if len(counts) > 1:
        yield (
            f"rows were measured by {counts[0]} to {counts[-1]} workers at a time: times may not be comparable; "
            "--fresh measures all again"
        )


@dataclass(frozen=True, order=True)
class _RowTime:
    """When a row was measured."""

    started: datetime
    ended: datetime
    number: int


def _sessions(rows: Sequence[SweepRow]) -> list[list[_RowTime]]:
    sessions: list[list[_RowTime]] = []
    for span in sorted(_RowTime(row.started, row.ended, at) for at, row in enumerate(rows, 1) if row.started and row.ended):
        if not sessions or span.started - max(each.ended for each in sessions[-1]) > APART_SECONDS:
            sessions.append([])
        sessions[-1].append(span)
    return sessions


def _when(session: Sequence[_RowTime]) -> str:
    return f"{session[0].started.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _unsteady_times(rows: Iterable[SweepRow]) -> Iterator[str]:
    ratios = {
        number: row.index_ms.p95 / row.index_ms.p50
        for number, row in enumerate(rows, 1)
        if row.index_ms is not None and row.index_ms.p50 > 0 and row.index_ms.p95 > UNSTEADY_RATIO * row.index_ms.p50
    }
    if ratios:
        which = ", ".join(f"{number} ({ratio:.0f}-fold)" for number, ratio in ratios.items())
        what = "row" if len(ratios) == 1 else "rows"
        yield f"in the index, p95 is far above p50 in {what} {which}: was the machine busy? --fresh measures all again"


# What a sweep means, in words: the cheapest setting that was shown to lose less than the margin, and what the best one gains.
#
# Only the quality is a claim, corrected for the whole grid. Which setting is cheapest is read off the times of this sweep.

SETTINGS_NAMED = 10

_CLAIM = "only the quality is a claim; which one is cheapest is what this sweep measured"


def with_conclusion(sweep: Sweep) -> Sweep:
    """The sweep with its sentence and notes."""
    non_inferior_rows = [row for row in sweep.rows if _is_shown(row)]
    cheapest = min([*non_inferior_rows, sweep.baseline], key=lambda row: _price(sweep, row), default=None)
    if sweep.baseline.failure is not None or sweep.not_compared or (not non_inferior_rows and cheapest is sweep.baseline):
        cheapest = None
    sentence = _no_baseline(sweep) if sweep.baseline.failure is not None else _sentence(sweep, non_inferior_rows, cheapest)
    best = _best(sweep)
    return replace(
        sweep,
        cheapest=None if cheapest is None else cheapest.name,
        best=None if best is None else best.name,
        sentence=sentence if best is None else f"{sentence} {_gain(sweep, best)}",
        notes=tuple(_notes(sweep)),
    )


def _is_shown(row: SweepRow) -> bool:
    return row.against_baseline is not None and row.against_baseline.non_inferior.shown


def _price(sweep: Sweep, row: SweepRow) -> tuple[float, float]:
    """What is not known is dear."""
    p95 = sweep.p95(row)
    return inf if p95 is None else p95, inf if row.index_bytes is None else row.index_bytes


def _best(sweep: Sweep) -> SweepRow | None:
    """The setting with the highest mean; None if that is the baseline, or none was compared with it."""
    pairs = [(against, row) for row in sweep.rows if (against := row.against_baseline) is not None and against.low is not None]
    gains = [(against.difference or 0.0, row) for against, row in pairs]
    gain, row = max(gains, key=lambda each: each[0], default=(0.0, None))
    return row if gain > EQUAL_WITHIN else None


def _gain(sweep: Sweep, best: SweepRow) -> str:
    """What the best setting is worth, by the verdict of the comparison, and what it costs."""
    against = best.against_baseline
    if against is None:
        return ""
    p = f"p {cells.p_value(against.p_holm).text} after Holm's correction for {count_of(against.family, 'comparison')}"
    why = "" if against.verdict == "IMPROVED" else f" ({against.reason})"
    dearer = _factors(sweep, best)
    price = f", at {dearer}" if dearer else ""
    return f"Best {sweep.measure}: {best.name}, {_interval(sweep, against)}, {p}: {against.verdict}{why}{price}."


def _factors(sweep: Sweep, row: SweepRow) -> str:
    """What a setting costs, as multiples of the baseline; what is not known of either is left out."""
    costs = {"p95": (sweep.p95(row), sweep.p95(sweep.baseline)), "bytes": (row.index_bytes, sweep.baseline.index_bytes)}
    factors = [f"{three_digits(one / other)} times the {name}" for name, (one, other) in costs.items() if one is not None and other]
    return f"{' and '.join(factors)} of the baseline" if factors else ""


def _no_baseline(sweep: Sweep) -> str:
    return f"Nothing can be said about the cost in relevance: the baseline ({sweep.baseline.name}) failed: {sweep.baseline.failure}"


def _sentence(sweep: Sweep, non_inferior_rows: list[SweepRow], cheapest: SweepRow | None) -> str:
    base = sweep.baseline
    loss = f"less than {sweep.margin:g} {sweep.measure}"
    compared_rows = [row for row in sweep.rows if row.against_baseline is not None]
    if not compared_rows:
        return f"There is no other setting to hold against the baseline ({base.name})."
    if non_inferior_rows and sweep.not_compared is not None:
        names = list_first([row.name for row in non_inferior_rows], SETTINGS_NAMED)
        return f"Which setting is cheapest is not decided: {sweep.not_compared}. Shown to lose {loss} against {base.name}: {names}."
    if cheapest is None:
        return f"No setting was shown to lose {loss} against {base.name}: {_what_is_missing(sweep, compared_rows)}"
    if cheapest is base:
        reason = f"of {count_of(len(non_inferior_rows), 'setting')} shown to lose {loss} against it, none is cheaper"
        return f"Keep {base.name} ({_cost(sweep, base)}): {reason} ({_CLAIM})."
    against = cheapest.against_baseline
    return (
        f"Cheapest setting shown to lose {loss} against {base.name}: {cheapest.name}, {_cost(sweep, cheapest)} "
        f"instead of {_cost(sweep, base)}; {_evidence(sweep, against)} ({_CLAIM})."
    )


def _cost(sweep: Sweep, row: SweepRow) -> str:
    time = f"p95 {cells.milliseconds(sweep.p95(row)).text} {sweep.decided_by}"
    return time if row.index_bytes is None else f"{time}, {cells.size(row.index_bytes).text}"


def _evidence(sweep: Sweep, against: BaselineDifference | None) -> str:
    if against is None or against.difference is None or against.low is None or against.high is None:
        return ""
    family = count_of(against.non_inferior.family, "setting")
    return f"{_interval(sweep, against)}, p {cells.p_value(against.non_inferior.p_holm).text} after Holm's correction for {family}"


def _what_is_missing(sweep: Sweep, compared_rows: list[SweepRow]) -> str:
    """How many cases would show it of the setting that needs the fewest, or that no number would."""
    pairs = [(against, row) for row in compared_rows if (against := row.against_baseline) is not None and against.low is not None]
    if not pairs:
        return f"{count_of(sweep.suite.cases, 'case')} are too few to say anything."
    against, nearest = min(pairs, key=lambda each: (each[0].non_inferior.cases_needed or inf, -(each[0].low or 0.0)))
    so_far = f"Nearest so far: {nearest.name}, {_interval(sweep, against)}."
    if against.non_inferior.cases_needed is None:
        return f"more cases like these would not show it either. {so_far}"
    case_count = _round_up(against.non_inferior.cases_needed)
    return f"{count_of(sweep.suite.cases, 'case')} are too few, about {case_count} are needed. {so_far}"


def _interval(sweep: Sweep, against: BaselineDifference) -> str:
    return f"{sweep.measure} {against.difference:+.4f}, interval {against.low:+.4f} to {against.high:+.4f}"


def _round_up(cases: int) -> int:
    """Two digits of it, not less."""
    unit = int(10 ** max(0, len(str(cases)) - 2))
    return -(-cases // unit) * unit


def _notes(sweep: Sweep) -> Iterator[str]:
    yield from sweep.notes
    if sweep.duplicates:
        yield f"{count_of(sweep.duplicates, 'duplicate combination')} dropped"
    if sweep.baseline.added:
        yield f"the baseline ({sweep.baseline.name}) is not in the grid and was added"
    if sweep.not_compared is not None:
        yield f"{sweep.not_compared}; --fresh measures all again, on one host"
    elif sweep.decided_by != "index only":
        yield "the end-to-end cold p95 decides: settings differ in their embedder, or not all of them time their index alone"
    yield from row_notes(sweep)
    yield from (each.sentence for each in sweep.equivalences)


# From runs to rows: every number of a sweep is decided here.

MOST_COMPARED = 12  # settings whose cases are all on the page

MODEL = "model"  # an embedder by the name of its model alone


def sweep_result(
    suite: Suite, config: SweepSettings, grid: Grid, outcomes: Sequence[RowOutcome], depth: int, survey: Survey | None = None
) -> Sweep:
    """The result of a sweep; the same runs give the same result, whenever they were made."""
    runs = {each.setting.key: each.run for each in outcomes if each.run is not None}
    if not runs:
        reasons = dict.fromkeys(each.failure or "" for each in outcomes)
        raise NothingEvaluated(f"no setting could be measured: {'; '.join(list(reasons)[:3])}")
    names = list(dict.fromkeys((config.measure, *config.measures)))
    # All rows are scored together, after the checks of what may be held against what.
    scores = dict(zip(runs, score_runs(suite, list(runs.values()), names, corpus=survey), strict=True))
    pairs = _pairs_with_baseline(scores, grid.baseline, config.margin)
    differences = _differences(scores, grid.baseline, pairs, config.margin)
    groups = {each: number for number, each in enumerate(dict.fromkeys(each.vectors for each in grid.settings), 1)}
    rows = [
        _row(each, scores.get(each.setting.key), differences.get(each.setting.key), groups[each.setting.vectors])
        for each in outcomes
    ]
    named_runs = [(each.setting, each.run) for each in outcomes if each.run is not None]
    sweep = Sweep(
        suite=SweepSuite(suite.name, len(suite), None if survey is None else survey.digest),
        agent=grid.agent.name,
        options=without_secrets(dict(config.options)),
        measure=_deciding(next(iter(scores.values()))),
        margin=config.margin,
        depth=depth,
        decided_by=_decided_by(grid, rows),
        duplicates=grid.duplicates,
        rows=(),
        cheapest=None,
        sentence="",
        notes=grid.notes,
        equivalences=tuple(equivalences(named_runs)),
        version=version("searchmark"),
        not_compared=why_runs_not_compared({setting.name: run for setting, run in named_runs}),
    )
    sweep = with_conclusion(replace(sweep, rows=tuple(_with_frontiers(rows, sweep))))
    return replace(sweep, report=_report(sweep, suite, scores, pairs, survey))


def _deciding(scores: Scores) -> str:
    """The measure that decides, which is the first one, under the name that it has where answers are cut."""
    return scores.names[primary_column(scores, scores.names[0])]


def _pairs_with_baseline(scores: Mapping[str, Scores], baseline: GridSetting, margin: float) -> Comparison | tuple[Pair, ...]:
    """Each setting against the baseline, all of them being one family; none without it."""
    if baseline.key not in scores or len(scores) == 1:
        return ()
    every = list(scores.values())
    return compare(every, options=CompareSettings(baseline=baseline.name, primary=_deciding(every[0]), margin=margin))


def _differences(
    scores: Mapping[str, Scores], baseline: GridSetting, pairs: Sequence[Pair], margin: float
) -> dict[str, BaselineDifference]:
    """What the pairs say on the deciding measure, and whether less than the margin is lost; by the keys of settings."""
    if not pairs:
        return {}
    keys, compared_scores = list(scores), list(scores.values())
    measure = _deciding(compared_scores[0])
    by_name = {pair.candidate: pair.main for pair in pairs}
    differences = {key: by_name[each.matched.run.label.agent] for key, each in scores.items() if key != baseline.key}
    # One that may not be compared is not among those that are tested.
    valid = [keys.index(key) for key, each in differences.items() if each.verdict != "INVALID"]
    column = compared_scores[0].names.index(measure)
    tests = non_inferiorities(compared_scores, keys.index(baseline.key), valid, column, margin)
    no_test = NonInferiority(None, None, len(valid), False, None)
    names = [each.name for each in fields(BaselineDifference) if each.name != "non_inferior"]
    return {
        key: BaselineDifference(**{name: getattr(each, name) for name in names}, non_inferior=tests.get(keys.index(key), no_test))
        for key, each in differences.items()
    }


def _report(sweep: Sweep, suite: Suite, scores: Mapping[str, Scores], pairs: Sequence[Pair], survey: Survey | None) -> Report:
    """What `compare` says of the settings; of many those that the sentence names and those that none beats."""
    named = {sweep.baseline.name, sweep.cheapest, sweep.best}
    named |= {row.name for row in sweep.rows if row.on_frontier or row.on_quality_frontier or len(sweep.rows) <= MOST_COMPARED}
    chosen = [each for each in scores.values() if each.matched.run.label.agent in named] or list(scores.values())[:MOST_COMPARED]
    return build_comparison(chosen, [pair for pair in pairs if pair.candidate in named], default_splits(suite), corpus=survey)


def _row(outcome: RowOutcome, scores: Scores | None, against: BaselineDifference | None, group: int) -> SweepRow:
    setting, run = outcome.setting, outcome.run
    choices = dict(without_secrets(dict(setting.choices)))
    row = SweepRow(setting.name, choices, setting.is_baseline, setting.added, outcome.failure, vectors_group=group)
    if run is None or scores is None:
        return row
    times, index, provenance = latencies_of(run), run.provenance.index, run.provenance
    # What was found of the true neighbours, at the k that most searches were held to.
    ann = max(ann_recall_of(run).values(), key=lambda each: (each.searches, each.k), default=None)
    return replace(
        row,
        measures={name: MeanValue(each.mean, each.low, each.high, each.cases) for name, each in scores.summaries().items()},
        ann_k=None if ann is None else ann.k,
        ann_recall=None if ann is None else ann.recall,
        ann_overlap=None if ann is None else ann.overlap,
        index_ms=times.get("index_only"),
        cold_ms=times.get("cold"),
        warm_ms=times.get("warm"),
        build_seconds=None if index is None else index.seconds,
        index_bytes=None if index is None else index.bytes,
        vectors=sum(each.count for each in provenance.vectors) if provenance.vectors else None,
        cases=len(run),
        failures=sum(status in (ERROR, TIMEOUT) for status in run.status.tolist()),
        started=provenance.started,
        ended=provenance.ended,
        against_baseline=against,
        hosts=tuple(host.name for host in provenance.hosts),
        workers=provenance.workers,
    )


def _decided_by(grid: Grid, rows: Sequence[SweepRow]) -> Deciding:
    """The index alone, where every row states it of the same searches and all have one model: another one takes another time."""
    models = {same_text([_unnormalized(each.options.get(EMBEDDER)), each.options.get(MODEL)]) for each in grid.settings}
    kinds = {None if row.index_ms is None else row.index_ms.of for row in rows if row.failure is None}
    return "index only" if len(kinds) == 1 and None not in kinds and len(models) == 1 else "end to end, cold"


def _unnormalized(embedder: Any) -> Any:
    """Normalising takes no time worth the name."""
    description = embedder if isinstance(embedder, Mapping) else {"name": embedder}
    return {key: value for key, value in description.items() if key != NORMALIZE}


def _with_frontiers(rows: Sequence[SweepRow], sweep: Sweep) -> list[SweepRow]:
    means = {row.name: row.measures[sweep.measure].mean for row in rows if sweep.measure in row.measures}
    by_recall: dict[str, bool] = {}
    for group in {row.vectors_group for row in rows}:  # recall of other neighbours is no more and no less
        by_recall |= beaten_by_none({row.name: (row.ann_recall, sweep.p95(row)) for row in rows if row.vectors_group == group})
    by_quality = beaten_by_none({row.name: (means.get(row.name), sweep.p95(row)) for row in rows})
    return [replace(row, on_frontier=by_recall.get(row.name), on_quality_frontier=by_quality.get(row.name)) for row in rows]
