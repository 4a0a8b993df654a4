"""Cases without a query beside queries without a case: how both are named, and the change that makes them fit."""

from __future__ import annotations

from collections.abc import Sequence

from searchmark.judging.near_ids import NearIds
from searchmark.records import Suite


def both_sides(suite: Suite, without: Sequence[str]) -> str:
    """One name of each side, and the change that makes them fit; ``without`` are the cases that have no query."""
    if not suite.unjudged:
        return f"cases are named like {without[0]!r}"
    remedy = NearIds(suite.unjudged, without).remedy(1)
    if remedy is None:
        return f"cases are named like {without[0]!r}, queries like {suite.unjudged[0]!r}"
    case = next(iter(remedy.found))
    return f"the case {case!r} may be the query {remedy.found[case]!r}; {remedy.told(without)}"


def no_query(suite: Suite) -> str:
    """How many cases cannot be asked, and what to do; one at least has no query."""
    ids, queries = suite.table.ids, suite.table.queries
    without = list(ids) if queries is None else [case for case, query in zip(ids, queries, strict=True) if query is None]
    count = f"the case {without[0]!r} has no query" if len(ids) == 1 else f"{len(without)} of {len(ids)} cases have no query"
    if suite.unjudged:  # queries were given, under other names
        return f"{count}, and {len(suite.unjudged)} queries no judgments: {both_sides(suite, without)}; number both alike"
    given = queries is not None and len(without) < len(ids)
    remedy = "these cases are in no line of the topics" if given else "for TREC qrels and labels, give the queries with --topics"
    return f"{count}, like {without[0]!r}; {remedy}" if len(ids) > 1 else f"{count}; {remedy}"
