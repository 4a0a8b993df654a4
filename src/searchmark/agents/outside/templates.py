"""Texts with placeholders: ``{query}``, ``{k}``, ``{corpus}``, and ``${NAME}`` for an environment variable.

A text is filled in one pass, so a query that holds a placeholder arrives as it was typed. Whatever else is in braces stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from searchmark.services.variables import variable_value, without_variables

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


def names(value: Any, placeholder: str) -> bool:
    """Whether plain data holds a placeholder, ``corpus`` say."""
    if isinstance(value, str):
        return f"{{{placeholder}}}" in without_variables(value)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(names(each, placeholder) for each in inner)
