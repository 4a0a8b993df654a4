"""The words in which a history is written: commits, and what each of them does to the files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Tree = dict[str, str]
Change = Callable[[Tree], None]


@dataclass(frozen=True)
class HistoryStep:
    """One commit. ``merges`` names a branch whose work comes in; ``branch`` is where the commit itself goes."""

    day: str
    author: str
    message: str
    changes: tuple[Change, ...]
    branch: str = "main"
    merges: str | None = None


def commit(day: str, author: str, message: str, *changes: Change, branch: str = "main", merges: str | None = None) -> HistoryStep:
    return HistoryStep(day, author, message.strip() + "\n", changes, branch, merges)


def new(path: str, text: str) -> Change:
    def change(tree: Tree) -> None:
        _refuse(path in tree, f"{path} is there already")
        tree[path] = text.strip("\n") + "\n"

    return change


def edit(path: str, old: str, text: str) -> Change:
    """Put a text in the place of another one, which must be there exactly once."""

    def change(tree: Tree) -> None:
        _refuse(path not in tree, f"there is no {path}")
        _refuse(tree[path].count(old) != 1, f"{path} holds {tree[path].count(old)} times: {old}")
        tree[path] = tree[path].replace(old, text)

    return change


def after(path: str, old: str, text: str) -> Change:
    """Put a text behind another one."""
    return edit(path, old, old + text)


def append(path: str, text: str) -> Change:
    """Put a text at the end of a file, with two empty lines before it if it is Python."""

    def change(tree: Tree) -> None:
        _refuse(path not in tree, f"there is no {path}")
        tree[path] += ("\n\n" if path.endswith(".py") else "") + text.strip("\n") + "\n"

    return change


def everywhere(old: str, text: str) -> Change:
    """Put a text in the place of another one in every file, as a rename of something does."""

    def change(tree: Tree) -> None:
        holders = [path for path in tree if old in tree[path]]
        _refuse(not holders, f"no file holds: {old}")
        tree.update({path: tree[path].replace(old, text) for path in holders})

    return change


def move(path: str, to: str) -> Change:
    def change(tree: Tree) -> None:
        _refuse(path not in tree or to in tree, f"{path} cannot be moved to {to}")
        tree[to] = tree.pop(path)

    return change


def remove(path: str) -> Change:
    def change(tree: Tree) -> None:
        _refuse(path not in tree, f"there is no {path}")
        del tree[path]

    return change


def _refuse(wrong: bool, sentence: str) -> None:
    if wrong:
        raise ValueError(sentence)
