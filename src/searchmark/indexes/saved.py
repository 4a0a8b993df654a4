"""Vectors of a corpus in one file, with their fingerprint: read only by those who would have made the same ones."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from searchmark.embedders.embedder import Vectors
from searchmark.embedders.fingerprint import Fingerprint
from searchmark.errors import FormatError
from searchmark.files.schemas import Schema
from searchmark.files.store import atomic_write, check_shape, parse_json

INDEX_SCHEMA = Schema("vector index", 1)
KEY_BYTES = 32


@dataclass(frozen=True, eq=False)
class SavedVectors:
    """The keys of distinct chunks, a vector for each, and the chunks of every file, as rows."""

    keys: list[bytes]
    vectors: Vectors
    files: Mapping[str, list[int]]


@dataclass(frozen=True)
class _SavedHeader:
    fingerprint: Fingerprint
    files: dict[str, list[int]]


def save_vectors(path: Path, saved: SavedVectors, fingerprint: Fingerprint) -> None:
    """Write everything, or nothing."""
    header = {**INDEX_SCHEMA.header(), **asdict(_SavedHeader(fingerprint, dict(saved.files)))}
    with atomic_write(path, private=True) as file:
        np.savez(
            file,
            header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            keys=np.frombuffer(b"".join(saved.keys), dtype=np.uint8).reshape(-1, KEY_BYTES),
            vectors=saved.vectors,
        )


def read_vectors(path: Path, expected: Fingerprint) -> SavedVectors:
    """Read what `save_vectors` wrote, if it was made of the same things; otherwise say what is different."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
            header, keys, vectors = bytes(saved["header"]), saved["keys"], saved["vectors"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise FormatError(path, None, f"is not a saved index: {error}") from error
    content = INDEX_SCHEMA.upgraded(path, parse_json(path, header.decode("utf-8", "surrogateescape")))
    checked = check_shape(path, TypeAdapter(_SavedHeader), content)
    expected.check(checked.fingerprint, str(path))
    _check_rows(path, checked.files, keys.shape, vectors.shape)
    return SavedVectors([key.tobytes() for key in keys], vectors, checked.files)


def _check_rows(path: Path, files: Mapping[str, list[int]], keys: tuple[int, ...], vectors: tuple[int, ...]) -> None:
    if keys[1:] != (KEY_BYTES,) or keys[:1] != vectors[:1]:
        raise FormatError(path, None, f"is not a saved index: {keys} keys do not fit {vectors} vectors")
    if {row for rows in files.values() for row in rows} != set(range(keys[0])):
        raise FormatError(path, "files", f"is not a saved index: the chunks of its files do not fit its {keys[0]} vectors")
