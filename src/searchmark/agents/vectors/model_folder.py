"""Models as sentence-transformers store them: how texts are cut, and how token vectors become one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.vectors.embedder import Vectors
from searchmark.errors import FormatError, Missing, UsageError
from searchmark.io.data import parse_json
from searchmark.io.store import read_text

# From one vector per token to one per text, in the ways of sentence-transformers, whose names for them are kept.

Lengths = NDArray[np.int64]


def _mask(tokens: Vectors, lengths: Lengths) -> Vectors:
    mask: Vectors = (np.arange(tokens.shape[1]) < lengths[:, np.newaxis]).astype(np.float32)
    return mask


def _sum(tokens: Vectors, weights: Vectors) -> Vectors:
    total: Vectors = np.matmul(weights[:, np.newaxis], tokens)[:, 0]
    return total


def _at_least_one(lengths: Lengths) -> Vectors:
    return np.maximum(lengths, 1).astype(np.float32)[:, np.newaxis]


def _mean(tokens: Vectors, lengths: Lengths) -> Vectors:
    return _sum(tokens, _mask(tokens, lengths)) / _at_least_one(lengths)


def _mean_sqrt_len(tokens: Vectors, lengths: Lengths) -> Vectors:
    root: Vectors = np.sqrt(_at_least_one(lengths))
    return _sum(tokens, _mask(tokens, lengths)) / root


def _weighted_mean(tokens: Vectors, lengths: Lengths) -> Vectors:
    """The later a token, the more it counts: by its number from 1."""
    weights = _mask(tokens, lengths) * np.arange(1, tokens.shape[1] + 1, dtype=np.float32)
    mean: Vectors = _sum(tokens, weights) / np.maximum(weights.sum(axis=1, keepdims=True), 1)
    return mean


def _max(tokens: Vectors, lengths: Lengths) -> Vectors:
    present = _mask(tokens, lengths)[:, :, np.newaxis] > 0
    highest: Vectors = np.max(tokens, axis=1, where=present, initial=-np.inf)
    return highest


def _cls(tokens: Vectors, _: Lengths) -> Vectors:
    return tokens[:, 0]


def _last_token(tokens: Vectors, lengths: Lengths) -> Vectors:
    last: Vectors = tokens[np.arange(len(tokens)), np.maximum(lengths, 1) - 1]
    return last


POOLINGS: dict[str, Callable[[Vectors, Lengths], Vectors]] = {
    "cls": _cls,
    "max": _max,
    "mean": _mean,
    "mean_sqrt_len_tokens": _mean_sqrt_len,
    "weightedmean": _weighted_mean,
    "lasttoken": _last_token,
}


def pool_tokens(modes: tuple[str, ...], tokens: Vectors, lengths: Lengths) -> Vectors:
    """One row per text, several modes one after the other; what follows the ``lengths`` tokens of a text is padding."""
    return np.concatenate([POOLINGS[mode](tokens, lengths) for mode in modes], axis=1)


# What a folder of sentence-transformers says about its model beside the weights: how texts are cut, and how vectors are pooled.

TOKENIZER = "tokenizer.json"


# The names that sentence-transformers looks for, in its order.
_LIMIT_FILES = tuple(
    f"sentence_{kind}_config.json" for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)


_OLDER_POOLING_NAMES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}

_NO_LIMIT = 1_000_000  # a tokenizer without one says 10 to the power of 30

_ADVICE = "use the embedder transformer"


@dataclass(frozen=True)
class EncodingRecipe:
    """How a model is used."""

    pooling: tuple[str, ...]
    normalize: bool
    longest: int | None  # tokens of a text that are seen
    cut_left: bool
    lower_case: bool
    bert_normalizer: tuple[tuple[str, bool], ...]  # what overrides the tokenizer's own file
    prompt: str  # what comes before every text


@dataclass(frozen=True)
class Module:
    """One step of a model, by the last part of its class's name, and the folder of its settings."""

    kind: str
    folder: Path


@dataclass(frozen=True)
class ModelFolder:
    """A folder as sentence-transformers or optimum have written it."""

    path: Path

    def __post_init__(self) -> None:
        if not self.path.is_dir():
            raise Missing(f"the model {str(self.path)!r} is not a folder; name one with a model and its tokenizer.json")

    @cached_property
    def _modules(self) -> tuple[Module, ...]:
        """The steps in their order; without a list, sentence-transformers takes the mean of the tokens."""
        path = self.path / "modules.json"
        if not path.is_file():
            return (Module("Transformer", self.path),)
        return tuple(self._module(path, each) for each in _read_list(path))

    def _module(self, path: Path, entry: Any) -> Module:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("type"), str) or not isinstance(entry.get("path"), str):
            raise FormatError(path, None, "every module needs a type and a path")
        folder = self.path / entry["path"]
        if not folder.resolve().is_relative_to(self.path.resolve()):
            raise FormatError(path, None, f"the path {entry['path']!r} is outside of the folder")
        return Module(entry["type"].rpartition(".")[2], folder)

    @property
    def _base(self) -> Path:
        return self._modules[0].folder if self._modules else self.path

    def tokenizer_file(self) -> Path:
        """The tokenizer in the one format that the library ``tokenizers`` reads."""
        for folder in (self._base, self.path):
            if (folder / TOKENIZER).is_file():
                return folder / TOKENIZER
        raise UsageError(f"{self.path} has no {TOKENIZER}; save the tokenizer as a fast one beside the model")

    def model_file(self, name: str | None) -> Path:
        """The graph: the one that was asked for, or else where exporters put it."""
        if name is not None:
            return self._chosen_file(name)
        files = [self.path / usual for usual in ("model.onnx", "onnx/model.onnx") if (self.path / usual).is_file()]
        if not files:
            others = sorted(
                str(each.relative_to(self.path)) for folder in ("*.onnx", "onnx/*.onnx") for each in self.path.glob(folder)
            )
            advice = f"choose one with file: {', '.join(others)}" if others else "export it to ONNX, or take a folder that has it"
            raise UsageError(f"{self.path} has no model.onnx or onnx/model.onnx; {advice}")
        return files[0]

    def _chosen_file(self, name: str) -> Path:
        """By its name only: the hub's own folders are full of links to files elsewhere."""
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise UsageError(f"file: {name} is outside of {self.path}; name a file inside")
        for folder in (self.path, self.path / "onnx"):
            if (folder / name).is_file():
                return folder / name
        raise UsageError(f"file: {name} does not exist in {self.path}")

    def recipe(self, *, pooled_in_graph: bool) -> EncodingRecipe:
        """All settings, checked; what we cannot do as sentence-transformers does it is refused."""
        limits_file = next(
            (self._base / name for name in _LIMIT_FILES if (self._base / name).is_file()), self._base / _LIMIT_FILES[0]
        )
        limits = _read_mapping_if_any(limits_file)
        tokenizer = _read_mapping_if_any(self._base / "tokenizer_config.json")
        prompt = self._prompt()
        return EncodingRecipe(
            pooling=() if pooled_in_graph else self._pooling(prompt),
            normalize=any(module.kind == "Normalize" for module in self._modules),
            longest=self._longest(limits_file, limits, tokenizer),
            cut_left=tokenizer.get("truncation_side") == "left",
            lower_case=bool(limits.get("do_lower_case")),
            bert_normalizer=_bert_normalizer(tokenizer),
            prompt=prompt,
        )

    def _pooling(self, prompt: str) -> tuple[str, ...]:
        kinds = [module.kind for module in self._modules]
        other = next((kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")), None)
        if other is not None:
            raise UsageError(f"{self.path} has a module {other}, which cannot be used without torch; {_ADVICE}")
        if len(kinds) == 1:
            return ("mean",)
        if kinds[:2] != ["Transformer", "Pooling"] or any(kind != "Normalize" for kind in kinds[2:]):
            raise UsageError(f"{self.path} has the modules {', '.join(kinds)}, and not Transformer, Pooling, Normalize; {_ADVICE}")
        config = self._modules[1].folder / "config.json"
        settings = _read_mapping(config)
        if prompt and settings.get("include_prompt") is False:
            raise UsageError(f"{config} leaves the prompt out of the pooling, which is not supported; {_ADVICE}")
        return tuple(_pooling_modes(config, settings))

    def _longest(self, limits_file: Path, limits: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> int | None:
        config = self._base / "config.json"
        positions = _read_count(config, _read_mapping_if_any(config), "max_position_embeddings")
        most = _read_count(self._base / "tokenizer_config.json", tokenizer, "model_max_length")
        limit = _read_count(limits_file, limits, "max_seq_length")
        return limit if limit is not None else min((each for each in (most, positions) if each and each < _NO_LIMIT), default=None)

    def widths(self) -> Iterator[tuple[Path, int]]:
        """How many numbers the vector of a token has, by each file that says it."""
        pooling = (module.folder / "config.json" for module in self._modules if module.kind == "Pooling")
        names = ((self._base / "config.json", "hidden_size"), *((path, "word_embedding_dimension") for path in pooling))
        for path, name in names:
            width = _read_count(path, _read_mapping_if_any(path), name)
            if width is not None:
                yield path, width

    def _prompt(self) -> str:
        """The one that sentence-transformers puts before every text unless told otherwise."""
        path = self.path / "config_sentence_transformers.json"
        settings = _read_mapping_if_any(path)
        name = settings.get("default_prompt_name")
        prompts = settings.get("prompts") or {}
        if name is None:
            return ""
        if not isinstance(prompts, Mapping) or not isinstance(prompts.get(name), str):
            raise FormatError(path, "default_prompt_name", f"there is no prompt {name!r}")
        return str(prompts[name])


def _bert_normalizer(settings: Mapping[str, Any]) -> tuple[tuple[str, bool], ...]:
    """Tokenizers of BERT's kind take these from their settings, and all others from their own file, as transformers does it."""
    if settings.get("tokenizer_class") in ("PreTrainedTokenizerFast", "TokenizersBackend"):
        return ()
    names = {"do_lower_case": "lowercase", "strip_accents": "strip_accents", "tokenize_chinese_chars": "handle_chinese_chars"}
    return tuple((ours, settings[name]) for name, ours in names.items() if isinstance(settings.get(name), bool))


def _pooling_modes(config: Path, settings: Mapping[str, Any]) -> Iterator[str]:
    newer = settings.get("pooling_mode")
    older = [mode for name, mode in _OLDER_POOLING_NAMES.items() if settings.get(name)] or ["mean"]
    unknown = [
        name for name, value in settings.items() if name.startswith("pooling_mode_") and value and name not in _OLDER_POOLING_NAMES
    ]
    modes = older + unknown if newer is None else [newer] if isinstance(newer, str) else list(newer)
    for mode in modes:
        if mode not in POOLINGS:
            raise FormatError(config, None, f"the pooling {mode!r} is not supported; known are {', '.join(POOLINGS)}")
        yield mode


def _read_count(path: Path, settings: Mapping[str, Any], name: str) -> int | None:
    """A number of things that a file may state; a tokenizer's may be written with an exponent."""
    value = settings.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 1 or value != value // 1:
        raise FormatError(path, name, f"must be a whole number of at least 1, and is {value!r}")
    return int(value)


def _read_mapping_if_any(path: Path) -> Mapping[str, Any]:
    return _read_mapping(path) if path.is_file() else {}


def _read_mapping(path: Path) -> Mapping[str, Any]:
    content = parse_json(path, read_text(path))
    if not isinstance(content, Mapping):
        raise FormatError(path, None, "must be a mapping")
    return content


def _read_list(path: Path) -> list[Any]:
    content = parse_json(path, read_text(path))
    if not isinstance(content, list) or not content:
        raise FormatError(path, None, "must be a list of modules")
    return content
