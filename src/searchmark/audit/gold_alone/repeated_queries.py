"""Queries that are asked twice, and documents that are graded differently for one query."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from searchmark.audit.once import once
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.judging.names import PATH
from searchmark.judging.spelling import nfc, normal_path
from searchmark.records import Suite
from searchmark.records.id_columns import Texts, text_list, texts_at
from searchmark.records.repository_states import state_of
from searchmark.records.shown import listed, quoted
from searchmark.records.variants import variant_links

EXAMPLES = 3
_SEAM = "\0"  # between queries, none of which has it


def folded(query: str) -> str:
    """A query without what does not change its meaning: case, spaces, and how letters are encoded."""
    text = query if query.isascii() else normalize("NFKC", query)
    return " ".join(text.casefold().split())


def duplicate_queries(subject: Subject) -> Iterator[Finding]:
    """Cases that ask the same of the same documents."""
    suite = subject.suite
    groups = repeated_in(subject)
    if not groups:
        return
    queries = suite.table.queries or ()
    cases = sorted(row for group in groups for row in group)
    unlike = sum(len({int(suite.target_keys[row]) for row in group}) > 1 for group in groups)
    shown = listed([f"{quoted(queries[group[0]] or '')} in {_names(suite, group)}" for group in groups], EXAMPLES)
    differ = f"; {unlike} of these queries with different targets" if unlike else ""
    message = f"{len(cases)} of {len(suite)} cases repeat {counted(len(groups), 'query', 'queries')}: {shown}{differ}"
    yield finding("duplicate-queries", message, (suite.table.ids[row] for row in cases))


@once
def repeated_in(subject: Subject) -> list[list[int]]:
    """The cases of each query of the suite that is asked more than once in the same surroundings."""
    return repeated_cases(subject.suite)


def repeated_cases(suite: Suite) -> list[list[int]]:
    """The cases of each query that is asked more than once in the same surroundings."""
    queries = suite.table.queries or ()
    rows = [row for row, query in enumerate(queries) if query]
    texts = _all_folded([queries[row] or "" for row in rows])
    if len(set(texts)) == len(texts):
        return []
    by_text = _grouped(zip(rows, texts, strict=True))
    original = {link.row: link.original for link in variant_links(suite.table)}
    told_apart = (_without_variants(group, original) for group in by_text)
    return [alike for group in told_apart for alike in _grouped((row, _surroundings(suite, row)) for row in group)]


def _without_variants(group: list[int], original: Mapping[int, int | None]) -> list[int]:
    """A variant in other letters is meant to be the same query, and one observation with its original."""
    held = set(group) if original else set()
    return [row for row in group if original.get(row) not in held]


def _all_folded(queries: list[str]) -> list[str]:
    """Every query folded: all of them in one text, several times as fast as one by one."""
    text = f" {_SEAM} ".join(queries)
    if text.count(_SEAM) != len(queries) - 1:
        return list(map(folded, queries))
    return [each.strip() for each in folded(text).split(_SEAM)]


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
    grades = suite.judgments.grades[suite.judgments.grades >= 0]
    if not len(grades) or grades.min() == grades.max():
        return
    found = [
        rows for rows in _judged_twice(suite, repeated_in(subject)) if len({int(suite.judgments.grades[row]) for row in rows}) > 1
    ]
    if not found:
        return
    cases = sorted({int(suite.judgments.case[row]) for rows in found for row in rows})
    shown = listed([_contradiction(suite, rows) for rows in found], EXAMPLES)
    what = counted(len(found), "document has", "documents have")
    yield finding("contradictory-grades", f"{what} several grades for one query: {shown}", (suite.table.ids[row] for row in cases))


def _judged_twice(suite: Suite, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """The judgments of each document that is judged more than once for a query; a grade below 0 is no judgment."""
    judgments, units = suite.judgments, np.arange(len(suite))
    named = judgments.grades >= 0
    if judgments.match is not None:
        named &= judgments.match <= PATH
    names = _names_of_targets(suite)
    hashes = (
        np.fromiter(map(hash, names), np.int64, len(names)).view(np.uint64) if isinstance(names, list) else names.hash().to_numpy()
    )
    doubtful = _cases_with_equals(hashes, judgments.starts)
    for group in groups:
        units[group] = group[0]
        doubtful[group] = True
    rows = np.flatnonzero(named & doubtful[judgments.case]) if doubtful.any() else np.zeros(0, np.int64)
    unit = units[judgments.case[rows]]
    keys = hashes[rows] + unit.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]  # two documents may have one key, if hardly ever
    again = np.isin(keys, repeated)
    keyed = zip(unit[again].tolist(), texts_at(names, rows[again]), strict=True)
    return _grouped(zip(rows[again].tolist(), keyed, strict=True))


def _names_of_targets(suite: Suite) -> Texts:
    """What each judgment is about: an id and a path, however it is spelt, name the same document; patterns name none."""
    targets, match = suite.judgments.targets, suite.judgments.match
    if match is None:
        return targets if _is_ascii(targets) else list(map(nfc, text_list(targets)))
    return [
        (normal_path(target) if how == PATH else nfc(target)) if how <= PATH else ""
        for target, how in zip(text_list(targets), match.tolist(), strict=True)
    ]


def _is_ascii(texts: Texts) -> bool:
    if isinstance(texts, list):
        return "".join(texts).isascii()
    return bool(texts.str.len_bytes().sum() == texts.str.len_chars().sum())


def _cases_with_equals(hashes: NDArray[np.uint64], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Cases with two judgments of one hash; those of one length are sorted side by side, which is far faster than all in one."""
    lengths, found = np.diff(starts), np.zeros(len(starts) - 1, bool)
    for length in np.unique(lengths[lengths > 1]).tolist():
        cases = np.flatnonzero(lengths == length)
        ordered = np.sort(hashes[starts[cases][:, None] + np.arange(length)], axis=1)
        found[cases] = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    return found


def _contradiction(suite: Suite, rows: Sequence[int]) -> str:
    judgments, ids = suite.judgments, suite.table.ids
    grades = " and ".join(f"{judgments.grades[row]} in {quoted(ids[judgments.case[row]])}" for row in rows[:EXAMPLES])
    return f"{quoted(judgments.targets[rows[0]])} has {grades}"


def _names(suite: Suite, rows: Sequence[int]) -> str:
    return " and ".join(quoted(suite.table.ids[row]) for row in rows[:EXAMPLES]) + (" and others" if len(rows) > EXAMPLES else "")
