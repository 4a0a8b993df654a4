"""Search engines whose requests and answers are known: what a config has to say of them is an address and an index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import quote

from searchmark.agents.outside.options import HttpConfig
from searchmark.agents.outside.presets import databases, full_text, vectors
from searchmark.agents.outside.presets.preset import Lookup, Preset
from searchmark.agents.outside.result_format import ResultFormat
from searchmark.agents.outside.templates import filled
from searchmark.errors import UsageError

__all__ = ["PRESETS", "Engine", "Lookup", "Preset", "preset_of", "preset_options"]


@dataclass(frozen=True)
class Engine:
    """An engine by its name: what its config must say, and what that makes of it."""

    preset: Callable[[HttpConfig], Preset]
    requires: tuple[str, ...] = ("index",)


PRESETS: dict[str, Engine] = {
    "elasticsearch": Engine(full_text.elasticsearch),
    "opensearch": Engine(full_text.elasticsearch),
    "solr": Engine(full_text.solr),
    "meilisearch": Engine(full_text.meilisearch),
    "typesense": Engine(full_text.typesense, ("index", "fields")),
    "qdrant": Engine(vectors.qdrant, ("index", "embedder")),
    "weaviate": Engine(vectors.weaviate),
    "chroma": Engine(vectors.chroma, ("index", "embedder")),
    "groonga": Engine(databases.groonga, ("index", "fields")),
    "datasette": Engine(databases.datasette),
}


def preset_of(config: HttpConfig) -> Preset | None:
    """What is known of the engine that a config names; None if it names none. Its addresses are whole ones."""
    if config.preset is None:
        return None
    engine = PRESETS.get(config.preset)
    if engine is None:
        raise UsageError(f"{config.preset!r} is not a preset; there are {', '.join(PRESETS)}")
    missing = [name for name in ("url", *engine.requires) if not getattr(config, name)]
    if missing:
        raise UsageError(f"the preset {config.preset} needs {' and '.join(missing)} in the config")
    preset = engine.preset(config)
    lookup = preset.lookup and replace(preset.lookup, url=_address(config, preset.lookup.url))
    return replace(preset, url=_address(config, preset.url), lookup=lookup)


def preset_options(config: HttpConfig) -> HttpConfig:
    """The options with what their preset adds; what the config says itself goes before it."""
    preset = preset_of(config)
    if preset is None:
        return config
    own_content = config.body is not None or bool(config.form)
    return replace(
        config,
        url=preset.url,
        method=config.method or preset.method,
        parameters={**preset.parameters, **config.parameters},
        headers={**preset.headers, **config.headers},
        body=config.body if own_content else preset.body,
        results=_merged(config.results, preset.results),
    )


def _address(config: HttpConfig, path: str) -> str:
    """Commas and stars stay: engines read lists and patterns of indexes there."""
    index = quote(config.index or "", safe=",*")
    return f"{(config.url or '').rstrip('/')}{filled(path, {'index': index})}"


def _merged(own: ResultFormat, preset: ResultFormat) -> ResultFormat:
    """Field by field; hits in another list or format are read by nothing of the preset."""
    if own.hits is not None or own.format is not None or own.pattern is not None:
        return own
    rated: dict[str, Any] = {"score": None, "distance": None} if own.score is not None or own.distance is not None else {}
    given = {each.name: value for each in fields(own) if (value := getattr(own, each.name)) not in (None, False)}
    return replace(preset, **(rated | given))
