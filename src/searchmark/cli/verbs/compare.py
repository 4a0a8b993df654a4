"""``searchmark compare``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import click

from searchmark.analysis.comparison import Pair, check_baseline, compare
from searchmark.analysis.decisions import PRESETS
from searchmark.analysis.scores import default_measures, score
from searchmark.cli._corpus import survey_of
from searchmark.cli._groups import ReportChoice, SavedRuns, SuiteFile, config_option
from searchmark.cli._live import LiveOptions, agent_specs, labels_of_runs, live_options, refuse_live_options, run_live
from searchmark.cli._options import COMPARISON, OUTPUT, WHAT_TO_RUN, Given, config_options, option, option_group, precedence
from searchmark.cli._output import STDOUT, deliver, output_files
from searchmark.cli._variadic import VariadicCommand
from searchmark.cli.verbs.evaluate import refuse_other_queries, split_by
from searchmark.config import load_config
from searchmark.errors import Incomparable, NothingEvaluated, UsageError
from searchmark.judging.judge import judge
from searchmark.options.compare_options import CompareOptions, DecisionTable
from searchmark.options.option import Option
from searchmark.records import Run, Suite, display_names
from searchmark.reports import build_comparison
from searchmark.runs import load_run
from searchmark.suites import load_suite

MINIMUM = 2


@dataclass(frozen=True)
class ComparedCases:
    """What else a comparison is told."""

    intersect: Annotated[bool, Option("Compare only on cases that all runs answer, and say what was left out.")] = False
    preset: Annotated[
        str | None, Option("Decide by a table that comes with Searchmark.", ("--decide",), choices=tuple(PRESETS))
    ] = None


@click.command(
    "compare",
    cls=VariadicCommand,
    short_help="Compare agents or saved runs on one suite, with evidence.",
    epilog=precedence("compare", "min_effect"),
)
@option_group(SuiteFile, "source", WHAT_TO_RUN)
@option(
    WHAT_TO_RUN,
    "--agents",
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME...",
    help="Agents to run, the baseline first: --agents bm25 keyword.",
)
@option(WHAT_TO_RUN, "--repeat-agent", is_flag=True, help="Run every agent twice: how much differs is the noise floor.")
@option_group(SavedRuns, "saved", WHAT_TO_RUN)
@config_option
@live_options
@config_options(CompareOptions, "given", COMPARISON, "compare")
@option_group(ComparedCases, "compared", COMPARISON)
@option_group(ReportChoice, "wanted", OUTPUT)
@option(OUTPUT, "--brief", is_flag=True, help="Print only the verdicts; files hold everything.")
def command(
    source: SuiteFile,
    agents: tuple[str, ...],
    repeat_agent: bool,
    saved: SavedRuns,
    config_path: str | None,
    live: LiveOptions,
    given: Given[CompareOptions],
    compared: ComparedCases,
    wanted: ReportChoice,
    brief: bool,
) -> int:
    """Compare agents or saved runs on one suite, with evidence.

    Agents take turns in blocks of cases, so that a noisy minute hits all of them. Every pair is compared on the
    cases that both have a value for. The answer may be that there is not enough evidence: the report then says how
    many cases would be needed. Saved runs come before agents in the order of runs.

    \b
    searchmark compare --gold-set suite.yaml --agents keyword bm25 --corpus docs/ -o report.md
    searchmark compare --gold-set suite.yaml --run bm25.trec --run semantic.json -m nDCG@10 -o report.md
    """
    config = load_config(config_path)
    options = given.over(config.compare)
    tables = (*options.decisions, *(PRESETS[compared.preset] if compared.preset else ()))
    files = output_files(wanted.outputs, config.output)
    suite = load_suite(source.path, format=source.format, topics=source.topics)
    runs = [load_run(path, format=saved.run_format) for path in saved.run_paths]
    if agents:
        specs = agent_specs(agents, config, live)
        repeats = (1, 2) if repeat_agent else (1,)
        # An unknown name should be noticed before hours of searching.
        labels = [*(run.label for run in runs), *labels_of_runs(suite, specs, live, repeats)]
        check_baseline(options.baseline, display_names(labels))
        suite, ran = run_live(suite, specs, config, live, Path(source.path).parent, repeats)
        runs, survey = [*runs, *ran.runs], ran.survey
    else:
        refuse_live_options()
        survey = survey_of(suite, live.where.corpus, live.where.mapping)
    if len(runs) < MINIMUM:
        raise UsageError("a comparison needs two runs or agents at least: --agents bm25 keyword, or --run twice")
    for run in runs:
        refuse_other_queries(suite, run)
    suite = _common_cases(suite, runs) if compared.intersect else _refuse_foreign(suite, runs)
    measures = wanted.measures or default_measures(suite)
    scores = [score(judge(suite, run, None if survey is None else survey.ids), measures) for run in runs]
    by = split_by(suite, wanted.splits)
    pairs = compare(scores, by, options)
    report = build_comparison(scores, pairs, by, _about(tables, pairs), survey)
    return deliver(report, files, json_on_stdout=STDOUT in wanted.outputs, brief=brief)


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
