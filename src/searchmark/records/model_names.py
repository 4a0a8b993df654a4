"""Which embedding model an agent searched with, and whether two names mean the same one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

VALUES = ("filter",)  # options that hold fields and values of documents, which describe no agent, whatever their names are


def described(said: Any) -> Iterator[tuple[str, Any]]:
    """What an agent says of itself, by name, where it says anything; what it searches for in documents is left out."""
    return ((key, value) for key, value in said.items() if key not in VALUES) if isinstance(said, Mapping) else iter(())


def models_in(said: Any) -> Iterator[str]:
    """Every embedding model that an agent, or one of its arms, says that it has; a model that reranks is none."""
    for key, value in described(said):
        if key == "embedder":
            yield from _of_embedder(value)
        else:
            yield from models_in(value)


def _of_embedder(embedder: Any) -> Iterator[str]:
    named = (embedder.get("model") or embedder.get("name")) if isinstance(embedder, Mapping) else embedder
    if isinstance(named, str) and named:
        yield named


def one_model(*told: Mapping[str, Any]) -> str | None:
    """The only model that the first that names any does name; None if that is none or several."""
    for said in told:
        own = said.get("model")
        names = [own] if isinstance(own, str) and own else list(dict.fromkeys(models_in(said)))
        if names:
            return names[0] if len(names) == 1 else None
    return None


def same_model(one: str, other: str) -> bool:
    """Whether two names mean one model; the owner before the last slash may be left out, as ``BAAI/`` often is."""
    first, second = one.casefold(), other.casefold()
    return first == second or (("/" in first) != ("/" in second) and first.rpartition("/")[2] == second.rpartition("/")[2])
