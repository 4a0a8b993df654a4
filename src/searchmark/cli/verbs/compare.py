"""``searchmark compare``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import click

from searchmark.analysis.comparison import check_baseline
from searchmark.analysis.decision_presets import PRESETS, about_suite, check_preset, left_out_by, preset_tables
from searchmark.cli._archive import Kept, archive_options, archived
from searchmark.cli._corpus import survey_of, texts_of_hits, with_fields_of_targets
from searchmark.cli._gates import GateChoice, looked_at, threshold_options, with_next_step
from searchmark.cli._groups import NamedSuite, ReportChoice, SavedRuns, config_option, measures_wanted, told_by
from searchmark.cli._live import (
    LiveOptions,
    agent_specs,
    configured_agents,
    live_options,
    refuse_live_options,
    run_shown,
    wanted_cases,
    with_corpus,
)
from searchmark.cli._options import COMPARISON, OUTPUT, WHAT_TO_RUN, Given, config_options, option, option_group, precedence
from searchmark.cli._output import STDOUT, charts_wanted, deliver, github_step, now, output_files, tell
from searchmark.cli._plan import show_plan
from searchmark.cli._variadic import VariadicCommand
from searchmark.config import Config
from searchmark.errors import UsageError
from searchmark.options.compare_options import CompareOptions, DecisionTable
from searchmark.options.gate_options import GateOptions
from searchmark.options.option import Option
from searchmark.options.report_options import ReportOptions
from searchmark.records import display_names
from searchmark.runs.cut import narrowed

MINIMUM = 2


@dataclass(frozen=True)
class ComparedCases:
    """What else a comparison is told."""

    intersect: Annotated[bool, Option("Compare only on cases that all runs answer, and say what was left out.")] = False
    same_depth: Annotated[bool, Option("Cut all answers to the smallest depth among the runs, and say what was left out.")] = False
    preset: Annotated[
        str | None, Option("Decide by a table that comes with Searchmark.", ("--decide",), choices=tuple(PRESETS))
    ] = None

    def tables(self, options: CompareOptions) -> tuple[DecisionTable, ...]:
        """Those of the preset, which decide by the primary measure where one is declared."""
        return preset_tables(self.preset, options.primary) if self.preset else ()

    def check(self, runs: Sequence[str]) -> None:
        """Refuse runs that the preset cannot decide about."""
        if self.preset:
            check_preset(self.preset, runs)


@click.command(
    "compare",
    cls=VariadicCommand,
    short_help="Compare agents or saved runs on one suite, with evidence.",
    epilog=precedence("compare", "min_effect"),
)
@option_group(NamedSuite, "named", WHAT_TO_RUN)
@option(
    WHAT_TO_RUN,
    "--agents",
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME...",
    show_default="all agents of the config, unless --run is given",
    help="Agents to run, the baseline first: --agents bm25 keyword.",
)
@option(
    WHAT_TO_RUN,
    "--mode",
    "modes",
    multiple=True,
    metavar="NAME",
    show_default="all modes of every agent that has some",
    help="Ask agents in this one of their modes, which the config lists; repeatable.",
)
@option(WHAT_TO_RUN, "--repeat-agent", is_flag=True, help="Run every agent twice: how much differs is the noise floor.")
@option_group(SavedRuns, "saved", WHAT_TO_RUN)
@config_option(WHAT_TO_RUN, "defaults and agents")
@live_options
@config_options(CompareOptions, "given", COMPARISON, "compare")
@option_group(ComparedCases, "compared", COMPARISON)
@option_group(ReportChoice, "wanted", OUTPUT)
@option_group(ReportOptions, "detail", OUTPUT)
@archive_options
@threshold_options
@option(OUTPUT, "--brief", is_flag=True, help="Print only the verdicts; files hold everything.")
def command(
    named: NamedSuite,
    agents: tuple[str, ...],
    modes: tuple[str, ...],
    repeat_agent: bool,
    saved: SavedRuns,
    config: Config,
    live: LiveOptions,
    given: Given[CompareOptions],
    compared: ComparedCases,
    wanted: ReportChoice,
    detail: ReportOptions,
    kept: Kept,
    gates: GateChoice,
    brief: bool,
) -> int:
    """Compare agents or saved runs on one suite, with evidence.

    Agents take turns in blocks of cases, so that a noisy minute hits all of them. Every pair is compared on the
    cases that both have a value for. A pair that differs in more than the agents (cases asked, corpus, depth, ...) is
    INVALID. The answer may be that there is not enough evidence: the report then says how
    many cases would be needed. Saved runs come before agents in the order of runs. Where neither is named, all agents of
    the config are run, in its order.

    \b
    searchmark compare --gold-set suite.yaml --agents keyword bm25 --corpus docs/ -o report.md
    searchmark compare --gold-set suite.yaml --run bm25.trec new=results.csv -m nDCG@10 -o report.md
    searchmark compare --config searchmark.yaml
    """
    from searchmark.experiments import compare_runs
    from searchmark.gates.baselines import baseline_in_use
    from searchmark.gates.reading import look_book

    time, (source, config) = now(), named.chosen(config)
    options = given.over(config.compare)
    if config.gates_of_suite:  # they hold the agent that the suite is kept with, and every weaker one would fail them
        config = replace(config, gates=GateOptions())
    if not agents and not saved.run_paths:
        agents = configured_agents(config)
    asked = measures_wanted(wanted.measures, config)
    rules = gates.rules(config, asked)
    baseline = baseline_in_use(config.gates.baseline, None, rules, next(iter(asked), None))
    files, github = output_files(wanted.outputs, config.output), github_step(wanted.github, source.path)
    charts = charts_wanted(wanted.charts, config.output, files)
    suite, setup = source.load(live.where.mapping)
    live = with_corpus(live, setup, config)
    searched = live.searched(config, told_by(source, saved, files))
    suite = with_fields_of_targets(suite, wanted.splits, rules, searched)
    runs = saved.load(live.where.mapping)
    options = replace(options, decisions=tuple(about_suite(table, suite) for table in options.decisions))
    # A config may hold the table of the preset as well: one decision is told once.
    tables = [table for each in compared.tables(options) if (table := about_suite(each, suite)) not in options.decisions]
    if agents:
        specs = agent_specs(agents, modes, config, live)
        told = [*told_by(source, saved, files), *kept.hidden(suite, searched, config)]
        experiment = live.experiment(suite, specs, config, told, repeats=2 if repeat_agent else 1)
        names = display_names([*(run.label for run in runs), *experiment.labels])
        # An unknown name should be noticed before hours of searching.
        check_baseline(options.baseline, names)
        compared.check(names)
        if live.dry_run:
            return show_plan(experiment)
        ran = run_shown(experiment, live.save_run)
        whole, suite, survey = suite, ran.suite, ran.survey
        runs = [*narrowed(runs, whole, suite), *ran.runs]
    else:
        refuse_live_options()
        whole, suite = suite, wanted_cases(suite, live.cases, live.options(config).seed)
        runs = narrowed(runs, whole, suite)
        survey = survey_of(suite, searched)
    if len(runs) < MINIMUM:
        raise UsageError(
            "a comparison needs two runs or agents at least: --agents bm25 keyword, or --run a b, or a config that lists agents"
        )
    names = display_names([run.label for run in runs])
    compared.check(names)
    for table in left_out_by(options.baseline, (*options.decisions, *tables), names):
        arms = f"{table.candidate} against {table.baseline}"
        tell(f"nothing is decided about {arms}: with --baseline {options.baseline} they are not compared")
    report = compare_runs(
        suite,
        runs,
        asked,
        by=wanted.splits,
        options=options,
        tables=tables,
        rules=rules,
        baseline=baseline,
        looks=look_book(config.gates, rules, looked_at(config)),
        corpus=survey,
        intersect=compared.intersect,
        same_depth=compared.same_depth,
        detail=detail,
        versions=config.versions,
        text_of=texts_of_hits(detail, suite, searched, runs),
    )
    report = with_next_step(report, source.path, () if agents else saved.run_paths, config.gates.baseline, verb="compare")
    report = archived(report, runs, kept.in_use(config, by_default=bool(agents)))
    return deliver(report, files, time, json_on_stdout=STDOUT in wanted.outputs, brief=brief, charts=charts, github=github)
