"""Where a file keeps who approved what: a list ``approvals`` at its top, the newest first, or else a comment."""

from __future__ import annotations

import re

from searchmark.approval.list_edits import Edit
from searchmark.approval.records import ApprovalRecord
from searchmark.approval.scalars import json_text, yaml_text
from searchmark.approval.suite_text import SuiteText
from searchmark.errors import FormatError
from searchmark.suites.native import APPROVALS
from searchmark.suites.script import script_cases
from searchmark.suites.spans import ListSpan, MappingSpan, indent_before, line_end

_END_OF_DOCUMENT = re.compile(r"^\.\.\.", re.MULTILINE)


def record_edit(file: SuiteText, record: ApprovalRecord) -> Edit | None:
    """The edit that adds the record; None for a file that can hold nothing but cases."""
    if file.syntax == "script":
        return _comment(file, "//", script_cases(file.source.path, file.text).start, record)
    if file.syntax == "yaml":
        return _in_yaml(file, record)
    return None if file.header is None else _in_json(file, file.header, record)


def _comment(file: SuiteText, mark: str, position: int, record: ApprovalRecord) -> Edit:
    """A comment on a line of its own, above the one that a position is in."""
    begin = file.text.rfind("\n", 0, position) + 1
    return Edit(begin, begin, f"{mark} {record.as_sentence()}{line_end(file.text)}")


def _former(file: SuiteText, header: MappingSpan) -> ListSpan | None:
    """The list of former approvals; None if there is none."""
    member = next((member for member in header.members if member.key == APPROVALS), None)
    if member is None:
        return None
    if not isinstance(member.value, ListSpan) or member.value.start < member.start:
        raise FormatError(file.source.path, APPROVALS, "is not a list, so no approval can be added to it")
    return member.value


def _in_json(file: SuiteText, header: MappingSpan, record: ApprovalRecord) -> Edit:
    text, row = file.text, json_text(record.as_data(), escapes=file.escapes)
    former = _former(file, header)
    if former is not None and former.items:
        return _before(text, former.items[0].start, row)
    if former is not None:
        return Edit(former.start, former.end, f"[{row}]")
    # In front of the cases no line of theirs changes, not even by a comma.
    member = file.list_of_cases or header.members[0]
    indent = indent_before(text, member.start)
    if not indent or file.syntax == "jsonl":
        return _before(text, member.start, f'"{APPROVALS}": [{row}]')
    end = line_end(text)
    return _before(text, member.start, f'"{APPROVALS}": [{end}{indent * 2}{row}{end}{indent}]')


def _before(text: str, position: int, inserted: str) -> Edit:
    """Something in front of an item or member, on a line of its own where that has one."""
    indent = indent_before(text, position)
    separator = f",{line_end(text)}{indent}" if indent else ", "
    return Edit(position, position, f"{inserted}{separator}")


def _in_yaml(file: SuiteText, record: ApprovalRecord) -> Edit:
    text, header = file.text, file.header
    if header is None or text[header.start] == "{":
        return _comment(file, "#", file.roots[0].start, record)
    former = _former(file, header)
    if former is None:
        return _new_list(file, record)
    if not former.items:
        return Edit(former.start, former.end, line_end(text) + _rows(record, "  ", line_end(text)).removesuffix(line_end(text)))
    first = former.items[0].start
    begin = text.rfind("\n", 0, first) + 1
    indent, dash, _ = text[begin:first].partition("-")
    if dash and not indent.strip():
        return Edit(begin, begin, _rows(record, indent, line_end(text)))
    return Edit(first, first, f"{json_text(record.as_data(), escapes=file.escapes)}, ")


def _new_list(file: SuiteText, record: ApprovalRecord) -> Edit:
    text, end = file.text, line_end(file.text)
    closing = _END_OF_DOCUMENT.search(text, file.roots[0].end)
    position = len(text) if closing is None else closing.start()
    begin = "" if text[:position].endswith("\n") else end
    return Edit(position, position, f"{begin}{APPROVALS}:{end}{_rows(record, '  ', end)}")


def _rows(record: ApprovalRecord, indent: str, end: str) -> str:
    """The record as an item of a YAML list, a line for each field."""
    fields = record.as_data()
    cases = ", ".join(map(yaml_text, fields.pop("cases")))
    lines = [*(f"{name}: {yaml_text(value)}" for name, value in fields.items()), f"cases: [{cases}]"]
    return "".join(f"{indent}{'  ' if number else '- '}{line}{end}" for number, line in enumerate(lines))
