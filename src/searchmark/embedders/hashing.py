"""Hashed words: vectors without a model, the same on every machine. For tests, and as the least that a model must beat."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from searchmark.embedders.embedder import EmbedderOptions, Model, Vectors

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class HashingOptions(EmbedderOptions):
    """Options of ``hashing``. ``size``: how many numbers a vector has."""

    size: int = 256
    cache: bool = False  # to look a vector up takes longer than to make it

    def load_model(self) -> Model:
        return HashedWords(self.size)


class HashedWords(Model):
    """Each word adds one to a dimension that its checksum chooses, or takes one away: the sign is a second bit of it."""

    name = "hashing"
    revision = "crc32-1"

    def __init__(self, size: int) -> None:
        self.dimension = size

    def encode(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in _WORD.findall(text.lower()):
                checksum = zlib.crc32(word.encode("utf-8", "surrogatepass"))
                row[(checksum >> 1) % self.dimension] += 1 if checksum & 1 else -1
        return vectors
