"""Loose objects, each a file of its own, held against their names: git log and git diff-tree take them as they are."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from searchmark.errors import DamagedRepository
from searchmark.history.git_files import object_folders

_FOLDER = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_PIECE = 1 << 20
_HEAD = 32  # bytes that hold the kind of an object


def check_loose_objects(objects: Path, digest: str, given: str, *, blobs: bool) -> None:
    """Refuse a repository with a loose commit, tree or tag, and if asked for a blob, that is not what its name says."""
    for folder in object_folders(objects, given):
        for file in _loose_files(folder):
            if not _is_sound(file, digest, given, blobs=blobs):
                name = file.parent.name + file.name
                raise DamagedRepository(f"{given} is damaged: the object {name} is not what its name says; check it with git fsck")


def _loose_files(objects: Path) -> Iterator[Path]:
    for folder in sorted(objects.glob("[0-9a-f][0-9a-f]")):
        if _FOLDER.fullmatch(folder.name) and folder.is_dir():
            yield from (file for file in folder.iterdir() if _REST.fullmatch(file.name))


def _is_sound(file: Path, digest: str, given: str, *, blobs: bool) -> bool:
    """Whether a file holds what it is named for; a blob that is not asked about is."""
    try:
        pieces = _unpacked(file)
        head = next(pieces, b"")
        return (head.startswith(b"blob ") and not blobs) or _digest(digest, head, pieces) == file.parent.name + file.name
    except FileNotFoundError:  # packed meanwhile
        return True
    except zlib.error:
        return False
    except OSError as error:
        raise DamagedRepository(f"{given} is damaged: {file} cannot be read: {error.strerror}") from error


def _digest(digest: str, head: bytes, rest: Iterator[bytes]) -> str:
    seen = hashlib.new(digest, head, usedforsecurity=False)
    for piece in rest:
        seen.update(piece)
    return seen.hexdigest()


def _unpacked(file: Path) -> Iterator[bytes]:
    """The kind, size and content of an object, first a few bytes; however large it is, only a piece is held."""
    unpacking, longest = zlib.decompressobj(), _HEAD
    with file.open("rb", buffering=0) as stream:
        while not unpacking.eof and (packed := unpacking.unconsumed_tail or stream.read(_PIECE)):
            yield unpacking.decompress(packed, longest)
            longest = _PIECE
