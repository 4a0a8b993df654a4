"""The verb `searchmark compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from searchmark.cli.groups import (
    GATE,
    ArchiveFlags,
    ConfigFile,
    GateRuleSettings,
    NamedSuiteSettings,
    ReportOutputSettings,
    ReportTask,
    SavedRuns,
)
from searchmark.cli.live import LiveSettings, missing_reasons, refuse_live_options, run_with_progress, show_plan
from searchmark.cli.options import (
    COMPARISON,
    OUTPUT,
    WHAT_TO_RUN,
    ConfigGroup,
    Flag,
    GivenSettings,
    OptionGroup,
    Settings,
    VariadicCommand,
    precedence,
    verb,
)
from searchmark.cli.output import tell
from searchmark.config.gates import CompareSettings
from searchmark.config.option import Option
from searchmark.config.run import ReportSettings
from searchmark.config.sections import Config
from searchmark.errors import UsageError
from searchmark.records.provenance import RunLabel, display_names
from searchmark.records.run import Run
from searchmark.scoring.comparison import check_baseline
from searchmark.scoring.decisions import PRESETS, check_preset, tables_left_out, with_decisions

if TYPE_CHECKING:
    from searchmark.experiments.evaluation import Evaluation
    from searchmark.running.result import RunResult

MINIMUM = 2


@dataclass(frozen=True)
class ComparedCases:
    """What else a comparison is told."""

    intersect: Annotated[bool, Option("Compare only on cases that all runs answer, and say what was left out.")] = False
    same_depth: Annotated[bool, Option("Cut all answers to the smallest depth among the runs, and say what was left out.")] = False
    preset: Annotated[
        str | None, Option("Decide by a table that comes with Searchmark.", ("--decide",), choices=tuple(PRESETS))
    ] = None

    def is_comparison(self, options: CompareSettings, labels: Sequence[RunLabel], modes: Sequence[str]) -> bool:
        """Whether there is something to compare; an unknown name is refused before hours of searching."""
        names = display_names(labels)
        if modes and len(names) < MINIMUM:
            tell(f"{names[0]} is the only one that is asked: nothing is compared, and nothing is decided")
            return False
        check_baseline(options.baseline, names)
        if self.preset:
            check_preset(self.preset, names)
        return True

    def check_runs(self, options: CompareSettings, runs: Sequence[Run]) -> None:
        """Refuse runs that cannot be compared or decided about, and say which decisions are not made."""
        if len(runs) < MINIMUM:
            raise UsageError(
                "a comparison needs two runs or agents at least: --agents bm25 keyword, or --run a b, or a config that lists agents"
            )
        names = display_names([run.label for run in runs])
        if self.preset:
            check_preset(self.preset, names)
        for table in tables_left_out(options.baseline, options.decisions, names):
            arms = f"{table.candidate} against {table.baseline}"
            tell(f"nothing is decided about {arms}: with --baseline {options.baseline} they are not compared")


@dataclass(frozen=True)
class CompareCommand:
    """The arguments and options of ``compare``."""

    named: Annotated[NamedSuiteSettings, OptionGroup(WHAT_TO_RUN)]
    agents: Annotated[
        tuple[str, ...],
        Flag(
            WHAT_TO_RUN,
            "--agents",
            "--agent",
            multiple=True,
            metavar="NAME...",
            show_default="all agents of the config, unless --run is given",
            help="Agents to run, the baseline first: --agents bm25 keyword.",
        ),
    ]
    modes: Annotated[
        tuple[str, ...],
        Flag(
            WHAT_TO_RUN,
            "--mode",
            multiple=True,
            metavar="NAME",
            show_default="all modes of every agent that has some",
            help="Ask agents in this one of their modes, which the config lists; repeatable.",
        ),
    ]
    repeat_agent: Annotated[
        bool, Flag(WHAT_TO_RUN, "--repeat-agent", is_flag=True, help="Run every agent twice: how much differs is the noise floor.")
    ]
    saved: Annotated[SavedRuns, OptionGroup(WHAT_TO_RUN)]
    config: Annotated[Config, ConfigFile(WHAT_TO_RUN, "defaults and agents")]
    live: Annotated[LiveSettings, Settings()]
    given: Annotated[GivenSettings[CompareSettings], ConfigGroup(COMPARISON, "compare")]
    comparison: Annotated[ComparedCases, OptionGroup(COMPARISON)]
    report: Annotated[ReportOutputSettings, OptionGroup(OUTPUT)]
    detail: Annotated[ReportSettings, OptionGroup(OUTPUT)]
    archive: Annotated[ArchiveFlags, Settings()]
    gates: Annotated[GateRuleSettings, OptionGroup(GATE)]
    brief: Annotated[bool, Flag(OUTPUT, "--brief", is_flag=True, help="Print only the verdicts; files hold everything.")]


@verb(
    "compare",
    CompareCommand,
    cls=VariadicCommand,
    short_help="Compare agents or saved runs on one suite, with evidence.",
    epilog=precedence("compare", "min_effect"),
)
def command(settings: CompareCommand) -> int:
    """Compare agents or saved runs on one suite, with evidence.

    Agents take turns in blocks of cases, so that a noisy minute hits all of them. Every pair is compared on the
    cases that both have a value for. A pair that differs in more than the agents (cases asked, corpus, depth, ...) is
    INVALID. Where there is not enough evidence, the report says how many cases would be needed. Saved runs come before
    agents. Where neither is named, all agents of the config are run, in its order.

    \b
    searchmark compare --gold-set suite.yaml --agents keyword bm25 --corpus docs/ -o report.md
    searchmark compare --gold-set suite.yaml --run bm25.trec new=results.csv -m nDCG@10 -o report.md
    searchmark compare --config searchmark.yaml
    """
    live, saved_runs, comparison = settings.live, settings.saved, settings.comparison
    task = settings.report.task(settings.named, settings.config, settings.gates, saved_runs, live.where.mapping)
    agents = settings.agents or (() if saved_runs.run_paths else task.config.listed_agents)
    scope, runs = live.searched(task), saved_runs.load(live.where.mapping)
    options = with_decisions(settings.given.over(task.config.compare), task.suite, comparison.preset)
    request = task.evaluation(
        scope, () if agents else saved_runs.run_paths,
        options=options, intersect=comparison.intersect, same_depth=comparison.same_depth, detail=settings.detail, where=scope,
        archive=settings.archive.in_use(task.config, by_default=bool(agents)),
    )  # fmt: skip
    if agents:
        return _compare_agents(settings, task, request, agents, runs)
    refuse_live_options()
    return _deliver(settings, task, request, live.saved(request, runs, task.config))


def _compare_agents(
    settings: CompareCommand, task: ReportTask, request: Evaluation, agents: Sequence[str], runs: Sequence[Run]
) -> int:
    from searchmark.experiments.inputs import agents_named, with_saved

    live = settings.live
    with missing_reasons(live.skips(task.setup)) as missing:
        hidden = settings.archive.hidden(request.suite, request.where, task.config)
        specs = agents_named(agents, settings.modes, task.config)
        experiment = live.experiment(request, specs, task, hidden, repeats=1 + settings.repeat_agent)
        labels = [*(run.label for run in runs), *experiment.labels]
        compares = settings.comparison.is_comparison(request.options, labels, settings.modes)
        if live.dry_run:
            return show_plan(experiment)
        least = (MINIMUM if compares else 1) - len(runs) if live.skips(task.setup) else None
        run_result = with_saved(run_with_progress(experiment, live.save_run, least), runs, request.suite)
    if missing:
        return task.outputs.skip(request.suite, missing[0])
    if not compares:
        return task.outputs.deliver(request.on(run_result).evaluate(run_result.runs))
    return _deliver(settings, task, request, run_result)


def _deliver(settings: CompareCommand, task: ReportTask, request: Evaluation, run_result: RunResult) -> int:
    settings.comparison.check_runs(request.options, run_result.runs)
    return task.outputs.deliver(request.on(run_result).compare(run_result.runs), brief=settings.brief)
