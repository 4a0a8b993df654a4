"""Repositories by address: cloned once on every machine, into the cache, and seen there at the commit that was named.

A clone holds all branches and tags. For every commit that was asked for there is a git directory beside it that borrows the
objects of the clone, and whose HEAD is that commit, whatever the branches of the clone are at.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.files.cache_folders import cache_folder
from searchmark.files.made_once import alone_with, made_once
from searchmark.history.addresses import RepositoryAddress
from searchmark.history.fetching import fetch, reach
from searchmark.history.git import ask
from searchmark.history.sources import RepositorySource
from searchmark.services.network import NO_NETWORK

_BRANCHES = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_ALONE = ("--no-tags", "--no-write-fetch-head")
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"


def resolved(source: RepositorySource, *, network: bool) -> RepositorySource:
    """The same repository as a folder of this machine."""
    address = source.address
    if address is None:
        return source
    return replace(source, path=str(repository_at(address.url, address.commit, network=network)))


def repository_at(url: str, commit: str, *, network: bool) -> Path:
    """A git directory of this machine with the whole history of a repository, whose HEAD is the commit.

    It is fetched if it is not there yet, or lacks the commit; without ``network`` that is an error.
    """
    address = RepositoryAddress(url, commit)
    place = _place(address)
    clone, view = place / "clone", place / "at" / commit
    if not _is_view(view, address):
        _bring(clone, address, network=network)
        made_once(view, lambda folder: _write_view(folder, address), lambda folder: _is_view(folder, address))
    return view / address.name


def is_here(address: RepositoryAddress) -> bool:
    """Whether a repository was cloned already and has the commit."""
    place = _place(address)
    return _is_view(place / "at" / address.commit, address) or _has(place / "clone", address.commit)


def _place(address: RepositoryAddress) -> Path:
    return (cache_folder() / "clones" / hashlib.sha256(address.url.encode()).hexdigest()[:32]).absolute()


def _bring(clone: Path, address: RepositoryAddress, *, network: bool) -> None:
    """The clone with the commit."""
    if _has(clone, address.commit):
        return
    if not network:
        what = "has no clone here" if not clone.exists() else f"has a clone here without the commit {address.commit}"
        raise UsageError(f"{address.url} {what}, and {NO_NETWORK}; run it once without them")
    made_once(clone, lambda folder: _clone(folder, address))
    with alone_with(clone):
        _fetch_commit(clone, address)


def _clone(folder: Path, address: RepositoryAddress) -> None:
    folder.mkdir()
    said = reach(folder, "init", "--quiet", "--bare", "--template=", ".", called=f"{address.url}: git init")
    _refuse(address, said or _fetch(folder, address, *_BRANCHES))


def _fetch_commit(clone: Path, address: RepositoryAddress) -> None:
    """From the branches, or by its name alone, which most servers allow."""
    if not _has(clone, address.commit):
        _refuse(address, _fetch(clone, address, *_BRANCHES))
    if not _has(clone, address.commit):
        said = _fetch(clone, address, f"{address.commit}:refs/commits/{address.commit}")
        if said is not None:
            raise UsageError(f"{address.url} does not give the commit {address.commit}; check both: {said}")


def _fetch(clone: Path, address: RepositoryAddress, *references: str) -> str | None:
    asks_nothing = ("-c", "core.sshCommand=ssh -oBatchMode=yes")
    return fetch(clone, *_ALONE, address.url, *references, called=address.url, settings=asks_nothing)


def _refuse(address: RepositoryAddress, said: str | None) -> None:
    if said is not None:
        raise UsageError(f"{address.url} cannot be cloned; check the address and that you may read it: {said}")


def _has(clone: Path, commit: str) -> bool:
    there = clone.is_dir()
    return there and ask(clone, f"--git-dir={clone}", "cat-file", "-e", f"{commit}^{{commit}}").returncode == 0


def _write_view(folder: Path, address: RepositoryAddress) -> None:
    """As plain files, which is all that a git directory is."""
    view = folder / address.name
    (view / "refs").mkdir(parents=True)
    (view / "objects" / "info").mkdir(parents=True)
    (view / "objects" / "info" / "alternates").write_text("../../../../clone/objects\n")  # so that the cache can be moved
    (view / "config").write_text(_CONFIG)
    (view / "HEAD").write_text(f"{address.commit}\n")


def _is_view(folder: Path, address: RepositoryAddress) -> bool:
    """Whether it is there and nobody has made it mean another commit."""
    try:
        return (folder / address.name / "HEAD").read_text() == f"{address.commit}\n"
    except (OSError, ValueError):
        return False
