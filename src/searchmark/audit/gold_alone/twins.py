"""Relevant documents with a near copy that does not count."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from searchmark.audit.gold_alone.shingles import NearCopies, shingles
from searchmark.audit.gold_and_corpus.documents import document_facts
from searchmark.audit.subject import Subject
from searchmark.corpora.corpus import Corpus
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.judging.names import PATH
from searchmark.judging.spelling import nfc, normal_path
from searchmark.records import Suite
from searchmark.records.shown import listed, quoted

# Texts that share so many of their sequences of three words are copies to a reader; shorter ones are templates and names.
NEAR, FEWEST_SHINGLES = 0.9, 8
EXAMPLES = 3
MOST_DOCUMENTS = 200_000  # looked at at most

Grades = dict[str, dict[int, int]]  # by document and case


def near_duplicate_targets(subject: Subject) -> Iterator[Finding]:
    """Near copies of relevant documents that are not relevant for the same case."""
    if subject.corpus is None or subject.suite.table.documents is not None:
        return
    suite = subject.expanded
    grades = _grades(suite)
    relevant = [name for name, by_case in grades.items() if max(by_case.values()) >= suite.defaults.rel]
    texts = {each.id: shingles(each) for each in subject.corpus.read(relevant)}
    index = NearCopies({name: text for name, text in texts.items() if len(text) >= FEWEST_SHINGLES}, NEAR)
    facts = document_facts(subject)
    exact = {} if facts is None else facts.twins  # which are said elsewhere
    found = [
        (row, name, copy)
        for name, copy in _copies(subject.corpus, index)
        if copy not in exact.get(name, ())
        for row, grade in grades[name].items()
        if grade >= suite.defaults.rel > grades.get(copy, {}).get(row, 0)
    ]
    if found:
        partly = len(subject.survey.ids if subject.survey else ()) > MOST_DOCUMENTS
        yield _found(suite, grades, sorted(found), partly=partly, cut=index.cut)


def _grades(suite: Suite) -> Grades:
    judgments, grades = suite.judgments, Grades()
    match = np.zeros(len(judgments), np.uint8) if judgments.match is None else judgments.match
    columns = (judgments.targets, match.tolist(), judgments.case.tolist(), judgments.grades.tolist())
    for target, how, case, grade in zip(*columns, strict=True):
        if how <= PATH:
            grades.setdefault(normal_path(target) if how == PATH else nfc(target), {})[case] = grade
    return grades


def _copies(corpus: Corpus, index: NearCopies) -> Iterator[tuple[str, str]]:
    """Every one of the documents of an index with each near copy of it in the corpus."""
    for document in islice(corpus, MOST_DOCUMENTS) if index else ():
        yield from ((name, document.id) for name in index.of(shingles(document)) if name != document.id)


def _found(suite: Suite, grades: Grades, found: list[tuple[int, str, str]], *, partly: bool, cut: bool) -> Finding:
    """Said of documents, with the cases; that only a part was looked at is said too."""
    ids = suite.table.ids
    told = [f"{quoted(name)} and {quoted(copy)} in {quoted(ids[row])}, {_graded(grades, copy, row)}" for row, name, copy in found]
    documents = len({name for _, name, _ in found})
    part = f" (of {MOST_DOCUMENTS:,} documents that were looked at)" if partly else ""
    least = "at least " if cut else ""
    message = (
        f"{least}{counted(documents, 'relevant document has', 'relevant documents have')} a near copy that does not count{part}: "
    )
    cases = dict.fromkeys(ids[row] for row, _, _ in found)
    return finding("near-duplicate-targets", message + listed(told, EXAMPLES), cases)


def _graded(grades: Grades, copy: str, row: int) -> str:
    grade = grades.get(copy, {}).get(row)
    return "not judged" if grade is None or grade < 0 else f"graded {grade}"
