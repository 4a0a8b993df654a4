"""What environment variables ask for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.errors import UsageError

FAKE = "hashing"
_OFF = ("", "0", "false", "no", "off")
NO_ONNX = "ONNX_PATH has no effect: the embedders minilm and onnx use the ONNX runtime that is installed as a package of Python"


def is_ci() -> bool:
    return _is_set("CI", os.environ)


def wants_update() -> bool:
    return _is_set("UPDATE_BENCHMARK_EXPECTATIONS", os.environ)


def wants_real_embeddings() -> bool:
    return _is_set("USE_REAL_EMBEDDINGS", os.environ)


def names_onnx() -> bool:
    return _is_set("ONNX_PATH", os.environ)


def with_real_embeddings(spec: AgentSpec) -> AgentSpec:
    """The agent with real embeddings wherever it, or an agent that it asks, was given fake ones."""
    return replace(spec, config=_real(spec.config))


def _real(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: real_embedder() if key == "embedder" and _is_fake(each) else _real(each) for key, each in value.items()}
    return [_real(each) for each in value] if isinstance(value, list | tuple) else value


def real_embedder() -> str | dict[str, Any]:
    """all-MiniLM-L6-v2 by whatever is installed, without torch if that is possible; nothing less is taken for it."""
    from searchmark.embedders import minilm, transformer

    lacks = minilm.problem()
    if lacks is None:
        return "minilm"
    if transformer.problem() is not None:
        raise UsageError(f"USE_REAL_EMBEDDINGS needs all-MiniLM-L6-v2: {lacks}")
    packaged = transformer.is_packaged(transformer.ALL_MINILM)
    return {"name": "transformer", "model": transformer.ALL_MINILM} if packaged else "transformer"


def _is_fake(embedder: Any) -> bool:
    return (embedder.get("name") if isinstance(embedder, Mapping) else embedder) == FAKE


def _is_set(name: str, environment: Mapping[str, str]) -> bool:
    return environment.get(name, "").strip().lower() not in _OFF
