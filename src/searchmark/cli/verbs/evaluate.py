"""``searchmark evaluate``."""

from __future__ import annotations

from pathlib import Path

import click

from searchmark.analysis.gate import check_gate, parse_threshold
from searchmark.analysis.scores import default_measures, score, segment_names
from searchmark.cli._corpus import survey_of
from searchmark.cli._groups import ReportChoice, SavedRuns, SuiteFile, config_option
from searchmark.cli._live import LiveOptions, agent_specs, live_options, refuse_live_options, run_live
from searchmark.cli._options import OUTPUT, WHAT_TO_RUN, SectionedCommand, option, option_group, precedence
from searchmark.cli._output import STDOUT, deliver, output_files
from searchmark.config import load_config
from searchmark.errors import Incomparable, UsageError
from searchmark.judging.judge import judge
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.records import Run, Suite
from searchmark.reports import build_report
from searchmark.runs import load_run
from searchmark.runs.join import completed, joined
from searchmark.suites import load_suite

_SPLIT_BY_DEFAULT = ("category", "tag")


@click.command(
    "evaluate",
    cls=SectionedCommand,
    short_help="Run an agent on a suite, or score a saved run.",
    epilog=precedence("evaluation", "num_runs"),
)
@option_group(SuiteFile, "source", WHAT_TO_RUN)
@option(
    WHAT_TO_RUN,
    "--agent",
    "--mode",
    "agent",
    metavar="NAME",
    help="Agent to run: a name that 'searchmark agents' lists, or module:Class.",
)
@option_group(SavedRuns, "saved", WHAT_TO_RUN)
@config_option
@live_options
@option_group(ReportChoice, "wanted", OUTPUT)
@option(
    OUTPUT,
    "--fail-under",
    "thresholds",
    multiple=True,
    metavar="MEASURE=VALUE",
    help="Exit with 1 if the mean is lower; repeatable.",
)
def command(
    source: SuiteFile,
    agent: str | None,
    saved: SavedRuns,
    config_path: str | None,
    live: LiveOptions,
    wanted: ReportChoice,
    thresholds: tuple[str, ...],
) -> int:
    """Run an agent on a suite, or score a saved run.

    Several saved runs are taken as the shards of one.

    \b
    searchmark evaluate --gold-set suite.yaml --agent bm25 --corpus docs/ -o out.json
    searchmark evaluate --gold-set gold_set.json --agent my.module:Agent --repo . --timeout 5
    searchmark evaluate --gold-set qrels.txt --run bm25.run -m nDCG@10 -m MRR -o out.json
    """
    config = load_config(config_path)
    files = output_files(wanted.outputs, config.output)
    asked = [parse_measure(text) for text in wanted.measures]
    gates = [parse_threshold(text, {measure.name: measure for measure in asked}) for text in thresholds]
    suite = load_suite(source.path, format=source.format, topics=source.topics)
    if bool(agent) == bool(saved.run_paths):
        raise UsageError("say either which agent to run (--agent) or which saved run to score (--run)")
    if len(live.where.snapshots) > 1:
        raise UsageError("evaluate takes one snapshot; compare takes several: --snapshot parent --snapshot head")
    if agent:
        suite, ran = run_live(suite, agent_specs([agent], config, live), config, live, Path(source.path).parent)
        run, survey = ran.runs[0], ran.survey
    else:
        refuse_live_options()
        run = _saved_run(suite, saved)
        survey = survey_of(suite, live.where.corpus, live.where.mapping)
    measures: list[str | AnyMeasure] = [*(asked or default_measures(suite)), *(gate.measure for gate in gates)]
    scores = score(judge(suite, run, None if survey is None else survey.ids), measures)
    gate = check_gate(scores, gates) if gates else None
    report = build_report(scores, split_by(suite, wanted.splits), gate, survey)
    return deliver(report, files, json_on_stdout=STDOUT in wanted.outputs)


def _saved_run(suite: Suite, saved: SavedRuns) -> Run:
    """The run that was saved, in one part or in shards."""
    parts = [load_run(path, format=saved.run_format) for path in saved.run_paths]
    for part in parts:
        refuse_other_queries(suite, part)
    return completed(joined(parts), suite.table.ids)


def refuse_other_queries(suite: Suite, run: Run) -> None:
    """A run that knows what it was asked must have been asked this."""
    asked = None if run.provenance.suite is None else run.provenance.suite.queries
    if asked is not None and set(run.case_ids) <= suite.table.index.keys() and suite.only(run.index).hashes["queries"] != asked:
        raise Incomparable(f"the run {run.agent!r} was asked other queries than those of the suite {suite.name!r}")


def split_by(suite: Suite, asked: tuple[str, ...]) -> list[str]:
    """What to split the cases by: what was asked for, or else what most suites have."""
    return list(asked) or [name for name in segment_names(suite) if name in _SPLIT_BY_DEFAULT]
