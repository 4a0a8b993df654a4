"""What a folder of sentence-transformers says about its model beside the weights: how texts are cut, and how vectors are pooled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from searchmark.embedders.pooling_modes import POOLINGS
from searchmark.errors import FormatError, UsageError
from searchmark.files.store import parse_json, read_text

TOKENIZER = "tokenizer.json"
# The names that sentence-transformers looks for, in its order.
_LIMITS = tuple(
    f"sentence_{kind}_config.json" for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
_OLDER_NAMES = {
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
class Recipe:
    """How a model is used. ``longest``: tokens of a text that are seen; ``prompt``: what comes before every text."""

    pooling: tuple[str, ...]
    normalize: bool
    longest: int | None
    cut_left: bool
    lower_case: bool
    bert_normalizer: tuple[tuple[str, bool], ...]  # what overrides the tokenizer's own file
    prompt: str


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
            raise UsageError(f"the model {str(self.path)!r} is not a folder; name one with a model and its tokenizer.json")

    @cached_property
    def _modules(self) -> tuple[Module, ...]:
        """The steps in their order; without a list, sentence-transformers takes the mean of the tokens."""
        path = self.path / "modules.json"
        if not path.is_file():
            return (Module("Transformer", self.path),)
        return tuple(self._module(path, each) for each in _list(path))

    def _module(self, path: Path, said: Any) -> Module:
        if not isinstance(said, Mapping) or not isinstance(said.get("type"), str) or not isinstance(said.get("path"), str):
            raise FormatError(path, None, "every module needs a type and a path")
        folder = self.path / said["path"]
        if not folder.resolve().is_relative_to(self.path.resolve()):
            raise FormatError(path, None, f"the path {said['path']!r} is outside of the folder")
        return Module(said["type"].rpartition(".")[2], folder)

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
        found = [self.path / usual for usual in ("model.onnx", "onnx/model.onnx") if (self.path / usual).is_file()]
        if not found:
            others = sorted(
                str(each.relative_to(self.path)) for folder in ("*.onnx", "onnx/*.onnx") for each in self.path.glob(folder)
            )
            advice = f"choose one with file: {', '.join(others)}" if others else "export it to ONNX, or take a folder that has it"
            raise UsageError(f"{self.path} has no model.onnx or onnx/model.onnx; {advice}")
        return found[0]

    def _chosen_file(self, name: str) -> Path:
        """By its name only: the hub's own folders are full of links to files elsewhere."""
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise UsageError(f"file: {name} is outside of {self.path}; name a file inside")
        for folder in (self.path, self.path / "onnx"):
            if (folder / name).is_file():
                return folder / name
        raise UsageError(f"file: {name} does not exist in {self.path}")

    def recipe(self, *, pooled_in_graph: bool) -> Recipe:
        """All settings, checked; what we cannot do as sentence-transformers does it is refused."""
        limits_file = next((self._base / name for name in _LIMITS if (self._base / name).is_file()), self._base / _LIMITS[0])
        limits = _mapping_if_any(limits_file)
        tokenizer = _mapping_if_any(self._base / "tokenizer_config.json")
        prompt = self._prompt()
        return Recipe(
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
        said = _mapping(config)
        if prompt and said.get("include_prompt") is False:
            raise UsageError(f"{config} leaves the prompt out of the pooling, which is not supported; {_ADVICE}")
        return tuple(_known_modes(config, said))

    def _longest(self, limits_file: Path, limits: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> int | None:
        config = self._base / "config.json"
        positions = _count(config, _mapping_if_any(config), "max_position_embeddings")
        most = _count(self._base / "tokenizer_config.json", tokenizer, "model_max_length")
        own = _count(limits_file, limits, "max_seq_length")
        return own if own is not None else min((each for each in (most, positions) if each and each < _NO_LIMIT), default=None)

    def widths(self) -> Iterator[tuple[Path, int]]:
        """How many numbers the vector of a token has, by each file that says it."""
        pooling = (module.folder / "config.json" for module in self._modules if module.kind == "Pooling")
        names = ((self._base / "config.json", "hidden_size"), *((path, "word_embedding_dimension") for path in pooling))
        for path, name in names:
            width = _count(path, _mapping_if_any(path), name)
            if width is not None:
                yield path, width

    def _prompt(self) -> str:
        """The one that sentence-transformers puts before every text unless told otherwise."""
        path = self.path / "config_sentence_transformers.json"
        said = _mapping_if_any(path)
        name = said.get("default_prompt_name")
        prompts = said.get("prompts") or {}
        if name is None:
            return ""
        if not isinstance(prompts, Mapping) or not isinstance(prompts.get(name), str):
            raise FormatError(path, "default_prompt_name", f"there is no prompt {name!r}")
        return str(prompts[name])


def _bert_normalizer(said: Mapping[str, Any]) -> tuple[tuple[str, bool], ...]:
    """Tokenizers of BERT's kind take these from their settings, and all others from their own file, as transformers does it."""
    if said.get("tokenizer_class") in ("PreTrainedTokenizerFast", "TokenizersBackend"):
        return ()
    names = {"do_lower_case": "lowercase", "strip_accents": "strip_accents", "tokenize_chinese_chars": "handle_chinese_chars"}
    return tuple((ours, said[name]) for name, ours in names.items() if isinstance(said.get(name), bool))


def _known_modes(config: Path, said: Mapping[str, Any]) -> Iterator[str]:
    newer = said.get("pooling_mode")
    older = [mode for name, mode in _OLDER_NAMES.items() if said.get(name)] or ["mean"]
    unknown = [name for name, value in said.items() if name.startswith("pooling_mode_") and value and name not in _OLDER_NAMES]
    modes = older + unknown if newer is None else [newer] if isinstance(newer, str) else list(newer)
    for mode in modes:
        if mode not in POOLINGS:
            raise FormatError(config, None, f"the pooling {mode!r} is not supported; known are {', '.join(POOLINGS)}")
        yield mode


def _count(path: Path, said: Mapping[str, Any], name: str) -> int | None:
    """A number of things that a file may state; a tokenizer's may be written with an exponent."""
    value = said.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 1 or value != value // 1:
        raise FormatError(path, name, f"must be a whole number of at least 1, and is {value!r}")
    return int(value)


def _mapping_if_any(path: Path) -> Mapping[str, Any]:
    return _mapping(path) if path.is_file() else {}


def _mapping(path: Path) -> Mapping[str, Any]:
    said = parse_json(path, read_text(path))
    if not isinstance(said, Mapping):
        raise FormatError(path, None, "must be a mapping")
    return said


def _list(path: Path) -> list[Any]:
    said = parse_json(path, read_text(path))
    if not isinstance(said, list) or not said:
        raise FormatError(path, None, "must be a list of modules")
    return said
