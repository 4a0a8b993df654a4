"""TREC qrels whose second column is an aspect of the query (a subtopic), as the Web tracks and ndeval have them."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from searchmark.errors import FormatError
from searchmark.files.trec_text import QRELS, read_qrels_rows
from searchmark.records import Judgment, JudgmentTable
from searchmark.records.judgments import judgment_table


def names_aspects(head: str) -> bool:
    """Whether a document comes again for one query with another second column: nothing but aspects makes sense of that."""
    seen: dict[tuple[str, str], str] = {}
    for fields in (line.split() for line in head.split("\n")):
        if len(fields) == len(QRELS.columns) and seen.setdefault((fields[0], fields[2]), fields[1]) != fields[1]:
            return True
    return False


def read_aspects(path: str | PathLike[str]) -> tuple[tuple[str, ...], JudgmentTable]:
    """The queries, and one judgment per document with its grade for every aspect; the highest of them is its grade."""
    cases: dict[str, dict[str, dict[str, int]]] = {}
    for line, query, aspect, document, grade in read_qrels_rows(Path(path)):
        covered = cases.setdefault(query, {}).setdefault(document, {})
        if aspect in covered:
            reason = f"document {document!r} is judged a second time for query {query!r} and aspect {aspect!r}"
            raise FormatError(path, f"line {line}", reason)
        covered[aspect] = grade
    judgments = [
        Judgment(document, grade=max(covered.values()), aspects=covered)
        for documents in cases.values()
        for document, covered in documents.items()
    ]
    if not judgments:
        raise FormatError(path, None, "holds no lines of the form 'query aspect document grade'")
    return tuple(cases), judgment_table(tuple(cases), [len(documents) for documents in cases.values()], judgments)
