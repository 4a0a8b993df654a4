"""Corpora by address: downloaded once on every machine, into the cache, and held against the digest that was named.

https://host/corpus.jsonl#sha256=HEX
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from urllib.parse import unquote, urlsplit

from searchmark.errors import UsageError, shortened
from searchmark.files.cache_folders import cache_folder
from searchmark.files.folders import OWN_FILE
from searchmark.files.made_once import made_once
from searchmark.options.addresses import is_address
from searchmark.options.user_paths import user_path
from searchmark.services.network import NO_NETWORK, network_allowed
from searchmark.services.secret_forms import without_credentials

__all__ = ["downloaded", "is_address", "local_path"]

LARGEST = 16 << 30  # bytes
LONGEST_SECONDS = 3600.0
_RETRIES = 3
_SCHEMES = ("https", "http")
_DIGEST = re.compile(r"sha256=([0-9a-fA-F]{64})")
_SHOWN = 200
_LONGEST_NAME = 200


@dataclass(frozen=True)
class _Address:
    """Where a file is, and what it must be."""

    url: str
    digest: str
    name: str


def local_path(corpus: str | PathLike[str], *, network: bool) -> Path:
    """What is named as a corpus, on this machine: a path as it is, and an address as the file that was downloaded from there."""
    text = os.fspath(corpus)
    return downloaded(text, network=network) if is_address(text) else user_path(text)


def downloaded(address: str, *, network: bool) -> Path:
    """The file at ``URL#sha256=HEX``, downloaded if it is not here yet; without ``network`` that is an error."""
    wanted = _parsed(address)
    file = (cache_folder() / "downloads" / wanted.digest / wanted.name).absolute()
    if not _is_whole(file, wanted.digest) and not (network and network_allowed()):
        raise UsageError(f"{wanted.url} was not downloaded here before, and {NO_NETWORK}; run it once without them")
    return made_once(file, lambda unfinished: _download(wanted, unfinished), lambda known: _is_whole(known, wanted.digest))


def _parsed(address: str) -> _Address:
    url, _, fragment = address.partition("#")
    if without_credentials(url) != url:  # so that no sentence shows it
        raise UsageError(
            "the address of a corpus holds a user, a password or a token, which would end up in files; name one that needs none"
        )
    shown = shortened(url, _SHOWN)
    try:
        parts = urlsplit(url)
        known = parts.scheme.lower() in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not close
        known = False
    if not known or not url.isprintable():
        raise UsageError(f"{shown!r} is not the address of a corpus; write https://host/corpus.jsonl#sha256=HEX, or a path")
    digest = _DIGEST.fullmatch(fragment)
    if digest is None:
        raise UsageError(
            f"{shown} names no digest, by which a corpus is known; write {shown}#sha256=HEX with the 64 digits that sha256sum "
            "prints of the file"
        )
    return _Address(url, digest[1].lower(), _file_name(parts.path, shown))


def _file_name(path: str, shown: str) -> str:
    """The last part of the path: its ending says how the file is read."""
    name = unquote(path).rpartition("/")[2]
    if not name.strip(".") or name.startswith(".") or not name.isprintable() or len(name.encode()) > _LONGEST_NAME:
        raise UsageError(f"{shown} names no file; the address of a corpus ends with the name of a file, as corpus.jsonl")
    return name


def _is_whole(file: Path, digest: str) -> bool:
    """Whether a file is there and is what was named: anybody could have changed it since."""
    try:
        found = file.stat()
        return _digest(file, found.st_size, found.st_mtime_ns) == digest
    except OSError:
        return False


@lru_cache(maxsize=64)
def _digest(file: Path, _: int, __: int) -> str:
    """The digest of a file; size and time are a part of the question."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _download(wanted: _Address, file: Path) -> None:
    from searchmark.services.exchange import ClientOptions, Request
    from searchmark.services.http_client import HttpClient
    from searchmark.services.outgoing import outgoing

    options = ClientOptions(
        timeout_seconds=LONGEST_SECONDS,
        retries=_RETRIES,
        max_response_bytes=LARGEST,
        follow_redirects=True,
        leave_host=True,
    )
    sent = outgoing(wanted.url, Request("GET"), {"Accept": "*/*", "Accept-Encoding": "identity"})
    client = HttpClient(wanted.url, options)
    try:
        with os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWN_FILE), "w+b") as content:
            client.ask(sent, content)
            content.flush()
            os.fsync(content.fileno())
            content.seek(0)
            found = hashlib.file_digest(content, "sha256").hexdigest()
    finally:
        client.close()
    if found != wanted.digest:
        raise UsageError(
            f"{wanted.url} has the SHA-256 digest {found}, not {wanted.digest}; nothing is kept: name the digest of the file "
            "that you mean"
        )
