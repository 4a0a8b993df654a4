"""JSON, YAML, TOML and CBOR as plain data, checked against records, with the field that is wrong. Also versions of our files."""

from __future__ import annotations

import json
import math
import re
import struct
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import date, datetime, time
from difflib import get_close_matches
from functools import cache
from json.encoder import encode_basestring_ascii
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import IO, TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from searchmark.errors import FormatError, UsageError, shortened

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import ErrorDetails

# JSON over several lines, row by row: a file may have more rows than fit into memory.


def write_rows(file: IO[bytes], name: str, rows: Iterable[bytes], metadata: Mapping[str, Any]) -> None:
    """Write an object of two parts: the list ``name`` with its rows, which are JSON already, and ``metadata``."""
    file.write(f'{{\n  "{name}": ['.encode())
    separator = b"\n    "
    for row in rows:
        file.write(separator)
        file.write(row)
        separator = b",\n    "
    file.write(b"\n  ]" if separator[:1] == b"," else b"]")
    file.write(f',\n  "metadata": {_indent_json(metadata, "  ")}\n}}\n'.encode("ascii"))


def row_text(row: Mapping[str, Any]) -> bytes:
    """A row as the file has it."""
    return _indent_json(row, "    ").encode("ascii")


def _indent_json(value: object, margin: str) -> str:
    """What ``json.dumps(value, indent=2)`` writes, behind a margin and without its generators, which take most of the time."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    inner = f"{margin}  "
    if isinstance(value, dict) and value and all(isinstance(key, str) for key in value):
        lines = [f"{inner}{encode_basestring_ascii(key)}: {_indent_json(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join([f"{inner}{_indent_json(item, inner)}" for item in value]) + f"\n{margin}]"
    if isinstance(value, dict) and value:  # with keys that must become text first
        return _indent_json(json.loads(json.dumps(value)), margin)
    return json.dumps(value)


# Data as JSON could hold it, whatever file it came from: nested to a bound, so that nothing later can run out of stack.

# Far deeper than anything that was written on purpose, and far from where Python's own stack ends.
DEEPEST_NESTING = 100

LARGEST_INTEGER = 1 << 63

ALIASES_EXPAND = "its aliases expand to more than the file itself"

TOO_DEEP = f"is nested more than {DEEPEST_NESTING} levels deep"


def is_too_deep(value: Any, deepest: int = DEEPEST_NESTING) -> bool:
    """Whether lists and mappings lie inside each other more than so many levels deep; an endless nest is one."""
    level = [value]
    for _ in range(deepest + 1):
        level = [inner for each in level if isinstance(each, dict | list | tuple) for inner in inner_values(each)]
        if not level:
            return False
    return True


def inner_values(value: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def check_plain(path: Path, data: Any, most: int | None = None) -> None:
    """Refuse data that JSON could not hold, that is nested too deeply, or that has more than so many values."""
    level, depth, budget = [data], 0, most
    while level:
        budget = None if budget is None else budget - len(level)
        if budget is not None and budget < 0:
            raise FormatError(path, None, ALIASES_EXPAND)
        if depth > DEEPEST_NESTING:
            raise FormatError(path, None, TOO_DEEP)
        if any(map(odd_value, level)):
            raise _odd_data(path, data)
        level = [inner for each in level if isinstance(each, dict | list) for inner in inner_values(each)]
        depth += 1


def _odd_data(path: Path, data: Any) -> FormatError:
    """The error about the first odd value; its place is looked for only now, since that takes longer."""
    level = [("", data)]
    while True:
        for place, value in level:
            if reason := odd_value(value):
                return FormatError(path, place or None, reason)
        level = [(f"{place}.{name}".lstrip("."), inner) for place, value in level for name, inner in _named_values(value)]


def _named_values(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def odd_value(value: Any) -> str | None:
    """What is wrong with one value that JSON could not hold, or that is no number to compute with; None if nothing is."""
    if isinstance(value, dict):
        odd = next((key for key in value if not isinstance(key, str | int | float | None)), None)
        return None if odd is None else f"a key is {type(odd).__name__}, not text"
    if isinstance(value, bool | str | list | None):
        return None
    if isinstance(value, int):
        return None if -LARGEST_INTEGER <= value < LARGEST_INTEGER else "a whole number has more than 64 bits"
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{value} is not a finite number"
    return f"a value is {type(value).__name__}, not text, number, list or mapping"


def dates_as_text(value: Any) -> Any:
    """The same data with dates and times as they are written."""
    if isinstance(value, dict):
        return {key: dates_as_text(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [dates_as_text(inner) for inner in value]
    return value.isoformat() if isinstance(value, date | time) else value


def plain_value(value: Any, depth: int = 0) -> Any:
    """A value of a program as JSON can hold it: a date or a number of over 64 bits as text, NaN as nothing, a set as a list."""
    if isinstance(value, str | bool | None):
        return value
    if depth > DEEPEST_NESTING:
        raise UsageError(f"a value {TOO_DEEP}")
    if isinstance(value, Mapping):
        return {str(key): plain_value(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(inner, depth + 1) for inner in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if hasattr(value, "tolist"):  # of NumPy
        return plain_value(value.tolist(), depth + 1)
    reason = odd_value(value)
    return value if reason is None else None if isinstance(value, float) else str(value)


# The version of each kind of file, and the way from an older one to today's.

Migration = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Schema:
    """One kind of record on disk. ``migrations[n]`` makes version n + 1 of what was read as version n."""

    record: str
    version: int
    migrations: Mapping[int, Migration] = field(default_factory=dict)

    def header(self) -> dict[str, Any]:
        """What a file of this kind begins with."""
        return {"schema_version": self.version, "record": self.record}

    def upgrade(self, path: str | PathLike[str], data: Mapping[str, Any]) -> dict[str, Any]:
        """The data as today's version has it; a version that cannot be brought there is refused."""
        number = data.get("schema_version")
        support = f"this program reads version {self.version} of {'an' if self.record[0] in 'aeiou' else 'a'} {self.record}"
        if number is None:
            raise FormatError(path, "schema_version", f"is missing; {support}")
        if type(number) is not int or number > self.version:
            raise FormatError(path, "schema_version", f"is {number!r}; {support}")
        current = dict(data)
        for version in range(number, self.version):
            if version not in self.migrations:
                raise FormatError(path, "schema_version", f"is {number}; {support}, and cannot read older ones")
            current = {**self.migrations[version](current), "schema_version": version + 1}
        return current


# What is said of data that does not fit its record: which field, what is wrong with it, and which name was probably meant.

OTHERS_SHOWN = 3

FEW_ENOUGH_TO_LIST = 12  # that are listed where none is near

CLOSE_ENOUGH = 0.55  # of the characters of both names, in the same order

LONGEST_NAME, LONGEST_VALUE = 40, 60

_MISSING = ("missing", "missing_argument")


# What a reader of YAML and JSON calls it.
_CONTAINERS = {
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "dataclass_type", "dataclass_exact_type"), "a mapping"),
}

_UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")

FieldPath = Sequence[str | int]


def shape_error(path: str | PathLike[str], kind: Any, error: ValidationError, prefix: str) -> FormatError:
    """The first thing that does not fit ``kind``, and where the others are."""
    first, *others = error.errors(include_url=False, include_context=False)
    return FormatError(
        path, _dotted_place(prefix, first["loc"]) or None, _reason(kind, first) + _other_mistakes(kind, others, prefix)
    )


def unknown_name_hint(name: str, known_names: Iterable[str]) -> str:
    """That a name is not known, with the one that was probably meant, or all if they are few."""
    names = [str(each) for each in known_names]
    near = get_close_matches(name.lower(), names, 1, CLOSE_ENOUGH)
    if near:
        return f"is not a known field; did you mean {near[0]!r}?"
    return f"is not a known field; known are {', '.join(names)}" if 0 < len(names) <= FEW_ENOUGH_TO_LIST else "is not a known field"


def _dotted_place(prefix: str, place: FieldPath) -> str:
    return ".".join(filter(None, [prefix, *map(str, place)]))


def _reason(kind: Any, error: ErrorDetails) -> str:
    if error["type"] in _MISSING:
        return "is missing"
    if error["type"] in _UNKNOWN:
        return unknown_name_hint(str(error["loc"][-1]), known_fields(kind, error["loc"][:-1]))
    if error["type"] == "sentence":  # a record that reads itself has said what is wrong
        return error["msg"]
    if error["type"] in _CONTAINERS:
        names = known_fields(kind, error["loc"]) if _CONTAINERS[error["type"]] == "a mapping" else []
        names.sort(key=lambda name: name != "path")  # what is given as a text alone is most often that
        some = f" with fields such as {', '.join(names[:OTHERS_SHOWN])}" if names else ""
        return f"should be {_CONTAINERS[error['type']]}{some}, not {_cut_text(repr(error['input']), LONGEST_VALUE)}"
    return f"{error['msg'][:1].lower()}{error['msg'][1:]}, not {_cut_text(repr(error['input']), LONGEST_VALUE)}"


def _other_mistakes(kind: Any, others: Sequence[ErrorDetails], prefix: str) -> str:
    """Where else something is wrong; of a name that is not known, the one that was probably meant."""
    if not others:
        return ""
    places = [
        f"{shortened(_dotted_place(prefix, each['loc']), LONGEST_NAME)}{_meant_field(kind, each)}" for each in others[:OTHERS_SHOWN]
    ]
    rest = f" and {len(others) - OTHERS_SHOWN} others" if len(others) > OTHERS_SHOWN else ""
    return f" (and {len(others)} more: {', '.join(places)}{rest})"


def _meant_field(kind: Any, error: ErrorDetails) -> str:
    if error["type"] not in _UNKNOWN:
        return ""
    near = get_close_matches(str(error["loc"][-1]).lower(), known_fields(kind, error["loc"][:-1]), 1, CLOSE_ENOUGH)
    return f" (did you mean {near[0]!r}?)" if near else ""


def known_fields(kind: Any, place: FieldPath) -> list[str]:
    """The names of the fields that records of this kind have at a place in them."""
    kinds = list(_union_members(kind))
    for step in place:
        kinds = [
            each for one in kinds for each in _types_inside(one, step)
        ] or kinds  # the name of a record among several is a step too
    return list(dict.fromkeys(each.name for one in kinds if is_dataclass(one) for each in fields(one)))


def _types_inside(kind: Any, step: str | int) -> Iterator[Any]:
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        yield from _union_members(hints[step]) if step in hints else ()
        return
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(step, str):
        yield from _union_members(arguments[1])
    elif isinstance(origin, type) and issubclass(origin, Sequence) and isinstance(step, int):
        yield from _union_members(arguments[0])


def _union_members(kind: Any) -> Iterator[Any]:
    """A type without what is annotated, or the types of which it is one."""
    if get_origin(kind) is Annotated:
        yield from _union_members(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from _union_members(each)
    else:
        yield kind


def _cut_text(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


T = TypeVar("T")


def parse_json(path: str | PathLike[str], text: str, line: int | None = None, *, constants: bool = False) -> Any:
    """JSON, strictly: a repeated key is refused, and so are NaN and Infinity unless ``constants`` lets them in.

    ``line`` is given where the text is one line of many.
    """
    try:
        return _decoder(constants).decode(text)
    except json.JSONDecodeError as error:
        place = f"line {line or error.lineno}, column {error.colno}"
        raise FormatError(path, place, f"not valid JSON: {error.msg}") from error
    except RecursionError as error:
        raise FormatError(path, f"line {line}" if line else None, "nested too deeply") from error
    except ValueError as error:  # a repeated key, a constant, or a number with thousands of digits
        raise FormatError(path, f"line {line}" if line else None, str(error)) from error


def strict_decoder() -> json.JSONDecoder:
    """The decoder of everything but plain runs, for those who decode piece by piece."""
    return _decoder(False)


@cache
def _decoder(constants: bool) -> json.JSONDecoder:
    """Made once: a JSONL file has many lines."""
    return json.JSONDecoder(object_pairs_hook=_refuse_repetition, parse_constant=float if constants else _refuse_constant)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"not valid JSON: {name}")


def _refuse_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names: set[str] = set()
        twice = next(key for key, _ in pairs if key in names or names.add(key))  # type: ignore[func-returns-value]  # add gives None
        raise ValueError(f"duplicate key {twice!r}")
    return result


def json_number(value: float | None) -> float | str | None:
    """A number as JSON can hold it: NaN is null, and infinity, which JSON lacks, is text that float() reads."""
    if value is None or math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def plain_json(record: Any, levels: int = DEEPEST_NESTING // 2) -> Any:
    """A record as JSON has it: fields at their defaults are left out, times are in ISO 8601.

    Below so many levels, which no record of ours has, only a note is left: it must not be the end of a report.
    """
    if levels < 0:
        return "<nested too deeply>"
    if is_dataclass(record) and not isinstance(record, type):
        each_field = (each for each in fields(record) if not _is_default(record, each))
        return {each.name: plain_json(getattr(record, each.name), levels - 1) for each in each_field}
    if isinstance(record, Mapping):
        return {key: plain_json(value, levels - 1) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [plain_json(value, levels - 1) for value in record]
    if isinstance(record, datetime):
        return record.isoformat()
    return json_number(record) if isinstance(record, float) else record


def _is_default(record: Any, each: Field[Any]) -> bool:
    default = each.default if each.default_factory is MISSING else each.default_factory()
    return default is not MISSING and bool(getattr(record, each.name) == default)


def check_shape(path: str | PathLike[str], adapter: TypeAdapter[T], data: Any, prefix: str = "") -> T:
    """Turn plain data into records; what does not fit is named by the path to its field."""
    from pydantic import ValidationError

    try:
        return adapter.validate_python(data)
    except ValidationError as error:
        raise shape_error(path, adapter._type, error, prefix) from None
    except RecursionError as error:
        raise FormatError(path, prefix or None, "nested too deeply") from error


def refuse_unknown_fields(path: str | PathLike[str], record: type, data: Mapping[str, Any]) -> None:
    """Name the fields that there are where one is given that is not among them."""
    field_names = [each.name for each in fields(record)]
    unknown = next((name for name in data if name not in field_names), None)
    if unknown is not None:
        raise FormatError(path, str(unknown), unknown_name_hint(str(unknown), field_names))


# TOML, with keys and values that are nested to a bound.

# Every character belongs to one piece, and no piece is looked at twice: strings (an open one ends with the text), comments,
# what keys are made of, dots, and all else one by one.
_TOML_PIECE = re.compile(
    r'''(?P<part>"""(?:[^"\\]|\\(?:.|\Z)|"(?!""))*+(?:"""|\Z)|\'\'\'(?:[^']|'(?!''))*+(?:\'\'\'|\Z)'''
    r"""|"(?:[^"\\\n]|\\(?:.|\Z))*+(?:"|\n|\Z)|'[^'\n]*+(?:'|\n|\Z)|[A-Za-z0-9_-]++|[ \t]++)|(?P<dot>\.)|#[^\n]*+|.""",
    re.DOTALL,
)


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """Plain data, dates and times as text. Keys with many dots are refused unread: each dot costs more than the one before it."""
    if _longest_key(text) > DEEPEST_NESTING:
        raise FormatError(path, None, f"not valid TOML: a key has more than {DEEPEST_NESTING} dots")
    try:
        data = tomllib.loads(text)
    except RecursionError as error:
        raise FormatError(path, None, TOO_DEEP) from error
    except ValueError as error:  # a number with thousands of digits is no TOMLDecodeError
        raise FormatError(path, None, f"not valid TOML: {error}") from error
    if is_too_deep(data):
        raise FormatError(path, None, TOO_DEEP)
    plain: dict[str, Any] = dates_as_text(data)
    check_plain(path, plain)
    return plain


def _longest_key(text: str) -> int:
    """The most dots that stand between parts of one key; those in strings, comments and numbers do not count."""
    longest = dots = 0
    for piece in _TOML_PIECE.finditer(text):
        if piece["dot"]:
            dots += 1
            longest = max(longest, dots)
        elif not piece["part"]:
            dots = 0
    return longest


# YAML, safely: no objects, no surprises with numbers, no expansion beyond the size of the file.

_MERGED_PER_CHARACTER = 10  # fields that merge keys may bring; a mapping that is merged into every case brings about one


def parse_yaml(path: Path, text: str, *, numbers: bool = False) -> Any:
    """Plain data in which only null and booleans are more than text: ids that look like numbers stay as written.

    ``numbers`` reads them as numbers all the same, for files that hold settings and no ids.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    loader = YAML(typ="safe", pure=True)
    loader.Constructor = _constructor(numbers)
    loader.constructor.merges_left = _MERGED_PER_CHARACTER * len(text) + 1000
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an anchor that is used again is no news to the user
            data = loader.load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = None if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        reason = str(getattr(error, "problem", None) or error).split("\n", 1)[0]
        raise FormatError(path, place, f"not valid YAML: {reason}") from error
    except RecursionError as error:
        raise FormatError(path, None, TOO_DEEP) from error
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as error:  # what ruamel raises on odd tags and keys
        raise FormatError(path, None, f"not valid YAML: {error}") from error
    check_plain(path, data, len(text) + 1000)  # without aliases no value takes less than a character
    return data


@cache
def _constructor(numbers: bool) -> type[Any]:
    """A constructor that leaves numbers and dates to the check of each field, which knows what it wants."""
    from ruamel.yaml.constructor import DuplicateKeyError, SafeConstructor

    class TextConstructor(SafeConstructor):
        """Bounds what merge keys bring: it is copied, unlike what aliases name, and again at every level."""

        merges_left = 0

        def flatten_mapping(self, node: Any) -> None:
            for source in _merged_mappings(node):
                self.flatten_mapping(source)
                self.merges_left -= len(source.value)
                if self.merges_left < 0:
                    raise ValueError(ALIASES_EXPAND)
            super().flatten_mapping(node)

        def check_mapping_key(self, node: Any, key_node: Any, mapping: Any, key: Any, value: Any) -> bool:  # noqa: ARG002  # as inherited
            if key in mapping:  # said without the values, which aliases may have made huge
                raise DuplicateKeyError(problem="found duplicate key", problem_mark=key_node.start_mark)
            return True

    for kind in ("timestamp",) if numbers else ("int", "float", "timestamp"):
        TextConstructor.add_constructor(f"tag:yaml.org,2002:{kind}", lambda _, node: node.value)
    return TextConstructor


def _merged_mappings(node: Any) -> Iterator[Any]:
    """The mappings that the merge keys of a mapping name; what else they may name is refused where it is merged."""
    from ruamel.yaml.nodes import MappingNode, SequenceNode

    for key, value in node.value:
        if key.tag == "tag:yaml.org,2002:merge":
            sources = value.value if isinstance(value, SequenceNode) else [value]
            yield from (each for each in sources if isinstance(each, MappingNode))


_UNSIGNED, _NEGATIVE, _TEXT, _LIST, _MAPPING, _SIMPLE = 0, 1, 3, 4, 5, 7

_LENGTHS = {24: ">B", 25: ">H", 26: ">I", 27: ">Q"}

_FLOATS = {25: ">e", 26: ">f", 27: ">d"}

_CONSTANTS = {20: False, 21: True, 22: None}


class CborError(ValueError):
    """What is wrong with the bytes, and where."""


def read_cbor(content: bytes) -> Any:
    """The one value that the bytes hold; a repeated key, a tag and anything behind the value are refused."""
    reader = _CborReader(content)
    value = reader.value(0)
    if reader.position != len(content):
        raise CborError(f"{len(content) - reader.position} bytes follow its value")
    return value


class _CborReader:
    def __init__(self, content: bytes) -> None:
        self.content, self.position = content, 0

    def value(self, depth: int) -> Any:
        if depth > DEEPEST_NESTING:
            raise CborError("nested too deeply")
        first = self._take(1)[0]
        kind, info = first >> 5, first & 31
        if kind == _SIMPLE:
            return self._simple(info)
        number = self._length(info)
        if kind == _TEXT:
            return self._text(number)
        if kind in (_UNSIGNED, _NEGATIVE):
            return number if kind == _UNSIGNED else -1 - number
        if kind in (_LIST, _MAPPING) and number > len(self.content) - self.position:
            raise CborError(f"byte {self.position}: cut short")
        if kind == _LIST:
            return [self.value(depth + 1) for _ in range(number)]
        if kind == _MAPPING:
            return self._mapping(number, depth)
        raise CborError(f"byte {self.position - 1}: a kind of value ({kind}) outside of what JSON has")

    def _mapping(self, count: int, depth: int) -> dict[Any, Any]:
        pairs: dict[Any, Any] = {}
        for _ in range(count):
            key = self.value(depth + 1)
            if not isinstance(key, str | int):
                raise CborError(f"byte {self.position}: a key that is neither text nor a number")
            pairs[key] = self.value(depth + 1)
        if len(pairs) < count:
            raise CborError(f"byte {self.position}: a duplicate key")
        return pairs

    def _simple(self, info: int) -> Any:
        if info in _CONSTANTS:
            return _CONSTANTS[info]
        if info not in _FLOATS:
            raise CborError(f"byte {self.position - 1}: a constant ({info}) outside of what JSON has")
        form = _FLOATS[info]
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _length(self, info: int) -> int:
        if info < min(_LENGTHS):
            return info
        if info not in _LENGTHS:
            raise CborError(f"byte {self.position - 1}: a value of unknown length")
        form = _LENGTHS[info]
        return int(struct.unpack(form, self._take(struct.calcsize(form)))[0])

    def _text(self, length: int) -> str:
        try:
            return str(self._take(length), "utf-8")
        except UnicodeDecodeError as error:
            raise CborError(f"byte {self.position}: text that is not UTF-8") from error

    def _take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self.content):
            raise CborError(f"byte {self.position}: cut short")
        part = self.content[self.position : end]
        self.position = end
        return part
