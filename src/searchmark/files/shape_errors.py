"""What is said of data that does not fit its record: which field, what is wrong with it, and which name was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from os import PathLike
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

from searchmark.errors import FormatError, shortened

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

OTHERS_SHOWN = 3
FEW_FIELDS = 12  # that are listed where none is near
NEARLY = 0.55  # of the characters of both names, in the same order
LONGEST_NAME, LONGEST_VALUE = 40, 60
_MISSING = ("missing", "missing_argument")
# What a reader of YAML and JSON calls it.
_CONTAINERS = {
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "dataclass_type", "dataclass_exact_type"), "a mapping"),
}
_UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")

Place = Sequence[str | int]


def shape_error(path: str | PathLike[str], kind: Any, error: ValidationError, prefix: str) -> FormatError:
    """The first thing that does not fit ``kind``, and where the others are."""
    first, *others = error.errors(include_url=False, include_context=False)
    return FormatError(path, _named(prefix, first["loc"]) or None, _reason(kind, first) + _more(kind, others, prefix))


def unknown_name(name: str, known: Iterable[str]) -> str:
    """That a name is not known, with the one that was probably meant, or all if they are few."""
    names = [str(each) for each in known]
    near = get_close_matches(name.lower(), names, 1, NEARLY)
    if near:
        return f"is not a known field; did you mean {near[0]!r}?"
    return f"is not a known field; known are {', '.join(names)}" if 0 < len(names) <= FEW_FIELDS else "is not a known field"


def _named(prefix: str, place: Place) -> str:
    return ".".join(filter(None, [prefix, *map(str, place)]))


def _reason(kind: Any, error: ErrorDetails) -> str:
    if error["type"] in _MISSING:
        return "is missing"
    if error["type"] in _UNKNOWN:
        return unknown_name(str(error["loc"][-1]), known_fields(kind, error["loc"][:-1]))
    if error["type"] == "sentence":  # a record that reads itself has said what is wrong
        return error["msg"]
    if error["type"] in _CONTAINERS:
        names = known_fields(kind, error["loc"]) if _CONTAINERS[error["type"]] == "a mapping" else []
        names.sort(key=lambda name: name != "path")  # what is given as a text alone is most often that
        some = f" with fields such as {', '.join(names[:OTHERS_SHOWN])}" if names else ""
        return f"should be {_CONTAINERS[error['type']]}{some}, not {_cut(repr(error['input']), LONGEST_VALUE)}"
    return f"{error['msg'][:1].lower()}{error['msg'][1:]}, not {_cut(repr(error['input']), LONGEST_VALUE)}"


def _more(kind: Any, others: Sequence[ErrorDetails], prefix: str) -> str:
    """Where else something is wrong; of a name that is not known, the one that was probably meant."""
    if not others:
        return ""
    shown = [f"{shortened(_named(prefix, each['loc']), LONGEST_NAME)}{_meant(kind, each)}" for each in others[:OTHERS_SHOWN]]
    rest = f" and {len(others) - OTHERS_SHOWN} others" if len(others) > OTHERS_SHOWN else ""
    return f" (and {len(others)} more: {', '.join(shown)}{rest})"


def _meant(kind: Any, error: ErrorDetails) -> str:
    if error["type"] not in _UNKNOWN:
        return ""
    near = get_close_matches(str(error["loc"][-1]).lower(), known_fields(kind, error["loc"][:-1]), 1, NEARLY)
    return f" (did you mean {near[0]!r}?)" if near else ""


def known_fields(kind: Any, place: Place) -> list[str]:
    """The names of the fields that records of this kind have at a place in them."""
    found = list(_members(kind))
    for step in place:
        found = [each for one in found for each in _inside(one, step)] or found  # the name of a record among several is a step too
    return list(dict.fromkeys(each.name for one in found if is_dataclass(one) for each in fields(one)))


def _inside(kind: Any, step: str | int) -> Iterator[Any]:
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        yield from _members(hints[step]) if step in hints else ()
        return
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(step, str):
        yield from _members(arguments[1])
    elif isinstance(origin, type) and issubclass(origin, Sequence) and isinstance(step, int):
        yield from _members(arguments[0])


def _members(kind: Any) -> Iterator[Any]:
    """A type without what is annotated, or the types of which it is one."""
    if get_origin(kind) is Annotated:
        yield from _members(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from _members(each)
    else:
        yield kind


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
