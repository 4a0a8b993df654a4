"""Text to vectors: `load_embedder` makes an embedder from its name and options; one cache on disk serves them all."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from searchmark.errors import UsageError
from searchmark.files.store import check_shape

if TYPE_CHECKING:
    from searchmark.embedders.embedder import Embedder, Options

# Where each one's options and model are; imported when it is asked for.
EMBEDDERS = {
    "wordllama": "searchmark.embedders.wordllama",
    "transformer": "searchmark.embedders.transformer",
    "openai": "searchmark.embedders.openai",
    "hashing": "searchmark.embedders.hashing",
    "precomputed": "searchmark.embedders.precomputed",
}
ALIASES = {"sentence-transformers": "transformer", "sentence_transformers": "transformer", "ollama": "openai", "vllm": "openai"}

__all__ = ["ALIASES", "EMBEDDERS", "check_embedder", "load_embedder"]


def check_embedder(choice: str | Mapping[str, Any]) -> Options:
    """The options of an embedder that was named (``wordllama``) or described (``{name: openai, model: ...}``)."""
    options = {"name": choice} if isinstance(choice, str) else dict(choice)
    name = options.pop("name", None)
    module = EMBEDDERS.get(ALIASES.get(str(name), str(name)))
    if module is None:
        raise UsageError(f"there is no embedder {name!r}; there are {', '.join(EMBEDDERS)}")
    from pydantic import TypeAdapter

    checked: Options = check_shape(f"embedder {name}", TypeAdapter(import_module(module).Options), options)
    return checked


def load_embedder(choice: str | Mapping[str, Any] | Options) -> Embedder:
    """An embedder, ready to use; its model is loaded here."""
    options = check_embedder(choice) if isinstance(choice, str | Mapping) else choice
    return options.load()
