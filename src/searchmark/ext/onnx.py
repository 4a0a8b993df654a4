"""onnxruntime on the CPU: sessions with the same settings everywhere, and texts in batches of a like length."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors, normalized
from searchmark.embedders.model_folder import Recipe
from searchmark.embedders.pooling_modes import pooled
from searchmark.errors import UsageError
from searchmark.files.text_encoding import encodable

TOKENS_AT_ONCE = 512  # in a batch; its values then stay in the cache of a core, which is faster than a larger one
TOKEN_OUTPUTS = ("token_embeddings", "last_hidden_state")
TEXT_OUTPUT = "sentence_embedding"
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def open_session(model: Path | bytes, name: str, threads: int | None, weights: Mapping[str, NDArray[Any]] | None = None) -> Any:
    """A model, loaded. Libraries with operators of others are never registered: a model that needs one is refused."""
    import onnxruntime  # type: ignore[import-untyped,unused-ignore]  # an extra

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or usable_cores()
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4  # fatal only: what goes wrong is raised, and said here in one sentence
    # Threads that wait in a loop would take the time of whatever else is measured on this machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in weights.values()]
        options.add_external_initializers(list(weights), values)
    try:
        source = model if isinstance(model, bytes) else str(model)
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime has a dozen classes for what can be wrong with a model
        raise UsageError(f"{name} cannot be loaded by onnxruntime: {_first_line(error)}") from error


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


class TextEncoder:
    """A session, a tokenizer and a recipe. What a text gets does not depend on the texts beside it, but for the last bits."""

    def __init__(self, session: Any, tokenizer: Any, recipe: Recipe, name: str) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._recipe = recipe
        self._name = name
        self._output = output_of(session, name)
        self._declared = _declared_width(session, self._output)
        self._types = _input_types(session, name)
        _prepare(tokenizer, recipe)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row per text; zeros for one without any token."""
        # The tokenizer takes nothing but Unicode; what a file held instead becomes a question mark.
        clean = [encodable(self._recipe.prompt + text) for text in texts]
        tokens = self._tokenizer.encode_batch_fast(clean)
        vectors: Vectors | None = None
        for rows in _batches([len(each.ids) for each in tokens]):
            some = self._run([tokens[row] for row in rows])
            if vectors is None:
                vectors = np.zeros((len(texts), some.shape[1]), dtype=np.float32)
            vectors[rows] = some
        if vectors is None:
            vectors = np.zeros((len(texts), self.dimension()), dtype=np.float32)
        return normalized(vectors) if self._recipe.normalize else vectors

    def dimension(self) -> int:
        """How many numbers a vector has: graphs need not say it."""
        return int(self._run(self._tokenizer.encode_batch_fast(["how many numbers?"])).shape[1])

    def _run(self, tokens: Sequence[Any]) -> Vectors:
        lengths = np.array([len(each.ids) for each in tokens])
        shape = (len(tokens), int(lengths.max()))
        feeds = {name: np.zeros(shape, dtype=kind) for name, kind in self._types.items()}
        for row, each in enumerate(tokens):
            values = {"input_ids": each.ids, "attention_mask": 1, "token_type_ids": each.type_ids}
            for name, feed in feeds.items():
                feed[row, : len(each.ids)] = values[name]
        try:
            found = np.asarray(self._session.run([self._output], feeds)[0], dtype=np.float32)
        except Exception as error:  # as above
            raise UsageError(f"{self._name} failed on a text of {shape[1]} tokens: {_first_line(error)}") from error
        self._check_shape(found, shape)
        return pooled(self._recipe.pooling, found, lengths) if self._recipe.pooling else found

    def _check_shape(self, found: Vectors, given: tuple[int, int]) -> None:
        """Hold what came against what went in, and against what the graph declares."""
        expected = (*(given if self._recipe.pooling else given[:1]), self._declared or (found.shape[-1] if found.ndim else 0))
        if found.shape != expected:
            raise UsageError(f"{self._name} gives {self._output} of shape {found.shape} where {expected} is right; export it again")


def output_of(session: Any, name: str) -> str:
    """Vectors of tokens, which the folder says how to pool, or else those of texts."""
    available = [output.name for output in session.get_outputs()]
    for known in (*TOKEN_OUTPUTS, TEXT_OUTPUT):
        if known in available:
            return known
    raise UsageError(f"{name} gives {', '.join(available)}, and none of {', '.join((*TOKEN_OUTPUTS, TEXT_OUTPUT))}")


def _declared_width(session: Any, output: str) -> int | None:
    """The numbers of a vector as the graph declares them; None if it leaves that open."""
    (shape,) = (each.shape for each in session.get_outputs() if each.name == output)
    return shape[-1] if shape and isinstance(shape[-1], int) else None


def _input_types(session: Any, name: str) -> dict[str, Any]:
    found = {}
    for each in session.get_inputs():
        if each.name not in _INPUTS or each.type not in _TYPES:
            raise UsageError(f"{name} asks for the input {each.name} ({each.type}); known are {', '.join(_INPUTS)}, of integers")
        if any(isinstance(size, int) for size in each.shape):
            raise UsageError(f"{name} takes texts of one shape only ({each.name}: {each.shape}); export it with dynamic axes")
        found[each.name] = _TYPES[each.type]
    return found


def _prepare(tokenizer: Any, recipe: Recipe) -> None:
    """Cut as the recipe says, whatever the file of the tokenizer says, and never pad: that is done per batch."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if recipe.longest is not None:
        tokenizer.enable_truncation(recipe.longest, direction="left" if recipe.cut_left else "right")
    _normalize(tokenizer, recipe)


def _normalize(tokenizer: Any, recipe: Recipe) -> None:
    from tokenizers.normalizers import BertNormalizer, Lowercase
    from tokenizers.normalizers import Sequence as Several

    present = tokenizer.normalizer
    if isinstance(present, BertNormalizer):
        for name, value in recipe.bert_normalizer:
            setattr(present, name, value)
        tokenizer.normalizer = present
    if recipe.lower_case:
        tokenizer.normalizer = Lowercase() if present is None else Several([Lowercase(), present])


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The numbers of texts that are encoded together: sorted by length, so that next to nothing is padding."""
    order = sorted((row for row, length in enumerate(lengths) if length), key=lambda row: lengths[row], reverse=True)
    while order:
        count = max(1, TOKENS_AT_ONCE // lengths[order[0]])
        yield order[:count]
        del order[:count]
