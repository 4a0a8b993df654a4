"""Real chunks and real queries that every machine has: Python's own library and what is installed beside it.

A query is the first line of a docstring, and its chunks do not hold that line: it would be found by its own words.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import searchmark
from searchmark.agents.chunks import content_chunks
from searchmark.agents.vectors import load_embedder
from searchmark.agents.vectors.embedder import Vectors

DATA = Path(__file__).parent / "data"
SHORTEST_QUERY, LONGEST_QUERY = 25, 120  # characters
_WITH_DOCSTRINGS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class SourceChunks:
    """Vectors of chunks, all of them different, and of queries."""

    documents: Vectors
    queries: Vectors


def cached_source_chunks(count: int, queries: int) -> SourceChunks:
    """Those of an earlier run, if no file that they come from or are made by has changed since."""
    path, made_of = DATA / f"source_chunks_{count}_{queries}.npz", _fingerprint()
    if path.exists():
        with np.load(path) as kept:
            if str(kept["made_of"]) == made_of:
                return SourceChunks(kept["documents"], kept["queries"])
    made = source_chunks(count, queries)
    DATA.mkdir(exist_ok=True)
    unfinished = path.with_name(f"unfinished_{path.name}")
    np.savez(unfinished, made_of=made_of, documents=made.documents, queries=made.queries)
    unfinished.replace(path)
    return made


def source_chunks(count: int, queries: int) -> SourceChunks:
    """So many chunks as there are, up to ``count``, in the order of their files' names."""
    texts: dict[str, None] = {}
    asked: dict[str, None] = {}
    for path in _files():
        if len(texts) >= count:
            break
        source = path.read_text(encoding="utf-8", errors="replace")
        lines = list(_first_lines(source))
        asked.update(dict.fromkeys(lines))
        for line in lines:
            source = source.replace(line, "")
        texts.update(dict.fromkeys(text for text in content_chunks(source) if text.strip()))
    embedder = load_embedder({"name": "wordllama", "cache": False})
    chosen = np.random.default_rng(0).permutation(len(asked))[:queries]
    lines = list(asked)
    documents = embedder.embed_documents(list(texts)[:count])
    return SourceChunks(documents, np.stack([embedder.embed_query(lines[number]) for number in chosen]))


def _fingerprint() -> str:
    """Of all files, by name, size and time, the code of this project included."""
    ours = sorted(Path(searchmark.__file__).parent.rglob("*.py"))
    seen = hashlib.sha256(sys.version.encode())
    for path in (*_files(), *ours, Path(__file__)):
        status = path.stat()
        seen.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return seen.hexdigest()


def _files() -> Iterator[Path]:
    for name in ("stdlib", "purelib"):
        folder = Path(sysconfig.get_path(name))
        outside = name == "stdlib"  # where installed packages may lie inside of it
        yield from (path for path in sorted(folder.rglob("*.py")) if not (outside and "site-packages" in path.parts))


def _first_lines(source: str) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of strings in code that is not ours
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):  # tests of Python hold files that are not meant to be read
        return
    for node in ast.walk(tree):
        if isinstance(node, _WITH_DOCSTRINGS):
            line = (ast.get_docstring(node) or "").partition("\n")[0].strip()
            if SHORTEST_QUERY <= len(line) <= LONGEST_QUERY:
                yield line
