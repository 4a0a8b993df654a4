"""A repository that may be damaged or a stranger's: checked before git opens it, then read commit by commit, object by object."""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import subprocess
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, TypeVar

from searchmark.errors import DamagedRepository, UsageError, shortened
from searchmark.git.process import (
    IGNORE_INDEXES,
    ask_git,
    sealed_environment,
    split_at_nul,
    start_git,
    stop_git,
    stream_output,
    watch_replies,
)
from searchmark.io.folders import blame_temporary_folder, private_folder, temporary_file

# The files of a git directory, looked at before git opens them: regular ones only, and packs that match their checksums.
#
# Git opens whatever has the right name, and would wait for a pipe without end. It takes packs and their indexes as they are:
# checksums are only looked at by ``git fsck``.

_FOLDERS_READ = ("refs", "objects", "info", "worktrees")  # folders of a git directory that git looks into

_DEEPEST_ALTERNATES = 5  # as in git


_LARGEST_LIST = 64_000_000  # bytes of a list of shallow commits or alternates


def refuse_odd_files(folder: Path, repository: str) -> None:
    """Refuse a repository in which something that git opens is a pipe or a device."""
    git_dir = git_dir_at(folder)
    common = common_dir(git_dir)
    _refuse_odd(git_dir, repository, deep=False)
    _refuse_odd(common, repository, deep=False)
    for name in _FOLDERS_READ:
        _refuse_odd(common / name, repository, deep=True)
    for objects in object_folders(common / "objects", repository)[1:]:
        _refuse_odd(objects, repository, deep=True)


def _refuse_odd(top: Path, repository: str, *, deep: bool) -> None:
    waiting = [os.fspath(top)]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue  # git says what is wrong with it
        for entry in entries:
            if _is_odd(entry):
                raise _unreadable(repository, entry.path)
            if deep and entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def _is_odd(entry: os.DirEntry[str]) -> bool:
    """Whether opening this could wait for ever. A link counts as what it leads to; a socket, as fsmonitor has, cannot be opened."""
    try:
        if entry.is_file() or entry.is_dir():
            return False
        mode = entry.stat().st_mode
    except OSError:  # a link that leads nowhere
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def _unreadable(repository: str, file: str | Path) -> UsageError:
    return UsageError(f"{repository} is not a Git repository that can be read: {file} is not a regular file; remove it")


def git_dir_at(folder: Path) -> Path:
    """Where git would look: the folder's own ``.git``, what that names if it is a file, or the folder itself."""
    inside = folder / ".git"
    if inside.is_dir():
        return inside
    if inside.is_file():
        lines = read_list(inside, str(folder))[:1]
        if lines and lines[0].startswith(b"gitdir: "):
            return folder / os.fsdecode(lines[0].removeprefix(b"gitdir: "))
    elif inside.exists():
        raise _unreadable(str(folder), inside)
    return folder


def common_dir(git_dir: Path) -> Path:
    """The directory that a worktree shares with its repository."""
    lines = read_list(git_dir / "commondir", str(git_dir))[:1]
    return git_dir / os.fsdecode(lines[0]) if lines else git_dir


def read_list(file: Path, repository: str) -> list[bytes]:
    """The lines of a small file of git's; none if it is not there."""
    try:
        status = file.stat()
    except (OSError, ValueError):
        return []
    if not stat.S_ISREG(status.st_mode):
        raise _unreadable(repository, file)
    if status.st_size > _LARGEST_LIST:
        raise UsageError(f"{repository} is not a Git repository that can be read: {file} has {status.st_size:,} bytes; remove it")
    try:
        return file.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{repository}: {file} cannot be read: {error.strerror}") from error


def object_folders(objects: Path, repository: str) -> list[Path]:
    """The folder of objects, and those that it borrows from, directly or not."""
    folders, level = [objects], [objects]
    for _ in range(_DEEPEST_ALTERNATES):
        lines = [(folder, line) for folder in level for line in read_list(folder / "info" / "alternates", repository)]
        level = [folder / os.fsdecode(line) for folder, line in lines if line and not line.startswith(b"#")]
        folders += level
    return list(dict.fromkeys(folders))


def check_packs(objects: Path, digest: str, repository: str) -> None:
    """Refuse a repository with a pack, or an index of one, that does not match its own checksum."""
    for folder in object_folders(objects, repository):
        for index in sorted((folder / "pack").glob("*.idx")):
            for file in (index, index.with_suffix(".pack")):
                _check_checksum(file, digest, repository)


def refuse_half_packs(objects: Path, repository: str) -> None:
    """Refuse a repository with a pack without its index, or the other way round: git passes over what is in it."""
    for folder in object_folders(objects, repository):
        for file in sorted((folder / "pack").glob("pack-*")):
            other = {".idx": ".pack", ".pack": ".idx"}.get(file.suffix)
            if other is not None and not file.with_suffix(other).exists():
                raise DamagedRepository(f"{repository} is damaged: {file} is here without its {other} file; check it with git fsck")


def _check_checksum(file: Path, digest: str, repository: str) -> None:
    try:
        status = file.stat()
        matches = _matches_checksum(file, status.st_size, status.st_mtime_ns, digest)
    except FileNotFoundError:  # packed again meanwhile
        return
    except OSError as error:
        raise DamagedRepository(f"{repository} is damaged: {file} cannot be read: {error.strerror}") from error
    if not matches:
        raise DamagedRepository(f"{repository} is damaged: {file} does not match its checksum; check it with git fsck")


@lru_cache(maxsize=1024)
def _matches_checksum(file: Path, size: int, _: int, digest: str) -> bool:
    """Whether a file ends with the checksum of what is before; its time is a part of the question."""
    checksum = hashlib.new(digest, usedforsecurity=False)
    with file.open("rb") as stream:
        bytes_left = size - checksum.digest_size
        while bytes_left > 0 and (piece := stream.read(min(bytes_left, _PIECE))):
            checksum.update(piece)
            bytes_left -= len(piece)
        return bytes_left == 0 and stream.read() == checksum.digest()


def is_partial(objects: Path, repository: str) -> bool:
    """Whether a repository is a partial clone, as far as its packs say."""
    return any(any((folder / "pack").glob("*.promisor")) for folder in object_folders(objects, repository))


# Loose objects, each a file, compared with their names: git log and git diff-tree take them as they are.

_FOLDER = re.compile(r"[0-9a-f]{2}")

_REST = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")

_HEADER_SIZE = 32  # bytes that hold the kind of an object


def check_loose_objects(objects: Path, digest: str, repository: str, *, blobs: bool) -> None:
    """Refuse a repository with a loose commit, tree or tag, and if asked for a blob, that is not what its name says."""
    for folder in object_folders(objects, repository):
        for file in _loose_files(folder):
            if not _is_sound(file, digest, repository, blobs=blobs):
                name = file.parent.name + file.name
                raise DamagedRepository(
                    f"{repository} is damaged: the object {name} is not what its name says; check it with git fsck"
                )


def _loose_files(objects: Path) -> Iterator[Path]:
    for folder in sorted(objects.glob("[0-9a-f][0-9a-f]")):
        if _FOLDER.fullmatch(folder.name) and folder.is_dir():
            yield from (file for file in folder.iterdir() if _REST.fullmatch(file.name))


def _is_sound(file: Path, digest: str, repository: str, *, blobs: bool) -> bool:
    """Whether a file holds what it is named for; a blob that is not asked about is."""
    try:
        pieces = _unpack_object(file)
        head = next(pieces, b"")
        return (head.startswith(b"blob ") and not blobs) or _digest(digest, head, pieces) == file.parent.name + file.name
    except FileNotFoundError:  # packed meanwhile
        return True
    except zlib.error:
        return False
    except OSError as error:
        raise DamagedRepository(f"{repository} is damaged: {file} cannot be read: {error.strerror}") from error


def _digest(digest: str, head: bytes, rest: Iterator[bytes]) -> str:
    checksum = hashlib.new(digest, head, usedforsecurity=False)
    for piece in rest:
        checksum.update(piece)
    return checksum.hexdigest()


def _unpack_object(file: Path) -> Iterator[bytes]:
    """The kind, size and content of an object, first a few bytes; however large it is, only a piece is held."""
    unpacking, longest = zlib.decompressobj(), _HEADER_SIZE
    with file.open("rb", buffering=0) as stream:
        while not unpacking.eof and (chunk := unpacking.unconsumed_tail or stream.read(_PIECE)):
            yield unpacking.decompress(chunk, longest)
            longest = _PIECE


# Objects of a repository through one git process, each checked against its name.
#
# Git itself does not do that: a damaged index of a pack, or a damaged base of a delta, hands out the content of another object.

WINDOW_SIZE = 64  # so many requests fit into any pipe, so that neither side ever waits for the other

BATCH_BYTES = 8_000_000  # of contents that are held at one time; one that is larger is held alone

_PIECE = 1 << 20

T = TypeVar("T")

CAT_FILE_COMMAND = ("cat-file", "--batch-command", "--buffer")


@dataclass(frozen=True)
class ObjectReader:
    """Reads objects by name: a hash, or anything that git understands, such as ``<commit>^{tree}``.

    ``path`` is what errors call the repository, ``digest`` the function that its names are made by.
    """

    path: str
    digest: str
    requests: IO[bytes]
    replies: IO[bytes]

    def read(self, name: str) -> bytes | None:
        """The content of one object; None if it is not here."""
        return next(self.read_all([name]))

    def read_all(self, names: Iterable[str]) -> Iterator[bytes | None]:
        """The contents of many objects that are known to be small, in order."""
        for window in window_items(names):
            self._ask("contents", window)
            # All of them, so that two such loops may take turns.
            yield from [read_content(self.replies, self.path, self.digest) for _ in window]

    def sizes(self, names: Sequence[str]) -> list[int | None]:
        """How large the contents of a window of objects are; None for what is not here."""
        self._ask("info", names)
        headers = [_read_reply_header(self.replies, self.path) for _ in names]
        return [None if header is None else header.size for header in headers]

    def check(self, names: Sequence[str]) -> list[str | None]:
        """Whether each of a window of objects is "missing" or "damaged"; their contents are never held."""
        self._ask("contents", names)
        return [_problem(self.replies, self.path, self.digest) for _ in names]

    def _ask(self, what: str, names: Sequence[str]) -> None:
        self.requests.write(("".join(f"{what} {name}\n" for name in names) + "flush\n").encode())
        self.requests.flush()


def window_items(items: Iterable[T]) -> Iterator[list[T]]:
    """Items in their order, as many at a time as are asked for together."""
    rest = iter(items)
    while window := list(islice(rest, WINDOW_SIZE)):
        yield window


def batch_slices(sizes: Sequence[int]) -> Iterator[slice]:
    """Which of some contents, in their order, are held together."""
    start = total = 0
    for number, size in enumerate(sizes):
        if number > start and total + size > BATCH_BYTES:
            yield slice(start, number)
            start, total = number, 0
        total += size
    if sizes:
        yield slice(start, len(sizes))


@dataclass(frozen=True)
class _ReplyHeader:
    """What git says before the content of an object."""

    name: str
    kind: bytes
    size: int


def _read_reply_header(replies: IO[bytes], path: str) -> _ReplyHeader | None:
    """The next header; None for an object that is not here."""
    line = replies.readline()
    if line.endswith((b" missing\n", b" ambiguous\n")):
        return None
    if not line.endswith(b"\n"):
        raise reader_ended_error(path)
    name, kind, size = line.split(b" ")
    return _ReplyHeader(name.decode(), kind, int(size))


def read_content(replies: IO[bytes], path: str, digest: str) -> bytes | None:
    """The next content that git cat-file hands out; None for an object that is not here."""
    header = _read_reply_header(replies, path)
    if header is None:
        return None
    content = replies.read(header.size)
    if len(content) < header.size or not replies.read(1):  # a newline follows every object
        raise reader_ended_error(path)
    checksum = hashlib.new(digest, b"%b %d\0" % (header.kind, header.size), usedforsecurity=False)
    checksum.update(content)
    if checksum.hexdigest() != header.name:
        raise DamagedRepository(f"{path} is damaged: the object {header.name} is not what its name says; check it with git fsck")
    return content


def _problem(replies: IO[bytes], path: str, digest: str) -> str | None:
    header = _read_reply_header(replies, path)
    if header is None:
        return "missing"
    checksum = hashlib.new(digest, b"%b %d\0" % (header.kind, header.size), usedforsecurity=False)
    bytes_left = header.size
    while bytes_left and (piece := replies.read(min(bytes_left, _PIECE))):
        checksum.update(piece)
        bytes_left -= len(piece)
    if bytes_left or not replies.read(1):
        raise reader_ended_error(path)
    return None if checksum.hexdigest() == header.name else "damaged"


def reader_ended_error(path: str) -> DamagedRepository:
    return DamagedRepository(f"{path} is damaged, or git was stopped: git cat-file ended early; check it with git fsck")


# An opened repository: its commits, trees and objects, read as they were committed.
#
# It is read through a private git directory that borrows its objects and nothing else. So no config, hook,
# attribute, graft or replacement of the user or of a stranger's repository can change what we read or run anything, the
# owner of the files does not matter, and an object that a partial clone lacks is missing, not fetched. Nothing is ever
# written to the repository.

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

_LACKING = re.compile("[Uu]nable to read|[Cc]ould not read|[Cc]annot read|[Mm]issing|bad object|Failed to traverse")

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
    borrowing_dir: Path

    def command(self, *arguments: str) -> list[str]:
        return ["git", f"--git-dir={self.borrowing_dir}", *IGNORE_INDEXES, "-c", "core.quotepath=off", *arguments]

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
        title = f"{self.path}: git {arguments[0]}"
        with stream_output(self.command(*arguments), self.environment, title, input, self._failure) as output:
            yield output

    def _failure(self, message: str) -> UsageError:
        """What is wrong with a repository about which git has said this."""
        if _DAMAGE.search(message):
            return DamagedRepository(f"{message}; {_DAMAGED}")
        return DamagedRepository(f"{message}; {self.why_lacking}") if _LACKING.search(message) else UsageError(message)

    def commit(self, revision: str = "HEAD") -> str:
        """The full hash of the commit that a revision names, as the repository itself understands it."""
        if revision.startswith("-") or not revision.isprintable() or len(revision) > LONGEST_REVISION:
            raise UsageError(f"{self.path}: {shortened(repr(revision), 60)} is not a revision")
        answer = _ask_repository(
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
        branch = _ask_repository(self.git_dir, f"--git-dir={self.git_dir}", "symbolic-ref", "--quiet", "HEAD")
        head = _ask_repository(self.git_dir, f"--git-dir={self.git_dir}", "rev-parse", "--verify", "--quiet", "HEAD")
        ref = branch.stdout.rstrip(b"\n")
        if branch.returncode == 0 and head.returncode and not self._has_ref(ref):
            return UsageError(f"{self.path}: the repository has no commits on its current branch")
        what = path_text(head.stdout.strip() or ref or b"a branch")
        return DamagedRepository(f"{self.path} is damaged: HEAD names {what}, which cannot be read; check it with git fsck")

    def _has_ref(self, ref: bytes) -> bool:
        """Whether anything is stored under the name of a branch, readable or not."""
        common = common_dir(self.git_dir)
        is_packed = any(line.partition(b" ")[2] == ref for line in read_list(common / "packed-refs", self.path))
        return is_packed or (common / os.fsdecode(ref)).is_file()

    def tree(self, commit: str) -> Iterator[TreeEntry]:
        """Every file of a commit's tree, streamed, in the order of Git."""
        with self.stream("ls-tree", "-r", "-z", "--full-tree", commit) as output:
            for line in split_at_nul(output):
                about, path = line.split(b"\t", 1)
                mode, _, blob = about.split(b" ")
                yield TreeEntry(int(mode, 8), blob.decode(), path)

    def missing(self, names: Iterable[str]) -> set[str]:
        """Which of these objects are not here, as in a partial clone."""
        request = "".join(f"{name}\n" for name in names).encode()
        with self.stream("cat-file", "--batch-check", "--buffer", input=request) as output:
            return {line.split(b" ")[0].decode() for line in output if line.endswith(b" missing\n")}

    def contents(self, names: Iterable[str]) -> Iterator[bytes | None]:
        """The contents of objects that are all known beforehand, in order: git reads ahead while we look at them."""
        request = [f"{name}\n" for name in names]
        with self.stream("cat-file", "--batch", "--buffer", input="".join(request).encode()) as output:
            for _ in request:
                yield read_content(output, self.path, self.object_format)

    @contextmanager
    def objects_reader(self) -> Iterator[ObjectReader]:
        """One process that hands out the contents of objects whose names depend on what was read before."""
        with temporary_file() as words:
            process = start_git(self.command(*CAT_FILE_COMMAND), self.environment, subprocess.PIPE, words)
            assert process.stdin is not None  # noqa: S101  # it is a pipe
            try:
                with watch_replies(process, f"{self.path}: git cat-file") as replies:
                    yield ObjectReader(self.path, self.object_format, process.stdin, replies)
            finally:
                stop_git(process)

    def check_objects(self, *, blobs: bool = True) -> None:
        """Refuse packs that do not match their checksums, and loose objects that do not match their names.

        Git would read what is damaged as if it were something else. Loose blobs can be left out by who reads none.
        """
        check_packs(self.objects, self.object_format, self.path)
        check_loose_objects(self.objects, self.object_format, self.path, blobs=blobs)

    def lacks(self, kind: str, name: str) -> DamagedRepository:
        return DamagedRepository(f"{self.path} lacks the {kind} {name}; {self.why_lacking}")

    def lacks_commit(self, name: str) -> DamagedRepository:
        """The error about a commit that is not here, unless there is damage to report."""
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
    text = os.fspath(path)
    lines = _locate(text)
    git_dir, objects, shallow_file = (Path(os.fsdecode(line)) for line in lines[:3])
    shallow = _shallow(shallow_file, text)
    object_format = lines[3].decode()
    with private_folder() as folder:
        with blame_temporary_folder():
            borrowing_dir = _make_borrowing_folder(folder, object_format, shallow)
        yield Repository(text, git_dir, objects, object_format, shallow, borrowing_dir)


@contextmanager
def open_repository_around(folder: Path) -> Iterator[tuple[Repository, str]]:
    """Open the repository that a folder of a work tree belongs to; beside it, the path from its top to the folder."""
    answer = ask_git(folder, "rev-parse", "--absolute-git-dir", "--show-prefix")
    git_dir, _, prefix = answer.stdout.partition(b"\n")
    if answer.returncode:
        raise UsageError(f"{folder} is not inside a Git repository")
    with open_repository(os.fsdecode(git_dir)) as repository:
        yield repository, path_text(prefix.removesuffix(b"\n"))


def _shallow(file: Path, path: str) -> frozenset[str]:
    """The commits whose parents are not here."""
    names = [line.decode("ascii", "replace") for line in read_list(file, path) if line.strip()]
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
    questions = ("--absolute-git-dir", "--git-path", "objects", "--git-path", "shallow", "--show-object-format")
    answer = _ask_repository(folder, "rev-parse", "--path-format=absolute", *questions)
    lines = answer.stdout.split(b"\n")
    if answer.returncode or len(lines) != len(("git dir", "objects", "shallow", "format", "")):
        message = answer.stderr.decode("utf-8", "replace").strip().splitlines()
        why = "" if not message or "not a git repository" in message[0] else f": {shortened(message[0], 200)}"
        raise UsageError(f"{path} is not a Git repository (give its top folder or its git directory){why}")
    return lines


def _make_borrowing_folder(folder: Path, object_format: str, shallow: Iterable[str]) -> Path:
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


def _ask_repository(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Ask the repository itself, which only ever resolves names; not one further up, which Git would look for as well."""
    ceiling = os.path.dirname(os.path.realpath(folder))  # noqa: PTH120  # of the resolved text, as git compares it
    return ask_git(folder, *arguments, GIT_CEILING_DIRECTORIES=ceiling)


# The objects of a repository by name, and commits in an order in which neighbours differ little.


class ObjectStore:
    """The objects of a repository through one git process, which is started when needed and again if it has died."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._process = ExitStack()
        self._reader: ObjectReader | None = None
        self._lock = threading.Lock()  # an agent may read from several threads; the process has one pipe

    def read(self, names: Sequence[str]) -> list[bytes | None]:
        """The contents of objects that are known to be small, in order, all of them at once; None for what is not here."""
        return self._twice(lambda reader, batch: list(reader.read_all(batch)), names)

    def contents(self, names: Iterable[str]) -> Iterator[bytes]:
        """The contents of objects of any size, in order, of which only so many are held as memory can bear; all must be here."""
        for window in window_items(names):
            sizes = self._twice(ObjectReader.sizes, window)
            if None in sizes:
                raise self.repository.lacks("content", window[sizes.index(None)])
            for batch in batch_slices([size or 0 for size in sizes]):
                different = list(dict.fromkeys(window[batch]))
                contents = dict(zip(different, self.read(different), strict=True))
                yield from (contents[name] or b"" for name in window[batch])

    def problems(self, names: Iterable[str]) -> dict[str, str]:
        """Those of some objects that are missing or damaged, and which of the two; their contents are not held."""
        problems: dict[str, str | None] = {}
        for window in window_items(names):
            try:
                problems |= zip(window, self._twice(ObjectReader.check, window), strict=True)
            except DamagedRepository:  # git stops at what it cannot read, so they are looked at one by one
                problems |= {name: self._problem(name) for name in window}
        return {name: problem for name, problem in problems.items() if problem is not None}

    def _problem(self, name: str) -> str | None:
        try:
            return self._twice(ObjectReader.check, [name])[0]
        except DamagedRepository:
            return "damaged"

    def _twice(self, work: Callable[[ObjectReader, Sequence[str]], T], names: Sequence[str]) -> T:
        """Have a process do some work; if it dies, have another one do it."""
        with self._lock:
            try:
                return self._once(work, names)
            except (OSError, DamagedRepository):
                return self._once(work, names)

    def _once(self, work: Callable[[ObjectReader, Sequence[str]], T], names: Sequence[str]) -> T:
        if self._reader is None:
            self._reader = self._process.enter_context(self.repository.objects_reader())
        try:
            return work(self._reader, names)
        except BaseException:  # whatever it was, an answer that was not read to its end must not become the next one
            self.close()
            raise

    def close(self) -> None:
        self._reader = None
        self._process.close()


def order_along_history(repository: Repository, commits: Iterable[str]) -> list[str]:
    """Commits, each once, in an order in which neighbours differ little: by date, then by hash.

    The date is that of the committer, who is the one to put commits on top of each other. Measured on real histories
    this is as good as the order of ancestry, and it is known without walking the history.
    """
    distinct = sorted(set(commits))
    with repository.objects_reader() as reader:
        contents = zip(distinct, reader.read_all(distinct), strict=True)
        dates = {commit: _date(repository, commit, content) for commit, content in contents}
    return sorted(distinct, key=lambda commit: (dates[commit], commit))


def ranks_along_history(repository: Repository, commits: Iterable[str]) -> dict[str, int]:
    """A number for each commit, larger than those of all its ancestors, whatever their dates say; all of history is walked."""
    commit_names = set(commits)
    request = "".join(f"{commit}\n" for commit in sorted(commit_names)).encode()
    with repository.stream("rev-list", "--date-order", "--stdin", input=request) as output:
        newest_first = (line.decode().rstrip("\n") for line in output)
        return {commit: -number for number, commit in enumerate(newest_first) if commit in commit_names}


def _date(repository: Repository, commit: str, content: bytes | None) -> int:
    if content is None:
        raise repository.lacks_commit(commit)
    if not content.startswith(b"tree "):
        raise UsageError(f"{repository.path}: {commit!r} is not a commit of this repository")
    match = re.search(rb"^committer .* (-?\d+) [-+]\d+$", content.partition(b"\n\n")[0], re.MULTILINE)
    return int(match[1]) if match else 0
