"""What ``evaluate`` and ``compare`` share when they ask agents themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from searchmark.cli._corpus import chosen, corpus_options, with_corpus_of
from searchmark.cli._database import dsn_option
from searchmark.cli._fetching import brought_here, fetch_option, fetch_rest
from searchmark.cli._options import (
    HOW_TO_RUN,
    OUTPUT,
    RESUME,
    WHAT_TO_SEARCH,
    WHICH_CASES,
    Given,
    config_options,
    is_given,
    option,
    option_group,
    with_options,
)
from searchmark.cli._output import detail, remark, tell
from searchmark.cli._progress import progress_bars, resumable
from searchmark.config import Config
from searchmark.corpora.case_locations import Where
from searchmark.errors import UsageError
from searchmark.options.corpus_choice import FileChoice
from searchmark.options.experiment_options import CaseSelection, Resumption
from searchmark.options.option import option_fields
from searchmark.options.placement import Placement
from searchmark.options.run_options import RunOptions
from searchmark.records import Suite, display_names

if TYPE_CHECKING:
    from searchmark.agents.agent import AgentSpec
    from searchmark.experiments import Experiment
    from searchmark.running.request import Ran
    from searchmark.suites.native import SuiteSetup


@dataclass(frozen=True)
class LiveOptions:
    """What the command line says about asking agents, group by group."""

    where: Where
    chosen_files: Given[FileChoice]
    cases: CaseSelection
    given: Given[RunOptions]
    placement: Placement
    dry_run: bool
    resumption: Resumption
    save_run: str | None = None
    pass_env: tuple[str, ...] = ()
    fetch: bool = False

    def options(self, config: Config) -> RunOptions:
        """Command line over environment over file over defaults."""
        options = self.given.over(config.evaluation)
        if options.memory_limit_mb and sys.platform != "linux":
            raise UsageError("--memory-limit works on Linux only; leave it out")
        return options

    def searched(self, config: Config, told: Sequence[Path]) -> Where:
        """What is searched, as far as options, config and the file of the suite tell, the first of those that tell answers."""
        configured = config.dataset.repository_path  # several are a matter of mining
        where = replace(self.where, base=told[0].parent, repository_path=configured if isinstance(configured, str) else None)
        return chosen(where, self.chosen_files, config, told)

    def experiment(
        self, suite: Suite, agents: Sequence[AgentSpec], config: Config, told: Sequence[Path], repeats: int = 1
    ) -> Experiment:
        """What was asked for, as the library takes it; ``told`` are the files that tell the answers, that of the suite first."""
        from searchmark.experiments import Experiment

        where, options = self.searched(config, told), self.options(config)
        here = brought_here(where.named if where.corpus is None else [], network=options.network)
        where = _in_history_of(config, where)
        fetch_rest(self.fetch, [source.path for source in here], offline=not options.network)
        hidden = tuple(Path(path).absolute() for path in (*told, self.save_run) if path is not None)
        return Experiment(suite, agents, where, self.cases, options, self.resumption, repeats, hidden, self.placement)


def live_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options above, handed over as one object."""

    def bundled(**arguments: Any) -> Any:
        bundle = {each.name: arguments.pop(each.name) for each in fields(LiveOptions)}
        return command(live=LiveOptions(**bundle), **arguments)

    return with_options(
        bundled,
        command,
        option_group(Where, "where", WHAT_TO_SEARCH),
        corpus_options,
        fetch_option(WHAT_TO_SEARCH),
        dsn_option(WHAT_TO_SEARCH),
        option_group(CaseSelection, "cases", WHICH_CASES),
        config_options(RunOptions, "given", HOW_TO_RUN, "evaluation"),
        option_group(Placement, "placement", HOW_TO_RUN),
        option(
            HOW_TO_RUN,
            "--dry-run",
            is_flag=True,
            help="Ask each agent a few cases, say how much there is to do, where, and how long it may take; save nothing.",
        ),
        option(
            HOW_TO_RUN,
            "--pass-env",
            multiple=True,
            metavar="NAME",
            help="Environment variable that agents get although its name looks secret; repeatable.",
        ),
        option_group(Resumption, "resumption", RESUME),
        option(OUTPUT, "--save-run", metavar="PATH", help="Save the raw run (.jsonl, or .trec for TREC), or a folder for several."),
    )


def case_filter(command: Callable[..., Any]) -> Callable[..., Any]:
    """``-k`` and ``--category``, for verbs that run no agent."""
    return option_group(CaseSelection, "cases", WHICH_CASES, left_out=("sample", "shard", "last_failed"))(command)


def refuse_live_options() -> None:
    """A saved run is not run again, so options about running would be ignored. What the environment says is no request."""
    names = {each.name for group in (Where, RunOptions, Placement, Resumption) for each in option_fields(group)}
    asked = names - {"corpus", "mapping"} | {"last_failed", "save_run", "pass_env", "dry_run", "fetch", "dsn", "mode", "modes"}
    if is_given("sample", (ParameterSource.COMMANDLINE,)):
        asked -= {"seed"}  # which cases are drawn
    given = [
        max(parameter.opts, key=len)
        for parameter in click.get_current_context().command.params
        if parameter.name in asked and is_given(parameter.name, (ParameterSource.COMMANDLINE,))
    ]
    if given:
        verb = "belongs" if len(given) == 1 else "belong"
        raise UsageError(f"--run scores a saved run; {', '.join(sorted(given))} {verb} to a run with --agent")


def wanted_cases(suite: Suite, cases: CaseSelection, seed: int = 0) -> Suite:
    """The suite with the cases that were asked for, where no agent is run."""
    if cases == CaseSelection():
        return suite
    from searchmark.running.plan import selected

    return selected(suite, cases, seed)


def agent_specs(names: Sequence[str], modes: Sequence[str], config: Config, live: LiveOptions) -> tuple[AgentSpec, ...]:
    """The agents that were asked for, with what the config says about them, each in the modes that were asked for."""
    from searchmark.agents.modes import in_modes
    from searchmark.registry import named_spec

    specs = in_modes([named_spec(name, config.agents) for name in names], modes)
    return tuple(_allowed(spec, config, live) for spec in specs)


def configured_agents(config: Config) -> tuple[str, ...]:
    """The agents of the config by name, in its order, for a command line that names none; code among them is refused later."""
    return config.listed_agents


def only_agent(config: Config) -> str | None:
    """The agent that a config wants evaluated, or its only one; None if it lists none, and refused if nothing tells which.

    The first one of a built-in suite is the one that its gates are about.
    """
    if config.suite.agent is not None:
        return config.suite.agent
    names = configured_agents(config)
    if len(names) > 1 and config.builtin is None:
        raise UsageError(
            f"the config lists several agents: name one with --agent ({', '.join(names)}) or as suite.agent, or compare them all"
        )
    return names[0] if names else None


def one_agent(name: str | None, mode: str | None, setup: SuiteSetup, config: Config, live: LiveOptions) -> AgentSpec:
    """The agent that was asked for, or else that of the suite's header, in one mode; code is not taken from there."""
    from searchmark.agents.modes import in_one_mode
    from searchmark.registry import named_spec, spec_of_suite

    if name is None and setup.agent is not None:
        spec, wanted = spec_of_suite(setup.agent, config.agents), mode or setup.mode
    elif name is None and not any((mode or "") in spec.modes for spec in config.agents):
        spec, wanted = named_spec(mode or "", config.agents), None  # an agent by its own name, which is its only mode
    else:
        spec, wanted = named_spec(name or _agent_with(mode or "", config), config.agents), mode
    return _allowed(in_one_mode(spec, wanted, ": --mode NAME"), config, live)


def _agent_with(mode: str, config: Config) -> str:
    """The one agent of the config that has this mode: a mode may be named alone."""
    names = [spec.name for spec in config.agents if mode in spec.modes]
    if len(names) != 1:
        raise UsageError(f"--mode {mode} needs the agent that it is a mode of (--agent NAME); these have it: {', '.join(names)}")
    return names[0]


def _allowed(spec: AgentSpec, config: Config, live: LiveOptions) -> AgentSpec:
    """The agent with the variables that it is passed, refused if it would do what was forbidden."""
    from searchmark.registry import check_spec

    options = live.options(config)
    check_spec(spec, foreign=not options.no_exec, network=options.network)
    return replace(spec, env=(*spec.env, *live.pass_env))


def with_corpus(live: LiveOptions, setup: SuiteSetup, config: Config) -> LiveOptions:
    """The options with the corpus of the config or of the suite's header, where the command line names nothing to search."""
    elsewhere = live.where.repositories or live.where.snapshots
    network = live.options(config).network
    return live if elsewhere else replace(live, where=with_corpus_of(setup, config, live.where, network=network))


def _in_history_of(config: Config, where: Where) -> Where:
    """What is searched with the repository of a built-in suite, made or found now, where nothing else is named."""
    if config.builtin is None or where.corpus or where.repositories or where.repository_path:
        return where
    repository = config.builtin.repository()
    return where if repository is None else replace(where, repositories=(repository,))


def run_shown(experiment: Experiment, save_run: str | None) -> Ran:
    """Run it with bars on a terminal, say how to resume it after Ctrl-C, and save the runs if that was asked for."""
    from searchmark.runs import check_target, save_runs

    if save_run is not None:
        check_target(save_run, len(experiment.labels), experiment.suite.table.ids)
    resumed = experiment.resumption is not None and experiment.resumption.wanted
    if resumed and not experiment.cases.last_failed and not experiment.begun:
        remark("nothing to resume: no answers are saved yet, so this starts with the first case")
    detail(f"searched: {_searched(experiment.where)}")
    detail(f"asked: {', '.join(display_names(experiment.labels))}; searches per case: {experiment.options.num_runs}")
    with progress_bars(experiment.labels, together=experiment.on_executor) as report, resumable(resumed=resumed):
        ran = experiment.run(report)
    if save_run is not None:
        lost: list[str] = []
        for path in save_runs(ran.runs, save_run, lost.append):
            remark(f"written: {path}")
        for sentence in lost:
            tell(f"not in it: {sentence}")
    return ran


def _searched(where: Where) -> str:
    named = (where.corpus, *where.repositories, where.repository_path)
    return ", ".join(each for each in named if each) or "what cases and agents bring along"
