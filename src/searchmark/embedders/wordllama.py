"""WordLlama: real vectors with no network and no torch. The weights are in its wheel.

Its own `embed` pads every text of a batch to the longest one, so one long text among short ones takes gigabytes; the
mean of the token vectors is therefore taken here. The numbers are the same, bit by bit, and a test says so.

The model tells ``LIQUIDS`` from ``liquids``: a word of capitals falls into tokens that mean next to nothing. Texts and
queries are therefore brought to lower case first, unless told otherwise.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from searchmark.embedders.embedder import EmbedderOptions, Model, Vectors
from searchmark.errors import UsageError
from searchmark.files.text_encoding import encodable

WEIGHTS = "l2_supercat"
DIMENSION = 256
TOKENS_AT_ONCE = 1 << 16  # of one text; 64 MB of token vectors


def problem() -> str | None:
    """Why it cannot be used here, and what to do about it; None if it can."""
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        return "wordllama is not installed; install it: pip install 'wordllama==0.4.0.post1'"
    missing = [file.name for file in _files(Path(spec.origin).parent) if not file.is_file()]
    return f"wordllama was installed without {' and '.join(missing)}; install it again from its wheel" if missing else None


def _files(folder: Path) -> tuple[Path, Path]:
    return folder / "weights" / f"{WEIGHTS}_{DIMENSION}.safetensors", tokenizer_file(folder)


def tokenizer_file(folder: Path) -> Path:
    """The tokenizer, below the folder that wordllama is installed in."""
    return folder / "tokenizers" / f"{WEIGHTS}_tokenizer_config.json"


@dataclass(frozen=True)
class WordllamaOptions(EmbedderOptions):
    """Options of ``wordllama``. ``fold_case``: texts and queries in lower case; without it the model sees them as they are."""

    fold_case: bool = True

    def load_model(self) -> Model:
        reason = problem()
        if reason is not None:
            raise UsageError(reason)
        return WordLlamaModel(fold_case=self.fold_case)


class WordLlamaModel(Model):
    """The mean of the vectors of a text's tokens; a text without any is a row of zeros."""

    name = f"wordllama/{WEIGHTS}_{DIMENSION}"
    dimension = DIMENSION
    batch = 2048

    def __init__(self, *, fold_case: bool = True) -> None:
        self.case = "folded" if fold_case else "kept"
        with _root_logger_untouched():
            import wordllama  # type: ignore[import-untyped]  # it has no types
        folder = Path(wordllama.__file__).parent
        loaded = wordllama.WordLlama.load(WEIGHTS, cache_dir=folder, dim=DIMENSION, disable_download=True)
        self.revision = _digest(_files(folder))
        self._table: Vectors = loaded.embedding
        self._tokenizer: Any = loaded.tokenizer
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        # The tokenizer takes nothing but Unicode; what a file held instead becomes a question mark.
        clean = [encodable(text.lower() if self.case == "folded" else text) for text in texts]
        for row, encoding in enumerate(self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)):
            if encoding.ids:
                vectors[row] = self._mean(encoding.ids)
        return vectors

    def _mean(self, tokens: list[int]) -> Vectors:
        ids = np.minimum(tokens, len(self._table) - 1)
        total = np.add.reduce(self._table[ids[:TOKENS_AT_ONCE]], axis=0)
        for start in range(TOKENS_AT_ONCE, len(ids), TOKENS_AT_ONCE):
            total = total + np.add.reduce(self._table[ids[start : start + TOKENS_AT_ONCE]], axis=0)
        mean: Vectors = total / np.float32(len(ids))
        return mean


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


@contextmanager
def _root_logger_untouched() -> Iterator[None]:
    """Importing wordllama sets the root logger up, which is for the program to do and not for a library."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
