"""Where each case is searched: a named corpus, its own documents, a state of its repository, or a service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from searchmark.config.inputs import FieldNames
from searchmark.errors import Missing, UsageError
from searchmark.formats.corpora.case_locations import HEAD_SNAPSHOT, SearchScope
from searchmark.formats.corpora.corpus import local_path
from searchmark.formats.corpora.folder import committed_tool_globs, refuse_file_settings
from searchmark.formats.corpora.locations import Commit, Documents, Folder, Location, Remote, location_of
from searchmark.git.repository import FULL_HASH, Repository, open_repository, order_along_history
from searchmark.git.sources import (
    folders_by_name,
    mined_repositories,
    mined_repository,
    refuse_addresses,
    repository_folder,
)
from searchmark.git.worktree import is_tracked
from searchmark.records.file_kinds import PathFilter, escape_glob
from searchmark.records.provenance import PARENT, WORK_TREE
from searchmark.records.suite import Case, Suite

# Where each case is searched.


def locate_cases(suite: Suite, where: SearchScope, snapshot: str | None = None, *, network: bool = False) -> Mapping[str, Location]:
    """The location of every case, in the order in which they should be visited.

    What is named by its address is fetched if it is not on this machine; without ``network`` that is an error.
    """
    _refuse_contradictions(where)
    if where.service is not None:
        return dict.fromkeys(suite.table.ids, Remote(where.service))
    if where.documents is not None:
        refuse_file_settings("the program holds the corpus", where.files)
        return dict.fromkeys(suite.table.ids, location_of(where.documents, where.never))
    if where.corpus is not None:
        path = local_path(where.corpus, network=network).resolve()
        return dict.fromkeys(suite.table.ids, Folder.found(path.name, path, where))
    if suite.table.documents is not None and not where.repositories:
        refuse_file_settings("the suite brings its documents along", where.files)
        return _own_documents(suite)
    if snapshot is None or snapshot == WORK_TREE:
        refuse_addresses(where.named)
    repositories = _repository_folders(suite, where, network=network)
    folders = {case.id: repository_folder(case, repositories) for case in suite.cases}
    # Named among all that there are: a shard without some of their cases must call the others what the whole suite does.
    names = _names_of_folders(path.resolve() for path in repositories.values())
    if snapshot is None or snapshot == WORK_TREE:
        return _locate_in_folders(folders, names, where)
    return _locate_in_history(suite, folders, names, snapshot, where)


def _refuse_contradictions(where: SearchScope) -> None:
    if where.service is not None and (where.corpus is not None or where.repositories or where.snapshots):
        raise UsageError(f"the service {where.service!r} searches what it has; leave out --corpus, --repo and --snapshot")
    if where.documents is not None and (where.corpus is not None or where.repositories or where.snapshots):
        raise UsageError("documents are all that is searched; leave out corpus, repositories and snapshots")
    if where.corpus is not None and where.repositories:
        raise UsageError("--corpus and --repo both name what to search; give one of them")
    if FieldNames.parse(where.mapping).corpus and where.corpus is None:
        raise UsageError("--map names the fields of a corpus; it needs --corpus")


def _own_documents(suite: Suite) -> dict[str, Location]:
    """Cases that bring documents along are each searched in their own; those with the same ones follow each other."""
    documents: dict[str, Documents] = {}
    for case in suite.cases:
        if not case.documents:
            raise UsageError(
                f"the case {case.id!r} has no documents of its own, as other cases do; name what to search with --corpus"
            )
        documents[case.id] = Documents.of(suite.name, case.documents)
    return {case: documents[case] for case in sorted(documents, key=lambda case: documents[case].digest)}


def _locate_in_folders(folders: Mapping[str, Path], names: Mapping[Path, str], where: SearchScope) -> dict[str, Location]:
    """Every case in the files as they lie there, folder by folder."""
    by_name = sorted(folders.items(), key=lambda item: names[item[1]])
    locations = {folder: Folder.found(names[folder], folder, where) for folder in dict.fromkeys(folders.values())}
    return {case: locations[folder] for case, folder in by_name}


def _names_of_folders(folders: Iterable[Path]) -> dict[Path, str]:
    """A name for every folder: its own, with a number where several have the same."""
    names: dict[Path, str] = {}
    for folder in dict.fromkeys(folders):
        alike = sum(other.name == folder.name for other in names)
        names[folder] = f"{folder.name}#{alike + 1}" if alike else folder.name
    return names


def _repository_folders(suite: Suite, where: SearchScope, *, network: bool) -> dict[str | None, Path]:
    """Folders by name; the one under None is for cases that name none, or one that is not among them."""
    overrides = folders_by_name(where.named, network=network) if where.repositories else {}
    folders = {**mined_repositories(suite, where.base, overrides), **overrides} or folders_by_name(where.named, network=network)
    if not folders:
        folders |= mined_repository(suite, where.base)
    if not folders:
        raise UsageError("there is nothing to search; name a folder with --repo or documents with --corpus")
    for folder in folders.values():
        if not folder.is_dir():
            raise Missing(f"{folder} is not a folder; give the location of the repository with --repo")
    return folders


def _locate_in_history(
    suite: Suite, folders: Mapping[str, Path], names: Mapping[Path, str], snapshot: str, where: SearchScope
) -> dict[str, Location]:
    """Every case at its commit, repository by repository, each along its history: neighbours differ in few files."""
    kinds, exclusions = _candidate_kinds(suite) if where.candidates == "gold" else ((), ())
    kinds = where.files.kinds or kinds  # who names kinds has said which files are searched
    locations: dict[str, Location] = {}
    for folder in dict.fromkeys(folders.values()):
        cases = [case for case in suite.cases if folders[case.id] == folder]
        path_filter = PathFilter(kinds, exclusions, where.files.include, where.files.exclude)
        with open_repository(folder) as repository:
            commits = _commits(cases, snapshot, repository)
            order = {commit: number for number, commit in enumerate(order_along_history(repository, commits.values()))}
        tools = committed_tool_globs(folder, list(order), path_filter) if where.files.ignore and not kinds else ()
        exclude = (*where.files.exclude, *_answer_globs(folder, where.never, path_filter), *tools)
        for case in sorted(cases, key=lambda case: order[commits[case.id]]):
            locations[case.id] = Commit(names[folder], folder, commits[case.id], kinds, exclusions, where.files.include, exclude)
    return locations


def _answer_globs(folder: Path, never: Iterable[Path], path_filter: PathFilter) -> Iterator[str]:
    """Committed files that tell the answers and would be searched, each as a glob that means it alone."""
    for path in (each.resolve() for each in never):
        below = path.relative_to(folder).as_posix() if path.is_relative_to(folder) and path.is_file() else None
        if below is not None and path_filter(below) and is_tracked(folder, below):
            yield escape_glob(below)


def _candidate_kinds(suite: Suite) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of files that targets were chosen from, and the patterns that none of them falls under."""
    options = suite.metadata.get("options")
    if not isinstance(options, Mapping):
        return (), ()
    return _texts(options, "kinds"), _texts(options, "exclude_patterns")


def _texts(options: Mapping[str, object], name: str) -> tuple[str, ...]:
    texts = options.get(name) or ()
    if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in texts):
        raise UsageError(f"metadata.options.{name} of the gold set is not a list of texts; --candidates all ignores it")
    return tuple(texts)


def _commits(cases: Sequence[Case], snapshot: str, repository: Repository) -> dict[str, str]:
    """The commit of each case; one revision is the same for all, and Git is asked for it once."""
    if snapshot == PARENT:
        return {case.id: _parent(case, repository) for case in cases}
    return dict.fromkeys((case.id for case in cases), repository.commit("HEAD" if snapshot == HEAD_SNAPSHOT else snapshot))


def _parent(case: Case, repository: Repository) -> str:
    """The state that the author of a change saw."""
    parent = case.fields.get("parent_commit")
    if isinstance(parent, str):
        return parent if FULL_HASH.fullmatch(parent) else repository.commit(parent)
    commit = case.fields.get("commit_hash") or case.origin
    if not isinstance(commit, str):
        raise UsageError(
            f"the case {case.id!r} names no commit, so there is no parent to search; use --snapshot head or a revision"
        )
    return repository.commit(f"{commit}^")
