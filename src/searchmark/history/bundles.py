"""Repositories that are sent to other machines: a bundle is one file with all that leads to some commits, and its digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.files.cache_folders import cache_folder
from searchmark.files.made_once import made_once
from searchmark.files.private_folders import private_folder, writing_temporary_files
from searchmark.files.store import atomic_write
from searchmark.history.fetching import fetch, reach
from searchmark.history.repository import FETCH_ALL, Repository, open_repository

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PIECE = 1 << 20
_FORMATS = {40: "sha1", 64: "sha256"}  # by how many digits a commit has
_REFERENCE = re.compile(rb"([0-9a-f]+) refs/")


def make_bundle(repository: Path, commits: Iterable[str], file: Path) -> str:
    """Write all that these commits need, whether a branch leads to them or not, and say the file's SHA-256 digest.

    Nothing is written to the repository: the names that a bundle needs are given in a git directory that borrows its objects.
    """
    with open_repository(repository) as opened:
        names = _known(opened, sorted(set(commits)))
        opened.run("config", "pack.threads", "1")  # the same bytes every time; written to the borrowing directory, as is this:
        opened.run("update-ref", "--stdin", input="".join(f"create refs/commits/{name} {name}\n" for name in names).encode())
        seen = hashlib.sha256()
        with atomic_write(file) as target, opened.stream("bundle", "create", "--quiet", "-", "--all") as output:
            while piece := output.read(_PIECE):
                seen.update(piece)
                target.write(piece)
    return seen.hexdigest()


def repository_from_bundle(bundle: bytes | Path, digest: str) -> Path:
    """The repository of a bundle, unpacked once on this machine; one that has not this digest, or is damaged, is refused."""
    return made_once(_place(digest), lambda folder: _unpack(bundle, digest, folder))


def known_bundle(digest: str) -> Path | None:
    """The repository of the bundle with this digest, if it was unpacked here before."""
    place = _place(digest)
    return place if place.is_dir() else None


def _known(repository: Repository, commits: list[str]) -> list[str]:
    if not commits:
        raise UsageError(f"{repository.path}: there is no commit to bundle")
    if repository.shallow:
        raise UsageError(f"{repository.path} is a shallow clone, and cannot be sent elsewhere; {FETCH_ALL}")
    missing = repository.missing(f"{name}^{{commit}}" for name in commits)
    if missing:
        raise repository.lacks_commit(min(missing).removesuffix("^{commit}"))
    return commits


def _place(digest: str) -> Path:
    if _DIGEST.fullmatch(digest) is None:
        raise UsageError(f"{digest!r} is not a SHA-256 digest, which has 64 digits")
    return (cache_folder() / "bundles" / digest).absolute()


def _unpack(bundle: bytes | Path, digest: str, folder: Path) -> None:
    if isinstance(bundle, Path):
        return _unpack_file(bundle, digest, folder)
    with private_folder() as own:
        file = own / "bundle"
        with writing_temporary_files():
            file.write_bytes(bundle)
        return _unpack_file(file, digest, folder)


def _unpack_file(file: Path, digest: str, folder: Path) -> None:
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
        content.seek(0)
        first = _REFERENCE.search(content.read(_PIECE))
    if found != digest:
        raise UsageError(f"the bundle has the SHA-256 digest {found}, not {digest}; send it again")
    kind = _FORMATS.get(len(first[1]) if first else 0, "sha1")
    folder.mkdir()
    called = f"the bundle {digest[:12]}"
    said = (
        reach(folder, "init", "--quiet", "--bare", "--template=", f"--object-format={kind}", ".", called=called)
        or fetch(folder, "--no-tags", "--no-write-fetch-head", str(file.absolute()), "refs/*:refs/*", called=called)
        or reach(folder, "fsck", "--strict", "--no-dangling", "--no-progress", called=f"{called}: git fsck")
    )
    if said is not None:
        raise UsageError(f"{called} cannot be unpacked; make it again: {said}")
