"""What an embedder is: a model plus the treatment its vectors get. The fingerprint says what an index was made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.config.strict import Whole, strict_record
from searchmark.errors import Incomparable, UsageError

if TYPE_CHECKING:
    from searchmark.agents.vectors.cache import VectorCache


# What an index was made of. Vectors that were made otherwise have no business in it.


@strict_record
class Fingerprint:
    """The model, the hash of its weights, whether it sees lower case, what happened to vectors, how texts were cut, and which.

    None is what is not known or does not matter here, and agrees with everything.
    """

    model: str | None = None
    revision: str | None = None
    case: Literal["folded", "kept"] | None = None
    dimension: Whole | None = None
    normalize: bool | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    chunking: str | None = None
    corpus: str | None = None

    def check(self, other: Fingerprint, place: str) -> None:
        """Refuse vectors of another fingerprint; the sentence names every part in which they differ."""
        mine, theirs = asdict(self), asdict(other)
        differences = [
            f"{field.name} is {theirs[field.name]!r} and not {mine[field.name]!r}"
            for field in fields(self)
            if None not in (mine[field.name], theirs[field.name]) and mine[field.name] != theirs[field.name]
        ]
        if differences:
            raise Incomparable(f"{place} holds vectors with a different fingerprint: {'; '.join(differences)}")


# What an embedder is: a model that encodes texts, and the treatment that its vectors get, the same for all models.

Vectors = NDArray[np.float32]

NEARLY_ONE = 1e-3  # how far from one a length may be that a model has brought there in half precision


class EmbeddingModel:
    """Encodes texts. ``name`` and ``revision`` together with ``case`` say which one: equal ones give equal vectors."""

    name: str
    revision: str
    dimension: int
    case: Literal["folded", "kept"] | None = None  # whether texts are brought to lower case first; None: the model's affair
    batch: int = 1024  # texts; whatever is encoded is safe on disk after each batch
    keyed_by: Literal["text", "id"] = "text"  # what a document is known by: vectors from a file belong to ids

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row per text, as the model gives it: in full length, not normalised."""
        raise NotImplementedError

    def encode_query(self, text: str) -> Vectors:
        """One row for a query; the same as for a text, except where a model knows better."""
        vector: Vectors = self.encode([text])[0]
        return vector

    def cost(self) -> float:
        """What everything that was encoded so far has cost, in whatever the model is paid in."""
        return 0.0

    def close(self) -> None:
        """Let go of connections."""


@strict_record
class EmbedderSettings:
    """What every embedder takes.

    ``dimension``: keep only that many numbers of each vector. ``normalize``: bring vectors to length one, of documents
    and queries alike; what is near is for the agent to say. The prefixes are what a model wants to see before a text.
    ``cache``: keep vectors of documents on disk; ``cache_megabytes``: how many at most.
    """

    dimension: Whole | None = None
    normalize: bool = True
    query_prefix: str = ""
    document_prefix: str = ""
    cache: bool = True
    cache_megabytes: Whole = 4096

    def load(self) -> Embedder:
        """An embedder with these options."""
        return Embedder(self.load_model(), self, self._cache())

    def load_model(self) -> EmbeddingModel:
        """The model, loaded."""
        raise NotImplementedError

    def _cache(self) -> VectorCache | None:
        from searchmark.agents.vectors.cache import VectorCache

        return VectorCache(max_bytes=self.cache_megabytes << 20) if self.cache else None


class Embedder:
    """Documents and queries to vectors. No text is encoded twice, in this process or, with the cache, in any."""

    def __init__(self, model: EmbeddingModel, options: EmbedderSettings, cache: VectorCache | None = None) -> None:
        if options.dimension is not None and not 0 < options.dimension <= model.dimension:
            raise UsageError(f"{model.name} gives {model.dimension} numbers; dimension cannot be {options.dimension}")
        self._model = model
        self._options = options
        self._cache = cache
        self.name = model.name
        self.keyed_by = model.keyed_by
        self.dimension = options.dimension or model.dimension
        self.texts_encoded = 0  # a test reads it: with a warm cache it stays zero
        self.unit_documents = 0  # vectors that had length one before they were normalised, which was not needed then
        self._key = f"{model.name}\0{model.revision}\0{model.dimension}\0{model.case}\0".encode()

    def fingerprint(self) -> Fingerprint:
        """What must be the same for vectors to be comparable."""
        return Fingerprint(
            model=self._model.name,
            revision=self._model.revision,
            case=self._model.case,
            dimension=self.dimension,
            normalize=self._options.normalize,
            query_prefix=self._options.query_prefix,
            document_prefix=self._options.document_prefix,
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        prefix = self._options.document_prefix
        raw = np.empty((len(texts), self._model.dimension), dtype=np.float32)
        rows_of: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            rows_of.setdefault(prefix + text if prefix else text, []).append(row)
        distinct = list(rows_of)
        for start in range(0, len(distinct), self._model.batch):
            batch = distinct[start : start + self._model.batch]
            for text, vector in zip(batch, self._vectors(batch), strict=True):
                raw[rows_of[text]] = vector
        return self._treat(raw, documents=True)

    def embed_query(self, text: str) -> Vectors:
        """One row. Queries are not cached on disk: this time belongs to a search, and should be measured."""
        vector = self._model.encode_query(self._options.query_prefix + text)
        row: Vectors = self._treat(np.asarray(vector, dtype=np.float32)[np.newaxis])[0]
        return row

    def cost(self) -> float:
        """What has been paid so far."""
        return self._model.cost()

    def close(self) -> None:
        """Let go of the cache and of whatever the model holds."""
        self._model.close()
        if self._cache is not None:
            self._cache.close()

    def _vectors(self, texts: list[str]) -> Iterator[Vectors]:
        """From the cache, and from the model what is not there; that is then written."""
        if self._cache is None:
            yield from self._encode(texts)
            return
        keys = [hashlib.sha256(self._key + text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        rows_by_key = self._cache.read(keys, self._model.dimension)
        missing = [place for place, key in enumerate(keys) if key not in rows_by_key]
        if missing:
            vectors = self._encode([texts[place] for place in missing])
            fresh = {keys[place]: row for place, row in zip(missing, vectors, strict=True)}
            self._cache.write(fresh)
            rows_by_key |= fresh
        yield from (rows_by_key[key] for key in keys)

    def _encode(self, texts: list[str]) -> Vectors:
        vectors = np.asarray(self._model.encode(texts), dtype=np.float32)
        self.texts_encoded += len(texts)
        if vectors.shape != (len(texts), self._model.dimension):
            raise UsageError(f"{self.name} gave vectors of shape {vectors.shape} for {len(texts)} texts of {self._model.dimension}")
        if not np.isfinite(vectors).all():
            raise UsageError(f"{self.name} gave a vector with a number that is not finite")
        return vectors

    def _treat(self, vectors: Vectors, *, documents: bool = False) -> Vectors:
        short = vectors[:, : self.dimension]
        if not self._options.normalize:
            return np.ascontiguousarray(short)
        lengths = row_lengths(short)
        self.unit_documents += int(np.count_nonzero(np.abs(lengths - 1) < NEARLY_ONE)) if documents else 0
        return _divide_by_length(short, lengths)


def row_lengths(vectors: Vectors) -> NDArray[np.float64]:
    """The Euclidean length of each row, in float64."""
    lengths: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64) ** 0.5
    return lengths


def normalize_rows(vectors: Vectors) -> Vectors:
    """Rows of length one; a row of zeros stays as it is, and so does one that has that length already, bit by bit."""
    return _divide_by_length(vectors, row_lengths(vectors))


def _divide_by_length(vectors: Vectors, lengths: NDArray[np.float64]) -> Vectors:
    scale = np.where((lengths == 0) | (np.abs(lengths - 1) < 1e-6), 1.0, lengths)  # noqa: PLR2004  # what float32 leaves of one
    return np.ascontiguousarray(vectors / scale[:, np.newaxis], dtype=np.float32)
