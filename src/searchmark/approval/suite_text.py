"""The text of a suite file, with the positions of its cases and of what each of them expects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from searchmark.approval.expected import FIELDS
from searchmark.approval.yaml_spans import yaml_spans
from searchmark.errors import FormatError
from searchmark.files.known_kinds import snake
from searchmark.suites.literals import LiteralReader
from searchmark.suites.script import script_cases
from searchmark.suites.source import LISTS, Source, as_text
from searchmark.suites.spans import ListSpan, MappingSpan, MemberSpan, ScalarSpan, Span

Syntax = Literal["json", "jsonl", "yaml", "script"]


@dataclass(frozen=True)
class Slot:
    """An item of what is expected, and the id or path in it; both are the same unless items are mappings."""

    item: Span
    target: ScalarSpan


@dataclass(frozen=True, eq=False)
class SuiteText:
    """A suite file that can be changed in place."""

    source: Source
    format_name: str

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def syntax(self) -> Syntax:
        if self.source.is_script:
            return "script"
        if self.source.by_line:
            return "jsonl"
        return "yaml" if self.source.is_yaml else "json"

    @cached_property
    def escapes(self) -> bool:
        """Whether the file writes other letters than ASCII's as escapes."""
        return self.text.isascii() and "\\u" in self.text

    @cached_property
    def roots(self) -> tuple[Span, ...]:
        """What is at the top: one value, or that of every line."""
        if self.syntax == "yaml":
            return (yaml_spans(self.text),)
        if self.syntax == "script":
            return (script_cases(self.source.path, self.text).cases,)
        return tuple(self._values())

    def _values(self) -> Iterator[Span]:
        reader = LiteralReader(str(self.source.path), self.text)
        position = reader.skip(0)
        while position < len(self.text):
            value = reader.value(position)
            yield value
            position = reader.skip(value.end)

    @property
    def header(self) -> MappingSpan | None:
        """The mapping that is about the whole suite; None where the file is a list of cases and nothing else."""
        if self.syntax == "jsonl" and self.format_name != "native":
            return None
        first = self.roots[0]
        return first if isinstance(first, MappingSpan) else None

    @cached_property
    def list_of_cases(self) -> MemberSpan | None:
        """The member of the header that holds the cases, as suites are read; None where lines or the top do."""
        if self.header is None:
            return None
        names = ("cases",) if self.format_name == "native" else LISTS
        lists = {snake(member.key): member for member in self.header.members if isinstance(member.value, ListSpan)}
        return next((lists[name] for name in names if name in lists), None)

    @cached_property
    def cases(self) -> tuple[Span, ...]:
        """The cases, in the order of the suite."""
        rows: tuple[Span, ...] = ()
        if self.list_of_cases is not None and isinstance(self.list_of_cases.value, ListSpan):
            rows = self.list_of_cases.value.items
        if self.syntax == "jsonl":
            return (*rows, *(self.roots if self.header is None else self.roots[1:]))
        return self.roots[0].items if isinstance(self.roots[0], ListSpan) else rows

    def slots(self, row: int) -> tuple[Slot, ...]:
        """What the case in this row expects, in the order of the file."""
        name = FIELDS[self.format_name]
        case = self.cases[row]
        member = _member(case, name)
        if member is None or not isinstance(member.value, ListSpan) or member.value.start < member.start:
            raise self.error(row, f"{name} is not written out here, but named by an alias or merged; change it by hand")
        return tuple(self._slot(row, item) for item in member.value.items)

    def _slot(self, row: int, item: Span) -> Slot:
        inner = _member(item, "target") if self.format_name == "native" else None
        target = item if inner is None else inner.value
        in_block = self.syntax == "yaml" and self.text[target.start] in "|>"  # with lines and an indentation of its own
        if not isinstance(target, ScalarSpan) or as_text(target.value) is None or in_block:
            raise self.error(row, "an expected target is not written on one line; change it by hand")
        return Slot(item, target)

    def error(self, row: int, reason: str) -> FormatError:
        return FormatError(self.source.path, f"case {row + 1}", reason)


def _member(span: Span, name: str) -> MemberSpan | None:
    members = span.members if isinstance(span, MappingSpan) else ()
    return next((member for member in members if snake(member.key) == name), None)
