"""A file that a suite is read from, whose entries know their places."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError
from searchmark.formats.detection import CASE_LISTS, snake_case
from searchmark.formats.input_file import InputFile, json_lines
from searchmark.io.data import parse_json
from searchmark.io.packed import inner_stem
from searchmark.io.rows import is_parquet
from searchmark.io.store import read_utf8
from searchmark.io.text import note

SCRIPT_EXTENSIONS = frozenset({".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx"})

HEADER_FIELDS = ("agent", "mode", "corpus", "gates", "only_in_ci", "skip_if_missing")  # beside the cases, in every format of ours

# What files say of themselves, and nobody needs to read.
_ABOUT_THE_FILE = (
    "schema_version", "name", "title", "description", "version", "metadata", "author", "source", "license", "created", "created_at",
    "approvals", "owner", "updated_at", "generated_at", "generated_by", "date", "note", "notes",
    "comment", "_comment", "total", "count",
)  # fmt: skip

NEARLY = 0.7  # alike enough to be a mistake in a name, as difflib counts

HIGHEST_NUMBER = 10**9 - 1

_WHOLE = re.compile(r"\s*([+-]?\d{1,12})(?:\.0*)?\s*")


def folder_name(folder: Path) -> str:
    """The name of a folder, also of ``.`` and of one that ends with ``..``; a link keeps its own."""
    return folder.name if folder.name not in ("", "..") else folder.resolve().name


@dataclass(frozen=True)
class Topics:
    """The file that holds the queries of judgments, and what it calls its fields."""

    path: Path
    field_names: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Source(InputFile):
    """One file or folder that a suite is read from."""

    pipe: bool = False  # whether it may be a pipe that is open already; such a source is asked for its text alone
    content: str | None = None  # the text, where it is known and the file is not to be read
    grades: Mapping[str, float] = field(default_factory=dict)  # what a grade that is written as a word is worth
    numbers: bool = False  # whether numbers of YAML become such: in suites they are ids, and text
    topics: Topics | None = None  # where the queries are, if they are in a second file

    @cached_property
    def text(self) -> str:
        return read_utf8(self.path, pipe=self.pipe) if self.content is None else self.content

    @property
    def name(self) -> str:
        """What a suite without a name of its own is called; ``.`` and ``..`` are folders that have one."""
        return folder_name(self.path) if self.path.is_dir() else inner_stem(self.path)

    @cached_property
    def head(self) -> str:
        """How the text begins, without reading all of it."""
        return (self.start(4096).decode("utf-8", "replace") if self.content is None else self.content[:4096]).lstrip()

    @property
    def first_line(self) -> str:
        """The first line that says something."""
        return next((line.strip() for line in self.head.split("\n") if line.strip() and not line.startswith("#")), "")

    @cached_property
    def structured(self) -> bool:
        """Whether this is JSON, JSONL, YAML or a script, by extension or else by how it begins."""
        extensions = {".json", ".jsonl", ".ndjson", ".yaml", ".yml"}
        return self.is_script or self.extension in extensions or self.head.startswith(("{", "[", "schema_version:"))

    @cached_property
    def by_line(self) -> bool:
        """Whether every line is a separate JSON value."""
        return self.extension in {".jsonl", ".ndjson"}

    @cached_property
    def is_parquet(self) -> bool:
        return self.content is None and not self.pipe and not self.path.is_dir() and is_parquet(self.path)

    @property
    def is_script(self) -> bool:
        """Whether this is TypeScript or JavaScript, of which one list of literals is read."""
        return self.extension in SCRIPT_EXTENSIONS

    @cached_property
    def is_yaml(self) -> bool:
        """Whether this is YAML and not JSON, which as YAML would be read with other eyes."""
        return not self.by_line and not self.is_script and self.extension != ".json" and not self.head.startswith(("{", "["))

    @cached_property
    def data(self) -> Any:
        """The whole content as plain data; for JSONL a list with one entry per line."""
        if self.by_line:
            return [value for _, value in self.lines]
        if self.is_script:
            from searchmark.formats.suites.literals import script_cases, value_of_span

            return value_of_span(script_cases(self.path, self.text).cases)
        if not self.is_yaml:
            return parse_json(self.path, self.text)
        from searchmark.io.data import parse_yaml

        return parse_yaml(self.path, self.text, numbers=self.numbers)

    @property
    def with_numbers(self) -> Source:
        """The same content, for what is no id: in requests to a search engine numbers are numbers."""
        return Source(self.path, content=self.text, numbers=True) if self.is_yaml else self

    @cached_property
    def lines(self) -> list[tuple[str, Any]]:
        """The values of a JSONL file with their places; blank lines are passed over."""
        return list(json_lines(self.path, self.text.split("\n")))

    def entries(self, *names: str) -> list[Entry]:
        """The mappings of a list: the content itself, or the list under one of these names, or a usual one."""
        names = names or CASE_LISTS
        if self.by_line:
            return [Entry.of(self.path, place, value) for place, value in self.lines]
        data, place = self.data, ""
        if isinstance(data, dict):
            top = Entry.of(self.path, "", data)
            place = next((name for name in names if isinstance(top.values.get(name), list)), names[0])
            data = top.listed(place)
        if not isinstance(data, list):
            raise FormatError(self.path, place or None, "is not a list")
        return [Entry.of(self.path, f"{place}.{row}" if place else str(row), value) for row, value in enumerate(data)]

    def top(self) -> Entry:
        """The mapping at the top; empty where the content is a list."""
        return Entry.of(self.path, "", self.data if isinstance(self.data, dict) else {})

    def rest(self, *names: str) -> dict[str, Any]:
        """What is at the top beside the cases, the header and these names."""
        return self.top().rest(*CASE_LISTS, *HEADER_FIELDS, *names)

    def name_unread_keys(self, entries: Iterable[Entry], fields: Collection[str], *top_fields: str) -> None:
        """Say which keys at the top are not read, and which fields of cases may be misspelt: cases can be split by any others."""
        top = self.top()
        unread = {name: _nearest(name, (*HEADER_FIELDS, *top_fields), top) for name in self.rest(*top_fields, *_ABOUT_THE_FILE)}
        for entry in entries:
            for name in entry.values.keys() - {*fields, *unread}:
                if near := _nearest(name, fields, entry):
                    unread[name] = near
        if unread:
            named = [f"{name!r}{f' (did you mean {near!r}?)' if near else ''}" for name, near in unread.items()]
            note(f"{self.path}: not read: {', '.join(named)}")


@dataclass(frozen=True, eq=False)
class Entry:
    """One mapping of a file and where it is."""

    path: Path
    place: str
    values: Mapping[str, Any]

    @classmethod
    def of(cls, path: Path, place: str, data: Any) -> Entry:
        if not isinstance(data, dict):
            raise FormatError(path, place or None, f"is {_type_in_words(data)}, not a mapping")
        values = {snake_case(str(key)): value for key, value in data.items()}
        if len(values) < len(data):
            raise FormatError(path, place or None, "duplicate key: two of its keys are the same in snake_case")
        return cls(path, place, values)

    def error(self, name: str, reason: str) -> FormatError:
        return FormatError(self.path, self._place_of(name), reason)

    def _place_of(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    def has(self, *names: str) -> bool:
        return any(self.values.get(name) is not None for name in names)

    def named(self, *names: str) -> tuple[str, Any]:
        """The first of these names that has a value, and the value; None under the first name where none has."""
        for name in names:
            value = self.values.get(name)
            if value is not None:
                return name, value
        return names[0], None

    def first(self, *names: str) -> Any:
        """The first value that one of these names has, whatever it is."""
        return self.named(*names)[1]

    def text(self, *names: str) -> str:
        """A text that must be there; a whole number is taken for its digits."""
        name, value = self.named(*names)
        if value is None:
            raise self.error(name, "is missing")
        text = as_text(value)
        if text is None:
            raise self.error(name, f"is {_type_in_words(value)}, not text")
        if not text.strip():
            raise self.error(name, "is empty")
        return text

    def maybe_text(self, *names: str) -> str | None:
        return self.text(*names) if self.has(*names) else None

    def known_text(self, *names: str) -> str | None:
        """A text that must be there and may be blank, which means that nobody knows it."""
        _, value = self.named(*names)
        return None if isinstance(value, str) and not value.strip() else self.text(*names)

    def whole(self, *names: str) -> int:
        """A whole number that must be there; ``2.0`` and, from CSV and YAML, ``"2"`` are 2."""
        name, value = self.named(*names)
        if value is None:
            raise self.error(name, "is missing")
        number = as_whole(value)
        if number is None or abs(number) > HIGHEST_NUMBER:
            raise self.error(name, f"{_shown(value)} is not a whole number of at most nine digits")
        return number

    def listed(self, *names: str) -> list[Any]:
        name, value = self.named(*names)
        if value is None:
            raise self.error(name, "is missing")
        if not isinstance(value, list):
            raise self.error(name, f"is {_type_in_words(value)}, not a list")
        return value

    def texts(self, *names: str) -> list[str]:
        """A list of texts; absent is empty."""
        if not self.has(*names):
            return []
        name, _ = self.named(*names)
        texts = []
        for row, value in enumerate(self.listed(*names)):
            text = as_text(value)
            if not text:
                raise self.error(f"{name}.{row}", f"{_shown(value)} is not text")
            texts.append(text)
        return texts

    def raw_mapping(self, name: str) -> Entry:
        """A mapping whose keys are ids, and stay as they are."""
        data = self.values.get(name)
        if not isinstance(data, dict):
            raise self.error(name, f"is {_type_in_words(data)}, not a mapping")
        return Entry(self.path, self._place_of(name), data)

    def mapping(self, name: str) -> Entry:
        return Entry.of(self.path, self._place_of(name), self.values.get(name))

    def entries(self, *names: str) -> list[Entry]:
        name, _ = self.named(*names)
        return [Entry.of(self.path, f"{self._place_of(name)}.{row}", value) for row, value in enumerate(self.listed(*names))]

    def rest(self, *names: str) -> dict[str, Any]:
        """All other values, under their names in snake_case."""
        return {name: value for name, value in self.values.items() if name not in names and value is not None}

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)


def _nearest(name: str, names: Iterable[str], entry: Entry) -> str | None:
    """The name that was probably meant, of those that are not there."""
    return next(iter(get_close_matches(name, [each for each in names if not entry.has(each)], 1, NEARLY)), None)


def as_text(value: Any) -> str | None:
    """Text as it is, a whole number as its digits, anything else not at all."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def as_whole(value: Any) -> int | None:
    """A whole number, also where it is written as 2.0 or as text; anything else not at all."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    match = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match else None


_TYPES_IN_WORDS = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}


def _type_in_words(value: Any) -> str:
    return _TYPES_IN_WORDS.get(type(value), "missing" if value is None else type(value).__name__)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."  # noqa: PLR2004  # as much as a sentence can bear
