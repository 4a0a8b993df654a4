"""Data that knows which characters of its text it was read from, so that one value can be changed and nothing else.

``start`` and ``end`` are positions in the text; a string has its quotes within, a list its brackets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class ScalarSpan:
    """A text, number, boolean or null."""

    start: int
    end: int
    value: Any


@dataclass(frozen=True)
class ListSpan:
    """A list and its items."""

    start: int
    end: int
    items: tuple[Span, ...]


@dataclass(frozen=True)
class MemberSpan:
    """A key of a mapping, where it begins, and its value."""

    start: int
    key: str
    value: Span


@dataclass(frozen=True)
class MappingSpan:
    """A mapping and its members in their order."""

    start: int
    end: int
    members: tuple[MemberSpan, ...]


Span: TypeAlias = ScalarSpan | ListSpan | MappingSpan


def plain_value(span: Span) -> Any:
    """The data without its positions."""
    if isinstance(span, ListSpan):
        return [plain_value(item) for item in span.items]
    if isinstance(span, MappingSpan):
        return {member.key: plain_value(member.value) for member in span.members}
    return span.value


def line_of(text: str, position: int) -> int:
    """The number of the line, from 1, that a character is in."""
    return text.count("\n", 0, position) + 1


def indent_before(text: str, position: int) -> str | None:
    """The blanks between the beginning of the line and a character; None if there is anything else."""
    begin = text.rfind("\n", 0, position) + 1
    blanks = text[begin:position]
    return blanks if not blanks.strip(" \t") else None


def line_end(text: str) -> str:
    """How the lines of a text end."""
    return "\r\n" if "\r\n" in text else "\n"
