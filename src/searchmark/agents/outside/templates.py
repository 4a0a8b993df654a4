"""Texts and addresses with placeholders such as {query} and ${NAME}. A value can never be mistaken for a part of an address."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from searchmark.errors import UsageError
from searchmark.io.secrets import variable_value, without_variables

# Addresses with placeholders, in which no value can be mistaken for a part of the address.

_STEPS = re.compile(r"/\.{1,2}(?=/|$)")

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\{([a-z]+)\}")


Part = str | Callable[[Mapping[str, Any]], str]  # of an address: as it is, or what a placeholder becomes for some values


class AddressTemplate:
    """Fills an address. A variable may hold scheme, host and port as they are; in a path it keeps its slashes, and nothing else."""

    def __init__(self, template: str, names: tuple[str, ...]) -> None:
        template = template.partition("#")[0]  # a fragment is never sent
        self._parts: list[Part] = []
        self._changes: list[str] = []
        end = 0
        for match in _PLACEHOLDER.finditer(template):
            variable, name = match.groups()
            if variable is None and name not in names:
                continue
            self._parts += [template[end : match.start()], _placeholder_part(template, match)]
            self._changes += [name] if variable is None else []
            end = match.end()
        self._parts.append(template[end:])

    def fill(self, values: Mapping[str, Any]) -> str:
        """The address with values as text; their every character stays what it is."""
        address = self._filled(values)
        if self._changes and _STEPS.search(address.partition("?")[0]):
            self._refuse_steps(address, values)
        return address

    def _refuse_steps(self, address: str, values: Mapping[str, Any]) -> None:
        """A part of a path that is ``.`` or ``..`` is a step to another address, however it is written."""
        without = self._filled(dict.fromkeys(values, "x"))
        if len(_STEPS.findall(address.partition("?")[0])) > len(_STEPS.findall(without.partition("?")[0])):
            name = next(each for each in self._changes if set(str(values[each])) <= {"."})
            value = str(values[name])
            raise UsageError(f"the {name} {value!r} cannot be a part of a path; put it into a parameter ({{{name}}} behind a ?)")

    def _filled(self, values: Mapping[str, Any]) -> str:
        return "".join([part if isinstance(part, str) else part(values) for part in self._parts])


def _placeholder_part(template: str, match: re.Match[str]) -> Part:
    variable, name = match.groups()
    before = template[: match.start()].partition("://")
    in_path = (before[2] if before[1] else before[0]).lstrip("/")
    if variable is None:
        if not re.search(r"[/?]", _PLACEHOLDER.sub("x", in_path)):
            raise UsageError(f"{{{name}}} is in the host of the url; only its path and parameters may change from query to query")
        return lambda values: quote(str(values[name]), safe="")
    safe = _safe_characters(_PLACEHOLDER.sub("x", in_path), template[match.end() :])
    return lambda _: variable_value(variable) if safe is None else quote(variable_value(variable), safe=safe)


def _safe_characters(before: str, after: str) -> str | None:
    """What a variable may hold there: all of an address, the slashes of a path, or in a parameter and a password nothing."""
    if "?" in before:
        return ""
    if "/" in before:
        return "/"
    return "" if "@" in re.split(r"[/?]", after, maxsplit=1)[0] else None


# Texts with placeholders: ``{query}``, ``{k}``, ``{corpus}``, and ``${NAME}`` for an environment variable.
#
# A text is filled in one pass, so a query that holds a placeholder arrives as it was typed. Whatever else is in braces stays.


def fill_template(template: str, values: Mapping[str, Any], *, variables: bool = False) -> str:
    """The text with its placeholders filled; environment variables only where ``variables`` says so."""

    def of(match: re.Match[str]) -> str:
        variable, name = match.groups()
        if variable is not None:
            return variable_value(variable) if variables else match[0]
        return str(values[name]) if name in values else match[0]

    return _PLACEHOLDER.sub(of, template)


def fill_data(template: Any, values: Mapping[str, Any], *, variables: bool = False) -> Any:
    """Plain data whose texts are filled. A text that is one placeholder alone becomes the value itself: a number stays one."""
    if isinstance(template, Mapping):
        return {key: fill_data(value, values, variables=variables) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill_data(each, values, variables=variables) for each in template]
    if not isinstance(template, str):
        return template
    alone = template[1:-1] if template.startswith("{") and template.endswith("}") else None
    return values[alone] if alone is not None and alone in values else fill_template(template, values, variables=variables)


def has_placeholder(value: Any, placeholder: str) -> bool:
    """Whether plain data holds a placeholder, ``corpus`` say."""
    if isinstance(value, str):
        return f"{{{placeholder}}}" in without_variables(value)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(has_placeholder(each, placeholder) for each in inner)
