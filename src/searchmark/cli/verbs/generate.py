"""The verb `searchmark generate`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from searchmark.cli.groups import ConfigFile
from searchmark.cli.live import clone_sources, fetch_flag, fetch_rest
from searchmark.cli.options import HOW_TO_RUN, OUTPUT, ConfigGroup, Flag, GivenSettings, OptionGroup, precedence, verb
from searchmark.cli.output import harmless, remark, show, tell
from searchmark.cli.progress import status_line
from searchmark.cli.terminal import Verbosity, is_live, verbosity
from searchmark.config.run import ExecutorSettings
from searchmark.config.sections import Config, DatasetSettings
from searchmark.errors import UsageError
from searchmark.git.clones import RepositorySource, parse_repositories
from searchmark.git.mining.decisions import NO_DECISIONS, Decisions, decisions_path, read_decisions
from searchmark.git.mining.mine import MiningFacts, MiningProgress, OnProgress
from searchmark.git.repository import FETCH_ALL
from searchmark.io.network import network_forbidden
from searchmark.io.paths import is_address
from searchmark.judgments.gold_sets import generate_gold_set
from searchmark.records.sentences import count_of, list_first

if TYPE_CHECKING:
    from searchmark.git.mining.cases import Rewrite


WHAT_TO_MINE, WHICH_COMMITS = "What to mine", "Which commits"

SHOWN_NAMES = 5

OTHER_FORMATS = (".yaml", ".yml", ".toml", ".jsonl", ".csv", ".tsv", ".txt", ".md", ".html", ".parquet")


@dataclass(frozen=True)
class GenerateCommand:
    """The arguments and options of ``generate``."""

    repos: Annotated[
        tuple[str, ...],
        Flag(
            WHAT_TO_MINE,
            "--repo",
            multiple=True,
            metavar="[NAME=]PATH",
            help="Repository to mine, a folder or URL@COMMIT; repeatable.",
        ),
    ]
    fetch: Annotated[bool, fetch_flag(WHAT_TO_MINE)]
    config: Annotated[Config, ConfigFile(WHAT_TO_MINE, "a section 'dataset'")]
    given: Annotated[GivenSettings[DatasetSettings], ConfigGroup(WHICH_COMMITS, "dataset")]
    jobs: Annotated[
        int | None,
        Flag(
            HOW_TO_RUN,
            "--jobs",
            type=click.IntRange(min=1),
            metavar="N",
            show_default="one per processor",
            help="Number of parallel processes.",
        ),
    ]
    placement: Annotated[ExecutorSettings, OptionGroup(HOW_TO_RUN, left_out=("wheels",))]
    offline: Annotated[
        bool,
        Flag(HOW_TO_RUN, "--offline", is_flag=True, help="Use no network, loopback included: no --query llm, and no new clone."),
    ]
    decisions: Annotated[
        str | None,
        Flag(
            WHICH_COMMITS,
            "--decisions",
            metavar="FILE",
            show_default="the file beside the output, if there is one",
            help="Decisions of people about cases, as 'searchmark cases' records them (.jsonl).",
        ),
    ]
    fresh: Annotated[
        bool,
        Flag(WHICH_COMMITS, "--fresh", is_flag=True, help="Keep no case of the gold set that is there only because it was in it."),
    ]
    output: Annotated[str | None, Flag(OUTPUT, "-o", "--output", metavar="FILE", help="Gold set to write (.json).")]
    explained: Annotated[
        str | None, Flag(OUTPUT, "--explain", metavar="COMMIT", help="Say why this commit is in or out, and write nothing.")
    ]


@verb(
    "generate",
    GenerateCommand,
    short_help="Mine a gold set from the history of Git repositories.",
    epilog=precedence("dataset", "max_cases"),
)
def command(settings: GenerateCommand) -> None:
    """Mine a gold set from the history of Git repositories.

    A commit's message becomes the query, the files that it changes the targets, its parent the tree to search.
    The file says what was removed, by which rule.

    \b
    searchmark generate --repo . --output gold_set.json --max-cases 200 --sample spread
    searchmark generate --repo api=../api --repo web=../web --output gold_set.json --unit auto
    searchmark generate --repo api=../api --repo web=../web --output gold_set.json --executor dask://host:8786 --ship
    """
    options = settings.given.over(settings.config.dataset)
    if settings.offline and options.query == "llm":
        raise UsageError("--query llm asks a service, and --offline allows no network; choose a different --query")
    sources = parse_repositories(settings.repos or _configured_repositories(options))
    if settings.placement.executor is None or settings.explained is not None:  # others fetch for themselves
        sources = clone_sources(sources, network=not settings.offline)
    fetch_rest(settings.fetch, [source.path for source in sources if not is_address(source.path)], offline=settings.offline)
    if settings.explained is not None:
        return _explain(sources, settings.explained, options, _load_decisions(settings.decisions, settings.output))
    if settings.output is None:
        raise UsageError("--output is missing; name the file to write the gold set to")
    _check_output(Path(settings.output))
    with _allowed_network(offline=settings.offline), _rewriting(options) as rewrite, mining_progress() as on_progress:
        mining_facts = generate_gold_set(
            sources, settings.output, options, jobs=settings.jobs or os.cpu_count() or 1, rewrite=rewrite,
            on_progress=on_progress, decisions=settings.decisions, placement=settings.placement, fresh=settings.fresh,
        )  # fmt: skip
    for sentence in (sentence for facts in mining_facts for sentence in summary(facts)):
        tell(sentence)
    for sentence in _unapplied_decisions(_load_decisions(settings.decisions, settings.output), sources):
        tell(sentence)
    remark(f"written: {settings.output}")
    return None


def _unapplied_decisions(decisions: Decisions, sources: Sequence[RepositorySource]) -> Iterator[str]:
    """Decisions that could not be applied: a repository is known by its name, which may be another one this time."""
    others = decisions.elsewhere(source.label for source in sources)
    if others:
        names = sorted({one.repository for one in others})
        yield (
            f"{decisions.file}: {count_of(len(others), 'decision')} not applied, since no repository of that name was mined: "
            f"{list_first(names, SHOWN_NAMES)} (--repo NAME=PATH says what a repository is called)"
        )


def _check_output(output: Path) -> None:
    if output.is_dir():
        raise UsageError(f"{output} cannot be written: it is a folder")
    if output.suffix.lower() in OTHER_FORMATS:
        raise UsageError(
            f"{output}: a gold set is written as JSON; name the file {output.with_suffix('.json').name}, "
            "and 'searchmark convert' writes it in another format"
        )


def _configured_repositories(options: DatasetSettings) -> tuple[str, ...]:
    paths = (options.repository_path,) if isinstance(options.repository_path, str) else options.repository_path
    if not paths:
        raise UsageError("no repository: name one with --repo, or in the config as dataset.repository_path")
    return paths


def _allowed_network(*, offline: bool) -> AbstractContextManager[None]:
    return network_forbidden() if offline else nullcontext()


@contextmanager
def _rewriting(options: DatasetSettings) -> Iterator[Rewrite | None]:
    if options.query != "llm":
        yield None
        return
    if options.rewriter is None:
        raise UsageError("--query llm needs 'dataset.rewriter' with a model in the config; see 'searchmark docs gold-sets'")
    from searchmark.judgments.gold_sets import Rewriter

    with Rewriter(options.rewriter, tell) as rewriter:
        yield rewriter.rewrite


def _load_decisions(decisions: str | None, output: str | None) -> Decisions:
    if decisions is not None:
        return read_decisions(decisions)
    return NO_DECISIONS if output is None else read_decisions(decisions_path(output), missing_ok=True)


def _explain(sources: list[RepositorySource], commit: str, options: DatasetSettings, decisions: Decisions) -> None:
    from searchmark.git.mining.mine import explain_commit

    if len(sources) != 1:
        raise UsageError("--explain is about one commit of one repository; name one --repo")
    for line in explain_commit(sources[0], commit, options, decisions):
        show(f"{harmless(line)}\n")


def summary(facts: MiningFacts) -> Iterator[str]:
    """What was mined from a repository, and what was removed by which rule."""
    name, removals = facts.repository, ", ".join(f"{rule} {count.commits}" for rule, count in facts.ledger.items())
    yield f"{name}: {facts.commits_analyzed} commits read, {facts.commits_passed} passed, {facts.cases} cases"
    if facts.kept or facts.lost:
        changes = f"{facts.kept} cases kept, {facts.cases - facts.kept} added, {facts.lost} dropped"
        yield f"{name}: beside the gold set that was there: {changes} (--fresh keeps none for being there)"
    if facts.origins < facts.cases:
        yield f"{name}: {facts.origins} origins, the largest of {facts.largest_origin} cases, which depend on each other"
    if facts.largest_target_set > 1:
        same = f"{facts.largest_target_set} of {facts.cases} cases"
        yield f"{name}: {facts.target_sets} sets of targets, the most frequent one in {same} (--max-alike bounds that)"
    if facts.edited:
        yield f"{name}: {facts.edited} queries are those of the file of decisions"
    if facts.unused_decisions:
        yield f"{name}: {facts.unused_decisions} decisions are about commits that make no case anyway, or are not in this history"
    if removals:
        yield f"{name}: removed: {removals}"
    if facts.unreachable_files:
        yield f"{name}: {facts.unreachable_files} files were created by their commit and cannot be found (unreachable_files)"
    if facts.shallow:
        yield f"{name}: the clone is shallow, so its history ends early; {FETCH_ALL}"
    if facts.malformed:
        yield f"{name}: malformed and skipped: {', '.join(facts.malformed)}"


@contextmanager
def mining_progress() -> Iterator[OnProgress | None]:
    """A bar per repository on a terminal, else a line every ten seconds; neither if the user wants quiet."""
    if sys.stderr is None or verbosity() is Verbosity.QUIET:
        yield None
        return
    if not is_live(sys.stderr):
        with status_line("mining") as say:
            yield lambda each: say(f"{each.repository}: {each.phase}, {each.done} of {each.total or 'all'}, kept {each.kept}")
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("kept {task.fields[kept]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[tuple[str, str], Any] = {}

        def tell(progress: MiningProgress) -> None:
            key = progress.repository, progress.phase
            if key not in tasks:
                tasks[key] = bars.add_task(
                    escape(harmless(f"{progress.repository}: {progress.phase}")), total=progress.total, kept=0
                )
            bars.update(tasks[key], completed=progress.done, kept=progress.kept)

        yield tell
