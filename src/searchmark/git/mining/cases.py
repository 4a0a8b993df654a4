"""From selected commits to cases, in one process or several."""

from __future__ import annotations

import pickle
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import groupby, islice, pairwise
from operator import itemgetter
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import Any, Generic, NamedTuple, Self, TypeVar

from searchmark.config.sections import DatasetSettings
from searchmark.errors import UsageError
from searchmark.executors.backends import open_executor
from searchmark.executors.pool import RetryingTasks, TaskLost, process_pool
from searchmark.git.clones import RepositorySource
from searchmark.git.mining.drafts import ChangedLines, Draft, InspectedDraft, PathBook, Target, TargetStatus, inspect_targets
from searchmark.git.mining.leakage import (
    Leak,
    TreeNames,
    identifiers_of,
    leak_of,
    mask_names,
    overlap,
    rare_identifiers,
    search_few_identifiers,
    tree_names_along,
    words_inside,
)
from searchmark.git.mining.selection import RemovedCommit, SelectedCommit, draft_of
from searchmark.git.repository import Repository, open_repository, path_bytes
from searchmark.io.data import row_text
from searchmark.io.store import pause_garbage_collector

# What mining makes: a case of a gold set as a record, and the same as JSON.

_LOW, _HIGH = 2, 20  # fewer files are of low complexity, more of high


@dataclass(frozen=True)
class Rewriting:
    """What a language model made of a query; without a text it has failed, and the reason is known."""

    text: str | None
    reason: str | None = None


Rewrite = Callable[[str, str], Rewriting]  # of message and query


@dataclass(frozen=True)
class MinedTarget:
    """A file that the commit changed. ``lines`` is None where there was no content to compare."""

    path: str
    status: TargetStatus
    moved_to: str | None = None
    lines: ChangedLines | None = None

    @classmethod
    def of(cls, target: Target, lines: ChangedLines | None = None) -> MinedTarget:
        return cls(target.path, target.status, target.moved_to, lines)

    @property
    def places(self) -> tuple[str, ...]:
        """The lines to find in it, as judgments name them."""
        ranges = () if self.lines is None else self.lines.places
        return tuple(f"{self.path}#L{first}" if first == last else f"{self.path}#L{first}-L{last}" for first, last in ranges)

    def as_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"path": self.path, "status": self.status}
        if not self.path.isascii() and any("\udc80" <= char <= "\udcff" for char in self.path):
            row["path_base64"] = b64encode(path_bytes(self.path)).decode()  # what is not UTF-8 cannot be told from its text
        if self.moved_to is not None:
            row["moved_to"] = self.moved_to
        if self.lines is not None:
            row["lines"] = [list(pair) for pair in self.lines.changed]
            row["inserted_after"] = list(self.lines.inserted_after)
        return row


@dataclass(frozen=True)
class Leakage:
    """What the query gives away: names of targets, rare identifiers that occur in them, and words that it shares with them."""

    leak: Leak
    identifiers: Mapping[str, int]
    overlap: float

    @property
    def tags(self) -> tuple[str, ...]:
        return ("leak:identifier",) if self.identifiers else ()

    def as_json(self) -> dict[str, Any]:
        return {
            "level": self.leak.level,
            "names": list(self.leak.names),
            "files_sharing_name": self.leak.files_sharing_name,
            "identifiers": dict(self.identifiers),
            "overlap": self.overlap,
        }


@dataclass(frozen=True)
class MinedCase:
    """One commit, or one pull request, as a case."""

    id: str
    repository: str
    commit: str
    parent: str
    unit: str
    origin: str
    query: str
    variants: Mapping[str, str]
    transformation: str
    transformation_error: str | None
    ground_truth: tuple[str, ...]  # paths of the targets that can be found
    ground_truth_lines: tuple[str, ...]  # the lines to find, as path#L3-L9, where lines were asked for
    unreachable: tuple[str, ...]
    targets: tuple[MinedTarget, ...]  # all files of the commit, those that can be found first
    time: int
    leakage: Leakage
    scope: str | None = None
    encoding_guessed: bool = False

    @property
    def tags(self) -> tuple[str, ...]:
        return (f"leak:{self.leakage.leak.level}", f"query:{self.transformation}", *self.leakage.tags)

    def as_json(self) -> dict[str, Any]:
        """The row of a gold set."""
        return {
            "id": self.id,
            "repository": self.repository,
            "commit_hash": self.commit,
            "parent_commit": self.parent,
            "unit": self.unit,
            **({"origin": self.origin} if self.origin != self.commit else {}),
            "query": self.query,
            "variants": dict(self.variants),
            "transformation": self.transformation,
            **({"transformation_error": self.transformation_error} if self.transformation_error else {}),
            "ground_truth_files": list(self.ground_truth),
            **({"ground_truth_lines": list(self.ground_truth_lines)} if self.ground_truth_lines else {}),
            "unreachable_files": list(self.unreachable),
            "targets": [target.as_json() for target in self.targets],
            "complexity": complexity(len(self.ground_truth)),
            "timestamp": timestamp(self.time),
            "leakage": self.leakage.as_json(),
            "tags": list(self.tags),
            **({"scope": self.scope} if self.scope else {}),
            **({"encoding_guessed": True} if self.encoding_guessed else {}),
        }


def complexity(files: int) -> str:
    if files < _LOW:
        return "low"
    return "medium" if files <= _HIGH else "high"


def timestamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# Records that wait in a file for their turn, so that memory holds one of them and not all.

T = TypeVar("T")


@dataclass(frozen=True)
class Spool(Generic[T]):
    """Records in files of our own; ``starts`` says in which one and where each record begins, in the order of reading."""

    starts: tuple[tuple[Path, int], ...]

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[T]:
        for path, records in groupby(self.starts, key=itemgetter(0)):
            with path.open("rb") as file:
                for _, start in records:
                    file.seek(start)
                    yield pickle.load(file)  # noqa: S301  # this program has written it, to a folder of its own


class SpoolWriter(Generic[T]):
    """Writes records one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._starts: list[int] = []
        try:
            self._file = path.open("xb")
        except OSError as error:
            raise self._unwritable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(OSError):  # what is in the buffer still: `finished` would have said so
            self._file.close()

    def add(self, record: T) -> None:
        try:
            self._starts.append(self._file.tell())
            pickle.dump(record, self._file, pickle.HIGHEST_PROTOCOL)
        except OSError as error:
            raise self._unwritable(error) from error

    def finish(self) -> Spool[T]:
        """What was written, to be read."""
        try:
            self._file.flush()
        except OSError as error:
            raise self._unwritable(error) from error
        return Spool(tuple((self._path, start) for start in self._starts))

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"the temporary file {self._path} cannot be written: {error.strerror}; set TMPDIR to another folder")


# The second pass: commits that were selected are unpacked, looked at once, and become candidates.
#
# All that needs a commit's message, changes and contents happens here, so that a commit is unpacked once and none of its
# contents is read twice. A candidate then waits in a file: only when all of them are there is it known which identifiers
# must be counted in the trees.

_BATCH = 1_000  # commits that are unpacked at a time


@dataclass(frozen=True)
class Candidate:
    """A case but for what its tree has to say.

    Contents of targets are not kept, only which words and identifiers of the query occur in them.
    """

    commit: str
    parent: str
    time: int
    unit: str
    origin: str
    edited: bool
    text: str  # the wording that was asked for; where that is the masked one, what it was before
    raw: str
    subject: str
    clean: str
    scope: str | None
    encoding_guessed: bool
    rewriting: Rewriting | None
    targets: tuple[MinedTarget, ...]  # files that can be found
    beside: tuple[MinedTarget, ...]  # files that moved or were created
    unreachable: tuple[str, ...]
    identifiers_inside: frozenset[bytes]  # identifiers of the query that occur in the targets
    words_inside: frozenset[str]  # words of the query that occur in the targets


@dataclass(frozen=True)
class ChosenCandidates:
    """The candidates among some commits, in their order, what turned out to make no case, and every identifier in a query."""

    waiting: Spool[Candidate]
    removed: tuple[RemovedCommit, ...]
    identifiers: frozenset[bytes]


def find_candidates(
    repository: Repository,
    commits: Iterable[SelectedCommit],
    book: PathBook,
    options: DatasetSettings,
    file: Path,
    rewrite: Rewrite | None = None,
    on_inspected: Callable[[int], None] = lambda _: None,
) -> ChosenCandidates:
    """Look at commits; candidates wait in ``file``. ``on_inspected`` hears how many there are."""
    removals: list[RemovedCommit] = []
    identifiers: set[bytes] = set()
    count = 0
    with SpoolWriter[Candidate](file) as spool:
        for one, inspection in inspect_all(repository, commits, book, options):
            if inspection.removed_by is not None:
                removals.append(RemovedCommit(one.hash, inspection.removed_by))
                continue
            candidate, names = _make_candidate(inspection, one, options, rewrite)
            identifiers |= names
            spool.add(candidate)
            count += 1
            on_inspected(count)
        return ChosenCandidates(spool.finish(), tuple(removals), frozenset(identifiers))


def inspect_all(
    repository: Repository, commits: Iterable[SelectedCommit], book: PathBook, options: DatasetSettings
) -> Iterator[tuple[SelectedCommit, InspectedDraft]]:
    """Look at the targets of commits, some at a time."""
    rest = iter(commits)
    while batch := list(islice(rest, _BATCH)):
        yield from zip(batch, inspect_targets(repository, [draft_of(one, book) for one in batch], options), strict=True)


def _make_candidate(
    inspection: InspectedDraft, one: SelectedCommit, options: DatasetSettings, rewrite: Rewrite | None
) -> tuple[Candidate, frozenset[bytes]]:
    """A candidate, and the identifiers in its query."""
    draft, contents = inspection.draft, list(inspection.contents.values())
    rewriting = None if rewrite is None or one.edited else rewrite(draft.message, draft.query.clean)
    text = one.edited or _query_text(draft, options, rewriting)
    names = frozenset(name.encode() for name in identifiers_of(text))
    raw, is_guess = draft.message_and_guess
    candidate = Candidate(
        commit=draft.commit.hash,
        parent=draft.commit.parents[0],
        time=draft.commit.time,
        unit=draft.unit,
        origin=one.origin,
        edited=one.edited is not None,
        text=text,
        raw=raw.strip(),
        subject=draft.query.subject,
        clean=draft.query.clean,
        scope=draft.query.scope,
        encoding_guessed=is_guess,
        rewriting=rewriting,
        targets=tuple(MinedTarget.of(target, inspection.lines.get(target.path)) for target in inspection.targets),
        beside=tuple(MinedTarget.of(target) for target in draft.targets if target.status in ("moved", "created")),
        unreachable=tuple(target.path for target in draft.targets if target.status == "created"),
        identifiers_inside=frozenset().union(*(search_few_identifiers(content, names) for content in contents)),
        words_inside=words_inside(text, contents),
    )
    return candidate, names


def _query_text(draft: Draft, options: DatasetSettings, rewriting: Rewriting | None) -> str:
    """The text that leaks are looked for in; a masked query is judged by what it was before."""
    if options.query == "raw":
        return draft.message_and_guess[0].strip()
    if options.query == "subject":
        return draft.query.subject
    return draft.query.clean if options.query != "llm" or rewriting is None or rewriting.text is None else rewriting.text


# A share of the commits of a repository becomes cases: they are looked at, and their trees say what a query gives away.
#
# A share needs nothing of another one, so shares can be made side by side.

_SHORT_HASH = 12

OnShareProgress = Callable[[str, int], None]  # which phase, and how many commits are through it


@dataclass(frozen=True)
class SpooledCase:
    """What is known of a case while it waits in a file."""

    commit: str
    origin: str
    unreachable_files: int
    targets: bytes  # a digest: which cases have the same
    edited: bool


@dataclass(frozen=True)
class MinedShare:
    """The cases of some commits, in their order and as rows of a gold set, and the commits that turned out to make none."""

    cases: tuple[SpooledCase, ...]
    rows: Spool[bytes]
    removed: tuple[RemovedCommit, ...]


def make_cases(
    repository: Repository,
    name: str,
    commits: Sequence[SelectedCommit],
    book: PathBook,
    options: DatasetSettings,
    folder: Path,
    rewrite: Rewrite | None = None,
    on_share: OnShareProgress | None = None,
) -> MinedShare:
    """Make cases of some commits of the repository that is called ``name``. They wait in ``folder``, which is empty."""
    tell = on_share or (lambda _, __: None)
    file = folder / "candidates"
    candidates = find_candidates(repository, commits, book, options, file, rewrite, lambda count: tell("targets", count))
    trees = tree_names_along(repository, [candidate.parent for candidate in candidates.waiting], book, candidates.identifiers)
    cases: list[SpooledCase] = []
    with SpoolWriter[bytes](folder / "cases") as spool:
        for candidate, tree in zip(candidates.waiting, trees, strict=True):
            spool.add(row_text(_mined_case(name, candidate, tree, options).as_json()))
            cases.append(_spooled_case(candidate))
            tell("cases", len(cases))
        rows = spool.finish()
    file.unlink()
    return MinedShare(tuple(cases), rows, candidates.removed)


def _spooled_case(candidate: Candidate) -> SpooledCase:
    paths = "\0".join(sorted(target.path for target in candidate.targets))
    targets = sha256(paths.encode("utf-8", "surrogateescape")).digest()
    return SpooledCase(candidate.commit, candidate.origin, len(candidate.unreachable), targets, candidate.edited)


class _ShareTask(NamedTuple):
    """A share that another process makes; it opens the repository for itself. ``number`` is its place in the history."""

    number: int
    source: RepositorySource
    commits: Spool[tuple[SelectedCommit, ...]]  # one record
    options: DatasetSettings
    folder: Path


def make_cases_in_processes(
    source: RepositorySource,
    commits: Sequence[SelectedCommit],
    options: DatasetSettings,
    folder: Path,
    jobs: int,
    tell: OnShareProgress | None,
) -> list[MinedShare]:
    """Make cases in several processes, each of a stretch of history; ``tell`` hears of all together."""
    bounds = [len(commits) * number // jobs for number in range(jobs + 1)]
    folders = [folder / str(number) for number in range(jobs)]
    tasks = []
    for number, ((low, high), own) in enumerate(zip(pairwise(bounds), folders, strict=True)):
        own.mkdir()
        tasks.append(_ShareTask(number, source, _spool_stretch(tuple(commits[low:high]), own / "selected"), options, own))
    counts_by_phase: dict[str, dict[int, int]] = {}

    def hear(task: _ShareTask, news: tuple[str, int]) -> None:
        phase, count = news
        counts = counts_by_phase.setdefault(phase, {})
        counts[task.number] = count
        if tell is not None:
            tell(phase, sum(counts.values()))

    shares: dict[int, MinedShare] = {}
    with open_executor(process_pool(jobs)) as pool:
        for outcome in RetryingTasks(pool, _make_share, tasks, on_news=hear):
            if isinstance(outcome, TaskLost):
                raise UsageError(f"{outcome.losses} processes that mined were lost: {outcome.reason}; try --jobs 1")
            shares[outcome.task.number] = outcome.result
    return [shares[number] for number in range(jobs)]


def _spool_stretch(stretch: tuple[SelectedCommit, ...], file: Path) -> Spool[tuple[SelectedCommit, ...]]:
    """A stretch in a file: a process that dies before it has read a large message would leave us writing for ever."""
    with SpoolWriter[tuple[SelectedCommit, ...]](file) as spool:
        spool.add(stretch)
        return spool.finish()


def _make_share(task: _ShareTask, tell: Callable[[tuple[str, int]], None]) -> MinedShare:
    book = PathBook(task.options)
    (commits,) = task.commits
    folder = Path(mkdtemp(dir=task.folder))  # a process that was lost may have left files of its own
    with open_repository(task.source.path) as repository, pause_garbage_collector():
        return make_cases(
            repository,
            task.source.label,
            commits,
            book,
            task.options,
            folder,
            on_share=lambda phase, count: tell((phase, count)),
        )


def _mined_case(name: str, candidate: Candidate, tree: TreeNames, options: DatasetSettings) -> MinedCase:
    variants = _query_variants(candidate, tree)
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
        ground_truth_lines=_target_places(candidate) if options.granularity == "lines" else (),
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


def _target_places(candidate: Candidate) -> tuple[str, ...]:
    return tuple(place for target in candidate.targets for place in target.places)


def _query_variants(candidate: Candidate, tree: TreeNames) -> dict[str, str]:
    rewritten = None if candidate.rewriting is None else candidate.rewriting.text
    return {
        "raw": candidate.raw,
        "subject": candidate.subject,
        "clean": candidate.clean,
        "masked": mask_names(candidate.clean, tree),
        **({} if rewritten is None else {"llm": rewritten}),
        **({"edited": candidate.text} if candidate.edited else {}),
    }


def _transformation(candidate: Candidate, options: DatasetSettings) -> str:
    if candidate.edited:
        return "edited"
    if options.query == "raw":
        return "raw"
    if options.query != "llm":
        return "rule"
    return "llm" if candidate.rewriting is not None and candidate.rewriting.text is not None else "llm_failed"
