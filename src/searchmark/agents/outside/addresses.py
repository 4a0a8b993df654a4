"""Addresses with placeholders, in which no value can be mistaken for a part of the address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from searchmark.errors import UsageError
from searchmark.services.variables import variable_value

_STEPS = re.compile(r"/\.{1,2}(?=/|$)")
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\{([a-z]+)\}")


@dataclass(frozen=True)
class _Variable:
    """An environment variable; ``safe``: characters that stay as they are there, None for all."""

    name: str
    safe: str | None

    @property
    def value(self) -> str:
        value = variable_value(self.name)
        return value if self.safe is None else quote(value, safe=self.safe)


@dataclass(frozen=True)
class _Value:
    name: str


class AddressTemplate:
    """Fills an address. A variable may hold scheme, host and port as they are; in a path it keeps its slashes, and nothing else."""

    def __init__(self, template: str, names: tuple[str, ...]) -> None:
        template = template.partition("#")[0]  # a fragment is never sent
        self._parts: list[str | _Variable | _Value] = []
        end = 0
        for match in _PLACEHOLDER.finditer(template):
            variable, name = match.groups()
            if variable is None and name not in names:
                continue
            self._parts += [template[end : match.start()], _placed(template, match)]
            end = match.end()
        self._parts.append(template[end:])
        self._changes = [part.name for part in self._parts if isinstance(part, _Value)]

    def filled(self, values: Mapping[str, Any]) -> str:
        """The address with values as text; their every character stays what it is."""
        address = "".join([self._of(part, values) for part in self._parts])
        if self._changes and _STEPS.search(address.partition("?")[0]):
            self._refuse_steps(address, values)
        return address

    def _refuse_steps(self, address: str, values: Mapping[str, Any]) -> None:
        """A part of a path that is ``.`` or ``..`` is a step to another address, however it is written."""
        without = "".join([self._of(part, dict.fromkeys(values, "x")) for part in self._parts])
        if len(_STEPS.findall(address.partition("?")[0])) > len(_STEPS.findall(without.partition("?")[0])):
            named = next(name for name in self._changes if set(str(values[name])) <= {"."})
            shown = str(values[named])
            raise UsageError(f"the {named} {shown!r} cannot be a part of a path; put it into a parameter ({{{named}}} behind a ?)")

    def _of(self, part: str | _Variable | _Value, values: Mapping[str, Any]) -> str:
        match part:
            case str():
                return part
            case _Variable():
                return part.value
            case _Value(name):
                return quote(str(values[name]), safe="")


def _placed(template: str, match: re.Match[str]) -> _Variable | _Value:
    variable, name = match.groups()
    before = template[: match.start()].partition("://")
    in_path = (before[2] if before[1] else before[0]).lstrip("/")
    if variable is None:
        if not re.search(r"[/?]", _PLACEHOLDER.sub("x", in_path)):
            raise UsageError(f"{{{name}}} is in the host of the url; only its path and parameters may change from query to query")
        return _Value(name)
    return _Variable(variable, _safe(_PLACEHOLDER.sub("x", in_path), template[match.end() :]))


def _safe(before: str, after: str) -> str | None:
    """What a variable may hold there: all of an address, the slashes of a path, or in a parameter and a password nothing."""
    if "?" in before:
        return ""
    if "/" in before:
        return "/"
    return "" if "@" in re.split(r"[/?]", after, maxsplit=1)[0] else None
