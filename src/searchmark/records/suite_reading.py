"""Suites from tables: one row per judgment, as `Suite.frame` has them, or as people do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from searchmark.errors import UsageError
from searchmark.options.column_names import SUITE_FRAMES
from searchmark.records.frame_reading import FrameColumns, is_missing, number, text_or_none
from searchmark.records.judgments import MATCHES, Judgment

# The columns of our own frames that are read by their names.
_OF_JUDGMENTS = ("match", "rank", "score_low", "score_high", "gain")
OWN_COLUMNS = ("suite", "tags", "origin", "unanswerable", "fields", *_OF_JUDGMENTS)


@dataclass
class FrameCase:
    """A case as far as the rows of a table have told it; ``rows`` are those of its judgments."""

    id: str
    row: int
    query: str | None
    facts: dict[str, Any]
    judgments: list[Judgment] = field(default_factory=list)
    rows: dict[tuple[str, str], int] = field(default_factory=dict)


def cases_of_frame(table: Any, mapping: Mapping[str, str] | None) -> list[FrameCase]:
    """The cases of a table, in the order of their first rows; without a column of ids a query is its own id."""
    frame = FrameColumns.of(table, SUITE_FRAMES, mapping)
    role = "case" if frame.has("case") else "query"
    if not frame.has(role):
        frame.need("case")
    ids = frame.ids(role)
    targets = frame.need("target")
    unjudged = [_is_unjudged(target, grade, frame) for target, grade in zip(targets, frame.get("grade"), strict=True)]
    named = frame.ids("target", gaps=unjudged)
    cases: dict[str, FrameCase] = {}
    extra = dict(frame.rest(OWN_COLUMNS))
    for row, (case_id, target) in enumerate(zip(ids, named, strict=True)):
        assert case_id is not None  # noqa: S101  # gaps are refused
        case = cases.get(case_id)
        if case is None:
            case = cases[case_id] = FrameCase(case_id, row, text_or_none(frame.get("query")[row]), _facts(frame, row))
            case.facts["fields"] |= {name: values[row] for name, values in extra.items() if not is_missing(values[row])}
        else:
            _refuse_other_query(case, frame, row)
            for name in [each for each in extra if each in case.facts["fields"]]:
                if extra[name][row] != case.facts["fields"][name]:
                    del case.facts["fields"][name]  # it is said of a judgment, and not of the case
        if target is not None:
            _add(case, _judgment(frame, row, target), row)
    return list(cases.values())


def _is_unjudged(target: Any, grade: Any, frame: FrameColumns) -> bool:
    """A row with neither target nor grade, where there is a column of grades, is a case without judgments."""
    return frame.has("grade") and is_missing(target) and is_missing(grade)


def _facts(frame: FrameColumns, row: int) -> dict[str, Any]:
    """What the table says of a case beside its query."""
    tags, fields = (text_or_none(frame.own(name)[row]) for name in ("tags", "fields"))
    return {
        "category": text_or_none(frame.get("category")[row]),
        "tags": () if tags is None else tuple(_parsed(tags, "tags", row, list)),
        "origin": text_or_none(frame.own("origin")[row]),
        "unanswerable": frame.own("unanswerable")[row] is True,
        "fields": {} if fields is None else dict(_parsed(fields, "fields", row, dict)),
    }


def _parsed(text: str, name: str, row: int, kind: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        wanted = "list" if kind is list else "mapping"
        raise UsageError(f"row {row} of the frame: {name} must be JSON, a {wanted}, and not {text[:60]!r}")
    return value


def _refuse_other_query(case: FrameCase, frame: FrameColumns, row: int) -> None:
    query = text_or_none(frame.get("query")[row])
    if query != case.query:
        raise UsageError(f"row {row} of the frame: the case {case.id!r} has another query in row {case.row}")


def _judgment(frame: FrameColumns, row: int, target: str) -> Judgment:
    grade = frame.get("grade")[row]
    if is_missing(grade) and frame.has("grade"):
        raise UsageError(f"row {row} of the frame has no grade (column {frame.names['grade']!r})")
    if type(grade) is int and frame.columns.keys().isdisjoint(_OF_JUDGMENTS):
        return Judgment(target, "id", grade)  # as nearly all of a million rows
    gain = 1.0 if is_missing(grade) else number(grade, row, "grade")
    own = frame.own("gain")[row]
    judged = Judgment.of_gain(target, gain if is_missing(own) else number(own, row, "gain"))
    match = text_or_none(frame.own("match")[row]) or "id"
    if match not in MATCHES:
        raise UsageError(f"row {row} of the frame: match is {match!r}; it is one of {', '.join(MATCHES)}")
    rank, low, high = (frame.own(name)[row] for name in ("rank", "score_low", "score_high"))
    return Judgment(
        target,
        match,
        int(gain) if gain.is_integer() else judged.grade,
        None if is_missing(rank) else int(number(rank, row, "rank")),
        None if is_missing(low) or is_missing(high) else (number(low, row, "score"), number(high, row, "score")),
        judged.gain,
    )


def _add(case: FrameCase, judgment: Judgment, row: int) -> None:
    before = case.rows.setdefault((judgment.target, judgment.match), row)
    if before != row:
        raise UsageError(f"row {row} of the frame: the case {case.id!r} has the target {judgment.target!r} in row {before} already")
    case.judgments.append(judgment)
