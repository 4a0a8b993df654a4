"""What an embedder is: a model that encodes texts, and the treatment that its vectors get, the same for all models."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.fingerprint import Fingerprint
from searchmark.errors import UsageError
from searchmark.options.strict import strict_record

if TYPE_CHECKING:
    from searchmark.embedders.cache import VectorCache

Vectors = NDArray[np.float32]
NEARLY_ONE = 1e-3  # how far from one a length may be that a model has brought there in half precision


class Model:
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
class EmbedderOptions:
    """What every embedder takes.

    ``dimension``: keep only that many numbers of each vector. ``normalize``: bring vectors to length one, of documents
    and queries alike; what is near is for the agent to say. The prefixes are what a model wants to see before a text.
    ``cache``: keep vectors of documents on disk; ``cache_megabytes``: how many at most.
    """

    dimension: int | None = None
    normalize: bool = True
    query_prefix: str = ""
    document_prefix: str = ""
    cache: bool = True
    cache_megabytes: int = 4096

    def load(self) -> Embedder:
        """An embedder with these options."""
        return Embedder(self.load_model(), self, self._cache())

    def load_model(self) -> Model:
        """The model, loaded."""
        raise NotImplementedError

    def _cache(self) -> VectorCache | None:
        from searchmark.embedders.cache import VectorCache

        return VectorCache(max_bytes=self.cache_megabytes << 20) if self.cache else None


class Embedder:
    """Documents and queries to vectors. No text is encoded twice, in this process or, with the cache, in any."""

    def __init__(self, model: Model, options: EmbedderOptions, cache: VectorCache | None = None) -> None:
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
        return self._treated(raw, documents=True)

    def embed_query(self, text: str) -> Vectors:
        """One row. Queries are not cached on disk: whoever measures how long a search takes wants to see this time."""
        vector = self._model.encode_query(self._options.query_prefix + text)
        treated: Vectors = self._treated(np.asarray(vector, dtype=np.float32)[np.newaxis])[0]
        return treated

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
        known = self._cache.read(keys, self._model.dimension)
        missing = [place for place, key in enumerate(keys) if key not in known]
        if missing:
            encoded = self._encode([texts[place] for place in missing])
            fresh = {keys[place]: row for place, row in zip(missing, encoded, strict=True)}
            self._cache.write(fresh)
            known |= fresh
        yield from (known[key] for key in keys)

    def _encode(self, texts: list[str]) -> Vectors:
        vectors = np.asarray(self._model.encode(texts), dtype=np.float32)
        self.texts_encoded += len(texts)
        if vectors.shape != (len(texts), self._model.dimension):
            raise UsageError(f"{self.name} gave vectors of shape {vectors.shape} for {len(texts)} texts of {self._model.dimension}")
        if not np.isfinite(vectors).all():
            raise UsageError(f"{self.name} gave a vector with a number that is not finite")
        return vectors

    def _treated(self, vectors: Vectors, *, documents: bool = False) -> Vectors:
        short = vectors[:, : self.dimension]
        if not self._options.normalize:
            return np.ascontiguousarray(short)
        lengths = row_lengths(short)
        self.unit_documents += int(np.count_nonzero(np.abs(lengths - 1) < NEARLY_ONE)) if documents else 0
        return _of_length_one(short, lengths)


def row_lengths(vectors: Vectors) -> NDArray[np.float64]:
    """The Euclidean length of each row, in float64."""
    lengths: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64) ** 0.5
    return lengths


def normalized(vectors: Vectors) -> Vectors:
    """Rows of length one; a row of zeros stays as it is, and so does one that has that length already, bit by bit."""
    return _of_length_one(vectors, row_lengths(vectors))


def _of_length_one(vectors: Vectors, lengths: NDArray[np.float64]) -> Vectors:
    scale = np.where((lengths == 0) | (np.abs(lengths - 1) < 1e-6), 1.0, lengths)  # noqa: PLR2004  # what float32 leaves of one
    return np.ascontiguousarray(vectors / scale[:, np.newaxis], dtype=np.float32)
