"""``searchmark compare``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from searchmark.analysis.comparison import CompareOptions, Pair, check_baseline, compare
from searchmark.analysis.scores import default_measures, score
from searchmark.cli._corpus import survey_of
from searchmark.cli._live import LiveOptions, agent_specs, labels_of_runs, live_options, refuse_live_options, run_live
from searchmark.cli._output import STDOUT, deliver, output_files, output_help
from searchmark.cli._variadic import VariadicCommand
from searchmark.cli.verbs.evaluate import refuse_other_queries, split_by
from searchmark.config import PRESETS, DecisionTable, load_config
from searchmark.errors import Incomparable, NothingEvaluated, UsageError
from searchmark.judging.judge import judge
from searchmark.records import Run, Suite, display_names
from searchmark.reports import build_comparison
from searchmark.runs import load_run
from searchmark.suites import load_suite
from searchmark.suites.detect import FORMATS as SUITE_FORMATS

MINIMUM = 2


@click.command("compare", cls=VariadicCommand, short_help="Compare agents or saved runs on one suite, with evidence.")
@click.option(
    "--gold-set", "--suite", "suite_path", required=True, metavar="SUITE", help="Suite, in any format of docs/formats.md."
)
@click.option(
    "--agents",
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME...",
    help="Agents to run, the baseline first: --agents bm25 keyword.",
)
@click.option("--run", "run_paths", multiple=True, metavar="RUN", help="Saved run; the baseline first, before all agents.")
@click.option("--repeat-agent", is_flag=True, help="Run every agent twice: how much differs is the noise floor.")
@click.option("-m", "--measure", "measures", multiple=True, help="Measure or formula, repeatable; the first one leads.")
@click.option("-o", "--output", "outputs", multiple=True, metavar="PATH", help=output_help(comparison=True))
@click.option("--by", "splits", multiple=True, metavar="FIELD", help="Split by category, tag or a field of the cases; repeatable.")
@click.option("--min-effect", type=float, help="Smallest difference that anybody would care about (plain: 0.01).")
@click.option("--margin", type=float, help="How much worse may still pass as not inferior (plain: 0.02).")
@click.option("--baseline", metavar="NAME", help="Compare every other run with this one, and with no other.")
@click.option("--brief", is_flag=True, help="Print the verdicts only; files hold everything.")
@click.option("--decide", "preset", type=click.Choice(tuple(PRESETS)), help="Decide by a table that comes with Searchmark.")
@click.option("--config", "config_path", metavar="FILE", help="YAML or TOML: agents, evaluation, compare, output.")
@click.option("--intersect", is_flag=True, help="Compare only on cases that all runs answer, and say what was left out.")
@click.option("--topics", metavar="FILE", help="Query texts for TREC qrels or labels.")
@click.option("--corpus", "corpus_path", metavar="PATH", help="What was searched: .json, .jsonl, .csv or a directory.")
@click.option("--map", "mapping", multiple=True, metavar="FIELD=NAME", help="Fields of the corpus: id=asin, title=name, text=a,b.")
@click.option("--format", "suite_format", type=click.Choice(tuple(SUITE_FORMATS)), help="Format of the suite.")
@live_options
def command(
    suite_path: str,
    agents: tuple[str, ...],
    run_paths: tuple[str, ...],
    repeat_agent: bool,
    measures: tuple[str, ...],
    outputs: tuple[str, ...],
    splits: tuple[str, ...],
    min_effect: float | None,
    margin: float | None,
    baseline: str | None,
    brief: bool,
    preset: str | None,
    config_path: str | None,
    intersect: bool,
    topics: str | None,
    corpus_path: str | None,
    mapping: tuple[str, ...],
    suite_format: str | None,
    live: LiveOptions,
) -> int:
    """Compare agents or saved runs on one suite, with evidence.

    Agents take turns in blocks of 25 cases, so that a noisy minute hits all of them. Every pair is compared on the
    cases that both have a value for. The answer may be that there is not enough evidence: the report then says how
    many cases would be needed.

    \b
    searchmark compare --gold-set suite.yaml --agents keyword bm25 --corpus docs/ -o report.md
    searchmark compare --gold-set suite.yaml --run bm25.trec --run semantic.json -m nDCG@10 -o report.md
    """
    config = load_config(config_path)
    smallest = config.compare.min_effect if min_effect is None else min_effect
    options = CompareOptions(smallest, config.compare.margin if margin is None else margin, baseline)
    tables = (*config.compare.decisions, *(PRESETS[preset] if preset else ()))
    files = output_files(outputs, config.output, comparison=True)
    suite = load_suite(suite_path, format=suite_format, topics=topics)
    runs = [load_run(path) for path in run_paths]
    if agents:
        specs = agent_specs(agents, config, live)
        repeats = (1, 2) if repeat_agent else (1,)
        # A name that nobody has should be noticed before hours of searching.
        labels = [*(run.label for run in runs), *labels_of_runs(suite, specs, live, corpus_path, repeats)]
        check_baseline(baseline, display_names(labels))
        suite, ran = run_live(suite, specs, config, live, corpus_path, mapping, Path(suite_path).parent, repeats)
        runs, survey = [*runs, *ran.runs], ran.survey
    else:
        refuse_live_options(live)
        survey = survey_of(suite, corpus_path, mapping)
    if len(runs) < MINIMUM:
        raise UsageError("a comparison needs two runs or agents at least: --agents bm25 keyword, or --run twice")
    for run in runs:
        refuse_other_queries(suite, run)
    suite = _common_cases(suite, runs) if intersect else _refuse_foreign(suite, runs)
    wanted = measures or default_measures(suite)
    scores = [score(judge(suite, run, None if survey is None else survey.ids), wanted) for run in runs]
    by = split_by(suite, splits)
    pairs = compare(scores, by, options)
    report = build_comparison(scores, pairs, by, _about(tables, pairs), survey)
    return deliver(report, files, json_on_stdout=STDOUT in outputs, brief=brief)


def _about(tables: tuple[DecisionTable, ...], pairs: list[Pair]) -> list[DecisionTable]:
    """The tables whose arms were compared; one of them at least, if there are any."""
    compared = [{pair.baseline, pair.candidate} for pair in pairs]
    about = [table for table in tables if {table.candidate, table.baseline} in compared]
    if tables and not about:
        arms = "; ".join(f"{table.candidate} against {table.baseline}" for table in tables)
        names = ", ".join(sorted(set().union(*compared)))
        raise UsageError(f"the decision tables are about {arms}; the runs are {names}")
    return about


def _refuse_foreign(suite: Suite, runs: list[Run]) -> Suite:
    """A run that answers other cases and lacks some of these was made for another suite."""
    known = set(suite.table.ids)
    for run in runs:
        foreign, missing = len(run.index.keys() - known), len(known - run.index.keys())
        if foreign and missing and missing < len(known):
            raise Incomparable(
                f"the run {run.agent!r} lacks {missing} cases of the suite and answers {foreign} that are not in it: "
                "it was made for another suite (--intersect compares on what all runs answer)"
            )
    return suite


def _common_cases(suite: Suite, runs: list[Run]) -> Suite:
    """The cases that every run answers."""
    common = set(suite.table.ids).intersection(*(run.index for run in runs))
    if not common:
        raise NothingEvaluated("no case of the suite is answered by all runs")
    left_out = len(suite) - len(common)
    return replace(suite.only(common), dropped={**suite.dropped, "cases_not_in_all_runs": left_out})
