"""Where each case is searched: what the command line names, what a case brings along, or a state of its repository."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.config import Config
from searchmark.corpora.corpus import FieldMapping
from searchmark.corpora.locations import Place
from searchmark.errors import UsageError
from searchmark.history.repository import FULL_HASH
from searchmark.history.sources import parse_source
from searchmark.records import Case, Suite

if TYPE_CHECKING:
    from searchmark.corpora.snapshots import SnapshotReader

PARENT, HEAD, WORK_TREE = "parent", "head", "worktree"
GOLD, ALL = "gold", "all"


@dataclass(frozen=True)
class Where:
    """What the command line says about what is searched."""

    repos: tuple[str, ...] = ()
    corpus: str | None = None
    mapping: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()
    candidates: str = GOLD
    base: Path | None = None


def labels_of(suite: Suite, where: Where) -> list[str | None]:
    """The snapshots to search: those that were named, or the parents for a suite that was mined, or none."""
    if where.snapshots:
        if where.corpus is not None:
            raise UsageError("--snapshot is a state of a repository, and --corpus is none; name a repository by --repo")
        return list(dict.fromkeys(where.snapshots))
    mined = (
        where.corpus is None and suite.table.fields is not None and all("parent_commit" in fields for fields in suite.table.fields)
    )
    return [PARENT] if mined else [None]


def places_of(suite: Suite, config: Config, where: Where, label: str | None) -> dict[str, Place]:
    """The place of every case, in the order in which they should be visited."""
    if where.corpus is not None and where.repos:
        raise UsageError("--corpus and --repo both say what to search; name one of them")
    if where.mapping and where.corpus is None:
        raise UsageError("--map names the fields of a corpus, and there is no --corpus")
    if where.corpus is not None:
        path = Path(where.corpus).resolve()
        return dict.fromkeys(suite.table.ids, Place(path.name, str(path), FieldMapping.parse(where.mapping)))
    if suite.table.documents is not None and not where.repos:
        return _at_hand(suite)
    known = _repositories(suite, config, where.repos, where.base)
    folders = {case.id: _folder_of(case, known) for case in suite.cases}
    if label is None or label == WORK_TREE:
        names = _names(folders.values())
        by_name = sorted(folders.items(), key=lambda item: names[item[1]])
        return {case: Place(names[folder], str(folder)) for case, folder in by_name}
    kinds, excluded = _candidates(suite) if where.candidates == GOLD else ((), ())
    return {case: replace(place, kinds=kinds, excluded=excluded) for case, place in _in_history(suite, folders, label).items()}


def _candidates(suite: Suite) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of files that targets were chosen from, and the patterns that none of them falls under."""
    options = suite.metadata.get("options")
    if not isinstance(options, Mapping):
        return (), ()
    return tuple(options.get("kinds") or ()), tuple(options.get("exclude_patterns") or ())


def _names(folders: Iterable[Path]) -> dict[Path, str]:
    """A name for every folder: its own, with a number where several have the same."""
    names: dict[Path, str] = {}
    for folder in dict.fromkeys(folders):
        alike = sum(other.name == folder.name for other in names)
        names[folder] = f"{folder.name}#{alike + 1}" if alike else folder.name
    return names


def _at_hand(suite: Suite) -> dict[str, Place]:
    """Cases that bring documents along are each searched in their own."""
    places = {}
    for case in suite.cases:
        if not case.documents:
            raise UsageError(f"the case {case.id!r} brings no documents along, as others do; name what to search by --corpus")
        digest = hashlib.sha256(repr(case.documents).encode("utf-8", "surrogatepass")).hexdigest()
        places[case.id] = Place(suite.name, documents=case.documents, stand=digest)
    return dict(sorted(places.items(), key=lambda item: item[1].stand or ""))


def _given(text: str) -> tuple[str | None, Path]:
    source = parse_source(text)
    return source.name, Path(source.path)


def _near(path: str, base: Path | None) -> Path:
    """A path that a gold set names: as it is, or else from the folder that the gold set lies in."""
    here = Path(path)
    return base / here if base is not None and not here.is_dir() and (base / here).is_dir() else here


def _repositories(suite: Suite, config: Config, repos: Sequence[str], base: Path | None) -> dict[str | None, Path]:
    """Folders by name; the one under None is for cases that name none, or whose name nobody knows."""
    given = dict(map(_given, repos))
    mined = suite.metadata.get("repositories")
    known: dict[str | None, Path] = {}
    if isinstance(mined, Mapping) and None not in given:
        known |= {name: _near(entry["path"], base) for name, entry in mined.items() if "path" in entry}
    known |= given
    configured = config.dataset.repository_path
    single = configured if isinstance(configured, str) else suite.metadata.get("repository")
    if not known and isinstance(single, str):
        known[None] = _near(single, base)
    if not known:
        raise UsageError("nothing says what is searched: name a folder by --repo or documents by --corpus")
    for folder in known.values():
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder that could be searched; say where the repository is by --repo")
    return known


def _folder_of(case: Case, known: Mapping[str | None, Path]) -> Path:
    name = case.fields.get("repository")
    path = known.get(name if isinstance(name, str) else None) or known.get(None)
    if path is None and name is None and len(known) == 1:
        path = next(iter(known.values()))
    if path is None:
        raise UsageError(
            f"the case {case.id!r} belongs to the repository {name!r}, and nobody said where that is: --repo {name}=PATH"
        )
    return path.resolve()


def _in_history(suite: Suite, folders: Mapping[str, Path], label: str) -> dict[str, Place]:
    """Every case at its commit, repository by repository, each along its history."""
    from searchmark.corpora.snapshots import SnapshotReader
    from searchmark.history.objects import order_along_history
    from searchmark.history.repository import open_repository

    places: dict[str, Place] = {}
    names = _names(folders.values())
    for folder in names:
        cases = [case for case in suite.cases if folders[case.id] == folder]
        with open_repository(folder) as repository, SnapshotReader(repository) as snapshots:
            commits = _commits(cases, label, snapshots)
            order = {commit: number for number, commit in enumerate(order_along_history(repository, commits.values()))}
        for case in sorted(cases, key=lambda case: order[commits[case.id]]):
            commit = commits[case.id]
            places[case.id] = Place(names[folder], str(folder), stand=commit, commit=commit)
    return places


def _commits(cases: Sequence[Case], label: str, snapshots: SnapshotReader) -> dict[str, str]:
    if label == PARENT:
        return {case.id: _parent(case, snapshots) for case in cases}
    commit = snapshots.repository.commit("HEAD" if label == HEAD else label)
    return {case.id: commit for case in cases}


def _parent(case: Case, snapshots: SnapshotReader) -> str:
    """The state that the author of a change saw."""
    known = case.fields.get("parent_commit")
    if isinstance(known, str):
        return known if FULL_HASH.fullmatch(known) else snapshots.repository.commit(known)
    commit = case.fields.get("commit_hash") or case.origin
    if not isinstance(commit, str):
        raise UsageError(
            f"the case {case.id!r} names no commit, so that it has no parent to search; say --snapshot head or a revision"
        )
    return snapshots.repository.commit(f"{commit}^")
