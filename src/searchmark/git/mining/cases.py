"""A share of the commits of a repository becomes cases: they are looked at, and their trees say what a query gives away.

A share needs nothing of another one, so shares can be made side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from searchmark.config import DatasetConfig
from searchmark.errors import UsageError
from searchmark.executors.choice import ProcessChoice
from searchmark.executors.completion import Completion, TaskLost
from searchmark.executors.opening import opened
from searchmark.executors.telling import Telling
from searchmark.files.json_rows import row_text
from searchmark.files.store import collector_paused
from searchmark.history.repository import Repository, open_repository
from searchmark.history.sources import RepositorySource
from searchmark.mining.candidates import Candidate, candidates_among
from searchmark.mining.cases import Leakage, MinedCase, Rewrite
from searchmark.mining.drafts import PathBook
from searchmark.mining.leakage import leak_of, masked, overlap, rare_identifiers
from searchmark.mining.ledger import RemovedCommit
from searchmark.mining.selection import SelectedCommit
from searchmark.mining.spool import Spool, SpoolWriter
from searchmark.mining.tree_names import TreeNames, names_along

_SHORT_HASH = 12
OnShare = Callable[[str, int], None]  # which phase, and how many commits are through it


@dataclass(frozen=True)
class MadeCase:
    """What is known of a case while it waits in a file."""

    commit: str
    origin: str
    unreachable_files: int
    targets: bytes  # a digest: which cases have the same
    edited: bool


@dataclass(frozen=True)
class Share:
    """The cases of some commits, in their order and as rows of a gold set, and the commits that turned out to make none."""

    made: tuple[MadeCase, ...]
    rows: Spool[bytes]
    removed: tuple[RemovedCommit, ...]


def make_cases(
    repository: Repository,
    name: str,
    selected: Sequence[SelectedCommit],
    book: PathBook,
    options: DatasetConfig,
    folder: Path,
    rewrite: Rewrite | None = None,
    on_share: OnShare | None = None,
) -> Share:
    """Make cases of some commits of the repository that is called ``name``. They wait in ``folder``, which is empty."""
    tell = on_share or (lambda _, __: None)
    file = folder / "candidates"
    found = candidates_among(repository, selected, book, options, file, rewrite, lambda done: tell("targets", done))
    trees = names_along(repository, [candidate.parent for candidate in found.waiting], book, found.identifiers)
    made: list[MadeCase] = []
    with SpoolWriter[bytes](folder / "cases") as spool:
        for candidate, tree in zip(found.waiting, trees, strict=True):
            spool.add(row_text(_case(name, candidate, tree, options).as_json()))
            made.append(_made(candidate))
            tell("cases", len(made))
        rows = spool.finished()
    file.unlink()
    return Share(tuple(made), rows, found.removed)


def _made(candidate: Candidate) -> MadeCase:
    paths = "\0".join(sorted(target.path for target in candidate.targets))
    targets = sha256(paths.encode("utf-8", "surrogateescape")).digest()
    return MadeCase(candidate.commit, candidate.origin, len(candidate.unreachable), targets, candidate.edited)


class _ShareTask(NamedTuple):
    """A share that another process makes; it opens the repository for itself. ``number`` is its place in the history."""

    number: int
    source: RepositorySource
    selected: Spool[tuple[SelectedCommit, ...]]  # one record
    options: DatasetConfig
    folder: Path


def make_side_by_side(
    source: RepositorySource,
    selected: Sequence[SelectedCommit],
    options: DatasetConfig,
    folder: Path,
    jobs: int,
    tell: OnShare | None,
) -> list[Share]:
    """Make cases in several processes, each of a stretch of history; ``tell`` hears of all together."""
    bounds = [len(selected) * number // jobs for number in range(jobs + 1)]
    folders = [folder / str(number) for number in range(jobs)]
    tasks = []
    for number, ((low, high), own) in enumerate(zip(pairwise(bounds), folders, strict=True)):
        own.mkdir()
        tasks.append(_ShareTask(number, source, _spooled(tuple(selected[low:high]), own / "selected"), options, own))
    done: dict[str, dict[int, int]] = {}

    def hear(task: _ShareTask, news: tuple[str, int]) -> None:
        phase, count = news
        counts = done.setdefault(phase, {})
        counts[task.number] = count
        if tell is not None:
            tell(phase, sum(counts.values()))

    return _made_by_processes(tasks, None if tell is None else hear)


def _made_by_processes(tasks: Sequence[_ShareTask], hear: Callable[[_ShareTask, tuple[str, int]], None] | None) -> list[Share]:
    made: dict[int, Share] = {}
    with opened(ProcessChoice(len(tasks))) as pool:
        for outcome in Completion(pool, Telling(_make, hear), tasks):
            if isinstance(outcome, TaskLost):
                raise UsageError(f"{outcome.losses} processes that mined were lost: {outcome.reason}; try --jobs 1")
            made[outcome.task.number] = outcome.result
    return [made[task.number] for task in tasks]


def _spooled(stretch: tuple[SelectedCommit, ...], file: Path) -> Spool[tuple[SelectedCommit, ...]]:
    """A stretch in a file: a process that dies before it has read a large message would leave us writing for ever."""
    with SpoolWriter[tuple[SelectedCommit, ...]](file) as spool:
        spool.add(stretch)
        return spool.finished()


def _make(task: _ShareTask, tell: Callable[[tuple[str, int]], None]) -> Share:
    book = PathBook(task.options)
    (selected,) = task.selected
    folder = Path(mkdtemp(dir=task.folder))  # a process that was lost may have left files of its own
    with open_repository(task.source.path) as repository, collector_paused():
        return make_cases(
            repository,
            task.source.label,
            selected,
            book,
            task.options,
            folder,
            on_share=lambda phase, done: tell((phase, done)),
        )


def _case(name: str, candidate: Candidate, tree: TreeNames, options: DatasetConfig) -> MinedCase:
    variants = _variants(candidate, tree)
    query = variants["masked"] if options.query == "masked" and not candidate.edited else candidate.text
    paths = tuple(target.path for target in candidate.targets)
    return MinedCase(
        id=f"{name}@{candidate.commit[:_SHORT_HASH]}",
        repository=name,
        commit=candidate.commit,
        parent=candidate.parent,
        unit=candidate.unit,
        origin=candidate.origin,
        query=query,
        variants=variants,
        transformation=_transformation(candidate, options),
        transformation_error=None if candidate.rewriting is None else candidate.rewriting.reason,
        ground_truth=paths,
        ground_truth_lines=_places(candidate) if options.granularity == "lines" else (),
        unreachable=candidate.unreachable,
        targets=candidate.targets + candidate.beside,
        time=candidate.time,
        leakage=Leakage(
            leak_of(query, paths, tree),
            rare_identifiers(query, candidate.identifiers_inside, tree),
            overlap(query, candidate.words_inside),
        ),
        scope=candidate.scope,
        encoding_guessed=candidate.encoding_guessed,
    )


def _places(candidate: Candidate) -> tuple[str, ...]:
    return tuple(place for target in candidate.targets for place in target.places)


def _variants(candidate: Candidate, tree: TreeNames) -> dict[str, str]:
    rewritten = None if candidate.rewriting is None else candidate.rewriting.text
    return {
        "raw": candidate.raw,
        "subject": candidate.subject,
        "clean": candidate.clean,
        "masked": masked(candidate.clean, tree),
        **({} if rewritten is None else {"llm": rewritten}),
        **({"edited": candidate.text} if candidate.edited else {}),
    }


def _transformation(candidate: Candidate, options: DatasetConfig) -> str:
    if candidate.edited:
        return "edited"
    if options.query == "raw":
        return "raw"
    if options.query != "llm":
        return "rule"
    return "llm" if candidate.rewriting is not None and candidate.rewriting.text is not None else "llm_failed"
