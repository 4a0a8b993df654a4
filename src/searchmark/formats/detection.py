"""What kind of file this is, by how it begins: said when a file was taken for another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError
from searchmark.formats import CORPUS_FORMATS, Format, own_formats
from searchmark.io.packed import find_file, inner_suffix
from searchmark.io.rows import PARQUET_MAGIC, parquet_columns
from searchmark.io.store import open_file

# JSON of which only the beginning is there: what can be told of it.

_DEEPEST = 8

_JSON_DECODER = json.JSONDecoder()

_BLANKS = re.compile(r"[\s,:]*")


def parse_cut_json(text: str) -> Any:
    """The value that a text begins with; where it is cut, what comes before the cut. None if it is not JSON."""
    return _parse_value(text, _BLANKS.match(text).end(), 0)[0]  # type: ignore[union-attr]  # which matches everywhere


def _parse_value(text: str, at: int, depth: int) -> tuple[Any, int | None]:
    """A value and where it ends; None for the end of one that is cut."""
    try:
        return _JSON_DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        opening = text[at : at + 1]
    if depth >= _DEEPEST or opening not in ("{", "["):
        return None, None
    items: list[Any] = []
    end: int | None = at + 1
    while end is not None:
        place = _BLANKS.match(text, end).end()  # type: ignore[union-attr]  # as above
        value, end = _parse_value(text, place, depth + 1)
        if end is not None or value is not None:
            items.append(value)
    if opening == "[":
        return items, None
    return {name: value for name, value in zip(items[::2], items[1::2], strict=False) if isinstance(name, str)}, None


# Kinds of files and the names by which they are known: one table for their readers, and for readers that get the wrong file.

SUITE_ROLE, RUN_ROLE, CORPUS_ROLE, TOPICS_ROLE = "suite", "run", "corpus", "topics"

REPORT_ROLE, CONFIG_ROLE, BASELINE_ROLE, NO_ROLE = "report", "config", "baseline", ""


# What to do with a file that was given as something else.
_ADVICE = {
    SUITE_ROLE: "name it with --suite",
    RUN_ROLE: "name it with --run",
    CORPUS_ROLE: "name it with --corpus",
    TOPICS_ROLE: "name it with --topics, beside the judgments",
    REPORT_ROLE: "show it with 'searchmark report', or name the run that it is about",
    CONFIG_ROLE: "name it with --config",
    BASELINE_ROLE: "name it with --against",
    NO_ROLE: "name a file that holds text, JSON, CSV or Parquet",
}

_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(maxsize=4096)
def snake_case(name: str) -> str:
    """``expectedIds``, ``ExpectedIDs`` and ``Expected Ids`` as ``expected_ids``."""
    return re.sub(r"[\s-]+", "_", _CAMEL_HUMP.sub("_", name.strip())).lower()


@dataclass(frozen=True)
class FileKind:
    """A kind of file: what to call it, and what it can be given as; the first is what it is mostly meant for."""

    name: str
    roles: tuple[str, ...]

    @property
    def advice(self) -> str:
        return _ADVICE[self.roles[0]]


OUR_RECORD_KINDS = {
    "run": FileKind("a saved run of Searchmark", (RUN_ROLE, BASELINE_ROLE)),
    "report": FileKind("a report of Searchmark", (REPORT_ROLE,)),
    "audit": FileKind("an audit of Searchmark", (REPORT_ROLE,)),
    "sweep": FileKind("a sweep of Searchmark", (REPORT_ROLE,)),
    "journal": FileKind("a journal of answers of Searchmark", (NO_ROLE,)),
    "suite": FileKind("a suite of Searchmark", (SUITE_ROLE,)),
}


@dataclass(frozen=True)
class KindByNames:
    """Names in snake_case by which a kind of file is known, and the format of suites that it is, if any."""

    names: frozenset[str]
    kind: FileKind
    format: str | None = None


def _kinds_by_signs(*places: str) -> tuple[KindByNames, ...]:
    """What the signs of formats tell, the most telling first."""
    signs = sorted(((sign, each) for each in own_formats(Format) for sign in each.signs), key=lambda pair: pair[0].rank)
    return tuple(
        _kind_by_names(sign.names, sign.called, each.role, suite_format=each.name if each.role == SUITE_ROLE else None)
        for sign, each in signs
        if sign.place in places
    )


def _kind_by_names(names: str, name: str, *roles: str, suite_format: str | None = None) -> KindByNames:
    return KindByNames(frozenset(names.split()), FileKind(name, roles), suite_format)


# By the keys of the mapping at the top of a file.
KINDS_BY_TOP_NAMES = (
    KindByNames(frozenset({"schema_version", "suite", "agents"}), OUR_RECORD_KINDS["report"]),
    *_kinds_by_signs("top"),
)


# By the fields of the entries of a file, or the columns of a table.
KINDS_BY_ENTRY_NAMES = _kinds_by_signs("entry")

_KINDS_BY_COLUMN_NAMES = (
    *KINDS_BY_ENTRY_NAMES,
    _kind_by_names("metrics", "a baseline of fixtures", BASELINE_ROLE),
    *_kinds_by_signs("column"),
)


_DOCUMENTS = (
    _kind_by_names("_id title text", "a BEIR corpus", CORPUS_ROLE),
    _kind_by_names("_id text", "documents or queries as BEIR has them", CORPUS_ROLE, TOPICS_ROLE),
    _kind_by_names("id title", "a corpus of documents", CORPUS_ROLE),
    _kind_by_names("id text", "a corpus of documents", CORPUS_ROLE, TOPICS_ROLE),
)

_QUERIES = {"query", "question", "query_text", "query_id", "question_id", "qid", "q_id"}

_HITS = {"docid", "doc_id", "document_id", "docno", "product_id", "item_id", "corpus_id", "asin", "sku"}

_GRADES = {"rating", "grade", "relevance", "judgment", "judgement", "esci_label"}

_RANKS, _SCORES = {"rank", "position", "doc_position"}, {"score"}

_CASES, _HIT_LISTS = {"id", "case", "case_id"}, {"hits", "results", "retrieved", "ranking"}

_TEXTS = {"title", "text", "body", "content", "description", "abstract", "name", "answer"}

_EXPECTED = re.compile(r"(expected|relevant|gold|target|ground_truth)(_|$)|answer_files?$")

_ONLY_QUERIES = {"id", "_id", "qid", "query_id", "query", "category", "tags", "origin", "unanswerable"}


# Names that documents have too.
_COMMON_NAMES = {"ratings", "judgments"}

_ANSWERS = {"hits", "results", "response", "responses", "retrieved", "ranking", "candidates", "matches", "rank", "position"}


def kind_by_names(headings: Iterable[str]) -> FileKind | None:
    """What a table or a list with these columns or fields is, if they tell."""
    names = {snake_case(name) for name in headings}
    kind = _kind_of_names(names) or _kind_by_roles(names) or next((each.kind for each in _DOCUMENTS if each.names <= names), None)
    if kind is None or RUN_ROLE in kind.roles or not names & _ANSWERS:
        return kind
    return FileKind(kind.name, (*kind.roles, RUN_ROLE))  # what was expected and what was found, in one file


def _kind_of_names(names: set[str]) -> FileKind | None:
    candidates = (each for each in _KINDS_BY_COLUMN_NAMES if each.names <= names)
    return next((each.kind for each in candidates if not (each.names <= _COMMON_NAMES and names & _TEXTS)), None)


def _kind_by_roles(names: set[str]) -> FileKind | None:
    """Queries with grades, with ranks, with what should be found, or alone; with texts beside them it may be a corpus too."""
    also, has_expected = (CORPUS_ROLE,) if names & _TEXTS else (), any(map(_EXPECTED.match, names))
    if names & (_QUERIES | _CASES) and names & _HIT_LISTS and not has_expected:
        return FileKind("a list of answers", (RUN_ROLE, *also))
    if not names & _QUERIES:
        return None
    if names & _HITS and names & _GRADES and not names & _RANKS:
        return FileKind("a table of ratings", (SUITE_ROLE, *also))
    if names & _HITS and names & (_RANKS | _SCORES) and not names & _GRADES:
        return FileKind("a table of hits", (RUN_ROLE, *also))
    if has_expected and not names & (_RANKS | _SCORES):
        return FileKind("a table of queries and what should be found", (SUITE_ROLE, *also))
    is_list = "query" in names and names <= _ONLY_QUERIES and len(names) > 1
    return FileKind("a list of queries", (TOPICS_ROLE,)) if is_list else None


# What a file is, by how it begins: said where it was taken for something else.
#
# Readers know their own formats best. This is asked only when one of them has given up, or might mistake a file for its own.

_HEAD = 1 << 16


_BINARY = {
    CORPUS_FORMATS["sqlite"].magic: FileKind("a SQLite database", (CORPUS_ROLE,)),
    b"%PDF-": FileKind("a PDF", (NO_ROLE,)),
    b"BZh": FileKind("packed by bzip2, which is not unpacked here", (NO_ROLE,)),
    b"\xfd7zXZ": FileKind("packed by xz, which is not unpacked here", (NO_ROLE,)),
    b"\x7fELF": FileKind("a program", (NO_ROLE,)),
    b"\x89PNG": FileKind("a picture", (NO_ROLE,)),
    b"\xff\xd8\xff": FileKind("a picture", (NO_ROLE,)),
}


CONFIG_SECTIONS = {
    "agents", "archive", "compare", "corpus", "dataset", "drift", "evaluation", "gates", "output", "suite", "versions",
}  # fmt: skip


# Where suites keep their cases.
CASE_LISTS = ("test_cases", "fixtures", "cases", "benchmark_cases", "queries", "requests", "instances")

# Where files of other tools keep theirs.
FOREIGN_CASE_LISTS = ("questions", "data", "examples", "items", "rows", "samples", "pairs", "tests")

_CASE_LISTS = {*CASE_LISTS, *FOREIGN_CASE_LISTS[:3]}  # the others may hold anything

_YAML_KEY = re.compile(r"^([ \t-]*)([A-Za-z_][\w-]{0,79}):(?:\s|$)", re.MULTILINE)

_WHOLE, _NUMBER = re.compile(r"[+-]?\d{1,9}"), re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

_LETOR = re.compile(r"\S+\s+qid:\S")

_RUN_WORDS, _QRELS_WORDS = 6, 4

_BY_QUERY = FileKind("a list of ids for each query, as runs are", (RUN_ROLE,))

_JUDGMENT_LISTS = FileKind("a judgment list of OpenSearch", (SUITE_ROLE,))

_RESPONSE = FileKind("the response to one search", (RUN_ROLE,))

_RESPONSES = FileKind("the responses of a search engine by query", (RUN_ROLE,))


@contextmanager
def hint_at_file_kind(path: str | PathLike[str], role: str) -> Iterator[None]:
    """Where a file cannot be read as what it was given as, and is something else, say that instead of what was missed."""
    try:
        yield
    except FormatError as error:
        raise_hint(path, role, error)
        raise


def raise_hint(path: str | PathLike[str], role: str, error: FormatError) -> None:
    """Say that the file is something else, if it is, in place of the error."""
    kind = detect_kind(path) if error.path == fspath(path) else None
    if kind is not None and role not in kind.roles:
        raise _wrong_kind_error(path, role, kind) from error


def refuse_other_kinds(path: str | PathLike[str], role: str, others: tuple[str, ...] | None = None) -> None:
    """Refuse a file that is surely something else, or one of some ``others``, before a reader makes of it what it can."""
    kind = detect_kind(path)
    if kind is not None and role not in kind.roles and (others is None or kind.roles[0] in others):
        raise _wrong_kind_error(path, role, kind)


def _wrong_kind_error(path: str | PathLike[str], role: str, kind: FileKind) -> FormatError:
    return FormatError(path, None, f"is {kind.name}, not {role if role == TOPICS_ROLE else f'a {role}'}; {kind.advice}")


def detect_kind(path: str | PathLike[str]) -> FileKind | None:
    """What a file or a folder is, if that can be told from its beginning."""
    if find_file(Path(path) / "queries.jsonl") and find_file(Path(path) / "corpus.jsonl"):
        return FileKind("a BEIR folder", (SUITE_ROLE, CORPUS_ROLE))
    try:
        with open_file(path) as file:
            head = file.read(_HEAD)
        if head.startswith(PARQUET_MAGIC):
            return kind_by_names(parquet_columns(Path(path)))
    except FormatError:
        return None
    binary = next((kind for magic, kind in _BINARY.items() if head.startswith(magic)), None)
    if binary is not None or b"\0" in head:
        return binary
    text = head.decode("utf-8-sig", "replace").lstrip()
    if text.startswith(("{", "[")):
        return _kind_of_json(text, by_line=inner_suffix(path) in {".jsonl", ".ndjson"})
    return _kind_of_marks(text) or _kind_of_words(text) or _kind_of_table(text) or _kind_of_yaml(text)


def _kind_of_json(text: str, *, by_line: bool) -> FileKind | None:
    line, _, more = text.partition("\n")
    with suppress(ValueError, RecursionError):
        first = json.loads(line)
        if isinstance(first, dict) and (by_line or more.strip()):
            return _kind_of_record(first) or kind_by_names(first)
    data = parse_cut_json(text)
    if isinstance(data, dict):
        return _kind_of_record(data) or _kind_of_object(data)
    entry = data[0] if isinstance(data, list) and data else None
    return kind_by_names(entry) if isinstance(entry, dict) else None


def _kind_of_record(data: dict[str, Any]) -> FileKind | None:
    """Files of our own say what they are; others are also known by their parts."""
    record = data.get("record")
    if isinstance(record, str) and record in OUR_RECORD_KINDS:
        return OUR_RECORD_KINDS[record]
    keys = {snake_case(name) for name in data}
    return next((each.kind for each in KINDS_BY_TOP_NAMES if each.names <= keys), None)


def _kind_of_object(data: dict[str, Any]) -> FileKind | None:
    """An object with a list of entries, or one with the hits or grades of each query."""
    entries = next(
        (value for name, value in data.items() if snake_case(name) in _CASE_LISTS and isinstance(value, list) and value), None
    )
    if entries is not None:
        fields = entries[0] if isinstance(entries[0], dict) else {}
        return kind_by_names(fields) or kind_by_names({*data, *fields})
    if data.keys() & _CASE_LISTS or not any(data.values()):
        return None
    if data.keys() <= CONFIG_SECTIONS:
        return FileKind("a config of Searchmark", (CONFIG_ROLE,))
    if isinstance(data.get("hits"), dict):
        return _JUDGMENT_LISTS if has_judgment_lists(data) else _RESPONSE
    if all(isinstance(value, dict) and isinstance(value.get("hits"), dict) for value in data.values()):
        return _RESPONSES
    return _BY_QUERY if all(map(_are_hits, data.values())) else None


def has_judgment_lists(response: dict[str, Any]) -> bool:
    """Whether a response of OpenSearch has judgment lists among its hits."""
    hits = response["hits"].get("hits") if isinstance(response.get("hits"), dict) else None
    first = hits[0].get("_source") if isinstance(hits, list) and hits and isinstance(hits[0], dict) else None
    return isinstance(first, dict) and "judgmentRatings" in first


def _are_hits(value: Any) -> bool:
    """Whether this is a list of ids or of hits, or a score for each id."""
    if isinstance(value, dict):
        return bool(value) and all(isinstance(score, int | float | None) for score in value.values())
    return isinstance(value, list) and all(isinstance(hit, str | int) or (isinstance(hit, dict) and "id" in hit) for hit in value)


def _kind_of_marks(text: str) -> FileKind | None:
    head = text[:2000].lower()
    if re.search(r"<top(ic)?\b", head):
        return FileKind("TREC topics", (TOPICS_ROLE,))
    return FileKind("TREC documents", (CORPUS_ROLE,)) if re.search(r"<doc>", head) else None


def _first_lines(text: str) -> list[str]:
    """The first lines that say something; the last one may be cut."""
    return [line for line in text[:4096].split("\n") if line.strip() and not line.lstrip().startswith("#")][:5]


def _kind_of_words(text: str) -> FileKind | None:
    lines = _first_lines(text)[:1]
    words = lines[0].split() if lines else []
    if len(words) == _RUN_WORDS and _NUMBER.fullmatch(words[4]) and (words[1] == "Q0" or _WHOLE.fullmatch(words[3])):
        return FileKind("a TREC run", (RUN_ROLE,))
    if len(words) == _QRELS_WORDS and _WHOLE.fullmatch(words[3]) and "," not in lines[0]:
        return FileKind("TREC qrels", (SUITE_ROLE,))
    return FileKind("a list for learning to rank", (SUITE_ROLE,)) if lines and _LETOR.match(lines[0]) else None


def _kind_of_table(text: str) -> FileKind | None:
    lines = _first_lines(text)
    if not lines:
        return None
    separator = max(",;\t", key=lines[0].count)
    if separator not in lines[0]:
        return None
    columns = [cell.strip().strip('"') for cell in lines[0].split(separator)]
    two = all(len(line.split("\t")) == 2 for line in lines[:-1] or lines)  # noqa: PLR2004  # an id and a query
    topics = FileKind("topics, lines of id and query", (TOPICS_ROLE,)) if two and separator == "\t" else None
    return kind_by_names(columns) or _kind_of_book(columns, lines[1:-1] or lines[1:], separator) or topics


def _kind_of_book(columns: list[str], lines: list[str], separator: str) -> FileKind | None:
    """The judgments of a book of Quepid: behind query and document a column of numbers for each judge."""
    ratings = [cell.strip() for line in lines for cell in line.rsplit(separator, len(columns) - 2)[1:]]
    is_book = columns[:2] == ["query", "docid"] and any(ratings) and all(_NUMBER.fullmatch(cell) for cell in ratings if cell)
    return FileKind("a book of Quepid", (SUITE_ROLE,)) if is_book else None


def _kind_of_yaml(text: str) -> FileKind | None:
    keys = [(not margin, name) for margin, name in _YAML_KEY.findall(text)]
    names = {name for is_top, name in keys if is_top}
    if {"agent", "grid"} <= names:
        return FileKind("the grid of a sweep", (CONFIG_ROLE,))
    if names and names <= CONFIG_SECTIONS:
        return FileKind("a config of Searchmark", (CONFIG_ROLE,))
    return _kind_of_record(dict.fromkeys(names)) or (kind_by_names(name for _, name in keys) if names & _CASE_LISTS else None)
