"""Text to vectors: `load_embedder` makes an embedder from its name and options; one cache on disk serves them all."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from searchmark.errors import UsageError
from searchmark.files.store import check_shape, refuse_unknown_fields
from searchmark.options.sensitive import Described, Nested

if TYPE_CHECKING:
    from searchmark.embedders.embedder import Embedder, EmbedderOptions

# The options of each, by module and class, which know how to load its model; imported when one is asked for.
_LIKE_ONNX = ("fastembed", "fast-embed", "onnxruntime")
EMBEDDERS = {
    "wordllama": "wordllama:WordllamaOptions",
    "minilm": "minilm:MinilmOptions",
    "onnx": "onnx:OnnxOptions",
    "transformer": "transformer:TransformerOptions",
    "openai": "openai:OpenAIOptions",
    "hashing": "hashing:HashingOptions",
    "precomputed": "precomputed:PrecomputedOptions",
}
ALIASES = {
    "all-MiniLM-L6-v2": "minilm",
    "all-minilm-l6-v2": "minilm",
    "onnxruntime": "onnx",
    "sentence-transformers": "transformer",
    "sentence_transformers": "transformer",
    "ollama": "openai",
    "vllm": "openai",
}

__all__ = ["ALIASES", "EMBEDDERS", "EmbedderChoice", "check_embedder", "load_embedder", "options_class"]


def check_embedder(choice: str | Mapping[str, Any]) -> EmbedderOptions:
    """The options of an embedder that was named (``wordllama``) or described (``{name: openai, model: ...}``)."""
    name, options = _name_and_options(choice)
    known = ALIASES.get(str(name), str(name))
    if known not in EMBEDDERS:
        instead = "; 'onnx' runs the same models without torch" if str(name).lower() in _LIKE_ONNX else ""
        raise UsageError(f"there is no embedder {name!r}; available: {', '.join(EMBEDDERS)}{instead}")
    from pydantic import TypeAdapter

    record = options_class(known)
    refuse_unknown_fields(f"embedder {name}", record, options)
    return check_shape(f"embedder {name}", TypeAdapter(record), options)


def _name_and_options(choice: str | Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    options = {"name": choice} if isinstance(choice, str) else dict(choice)
    return options.pop("name", None), options


def _read_choice(choice: Any) -> tuple[Nested, ...]:
    name, options = _name_and_options(choice) if isinstance(choice, str | Mapping) else (None, {})
    known = ALIASES.get(str(name), str(name))
    return (Nested(options_class(known), options),) if known in EMBEDDERS else ()


EmbedderChoice = Annotated[str | dict[str, Any], Described(_read_choice)]  # a name, or {name, ...} with options


def options_class(name: str) -> type[EmbedderOptions]:
    """The options that a built-in embedder takes."""
    module, _, attribute = EMBEDDERS[name].partition(":")
    found: type[EmbedderOptions] = getattr(import_module(f"searchmark.embedders.{module}"), attribute)
    return found


def load_embedder(choice: str | Mapping[str, Any] | EmbedderOptions) -> Embedder:
    """An embedder, ready to use; its model is loaded here."""
    options = check_embedder(choice) if isinstance(choice, str | Mapping) else choice
    return options.load()
