"""Which files below a folder are documents, and what is left out of them and why.

That is found out once, by whoever names the folder: an agent in another process, or in a sandbox where no Git is seen, is
told the outcome and searches the same files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from searchmark.corpora.file_kinds import ChosenPaths
from searchmark.corpora.tool_folders import is_tool_folder
from searchmark.errors import FormatError, UsageError
from searchmark.files.our_files import is_ours, output_files
from searchmark.files.walking import walk
from searchmark.history.ignored import ignored_below
from searchmark.options.corpus_choice import FileChoice
from searchmark.options.experiment_options import OUR_FOLDER

GIT = ".git"  # a folder, or a file that says where it is
SKIPPED_FOLDERS = frozenset({GIT, OUR_FOLDER})
SHOWN = 3

Reason = Literal["ours", "ignored", "tools", "chosen"]
LEFT_OUT: Mapping[Reason, str] = {
    "ours": "of the suite or of this program",
    "ignored": "that Git ignores",
    "tools": "of tools (node_modules, virtual environments, __pycache__)",
    "chosen": "by include, exclude and kinds",
}


@dataclass(frozen=True)
class LeftOut:
    """What is left out for one reason: how many files and folders, a folder counting once, and the first of them."""

    reason: Reason
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class FolderFiles:
    """The outcome: ``pruned`` paths, those of folders with a slash at the end, and a choice by name of all others."""

    choice: FileChoice = FileChoice()  # noqa: RUF009  # frozen
    pruned: Mapping[str, Reason] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    problems: tuple[str, ...] = field(default=(), compare=False)  # of whoever looked

    def __hash__(self) -> int:
        return hash((self.choice, tuple(self.pruned), self.left_out))

    @cached_property
    def chosen(self) -> ChosenPaths:
        return ChosenPaths.of(self.choice)

    def reason(self, path: str) -> Reason | None:
        """Why a path below the folder is not a document; None if nothing speaks against it."""
        parts = path.split("/")
        if not SKIPPED_FOLDERS.isdisjoint(parts):
            return "ours" if OUR_FOLDER in parts else "ignored"
        above = ("/".join(parts[:depth]) + "/" for depth in range(1, len(parts)))
        found = next((self.pruned[each] for each in (*above, path) if each in self.pruned), None)
        return found or (None if self.chosen(path) else "chosen")

    def below(self, folder: Path) -> Iterator[tuple[Path, str]]:
        """The files, in path order, each with its path below the folder; links to folders are among them."""
        for parent, folders, names in walk(folder, onerror=lambda error: _refuse(folder, error)):
            prefix = _prefix(folder, parent)
            links = [name for name in folders if Path(parent, name).is_symlink()]
            kept = set(folders) - SKIPPED_FOLDERS - set(links)
            folders[:] = sorted(name for name in kept if f"{prefix}{name}/" not in self.pruned)
            for name in sorted([*names, *links]):
                path = prefix + name
                if name != GIT and path not in self.pruned and self.chosen(path):
                    yield Path(parent, name), path

    def without(self, folder: Path, never: Iterable[Path]) -> FolderFiles:
        """The same without these files of the folder, those of them that would be documents."""
        below = [path.relative_to(folder).as_posix() for path in map(Path.resolve, never) if folder in path.parents]
        told = [f"{path}/" if (folder / path).is_dir() else path for path in below if self.reason(path) is None]
        if not told:
            return self
        known = next((each for each in self.left_out if each.reason == "ours"), LeftOut("ours", 0, ()))
        ours = LeftOut("ours", known.count + len(told), (*known.examples, *told)[:SHOWN])
        left_out = (ours, *(each for each in self.left_out if each != known))
        return FolderFiles(self.choice, {**self.pruned, **dict.fromkeys(told, ours.reason)}, left_out, self.problems)

    def to_plain(self) -> dict[str, Any]:
        return {"choice": asdict(self.choice), "pruned": dict(self.pruned), "left_out": [asdict(each) for each in self.left_out]}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> FolderFiles:
        said = data["choice"]
        choice = FileChoice(tuple(said["include"]), tuple(said["exclude"]), tuple(said["kinds"]), said["ignore"])
        left_out = tuple(LeftOut(each["reason"], each["count"], tuple(each["examples"])) for each in data["left_out"])
        return cls(choice, data["pruned"], left_out)


def files_of(folder: Path, choice: FileChoice, never: Iterable[Path] = ()) -> FolderFiles:
    """Look through a folder once; what Git ignores is asked of Git, for every work tree that lies in it."""
    search = _Search(folder.resolve(), choice, {path.resolve() for path in never} | output_files())
    return search.outcome()


def refuse_choice(why: str, choice: FileChoice) -> None:
    """Refuse to choose files by name where documents are no files: it would change nothing, and nobody would see that."""
    if choice.narrows:
        said = "--include, --exclude and --kinds, also in the section corpus of a config,"
        raise UsageError(f"{said} choose files of a folder, and {why}; leave them out")


def read_from(given: Path, file: Path) -> str:
    """Why files cannot be chosen of what was given."""
    if given.is_dir():
        return f"{given} holds a collection, read from {'its files' if file == given else file.relative_to(given)}"
    return f"{given} is a file"


class _Search:
    """One walk, which goes into nothing that is left out."""

    def __init__(self, root: Path, choice: FileChoice, never: set[Path]) -> None:
        self._root = root
        self._choice = choice
        self._never = {str(path) for path in never if path != root and path not in root.parents}
        self._chosen = ChosenPaths.of(choice)
        self._pruned: dict[str, Reason] = {}
        self._counts: dict[Reason, int] = {}
        self._examples: dict[Reason, list[str]] = {}
        self._ignored: set[str] = set()
        self._problems: list[str] = []
        self._git_is_silent = False

    def outcome(self) -> FolderFiles:
        self._ask_git(self._root, "")
        for parent, folders, names in walk(self._root, onerror=lambda error: _refuse(self._root, error)):
            prefix = _prefix(self._root, parent)
            if prefix and (GIT in folders or GIT in names):
                self._ask_git(Path(parent), prefix)
            folders[:] = [name for name in sorted(folders) if self._enters(parent, prefix, name)]
            for name in sorted(names):
                self._look_at(parent, prefix, name)
        left_out = tuple(
            LeftOut(each, self._counts[each], tuple(self._examples[each])) for each in LEFT_OUT if each in self._counts
        )
        return FolderFiles(self._choice, self._pruned, left_out, self._told_problems())

    def _told_problems(self) -> tuple[str, ...]:
        """The first of them, and how many more: a folder may hold any number of damaged work trees."""
        more = len(self._problems) - SHOWN
        return (*self._problems[:SHOWN], *([f"git cannot tell what it ignores in {more} more work trees"] if more > 0 else []))

    def _ask_git(self, folder: Path, prefix: str) -> None:
        if not self._choice.ignore or self._git_is_silent:
            return
        found = ignored_below(folder)
        self._git_is_silent = found.silent
        self._ignored.update(prefix + path for path in found.paths)
        self._problems += [found.problem] if found.problem else []

    def _enters(self, parent: str, prefix: str, name: str) -> bool:
        path = f"{prefix}{name}/"
        if name in SKIPPED_FOLDERS or Path(parent, name).is_symlink():
            return False  # as ever; a link is counted with the files that hold no text
        reason = self._reason_of_folder(parent, name, path)
        if reason is not None:
            self._leave_out(path, reason)
        return reason is None

    def _reason_of_folder(self, parent: str, name: str, path: str) -> Reason | None:
        if str(Path(parent, name)) in self._never:
            return "ours"
        if not self._choice.ignore:
            return None
        if is_tool_folder(parent, name):
            return "tools"
        return "ignored" if path in self._ignored else None

    def _look_at(self, parent: str, prefix: str, name: str) -> None:
        path = prefix + name
        if name == GIT:
            return
        if path in self._ignored:
            self._leave_out(path, "ignored")
        elif not self._chosen(path):
            self._count(path, "chosen")
        else:
            file = os.path.join(parent, name)  # noqa: PTH118  # there may be many
            if file in self._never or is_ours(file):
                self._leave_out(path, "ours")

    def _leave_out(self, path: str, reason: Reason) -> None:
        self._pruned[path] = reason
        self._count(path, reason)

    def _count(self, path: str, reason: Reason) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + 1
        examples = self._examples.setdefault(reason, [])
        if len(examples) < SHOWN:
            examples.append(path)


def _prefix(folder: Path, parent: str) -> str:
    below = Path(parent).relative_to(folder).as_posix()
    return "" if below == "." else f"{below}/"


def _refuse(folder: Path, error: OSError) -> None:
    raise FormatError(folder, None, f"cannot be read: {error.strerror}") from error
