"""An index in one file, with its fingerprint: read only by those who would have made the same one."""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from searchmark.embedders.fingerprint import Fingerprint
from searchmark.errors import FormatError
from searchmark.files.schemas import Schema
from searchmark.files.store import atomic_write, check_shape, parse_json
from searchmark.indexes.exact import ExactIndex

KEY_BYTES = 32
INDEX_SCHEMA = Schema("index", 1)


def save_index(path: Path, index: ExactIndex, fingerprint: Fingerprint) -> None:
    """Write everything that the files hold."""
    vectors, files = index.contents()
    number_of = {key: number for number, key in enumerate(vectors)}
    names = {name: [number_of[key] for key in keys] for name, keys in files.items()}
    header = {**INDEX_SCHEMA.header(), "fingerprint": asdict(fingerprint), "files": names}
    with atomic_write(path) as file:
        np.savez(
            file,
            header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            keys=np.frombuffer(b"".join(vectors), dtype=np.uint8).reshape(-1, KEY_BYTES),
            vectors=np.stack(list(vectors.values())) if vectors else np.empty((0, index.dimension), dtype=np.float32),
        )


def fill_index(path: Path, index: ExactIndex, expected: Fingerprint) -> None:
    """Read what `save_index` wrote, if it was made of the same things; otherwise say what is different."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
            header, keys, vectors = bytes(saved["header"]), saved["keys"], saved["vectors"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise FormatError(path, None, f"is no saved index: {error}") from error
    content = parse_json(path, header.decode("utf-8", "surrogateescape"))
    content = INDEX_SCHEMA.upgraded(path, content)
    expected.check(check_shape(path, TypeAdapter(Fingerprint), content["fingerprint"], "fingerprint"), str(path))
    names = [key.tobytes() for key in keys]
    files = {name: [names[number] for number in numbers] for name, numbers in content["files"].items()}
    index.put(files, dict(zip(names, vectors, strict=True)))
