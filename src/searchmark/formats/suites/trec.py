"""TREC qrels as a suite, with the query texts of a topics file where there is one."""

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
from searchmark.files.entities import unescaped
from searchmark.files.recognised import TOPICS, telling_what_it_is
from searchmark.files.store import BOM, inner_stem, read_bytes, write_text
from searchmark.files.trec_text import QRELS, TrecTable, grouped_by_query, read_qrels_rows, read_table
from searchmark.records import Case, CaseTable, JudgmentTable, Suite
from searchmark.records.id_columns import pair_keys
from searchmark.suites.checks import check_fields
from searchmark.suites.diversity_qrels import read_aspects
from searchmark.suites.losses import losses, refuse_blanks
from searchmark.suites.source import Source, Topics

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


def read_qrels(path: str | PathLike[str], topics: Topics | None = None) -> Suite:
    """Every query of the qrels is a case; a document judged twice is refused, as trec_eval does.

    Where documents repeat with different second columns, these are aspects of the query, however late in the file.
    """
    path = Path(path)
    table = read_table(path, QRELS)
    repeated = _first_repetition(table)
    if repeated is not None:
        if not _has_aspects(path):
            query, document = table.queries[table.query[repeated]], table.documents[repeated]
            place = f"line {_line_of_row(path, repeated)}"
            raise FormatError(path, place, f"document {document!r} is judged a second time for query {query!r}")
        return read_diversity_qrels(path, topics)
    starts, targets, grades = grouped_by_query(table)
    return _with_topics(path, table.queries, JudgmentTable(starts, targets, grades.astype(np.int64, copy=False)), topics)


def read_diversity_qrels(path: str | PathLike[str], topics: Topics | None = None) -> Suite:
    """The same, where the second column is an aspect of the query."""
    return _with_topics(Path(path), *read_aspects(path), topics)


def _has_aspects(path: Path) -> bool:
    rows = [row[1:4] for row in read_qrels_rows(path)]
    return len(set(rows)) == len(rows)


def _with_topics(path: Path, queries: tuple[str, ...], judgments: JudgmentTable, topics: Topics | None) -> Suite:
    if topics is None:
        return Suite(inner_stem(path), CaseTable(queries), judgments)
    known = read_topics(topics.path, topics.field_names)
    heads = Suite.from_cases(inner_stem(path), [known.get(query) or Case(query) for query in queries])
    unanswerable = heads.table.unanswerable
    if unanswerable is not None and (unanswerable[judgments.case] & (judgments.grades > 0)).any():
        raise FormatError(topics.path, None, "marks a case unanswerable that has a relevant target")
    without = known.keys() - set(queries)
    # A case that nobody can answer needs no judgments to be a case.
    silent = [case for case in known.values() if case.unanswerable and case.id in without]
    unjudged = tuple(sorted(without.difference(case.id for case in silent)))
    dropped = {"topics_without_judgments": len(unjudged)} if unjudged else {}
    suite = Suite(inner_stem(path), heads.table, judgments, dropped=dropped, unjudged=unjudged)
    return Suite.from_cases(inner_stem(path), [*suite.cases, *silent], dropped=dropped, unjudged=unjudged) if silent else suite


def _first_repetition(table: TrecTable) -> int | None:
    """The row of the first document that is judged twice for one query."""
    if not isinstance(table.documents, list) and pair_keys(table.query, table.documents).n_unique() == len(table.query):
        return None
    seen: set[tuple[int, str]] = set()
    for row, key in enumerate(zip(table.query.tolist(), table.documents, strict=True)):
        if key in seen:
            return row
        seen.add(key)
    return None


def _line_of_row(path: Path, row: int) -> int:
    """The line that a data row came from; counted again, since only a refused file needs it."""
    lines = read_bytes(path).removeprefix(BOM).split(b"\n")
    numbers = [n for n, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith(b"#")]
    return numbers[row]


def read_topics(path: str | PathLike[str], field_names: Mapping[str, str] = MappingProxyType({})) -> dict[str, Case]:
    """Cases without judgments by id; ``field_names`` says what JSONL calls a case, a query or a category.

    Classic ``<top>`` blocks (the title counts), ``<topic number="1">`` elements with a ``<query>`` or
    ``<title>``, lines of id, tab, text, or JSONL with ``id``, ``query`` and whatever else is known of a case.
    """
    with telling_what_it_is(path, TOPICS):
        return _topics(path, field_names)


def _topics(path: str | PathLike[str], field_names: Mapping[str, str]) -> dict[str, Case]:
    source = Source(Path(path), pipe=True, field_names=field_names)
    if field_names and not source.by_line:
        raise UsageError(f"{os.fspath(path)}: --map names a field of the suite, but only topics in JSON lines have such")
    if unknown := field_names.keys() - _TOPIC_FIELDS.keys():
        raise UsageError(f"{os.fspath(path)}: --map names suite.{min(unknown)}, but topics have case, query and category")
    if source.by_line:
        topics = _from_entries(source)
    elif blocks := _blocks(path, source.text, _TOP, "top"):
        topics = _from_blocks(path, [(_word(_NUMBER.search(inner), "Number:"), inner) for _, inner in blocks])
    elif elements := _blocks(path, source.text, _TOPIC, "topic"):
        topics = _from_blocks(
            path, [(_word(_ATTRIBUTE.search(mark) or _NUMBER.search(inner), ""), inner) for mark, inner in elements]
        )
    else:
        topics = _from_lines(path, source.text)
    if not topics:
        raise FormatError(path, None, "holds neither <top> blocks nor lines of 'id<tab>query'")
    return topics


def _from_entries(source: Source) -> dict[str, Case]:
    topics: dict[str, Case] = {}
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
        _add(source.path, entry.place, topics, case)
    return topics


def _blocks(path: str | PathLike[str], text: str, opening: re.Pattern[str], name: str) -> list[tuple[str, str]]:
    """The opening mark of each block and what is between it and its closing mark; comments are passed over."""
    text = _without_comments(text)
    closing = re.compile(f"</{name}>", re.IGNORECASE)
    blocks: list[tuple[str, str]] = []
    found = opening.search(text)
    while found:
        end = closing.search(text, found.end())
        if not end:
            raise FormatError(path, f"topic {len(blocks) + 1}", f"is not closed by </{name}>")
        blocks.append((found[0], text[found.end() : end.start()]))
        found = opening.search(text, end.end())
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
    inner = _CDATA.sub("", inner) if "<![CDATA[" in inner else unescaped(_TAG.sub(" ", inner))
    return " ".join(inner.split()).removeprefix("Topic:").strip()


def _word(found: re.Match[str] | None, prefix: str) -> str | None:
    """The first word of a match, behind a prefix that it may have."""
    words = found[1].strip().removeprefix(prefix).split() if found else []
    return words[0] if words else None


def _from_blocks(path: str | PathLike[str], blocks: list[tuple[str | None, str]]) -> dict[str, Case]:
    topics: dict[str, Case] = {}
    for count, (number, block) in enumerate(blocks, 1):
        query = _query_of(block)
        if not number or not query:
            raise FormatError(path, f"topic {count}", "needs both a number and a title")
        _add(path, f"topic {count}", topics, Case(number, query))
    return topics


def _from_lines(path: str | PathLike[str], text: str) -> dict[str, Case]:
    topics: dict[str, Case] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        topic, tab, query = line.strip().partition("\t")
        if number == 1 and (topic.strip().lower(), query.strip().lower()) in _HEADERS:
            continue
        if not tab or not query.strip():
            raise FormatError(path, f"line {number}", "is not 'id<tab>query'")
        _add(path, f"line {number}", topics, Case(topic.strip(), query.strip()))
    return topics


def _add(path: str | PathLike[str], place: str, topics: dict[str, Case], case: Case) -> None:
    if case.id in topics:
        raise FormatError(path, place, f"duplicate topic {case.id!r}")
    topics[case.id] = case


def write_qrels(suite: Suite, path: str | PathLike[str]) -> Iterator[str]:
    """Write qrels, and topics beside them where queries are known; yields what they could not hold."""
    path = Path(path)
    refuse_blanks(suite, " \t\n\r\v\f", "a line of a qrels file")
    lines = [f"{case.id} 0 {j.target} {j.grade}\n" for case in suite.cases for j in case.judgments]
    write_text(path, "".join(lines))
    known = [case for case in suite.cases if case.query is not None]
    if known:
        topics = path.with_suffix(".topics.tsv")
        write_text(topics, "".join(f"{case.id}\t{' '.join((case.query or '').split())}\n" for case in known))
    broken = sum(case.query != " ".join((case.query or "").split()) for case in known)
    lost = losses(suite, queries=bool(known), grades=True, unjudged=False)
    return chain(lost, [f"line feeds and runs of blanks in queries: {broken}"] if broken else [])
