"""Queries that are asked twice, and documents that are graded differently for one query."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.judging.names import PATH
from searchmark.judging.spelling import nfc, normal_path
from searchmark.records import Suite
from searchmark.records.id_columns import text_list
from searchmark.records.repository_states import state_of
from searchmark.records.shown import listed, quoted

EXAMPLES = 3


def folded(query: str) -> str:
    """A query without what does not change its meaning: case, spaces, and how letters are encoded."""
    text = query if query.isascii() else normalize("NFKC", query)
    return " ".join(text.casefold().split())


def duplicate_queries(subject: Subject) -> Iterator[Finding]:
    """Cases that ask the same of the same documents."""
    suite = subject.suite
    groups = repeated_cases(suite)
    if not groups:
        return
    queries = suite.table.queries or ()
    cases = sorted(row for group in groups for row in group)
    unlike = sum(len({int(suite.target_keys[row]) for row in group}) > 1 for group in groups)
    shown = listed([f"{quoted(queries[group[0]] or '')} in {_names(suite, group)}" for group in groups], EXAMPLES)
    differ = f"; {unlike} of these queries with different targets" if unlike else ""
    message = f"{len(cases)} of {len(suite)} cases repeat {counted(len(groups), 'query', 'queries')}: {shown}{differ}"
    yield finding("duplicate-queries", message, (suite.table.ids[row] for row in cases))


def repeated_cases(suite: Suite) -> list[list[int]]:
    """The cases of each query that is asked more than once in the same surroundings."""
    by_text = _grouped((row, folded(query)) for row, query in enumerate(suite.table.queries or ()) if query)
    return [alike for group in by_text for alike in _grouped((row, _surroundings(suite, row)) for row in group)]


def _grouped(keyed: Iterable[tuple[int, object]]) -> list[list[int]]:
    """The rows of each key that has several."""
    groups: dict[object, list[int]] = {}
    for row, key in keyed:
        groups.setdefault(key, []).append(row)
    return [rows for rows in groups.values() if len(rows) > 1]


def _surroundings(suite: Suite, row: int) -> tuple[object, ...]:
    """What else decides on the answer to a query: its own documents or request, or the state of a repository."""
    table = suite.table
    fields = {} if table.fields is None else table.fields[row]
    documents = () if table.documents is None else tuple((each.id, each.text) for each in table.documents[row])
    request = None if table.requests is None else json.dumps(table.requests[row], sort_keys=True, default=str)
    return documents, request, state_of(fields)


def contradictory_grades(subject: Subject) -> Iterator[Finding]:
    """Documents that one query grades differently, in one case or in several that ask the same."""
    suite = subject.suite
    names = _names_of_targets(suite)
    units = np.arange(len(suite))
    for group in repeated_cases(suite):
        units[group] = group[0]
    found = [rows for rows in _judged_twice(suite, names, units) if len({int(suite.judgments.grades[row]) for row in rows}) > 1]
    if not found:
        return
    cases = sorted({int(suite.judgments.case[row]) for rows in found for row in rows})
    shown = listed([_contradiction(suite, rows) for rows in found], EXAMPLES)
    what = counted(len(found), "document has", "documents have")
    yield finding("contradictory-grades", f"{what} several grades for one query: {shown}", (suite.table.ids[row] for row in cases))


def _names_of_targets(suite: Suite) -> list[str]:
    """What each judgment is about: an id and a path, however it is spelt, name the same document; patterns name none."""
    targets, match = text_list(suite.judgments.targets), suite.judgments.match
    if match is None:
        return targets if "".join(targets).isascii() else list(map(nfc, targets))
    return [
        (normal_path(target) if how == PATH else nfc(target)) if how <= PATH else ""
        for target, how in zip(targets, match.tolist(), strict=True)
    ]


def _judged_twice(suite: Suite, names: Sequence[str], units: NDArray[np.int64]) -> list[list[int]]:
    """The judgments of each document that is judged more than once for a query; a grade below 0 is no judgment."""
    judgments = suite.judgments
    named = judgments.grades >= 0
    if judgments.match is not None:
        named &= judgments.match <= PATH
    rows, unit = np.flatnonzero(named), units[judgments.case]
    hashes = np.fromiter(map(hash, names), np.int64, len(names)).astype(np.uint64)
    keys = (hashes + unit.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))[rows]
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]  # two documents may have one key, if hardly ever
    doubtful = rows[np.isin(keys, repeated)] if len(repeated) else rows[:0]
    return _grouped((row, (int(unit[row]), names[row])) for row in doubtful.tolist())


def _contradiction(suite: Suite, rows: Sequence[int]) -> str:
    judgments, ids = suite.judgments, suite.table.ids
    grades = " and ".join(f"{judgments.grades[row]} in {quoted(ids[judgments.case[row]])}" for row in rows[:EXAMPLES])
    return f"{quoted(judgments.targets[rows[0]])} has {grades}"


def _names(suite: Suite, rows: Sequence[int]) -> str:
    return " and ".join(quoted(suite.table.ids[row]) for row in rows[:EXAMPLES]) + (" and others" if len(rows) > EXAMPLES else "")
