"""An opened repository: its commits, trees and objects, read as they were committed.

It is read through a private git directory that borrows its objects and nothing else. So no config, hook,
attribute, graft or replacement of the user or of a stranger's repository can change what we read or run anything, the
owner of the files does not matter, and an object that a partial clone lacks is missing, not fetched. Nothing is ever
written to the repository.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from searchmark.errors import DamagedRepository, UsageError, shortened
from searchmark.files.private_folders import private_folder, temporary_file, writing_temporary_files
from searchmark.history.git import UNBELIEVED, ask, nul_ended, replies_of, sealed_environment, start, stop, stream
from searchmark.history.git_files import check_packs, common_dir, is_partial, list_in, refuse_half_packs, refuse_odd_files
from searchmark.history.loose_objects import check_loose_objects
from searchmark.history.object_reader import COMMAND, ObjectReader, read_content

FULL_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")  # of SHA-1 or SHA-256
LONGEST_REVISION = 1000
CLONE_ALL = "clone all of it in CI (GitHub: fetch-depth: 0; GitLab: GIT_DEPTH: 0)"
FETCH_ALL = f"fetch the rest with --fetch, or {CLONE_ALL}"
_DAMAGED = "it is damaged: check it with git fsck, or name another clone with --repo"
_ELSEWHERE = "name the repository that has it with --repo, or check this one with git fsck: it may be damaged"
# What git says of objects that are not what they should be, and of those that are not here.
_DAMAGE = re.compile(
    "corrupt|garbage at end|inflate|unable to unpack|unable to parse|does not match index|non-monotonic|is too small|is empty"
    "|hash mismatch|bogus|malformed|truncated|too-short|delta base|invalid object|bad tree|not a (?:commit|tree|blob)"
)
_LACK = re.compile("[Uu]nable to read|[Cc]ould not read|[Cc]annot read|[Mm]issing|bad object|Failed to traverse")
GITLINK, SYMLINK, DIRECTORY = 0o160000, 0o120000, 0o040000


def path_text(path: bytes) -> str:
    """A path as text; bytes that are not UTF-8 survive as lone surrogates."""
    return path.decode("utf-8", "surrogateescape")


def path_bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a tree; ``mode`` tells files from links and submodules."""

    mode: int
    blob: str
    path: bytes

    @property
    def is_file(self) -> bool:
        return self.mode not in (GITLINK, SYMLINK, DIRECTORY)


@dataclass(frozen=True)
class Repository:
    """An opened repository. ``path`` is what the user gave; ``shallow`` holds the commits whose parents are not here."""

    path: str
    git_dir: Path
    objects: Path
    object_format: str
    shallow: frozenset[str]
    borrowed: Path

    def command(self, *arguments: str) -> list[str]:
        return ["git", f"--git-dir={self.borrowed}", *UNBELIEVED, "-c", "core.quotepath=off", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return sealed_environment(GIT_OBJECT_DIRECTORY=str(self.objects))

    def run(self, *arguments: str, input: bytes | None = None) -> bytes:  # noqa: A002  # as subprocess calls it
        """The whole output of one command; for output that is known to be small."""
        with self.stream(*arguments, input=input) as output:
            return output.read()

    @contextmanager
    def stream(self, *arguments: str, input: bytes | None = None) -> Iterator[io.BufferedReader]:  # noqa: A002  # as above
        """The output of one command to read from; leaving before its end stops the command."""
        called = f"{self.path}: git {arguments[0]}"
        with stream(self.command(*arguments), self.environment, called, input, self._failure) as output:
            yield output

    def _failure(self, said: str) -> UsageError:
        """What is wrong with a repository about which git has said this."""
        if _DAMAGE.search(said):
            return DamagedRepository(f"{said}; {_DAMAGED}")
        return DamagedRepository(f"{said}; {self.why_lacking}") if _LACK.search(said) else UsageError(said)

    def commit(self, revision: str = "HEAD") -> str:
        """The full hash of the commit that a revision names, as the repository itself understands it."""
        if revision.startswith("-") or not revision.isprintable() or len(revision) > LONGEST_REVISION:
            raise UsageError(f"{self.path}: {shortened(repr(revision), 60)} is not a revision")
        answer = _ask(
            self.git_dir,
            f"--git-dir={self.git_dir}",
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{revision}^{{commit}}",
        )
        if answer.returncode == 0:
            return answer.stdout.decode().strip()
        if revision == "HEAD":
            raise self._without_head()
        if FULL_HASH.fullmatch(revision):
            raise self.lacks_commit(revision)
        self._refuse_damage()
        shallow = f"; {self._why_shallow}" if self.shallow else ""
        raise UsageError(f"{self.path}: {revision!r} is not a commit of this repository{shallow}")

    def _without_head(self) -> UsageError:
        """A branch that was never committed to is new; one that names what cannot be read is damaged."""
        branch = _ask(self.git_dir, f"--git-dir={self.git_dir}", "symbolic-ref", "--quiet", "HEAD")
        named = _ask(self.git_dir, f"--git-dir={self.git_dir}", "rev-parse", "--verify", "--quiet", "HEAD")
        ref = branch.stdout.rstrip(b"\n")
        if branch.returncode == 0 and named.returncode and not self._has_ref(ref):
            return UsageError(f"{self.path}: the repository has no commits on its current branch")
        what = path_text(named.stdout.strip() or ref or b"a branch")
        return DamagedRepository(f"{self.path} is damaged: HEAD names {what}, which cannot be read; check it with git fsck")

    def _has_ref(self, ref: bytes) -> bool:
        """Whether anything is stored under the name of a branch, readable or not."""
        common = common_dir(self.git_dir)
        packed = any(line.partition(b" ")[2] == ref for line in list_in(common / "packed-refs", self.path))
        return packed or (common / os.fsdecode(ref)).is_file()

    def tree(self, commit: str) -> Iterator[TreeEntry]:
        """Every file of a commit's tree, streamed, in the order of Git."""
        with self.stream("ls-tree", "-r", "-z", "--full-tree", commit) as output:
            for line in nul_ended(output):
                about, path = line.split(b"\t", 1)
                mode, _, blob = about.split(b" ")
                yield TreeEntry(int(mode, 8), blob.decode(), path)

    def missing(self, names: Iterable[str]) -> set[str]:
        """Which of these objects are not here, as in a partial clone."""
        asked = "".join(f"{name}\n" for name in names).encode()
        with self.stream("cat-file", "--batch-check", "--buffer", input=asked) as output:
            return {line.split(b" ")[0].decode() for line in output if line.endswith(b" missing\n")}

    def contents(self, names: Iterable[str]) -> Iterator[bytes | None]:
        """The contents of objects that are all known beforehand, in order: git reads ahead while we look at them."""
        asked = [f"{name}\n" for name in names]
        with self.stream("cat-file", "--batch", "--buffer", input="".join(asked).encode()) as output:
            for _ in asked:
                yield read_content(output, self.path, self.object_format)

    @contextmanager
    def objects_reader(self) -> Iterator[ObjectReader]:
        """One process that hands out the contents of objects whose names depend on what was read before."""
        with temporary_file() as words:
            process = start(self.command(*COMMAND), self.environment, subprocess.PIPE, words)
            assert process.stdin is not None  # noqa: S101  # it is a pipe
            try:
                with replies_of(process, f"{self.path}: git cat-file") as replies:
                    yield ObjectReader(self.path, self.object_format, process.stdin, replies)
            finally:
                stop(process)

    def check_objects(self, *, blobs: bool = True) -> None:
        """Refuse packs that do not match their checksums, and loose objects that do not match their names.

        Git would read what is damaged as if it were something else. Loose blobs can be left out by who reads none.
        """
        check_packs(self.objects, self.object_format, self.path)
        check_loose_objects(self.objects, self.object_format, self.path, blobs=blobs)

    def lacks(self, kind: str, name: str) -> DamagedRepository:
        return DamagedRepository(f"{self.path} lacks the {kind} {name}; {self.why_lacking}")

    def lacks_commit(self, name: str) -> DamagedRepository:
        """The error about a commit that is not here, unless there is damage to tell of."""
        self._refuse_damage()
        why = self._why_shallow if self.shallow else _ELSEWHERE
        return DamagedRepository(f"{self.path} lacks the commit {name}; {why}")

    def _refuse_damage(self) -> None:
        self.check_objects(blobs=False)
        refuse_half_packs(self.objects, self.path)

    @property
    def _why_shallow(self) -> str:
        return (
            f"it is a shallow clone: fetch the rest with --fetch or git -C {self.path} fetch --unshallow, {CLONE_ALL}, "
            "or name a complete clone with --repo"
        )

    @property
    def why_lacking(self) -> str:
        """Why objects may be missing, and what to do about it."""
        if is_partial(self.objects, self.path):
            return (
                f"it is a partial clone: fetch the contents first (git -C {self.path} fetch --refetch --no-filter), "
                "or name a complete clone with --repo"
            )
        return _DAMAGED


@contextmanager
def open_repository(path: str | os.PathLike[str]) -> Iterator[Repository]:
    """Open a repository by its top folder or its git directory: with a work tree, bare, a worktree or a submodule.

    A folder somewhere inside a repository is refused: it is more often a mistake than a wish.
    """
    given = os.fspath(path)
    found = _locate(given)
    git_dir, objects, shallow_file = (Path(os.fsdecode(line)) for line in found[:3])
    shallow = _shallow(shallow_file, given)
    object_format = found[3].decode()
    with private_folder() as folder:
        with writing_temporary_files():
            borrowed = _borrowing(folder, object_format, shallow)
        yield Repository(given, git_dir, objects, object_format, shallow, borrowed)


@contextmanager
def open_repository_around(folder: Path) -> Iterator[tuple[Repository, str]]:
    """Open the repository that a folder of a work tree belongs to; beside it, the path from its top to the folder."""
    answer = ask(folder, "rev-parse", "--absolute-git-dir", "--show-prefix")
    git_dir, _, prefix = answer.stdout.partition(b"\n")
    if answer.returncode:
        raise UsageError(f"{folder} is not inside a Git repository")
    with open_repository(os.fsdecode(git_dir)) as repository:
        yield repository, path_text(prefix.removesuffix(b"\n"))


def _shallow(file: Path, path: str) -> frozenset[str]:
    """The commits whose parents are not here."""
    names = [line.decode("ascii", "replace") for line in list_in(file, path) if line.strip()]
    odd = next((name for name in names if not FULL_HASH.fullmatch(name)), None)
    if odd is not None:
        raise DamagedRepository(f"{path} is damaged: {file} lists {shortened(odd, 80)!r}, not a commit; clone it again")
    return frozenset(names)


def _locate(path: str) -> list[bytes]:
    """Git directory, objects, file of shallow commits, and the kind of hash."""
    folder = Path(path)
    if not folder.is_dir():
        raise UsageError(f"{path} is not a Git repository: there is no such folder")
    refuse_odd_files(folder, path)
    wanted = ("--absolute-git-dir", "--git-path", "objects", "--git-path", "shallow", "--show-object-format")
    answer = _ask(folder, "rev-parse", "--path-format=absolute", *wanted)
    lines = answer.stdout.split(b"\n")
    if answer.returncode or len(lines) != len(("git dir", "objects", "shallow", "format", "")):
        said = answer.stderr.decode("utf-8", "replace").strip().splitlines()
        why = "" if not said or "not a git repository" in said[0] else f": {shortened(said[0], 200)}"
        raise UsageError(f"{path} is not a Git repository (give its top folder or its git directory){why}")
    return lines


def _borrowing(folder: Path, object_format: str, shallow: Iterable[str]) -> Path:
    """An empty git directory of our own, for the objects of another one."""
    (folder / "refs").mkdir()
    (folder / "objects").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    extension = "" if object_format == "sha1" else f"[extensions]\n\tobjectFormat = {object_format}\n"
    version = 1 if extension else 0
    (folder / "config").write_text(f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extension}")
    if shallow:
        (folder / "shallow").write_text("".join(f"{commit}\n" for commit in sorted(shallow)))
    return folder


def _ask(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Ask the repository itself, which only ever resolves names; not one further up, which Git would look for as well."""
    ceiling = os.path.dirname(os.path.realpath(folder))  # noqa: PTH120  # of the resolved text, as git compares it
    return ask(folder, *arguments, GIT_CEILING_DIRECTORIES=ceiling)
