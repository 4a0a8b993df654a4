"""What ``evaluate`` and ``compare`` share when they ask agents themselves: options, places, progress, journals."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from searchmark.cli._groups import CaseSelection, Resumption
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
from searchmark.cli._places import PARENT, Where, labels_of, places_of
from searchmark.config import Config
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.options.option import option_fields
from searchmark.options.run_options import RunOptions
from searchmark.records import RunLabel, Suite, display_names

if TYPE_CHECKING:
    from searchmark.agents.agent import AgentSpec
    from searchmark.options.run_options import RunOptions
    from searchmark.running.agent_run import Progress
    from searchmark.running.runner import Ran


@dataclass(frozen=True)
class LiveOptions:
    """What the command line says about asking agents, group by group."""

    where: Where
    cases: CaseSelection
    given: Given[RunOptions]
    resumption: Resumption
    save_run: str | None = None

    def options(self, config: Config) -> RunOptions:
        """Command line over environment over file over defaults."""
        options = self.given.over(config.evaluation)
        if options.memory_limit_mb and sys.platform != "linux":
            raise UsageError("a memory limit can only be kept on Linux; leave it out")
        return options


def live_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options above, handed over as one object."""

    def bundled(*, save_run: str | None, **arguments: Any) -> Any:
        groups = {name: arguments.pop(name) for name in ("where", "cases", "given", "resumption")}
        return command(live=LiveOptions(**groups, save_run=save_run), **arguments)

    return with_options(
        bundled,
        command,
        option_group(Where, "where", WHAT_TO_SEARCH),
        option_group(CaseSelection, "cases", WHICH_CASES),
        config_options(RunOptions, "given", HOW_TO_RUN, "evaluation"),
        option_group(Resumption, "resumption", RESUME),
        option(OUTPUT, "--save-run", metavar="PATH", help="Save the raw run (.jsonl), or a folder for several."),
    )


def refuse_live_options() -> None:
    """A saved run is not run again, so options about running would be ignored. What the environment says is no request."""
    names = {each.name for group in (Where, CaseSelection, RunOptions, Resumption) for each in option_fields(group)}
    asked = names - {"corpus", "mapping"} | {"save_run"}
    given = [
        max(parameter.opts, key=len)
        for parameter in click.get_current_context().command.params
        if parameter.name in asked and is_given(parameter.name, (ParameterSource.COMMANDLINE,))
    ]
    if given:
        raise UsageError(f"--run scores a saved run; {', '.join(sorted(given))} belong to a run with --agent")


def agent_specs(names: Sequence[str], config: Config, live: LiveOptions) -> tuple[AgentSpec, ...]:
    """The agents that were asked for, with what the config says about them."""
    from searchmark.registry import spec_of

    return tuple(spec_of(name, config.agents, foreign=not live.options(config).no_exec) for name in names)


def labels_of_runs(suite: Suite, agents: Sequence[AgentSpec], live: LiveOptions, repeats: Sequence[int] = (1,)) -> list[RunLabel]:
    """The labels that the runs of these agents will have."""
    labels = labels_of(suite, live.where)
    return [RunLabel(agent.name, snapshot, repeat) for agent in agents for repeat in repeats for snapshot in labels]


def run_live(
    suite: Suite,
    agents: Sequence[AgentSpec],
    config: Config,
    live: LiveOptions,
    base: Path,
    repeats: Sequence[int] = (1,),
) -> tuple[Suite, Ran]:
    """Filter the suite, find out where to search, ask the agents, save what was asked to be saved."""
    from searchmark.running.agent_run import Entrant
    from searchmark.running.plan import Filters, filtered, parse_shard
    from searchmark.running.runner import Request, run_agents

    options, cases = live.options(config), live.cases
    where = replace(live.where, base=base)
    labels = labels_of(suite, where)
    arms = [(spec, RunLabel(spec.name, snapshot, repeat)) for spec in agents for repeat in repeats for snapshot in labels]
    journals = {label: _journal_path(suite, label, live, options.seed) for _, label in arms}
    shard = None if cases.shard is None else parse_shard(cases.shard)
    filters = Filters(cases.text, cases.categories, cases.sample, shard, _last_failed(journals, cases))
    wanted = filtered(suite, filters, options.seed)
    places = {label: places_of(wanted, config, where, label) for label in labels}
    if cases.last_failed:
        journals = {name: _only_failed(path) for name, path in journals.items()}
    entrants = tuple(Entrant(spec, places[label.snapshot], label) for spec, label in arms)
    request = Request(wanted, entrants, options, journals, live.resumption.wanted, live.resumption.retry_errors)
    with _progress(len(wanted), [label for _, label in arms]) as report, _resumable(live.resumption):
        ran = run_agents(request, report)
    _save(ran, live.save_run)
    return wanted, ran


def _journal_path(suite: Suite, label: RunLabel, live: LiveOptions, seed: int) -> Path:
    """One journal per suite, label and choice of cases, so that none of them overwrites another."""
    snapshot = f"@{label.snapshot}" if label.snapshot not in (None, PARENT) else ""
    agent = f"{label.agent}{snapshot}" + (f"#{label.repeat}" if label.repeat > 1 else "")
    cases = live.cases
    chosen = [cases.text, *cases.categories, cases.sample, seed if cases.sample else None, cases.shard]
    choice = hashlib.sha256(repr(chosen).encode("utf-8", "surrogatepass")).hexdigest()[:8] if any(chosen) else ""
    name = ".".join(filter(None, [_file_name(suite.name), _file_name(agent), choice]))
    return Path(live.resumption.journal_folder) / f"{name}.jsonl"


def _file_name(text: str) -> str:
    """A name that files can have; where it is not the text itself, a digest keeps it apart from others."""
    plain = re.sub(r"[^\w.@+#-]+", "-", text)[:80].lstrip(".")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return plain if plain == text else f"{plain}-{digest}"


def _only_failed(journal: Path) -> Path:
    return journal.with_suffix(".last-failed.jsonl")


def _last_failed(journals: Mapping[RunLabel, Path], cases: CaseSelection) -> frozenset[str] | None:
    if not cases.last_failed:
        return None
    from searchmark.running.agent_run import RETRIED
    from searchmark.running.journal import journal_entries

    entries = [journal_entries(path) | journal_entries(_only_failed(path)) for path in journals.values()]
    if not any(entries):
        raise UsageError(f"there is no last run: {', '.join(map(str, journals.values()))} holds no answers")
    failed = frozenset(case for each in entries for case, entry in each.items() if entry.outcome.status in RETRIED)
    if not failed:
        raise NothingEvaluated("no case failed in the last run")
    return failed


@contextmanager
def _resumable(resumption: Resumption) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        more = "" if resumption.resume else " with --resume"
        click.echo(f"\nsearchmark: the answers so far are kept; run the same command{more} to continue", err=True)
        raise


@contextmanager
def _progress(cases: int, labels: Sequence[RunLabel]) -> Iterator[Callable[[Progress], None]]:
    """Bars with rate, failures and time left, on a terminal only."""
    if not sys.stderr or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]} {task.fields[failed]}", markup=False),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        named = zip(labels, display_names(labels), strict=True)
        tasks = {label: bars.add_task(name, total=cases, rate="", failed="") for label, name in named}

        def report(progress: Progress) -> None:
            task = tasks[progress.label]
            speed = bars.tasks[task].speed
            bars.update(
                task,
                completed=progress.done,
                rate=f"{speed:.3g} cases/s" if speed else "",
                failed=progress.doing or (f"{progress.failed} failed" if progress.failed else ""),
            )

        yield report


def _save(ran: Ran, target: str | None) -> None:
    if target is None:
        return
    from searchmark.runs import save_run

    folder = Path(target)
    several = len(ran.runs) > 1 or folder.is_dir() or not folder.suffix
    for run, name in zip(ran.runs, display_names([run.label for run in ran.runs]), strict=True):
        path = folder / f"{_file_name(name)}.jsonl" if several else folder
        save_run(run, path)
        click.echo(f"written: {path}", err=True)
