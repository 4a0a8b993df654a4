"""A document, its ids, field values and line ranges. Kept light: every process of an agent imports it."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, TypeVar

from searchmark.config.strict import Whole, strict_record
from searchmark.errors import UsageError, shortened

# Ids as people have them in Python: text, or whole numbers, which become their digits. Anything else is refused at once.
#
# An id of another kind would meet nothing, and that looks like a search that found nothing.

_SHOWN = 60

V = TypeVar("V")


def id_text(value: Any, what: str) -> str:
    """An id as text; ``what`` says in an error which id it is: "the target of a judgment"."""
    if type(value) is str:
        return value
    if isinstance(value, str):  # NumPy's, or an enumeration
        return str.__str__(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(_refusal_text(value, what))
    try:
        return str(operator.index(value))
    except TypeError:
        raise UsageError(_refusal_text(value, what)) from None


def _refusal_text(value: Any, what: str) -> str:
    kind = type(value).__name__
    hint = f"; write {int(value)}" if isinstance(value, float) and value.is_integer() else ""
    return f"{what} is {shortened(repr(value), _SHOWN)} ({kind}); an id is text or a whole number{hint}"


def are_texts(ids: Iterable[Any]) -> bool:
    """Whether all of them are text already, which they nearly always are: looked at as quickly as Python can."""
    return set(map(type, ids)) <= {str}


def with_text_keys(values: Mapping[Any, V], what: str) -> Mapping[str, V]:
    """The same mapping with its keys as text; two keys that become one text are refused."""
    if are_texts(values):
        return values
    texts = {id_text(key, what): value for key, value in values.items()}
    if len(texts) < len(values):
        twice = next(text for text, count in Counter(id_text(key, what) for key in values).items() if count > 1)
        raise UsageError(f"{what} {twice!r} is there twice, as a number and as text; write ids in one way")
    return texts


@strict_record(slots=True)
class Document:
    """Something that can be found."""

    id: str
    text: str
    title: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if type(self.id) is not str:
            object.__setattr__(self, "id", id_text(self.id, "the id of a document"))


# Values of fields of documents, as a suite names them.

# One value or several.
FieldValue = str | bool | Whole

FieldValues = FieldValue | tuple[FieldValue, ...]


def field_texts(values: Any) -> list[str]:
    """The values of a field as they are compared, each once and sorted; what is nested has none."""
    each = values if isinstance(values, list | tuple) else (values,)
    return sorted({_field_text(value) for value in each if isinstance(value, str | int | float)})


def _field_text(value: FieldValue | float) -> str:
    """True and "true" are one value, however a file format spells it."""
    text = str(value).strip()
    return text.lower() if text.lower() in ("true", "false") else text


# Lines of a file as a hit names them.

_MOST_LINES = 10**9


def is_line_range(value: Any) -> bool:
    """Whether this is a first and a last line, counted from 1, the last one not before the first."""
    if not isinstance(value, tuple | list) or len(value) != 2 or not all(type(line) is int for line in value):  # noqa: PLR2004  # first and last
        return False
    return bool(0 < value[0] <= value[1] < _MOST_LINES)
