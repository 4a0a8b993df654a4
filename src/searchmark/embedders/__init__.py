"""Text to vectors: `load_embedder` makes an embedder from its name and options; one cache on disk serves them all."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from searchmark.errors import UsageError
from searchmark.files.store import check_shape

if TYPE_CHECKING:
    from searchmark.embedders.embedder import Embedder, EmbedderOptions

# The options of each, by module and class, which know how to load its model; imported when one is asked for.
EMBEDDERS = {
    "wordllama": "wordllama:WordllamaOptions",
    "transformer": "transformer:TransformerOptions",
    "openai": "openai:OpenAIOptions",
    "hashing": "hashing:HashingOptions",
    "precomputed": "precomputed:PrecomputedOptions",
}
ALIASES = {"sentence-transformers": "transformer", "sentence_transformers": "transformer", "ollama": "openai", "vllm": "openai"}

__all__ = ["ALIASES", "EMBEDDERS", "check_embedder", "load_embedder", "options_class"]


def check_embedder(choice: str | Mapping[str, Any]) -> EmbedderOptions:
    """The options of an embedder that was named (``wordllama``) or described (``{name: openai, model: ...}``)."""
    options = {"name": choice} if isinstance(choice, str) else dict(choice)
    name = options.pop("name", None)
    known = ALIASES.get(str(name), str(name))
    if known not in EMBEDDERS:
        raise UsageError(f"there is no embedder {name!r}; available: {', '.join(EMBEDDERS)}")
    from pydantic import TypeAdapter

    return check_shape(f"embedder {name}", TypeAdapter(options_class(known)), options)


def options_class(name: str) -> type[EmbedderOptions]:
    """The options that a built-in embedder takes."""
    module, _, attribute = EMBEDDERS[name].partition(":")
    found: type[EmbedderOptions] = getattr(import_module(f"searchmark.embedders.{module}"), attribute)
    return found


def load_embedder(choice: str | Mapping[str, Any] | EmbedderOptions) -> Embedder:
    """An embedder, ready to use; its model is loaded here."""
    options = check_embedder(choice) if isinstance(choice, str | Mapping) else choice
    return options.load()
