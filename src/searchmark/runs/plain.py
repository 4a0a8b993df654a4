"""JSON runs: what people get when they dump their results, and what their search engine responded, case by case.

``{case: [{"id": ..., "score": ...}, ...]}``, ``{case: [id, ...]}`` and ``{case: response}`` keep their order;
``{case: {id: score}}`` has no order of its own and is sorted as trec_eval sorts. Lists and lines of objects, one per case or one
per hit, say the case themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from searchmark.options.column_names import OF_RUNS
from searchmark.records import Run
from searchmark.runs.answers import ImportedAnswer, ImportedAnswers, is_msearch, is_nameless
from searchmark.runs.parts import id_of
from searchmark.runs.source import RunFile, named
from searchmark.runs.tables import json_lines, read_hit_rows

# What an object with the hits of one case calls that case: here an id is not that of a hit.
_CASE_WORDS = (*OF_RUNS["case"], "id", "name")
ONE_RESPONSE = (
    "is the response to one search, and a run has one for every query: write a JSON object {query: response}, lines of "
    '{"query": ..., "response": ...}, or a folder with a file per case'
)


def read_plain(file: RunFile) -> list[Run]:
    data = file.data
    if isinstance(data, list) and data and isinstance(data[0], dict):
        return _read_rows(file, ((str(number), row) for number, row in enumerate(data)), data[0])
    if not isinstance(data, dict):
        raise file.error(None, "is not a mapping from case to hits, nor a list of objects")
    if is_nameless(data) and not is_msearch(data):
        raise file.error(None, ONE_RESPONSE)
    return [ImportedAnswers(file).by_case(data)]


def read_lines(file: RunFile) -> list[Run]:
    """JSON lines: an object per case, or one per hit."""
    first = next(json_lines(file), None)
    if first is None:
        raise file.error(None, "is empty")
    place, row = first
    if not isinstance(row, dict):
        raise file.error(place, "is not an object")
    return _read_rows(file, json_lines(file), row)


def _read_rows(file: RunFile, rows: Iterator[tuple[str, Any]], first: Mapping[str, Any]) -> list[Run]:
    hits = hits_field(file, first)
    if is_nameless(first) and _case_of(file, first) is None:
        return [ImportedAnswers(file).in_order(rows)]
    return read_hit_rows(file, rows, first) if hits is None else _read_cases(file, rows, hits)


def hits_field(file: RunFile, row: Mapping[str, Any]) -> str | None:
    """The field in which an object has the hits of a case; None where it is a single hit."""
    several = tuple(name for name, value in row.items() if isinstance(value, list | dict))
    failed = "error" if isinstance(row.get("error"), dict | str) else None
    if "hits" in file.field_names:
        return failed if failed and file.field_names["hits"] not in row else file.column("hits", tuple(row))
    return named(several, OF_RUNS["hits"]) or failed


def _read_cases(file: RunFile, rows: Iterator[tuple[str, Any]], hits: str) -> list[Run]:
    reader, by_agent = ImportedAnswers(file), dict[str, list[ImportedAnswer]]()
    for place, row in rows:
        if not isinstance(row, dict):
            raise file.error(place, "is not an object")
        agent, answer = _case(reader, place, row, hits if hits in row else hits_field(file, row) or hits)
        by_agent.setdefault(agent, []).append(answer)
    return [reader.run(answers, agent) for agent, answers in by_agent.items()]


def _case(reader: ImportedAnswers, place: str, row: Mapping[str, Any], hits: str) -> tuple[str, ImportedAnswer]:
    file, names = reader.file, _single(row)
    query, agent = (_found(file, role, names) for role in ("query", "agent"))
    key = _case_of(file, row)
    if key is None:
        fields = ", ".join(map(repr, row))
        how = "name yours with --map run.query=FIELD"
        raise file.error(place, f"has no query and no id of a case; found the fields {fields}; {how}")
    asked = None if query is None else str(row[query])
    value = {"error": row["error"]} if hits == "error" else row.get(hits)
    scores = row.get(named(tuple(row), ("scores", "similarities")) or "")
    label = str(row[agent]) if agent is not None else file.name
    identity = id_of(file, f"{place}.{key}", row[key])
    return label, reader.answer(identity, f"{place}.{hits}", value, asked, scores)


def _single(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(name for name, value in row.items() if isinstance(value, str | int))


def _case_of(file: RunFile, row: Mapping[str, Any]) -> str | None:
    """The field that names a case: by its id, or else by its query."""
    return _found(file, "case", _single(row)) or _found(file, "query", _single(row))


def _found(file: RunFile, role: str, names: tuple[str, ...]) -> str | None:
    given = file.field_names.get(role)
    if given is not None:
        return given if given in names else None
    return named(names, _CASE_WORDS if role == "case" else OF_RUNS[role])
