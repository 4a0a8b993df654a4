"""Documents from files: JSON, CSV, Parquet, SQLite, TREC and SMART, read piece by piece."""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, count, islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from searchmark.errors import FormatError, UsageError, shortened
from searchmark.formats import CORPUS_FORMATS, CorpusFormat, all_formats, first_that_fits, own_formats, plugin_that_fits
from searchmark.formats.corpora.folder import TOOL_FOLDERS
from searchmark.formats.corpora.source import DocumentSource, FieldMapping
from searchmark.formats.detection import CORPUS_ROLE, RUN_ROLE, SUITE_ROLE, hint_at_file_kind, refuse_other_kinds
from searchmark.formats.input_file import InputFile, column_names, json_lines, table_records
from searchmark.io.data import plain_value, strict_decoder
from searchmark.io.packed import detect_packing
from searchmark.io.paths import walk
from searchmark.io.rows import csv_rows
from searchmark.io.sqlite import open_to_read, sql_name
from searchmark.io.store import BOM, open_file, open_stored
from searchmark.io.text import bytes_as_text, not_utf8_error, unescape_entities
from searchmark.records.document import Document

if TYPE_CHECKING:
    import apsw


# TREC documents: ``<DOC>`` after ``<DOC>`` in a file, with DOCNO and whatever tags a collection has.
#
# They look like SGML and are no valid XML: tags are not nested by rule, entities are not declared, and older collections are
# Latin-1. So each document is cut out by its first and last tag, and an element ends at the next tag that could end it.

_LARGEST_TREC_DOCUMENT = 1 << 26  # bytes of one document: what has no end is not read to the end

_TREC_HEAD = 4096


# What is repeated never gives back what it took: of a stranger's blanks and letters there may be millions.
_AROUND_DOC = rb"\s*+(?:<\?xml[^<>]*+>|</?[A-Za-z][\w.-]*+>)?\s*+"  # some wrap the documents into one element

_FIRST_DOC = re.compile(rb"(?:\xef\xbb\xbf)?" + _AROUND_DOC + _AROUND_DOC + rb"<DOC>", re.IGNORECASE)

_DOC_BEGIN, _DOC_END = re.compile(rb"\s*+<DOC>", re.IGNORECASE), re.compile(rb"</DOC>", re.IGNORECASE)

_AROUND_LINE = re.compile(rb"(?:\xef\xbb\xbf)?" + _AROUND_DOC)

_DOCNO = re.compile(r"<DOCNO>([^<]*+)</DOCNO>", re.IGNORECASE)

_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*+)[^<>]*+>")

_MARKUP = re.compile(r"</?[A-Za-z!?][^<>]*+>")

_TITLE_TAGS = ("title", "headline", "head", "ti", "hl")

_TEXT_TAGS = ("text", "abstract", "body", "content")

_HEADER_ELEMENT = "dochdr"

_HEADER_TAG = re.compile(rf"<(/?){_HEADER_ELEMENT}>", re.IGNORECASE)

_PAGE_TITLE = re.compile(r"<title\b[^<>]*+>([^<]*+)</title>", re.IGNORECASE)

_SPACES = re.compile(r"[ \t]+")


def is_trec_start(file: InputFile) -> bool:
    """Whether the first thing in a file is a document of TREC's."""
    return _FIRST_DOC.match(file.start(_TREC_HEAD)) is not None


def is_trec_document(path: Path) -> bool:
    """Whether a file begins so and the id of the document follows: other texts may begin with that tag, too."""
    try:
        with open_file(path) as file:
            head = file.read(_TREC_HEAD)
    except (FormatError, OSError):
        return False
    return _FIRST_DOC.match(head) is not None and b"<docno>" in head.lower()


def trec_records(file: InputFile) -> Iterator[tuple[str, dict[str, str]]]:
    """Each document with the place where it begins: its id, title and text, and its other elements by their names."""
    path = file.path
    for line, raw in _trec_documents(path):
        place = f"line {line}"
        text = decode_text(raw)
        number = _DOCNO.search(text)
        identity = "" if number is None else unescape_entities(number[1]).strip()
        if number is None or not identity:
            raise FormatError(path, place, "this <DOC> has no <DOCNO>, which is the id of a TREC document")
        yield place, _trec_record(identity, text[: number.start()] + text[number.end() :])


def decode_text(raw: bytes) -> str:
    """Text in UTF-8, or else in Latin-1, as older collections are."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _trec_documents(path: Path) -> Iterator[tuple[int, bytes]]:
    """What is between <DOC> and </DOC>, with the number of the line where it begins."""
    lines: list[bytes] = []
    size = first_line = 0
    with open_file(path) as file:
        for number, line in enumerate(file, 1):
            if not first_line:
                opening = _DOC_BEGIN.match(line.removeprefix(BOM))
                if opening is None and _AROUND_LINE.fullmatch(line):
                    continue
                if opening is None:
                    raise FormatError(path, f"line {number}", "a TREC document begins with <DOC>")
                first_line, line = number, line.removeprefix(BOM)[opening.end() :]  # noqa: PLW2901  # the rest of it
            end = _DOC_END.search(line)
            lines.append(line if end is None else line[: end.start()])
            size += len(line)
            if size > _LARGEST_TREC_DOCUMENT:
                raise FormatError(
                    path, f"line {first_line}", f"this <DOC> has more than {_LARGEST_TREC_DOCUMENT >> 20} MB, or no </DOC>"
                )
            if end is not None:
                if line[end.end() :].strip():
                    raise FormatError(path, f"line {number}", "something follows </DOC> on its line")
                yield first_line, b"".join(lines)
                lines, size, first_line = [], 0, 0
    if first_line:
        raise FormatError(path, f"line {first_line}", "this <DOC> has no </DOC>")


def _trec_record(identity: str, text: str) -> dict[str, str]:
    parts: dict[str, list[str]] = {}
    for name, content in _elements(text):
        parts.setdefault(name, []).append(_without_markup(content))
    if not any(name in parts for name in _TEXT_TAGS):  # pages of the web, which have other tags
        parts = {name: parts[name] for name in (*_TITLE_TAGS, _HEADER_ELEMENT) if name in parts} | _web_page(text)
    fields = {name: "\n".join(filter(None, values)) for name, values in parts.items()}
    title = " ".join(filter(None, (fields.pop(name, "") for name in _TITLE_TAGS)))
    body = "\n".join(filter(None, (fields.pop(name, "") for name in _TEXT_TAGS)))
    others = {name: value for name, value in fields.items() if value and name not in {"id", "docid"}}
    return {"id": identity, "title": " ".join(title.split()), "text": body, **others}


def _web_page(text: str) -> dict[str, list[str]]:
    """A page without what the server said about it; its title is in its own head, and no part of its text."""
    tags = list(islice(_HEADER_TAG.finditer(text), 2))
    page = text[: tags[0].start()] + text[tags[1].end() :] if [tag[1] for tag in tags] == ["", "/"] else text
    title = _PAGE_TITLE.search(page)
    if title is None:
        return {"text": [_without_markup(page)]}
    return {"title": [_without_markup(title[1])], "text": [_without_markup(page[: title.start()] + " " + page[title.end() :])]}


def _elements(text: str) -> Iterator[tuple[str, str]]:
    """The elements on the top level; a tag that none of the following could end is no element."""
    ends: dict[str, list[tuple[int, int]]] = {}
    for tag in _TAG.finditer(text):
        if tag[1]:
            ends.setdefault(tag[2].lower(), []).append(tag.span())
    after = 0
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if tag[1] or tag.start() < after or name not in ends:
            continue
        at = bisect(ends[name], (tag.end(), 0))
        if at < len(ends[name]):
            start, after = ends[name][at]
            yield name, text[tag.end() : start]


def _without_markup(text: str) -> str:
    lines = (_SPACES.sub(" ", line).strip() for line in unescape_entities(_MARKUP.sub(" ", text)).splitlines())
    return "\n".join(filter(None, lines))


# Folders that hold a collection as others hand it out, and not one document per file.

BEIR_CORPUS_NAMES = ("corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst", "corpus.jsonl.zip", "corpus.parquet")

FILES_SAMPLED = 20  # files, of which most must be of a kind

FOLDERS_SAMPLED = 1000  # in which these are looked for

_ACCOMPANYING_NAMES = ("read", "licen", "notice")  # what lies beside a collection


def find_collection(folder: Path) -> Path | None:
    """The file or folder with the documents of a collection; None for a folder whose files are documents themselves."""
    corpus_file = next((folder / name for name in BEIR_CORPUS_NAMES if (folder / name).is_file()), None)
    if corpus_file is not None:
        return corpus_file
    for each in (folder / "corpus", folder):
        if each.is_dir() and any(each.glob("*.parquet")) and not _other_entries(each, ".parquet"):
            return each
    return folder if _is_trec(folder) else None


def collection_files(folder: Path) -> list[Path]:
    """The files of a collection in a folder: its Parquet files, or those with TREC documents, in path order."""
    tables = sorted(folder.glob("*.parquet"))
    return tables or sorted(path for path in _iterate_files(folder) if is_trec_document(path))


def count_accompanying_files(folder: Path) -> int:
    """How many files there are in the folder of a collection that hold none of its documents."""
    of_collection = set(collection_files(folder))
    others = (path for path in _iterate_files(folder) if path not in of_collection and not _is_accompanying(path))
    return sum(not any(part.startswith(".") for part in path.relative_to(folder).parts) for path in others)


def _other_entries(folder: Path, suffix: str) -> list[Path]:
    """What speaks against a folder of such files alone: other files, and folders, which may hold a program."""
    return [path for path in folder.iterdir() if (path.is_dir() or path.suffix.lower() != suffix) and not _is_accompanying(path)]


def _is_trec(folder: Path) -> bool:
    """Whether most of the first files begin as a TREC document."""
    paths = (path for path in _iterate_files(folder, FOLDERS_SAMPLED) if not _is_accompanying(path))
    first = list(islice(paths, FILES_SAMPLED))
    return sum(map(is_trec_document, first)) * 2 > len(first)


def _is_accompanying(path: Path) -> bool:
    return path.name.startswith(".") or path.name.lower().startswith(_ACCOMPANYING_NAMES)


def _iterate_files(folder: Path, most_folders: int | None = None) -> Iterator[Path]:
    """The files below a folder in path order, found one by one: it may be a whole work tree, of which only the first are wanted."""
    for parent, folders, names in islice(walk(folder), most_folders):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in TOOL_FOLDERS)
        paths = (Path(parent, name) for name in sorted(names))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


# The format of SMART, in which Cranfield, CISI, MED and CACM come: ``.I 1``, then a line for each field that follows.

SMART_START = re.compile(rb"\s*\.I\s+\S+[ \t]*\r?\n\.[A-Z][ \t]*\r?\n")

_LARGEST_SMART_DOCUMENT = 1 << 27  # bytes of one document

_SMART_FIELD = re.compile(rb"\.([A-Z])\s*\Z")


_SMART_FIELD_NAMES = {
    "T": "title", "W": "text", "A": "author", "B": "source", "K": "keywords", "C": "categories", "N": "entered", "X": "references"
}  # fmt: skip


def is_smart_start(file: InputFile) -> bool:
    return SMART_START.match(file.start(_HEAD_OF_FILE)) is not None


def smart_records(file: InputFile) -> Iterator[tuple[str, dict[str, str]]]:
    """Each document with the place where it begins; fields that have no usual name keep their letter."""
    for place, identity, lines in _smart_documents(file.path):
        parts: dict[str, list[bytes]] = {}
        into: list[bytes] = []  # what comes before the first field belongs to none
        for line in lines:
            field = _SMART_FIELD.match(line)
            if field is None:
                into.append(line)
            else:
                letter = field[1].decode()
                into = parts.setdefault(_SMART_FIELD_NAMES.get(letter, letter.lower()), [])
        fields = {name: decode_text(b"".join(part)).strip() for name, part in parts.items()}
        title = " ".join(fields.pop("title", "").split())  # one line, however it is broken
        yield place, {"id": identity, "title": title, "text": "", **fields}


def _smart_documents(path: Path) -> Iterator[tuple[str, str, list[bytes]]]:
    """The lines of each document, with its place and its number."""
    place, identity, lines, size = "", "", list[bytes](), 0
    with open_file(path) as file:
        for number, line in enumerate(file, 1):
            if line.startswith((b".I ", b".I\t", BOM + b".I ")):
                if place:
                    yield place, identity, lines
                place, identity = f"line {number}", decode_text(line.removeprefix(BOM)[2:]).strip()
                lines, size = [], 0
            elif place:
                lines.append(line)
                size += len(line)
            elif line.strip():
                raise FormatError(path, f"line {number}", "a document of SMART begins with .I and its number")
            if size > _LARGEST_SMART_DOCUMENT:
                raise FormatError(path, place, f"this document has more than {_LARGEST_SMART_DOCUMENT >> 20} MB")
    if place:
        yield place, identity, lines


# Rows of a table in a SQLite database that may be anybody's: opened to read, and nothing in it is run.
#
# Views, virtual tables, triggers and computed columns are left alone: they are code, written by others.

_SELECT_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'create virtual%' AND name NOT LIKE 'sqlite\\_%' "
    "ESCAPE '\\' ORDER BY name"
)

_SELECT_VIRTUAL_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'create virtual%'"

_TABLES_SHOWN = 300


def sqlite_records(file: InputFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row of a table with its place; its name may be left out where there is one only."""
    import apsw

    path = file.path
    with open_stored(path) as raw:
        if packing := detect_packing(raw.peek(4)):
            raise FormatError(path, None, f"holds a SQLite database that is packed by {packing}; unpack it first")
    try:
        connection = open_to_read(path)
        try:
            table_name = _choose_table(path, connection, file.field_names.get("table"))
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({sql_name(table_name)})")]
            column_list = ", ".join(map(sql_name, columns))
            rows = connection.execute(f"SELECT {column_list} FROM {sql_name(table_name)}")  # noqa: S608  # quoted names
            for number, row in enumerate(rows, 1):
                values = (bytes_as_text(value) if isinstance(value, bytes) else value for value in row)
                yield f"{table_name}, row {number}", dict(zip(columns, values, strict=True))
        finally:
            connection.close()
    except UnicodeDecodeError as error:
        raise FormatError(path, None, "holds text that is not UTF-8; store it as UTF-8, or as a BLOB") from error
    except apsw.Error as error:
        raise FormatError(path, None, f"cannot be read as a SQLite database: {shortened(str(error), _TABLES_SHOWN)}") from error


def _choose_table(path: Path, connection: apsw.Connection, table: str | None) -> str:
    names = [str(row[0]) for row in connection.execute(_SELECT_TABLES)]
    virtual = [str(row[0]) for row in connection.execute(_SELECT_VIRTUAL_TABLES)]
    # A full-text or vector table keeps its rows in further tables, which are named after it.
    tables = [name for name in names if not any(name.startswith(f"{each}_") for each in virtual)]
    table_list = shortened(", ".join(tables), _TABLES_SHOWN)
    if table is not None:
        table_name = next((name for name in names if name.lower() == table.lower()), None)
        if table_name is None:
            raise FormatError(path, None, f"has no table {table!r} that can be read; the tables are {table_list or 'none'}")
        return table_name
    if len(tables) != 1:
        reason = f"has {len(tables)} tables ({table_list}); name one with --map table={tables[0]}" if tables else "has no table"
        raise FormatError(path, None, reason)
    return tables[0]


# Rows of a file that is read as UTF-8 piece by piece.

T = TypeVar("T")


def explain_decode_errors(path: str | PathLike[str], rows: Iterator[T]) -> Iterator[T]:
    """The rows; where the decoder gives up, the line and the byte are looked for and named."""
    try:
        yield from rows
    except UnicodeDecodeError as error:
        with open_file(path) as file:
            raise not_utf8_error(path, file) from error


# Documents from files of records, read piece by piece: memory holds a few documents, not the file.

_PIECE = 1 << 20

_HEAD_OF_FILE = 1024

_JSON_BLANKS = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class FileSource(DocumentSource):
    """The documents of one file, or of the files of one collection, named in messages as it was given."""

    path: Path
    mapping: FieldMapping

    def __reduce__(self) -> tuple[type[FileSource], tuple[Path, FieldMapping]]:
        return FileSource, (self.path.absolute(), self.mapping)  # another process may have another working directory

    def stream(self) -> Iterator[Document | None]:
        yield from stream_documents(self.path, self.mapping)
        if self.path.is_dir():
            yield from (None for _ in range(count_accompanying_files(self.path)))


def stream_documents(path: Path, mapping: FieldMapping) -> Iterator[Document]:
    """The documents of a file, in its order; a record that is none is refused with its place.

    A mapping to a field that no record has is refused at the end: only then is that known.
    """
    if mapping.named:  # by a person who knows what the file is
        yield from _read_documents(path, mapping)
        return
    refuse_other_kinds(path, CORPUS_ROLE, (SUITE_ROLE, RUN_ROLE))  # tables of ratings and of hits have ids of documents too
    with hint_at_file_kind(path, CORPUS_ROLE):
        yield from _read_documents(path, mapping)


def _read_documents(path: Path, mapping: FieldMapping) -> Iterator[Document]:
    missing, names = mapping.named, set[str]()
    for place, record in explain_decode_errors(path, _read_records(path, mapping)):
        if not isinstance(record, dict):
            raise FormatError(path, place, "is not a mapping")
        if missing:
            missing, names = missing - record.keys(), names | record.keys()
        document = mapping.document(record)
        if isinstance(document, str):
            raise FormatError(path, place, document)
        yield document
    if missing and names:
        fields = shortened(", ".join(sorted(names)), 300)
        raise FormatError(path, None, f"no document has the field {min(missing)!r} that the mapping names; the fields are {fields}")


def _read_records(path: Path, mapping: FieldMapping) -> Iterator[tuple[str, Any]]:
    """The records of a file, or of all files of a collection, each with its place."""
    if path.is_dir():
        for file in collection_files(path):
            for place, record in _read_records(file, mapping):
                yield f"{file.relative_to(path).as_posix()}, {place}", record
        return
    source = InputFile(path, {} if mapping.table is None else {"table": mapping.table})
    chosen = _detect_format(source)
    if chosen.name in CORPUS_FORMATS:
        yield from chosen.call(path, chosen.read, source)
    else:
        yield from _records_of_plugin(source, chosen)


def _detect_format(file: InputFile) -> CorpusFormat:
    """The format by the ending of the name, or else by how the content begins."""
    by_name = next((each for each in own_formats(CorpusFormat) if file.extension in each.extensions), None)
    if by_name is not None:
        return by_name
    head = file.start(_HEAD_OF_FILE)
    if not head:
        raise file.error(None, "is empty; a corpus holds documents")
    by_magic = next((each for each in own_formats(CorpusFormat) if each.magic and head.startswith(each.magic)), None)
    chosen = by_magic or first_that_fits(CorpusFormat, file, "head") or plugin_that_fits(CorpusFormat, file)
    if chosen is None:
        *others, last = [each.called or each.name for each in all_formats(CorpusFormat) if each.name != "jsonl"]  # told with JSON
        raise file.error(None, f"is not a corpus: it is none of {', '.join(others)} and {last}, and not a directory")
    return chosen


def _records_of_plugin(file: InputFile, chosen: CorpusFormat) -> Iterator[tuple[str, Any]]:
    """What code of others yields, which may fail after any of its records."""
    records = chosen.call(file.path, iter, chosen.call(file.path, chosen.read, file))
    for number in count(1):
        record = chosen.call(file.path, next, records, None)
        if record is None:
            return
        yield f"record {number}", record


def _open_text(path: Path) -> TextIOWrapper:
    return TextIOWrapper(open_file(path), encoding="utf-8-sig", newline="")


def records_of_lines(file: InputFile) -> Iterator[tuple[str, Any]]:
    with _open_text(file.path) as lines:
        yield from json_lines(file.path, (line.strip("\r\n") for line in lines))


def records_of_csv(file: InputFile) -> Iterator[tuple[str, Any]]:
    """A comma separates, unless the header has none and has one of the others that programs write."""
    with _open_text(file.path) as lines:
        first = lines.readline()
        delimiter = "\t" if file.extension == ".tsv" else next((each for each in ",;\t" if each in first), ",")
        rows = csv_rows(file.path, chain([first], lines), delimiter)
        yield from table_records(file.path, ((line, row) for line, row in rows if any(row)), column_names(file.path, rows, str))


def records_of_array(source: InputFile) -> Iterator[tuple[str, Any]]:
    """The values of a JSON array one after the other, without the array."""
    path = source.path
    with _open_text(path) as file:
        window = _TextWindow(path, file)
        if window.next_char() != "[":
            raise FormatError(path, None, "is not a JSON array of documents")
        window.take(1)
        number = 0
        while window.next_char() != "]":
            if not window.next_char():
                raise FormatError(path, f"document {number}", "the array does not end")
            if number:
                if window.next_char() != ",":
                    raise FormatError(
                        path, f"document {number}", "not valid JSON: a comma or the end of the array is missing before it"
                    )
                window.take(1)
                window.next_char()
            yield f"document {number}", window.value(f"document {number}")
            number += 1
        window.take(1)
        if window.next_char():
            raise FormatError(path, None, "not valid JSON: something follows the array")


@dataclass
class _TextWindow:
    """The part of a file that is being looked at."""

    path: Path
    file: Any
    buffer: str = ""
    position: int = 0
    ended: bool = False

    def read_more(self) -> None:
        """Drop what was taken and read on, more each time that one value needs more."""
        rest = self.buffer[self.position :]
        piece = self.file.read(max(_PIECE, len(rest)))
        self.buffer, self.position, self.ended = rest + piece, 0, not piece

    def take(self, count: int) -> None:
        self.position += count

    def next_char(self) -> str:
        """Pass over blanks; the character after them, nothing at the end."""
        while True:
            self.position = _JSON_BLANKS.match(self.buffer, self.position).end()  # type: ignore[union-attr]  # matches always
            if self.position < len(self.buffer) or self.ended:
                return self.buffer[self.position : self.position + 1]
            self.read_more()

    def value(self, place: str) -> Any:
        """The JSON value that begins here."""
        while True:
            try:
                value, end = strict_decoder().raw_decode(self.buffer, self.position)
            except json.JSONDecodeError as error:
                if self.ended:
                    reason = (
                        "the array does not end" if not self.buffer[self.position :].strip() else f"not valid JSON: {error.msg}"
                    )
                    raise FormatError(self.path, place, reason) from error
            except (RecursionError, ValueError) as error:
                raise FormatError(self.path, place, f"not valid JSON: {error}") from error
            else:
                if end < len(self.buffer) or self.ended:  # a number at the very end of the window might continue
                    self.position = end
                    return value
            self.read_more()


# Documents from tables: DataFrames of pandas and polars, and Arrow.


def documents_of_frame(table: Any, mapping: FieldMapping | Mapping[str, str] | None) -> list[Document]:
    """One document per row; a cell that is empty is none of its fields, and a row without an id is refused."""
    from searchmark.records.dataframes import is_missing, table_columns  # numpy: agents load this module

    columns = table_columns(table)
    items = () if isinstance(mapping, FieldMapping) else tuple(f"{role}={name}" for role, name in (mapping or {}).items())
    fields = mapping if isinstance(mapping, FieldMapping) else FieldMapping.parse(items)
    unknown = min((name for name in fields.named if name not in columns), default=None)
    if unknown is not None:
        column_list = shortened(", ".join(columns), 300)
        raise UsageError(f"mapping: the frame has no column {unknown!r}; its columns are {column_list}")
    documents = []
    for row, values in enumerate(zip(*columns.values(), strict=True)):
        record = {name: plain_value(value) for name, value in zip(columns, values, strict=True) if not is_missing(value)}
        document = fields.document(record)
        if isinstance(document, str):
            raise UsageError(f"row {row} of the frame {document}; its columns are {shortened(', '.join(columns), 300)}")
        documents.append(document)
    return documents
