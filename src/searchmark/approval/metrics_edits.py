"""A ``baseline_metrics.json`` with other values, and everything else as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from searchmark.analysis.scores import Scores
from searchmark.approval.baseline_update import BaselineChange, CaseChange, ValueChange, searched_with
from searchmark.approval.list_edits import Edit, applied
from searchmark.approval.scalars import json_text
from searchmark.errors import FormatError, Incomparable
from searchmark.files.known_kinds import snake
from searchmark.gates.fixture_baseline import row_of
from searchmark.gates.own_k import NAMES, AtOwnK
from searchmark.suites.baseline_metrics import CASES, BaselineCase, BaselineMetrics, metric_named
from searchmark.suites.literals import LiteralReader
from searchmark.suites.spans import ListSpan, MappingSpan, MemberSpan, ScalarSpan, Span, indent_before, line_end

FIRST_VERSION = "1.0.0"


@dataclass(frozen=True)
class MetricsUpdate:
    """The text of the file with new values, and what they change; ``version`` is the new one."""

    text: str
    change: BaselineChange
    version: str

    @property
    def changed(self) -> bool:
        return bool(self.change.cases)


def updated_metrics(
    path: Path, text: str, baseline: BaselineMetrics, scores: Scores, *, reason: str | None, today: date
) -> MetricsUpdate:
    """The file with the values that a run reaches; what only has more digits than the file writes stays as it is."""
    top = LiteralReader(str(path), text).value(LiteralReader(str(path), text).skip(0))
    measured = {case.name: dict(_measured(case, scores)) for case in baseline.cases}
    edits: list[Edit] = []
    changes: list[CaseChange] = []
    for case in _items(_member(top, CASES)):
        name, metrics = _text(_member(case, "name")), _member(case, "metrics")
        changed = list(_metric_edits(text, metrics, measured[name]))
        edits += [edit for edit, _ in changed]
        changes += [CaseChange(name, tuple(value for _, value in changed))] if changed else []
    values = ((change.case, value) for change in changes for value in change.values)
    new = {(case, snake(value.name)): value.after for case, value in values if value.after is not None}
    version = next_version(path, baseline.version)
    facts = {"version": version, "model": searched_with(scores.judged.run), "created_at": today.isoformat(), "notes": reason}
    edits += _fact_edits(text, top, facts)
    return MetricsUpdate(applied(text, edits), BaselineChange(tuple(_averages(baseline, new)), tuple(changes)), version)


def next_version(path: Path, version: str | None) -> str:
    """``1.0.0`` is followed by ``1.1.0``, 3 by 4."""
    if version is None:
        return FIRST_VERSION
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})*", version):
        raise FormatError(path, "version", f"{version!r} cannot be counted up; write it like 1.0.0")
    first, *rest = version.split(".")
    if not rest:
        return str(int(first) + 1)
    return ".".join([first, str(int(rest[0]) + 1), *("0" for _ in rest[1:])])


def _measured(case: BaselineCase, scores: Scores) -> Iterator[tuple[str, float]]:
    row = row_of(scores.judged.suite, case)
    if row is None:
        raise Incomparable(f"the suite has no fixture {case.name!r}, which the baseline names; remove it from the file by hand")
    for name in case.metrics:
        metric = metric_named(name)
        quantity = None if metric is None else AtOwnK(metric, (case,))
        value = None if quantity is None else quantity.value_of(scores, row)
        if value is None:
            reason = f"{name!r} is not a metric of fixtures" if quantity is None else quantity.why_undefined(scores, row)
            raise Incomparable(f"the fixture {case.name!r} has no value for {name}: {reason}")
        yield name, value


def _metric_edits(text: str, metrics: MemberSpan | None, measured: Mapping[str, float]) -> Iterator[tuple[Edit, ValueChange]]:
    for member in metrics.value.members if metrics and isinstance(metrics.value, MappingSpan) else ():
        value, new = member.value, measured[snake(member.key)]
        if isinstance(value, ScalarSpan):
            written = text[value.start : value.end].strip('"')
            if round(new, len(written.partition(".")[2])) != float(written):
                yield Edit(value.start, value.end, repr(new)), ValueChange(member.key, float(written), new)


def _averages(baseline: BaselineMetrics, new: Mapping[tuple[str, str], float]) -> Iterator[ValueChange]:
    """The means over the fixtures of the file that have a metric, before and after."""
    for metric, shown in NAMES.items():
        pairs = [
            (value, new.get((case.name, name), value))
            for case in baseline.cases
            for name, value in case.metrics.items()
            if metric_named(name) == metric
        ]
        if pairs:
            before, after = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
            yield ValueChange(f"average {shown}", before, after)


def _fact_edits(text: str, top: Span, facts: Mapping[str, str | None]) -> Iterator[Edit]:
    missing: list[str] = []
    escapes = text.isascii() and "\\u" in text  # as the file writes other letters
    for name, value in facts.items():
        member = _member(top, name)
        if value is None:
            continue
        if member is None:
            missing.append(f'"{name}": {json_text(value, escapes=escapes)}')
        else:
            is_number = isinstance(member.value, ScalarSpan) and isinstance(member.value.value, int)
            written = value if is_number and value.isdecimal() else json_text(value, escapes=escapes)
            yield Edit(member.value.start, member.value.end, written)
    following = _member(top, CASES)
    if missing and following is not None:
        indent = indent_before(text, following.start)
        separator = ", " if indent is None else f",{line_end(text)}{indent}"
        yield Edit(following.start, following.start, "".join(f"{each}{separator}" for each in missing))


def _member(span: Span, name: str) -> MemberSpan | None:
    members = span.members if isinstance(span, MappingSpan) else ()
    return next((member for member in members if snake(member.key) == name), None)


def _items(member: MemberSpan | None) -> tuple[Span, ...]:
    return member.value.items if member is not None and isinstance(member.value, ListSpan) else ()


def _text(member: MemberSpan | None) -> str:
    return str(member.value.value) if member is not None and isinstance(member.value, ScalarSpan) else ""
