"""What ``evaluate`` and ``compare`` share when they ask agents themselves: options, locations, progress, journals."""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from searchmark.config import Config
from searchmark.corpora.case_locations import Where, locations_of, snapshots_of
from searchmark.corpora.corpus import FieldMapping
from searchmark.corpora.directory import OUR_FOLDER
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.records import Suite

if TYPE_CHECKING:
    from searchmark.agents.agent import AgentSpec
    from searchmark.running.agent_run import Progress
    from searchmark.running.options import RunOptions
    from searchmark.running.runner import Ran

LONGEST_TIMEOUT = 1_000_000

_OPTIONS = (
    click.option("--repo", "repos", multiple=True, metavar="[NAME=]PATH", help="Folder to search; NAME where cases name theirs."),
    click.option("--snapshot", "snapshots", multiple=True, metavar="WHEN",
                 help="State of the repository: parent (of each case's commit), head, worktree, or a revision."),
    click.option("--candidates", type=click.Choice(("gold", "all")), default="gold", show_default=True,
                 help="Files of a snapshot that are searched: those that targets were chosen from, or all."),
    click.option("--num-runs", type=click.IntRange(1), envvar="SEARCHMARK_NUM_RUNS",
                 help="Searches per case: one cold, the rest warm (plain: 3)."),
    click.option("--timeout", "timeout_seconds", type=click.FloatRange(0, min_open=True), envvar="SEARCHMARK_TIMEOUT",
                 help="Seconds per search (plain: 30)."),
    click.option("--depth", type=click.IntRange(1, 1_000_000), envvar="SEARCHMARK_DEPTH",
                 help="How many hits are asked for and kept (plain: 100)."),
    click.option("--seed", type=int, envvar="SEARCHMARK_SEED",
                 help="Decides the order of the cases and what --sample draws (plain: 0)."),
    click.option("--jobs", type=click.IntRange(1), envvar="SEARCHMARK_JOBS",
                 help="Workers side by side; latencies are then marked as under load."),
    click.option("--memory-limit", "memory_limit_mb", type=click.IntRange(1, 1 << 30), metavar="MB",
                 help="Memory that an agent may have (Linux)."),
    click.option("--max-failures", type=click.IntRange(1), help="After so many failures in a row the rest is not run (plain: 10)."),
    click.option("-k", "text", metavar="TEXT", help="Only cases whose id or query contains this."),
    click.option("--category", "categories", multiple=True, metavar="NAME",
                 help="Only cases of this category, by name or number; repeatable."),
    click.option("--sample", type=click.IntRange(1), metavar="N", help="Only N cases, drawn by the seed."),
    click.option("--shard", metavar="I/N", help="Only the I-th of N parts of the cases."),
    click.option("--resume", is_flag=True, help="Go on where the same command was interrupted."),
    click.option("--retry-errors", is_flag=True, help="Go on, and ask again what ended in an error or a time-out."),
    click.option("--last-failed", is_flag=True, help="Only cases that ended in an error or a time-out last time."),
    click.option("--journal", "journal_folder", metavar="FOLDER",
                 help="Where answers are written down as they come (plain: .searchmark)."),
    click.option("--save-run", metavar="PATH", help="Save the raw run (.jsonl), or a folder for several."),
    click.option("--no-exec", is_flag=True, help="Refuse all agents but the built-in ones: for configs of strangers."),
)  # fmt: skip


@dataclass(frozen=True)
class LiveOptions:
    """The options of the command line that say how to run."""

    repos: tuple[str, ...]
    snapshots: tuple[str, ...]
    candidates: Literal["gold", "all"]
    num_runs: int | None
    timeout_seconds: float | None
    depth: int | None
    seed: int | None
    jobs: int | None
    memory_limit_mb: int | None
    max_failures: int | None
    text: str | None
    categories: tuple[str, ...]
    sample: int | None
    shard: str | None
    resume: bool
    retry_errors: bool
    last_failed: bool
    journal_folder: str | None
    save_run: str | None
    no_exec: bool

    def given(self) -> list[str]:
        """The names of those that were set."""
        return [each.name for each in fields(self) if getattr(self, each.name) not in (None, (), False, "gold")]


def live_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options above, handed over as one object."""

    def collected(**arguments: Any) -> Any:
        mine = {each.name: arguments.pop(each.name) for each in fields(LiveOptions)}
        return command(live=LiveOptions(**mine), **arguments)

    collected.__doc__ = command.__doc__
    collected.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]  # click's own way to collect them
    wrapped: Callable[..., Any] = collected
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def refuse_live_options(live: LiveOptions) -> None:
    """A saved run is not run again, so options about running would be ignored. What the environment says is no request."""
    context = click.get_current_context()
    given = [name for name in live.given() if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        raise UsageError(f"--run scores a saved run; {', '.join(sorted(given))} belong to a run with --agent")


def agent_specs(names: Sequence[str], config: Config, live: LiveOptions) -> tuple[AgentSpec, ...]:
    """The agents that were asked for, with what the config says about them."""
    from searchmark.agents.agent import AgentSpec
    from searchmark.registry import canonical, spec_of

    configured = [AgentSpec(each.name, canonical(each.source or each.name), each.config) for each in config.agents]
    return tuple(spec_of(name, configured, foreign=not live.no_exec) for name in names)


def names_of(suite: Suite, agents: Sequence[AgentSpec], live: LiveOptions, corpus: str | None) -> list[str]:
    """The names that the runs of these agents will have."""
    labels = snapshots_of(suite, Where(corpus, live.repos, live.snapshots))
    return [_arm(agent.name, label, labels) for agent in agents for label in labels]


def run_live(
    suite: Suite,
    agents: Sequence[AgentSpec],
    config: Config,
    live: LiveOptions,
    corpus: str | None,
    mapping: tuple[str, ...],
    base: Path,
) -> tuple[Suite, Ran]:
    """Filter the suite, find out where to search, ask the agents, save what was asked to be saved."""
    from searchmark.running.agent_run import Entrant
    from searchmark.running.plan import Filters, filtered, parse_shard
    from searchmark.running.runner import Request, run_agents

    options = _run_options(config, live)
    configured = config.dataset.repository_path  # several are a matter of mining
    where = Where(
        corpus,
        live.repos,
        live.snapshots,
        live.candidates,
        FieldMapping.parse(mapping) if mapping else None,
        base,
        configured if isinstance(configured, str) else None,
    )
    labels = snapshots_of(suite, where)
    arms = [(replace(agent, name=_arm(agent.name, label, labels)), label) for agent in agents for label in labels]
    journals = {spec.name: _journal_path(suite, spec.name, live) for spec, _ in arms}
    shard = None if live.shard is None else parse_shard(live.shard)
    filters = Filters(live.text, live.categories, live.sample, shard, _last_failed(journals, live))
    wanted = filtered(suite, filters, options.seed)
    locations = {label: locations_of(wanted, where, label) for label in labels}
    if live.last_failed:
        journals = {name: _only_failed(path) for name, path in journals.items()}
    entrants = tuple(Entrant(spec, locations[label], label) for spec, label in arms)
    request = Request(wanted, entrants, options, journals, live.resume or live.retry_errors, live.retry_errors)
    with _progress(len(wanted), [spec.name for spec, _ in arms]) as report, _resumable(live):
        ran = run_agents(request, report)
    _save(ran, live.save_run)
    return wanted, ran


def _arm(agent: str, label: str | None, labels: Sequence[str | None]) -> str:
    """An agent that is asked about several snapshots has a name for each."""
    return f"{agent}@{label}" if len(labels) > 1 else agent


def _run_options(config: Config, live: LiveOptions) -> RunOptions:
    """Command line and environment over file over defaults."""
    from searchmark.running.options import RunOptions

    named = {each.name for each in fields(RunOptions)}
    given = {
        key: value
        for source in (config.evaluation, live)
        for key, value in vars(source).items()
        if key in named and value is not None
    }
    options = replace(RunOptions(), **given, foreign=not live.no_exec)
    for name in ("timeout_seconds", "initialize_timeout_seconds"):
        value = getattr(options, name)
        if value is not None and not (math.isfinite(value) and value <= LONGEST_TIMEOUT):
            raise UsageError(f"{name} is {value:g}, and must be {LONGEST_TIMEOUT} seconds at most")
    if options.memory_limit_mb and sys.platform != "linux":
        raise UsageError("a memory limit can only be kept on Linux; leave it out")
    return options


def _journal_path(suite: Suite, agent: str, live: LiveOptions) -> Path:
    """One journal per suite, agent and choice of cases, so that none of them overwrites another."""
    chosen = [live.text, *live.categories, live.sample, live.seed if live.sample else None, live.shard]
    choice = hashlib.sha256(repr(chosen).encode("utf-8", "surrogatepass")).hexdigest()[:8] if any(chosen) else ""
    name = ".".join(filter(None, [_file_name(suite.name), _file_name(agent), choice]))
    folder = Path(live.journal_folder or OUR_FOLDER)
    return folder / f"{name}.jsonl"


def _file_name(text: str) -> str:
    """A name that files can have; where it is not the text itself, a digest keeps it apart from others."""
    plain = re.sub(r"[^\w.@+#-]+", "-", text)[:80].lstrip(".")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return plain if plain == text else f"{plain}-{digest}"


def _only_failed(journal: Path) -> Path:
    return journal.with_suffix(".last-failed.jsonl")


def _last_failed(journals: Mapping[str, Path], live: LiveOptions) -> frozenset[str] | None:
    if not live.last_failed:
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
def _resumable(live: LiveOptions) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        more = "" if live.resume else " with --resume"
        click.echo(f"\nsearchmark: the answers so far are kept; the same command{more} goes on", err=True)
        raise


@contextmanager
def _progress(cases: int, agents: Sequence[str]) -> Iterator[Callable[[Progress], None]]:
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
        tasks = {name: bars.add_task(name, total=cases, rate="", failed="") for name in agents}

        def report(progress: Progress) -> None:
            task = tasks[progress.agent]
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
    for run in ran.runs:
        path = folder / f"{_file_name(run.agent)}.jsonl" if several else folder
        save_run(run, path)
        click.echo(f"written: {path}", err=True)
