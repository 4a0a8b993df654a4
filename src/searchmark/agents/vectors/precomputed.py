"""Vectors that exist already: read from npy, Parquet or SQLite, or saved by an earlier run with their fingerprint."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from searchmark.agents.vectors import EmbedderEntry, load_embedder
from searchmark.agents.vectors.embedder import Embedder, EmbedderSettings, EmbeddingModel, Fingerprint, Vectors
from searchmark.config.permissions import FilePath
from searchmark.errors import FormatError, UsageError
from searchmark.io.data import Schema, check_shape, parse_json
from searchmark.io.paths import expand_paths
from searchmark.io.sqlite import sql_name
from searchmark.io.store import atomic_write, check_readable, read_text

# Vectors that somebody has made already: in npy with a list of ids, in Parquet, or in SQLite.
#
# They belong to ids of whole documents. Queries are looked up by their text in a second file, or embedded by the model
# that the vectors came from; beside the file there may be a fingerprint that says which one that was.

SQLITE_SUFFIXES = {".sqlite", ".sqlite3", ".db"}


@dataclass(frozen=True, kw_only=True)
class PrecomputedSettings(EmbedderSettings):
    """Options of ``precomputed``.

    ``vectors``: a file, ``.npy``, ``.parquet`` or ``.sqlite``. ``ids``: for npy, a JSON list or a text file with one id per
    line, in the order of the rows; by default the file of the same name that ends in ``.json``. ``table``, ``id_column``
    and ``vector_column`` say where they are in SQLite and Parquet. ``queries``: a file of the same kind whose ids are the
    texts of queries. ``query_embedder``: the embedder of queries that are not in it.
    """

    vectors: FilePath
    ids: FilePath | None = None
    table: str = "vectors"
    id_column: str = "id"
    vector_column: str = "vector"
    queries: FilePath | None = None
    query_embedder: EmbedderEntry | None = None
    cache: bool = False  # they are on disk as it is

    def __post_init__(self) -> None:
        expand_paths(self, "vectors", "ids", "queries")

    def load_model(self) -> EmbeddingModel:
        return PrecomputedModel(self)


class PrecomputedModel(EmbeddingModel):
    """A table of vectors, asked by id."""

    keyed_by = "id"

    def __init__(self, options: PrecomputedSettings) -> None:
        path = Path(options.vectors)
        ids, self._vectors = read_vector_table(path, options, options.ids)
        self._row_of = {name: row for row, name in enumerate(ids)}
        if len(self._row_of) < len(ids):
            raise FormatError(path, None, "holds a duplicate id")
        self.dimension = self._vectors.shape[1]
        self._path = path
        self._queries = {} if options.queries is None else _query_vectors_by_text(Path(options.queries), options, self.dimension)
        self._embedder = None if options.query_embedder is None else load_embedder(options.query_embedder)
        self._check(_fingerprint_beside(path))

    def encode(self, texts: Sequence[str]) -> Vectors:
        """``texts`` are ids here."""
        missing = [name for name in texts if name not in self._row_of]
        if missing:
            raise UsageError(f"{self._path} has no vector for {missing[0]!r} (and {len(missing) - 1} more)")
        vectors: Vectors = self._vectors[[self._row_of[name] for name in texts]]
        return vectors

    def encode_query(self, text: str) -> Vectors:
        if text in self._queries:
            return self._queries[text]
        if self._embedder is None:
            raise UsageError(f"there is no vector for the query {text!r}: name a file with queries, or query_embedder")
        return self._embedder.embed_query(text)

    def close(self) -> None:
        if self._embedder is not None:
            self._embedder.close()

    def _check(self, beside: Fingerprint) -> None:
        """Vectors and the embedder of queries must come from one model."""
        content = hashlib.sha256(self._vectors.tobytes()).hexdigest()
        self.name = beside.model or f"precomputed/{self._path.name}"
        self.revision = beside.revision or content
        Fingerprint(dimension=self.dimension).check(Fingerprint(dimension=beside.dimension), str(self._path))
        if self._embedder is not None:
            own = replace(beside, dimension=self.dimension, document_prefix=None, chunking=None, corpus=None)
            _without_prefixes(self._embedder).check(own, str(self._path))


def _without_prefixes(query_embedder: Embedder) -> Fingerprint:
    """What vectors of documents and an embedder of queries have in common."""
    return replace(query_embedder.fingerprint(), document_prefix=None)


def _query_vectors_by_text(path: Path, options: PrecomputedSettings, dimension: int) -> dict[str, Vectors]:
    texts, vectors = read_vector_table(path, options, None)
    Fingerprint(dimension=dimension).check(Fingerprint(dimension=vectors.shape[1]), str(path))
    return dict(zip(texts, vectors, strict=True))


def _fingerprint_beside(path: Path) -> Fingerprint:
    beside = path.with_name(f"{path.name}.fingerprint.json")
    if not beside.exists():
        return Fingerprint()
    from pydantic import TypeAdapter

    return check_shape(beside, TypeAdapter(Fingerprint), parse_json(beside, read_text(beside)))


def read_vector_table(path: Path, options: PrecomputedSettings, ids: str | None) -> tuple[list[str], Vectors]:
    """Ids and vectors, row by row; what cannot be a table of finite numbers is refused."""
    check_readable(path)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        names, vectors = _read_npy(path, ids)
    elif suffix == ".parquet":
        names, vectors = _read_parquet(path, options)
    elif suffix in SQLITE_SUFFIXES:
        names, vectors = _read_sqlite(path, options)
    else:
        raise FormatError(path, None, "holds no vectors: its extension must be .npy, .parquet, .sqlite, .sqlite3 or .db")
    if vectors.ndim != 2 or not vectors.size or not np.issubdtype(vectors.dtype, np.floating):  # noqa: PLR2004  # rows and columns
        raise FormatError(path, None, f"is not a table of floating-point numbers: {vectors.dtype} of shape {vectors.shape}")
    _refuse_unsound_vectors(path, names, np.isfinite(vectors).all(axis=1), "hold a number that is not finite")
    return names, np.ascontiguousarray(vectors, dtype=np.float32)


def _refuse_unsound_vectors(path: Path, names: Sequence[str], sound: Sequence[bool] | NDArray[np.bool_], what: str) -> None:
    """Refuse a table in which some vectors cannot be used, and say how many and which is the first."""
    wrong = np.flatnonzero(~np.asarray(sound, dtype=np.bool_))
    if len(wrong):
        first = names[int(wrong[0])]
        raise FormatError(path, None, f"{len(wrong)} of {len(names)} vectors {what}, the first is that of {first!r}")


def _rows_as_table(path: Path, names: Sequence[str], rows: Sequence[Sequence[float] | NDArray[Any]]) -> NDArray[np.float32]:
    """Rows as a table, if all have as many numbers as most."""
    lengths = Counter(len(row) for row in rows)
    usual = lengths.most_common(1)[0][0] if lengths else 0
    _refuse_unsound_vectors(path, names, [len(row) == usual for row in rows], f"do not have {usual} numbers as most do")
    return np.array(rows, dtype=np.float32)


def _read_npy(path: Path, ids: str | None) -> tuple[list[str], NDArray[Any]]:
    place = Path(ids) if ids is not None else path.with_suffix(".json")
    check_readable(place)
    text = read_text(place)
    names = parse_json(place, text) if place.suffix.lower() == ".json" else text.splitlines()
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FormatError(place, None, "is not a list of ids")
    try:
        vectors: NDArray[Any] = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise FormatError(path, None, f"is not an npy file: {error}") from error
    if len(names) != len(vectors):
        raise FormatError(path, None, f"has {len(vectors)} rows, but {place} has {len(names)} ids")
    return names, vectors


def _read_parquet(path: Path, options: PrecomputedSettings) -> tuple[list[str], NDArray[Any]]:
    import polars as pl

    try:
        frame = pl.read_parquet(path, columns=[options.id_column, options.vector_column])
        names = [str(name) for name in frame[options.id_column]]
        return names, _rows_as_table(path, names, frame[options.vector_column].to_list())
    except (pl.exceptions.PolarsError, OSError, ValueError, TypeError) as error:
        columns = f"{options.id_column!r} and {options.vector_column!r}"
        raise FormatError(path, None, f"has no usable columns {columns}: {error}") from error


def _read_sqlite(path: Path, options: PrecomputedSettings) -> tuple[list[str], NDArray[Any]]:
    import apsw

    columns = ", ".join(sql_name(name) for name in (options.id_column, options.vector_column))
    database = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = database.execute(f"SELECT {columns} FROM {sql_name(options.table)} ORDER BY rowid").fetchall()  # noqa: S608  # quoted
        names = [str(name) for name, _ in rows]
        return names, _rows_as_table(path, names, [_parse_vector_cell(path, cell) for _, cell in rows])
    except (apsw.Error, ValueError, TypeError) as error:
        raise FormatError(path, None, f"has no vectors in {options.table}.{options.vector_column}: {error}") from error
    finally:
        database.close()


def _parse_vector_cell(path: Path, cell: Any) -> NDArray[Any]:
    """Numbers as JSON, or as the bytes of float32."""
    return np.array(parse_json(path, cell)) if isinstance(cell, str) else np.frombuffer(cell, dtype="<f4")


# Vectors of a corpus in one file, with their fingerprint: read only where the same ones would be made.

INDEX_SCHEMA = Schema("vector index", 1)

CHUNK_KEY_BYTES = 32


@dataclass(frozen=True, eq=False)
class SavedIndex:
    """The keys of distinct chunks, a vector for each, and the chunks of every file, as rows."""

    keys: list[bytes]
    vectors: Vectors
    files: Mapping[str, list[int]]


@dataclass(frozen=True)
class _SavedIndexHeader:
    fingerprint: Fingerprint
    files: dict[str, list[int]]


def save_index(path: Path, index: SavedIndex, fingerprint: Fingerprint) -> None:
    """Write everything, or nothing."""
    header = {**INDEX_SCHEMA.header(), **asdict(_SavedIndexHeader(fingerprint, dict(index.files)))}
    with atomic_write(path, private=True) as file:
        np.savez(
            file,
            header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            keys=np.frombuffer(b"".join(index.keys), dtype=np.uint8).reshape(-1, CHUNK_KEY_BYTES),
            vectors=index.vectors,
        )


def read_saved_index(path: Path, expected: Fingerprint) -> SavedIndex:
    """Read what `save_index` wrote, if it was made of the same things; otherwise say what is different."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            header, keys, vectors = bytes(arrays["header"]), arrays["keys"], arrays["vectors"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise FormatError(path, None, f"is not a saved index: {error}") from error
    content = INDEX_SCHEMA.upgrade(path, parse_json(path, header.decode("utf-8", "surrogateescape")))
    saved_header = check_shape(path, TypeAdapter(_SavedIndexHeader), content)
    expected.check(saved_header.fingerprint, str(path))
    _check_saved_rows(path, saved_header.files, keys.shape, vectors.shape)
    return SavedIndex([key.tobytes() for key in keys], vectors, saved_header.files)


def _check_saved_rows(path: Path, files: Mapping[str, list[int]], keys: tuple[int, ...], vectors: tuple[int, ...]) -> None:
    if keys[1:] != (CHUNK_KEY_BYTES,) or keys[:1] != vectors[:1]:
        raise FormatError(path, None, f"is not a saved index: {keys} keys do not fit {vectors} vectors")
    if {row for rows in files.values() for row in rows} != set(range(keys[0])):
        raise FormatError(path, "files", f"is not a saved index: the chunks of its files do not fit its {keys[0]} vectors")
