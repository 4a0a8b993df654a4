"""Gold that goes by the words of the query: documents that any search for words finds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.audit.gold_and_agents.query_words import Copied, QueryWords, query_words
from searchmark.audit.result import AuditTable
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.records.shown import quoted

FEWEST_CASES = 10
FEWEST_TERMS = 2  # words of a query that count: one alone is in most of what is relevant to it
# Cases in which all relevant documents have all words. A query word is missing from 30 to 40 % of the relevant documents
# (Zhao and Callan, 2010), so with two words and one target such cases are fewer than half where people have judged what they mean.
NEARLY_ALL = 0.9
FEWEST_COPIES, COPIED = 3, 0.1  # relevant copies: some queries are titles, and a tenth of the cases moves a mean by a tenth at most


def words_in_gold(subject: Subject) -> Iterator[Finding]:
    """Whether relevant documents are those that have the words of the query."""
    seen = query_words(subject)
    if seen is None:
        return
    looked = np.flatnonzero((seen.terms >= FEWEST_TERMS) & (seen.gold > 0))
    whole = looked[seen.gold_whole[looked] == seen.gold[looked]]
    if len(looked) < FEWEST_CASES or len(whole) < NEARLY_ALL * len(looked):
        return
    ids = subject.suite.table.ids
    relevant = seen.gold_whole[looked].sum() / max(1, seen.whole[looked].sum())
    message = (
        f"in {len(whole)} of {len(looked)} cases every relevant document has all words of the query{seen.partly}; "
        f"of all documents that have them {relevant:.0%} are relevant"
    )
    yield finding("gold-by-words", message, [ids[row] for row in seen.rows[whole]])


def words_table(subject: Subject) -> AuditTable | None:
    """How many of the words of a query are in its relevant documents, and in others."""
    seen = query_words(subject)
    if seen is None or not seen.gold.any():
        return None
    columns = ("documents", "pairs with a query", "query words that they have", "pairs with all words")
    return AuditTable("query_words", "Words of the queries in the documents", columns, tuple(_word_rows(seen)))


def _word_rows(seen: QueryWords) -> Iterator[tuple[str, int, float, float]]:
    pairs, gold = seen.documents * len(seen.rows), int(seen.gold.sum())
    yield "relevant", gold, float(seen.gold_held.sum() / gold), float(seen.gold_whole.sum() / gold)
    if pairs > gold:
        held, whole = (seen.held - seen.gold_held).sum(), (seen.whole - seen.gold_whole).sum()
        yield "others", pairs - gold, float(held / (pairs - gold)), float(whole / (pairs - gold))


def copied_queries(subject: Subject) -> Iterator[Finding]:
    """Queries that a document says word for word: the source that they were taken from."""
    seen = query_words(subject)
    if seen is None:
        return
    targets = [each for each in seen.copies if each.relevant]
    good = list(dict.fromkeys(each.case for each in targets))
    others = [each for each in seen.copies if not each.relevant and each.case not in good]
    if len(good) >= max(FEWEST_COPIES, COPIED * len(seen.rows)):
        yield finding("query-copied-from-target", f"{_copied(good, seen, 'a relevant document')}{_first(targets, subject)}", good)
    if others:
        cases = list(dict.fromkeys(each.case for each in others))
        copied = f"{_copied(cases, seen, 'a document that is not judged relevant')}{_examples(others)}"
        yield finding("query-source-not-relevant", f"{copied}{_first(others, subject)}", cases)


def _copied(cases: list[str], seen: QueryWords, what: str) -> str:
    return f"{counted(len(cases), 'query', 'queries')} of {len(seen.rows)} nearly word for word in {what}{seen.partly}"


def _examples(copies: list[Copied]) -> str:
    return f", such as {', '.join(quoted(each.document) for each in copies[:3])}"


def _first(copies: list[Copied], subject: Subject) -> str:
    """How often each run returns such a document first."""
    sources: dict[str, set[str]] = {}
    for each in copies:
        sources.setdefault(each.case, set()).add(each.document)
    counts = []
    for name, scores in subject.scores.items():
        run = scores.judged.run
        asked = [case for case in sources if case in run.index]
        first = sum(bool(sources[case].intersection(run.ids_of(run.index[case])[:1])) for case in asked)
        counts.append(f"{name} {first}")
    return f"; first hit in so many of these cases: {', '.join(counts)}" if counts else ""
