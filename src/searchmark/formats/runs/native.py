"""Searchmark's own run files: a header line, then one line per answer."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from datetime import datetime
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from searchmark.config.strict import Number, Whole, strict_record
from searchmark.errors import FormatError
from searchmark.formats.runs.source import RunFile
from searchmark.io.data import TOO_DEEP, Schema, check_shape, is_too_deep, parse_json, plain_json
from searchmark.io.store import BOM, atomic_write, read_bytes
from searchmark.records.answers import NOTHING_KNOWN, STATUSES, AnswerDetails, Status
from searchmark.records.columns import hit_texts, line_columns, starts_of
from searchmark.records.document import is_line_range
from searchmark.records.provenance import Provenance, RunLabel
from searchmark.records.run import Run

if TYPE_CHECKING:
    from pydantic import TypeAdapter


RUN_SCHEMA = Schema("run", 1)


@strict_record
class RunHeader:
    """The first line of a run file."""

    schema_version: Whole
    record: Literal["run"]
    label: RunLabel
    answers: Whole
    sha256: str
    provenance: Provenance = Provenance()
    dropped: Mapping[str, Whole] = field(default_factory=dict)


@strict_record
class AnswerLine:
    """Every further line: a score is null where the agent gave none, lines are null for a hit on a whole document.
    ``texts`` are there where passages are judged.

    ``query`` is what was asked, where an imported file said so beside the id of its case.
    """

    case: str
    status: Status
    ids: list[str] = field(default_factory=list)
    scores: list[Number | None] | None = None
    valid: list[bool] | None = None
    lines: list[tuple[Whole, Whole] | None] | None = None
    texts: list[str | None] | None = None
    query: str | None = None
    details: AnswerDetails = NOTHING_KNOWN


@cache
def _line_adapters() -> tuple[TypeAdapter[RunHeader], TypeAdapter[AnswerLine]]:
    from pydantic import TypeAdapter

    return TypeAdapter(RunHeader), TypeAdapter(AnswerLine)


def write_native_run(run: Run, path: str | PathLike[str], private: bool = False) -> None:
    body = "".join(json.dumps(_answer_line(run, row)) + "\n" for row in range(len(run))).encode()
    header = {
        **RUN_SCHEMA.header(),
        "label": asdict(run.label),
        "answers": len(run),
        "sha256": hashlib.sha256(body).hexdigest(),
        "provenance": plain_json(run.provenance),
        "dropped": run.dropped,
    }
    with atomic_write(path, private=private) as file:
        file.write(json.dumps(header).encode() + b"\n")
        file.write(body)


def _answer_line(run: Run, row: int) -> dict[str, Any]:
    rows = run.rows_of(row)
    line: dict[str, Any] = {"case": run.case_ids[row], "status": STATUSES[run.status[row]], "ids": run.ids_of(row)}
    if not np.isnan(run.scores[rows]).all():
        line["scores"] = [None if math.isnan(score) else score for score in run.scores[rows].tolist()]
    if run.valid is not None:
        line["valid"] = run.valid[rows].tolist()
    lines = [run.lines_of(hit) for hit in rows.tolist()] if run.first_line is not None else []
    if any(lines):
        line["lines"] = lines
    if run.texts is not None and any(run.texts[hit] is not None for hit in rows.tolist()):
        line["texts"] = [run.texts[hit] for hit in rows.tolist()]
    if run.queries is not None and run.queries[row] is not None:
        line["query"] = run.queries[row]
    details = run.details_of(row)
    if details != NOTHING_KNOWN:
        line["details"] = details.to_plain()
    return line


def read_native_run(file: RunFile) -> Run:
    path = file.path
    first, _, body = read_bytes(path).removeprefix(BOM).partition(b"\n")
    data = parse_json(path, first.decode("utf-8", "replace"), 1)
    if not isinstance(data, dict):
        raise FormatError(path, "line 1", "is not the header of a run")
    if is_too_deep(data):
        raise FormatError(path, "line 1", TOO_DEEP)
    header = check_shape(path, _line_adapters()[0], RUN_SCHEMA.upgrade(path, data), "line 1")
    if any(moment is not None and moment.tzinfo is None for moment in _dates_of(header.provenance)):
        raise FormatError(path, "line 1.provenance", "a time has no time zone")
    lines = body.decode("utf-8", "replace").removesuffix("\n").split("\n") if body else []
    if len(lines) != header.answers:
        raise FormatError(path, "answers", f"the header counts {header.answers} answers, the file holds {len(lines)}: cut short?")
    if hashlib.sha256(body).hexdigest() != header.sha256:
        for number, line in enumerate(lines, 2):  # a line that is broken by itself says more than a digest that does not fit
            _read_line(path, number, line)
        raise FormatError(path, "sha256", "the digest in the header does not fit the answers: the file was damaged or edited")
    answers = [_read_line(path, number, line) for number, line in enumerate(lines, 2)]
    line_by_case: dict[str, int] = {}
    for number, answer in enumerate(answers, 2):
        first_line = line_by_case.setdefault(answer.case, number)
        if first_line != number:
            raise FormatError(path, f"line {number}.case", f"{answer.case!r} is a duplicate of line {first_line}")
    return _assemble_run(header, answers)


def _dates_of(provenance: Provenance) -> Iterator[datetime | None]:
    yield from (provenance.started, provenance.ended, provenance.baseline.date if provenance.baseline else None)
    for part in provenance.parts:
        yield from _dates_of(part.provenance)


def _read_line(path: Path, number: int, line: str) -> AnswerLine:
    place = f"line {number}"
    answer = check_shape(path, _line_adapters()[1], parse_json(path, line, number), place)
    for name in ("scores", "valid", "lines", "texts"):
        column = getattr(answer, name)
        if column is not None and len(column) != len(answer.ids):
            raise FormatError(path, f"{place}.{name}", f"has {len(column)} entries for {len(answer.ids)} ids")
    if not all(span is None or is_line_range(span) for span in answer.lines or ()):
        raise FormatError(path, f"{place}.lines", "is not a list of first and last lines, counted from 1")
    if answer.status == "empty" and answer.ids:
        raise FormatError(path, f"{place}.status", f"is 'empty', but there are {len(answer.ids)} hits")
    if is_too_deep(answer.details.said):
        raise FormatError(path, f"{place}.details.said", TOO_DEEP)
    return answer


def _assemble_run(header: RunHeader, answers: list[AnswerLine]) -> Run:
    scores = [score for answer in answers for score in answer.scores or [None] * len(answer.ids)]
    has_validity = bool(answers) and all(answer.valid is not None for answer in answers)
    first_line, last_line = line_columns([span for answer in answers for span in answer.lines or [None] * len(answer.ids)])
    return Run(
        label=header.label,
        case_ids=tuple(answer.case for answer in answers),
        starts=starts_of((len(answer.ids) for answer in answers), len(answers)),
        ids=[hit for answer in answers for hit in answer.ids],
        scores=np.array([np.nan if score is None else score for score in scores], np.float64),
        status=np.array([STATUSES.index(answer.status) for answer in answers], np.uint8),
        valid=np.array([flag for answer in answers for flag in answer.valid or ()], bool) if has_validity else None,
        first_line=first_line,
        last_line=last_line,
        texts=hit_texts(text for answer in answers for text in answer.texts or [None] * len(answer.ids)),
        provenance=header.provenance,
        dropped=header.dropped,
        details=tuple(answer.details for answer in answers) if any(a.details != NOTHING_KNOWN for a in answers) else None,
        queries=tuple(answer.query for answer in answers) if any(answer.query for answer in answers) else None,
    )
