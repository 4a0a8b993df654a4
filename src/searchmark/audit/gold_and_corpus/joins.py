"""Queries and judgments that were joined by id: whether the join covers both sides."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.judging.near_ids import NearIds
from searchmark.records import Suite

TOLERATED = 0.05  # share of judged cases without a query where all queries are judged
UNJUDGED = ("topics_without_judgments", "queries_without_judgments")


def partial_join(subject: Subject) -> Iterator[Finding]:
    """Judged cases without a query, if other cases have one or queries were read that fit no case.

    Queries without judgments alone are usual: a file of queries often serves several splits. Both sides incomplete at once
    means that ids are written differently.
    """
    queries = subject.suite.table.queries
    unjudged = sum(subject.suite.dropped.get(key, 0) for key in UNJUDGED)
    if queries is None and not unjudged:
        return
    ids = subject.suite.table.ids
    without = [case for case, query in zip(ids, queries or (None,) * len(ids), strict=True) if query is None]
    joined = len(ids) - len(without)
    if not without or not (joined or unjudged) or (not unjudged and len(without) <= TOLERATED * len(ids)):
        return
    if not joined:
        message = f"none of {len(ids)} judged cases has a query, and none of {unjudged} queries is judged"
        yield finding("nothing-joined", f"{message}: {_both_sides(subject.suite)}", without)
        return
    other = f", and {unjudged} of {joined + unjudged} queries have no judgments" if unjudged else ""
    yield finding("partial-join", f"{len(without)} of {len(ids)} judged cases have no query (like {without[0]!r}){other}", without)


def _both_sides(suite: Suite) -> str:
    """One id of each side, and the change that makes them fit."""
    case = suite.table.ids[0]
    if not suite.unjudged:
        return f"cases are named like {case!r}"
    remedy = NearIds(suite.unjudged, suite.table.ids).remedy(1)
    if remedy is None:
        return f"cases are named like {case!r}, queries like {suite.unjudged[0]!r}"
    case = next(iter(remedy.found))
    return f"the case {case!r} may be the query {remedy.found[case]!r}; {remedy.told(suite.table.ids)}"
