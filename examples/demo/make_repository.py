"""Build the demo's Git repository: the history of a fictional grocery shop's back end.

    python make_repository.py FOLDER

Only git and Python's standard library are needed. Dates, names and contents are fixed, so the hashes are always the same.
The first commit is the folder ``beginning``; what happened then is written down in ``history``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from history import COMMITS
from history.people import MIRA
from steps import Commit, Tree, commit

BEGINNING = Path(__file__).parent / "beginning"
FIRST_DAY = "2023-01-09"
OFFICE_OPENS, BETWEEN_COMMITS = 9 * 3600, 47 * 60
# Nobody's settings may change the hashes or run anything.
SEALED = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1", "LC_ALL": "C"}


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: make_repository.py FOLDER", file=sys.stderr)
        return 4
    folder = Path(arguments[0])
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        print(f"{folder} is there already: name another folder", file=sys.stderr)
        return 4
    build(folder)
    print(f"{len(COMMITS) + 1} commits in {folder}")
    return 0


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


def _first() -> Commit:
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


def _header(step: Commit, mark: int, place: int, parents: list[int]) -> Iterator[bytes]:
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
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *arguments], cwd=folder, env=kept | SEALED, input=given, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
