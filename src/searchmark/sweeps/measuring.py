"""From runs to rows: every number of a sweep is decided here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from searchmark.analysis.ann import ann_of
from searchmark.analysis.comparison import compare, primary_column
from searchmark.analysis.hosts import runs_not_compared
from searchmark.analysis.latencies import latencies_of
from searchmark.analysis.non_inferiority import NonInferiority, non_inferiorities
from searchmark.analysis.scores import Scores
from searchmark.analysis.verdicts import Difference
from searchmark.corpora.corpus import Survey
from searchmark.errors import NothingEvaluated
from searchmark.experiments import score_runs
from searchmark.options.compare_options import CompareOptions
from searchmark.records import ERROR, TIMEOUT, Run, Suite
from searchmark.services.redaction import without_secrets
from searchmark.sweeps.equivalences import equivalences
from searchmark.sweeps.frontiers import beaten_by_none
from searchmark.sweeps.grid import EMBEDDER, NORMALIZE, Grid, GridSetting, varied
from searchmark.sweeps.result import AgainstBaseline, Deciding, MeanValue, Sweep, SweepRow, SweepSuite
from searchmark.sweeps.running import RowOutcome
from searchmark.sweeps.sentences import concluded
from searchmark.sweeps.sweep_config import SweepConfig

MODEL = "model"  # an embedder by the name of its model alone


@dataclass(frozen=True, eq=False)
class _Measured:
    """Scores of every setting that has some, by key, in the order of the grid."""

    scores: Mapping[str, Scores]
    column: int

    @property
    def measure(self) -> str:
        return next(iter(self.scores.values())).names[self.column]


def sweep_result(
    suite: Suite, config: SweepConfig, grid: Grid, outcomes: Sequence[RowOutcome], depth: int, survey: Survey | None = None
) -> Sweep:
    """The result of a sweep; the same runs give the same result, whenever they were made."""
    measured = _measured(suite, config, outcomes, survey)
    baseline = grid.baseline
    compared = _compared(measured, baseline, config.margin)
    groups = {each: number for number, each in enumerate(dict.fromkeys(each.vectors for each in grid.settings), 1)}
    rows = [_row(each, measured, compared.get(each.setting.key), groups[each.setting.vectors]) for each in outcomes]
    decided_by = _decided_by(grid, rows)
    refused = runs_not_compared({each.setting.name: each.run for each in outcomes if each.run is not None})
    found = Sweep(
        suite=SweepSuite(suite.name, len(suite), None if survey is None else survey.digest),
        agent=grid.agent.name,
        options=without_secrets(dict(config.options)),
        measure=measured.measure,
        margin=config.margin,
        depth=depth,
        decided_by=decided_by,
        duplicates=grid.duplicates,
        rows=(),
        cheapest=None,
        sentence="",
        notes=grid.notes,
        equivalences=tuple(equivalences([(each.setting, each.run) for each in outcomes if each.run is not None])),
        version=_version(),
        not_compared=refused,
    )
    return concluded(replace(found, rows=tuple(_with_frontiers(rows, found))))


def _version() -> str:
    from importlib.metadata import version

    return version("searchmark")


def _measured(suite: Suite, config: SweepConfig, outcomes: Sequence[RowOutcome], survey: Survey | None) -> _Measured:
    """All rows are scored together, after the checks of what may be held against what."""
    runs = {each.setting.key: each.run for each in outcomes if each.run is not None}
    if not runs:
        reasons = dict.fromkeys(each.failure or "" for each in outcomes)
        raise NothingEvaluated(f"no setting could be measured: {'; '.join(list(reasons)[:3])}")
    names = list(dict.fromkeys((config.measure, *config.measures)))
    scores = score_runs(suite, list(runs.values()), names, corpus=survey)
    return _Measured(dict(zip(runs, scores, strict=True)), primary_column(scores[0], scores[0].names[0]))


def _compared(measured: _Measured, baseline: GridSetting, margin: float) -> dict[str, AgainstBaseline]:
    """Each setting against the baseline, all of them being one family."""
    keys = list(measured.scores)
    others = [key for key in keys if key != baseline.key]
    if baseline.key not in keys or not others:
        return {}
    scores = list(measured.scores.values())
    options = CompareOptions(baseline=baseline.name, primary=measured.measure, margin=margin)
    differences = {pair.candidate: pair.main for pair in compare(scores, options=options)}
    numbers = {key: number for number, key in enumerate(keys)}
    found = {key: differences[measured.scores[key].judged.run.label.agent] for key in others}
    # One that may not be compared is not among those that are tested.
    valid = [numbers[key] for key in others if found[key].verdict != "INVALID"]
    shown = non_inferiorities(scores, numbers[baseline.key], valid, measured.column, margin)
    untested = NonInferiority(None, None, len(valid), False, None)
    return {key: _against(found[key], shown.get(numbers[key], untested)) for key in others}


def _against(found: Difference, shown: NonInferiority) -> AgainstBaseline:
    return AgainstBaseline(
        difference=found.difference,
        low=found.low,
        high=found.high,
        p_holm=found.p_holm,
        family=found.family,
        wins=found.wins,
        ties=found.ties,
        losses=found.losses,
        verdict=found.verdict,
        reason=found.reason,
        non_inferior=shown,
    )


def _row(outcome: RowOutcome, measured: _Measured, against: AgainstBaseline | None, group: int) -> SweepRow:
    setting, run = outcome.setting, outcome.run
    named = SweepRow(setting.name, _shown(setting.choices), setting.is_baseline, setting.added)
    row = replace(named, failure=outcome.failure, vectors_group=group)
    if run is None:
        return row
    times, index = latencies_of(run), run.provenance.index
    return replace(
        row,
        measures=_means(measured.scores[setting.key]),
        **_neighbours(run),
        index_ms=times.get("index_only"),
        cold_ms=times.get("cold"),
        warm_ms=times.get("warm"),
        build_seconds=None if index is None else index.seconds,
        index_bytes=None if index is None else index.bytes,
        vectors=sum(each.count for each in run.provenance.vectors) if run.provenance.vectors else None,
        cases=len(run),
        failures=sum(status in (ERROR, TIMEOUT) for status in run.status.tolist()),
        started=run.provenance.started,
        ended=run.provenance.ended,
        against_baseline=against,
        hosts=tuple(host.name for host in run.provenance.hosts),
        workers=run.provenance.workers,
    )


def _shown(choices: Mapping[str, Any]) -> dict[str, Any]:
    return dict(without_secrets(dict(choices)))


def _means(scores: Scores) -> dict[str, MeanValue]:
    return {name: MeanValue(each.mean, each.low, each.high, each.cases) for name, each in scores.summaries().items()}


def _neighbours(run: Run) -> dict[str, Any]:
    """What was found of the true neighbours, at the k that most searches were held to."""
    found = max(ann_of(run).values(), key=lambda each: (each.searches, each.k), default=None)
    return {} if found is None else {"ann_k": found.k, "ann_recall": found.recall, "ann_overlap": found.overlap}


def _decided_by(grid: Grid, rows: Sequence[SweepRow]) -> Deciding:
    """The index alone, where every row states it of the same searches and all have one model: another one takes another time."""
    models = varied([_unnormalized(each) for each in grid.settings], EMBEDDER) or varied(grid.settings, MODEL)
    kinds = {None if row.index_ms is None else row.index_ms.of for row in rows if row.failure is None}
    return "index only" if len(kinds) == 1 and None not in kinds and not models else "end to end, cold"


def _unnormalized(setting: GridSetting) -> GridSetting:
    """Normalising takes no time worth the name."""
    embedder = setting.options.get(EMBEDDER)
    if not isinstance(embedder, Mapping):
        return replace(setting, options={EMBEDDER: {"name": embedder}} if embedder else {})
    return replace(setting, options={EMBEDDER: {key: value for key, value in embedder.items() if key != NORMALIZE}})


def _with_frontiers(rows: Sequence[SweepRow], sweep: Sweep) -> list[SweepRow]:
    means = {row.name: row.measures[sweep.measure].mean for row in rows if sweep.measure in row.measures}
    by_recall: dict[str, bool] = {}
    for group in {row.vectors_group for row in rows}:  # recall of other neighbours is no more and no less
        by_recall |= beaten_by_none({row.name: (row.ann_recall, sweep.p95(row)) for row in rows if row.vectors_group == group})
    by_quality = beaten_by_none({row.name: (means.get(row.name), sweep.p95(row)) for row in rows})
    return [replace(row, on_frontier=by_recall.get(row.name), on_quality_frontier=by_quality.get(row.name)) for row in rows]
