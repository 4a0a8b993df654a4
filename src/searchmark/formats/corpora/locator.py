"""Where each case is searched: what was named, what a case brings along, a state of its repository, or a service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from searchmark.corpora.claimed_repositories import claims_repositories, mined_repositories, mined_repository
from searchmark.corpora.corpus import Corpus
from searchmark.corpora.downloads import local_path
from searchmark.corpora.field_mapping import FieldMapping
from searchmark.corpora.file_kinds import ChosenPaths, literal
from searchmark.corpora.folder_files import refuse_choice
from searchmark.corpora.locations import Commit, Documents, Folder, Location, Remote, location_of
from searchmark.corpora.named_repositories import folder_of, folders_by_name, refuse_addresses, repositories_named
from searchmark.corpora.one_location import OneLocation
from searchmark.corpora.tool_folders import committed_tools
from searchmark.errors import UsageError, shortened
from searchmark.history.addresses import RepositoryAddress
from searchmark.history.clones import resolved
from searchmark.history.ignored import is_tracked
from searchmark.history.repository import FULL_HASH
from searchmark.history.sources import RepositorySource
from searchmark.options.addresses import is_address
from searchmark.options.corpus_choice import CorpusChoice
from searchmark.options.field_names import FieldNames
from searchmark.options.option import Option
from searchmark.options.short_repr import short_repr
from searchmark.options.user_paths import expand_paths
from searchmark.records import PARENT, WORK_TREE, Case, Document, Suite

if TYPE_CHECKING:
    from searchmark.history.repository import Repository

HEAD = "head"


@dataclass(frozen=True)
class Where(CorpusChoice):
    """What is searched, as far as the suite does not say it itself.

    ``corpus`` is a folder or file for all cases, and ``files`` says which files of a folder or snapshot are searched.
    ``repositories`` are folders, each ``PATH`` or ``NAME=PATH`` where cases name theirs, with ``URL@COMMIT`` in place of a path
    that is not on this machine, and ``snapshots`` their states: parent, head, worktree or a revision. ``candidates`` says which
    files of a snapshot are searched: those that the targets of the gold set were chosen from, or all; ``files.kinds`` takes the
    place of its kinds. A path that a gold set names is looked for from ``base`` too, the folder it lies in, and is used only if
    it is that of a repository with the commits of its cases. ``repository_path`` is where cases go that name no repository.
    ``service`` is the name of one that searches a corpus of its own. ``documents`` is a corpus that the program holds, in place
    of ``corpus``.
    """

    repositories: Annotated[
        tuple[str, ...],
        Option(
            "Folder to search, or URL@COMMIT of a repository; with NAME for the cases that name it; repeatable.",
            ("--repo",),
            "[NAME=]PATH",
        ),
    ] = ()
    snapshots: Annotated[
        tuple[str, ...],
        Option("State of the repository: parent (of each case's commit), head, worktree, or a revision.", ("--snapshot",), "WHEN"),
    ] = ()
    candidates: Annotated[
        Literal["gold", "all"], Option("Files of a snapshot that are searched: those that targets were chosen from, or all.")
    ] = "gold"
    base: Path | None = None
    repository_path: str | None = None
    service: str | None = None
    documents: Corpus | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        expand_paths(self, "corpus", "repositories", "repository_path")

    @property
    def named(self) -> list[RepositorySource]:
        """The repositories that somebody has named, or else that of the config."""
        return repositories_named(self.repositories, self.repository_path)

    def addresses(self) -> dict[Path, RepositoryAddress | str]:
        """By path on this machine, where it is by now, the address of what was named by one."""
        cloned = {resolved(each, network=False).path: each.address for each in self.named if each.address is not None}
        known: dict[Path, RepositoryAddress | str] = {Path(path).resolve(): address for path, address in cloned.items()}
        if self.corpus is not None and is_address(self.corpus):
            known[local_path(self.corpus, network=False).resolve()] = self.corpus
        return known


def where_in(corpus: Any) -> Where:
    """What `run_suite` is given to search: a path, a `Corpus`, or documents in a list, as records or as mappings."""
    if corpus is None or isinstance(corpus, str | PathLike):
        return Where(corpus=None if corpus is None else str(corpus))
    if isinstance(corpus, Corpus):
        return Where(documents=corpus)
    if not isinstance(corpus, Iterable) or isinstance(corpus, Mapping) or hasattr(corpus, "columns"):
        kind = type(corpus).__name__
        raise UsageError(f"{kind} is not a corpus; give a path, a list of documents, or Corpus.from_frame(...) of a table")
    return Where(documents=Corpus.of("documents", [_document(each, place) for place, each in enumerate(corpus)]))


def _document(given: Any, place: int) -> Document:
    found = given if isinstance(given, Document) else FieldMapping().document(dict(given)) if isinstance(given, Mapping) else None
    if not isinstance(found, Document):
        why = found or f"is {shortened(repr(given), 60)}, not a document: Document(id, text), or a mapping with id and text"
        raise UsageError(f"entry {place} of the corpus {why}")
    return found


def snapshots_of(suite: Suite, where: Where) -> list[str | None]:
    """The snapshots to search: those that were named, or the parents for a suite that was mined, or none."""
    if where.snapshots:
        if where.corpus is not None:
            raise UsageError("--snapshot is a state of a repository, and --corpus is not a repository; name one with --repo")
        return list(dict.fromkeys(where.snapshots))
    elsewhere = any(each is not None for each in (where.corpus, where.documents, where.service))
    mined = suite.table.fields is not None and all("parent_commit" in fields for fields in suite.table.fields)
    if elsewhere:
        return [None]
    return [PARENT] if mined else [HEAD] if _only_at_commits(suite, where) else [None]


def _only_at_commits(suite: Suite, where: Where) -> bool:
    """Whether nothing is named but repositories by address, which have no files that lie anywhere."""
    brings_documents = suite.table.documents is not None and not where.repositories
    named = where.named
    return bool(named) and not brings_documents and all(source.address is not None for source in named)


def where_of(suite: Suite, where: Where, agent: str, *, own_corpus: bool | None) -> Where:
    """What one agent searches, by name: one with a corpus of its own is asked for none. None: whether it has one is not known.

    A corpus that is named is what its hits are checked against. It cannot travel in time: at commits it is a service.
    """
    if own_corpus is False or where.service is not None:
        return where
    if not _names_something(suite, where):
        return where if own_corpus is None and claims_repositories(suite) else Where(service=agent)
    if own_corpus is None:
        return where
    present = [each for each in snapshots_of(suite, where) if each in (None, WORK_TREE)]
    return replace(where, snapshots=tuple(filter(None, present))) if present else Where(service=agent)


def _names_something(suite: Suite, where: Where) -> bool:
    named = (where.corpus, where.documents, where.repository_path)
    return bool(where.repositories) or suite.table.documents is not None or any(each is not None for each in named)


def locations_of(suite: Suite, where: Where, snapshot: str | None = None, *, network: bool = False) -> Mapping[str, Location]:
    """The location of every case, in the order in which they should be visited.

    What is named by its address is fetched if it is not on this machine; without ``network`` that is an error.
    """
    _refuse_contradictions(where)
    if where.service is not None:
        return OneLocation(suite.table, Remote(where.service))
    if where.documents is not None:
        refuse_choice("the program holds the corpus", where.files)
        return OneLocation(suite.table, location_of(where.documents, where.never))
    if where.corpus is not None:
        path = local_path(where.corpus, network=network).resolve()
        return OneLocation(suite.table, Folder.found(path.name, path, where))
    if suite.table.documents is not None and not where.repositories:
        refuse_choice("the suite brings its documents along", where.files)
        return _brought_along(suite)
    if snapshot is None or snapshot == WORK_TREE:
        refuse_addresses(where.named)
    known = _repositories(suite, where, network=network)
    folders = {case.id: folder_of(case, known) for case in suite.cases}
    # Named among all that there are: a shard without some of their cases must call the others what the whole suite does.
    names = _names(path.resolve() for path in known.values())
    if snapshot is None or snapshot == WORK_TREE:
        return _in_folders(folders, names, where)
    return _in_history(suite, folders, names, snapshot, where)


def _refuse_contradictions(where: Where) -> None:
    if where.service is not None and (where.corpus is not None or where.repositories or where.snapshots):
        raise UsageError(f"the service {where.service!r} searches what it has; leave out --corpus, --repo and --snapshot")
    if where.documents is not None and (where.corpus is not None or where.repositories or where.snapshots):
        raise UsageError("documents are all that is searched; leave out corpus, repositories and snapshots")
    if where.corpus is not None and where.repositories:
        raise UsageError("--corpus and --repo both name what to search; give one of them")
    if FieldNames.parse(where.mapping).corpus and where.corpus is None:
        raise UsageError("--map names the fields of a corpus; it needs --corpus")


def _brought_along(suite: Suite) -> dict[str, Location]:
    """Cases that bring documents along are each searched in their own; those with the same ones follow each other."""
    brought: dict[str, Documents] = {}
    for case in suite.cases:
        if not case.documents:
            raise UsageError(
                f"the case {case.id!r} has no documents of its own, as other cases do; name what to search with --corpus"
            )
        brought[case.id] = Documents.of(suite.name, case.documents)
    return {case: brought[case] for case in sorted(brought, key=lambda case: brought[case].digest)}


def _in_folders(folders: Mapping[str, Path], names: Mapping[Path, str], where: Where) -> dict[str, Location]:
    """Every case in the files as they lie there, folder by folder."""
    by_name = sorted(folders.items(), key=lambda item: names[item[1]])
    found = {folder: Folder.found(names[folder], folder, where) for folder in dict.fromkeys(folders.values())}
    return {case: found[folder] for case, folder in by_name}


def _names(folders: Iterable[Path]) -> dict[Path, str]:
    """A name for every folder: its own, with a number where several have the same."""
    names: dict[Path, str] = {}
    for folder in dict.fromkeys(folders):
        alike = sum(other.name == folder.name for other in names)
        names[folder] = f"{folder.name}#{alike + 1}" if alike else folder.name
    return names


def _repositories(suite: Suite, where: Where, *, network: bool) -> dict[str | None, Path]:
    """Folders by name; the one under None is for cases that name none, or one that is not among them."""
    given = folders_by_name(where.named, network=network) if where.repositories else {}
    known = {**mined_repositories(suite, where.base, given), **given} or folders_by_name(where.named, network=network)
    if not known:
        known |= mined_repository(suite, where.base)
    if not known:
        raise UsageError("there is nothing to search; name a folder with --repo or documents with --corpus")
    for folder in known.values():
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder; give the location of the repository with --repo")
    return known


def _in_history(
    suite: Suite, folders: Mapping[str, Path], names: Mapping[Path, str], snapshot: str, where: Where
) -> dict[str, Location]:
    """Every case at its commit, repository by repository, each along its history: neighbours differ in few files."""
    from searchmark.history.objects import order_along_history
    from searchmark.history.repository import open_repository

    kinds, excluded = _candidates(suite) if where.candidates == "gold" else ((), ())
    kinds = where.files.kinds or kinds  # who names kinds has said which files are searched
    locations: dict[str, Location] = {}
    for folder in dict.fromkeys(folders.values()):
        cases = [case for case in suite.cases if folders[case.id] == folder]
        searched = ChosenPaths(kinds, excluded, where.files.include, where.files.exclude)
        with open_repository(folder) as repository:
            commits = _commits(cases, snapshot, repository)
            order = {commit: number for number, commit in enumerate(order_along_history(repository, commits.values()))}
        tools = committed_tools(folder, list(order), searched) if where.files.ignore and not kinds else ()
        exclude = (*where.files.exclude, *_own_paths(folder, where.never, searched), *tools)
        for case in sorted(cases, key=lambda case: order[commits[case.id]]):
            locations[case.id] = Commit(names[folder], folder, commits[case.id], kinds, excluded, where.files.include, exclude)
    return locations


def _own_paths(folder: Path, never: Iterable[Path], searched: ChosenPaths) -> Iterator[str]:
    """Committed files that tell the answers and would be searched, each as a glob that means it alone."""
    for path in (each.resolve() for each in never):
        below = path.relative_to(folder).as_posix() if path.is_relative_to(folder) and path.is_file() else None
        if below is not None and searched(below) and is_tracked(folder, below):
            yield literal(below)


def _candidates(suite: Suite) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of files that targets were chosen from, and the patterns that none of them falls under."""
    options = suite.metadata.get("options")
    if not isinstance(options, Mapping):
        return (), ()
    return _texts(options, "kinds"), _texts(options, "exclude_patterns")


def _texts(options: Mapping[str, object], name: str) -> tuple[str, ...]:
    found = options.get(name) or ()
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
        raise UsageError(f"metadata.options.{name} of the gold set is not a list of texts; --candidates all ignores it")
    return tuple(found)


def _commits(cases: Sequence[Case], snapshot: str, repository: Repository) -> dict[str, str]:
    """The commit of each case; one revision is the same for all, and Git is asked for it once."""
    if snapshot == PARENT:
        return {case.id: _parent(case, repository) for case in cases}
    return dict.fromkeys((case.id for case in cases), repository.commit("HEAD" if snapshot == HEAD else snapshot))


def _parent(case: Case, repository: Repository) -> str:
    """The state that the author of a change saw."""
    known = case.fields.get("parent_commit")
    if isinstance(known, str):
        return known if FULL_HASH.fullmatch(known) else repository.commit(known)
    commit = case.fields.get("commit_hash") or case.origin
    if not isinstance(commit, str):
        raise UsageError(
            f"the case {case.id!r} names no commit, so there is no parent to search; use --snapshot head or a revision"
        )
    return repository.commit(f"{commit}^")
