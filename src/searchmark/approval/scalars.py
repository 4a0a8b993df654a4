"""An id as it is written in a file, in the style of the one that it replaces."""

from __future__ import annotations

import json
import re
from typing import Any

from searchmark.approval.suite_text import Syntax
from searchmark.approval.yaml_spans import composed

_WHOLE = re.compile(r"0|[1-9]\d{0,17}")
_LAST_OF_FOUR_DIGITS = 0xFFFF
_ONCE_BOOLEAN = {"yes", "no", "on", "off", "y", "n"}  # to readers of YAML 1.1, of which there are many


def written_like(text: str, model: str, syntax: Syntax, *, escapes: bool) -> str:
    """A text as a scalar in the style of ``model``; ``escapes`` says whether other letters than ASCII's are escaped in JSON."""
    if syntax == "yaml":
        return _in_yaml(text, model)
    if _WHOLE.fullmatch(model) and _WHOLE.fullmatch(text):
        return text
    quote = model[0] if syntax == "script" and model[0] in "'`" else '"'
    return json_text(text, escapes=escapes) if quote == '"' else _in_script(text, quote)


def json_text(value: Any, *, escapes: bool) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=escapes)


def _in_script(text: str, quote: str) -> str:
    inner = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace(quote, f"\\{quote}")
    if quote == "`":
        inner = inner.replace("${", "\\${")
    return f"{quote}{inner}{quote}"


def _in_yaml(text: str, model: str) -> str:
    if model[0] == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    bare = model[0] not in "'\"" and text.lower() not in _ONCE_BOOLEAN and _may_be_bare(text, model)
    return text if bare else yaml_text(text)


def yaml_text(text: str) -> str:
    """A text in double quotes; JSON's way to escape a letter in two halves is not YAML's."""
    return '"' + "".join(map(_yaml_character, text)) + '"'


def _yaml_character(char: str) -> str:
    if char.isprintable():
        return f"\\{char}" if char in '"\\' else char
    return f"\\U{ord(char):08x}" if ord(char) > _LAST_OF_FOUR_DIGITS else f"\\u{ord(char):04x}"


def _may_be_bare(text: str, model: str) -> bool:
    """Whether a text without quotes means itself, and the same kind of thing as its model to any reader of YAML."""
    from ruamel.yaml.error import YAMLError

    if text.endswith(":"):  # a key without a value, where it is an item on a line of its own
        return False
    try:
        # Between brackets and braces most of all has a meaning.
        ((_, value),) = composed(f"[{{of: {text}}}]").value[0].value
        ((_, other),) = composed(f"[{{of: {model}}}]").value[0].value
    except (YAMLError, ValueError, IndexError, AttributeError):
        return False
    return bool(value.value == text and value.style is None and value.tag in ("tag:yaml.org,2002:str", other.tag))
