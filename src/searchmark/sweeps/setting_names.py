"""What settings are called: what tells them apart in few words, and nothing that is secret."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from searchmark.embedders import ALIASES, EMBEDDERS, options_class
from searchmark.indexes import INDEXES, index_options_class
from searchmark.options.sensitive import sensitive_values
from searchmark.services.redaction import distinct, without_secrets
from searchmark.services.secret_forms import without_credentials

SEPARATOR = ", "
LONGEST = 100


def setting_names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """A different name for each; an option that is the same in all of them is in none, unless nothing else is left."""
    options = list(dict.fromkeys(name for each in settings for name in each))
    telling = [name for name in options if len({_written(each.get(name)) for each in settings}) > 1] or options[:1]
    choices = {name: [each.get(name) for each in settings] for name in telling}
    return [str(name) for name in distinct(_name(each, choices) for each in settings)]


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def _name(setting: Mapping[str, Any], choices: Mapping[str, Sequence[Any]]) -> str:
    text = SEPARATOR.join(_choice_text(name, setting[name], choices[name]) for name in choices if name in setting)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _choice_text(name: str, value: Any, others: Sequence[Any]) -> str:
    if name == "normalize" and isinstance(value, bool):
        return "normalized" if value else "not normalized"
    if value is None:
        return f"no {name}"
    if isinstance(value, Mapping):
        return _described(name, value, others)
    text = without_credentials(_plain(value))
    return text if isinstance(value, str) and name in ("index", "distance", "embedder", "chunking") else f"{name} {text}"


def _described(name: str, value: Mapping[str, Any], others: Sequence[Any]) -> str:
    """``hnsw m=8``: what differs among those of this name; addresses, paths and keys stay out of it."""
    alike = [each for each in others if isinstance(each, Mapping) and each.get("name") == value.get("name")]
    telling = [key for key in value if "name" not in value or len({_written(each.get(key)) for each in alike}) > 1]
    safe = without_secrets({key: value[key] for key in telling if key not in _sensitive(name, value)})
    options = " ".join(f"{key}={_plain(each)}" for key, each in safe.items() if key != "name")
    return " ".join(filter(None, [without_credentials(str(value.get("name", name))), options]))


def _sensitive(name: str, value: Mapping[str, Any]) -> set[str]:
    kind = value.get("name")
    if name == "index" and kind in INDEXES:
        record: type = index_options_class(str(kind))
    elif name == "embedder" and ALIASES.get(str(kind), str(kind)) in EMBEDDERS:
        record = options_class(ALIASES.get(str(kind), str(kind)))
    else:
        return set()
    given = {key: each for key, each in value.items() if key != "name"}
    return {found.field for found in sensitive_values(record, given) if found.given and found.kind.name != "MODEL"}


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(_plain, value))
    return value if isinstance(value, str) else json.dumps(value, default=repr)
