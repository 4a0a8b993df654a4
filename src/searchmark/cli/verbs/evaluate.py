"""The verb `searchmark evaluate`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from searchmark.cli.groups import (
    GATE,
    ArchiveFlags,
    ConfigFile,
    GateVerdictSettings,
    NamedSuiteSettings,
    ReportOutputSettings,
    ReportTask,
    SavedRuns,
    refuse_several_agents,
    show_foresight,
)
from searchmark.cli.live import (
    LiveSettings,
    debug_case,
    missing_reasons,
    refuse_live_options,
    refuse_with_debug,
    run_with_progress,
    show_plan,
)
from searchmark.cli.options import HOW_TO_RUN, OUTPUT, WHAT_TO_RUN, Flag, OptionGroup, Settings, VariadicCommand, precedence, verb
from searchmark.cli.output import STDOUT, tell
from searchmark.config.run import ReportSettings
from searchmark.config.sections import Config
from searchmark.errors import UsageError
from searchmark.io.store import start_in_background

if TYPE_CHECKING:
    from searchmark.experiments.evaluation import Evaluation
    from searchmark.formats.suites.native import SuiteSetup
    from searchmark.running.result import RunResult


UPDATE_VARIABLE = "UPDATE_BENCHMARK_EXPECTATIONS"

EITHER = "name either the agent to run (--agent) or the saved run to score (--run)"


@dataclass(frozen=True)
class EvaluateCommand:
    """The arguments and options of ``evaluate``."""

    named: Annotated[NamedSuiteSettings, OptionGroup(WHAT_TO_RUN)]
    agent: Annotated[
        str | None,
        Flag(
            WHAT_TO_RUN,
            "--agent",
            metavar="NAME",
            show_default="suite.agent of the config, that of the suite's header, or the only one of the config",
            help="Agent to run: a name that 'searchmark agents' lists, module:Class, command:ARGV, mcp:ARGV, or an http address.",
        ),
    ]
    mode: Annotated[
        str | None,
        Flag(
            WHAT_TO_RUN,
            "--mode",
            metavar="NAME",
            show_default="the only one, or that of the suite's header",
            help="Which of the agent's modes to ask it in; the config lists them. Without --agent also the name of an agent.",
        ),
    ]
    saved: Annotated[SavedRuns, OptionGroup(WHAT_TO_RUN)]
    config: Annotated[Config, ConfigFile(WHAT_TO_RUN, "defaults and agents")]
    live: Annotated[LiveSettings, Settings()]
    report: Annotated[ReportOutputSettings, OptionGroup(OUTPUT)]
    detail: Annotated[ReportSettings, OptionGroup(OUTPUT)]
    per_case: Annotated[
        bool,
        Flag(
            OUTPUT, "--per-case", is_flag=True, help="Print the value of every case, as trec_eval -q does, instead of the report."
        ),
    ]
    debug: Annotated[
        bool,
        Flag(
            HOW_TO_RUN,
            "--debug",
            is_flag=True,
            help="Ask one case (the first, or the one that -k leaves) in this process: breakpoint() and prints work. Not isolated.",
        ),
    ]
    archive: Annotated[ArchiveFlags, Settings()]
    gates: Annotated[GateVerdictSettings, OptionGroup(GATE)]

    def agent_wanted(self, setup: SuiteSetup, config: Config) -> str | None:
        """The agent that is named, or that of the config; None where a mode or the suite's header tells, or runs are saved."""
        from searchmark.experiments.inputs import only_agent

        if self.agent or self.mode or self.saved.run_paths or (setup.agent and not config.suite.agent):
            return self.agent
        name = only_agent(config)
        if name is None:
            raise UsageError(EITHER)
        return name

    @property
    def runs_of_next_step(self) -> tuple[str, ...]:
        return self.saved.run_paths or ((self.live.save_run,) if self.live.save_run else ())

    def refuse_contradictions(self) -> None:
        if self.per_case and STDOUT in self.report.outputs:
            raise UsageError("--per-case and -o - both print to stdout; give one of them")
        if self.debug:
            refuse_with_debug(self.report.outputs, self.live.save_run, self.saved.run_paths)
        if self.agent and self.saved.run_paths:
            raise UsageError(EITHER)
        if len(self.live.where.snapshots) > 1:
            raise UsageError("evaluate takes one snapshot; compare takes several: --snapshot parent --snapshot head")

    @property
    def is_measured(self) -> bool:
        return not (self.debug or self.live.dry_run)

    def say_how_to_update(self, suite: str) -> None:
        """Tell who sets the variable that pytest heeds which command does that here."""
        if os.environ.get(UPDATE_VARIABLE, "").strip().lower() in ("", "0", "false", "no", "off"):
            return
        run = next(iter(self.runs_of_next_step), None)
        save = "" if run else "save the run with --save-run new.jsonl, then "
        command = f"searchmark approve {shlex.quote(suite)} --run {shlex.quote(run or 'new.jsonl')} --yes"
        tell(f"{UPDATE_VARIABLE} is set, but evaluate never changes what a suite expects; to do that, {save}type: {command}")

    def refuse_bisecting_without_rules(self, task: ReportTask) -> None:
        if self.gates.bisect and not task.has_rules:
            raise UsageError(
                "--bisect needs a rule that tells good from bad: --fail-under, --gate, or a section 'gates' in the config"
            )


@verb(
    "evaluate",
    EvaluateCommand,
    cls=VariadicCommand,
    short_help="Run an agent on a suite, or score a saved run.",
    epilog=precedence("evaluation", "num_runs"),
)
def command(settings: EvaluateCommand) -> int:
    """Run an agent on a suite, or score a saved run.

    Several saved runs are taken as the shards of one.

    \b
    searchmark evaluate --gold-set suite.yaml --agent bm25 --corpus docs/ -o out.json
    searchmark evaluate --gold-set gold_set.json --agent my.module:Agent --repo . --timeout 5
    searchmark evaluate --gold-set symbols.json --config lookup.yaml --agent lookup --mode fts5 --category 1
    searchmark evaluate --gold-set qrels.txt --run bm25.run -m nDCG@10 -m MRR -o out.json
    searchmark evaluate --gold-set suite.yaml --agent my.module:Agent --corpus docs/ -k q17 --debug
    """
    from searchmark.experiments.inputs import agent_to_evaluate

    settings.refuse_contradictions()
    live, paths = settings.live, settings.saved.run_paths
    runs = start_in_background(lambda: settings.saved.load(live.where.mapping))
    task = settings.report.task(settings.named, settings.config, settings.gates, settings.saved, live.where.mapping)
    agent = settings.agent_wanted(task.setup, task.config)
    settings.refuse_bisecting_without_rules(task)
    scope = live.searched(task)
    archive = settings.archive.in_use(task.config, by_default=not paths and not settings.gates.bisect)
    request = task.evaluation(scope, settings.runs_of_next_step, detail=settings.detail, where=scope, archive=archive)
    if paths:
        refuse_live_options()
        refuse_several_agents(runs.result(), task.source.path, paths)
        return _deliver(settings, task, request, live.saved(request, runs.result(), task.config))
    hidden: Sequence[Path] = ()
    skips = live.skips(task.setup) and not settings.gates.bisect  # a commit that was not measured is not a good one
    with missing_reasons(skips) as missing:
        if settings.is_measured:
            show_foresight(request)
            hidden = settings.archive.hidden(request.suite, scope, task.config)
        experiment = live.experiment(request, [agent_to_evaluate(agent, settings.mode, task.setup, task.config)], task, hidden)
        if not settings.is_measured:
            return debug_case(experiment, task.measures) if settings.debug else show_plan(experiment)
        run_result = run_with_progress(experiment, live.save_run, 1 if skips else None)
    return task.outputs.skip(request.suite, missing[0]) if missing else _deliver(settings, task, request, run_result)


def _deliver(settings: EvaluateCommand, task: ReportTask, request: Evaluation, run_result: RunResult) -> int:
    code = task.outputs.deliver(request.on(run_result).evaluate(run_result.runs), per_case=settings.per_case)
    settings.say_how_to_update(task.source.path)
    return code
