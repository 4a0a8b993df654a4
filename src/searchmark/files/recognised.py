"""What a file is, by how it begins: said where it was taken for something else.

Readers know their own formats best. This is asked only when one of them has given up, or might mistake a file for its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError
from searchmark.files.packed import found_file, inner_suffix
from searchmark.files.store import open_file

SUITE, RUN, CORPUS, TOPICS, REPORT, CONFIG, BASELINE, NONE = "suite", "run", "corpus", "topics", "report", "config", "baseline", ""
# What to do with a file that was given as something else.
_ADVICE = {
    SUITE: "name it with --suite",
    RUN: "name it with --run",
    CORPUS: "name it with --corpus",
    TOPICS: "name it with --topics, beside the judgments",
    REPORT: "show it with 'searchmark report', or name the run that it is about",
    CONFIG: "name it with --config",
    BASELINE: "name it with --against",
    NONE: "name a file that holds text, JSON, CSV or Parquet",
}
_HEAD = 1 << 16


@dataclass(frozen=True)
class FileKind:
    """A kind of file: what to call it, and what it can be given as; the first is what it is mostly meant for."""

    name: str
    roles: tuple[str, ...]

    @property
    def advice(self) -> str:
        return _ADVICE[self.roles[0]]


_BINARY = {
    b"SQLite format 3\0": FileKind("a SQLite database", (CORPUS,)),
    b"%PDF-": FileKind("a PDF", (NONE,)),
    b"BZh": FileKind("packed by bzip2, which is not unpacked here", (NONE,)),
    b"\xfd7zXZ": FileKind("packed by xz, which is not unpacked here", (NONE,)),
    b"\x7fELF": FileKind("a program", (NONE,)),
    b"\x89PNG": FileKind("a picture", (NONE,)),
    b"\xff\xd8\xff": FileKind("a picture", (NONE,)),
}
_RECORDS = {
    "run": FileKind("a saved run of Searchmark", (RUN, BASELINE)),
    "report": FileKind("a report of Searchmark", (REPORT,)),
    "audit": FileKind("an audit of Searchmark", (REPORT,)),
    "sweep": FileKind("a sweep of Searchmark", (REPORT,)),
    "journal": FileKind("a journal of answers of Searchmark", (NONE,)),
    "suite": FileKind("a suite of Searchmark", (SUITE,)),
}
_CONFIG = {"archive", "compare", "corpus", "dataset", "drift", "evaluation", "gates", "agents", "output", "suite", "versions"}
# Where suites keep their cases.
_LISTS = {"test_cases", "testCases", "fixtures", "cases", "benchmark_cases", "queries"}
_LISTS |= {"requests", "instances", "topics", "query_groups"}
_KEY = re.compile(r'"([^"\\]{1,80})"\s*:')
_YAML_KEY = re.compile(r"^([ \t-]*)([A-Za-z_][\w-]{0,79}):(?:\s|$)", re.MULTILINE)
_WHOLE, _NUMBER = re.compile(r"[+-]?\d{1,9}"), re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_RUN_WORDS, _QRELS_WORDS = 6, 4

# Fields of the entries of a file, the most telling first.
_BY_FIELDS: tuple[tuple[set[str], FileKind], ...] = (
    ({"ground_truth_files"}, FileKind("a gold set", (SUITE,))),
    ({"expectedIds"}, FileKind("a list of cases with expectedIds", (SUITE,))),
    ({"expected_ids"}, FileKind("a list of cases with expected_ids", (SUITE,))),
    ({"expected_symbols"}, FileKind("a suite of symbols", (SUITE,))),
    ({"documents", "query"}, FileKind("fixtures", (SUITE,))),
    ({"instance_id", "patch"}, FileKind("a SWE-bench file", (SUITE,))),
    ({"query_id", "item_id", "grade"}, FileKind("graded labels", (SUITE,))),
    ({"requests", "ratings"}, FileKind("a request to _rank_eval", (SUITE,))),
    ({"topics", "query_groups"}, FileKind("ratings of Rated Ranking Evaluator", (SUITE,))),
    ({"metrics"}, FileKind("a baseline of fixtures", (BASELINE,))),
    ({"_id", "title", "text"}, FileKind("a BEIR corpus", (CORPUS,))),
    ({"_id", "text"}, FileKind("documents or queries as BEIR has them", (CORPUS, TOPICS))),
    ({"id", "title", "text"}, FileKind("a corpus of documents", (CORPUS,))),
    ({"id", "text"}, FileKind("a corpus of documents", (CORPUS, TOPICS))),
    ({"id", "query"}, FileKind("a list of queries", (TOPICS,))),
)
_BY_COLUMNS: tuple[tuple[set[str], FileKind], ...] = (
    ({"query", "docid", "rating"}, FileKind("a table of ratings", (SUITE,))),
    ({"query", "docid", "rank"}, FileKind("a table of hits", (RUN,))),
    ({"query", "docid", "score"}, FileKind("a table of hits", (RUN,))),
    ({"query-id", "corpus-id", "score"}, FileKind("BEIR qrels", (SUITE,))),
    ({"id", "query"}, FileKind("a list of queries", (TOPICS,))),
    ({"id", "title"}, FileKind("a corpus of documents", (CORPUS,))),
    ({"id", "text"}, FileKind("a corpus of documents", (CORPUS,))),
)


@contextmanager
def telling_what_it_is(path: str | PathLike[str], role: str) -> Iterator[None]:
    """Where a file cannot be read as what it was given as, and is something else, say that instead of what was missed."""
    try:
        yield
    except FormatError as error:
        kind = recognised(path) if error.path == fspath(path) else None
        if kind is None or role in kind.roles:
            raise
        raise _mistaken(path, role, kind) from error


def refuse_others(path: str | PathLike[str], role: str) -> None:
    """Refuse a file that is surely something else, before a reader makes of it what it can."""
    kind = recognised(path)
    if kind is not None and role not in kind.roles:
        raise _mistaken(path, role, kind)


def _mistaken(path: str | PathLike[str], role: str, kind: FileKind) -> FormatError:
    return FormatError(path, None, f"is {kind.name}, not {role if role == TOPICS else f'a {role}'}; {kind.advice}")


def recognised(path: str | PathLike[str]) -> FileKind | None:
    """What a file or a folder is, if that can be told from its beginning."""
    if found_file(Path(path) / "queries.jsonl") and found_file(Path(path) / "corpus.jsonl"):
        return FileKind("a BEIR folder", (SUITE, CORPUS))
    try:
        with open_file(path) as file:
            head = file.read(_HEAD)
    except FormatError:
        return None
    binary = next((kind for magic, kind in _BINARY.items() if head.startswith(magic)), None)
    if binary is not None or b"\0" in head:
        return binary
    text = head.decode("utf-8-sig", "replace").lstrip()
    if text.startswith(("{", "[")):
        return _of_json(text, by_line=inner_suffix(path) in {".jsonl", ".ndjson"})
    return _of_marks(text) or _of_words(text) or _of_table(text) or _of_yaml(text)


def _of_json(text: str, *, by_line: bool) -> FileKind | None:
    line = _parsed(text.split("\n", 1)[0])
    if isinstance(line, dict) and (by_line or "\n" in text.strip()):
        return _of_record(line, set(line)) or _of_fields(set(line))
    data = _parsed(text)
    if isinstance(data, dict):
        return _of_record(data, set(data)) or _of_object(data)
    if isinstance(data, list):
        return _of_fields(set(data[0])) if data and isinstance(data[0], dict) else None
    names = {found[1] for found in _KEY.finditer(text)}  # of all levels: it is too long to be parsed for this
    record = re.search(r'"record"\s*:\s*"(\w+)"', text[:1000])
    of_us = _of_record({"record": record[1]} if record else {}, names)
    return of_us or (_of_fields(names) if text.startswith("[") or names & _LISTS else None)


def _of_object(data: dict[str, Any]) -> FileKind | None:
    """An object with a list of entries, or one with the hits or grades of each query."""
    entries = next((value for name, value in data.items() if name in _LISTS and isinstance(value, list) and value), None)
    if entries is not None:
        return _of_fields({*data, *entries[0]} if isinstance(entries[0], dict) else set(data))
    if data.keys() & _LISTS or not any(data.values()):
        return None
    if data.keys() <= _CONFIG:
        return FileKind("a config of Searchmark", (CONFIG,))
    return FileKind("a list of ids for each query, as runs are", (RUN,)) if all(map(_are_hits, data.values())) else None


def _are_hits(value: Any) -> bool:
    """Whether this is a list of ids or of hits, or a score for each id."""
    if isinstance(value, dict):
        return bool(value) and all(isinstance(score, int | float | None) for score in value.values())
    return isinstance(value, list) and all(isinstance(hit, str | int) or (isinstance(hit, dict) and "id" in hit) for hit in value)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _of_record(data: dict[str, Any], names: set[str]) -> FileKind | None:
    """Files of our own say what they are; suites and reports are also known by their parts."""
    record = data.get("record")
    if isinstance(record, str) and record in _RECORDS:
        return _RECORDS[record]
    if {"schema_version", "suite", "agents"} <= names:
        return _RECORDS["report"]
    return _RECORDS["suite"] if "schema_version" in names else None


def _of_fields(names: set[str]) -> FileKind | None:
    return next((kind for fields, kind in _BY_FIELDS if fields <= names), None)


def _of_marks(text: str) -> FileKind | None:
    head = text[:2000].lower()
    if re.search(r"<top(ic)?\b", head):
        return FileKind("TREC topics", (TOPICS,))
    return FileKind("TREC documents", (CORPUS,)) if re.search(r"<doc>", head) else None


def _lines(text: str) -> list[str]:
    """The first lines that say something; the last one may be cut."""
    return [line for line in text[:4096].split("\n") if line.strip() and not line.lstrip().startswith("#")][:5]


def _of_words(text: str) -> FileKind | None:
    lines = _lines(text)[:1]
    words = lines[0].split() if lines else []
    if len(words) == _RUN_WORDS and _NUMBER.fullmatch(words[4]) and (words[1] == "Q0" or _WHOLE.fullmatch(words[3])):
        return FileKind("a TREC run", (RUN,))
    if len(words) == _QRELS_WORDS and _WHOLE.fullmatch(words[3]) and "," not in lines[0]:
        return FileKind("TREC qrels", (SUITE,))
    return None


def _of_table(text: str) -> FileKind | None:
    lines = _lines(text)
    if not lines:
        return None
    separator = max(",;\t", key=lines[0].count)
    columns = [cell.strip().strip('"') for cell in lines[0].split(separator)]
    named = next((kind for known, kind in _BY_COLUMNS if known <= {name.lower() for name in columns}), None)
    two = all(len(line.split("\t")) == 2 for line in lines[:-1] or lines)  # noqa: PLR2004  # an id and a query
    return named or (FileKind("topics, lines of id and query", (TOPICS,)) if two and separator == "\t" else None)


def _of_yaml(text: str) -> FileKind | None:
    keys = [(not margin, name) for margin, name in _YAML_KEY.findall(text)]
    names = {name for is_top, name in keys if is_top}
    if "schema_version" in names:
        return _RECORDS["suite"]
    if {"agent", "grid"} <= names:
        return FileKind("the grid of a sweep", (CONFIG,))
    if names and names <= _CONFIG:
        return FileKind("a config of Searchmark", (CONFIG,))
    return _of_fields({name for _, name in keys}) if names & _LISTS else None
