"""TREC qrels and topics, diversity qrels, and learning-to-rank files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from os import PathLike
from pathlib import Path
from types import MappingProxyType

import numpy as np

from searchmark.errors import FormatError, UsageError
from searchmark.formats.detection import TOPICS_ROLE, hint_at_file_kind
from searchmark.formats.suites.checks import GradeReader, check_cases, check_fields, lost_fields, refuse_breaking_ids
from searchmark.formats.suites.source import Entry, Source
from searchmark.formats.trec import QRELS_LAYOUT, TrecTable, group_by_query, read_qrels_rows, read_trec_table
from searchmark.io.packed import inner_stem
from searchmark.io.store import BOM, read_bytes, write_text
from searchmark.io.text import unescape_entities
from searchmark.records.columns import pair_keys
from searchmark.records.judgments import Judgment, JudgmentTable, judgment_table
from searchmark.records.suite import Case, CaseTable, Suite

# TREC qrels whose second column is an aspect of the query (a subtopic), as the Web tracks and ndeval have them.


def has_aspects(source: Source) -> bool:
    """Whether a document comes again for one query with another second column: nothing but aspects makes sense of that."""
    aspect_by_pair: dict[tuple[str, str], str] = {}
    for fields in (line.split() for line in source.head.split("\n")):
        if len(fields) == len(QRELS_LAYOUT.columns) and aspect_by_pair.setdefault((fields[0], fields[2]), fields[1]) != fields[1]:
            return True
    return False


def read_aspect_table(path: str | PathLike[str]) -> tuple[tuple[str, ...], JudgmentTable]:
    """The queries, and one judgment per document with its grade for every aspect; the highest of them is its grade."""
    cases: dict[str, dict[str, dict[str, int]]] = {}
    for line, query, aspect, document, grade in read_qrels_rows(Path(path)):
        grades = cases.setdefault(query, {}).setdefault(document, {})
        if aspect in grades:
            reason = f"document {document!r} is judged a second time for query {query!r} and aspect {aspect!r}"
            raise FormatError(path, f"line {line}", reason)
        grades[aspect] = grade
    judgments = [
        Judgment(document, grade=max(grades.values()), aspects=grades)
        for documents in cases.values()
        for document, grades in documents.items()
    ]
    if not judgments:
        raise FormatError(path, None, "holds no lines of the form 'query aspect document grade'")
    return tuple(cases), judgment_table(tuple(cases), [len(documents) for documents in cases.values()], judgments)


# Lists for learning to rank: ``grade qid:1 [feature:value …] # document query``, as RankLib reads and Quepid writes them.

QUERY_ID_MARK = "qid:"

_NAMED_QUERY = re.compile(r"#\s*qid:(\S+?):\s+(\S.*)")

_OF_LETOR = re.compile(r"\s*docid\s*=\s*(\S+)")


def is_letor(line: str) -> bool:
    """Whether a line begins like one of these lists."""
    words = line.split("#", 1)[0].split(None, 2)
    return len(words) > 1 and words[1].startswith(QUERY_ID_MARK) and len(words[1]) > len(QUERY_ID_MARK)


def begins_as_letor(source: Source) -> bool:
    return is_letor(source.first_line)


def read_letor(source: Source) -> Suite:
    """The comment behind a line names the document and perhaps the query; features are not read.

    Texts of queries may be in separate comments, ``# qid:1: running shoes``. Where the words behind the documents of a query
    differ, they are titles.
    """
    gradings = GradeReader(source)
    judged: dict[str, dict[str, Judgment]] = {}
    query_texts: dict[str, str] = {}
    behind: dict[str, set[str]] = {}
    for number, line in enumerate(source.text.split("\n"), 1):
        if match := _NAMED_QUERY.match(line):
            query_texts[match[1]] = match[2].strip()
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        head, _, comment = line.partition("#")
        document, words = _document_in_comment(comment)
        if not is_letor(head) or not document:
            raise FormatError(
                source.path, f"line {number}", "is not 'grade qid:1 # document query'; the comment names the document"
            )
        grade, case = head.split(None, 2)[:2]
        entry, case = Entry(source.path, f"line {number}", {"grade": grade}), case.removeprefix(QUERY_ID_MARK)
        behind.setdefault(case, set()).add(words)
        judgments = judged.setdefault(case, {})
        if document in judgments:
            raise entry.error("document", f"{document!r} is judged a second time for query {case!r}")
        judgments[document] = gradings.judgment(entry, document, "grade")
    gradings.check()
    queries = {case: query_texts.get(case) or (min(words) if len(words) == 1 else "") for case, words in behind.items()}
    cases = [Case(case, queries[case] or None, tuple(judgments.values())) for case, judgments in judged.items()]
    if not cases:
        raise FormatError(source.path, None, "holds no lines of 'grade qid:1 # document query'")
    check_cases(source.path, cases)
    return Suite.from_cases(source.name, cases)


def _document_in_comment(comment: str) -> tuple[str, str]:
    """The document that a comment names, and what comes behind it; LETOR writes ``docid = GX000 inc = 1 prob = 0.5``."""
    if match := _OF_LETOR.match(comment):
        return match[1], ""
    document, words = [*comment.split(None, 1), "", ""][:2]
    return document, words.strip()


# TREC qrels as a suite, with the query texts of a topics file where there is one.

# What JSON lines call the id, the query and the category of a topic.
_TOPIC_FIELDS = {"case": ("_id", "id", "query_id"), "query": ("query", "text", "title"), "category": ("category",)}

_TOP = re.compile(r"<top\b[^<>]{0,500}>", re.IGNORECASE)

_TOPIC = re.compile(r"<topic\b([^<>]{0,500})>", re.IGNORECASE)

_NUMBER = re.compile(r"<num(?:ber)?>([^<]*)", re.IGNORECASE)

_ATTRIBUTE = re.compile(r"\b(?:number|id)\s{0,9}=\s{0,9}[\"']([^\"']+)", re.IGNORECASE)

_TITLE = re.compile(r"<(title|query)\b[^<>]{0,500}>", re.IGNORECASE)

_TAG = re.compile(r"<[^<>]{0,500}>")

_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")

_HEADERS = {("id", "query"), ("qid", "query"), ("query_id", "query"), ("query-id", "query"), ("qid", "text"), ("id", "text")}


def read_qrels(source: Source) -> Suite:
    """Every query of the qrels is a case; a document judged twice is refused, as trec_eval does.

    Where documents repeat with different second columns, these are aspects of the query, however late in the file.
    """
    path = source.path
    table = read_trec_table(path, QRELS_LAYOUT)
    row = _first_repetition(table)
    if row is not None:
        rows = [each[1:4] for each in read_qrels_rows(path)]
        if len(set(rows)) < len(rows):  # not even with aspects are they different
            query, document = table.queries[table.query[row]], table.documents[row]
            # Counted again, since only a refused file needs the line of a row.
            lines = read_bytes(path).removeprefix(BOM).split(b"\n")
            numbers = [n for n, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith(b"#")]
            place = f"line {numbers[row]}"
            raise FormatError(path, place, f"document {document!r} is judged a second time for query {query!r}")
        return read_diversity_qrels(source)
    starts, targets, grades = group_by_query(table)
    return _with_topics(source, table.queries, JudgmentTable(starts, targets, grades.astype(np.int64, copy=False)))


def read_diversity_qrels(source: Source) -> Suite:
    """The same, where the second column is an aspect of the query."""
    return _with_topics(source, *read_aspect_table(source.path))


def _with_topics(source: Source, queries: tuple[str, ...], judgments: JudgmentTable) -> Suite:
    name, topics = inner_stem(source.path), source.topics
    if topics is None:
        return Suite(name, CaseTable(queries), judgments)
    case_by_id = read_topics(topics.path, topics.field_names)
    heads = Suite.from_cases(name, [case_by_id.get(query) or Case(query) for query in queries])
    unanswerable = heads.table.unanswerable
    if unanswerable is not None and (unanswerable[judgments.case] & (judgments.grades > 0)).any():
        raise FormatError(topics.path, None, "marks a case unanswerable that has a relevant target")
    without = case_by_id.keys() - set(queries)
    # A case that nobody can answer needs no judgments to be a case.
    silent = [case for case in case_by_id.values() if case.unanswerable and case.id in without]
    unjudged = tuple(sorted(without.difference(case.id for case in silent)))
    counts = {"topics_without_judgments": len(unjudged)} if unjudged else {}
    suite = Suite(name, heads.table, judgments, dropped=counts, unjudged=unjudged)
    return Suite.from_cases(name, [*suite.cases, *silent], dropped=counts, unjudged=unjudged) if silent else suite


def _first_repetition(table: TrecTable) -> int | None:
    """The row of the first document that is judged twice for one query."""
    if not isinstance(table.documents, list) and pair_keys(table.query, table.documents).n_unique() == len(table.query):
        return None
    keys: set[tuple[int, str]] = set()
    for row, key in enumerate(zip(table.query.tolist(), table.documents, strict=True)):
        if key in keys:
            return row
        keys.add(key)
    return None


def read_topics(path: str | PathLike[str], field_names: Mapping[str, str] = MappingProxyType({})) -> dict[str, Case]:
    """Cases without judgments by id; ``field_names`` says what JSONL calls a case, a query or a category.

    Classic ``<top>`` blocks (the title counts), ``<topic number="1">`` elements with a ``<query>`` or
    ``<title>``, lines of id, tab, text, or JSONL with ``id``, ``query`` and whatever else is known of a case.
    """
    with hint_at_file_kind(path, TOPICS_ROLE):
        return _read_topics(path, field_names)


def _read_topics(path: str | PathLike[str], field_names: Mapping[str, str]) -> dict[str, Case]:
    source = Source(Path(path), pipe=True, field_names=field_names)
    if field_names and not source.by_line:
        raise UsageError(f"{os.fspath(path)}: --map names a field of the suite, but only topics in JSON lines have such")
    if unknown := field_names.keys() - _TOPIC_FIELDS.keys():
        raise UsageError(f"{os.fspath(path)}: --map names suite.{min(unknown)}, but topics have case, query and category")
    if source.by_line:
        placed_cases = _topics_from_entries(source)
    elif blocks := _blocks(path, source.text, _TOP, "top"):
        placed_cases = _topics_from_blocks(path, [(_first_word(_NUMBER.search(inner), "Number:"), inner) for _, inner in blocks])
    elif elements := _blocks(path, source.text, _TOPIC, "topic"):
        placed_cases = _topics_from_blocks(
            path, [(_first_word(_ATTRIBUTE.search(mark) or _NUMBER.search(inner), ""), inner) for mark, inner in elements]
        )
    else:
        placed_cases = _topics_from_lines(path, source.text)
    topics: dict[str, Case] = {}
    for place, case in placed_cases:
        if topics.setdefault(case.id, case) is not case:
            raise FormatError(path, place, f"duplicate topic {case.id!r}")
    if not topics:
        raise FormatError(path, None, "holds neither <top> blocks nor lines of 'id<tab>query'")
    return topics


def _topics_from_entries(source: Source) -> Iterator[tuple[str, Case]]:
    ids, queries, category = (
        (source.field_names[role],) if role in source.field_names else names for role, names in _TOPIC_FIELDS.items()
    )
    for entry in source.entries():
        case = Case(
            id=entry.text(*ids),
            query=entry.text(*queries),
            category=entry.maybe_text(*category),
            tags=tuple(entry.texts("tags")),
            origin=entry.maybe_text("origin"),
            unanswerable=entry.values.get("unanswerable") is True,
            fields=entry.rest(*ids, *queries, *category, "tags", "origin", "unanswerable"),
        )
        check_fields(source.path, entry.place, case.fields)
        yield entry.place, case


def _blocks(path: str | PathLike[str], text: str, opening: re.Pattern[str], name: str) -> list[tuple[str, str]]:
    """The opening mark of each block and what is between it and its closing mark; comments are passed over."""
    text = _without_comments(text)
    closing = re.compile(f"</{name}>", re.IGNORECASE)
    blocks: list[tuple[str, str]] = []
    match = opening.search(text)
    while match:
        end = closing.search(text, match.end())
        if not end:
            raise FormatError(path, f"topic {len(blocks) + 1}", f"is not closed by </{name}>")
        blocks.append((match[0], text[match.end() : end.start()]))
        match = opening.search(text, end.end())
    return blocks


def _without_comments(text: str) -> str:
    pieces, start = [], 0
    while (begin := text.find("<!--", start)) >= 0 and (end := text.find("-->", begin)) >= 0:
        pieces.append(text[start:begin])
        start = end + 3
    return "".join([*pieces, text[start:]])


def _query_of(block: str) -> str:
    """The text of the title or query; of the whole block where it holds nothing but text."""
    title = _TITLE.search(block)
    if title is None:
        inner = block if not _TAG.search(block) else ""
    else:
        end = re.compile(f"</{title[1]}>", re.IGNORECASE).search(block, title.end())
        inner = block[title.end() : end.start()] if end else block[title.end() :].split("<", 1)[0]
    inner = _CDATA.sub("", inner) if "<![CDATA[" in inner else unescape_entities(_TAG.sub(" ", inner))
    return " ".join(inner.split()).removeprefix("Topic:").strip()


def _first_word(match: re.Match[str] | None, prefix: str) -> str | None:
    """The first word of a match, behind a prefix that it may have."""
    words = match[1].strip().removeprefix(prefix).split() if match else []
    return words[0] if words else None


def _topics_from_blocks(path: str | PathLike[str], blocks: list[tuple[str | None, str]]) -> Iterator[tuple[str, Case]]:
    for count, (number, block) in enumerate(blocks, 1):
        query = _query_of(block)
        if not number or not query:
            raise FormatError(path, f"topic {count}", "needs both a number and a title")
        yield f"topic {count}", Case(number, query)


def _topics_from_lines(path: str | PathLike[str], text: str) -> Iterator[tuple[str, Case]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        topic, tab, query = line.strip().partition("\t")
        if number == 1 and (topic.strip().lower(), query.strip().lower()) in _HEADERS:
            continue
        if not tab or not query.strip():
            raise FormatError(path, f"line {number}", "is not 'id<tab>query'")
        yield f"line {number}", Case(topic.strip(), query.strip())


def write_qrels(suite: Suite, path: str | PathLike[str]) -> Iterator[str]:
    """Write qrels, and topics beside them where queries are known; yields what they could not hold."""
    path = Path(path)
    refuse_breaking_ids(suite, " \t\n\r\v\f", "a line of a qrels file")
    lines = [f"{case.id} 0 {j.target} {j.grade}\n" for case in suite.cases for j in case.judgments]
    write_text(path, "".join(lines))
    topic_cases = [case for case in suite.cases if case.query is not None]
    if topic_cases:
        topics = path.with_suffix(".topics.tsv")
        write_text(topics, "".join(f"{case.id}\t{' '.join((case.query or '').split())}\n" for case in topic_cases))
    broken_queries = sum(case.query != " ".join((case.query or "").split()) for case in topic_cases)
    losses = lost_fields(suite, "grades", *(["queries"] if topic_cases else []))
    return chain(losses, [f"line feeds and runs of blanks in queries: {broken_queries}"] if broken_queries else [])
