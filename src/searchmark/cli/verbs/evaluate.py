"""``searchmark evaluate``."""

from __future__ import annotations

from pathlib import Path

import click

from searchmark.analysis.gate import Evidence, check_gate, parse_threshold
from searchmark.analysis.scores import default_measures, score, segment_names
from searchmark.cli._corpus import survey_of
from searchmark.cli._live import LiveOptions, agent_specs, live_options, refuse_live_options, run_live
from searchmark.cli._output import STDOUT, deliver, output_files, output_help
from searchmark.config import load_config
from searchmark.errors import Incomparable, UsageError
from searchmark.judging.judge import judge
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.records import Run, Suite
from searchmark.reports import build_report
from searchmark.runs import FORMATS as RUN_FORMATS
from searchmark.runs import load_run
from searchmark.runs.join import completed, joined
from searchmark.suites import load_suite
from searchmark.suites.detect import FORMATS as SUITE_FORMATS

_SPLIT_BY_DEFAULT = ("category", "tag")


@click.command("evaluate", short_help="Run an agent on a suite, or score a saved run.")
@click.option(
    "--gold-set", "--suite", "suite_path", required=True, metavar="SUITE", help="Suite, in any format that docs/formats.md shows."
)
@click.option(
    "--agent", "--mode", "agent", metavar="NAME", help="Agent to run: a name that 'searchmark agents' lists, or module:Class."
)
@click.option(
    "--run",
    "run_paths",
    multiple=True,
    metavar="RUN",
    help="Saved run instead: TREC, plain JSON, our own; several shards of one run.",
)
@click.option("-m", "--measure", "measures", multiple=True, help="Measure or formula, repeatable: -m nDCG@10 -m 'P(rel=2)@5'.")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="PATH",
    help=output_help(comparison=False),
)
@click.option("--topics", metavar="FILE", help="Query texts for TREC qrels or labels.")
@click.option("--corpus", "corpus_path", metavar="PATH", help="What was searched: .json, .jsonl, .csv or a directory.")
@click.option("--map", "mapping", multiple=True, metavar="FIELD=NAME", help="Fields of the corpus: id=asin, title=name, text=a,b.")
@click.option("--by", "splits", multiple=True, metavar="FIELD", help="Split by category, tag or a field of the cases; repeatable.")
@click.option(
    "--fail-under", "thresholds", multiple=True, metavar="MEASURE=VALUE", help="Exit with 1 if the mean is lower; repeatable."
)
@click.option(
    "--format", "suite_format", type=click.Choice(SUITE_FORMATS), help="Format of the suite, if it should not be guessed."
)
@click.option("--run-format", type=click.Choice(RUN_FORMATS), help="Format of the run, if it should not be guessed.")
@click.option("--config", "config_path", metavar="FILE", help="YAML or TOML: agents with their options, evaluation, output.")
@live_options
def command(
    suite_path: str,
    agent: str | None,
    run_paths: tuple[str, ...],
    measures: tuple[str, ...],
    outputs: tuple[str, ...],
    topics: str | None,
    corpus_path: str | None,
    mapping: tuple[str, ...],
    splits: tuple[str, ...],
    thresholds: tuple[str, ...],
    suite_format: str | None,
    run_format: str | None,
    config_path: str | None,
    live: LiveOptions,
) -> int:
    """Run an agent on a suite, or score a saved run.

    \b
    searchmark evaluate --gold-set suite.yaml --agent bm25 --corpus docs/ -o out.json
    searchmark evaluate --gold-set gold_set.json --agent my.module:Agent --repo . --timeout 5
    searchmark evaluate --gold-set qrels.txt --run bm25.run -m nDCG@10 -m MRR -o out.json
    """
    config = load_config(config_path)
    files = output_files(outputs, config.output)
    asked = [parse_measure(text) for text in measures]
    gates = [parse_threshold(text, {measure.name: measure for measure in asked}) for text in thresholds]
    suite = load_suite(suite_path, format=suite_format, topics=topics)
    if bool(agent) == bool(run_paths):
        raise UsageError("say either which agent to run (--agent) or which saved run to score (--run)")
    if len(live.snapshots) > 1:
        raise UsageError("evaluate takes one snapshot; compare takes several: --snapshot parent --snapshot head")
    if agent:
        suite, ran = run_live(
            suite, agent_specs([agent], config, live), config, live, corpus_path, mapping, Path(suite_path).parent
        )
        run, survey = ran.runs[0], ran.survey
    else:
        refuse_live_options(live)
        parts = [load_run(path, format=run_format) for path in run_paths]
        for part in parts:
            refuse_other_queries(suite, part)
        run = completed(joined(parts), suite.table.ids)
        survey = survey_of(suite, corpus_path, mapping)
    wanted: list[str | AnyMeasure] = [*(asked or default_measures(suite)), *(gate.measure for gate in gates)]
    scores = score(judge(suite, run, None if survey is None else survey.ids), wanted)
    gate = check_gate(Evidence.of(scores), gates) if gates else None
    report = build_report(scores, split_by(suite, splits), gate, survey)
    return deliver(report, files, json_on_stdout=STDOUT in outputs)


def refuse_other_queries(suite: Suite, run: Run) -> None:
    """A run that knows what it was asked must have been asked this."""
    asked = None if run.provenance.suite is None else run.provenance.suite.queries
    if asked is not None and set(run.case_ids) <= suite.table.index.keys() and suite.only(run.index).hashes["queries"] != asked:
        raise Incomparable(f"the run {run.agent!r} was asked other queries than those of the suite {suite.name!r}")


def split_by(suite: Suite, asked: tuple[str, ...]) -> list[str]:
    """What to split the cases by: what was asked for, or else what most suites have."""
    return list(asked) or [name for name in segment_names(suite) if name in _SPLIT_BY_DEFAULT]
