"""What settings are called: what tells them apart in few words, and nothing that is secret."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any

from searchmark.embedders import ALIASES, EMBEDDERS, options_class
from searchmark.indexes import INDEXES, index_options_class
from searchmark.options.sensitive import sensitive_values
from searchmark.services.redaction import distinct, without_secrets
from searchmark.services.secret_forms import without_credentials

SEPARATOR = ", "
LONGEST = 100
NAME = "name"


def setting_names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """A different name for each; an option that is the same in all of them is in none, unless nothing else is left."""
    options = list(dict.fromkeys(name for each in settings for name in each))
    telling = [name for name in options if len({_written(each.get(name)) for each in settings}) > 1] or options[:1]
    choices = {name: [each.get(name) for each in settings] for name in telling}
    return [str(name) for name in distinct(_name(each, choices) for each in settings)]


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def _name(setting: Mapping[str, Any], choices: Mapping[str, Sequence[Any]]) -> str:
    named = [name for name in choices if name in setting] or list(setting)[:1]
    text = SEPARATOR.join(_choice_text(name, setting[name], choices.get(name, ())) for name in named)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _choice_text(name: str, value: Any, others: Sequence[Any]) -> str:
    if name == "normalize" and isinstance(value, bool):
        return "normalized" if value else "not normalized"
    if value is None:
        return "all fields" if name == "fields" else f"no {name}"
    record = _record(name, value)
    if record is not None:
        return _with_options(value, record, [each for each in others if _record(name, each) is record])
    if isinstance(value, Mapping):
        return f"{name} {_pairs(value)}"
    text = without_credentials(_plain(value))
    return text if isinstance(value, str) and name == "distance" else f"{name} {text}"


def _with_options(choice: Any, record: type, alike: Sequence[Any]) -> str:
    """``hnsw m=8``: every option that is not the default, or not that of a sibling; addresses, paths and keys stay out."""
    values = _in_full(choice, record)
    siblings = [_in_full(each, record) for each in alike]
    default = _in_full("", record)
    telling = [key for key in values if any(_written(values[key]) != _written(each.get(key)) for each in (default, *siblings))]
    given = {key: value for key, value in choice.items() if key != NAME} if isinstance(choice, Mapping) else {}
    sensitive = {found.field for found in sensitive_values(record, given) if found.kind.name != "MODEL"}
    options = _pairs({key: values[key] for key in telling if key not in sensitive and values[key] is not None})
    return " ".join(filter(None, [without_credentials(_kind(choice)), options]))


def _pairs(options: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={_plain(value)}" for key, value in without_secrets(dict(options)).items())


def _kind(choice: Any) -> str:
    return str(choice.get(NAME) if isinstance(choice, Mapping) else choice)


def _record(name: str, choice: Any) -> type | None:
    """The options of an index or embedder; None of any other choice."""
    kind = _kind(choice)
    if name == "index" and kind in INDEXES:
        return index_options_class(kind)
    if name == "embedder" and ALIASES.get(kind, kind) in EMBEDDERS:
        return options_class(ALIASES.get(kind, kind))
    return None


def _in_full(choice: Any, record: type) -> dict[str, Any]:
    """All options, those that are given over the defaults; one without a default may be missing."""
    defaults = {each.name: _default(each) for each in fields(record) if each.init}
    given = {key: value for key, value in choice.items() if key != NAME} if isinstance(choice, Mapping) else {}
    return {key: value for key, value in {**defaults, **given}.items() if value is not MISSING}


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(_plain, value))
    return value if isinstance(value, str) else json.dumps(value, default=repr)
