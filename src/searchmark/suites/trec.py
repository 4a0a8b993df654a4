"""TREC qrels as a suite, with the query texts of a topics file where there is one."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

import numpy as np

from searchmark.errors import FormatError
from searchmark.records import CaseTable, JudgmentTable, Suite, pair_keys
from searchmark.store import read_text
from searchmark.trec import QRELS, Table, grouped_by_query, read_table

_TOPIC = re.compile(r"<top>(.*?)</top>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*(?:Topic:)?\s*(.*?)\s*(?=<|$)", re.DOTALL | re.IGNORECASE)


def read_qrels(path: str | PathLike[str], topics: str | PathLike[str] | None = None) -> Suite:
    """Every query of the qrels is a case; a document judged twice is refused, as trec_eval does."""
    path = Path(path)
    table = read_table(path, QRELS)
    _refuse_repetition(path, table)
    starts, targets, grades = grouped_by_query(table)
    judgments = JudgmentTable(starts, targets, grades.astype(np.int64, copy=False))
    texts = None if topics is None else read_topics(topics)
    queries = None if texts is None else tuple(map(texts.get, table.queries))
    unjudged = 0 if texts is None else len(texts.keys() - set(table.queries))
    dropped = {"topics_without_judgments": unjudged} if unjudged else {}
    return Suite(path.stem, CaseTable(table.queries, queries), judgments, dropped=dropped)


def _refuse_repetition(path: Path, table: Table) -> None:
    """Name the line of the first document that is judged twice for one query."""
    if not isinstance(table.documents, list) and pair_keys(table.query, table.documents).n_unique() == len(table.query):
        return
    seen: set[tuple[int, str]] = set()
    for row, key in enumerate(zip(table.query.tolist(), table.documents, strict=True)):
        if key in seen:
            query, document = table.queries[key[0]], key[1]
            place = f"line {_line_of_row(path, row)}"
            raise FormatError(path, place, f"document {document!r} is judged a second time for query {query!r}")
        seen.add(key)


def _line_of_row(path: Path, row: int) -> int:
    """The line that a data row came from; counted again, since only a refused file needs it."""
    lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    numbers = [n for n, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith(b"#")]
    return numbers[row]


def read_topics(path: str | PathLike[str]) -> dict[str, str]:
    """Query texts by id: classic ``<top>`` blocks (the title counts), or lines of id, tab, text."""
    text = read_text(path)
    blocks = _TOPIC.findall(text)
    topics = _from_blocks(path, blocks) if blocks else _from_lines(path, text)
    if not topics:
        raise FormatError(path, None, "holds neither <top> blocks nor lines of 'id<tab>query'")
    return topics


def _from_blocks(path: str | PathLike[str], blocks: list[str]) -> dict[str, str]:
    topics: dict[str, str] = {}
    for count, block in enumerate(blocks, 1):
        number, title = _NUMBER.search(block), _TITLE.search(block)
        if not number or not title or not title[1]:
            raise FormatError(path, f"topic {count}", "needs both <num> and <title>")
        _add(path, f"topic {count}", topics, number[1], " ".join(title[1].split()))
    return topics


def _from_lines(path: str | PathLike[str], text: str) -> dict[str, str]:
    topics: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        topic, tab, query = line.strip().partition("\t")
        if not tab or not query.strip():
            raise FormatError(path, f"line {number}", "is not 'id<tab>query'")
        _add(path, f"line {number}", topics, topic.strip(), query.strip())
    return topics


def _add(path: str | PathLike[str], place: str, topics: dict[str, str], topic: str, query: str) -> None:
    if topic in topics:
        raise FormatError(path, place, f"topic {topic!r} was given before")
    topics[topic] = query
