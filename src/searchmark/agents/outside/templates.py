"""Texts with placeholders: ``{query}``, ``{k}``, ``{corpus}``, and ``${NAME}`` for an environment variable.

A text is filled in one pass, so a query that holds a placeholder arrives as it was typed. Whatever else is in braces stays.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from searchmark.errors import UsageError

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\{([a-z]+)\}")


def filled(template: str, values: Mapping[str, Any], *, variables: bool = False) -> str:
    """The text with its placeholders filled; environment variables only where ``variables`` says so."""

    def of(match: re.Match[str]) -> str:
        variable, name = match.groups()
        if variable is not None:
            return variable_value(variable) if variables else match[0]
        return str(values[name]) if name in values else match[0]

    return _PLACEHOLDER.sub(of, template)


def filled_data(template: Any, values: Mapping[str, Any], *, variables: bool = False) -> Any:
    """Plain data whose texts are filled. A text that is one placeholder alone becomes the value itself: a number stays one."""
    if isinstance(template, Mapping):
        return {key: filled_data(value, values, variables=variables) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [filled_data(each, values, variables=variables) for each in template]
    if not isinstance(template, str):
        return template
    alone = template[1:-1] if template.startswith("{") and template.endswith("}") else None
    return values[alone] if alone is not None and alone in values else filled(template, values, variables=variables)


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


def names(value: Any, placeholder: str) -> bool:
    """Whether plain data holds a placeholder, ``corpus`` say."""
    if isinstance(value, str):
        return f"{{{placeholder}}}" in _VARIABLE.sub("", value)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(names(each, placeholder) for each in inner)
