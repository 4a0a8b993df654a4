"""Queries and judgments that were joined by id: whether the join covers both sides."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import share
from searchmark.judging.unjoined import both_sides

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
        yield finding("nothing-joined", f"{message}: {both_sides(subject.suite, without)}", without)
        return
    other = f", and {unjudged} of {joined + unjudged} queries have no judgments" if unjudged else ""
    names = both_sides(subject.suite, without) if subject.suite.unjudged else f"like {without[0]!r}"
    message = f"{len(without)} of {len(ids)} judged cases ({share(len(without), len(ids))}) have no query{other}: {names}"
    yield finding("partial-join", message, without)
