"""Make the Git repository of ``builtin:code-history``: two years of a fictional grocery shop's back end.

Dates, names and contents are fixed, so the hashes are always the same. The first commit is the folder ``beginning``; what
happened then is written down in ``history``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from searchmark.builtin_suites.code_history.history import COMMITS
from searchmark.builtin_suites.code_history.history.people import MIRA
from searchmark.builtin_suites.code_history.steps import HistoryStep, Tree, commit
from searchmark.errors import UsageError
from searchmark.files.cache_folders import cache_folder
from searchmark.history.git import ask, sealed_environment

NAME = "larder"
LAST_COMMIT = "6ecd7bb76ad970586fef58bd2e07d08b1220e952"
BEGINNING = Path(__file__).parent / "beginning"
FIRST_DAY = "2023-01-09"
OFFICE_OPENS, BETWEEN_COMMITS = 9 * 3600, 47 * 60
_LENGTH = 12  # of a hash in the name of a folder


def located() -> str:
    """The repository in the user's cache, as ``NAME=PATH``: made on first use, and again if it is not at its last commit."""
    folder = cache_folder().absolute() / "builtin" / f"code-history-{LAST_COMMIT[:_LENGTH]}" / NAME
    if _last_commit(folder) != LAST_COMMIT:
        _make(folder)
    return f"{NAME}={folder}"


def _make(folder: Path) -> None:
    """Made beside its place and put there whole: others may be making it at the same time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder.parent) as unfinished:
        made = Path(unfinished) / NAME
        build(made)
        if _last_commit(made) != LAST_COMMIT:
            raise UsageError(f"git made another history of builtin:code-history than its cases are about ({_version()})")
        if _last_commit(folder) != LAST_COMMIT:
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # another process was faster; what is there now is looked at below
                made.rename(folder)
    if _last_commit(folder) != LAST_COMMIT:
        raise UsageError(f"{folder} is in the way of the repository of builtin:code-history; remove it")


def placed(folder: Path) -> None:
    """The repository in a folder of the user's. What is there already is taken if it is at its last commit, and never removed."""
    if _last_commit(folder) == LAST_COMMIT:
        return
    if os.path.lexists(folder):
        raise UsageError(f"{folder} is in the way of the example repository; move it away, or name another folder with -o")
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder.parent) as unfinished:
        made = Path(unfinished) / NAME
        build(made)
        made.rename(folder)


def _version() -> str:
    return ask(Path(), "version").stdout.decode("utf-8", "replace").strip()


def _last_commit(folder: Path) -> str | None:
    """Where HEAD of the repository in this folder is, which is not one around it; None if nothing can be said."""
    if not (folder / ".git").is_dir():
        return None
    answer = ask(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    return answer.stdout.decode("ascii", "replace").strip() if answer.returncode == 0 else None


def build(folder: Path) -> None:
    """Make the repository and check its files out."""
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, "init", "--quiet", "--initial-branch=main", "--object-format=sha1", "--template=")
    _git(folder, "fast-import", "--quiet", given=b"".join(stream()))
    _git(folder, "reset", "--quiet", "--hard", "main")


def stream() -> Iterator[bytes]:
    """The whole history in the language of ``git fast-import``."""
    trees: dict[str, Tree] = {"main": {}}
    forks: dict[str, Tree] = {}
    tips: dict[str, int] = {}
    seen_days: dict[str, int] = {}
    for mark, step in enumerate((_first(), *COMMITS), 1):
        if step.branch not in trees:
            forks[step.branch] = trees[step.branch] = dict(trees["main"])
        tree = dict(trees[step.branch])
        if step.merges:
            _bring_in(tree, forks.pop(step.merges), trees.pop(step.merges))
        for change in step.changes:
            change(tree)
        seen_days[step.day] = seen_days.get(step.day, -1) + 1
        parents = [tips.get(step.branch, tips.get("main")), tips.get(step.merges or "")]
        yield from _header(step, mark, seen_days[step.day], [parent for parent in parents if parent is not None])
        yield from _difference(trees[step.branch], tree)
        trees[step.branch], tips[step.branch] = tree, mark


def _first() -> HistoryStep:
    def copy(tree: Tree) -> None:
        files = [path for path in BEGINNING.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        tree.update({path.relative_to(BEGINNING).as_posix(): path.read_text("utf-8") for path in files})

    return commit(FIRST_DAY, MIRA, "Initial import of the shop\n\nTaken out of the old monolith; history starts here.", copy)


def _bring_in(tree: Tree, fork: Tree, branch: Tree) -> None:
    """Merge what a branch has done since it left; nobody has touched the same files in the meantime."""
    for path in fork.keys() | branch.keys():
        if fork.get(path) != branch.get(path):
            if tree.get(path) != fork.get(path):
                raise ValueError(f"{path} was changed on both sides of a merge")
            tree.pop(path, None)
            tree.update({path: branch[path]} if path in branch else {})


def _header(step: HistoryStep, mark: int, place: int, parents: list[int]) -> Iterator[bytes]:
    midnight = datetime.fromisoformat(step.day).replace(tzinfo=UTC).timestamp()
    when = f"{step.author} {int(midnight) + OFFICE_OPENS + place * BETWEEN_COMMITS} +0000"
    message = step.message.encode()
    yield f"commit refs/heads/{step.branch}\nmark :{mark}\nauthor {when}\ncommitter {when}\n".encode()
    yield b"data %d\n%b" % (len(message), message)
    for word, parent in zip(("from", "merge"), parents, strict=False):
        yield f"{word} :{parent}\n".encode()


def _difference(before: Tree, tree: Tree) -> Iterator[bytes]:
    for path in sorted(before.keys() | tree.keys()):
        if path not in tree:
            yield f"D {path}\n".encode()
        elif before.get(path) != tree[path]:
            data = tree[path].encode()
            yield b"M 100644 inline %b\ndata %d\n%b\n" % (path.encode(), len(data), data)


def _git(folder: Path, *arguments: str, given: bytes | None = None) -> None:
    """Ask git to make something, with nobody's settings."""
    try:
        subprocess.run(["git", *arguments], cwd=folder, env=sealed_environment(), input=given, check=True, capture_output=True)  # noqa: S603, S607  # git itself
    except FileNotFoundError as error:
        raise UsageError("git is not installed, and builtin:code-history is a Git repository; install git") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip()
        raise UsageError(f"git could not make the repository of builtin:code-history: {said}") from error
