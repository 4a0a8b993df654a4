"""What verbs share when they ask agents: options, debugging, the plan of a dry run, repositories."""

from __future__ import annotations

import os
import sys
import traceback
from bdb import BdbQuit
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from click.core import ParameterSource

from searchmark.cli.groups import CHOSEN_FILES, ReportTask
from searchmark.cli.options import (
    HOW_TO_RUN,
    OUTPUT,
    RESUME,
    WHAT_TO_SEARCH,
    WHICH_CASES,
    ConfigGroup,
    Flag,
    GivenSettings,
    OptionGroup,
    is_given,
)
from searchmark.cli.output import detail, harmless, remark, show, tell
from searchmark.cli.progress import duration, progress_bars, resumable
from searchmark.config.inputs import FileSettings
from searchmark.config.option import option_fields
from searchmark.config.run import CaseSelection, ExecutorSettings, ResumeSettings, RunSettings
from searchmark.config.sections import Config
from searchmark.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNTRUSTED, Missing, SearchmarkError, UsageError, is_missing
from searchmark.formats.corpora.case_locations import SearchScope
from searchmark.io.secrets import DSN_VARIABLE
from searchmark.records.provenance import RunLabel, display_names
from searchmark.records.sentences import count_of, list_first

if TYPE_CHECKING:
    from searchmark.config.agents import AgentSpec
    from searchmark.experiments.evaluation import Evaluation
    from searchmark.experiments.experiment import Experiment, OnProgress
    from searchmark.formats.suites.native import SuiteSetup
    from searchmark.git.clones import RepositorySource
    from searchmark.records.run import Run
    from searchmark.running.estimate import AgentEstimate, PlannedMachine, RunEstimate
    from searchmark.running.request import RunProgress
    from searchmark.running.result import RunResult


# Which database ``pgvector`` and ``vector-table`` ask, for those that name none themselves.


def dsn_flag(section: str) -> Flag:
    """``--dsn``, which no verb gets to see: an environment variable is passed to those alone whose config asks for it."""
    return Flag(
        section,
        "--dsn",
        metavar="ADDRESS",
        expose_value=False,
        callback=_set_variable,
        help=f"PostgreSQL database of every index pgvector that names none (postgresql://USER@HOST/NAME). With a password, set "
        f"{DSN_VARIABLE} instead, which other users of the machine do not see.",
    )


def _set_variable(context: click.Context, _: click.Parameter, value: Any) -> None:
    if value is None:
        return
    before = os.environ.get(DSN_VARIABLE)
    os.environ[DSN_VARIABLE] = value
    context.call_on_close(lambda: _restore(before))


def _restore(before: str | None) -> None:
    os.environ.pop(DSN_VARIABLE, None)
    if before is not None:
        os.environ[DSN_VARIABLE] = before


# ``evaluate --debug``: one case in the foreground, and a debugger where the agent fails.

HITS_SHOWN = 10

NOT_ISOLATED = "the agent runs in this process: it is not isolated, has no time limit, and sees every environment variable"


def refuse_with_debug(outputs: Sequence[str], save_run: str | None, runs: Sequence[str]) -> None:
    """What --debug cannot do, since it measures nothing."""
    options = {"-o": outputs, "--save-run": save_run, "--run": runs}
    name = next((name for name, value in options.items() if value), None)
    if name is not None:
        raise UsageError(f"--debug asks an agent one case and writes nothing; leave out {name}")


def debug_case(experiment: Experiment, measures: Sequence[object]) -> int:
    """Ask one case; an error is shown with its traceback, and on a terminal the debugger opens where it arose."""
    if experiment.options.sandbox != "off":
        raise UsageError("--debug runs the agent in this process, which cannot be sandboxed; leave out --sandbox")
    case = experiment.first_case
    tell(f"debugging the case {case.id!r}: {case.query}")
    tell(NOT_ISOLATED)
    try:
        run_result = experiment.debug(_show_error)
    except BdbQuit:
        tell("searchmark: the debugger was left")
        return EXIT_INTERRUPTED
    except (Exception, SystemExit) as error:
        if _agent_error(error) is None:
            raise
        return EXIT_UNTRUSTED
    show("".join(f"{harmless(line)}\n" for line in _lines(run_result, measures)))
    return EXIT_OK


def _agent_error(error: BaseException) -> BaseException | None:
    """What came out of somebody's code; a sentence of ours about it is shown as such."""
    from searchmark.running.worker.protocol import error_location

    cause = error.__cause__ if isinstance(error, SearchmarkError) else error
    return cause if cause is not None and error_location(cause) is not None else None


def _show_error(exception: BaseException) -> None:
    """The traceback of what the agent raised; on a terminal the debugger opens there."""
    from searchmark.running.worker.protocol import skip_our_calls

    error = None if isinstance(exception, BdbQuit | KeyboardInterrupt) else _agent_error(exception)
    if error is None:
        return
    calls = error.__traceback__
    for text in traceback.format_exception(error.with_traceback(skip_our_calls(calls))):
        for line in text.rstrip("\n").split("\n"):
            tell(line)
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty():
        import pdb  # which is what was asked for

        pdb.post_mortem(calls)


def _lines(run_result: RunResult, measures: Sequence[object]) -> Iterator[str]:
    """What came, and what was expected."""
    from searchmark.experiments.evaluation import evaluate_run
    from searchmark.reports.run_tables import expected_text

    report = evaluate_run(run_result.suite, run_result.runs, measures, corpus=run_result.survey)  # type: ignore[arg-type]  # as the verb has them
    (agent,) = report.agents.values()
    (case,) = agent.cases.values()
    yield f"hits: {len(run_result.runs[0].ids)}"
    for rank, hit in enumerate(case.hits[:HITS_SHOWN], 1):
        score = "" if hit.score is None else f"  {hit.score:.6g}"
        yield f"{rank:>3}  {hit.id}{score}"
    yield f"expected: {expected_text(case.expected)}"
    for name, value in case.measures.items():
        yield f"{name}: {'undefined' if value is None else f'{value:.4f}'}"


# What comes over the network before anything is searched: repositories by address, and with ``--fetch`` what a clone lacks.


def fetch_flag(section: str) -> Flag:
    return Flag(section, "--fetch", is_flag=True, help="Fetch what a repository lacks that is a shallow clone.")


def fetch_rest(enabled: bool, repositories: Sequence[str], *, offline: bool) -> None:
    """Complete the shallow clones among repositories that the user has named."""
    if not enabled:
        return
    if offline:
        raise UsageError("--fetch uses the network, which --offline and --no-exec do not allow; leave one of them out")
    if not repositories:
        raise UsageError("--fetch completes a repository that you name; name it with --repo")
    from searchmark.git.clones import fetch_full_history

    for path in dict.fromkeys(repositories):
        if fetch_full_history(path):
            remark(f"fetched: the rest of {path}")


def clone_sources(sources: Sequence[RepositorySource], *, network: bool) -> list[RepositorySource]:
    """The repositories as folders of this machine. A clone may take minutes, so it is said before."""
    if not any(source.address for source in sources):
        return list(sources)
    from searchmark.git.clones import clone_source, is_cloned

    for source in sources:
        if source.address is not None and network and not is_cloned(source.address):
            remark(f"fetching: {source.address}")
    return [clone_source(source, network=network) for source in sources]


# What ``evaluate`` and ``compare`` share when they ask agents themselves.


@dataclass(frozen=True)
class LiveSettings:
    """What the command line says about asking agents, group by group."""

    where: Annotated[SearchScope, OptionGroup(WHAT_TO_SEARCH)]
    chosen_files: Annotated[GivenSettings[FileSettings], CHOSEN_FILES]
    fetch: Annotated[bool, fetch_flag(WHAT_TO_SEARCH)]
    dsn: Annotated[None, dsn_flag(WHAT_TO_SEARCH)]
    cases: Annotated[CaseSelection, OptionGroup(WHICH_CASES)]
    run_options: Annotated[GivenSettings[RunSettings], ConfigGroup(HOW_TO_RUN, "evaluation")]
    placement: Annotated[ExecutorSettings, OptionGroup(HOW_TO_RUN)]
    dry_run: Annotated[
        bool,
        Flag(
            HOW_TO_RUN,
            "--dry-run",
            is_flag=True,
            help="Ask each agent a few cases, say how much there is to do, where, and how long it may take; save nothing.",
        ),
    ]
    pass_env: Annotated[
        tuple[str, ...],
        Flag(
            HOW_TO_RUN,
            "--pass-env",
            multiple=True,
            metavar="NAME",
            help="Environment variable that agents get although its name looks secret; repeatable.",
        ),
    ]
    skip_if_missing: Annotated[
        bool,
        Flag(
            HOW_TO_RUN,
            "--skip-if-missing",
            is_flag=True,
            help="Where a corpus, database, model, program, package or service is not there, warn and exit with 0.",
        ),
    ]
    resumption: Annotated[ResumeSettings, OptionGroup(RESUME)]
    save_run: Annotated[
        str | None,
        Flag(OUTPUT, "--save-run", metavar="PATH", help="Save the raw run (.jsonl, or .trec for TREC), or a folder for several."),
    ]

    def options(self, config: Config) -> RunSettings:
        """Command line over environment over file over defaults."""
        options = self.run_options.over(config.evaluation)
        if options.memory_limit_mb and sys.platform != "linux":
            raise UsageError("--memory-limit works on Linux only; leave it out")
        return options

    def searched(self, task: ReportTask) -> SearchScope:
        """What is searched, by the options, the config and the header of the suite."""
        from searchmark.experiments.inputs import scope_in_use

        files, network = self.chosen_files.over(task.config.corpus.files), self.options(task.config).network
        return scope_in_use(self.where, task.setup, task.config, task.answers, files, network=network)

    def experiment(
        self, request: Evaluation, agents: Iterable[AgentSpec], task: ReportTask, hidden: Iterable[Path] = (), repeats: int = 1
    ) -> Experiment:
        """What was asked for, as the library takes it. Agents get the variables that they are passed, and see no answers.

        One that would do what was forbidden is refused.
        """
        from searchmark.experiments.experiment import Experiment
        from searchmark.experiments.inputs import allowed, with_builtin_repository

        options, scope = self.options(task.config), request.where
        specs = [allowed(spec, options, self.pass_env) for spec in agents]
        here = clone_sources(scope.named if scope.corpus is None else [], network=options.network)
        where = with_builtin_repository(scope, task.config)
        fetch_rest(self.fetch, [source.path for source in here], offline=not options.network)
        hidden_paths = tuple(Path(path).absolute() for path in (*task.answers, *hidden, self.save_run) if path is not None)
        return Experiment(request.suite, specs, where, self.cases, options, self.resumption, repeats, hidden_paths, self.placement)

    def skips(self, setup: SuiteSetup) -> bool:
        """Whether what is missing is no failure, by the command line or the header of the suite."""
        return self.skip_if_missing or setup.skip_if_missing

    def saved(self, request: Evaluation, runs: Sequence[Run], config: Config) -> RunResult:
        """Saved runs on the cases that are wanted."""
        from searchmark.experiments.inputs import saved_runs_on

        return saved_runs_on(request.suite, runs, request.where, self.cases, self.options(config).seed)


# ``-k`` and ``--category``, for verbs that run no agent.
CASE_FILTER = OptionGroup(WHICH_CASES, left_out=("sample", "shard", "last_failed"))


def refuse_live_options() -> None:
    """A saved run is not run again, so options about running would be ignored. What the environment says is no request."""
    names = {each.name for group in (SearchScope, RunSettings, ExecutorSettings, ResumeSettings) for each in option_fields(group)}
    options = names - {"corpus", "mapping"} | {
        "last_failed",
        "save_run",
        "pass_env",
        "dry_run",
        "fetch",
        "dsn",
        "mode",
        "modes",
        "skip_if_missing",
    }
    if is_given("sample", (ParameterSource.COMMANDLINE,)):
        options -= {"seed"}  # which cases are drawn
    flags = [
        max(parameter.opts, key=len)
        for parameter in click.get_current_context().command.params
        if parameter.name in options and is_given(parameter.name, (ParameterSource.COMMANDLINE,))
    ]
    if flags:
        verb = "belongs" if len(flags) == 1 else "belong"
        raise UsageError(f"--run scores a saved run; {', '.join(sorted(flags))} {verb} to a run with --agent")


@contextmanager
def missing_reasons(skipping: bool) -> Iterator[list[str]]:
    """A list that holds what was missing when the block ended early for that, if this is to be ``skipping``; else it is raised."""
    reasons: list[str] = []
    try:
        yield reasons
    except Missing as error:
        if not skipping:
            raise
        reasons.append(str(error))


def run_with_progress(experiment: Experiment, save_run: str | None, least: int | None = None) -> RunResult:
    """Run it with bars on a terminal, say how to resume it after Ctrl-C, and save the runs if that was asked for.

    With ``least`` agents that lack something here are left out, and so many runs are needed.
    """
    from searchmark.formats.runs import check_run_target, save_runs

    if save_run is not None:
        check_run_target(save_run, len(experiment.labels), experiment.suite.table.ids)
    resumed = experiment.resumption is not None and experiment.resumption.wanted
    if resumed and not experiment.cases.last_failed and not experiment.begun:
        remark("nothing to resume: no answers are saved yet, so this starts with the first case")
    detail(f"searched: {_searched_text(experiment.where)}")
    detail(f"asked: {', '.join(display_names(experiment.labels))}; searches per case: {experiment.options.num_runs}")
    advice = f"the answers so far are saved; run the same command{'' if resumed else ' with --resume'} to continue"
    with progress_bars(experiment.labels, together=experiment.on_executor) as report, resumable(advice):
        run_result = _run(experiment, _naming_dead_agents(experiment.labels, report), least)
    if save_run is not None:
        losses: list[str] = []
        for path in save_runs(run_result.runs, save_run, losses.append):
            remark(f"written: {path}")
        for sentence in losses:
            tell(f"not in it: {sentence}")
    return run_result


def _run(experiment: Experiment, report: OnProgress, least: int | None) -> RunResult:
    if least is None:
        return experiment.run(report)
    try:
        return experiment.run(report).without_missing(least)
    except SearchmarkError as error:
        if is_missing(error):
            raise Missing(str(error)) from error
        raise


def _naming_dead_agents(labels: Sequence[RunLabel], report: OnProgress) -> OnProgress:
    """The same, which says at once that an agent cannot be asked: the others may take hours."""
    names = dict(zip(labels, display_names(labels), strict=True))

    def show_progress(progress: RunProgress) -> None:
        if progress.dead is not None and len(names) > 1:
            tell(f"searchmark: {names[progress.label]}: {progress.dead}")
        report(progress)

    return show_progress


def _searched_text(where: SearchScope) -> str:
    sources = (where.corpus, *where.repositories, where.repository_path)
    return ", ".join(each for each in sources if each) or "what cases and agents bring along"


# ``--dry-run``: what a run would be like, as text.

SHOWN = 10  # repositories, machines

FEW_SECONDS = 10

MB, GB = 1 << 20, 1 << 30


def show_plan(experiment: Experiment) -> int:
    """Make the plan, with progress while agents are asked, and print it."""
    with progress_bars(experiment.labels, together=True) as report:
        plan = experiment.plan(report)
    show("".join(f"{harmless(line)}\n" for line in plan_lines(plan)))
    return EXIT_OK


def plan_lines(plan: RunEstimate) -> Iterator[str]:
    """The plan, line by line."""
    names = display_names([agent.label for agent in plan.agents])
    cases = sum(agent.cases for agent in plan.agents)
    yield f"{count_of(cases, 'case')} in {count_of(plan.blocks, 'block')} of at most {plan.largest_block}, on {plan.executor}"
    for name, agent in zip(names, plan.agents, strict=True):
        yield f"  {name}: {'; '.join(_agent(agent))}"
    yield from _where(plan)
    yield from _estimate(plan)


def _agent(agent: AgentEstimate) -> Iterator[str]:
    repositories = [f"{name} {count_of(blocks, 'block')}" for name, blocks in agent.blocks.items()]
    yield f"{count_of(agent.cases, 'case')}, {list_first(repositories, SHOWN)}"
    if agent.case_seconds is None:
        yield f"no time is known, since none of {count_of(agent.sampled, 'sampled case')} was answered"
        return
    failed = f", {agent.failed} of them failed" if agent.failed else ""
    yield f"{_seconds(agent.case_seconds)} per case ({count_of(agent.sampled, 'case')} sampled{failed})"
    yield f"{_seconds(agent.start_seconds)} to start a worker and build its index"
    if agent.memory_bytes is not None:
        yield f"{_bytes(agent.memory_bytes)} per worker"


def _where(plan: RunEstimate) -> Iterator[str]:
    if not plan.machines:
        yield "where: not known before the run"
        return
    workers = sum(machine.workers for machine in plan.machines)
    yield f"where: {count_of(workers, 'worker')} on {count_of(len(plan.machines), 'host')}"
    shares = Counter({number: machine.workers for number, machine in enumerate(plan.machines)})
    for number, machine in list(enumerate(plan.machines))[:SHOWN]:
        blocks = round(plan.blocks * shares[number] / workers)
        yield f"  {_machine(machine)}: {count_of(machine.workers, 'worker')}, about {count_of(blocks, 'block')}"
    if len(plan.machines) > SHOWN:
        yield f"  and {len(plan.machines) - SHOWN} more"


def _machine(machine: PlannedMachine) -> str:
    environment = machine.environment
    facts = [
        f"{environment.cores} cores" if environment.cores else None,
        _bytes(environment.memory_bytes) if environment.memory_bytes else None,
    ]
    return f"{environment.host or 'this machine'} ({', '.join(filter(None, facts))})"


def _estimate(plan: RunEstimate) -> Iterator[str]:
    if plan.work_seconds is None:
        yield "how long it takes cannot be told: an agent answered none of its sampled cases"
        return
    together = "" if plan.seconds is None else f", about {_seconds(plan.seconds)} with {count_of(plan.slots or 1, 'worker')}"
    yield f"estimated: {_seconds(plan.work_seconds)} of work{together}"
    if plan.worker_bytes is None:
        return
    yield f"memory: {_bytes(plan.worker_bytes)} per worker with all agents alive"
    for machine in plan.machines:
        needed_bytes, memory_bytes = plan.worker_bytes * machine.workers, machine.environment.memory_bytes
        if memory_bytes is not None and needed_bytes > memory_bytes:
            yield f"  {_machine(machine)} would need {_bytes(needed_bytes)}: use fewer workers there"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < FEW_SECONDS else duration(seconds)


def _bytes(size: int) -> str:
    return f"{size / GB:.1f} GB" if size >= GB else f"{size / MB:.0f} MB"
