"""Small Git histories to travel through, written by git fast-import, and checkouts of them that Git makes itself."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from searchmark.git.process import sealed_environment

FILE, PROGRAM, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
Tree = Mapping[bytes, tuple[str, bytes]]
IDENTITY = {
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@x", "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@x", "GIT_COMMITTER_DATE": "1700000000 +0000",
}  # fmt: skip


def git(folder: Path, *arguments: str, data: bytes | None = None, **environment: str) -> bytes:
    environment = sealed_environment(**IDENTITY, GIT_ALLOW_PROTOCOL="file", **environment)
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], env=environment, input=data, capture_output=True, check=True
    ).stdout


def write_history(folder: Path, trees: Sequence[Tree], *init: str, seconds: int = 60) -> list[str]:
    """A repository with one commit per tree, so many seconds apart, its work tree checked out; the hashes of the commits."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main", *init)
    stream = b"".join(_commit(1_600_000_000 + seconds * number, tree) for number, tree in enumerate(trees))
    git(folder, "fast-import", "--quiet", "--force", data=stream + b"done\n")
    git(folder, "reset", "-q", "--hard")
    return git(folder, "rev-list", "--topo-order", "--reverse", "main").decode().split()


def _commit(date: int, tree: Tree) -> bytes:
    changes = b"".join(_entry(path, mode, content) for path, (mode, content) in tree.items())
    return b"commit refs/heads/main\ncommitter A <a@x> %d +0000\ndata 1\nx\ndeleteall\n%s" % (date, changes)


def _entry(path: bytes, mode: str, content: bytes) -> bytes:
    quoted = b"".join(b"\\%03o" % byte for byte in path)
    if mode == SUBMODULE:
        return b'M %s %s "%s"\n' % (mode.encode(), content, quoted)
    return b'M %s inline "%s"\ndata %d\n%s\n' % (mode.encode(), quoted, len(content), content)


def checked_out(repository: Path, commit: str, folder: Path) -> Path:
    """What Git itself checks out, told to leave every content as it is: an export that shares no code with ours."""
    bare = folder.with_name(f"{folder.name}.git")
    git(repository, "clone", "-q", "--bare", ".", str(bare))
    (bare / "info").mkdir(exist_ok=True)
    (bare / "info" / "attributes").write_text("* -text -eol -filter -ident -working-tree-encoding\n")
    folder.mkdir()
    where = {"GIT_DIR": str(bare), "GIT_WORK_TREE": str(folder), "GIT_INDEX_FILE": str(bare / "private-index")}
    git(folder, "read-tree", commit, **where)
    git(folder, "checkout-index", "--all", **where)
    return folder


def random_trees(seed: int, count: int) -> list[dict[bytes, tuple[str, bytes]]]:
    """Trees that differ in a few paths each, whose few names are now a file, now a folder, now a link."""
    draw = random.Random(seed)
    tree: dict[bytes, tuple[str, bytes]] = {b"kept": (FILE, b"kept\n")}
    trees = []
    for _ in range(count):
        for _ in range(draw.randint(1, 4)):
            path = b"/".join(draw.choices([b"a", b"b", b"c-", b"c"], k=draw.randint(1, 4)))
            tree = {other: entry for other, entry in tree.items() if not _collide(path, other)}
            if draw.random() < 0.8:
                tree[path] = (draw.choice([FILE, FILE, PROGRAM, LINK]), b"%d\n" % draw.randint(0, 5))
        trees.append(dict(tree))
    return trees


def _collide(one: bytes, other: bytes) -> bool:
    return one == other or one.startswith(other + b"/") or other.startswith(one + b"/")
