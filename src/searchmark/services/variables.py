"""Environment variables that a text names as ``${NAME}``, so that a config holds no secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from searchmark.errors import UsageError

DSN_VARIABLE = "SEARCHMARK_DSN"  # the database of whoever names none
DEFAULT_DSN = f"${{{DSN_VARIABLE}}}"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def variable_value(name: str) -> str:
    """The value of an environment variable, which must be set: an empty key would be sent as one."""
    value = os.environ.get(name, "").strip()
    if not value:
        raise UsageError(f"the environment variable {name} is not set, and the agent needs it (${{{name}}})")
    return value


def variables_in(value: Any) -> Iterator[str]:
    """The environment variables that plain data names."""
    if isinstance(value, str):
        yield from _VARIABLE.findall(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from variables_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from variables_in(each)


def with_variables(text: str) -> str:
    """The text with the values of the variables that it names."""
    return _VARIABLE.sub(lambda match: variable_value(match[1]), text)


def filled_from(environment: Mapping[str, str], text: str) -> str:
    """The text with what these variables hold; those that are not there leave nothing."""
    return _VARIABLE.sub(lambda match: environment.get(match[1], "").strip(), text)


def without_variables(text: str) -> str:
    """The text without the variables that it names."""
    return _VARIABLE.sub("", text)
