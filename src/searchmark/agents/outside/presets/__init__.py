"""Search engines whose requests and answers are known: what a config has to say of them is an address and an index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import quote

from searchmark.agents.outside.options import HttpConfig
from searchmark.agents.outside.results import ResultFormat
from searchmark.agents.outside.templates import filled, filled_data
from searchmark.errors import UsageError


@dataclass(frozen=True)
class Preset:
    """How an engine is asked and how it answers.

    ``url`` follows the address in the config. It, the parameters, headers, body and form may hold ``{index}`` and ``{fields}``
    (a list) beside the placeholders of every request. ``requires``: options without which the engine cannot be asked.
    """

    url: str = ""
    method: Literal["GET", "POST"] = "POST"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    form: Mapping[str, Any] = field(default_factory=dict)
    results: ResultFormat = field(default_factory=ResultFormat)
    requires: tuple[str, ...] = ()


PRESETS: dict[str, Preset] = {}


def preset_options(config: HttpConfig) -> HttpConfig:
    """The options with what their preset adds; what the config says itself goes before it."""
    if config.preset is None:
        return config
    preset = PRESETS.get(config.preset)
    if preset is None:
        raise UsageError(f"{config.preset!r} is not a preset; there are {', '.join(PRESETS) or 'none'}")
    missing = [name for name in ("url", *preset.requires) if not getattr(config, name)]
    if missing:
        raise UsageError(f"the preset {config.preset} needs {', '.join(missing)} in the config")
    return _merged(config, preset, {"index": config.index, "fields": list(config.fields)})


def _merged(config: HttpConfig, preset: Preset, values: Mapping[str, Any]) -> HttpConfig:
    address = filled(preset.url, {name: quote(str(value), safe="") for name, value in values.items()})
    return replace(
        config,
        url=f"{(config.url or '').rstrip('/')}{address}",
        method=config.method or preset.method,
        parameters={**filled_data(preset.parameters, values), **config.parameters},
        headers={**preset.headers, **config.headers},
        body=filled_data(preset.body, values) if config.body is None else config.body,
        form={**filled_data(preset.form, values), **config.form},
        results=preset.results if config.results == ResultFormat() else config.results,
    )
