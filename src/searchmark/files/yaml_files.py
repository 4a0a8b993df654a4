"""YAML, safely: no objects, no surprises with numbers, no expansion beyond the size of the file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError


def parse_yaml(path: Path, text: str, *, numbers: bool = False) -> Any:
    """Plain data in which only null and booleans are more than text: ids that look like numbers stay as written.

    ``numbers`` reads them as numbers all the same, for files that hold settings and no ids.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.error import YAMLError

    class TextConstructor(SafeConstructor):
        """Leaves numbers and dates to the check of each field, which knows what it wants."""

    for kind in ("timestamp",) if numbers else ("int", "float", "timestamp"):
        TextConstructor.add_constructor(f"tag:yaml.org,2002:{kind}", lambda _, node: node.value)
    loader = YAML(typ="safe", pure=True)
    loader.Constructor = TextConstructor
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an anchor that is used again is no news to the user
            data = loader.load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = None if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        reason = str(getattr(error, "problem", None) or error).split("\n", 1)[0]
        raise FormatError(path, place, f"not valid YAML: {reason}") from error
    except RecursionError as error:
        raise FormatError(path, None, "nested too deeply") from error
    except (ValueError, TypeError, AttributeError, KeyError) as error:  # what ruamel raises on odd tags and keys
        raise FormatError(path, None, f"not valid YAML: {error}") from error
    _refuse_expansion(path, text, data)
    return data


def _refuse_expansion(path: Path, text: str, data: Any) -> None:
    """Without aliases no value takes less than a character, so more values than characters are a bomb."""
    left = len(text) + 1000
    waiting = [data]
    while waiting:
        value = waiting.pop()
        left -= 1
        if left < 0:
            raise FormatError(path, None, "its aliases expand to more than the file itself")
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
