"""What a sandboxed agent sees of the files: the interpreter, its own code and what it searches, and nothing else.

Files that would tell it the answers may lie beside its code: a gold set, journals, saved runs. Folders that hold one are
therefore shown entry by entry, without those, and without whatever comes into being there later.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from searchmark.agents.agent import AgentSpec
from searchmark.agents.source import BuiltIn, Http, PythonClass
from searchmark.corpora.folder_files import SKIPPED_FOLDERS
from searchmark.corpora.locations import Commit, Folder, Location
from searchmark.errors import UsageError
from searchmark.files.walking import walk
from searchmark.registry import with_arms
from searchmark.running.sandbox.interpreter import interpreter_paths, system_paths
from searchmark.running.sandbox.needs import Needs, is_foreign, model_folder, refuse_sockets, saved_index

MOST_LINKS = 40  # as many as the kernel follows


@dataclass(frozen=True)
class View:
    """``code``, ``modules`` and ``corpus`` can be read, except what is ``hidden``; ``folder`` is the working directory.

    ``commits``, by repository, are shown one at a time, as files in a folder.
    """

    code: tuple[Path, ...]
    modules: tuple[Path, ...]
    corpus: tuple[Path, ...]
    hidden: tuple[Path, ...]
    network: bool
    folder: Path
    commits: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)

    def shown(self) -> Shown:
        """What can be read right now, as real paths, without what lies below another one of them."""
        system = system_paths(network=self.network)
        links: dict[Path, str] = {}
        shown = Shown([], [], links)
        for path in (*system, *self.code, *self.modules, *self.corpus):
            shown.add(_followed(path, links), self.hidden)
        return shown.without_repetition()


@dataclass(frozen=True)
class Shown:
    """``readable`` with all that is below, ``listed`` folders of which some entries are readable, and links on the way."""

    readable: list[Path]
    listed: list[Path]
    links: dict[Path, str]

    def add(self, root: Path, hidden: Iterable[Path]) -> None:
        inside = [path for path in hidden if path == root or root in path.parents]
        if not inside:
            self.readable.append(root)
        elif root in inside and root.name == ".git":
            self.listed.append(root)  # nothing of it is shown, but programs that look for a repository still find one
        elif root not in inside and root.is_dir():
            self.listed.append(root)
            with os.scandir(root) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    self._add_entry(entry, inside)

    def _add_entry(self, entry: os.DirEntry[str], hidden: Iterable[Path]) -> None:
        if entry.is_symlink():  # what it leads to is shown if it is shown elsewhere
            self.links[Path(entry.path)] = str(Path(entry.path).readlink())
        else:
            self.add(Path(entry.path), hidden)

    def without_repetition(self) -> Shown:
        roots: list[Path] = []
        for path in sorted(set(self.readable), key=lambda path: len(path.parts)):
            if not _is_below(path, roots):
                roots.append(path)
        links = {link: target for link, target in self.links.items() if not _is_below(link, roots)}
        return Shown(roots, list(dict.fromkeys(self.listed)), links)


def _is_below(path: Path, roots: Iterable[Path]) -> bool:
    return any(root == path or root in path.parents for root in roots)


def _followed(path: Path, links: dict[Path, str]) -> Path:
    """The real path, with every link on the way to it noted."""
    done, waiting = Path("/"), list(path.parts[1:])
    for _ in range(MOST_LINKS):
        while waiting and not (done / waiting[0]).is_symlink():
            step = waiting.pop(0)
            done = done.parent if step == ".." else done / step
        if not waiting:
            return done
        link = done / waiting.pop(0)
        links[link] = target = str(link.readlink())
        waiting = [*Path(target).parts, *waiting]
        if Path(target).is_absolute():
            done, waiting = Path("/"), waiting[1:]
    raise UsageError(f"{path} is a link without an end")


def view_of(spec: AgentSpec, needs: Needs, locations: Mapping[str, Location], hidden: Iterable[Path]) -> View:
    """What this agent may see. What would tell it the answers must not lie in what it searches."""
    refuse_sockets(spec)
    modules = _agent_modules(spec)
    secret = tuple(dict.fromkeys(each for path in hidden for each in _hidden_around(path.resolve(), modules)))
    distinct = {(type(each), each.path): each for each in locations.values() if isinstance(each, Folder | Commit)}
    commits = {} if _is_ours(spec) else _commits_by_repository(locations.values())
    _refuse_without_history(spec, commits)
    searched = tuple(
        dict.fromkeys(path for each in distinct.values() if each.path not in commits for path in _searched(each)),
    )
    for root in searched:
        _refuse_hidden(root, secret)
    repositories = [path.resolve() for path in commits]
    histories = () if _is_ours(spec) else _histories(distinct.values())
    models = model_folder() if isinstance(spec.source, BuiltIn | Http) else None
    files = (*needs.files, *saved_index(spec), *([models] if models else []))
    beside = (path.parent for path in modules if not _holds_home(path.parent) and not _is_below(path.resolve(), repositories))
    code = (*interpreter_paths(), *beside, *files)
    return View(code, modules, searched, (*secret, *histories), needs.network, Path.cwd(), commits)


def _histories(locations: Iterable[Folder | Commit]) -> Iterator[Path]:
    """What tells of other states than the one that is searched: work trees and objects of repositories."""
    for location in locations:
        if isinstance(location, Commit):
            yield from (location.path.resolve(), *(path.resolve() for path in _repository(location.path)))
        elif (location.path / ".git").is_dir():
            yield (location.path / ".git").resolve()


def _is_ours(spec: AgentSpec) -> bool:
    """Whether no code of others is run here, which could look into a history for the answers."""
    return not is_foreign(spec)


def _refuse_without_history(spec: AgentSpec, commits: Mapping[Path, tuple[str, ...]]) -> None:
    if commits and any(each.source == BuiltIn("popular") for each in with_arms(spec)):
        raise UsageError(
            f"the agent {spec.name!r} asks 'popular', which reads the history, and code of others, which must not see it in a "
            "sandbox; leave one of them out, or leave out --sandbox"
        )


def _commits_by_repository(locations: Iterable[Location]) -> dict[Path, tuple[str, ...]]:
    found: dict[Path, dict[str, None]] = {}
    for location in locations:
        if isinstance(location, Commit):
            found.setdefault(location.path, {})[location.commit] = None
    return {path: tuple(commits) for path, commits in found.items()}


def _hidden_around(path: Path, modules: Iterable[Path]) -> list[Path]:
    """What is hidden of a folder that the agent's own code is in: runs and journals, which may be written there."""
    holds_code = any(path == module.resolve() or path in module.resolve().parents for module in modules)
    return sorted(path.glob("*.jsonl*")) if holds_code else [path]


def _refuse_hidden(root: Path, hidden: Iterable[Path]) -> None:
    """Refuse to search what must not be seen. What lies below a folder is hidden there, and is not a document of it."""
    if root in hidden and root.exists():
        raise UsageError(
            f"{root} is not for agents, and is searched; name the documents alone with --corpus, or leave out --sandbox"
        )


def _agent_modules(spec: AgentSpec) -> tuple[Path, ...]:
    """The agent's module; what is beside it is shown as well, unless that is the home folder or one above."""
    if not isinstance(spec.source, PythonClass):
        return ()
    module = spec.source.module
    candidates: tuple[Path, ...]
    if module.endswith(".py"):
        candidates = (Path(module).absolute(),)
    else:
        top = Path.cwd() / module.partition(".")[0]
        candidates = (top, top.with_name(f"{top.name}.py"))
    return tuple(path for path in candidates if path.exists())


def _holds_home(folder: Path) -> bool:
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111  # Path would raise where there is no home
    return folder.resolve() == home or folder.resolve() in home.parents


def _searched(location: Folder | Commit) -> tuple[Path, ...]:
    return (location.path.resolve(),) if isinstance(location, Folder) else _repository(location.path)


@cache
def _repository(path: Path) -> tuple[Path, ...]:
    """What Git reads of a repository at a commit, the objects that it borrows from others included, and no work tree."""
    from searchmark.history.repository import open_repository

    with open_repository(path) as repository:
        pointer = path / ".git"
        own = [pointer] if pointer.exists() else []
        return tuple(dict.fromkeys((*own, repository.git_dir, repository.objects.parent, *_borrowed(repository.objects))))


def _borrowed(objects: Path, known: tuple[Path, ...] = ()) -> Iterator[Path]:
    alternates = objects / "info" / "alternates"
    lines = alternates.read_text("utf-8", "surrogateescape").splitlines() if alternates.is_file() else []
    for other in (Path(os.path.normpath(objects / line)) for line in lines if line and not line.startswith("#")):
        if other.is_dir() and other not in known:
            yield other
            yield from _borrowed(other, (*known, other))


def first_unreadable(view: View, user: int) -> Path | None:
    """The first file of agent or corpus that this user could not read: it would be missing from the answers in silence."""
    return next((path for root in (*view.modules, *view.corpus) for path in _below(root) if not _readable(path, user)), None)


def _below(root: Path) -> Iterator[Path]:
    yield root
    for folder, folders, files in walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        yield from (Path(folder, name) for name in (*folders, *files))


def _readable(path: Path, user: int) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    if stat.S_ISLNK(found.st_mode):
        return True
    bits = found.st_mode >> 6 if found.st_uid == user else found.st_mode
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(found.st_mode) else 0)
    return bits & wanted == wanted
