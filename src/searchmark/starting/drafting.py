"""A first suite from the documents of a project: titles and first lines become queries, for people to correct."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from searchmark.corpora.corpus import Corpus
from searchmark.errors import UsageError
from searchmark.records import Document
from searchmark.records.shown import counted

CASES = 12  # under ten there would be no interval
LOOKED_AT = 2_000  # documents that the cases are spread over
LINES = 60
FEWEST_DOCUMENTS = 2
FEWEST_WORDS, MOST_WORDS = 2, 10
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$")
_TAG = re.compile(r"<[^<>]{0,300}>")
_MARKUP = " \t#*/=;:-_\"'`<>!|+.,[](){}~^"
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class DraftCase:
    """A query, and the document that it was taken from."""

    id: str
    query: str
    target: str
    match: str


def draft_cases(corpus: Corpus) -> tuple[DraftCase, ...]:
    """Cases spread over the documents; a query that two documents would have is left out."""
    documents = list(islice(corpus, LOOKED_AT))
    if len(documents) < FEWEST_DOCUMENTS:
        held = f"{counted(len(documents), 'document')}, which every search finds" if documents else "nothing that could be searched"
        raise UsageError(f"{corpus.name!r} holds {held}; name documents with --corpus, or a suite with --suite")
    found = [(document.id, query) for document in documents if (query := _query_of(document))]
    counts = Counter(query.lower() for _, query in found)
    usable = [(target, query) for target, query in found if counts[query.lower()] == 1 and target.isprintable()]
    if not usable:
        raise UsageError(
            f"no case could be made from the documents of {corpus.name!r}, which have neither titles nor lines of words; name a "
            "suite with --suite"
        )
    step = max(1, len(usable) // CASES)
    match = "id" if corpus.folder is None else "path"
    chosen = usable[::step][:CASES]
    return tuple(DraftCase(f"draft-{number:02}", query, target, match) for number, (target, query) in enumerate(chosen, 1))


def draft_text(name: str, searched: str, cases: Sequence[DraftCase]) -> str:
    """The suite as YAML, with what to do about it."""
    return _HEADER.format(count=len(cases), searched=json.dumps(searched, ensure_ascii=False)) + "".join(_entries(name, cases))


def _entries(name: str, cases: Sequence[DraftCase]) -> Iterator[str]:
    yield f"schema_version: 1\nname: {_quoted(name)}\ncases:\n"
    for case in cases:
        match = "" if case.match == "id" else f", match: {case.match}"
        yield f"  - id: {case.id}\n    query: {_quoted(case.query)}\n    judgments:\n"
        yield f"      - {{target: {_quoted(case.target)}{match}}}\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _query_of(document: Document) -> str | None:
    """The title of a document, its first heading with several words, or its first line with some."""
    lines = document.text.splitlines()[:LINES]
    headings = (found.group(1) for line in lines if (found := _HEADING.match(line)))
    for text in ([document.title] if document.title else []) + [*headings, *lines]:
        words = _TAG.sub(" ", text).strip(_MARKUP).split()[:MOST_WORDS]
        query = " ".join(words).strip(_MARKUP)
        if len(_WORD.findall(query)) >= FEWEST_WORDS and query.isprintable():
            return query
    return None


_HEADER = """\
# What counts as right: every case has a query, and the documents that answer it.
#
# 'searchmark init' made these {count} cases from titles and first lines of documents of {searched}, one document each.
# They ask in the words of the documents, so every search looks better here than it is. Correct them:
#   - put in what people really ask: from search logs, tickets, mails;
#   - add every other document that answers a query, with its grade: {{target: ..., grade: 2}}; 3 is the best;
#   - add queries that nothing answers: {{id: ..., query: ..., unanswerable: true}}.
# 'searchmark audit' says what is odd about a suite, 'searchmark docs formats' explains the fields.
"""
