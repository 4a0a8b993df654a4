"""Ids as people have them in Python: text, or whole numbers, which become their digits. Anything else is refused at once.

An id of another kind would meet nothing, and that looks like a search that found nothing.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from searchmark.errors import UsageError, shortened

_SHOWN = 60
V = TypeVar("V")


def id_text(value: Any, what: str) -> str:
    """An id as text; ``what`` says in an error which id it is: "the target of a judgment"."""
    if type(value) is str:
        return value
    if isinstance(value, str):  # NumPy's, or an enumeration
        return str.__str__(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(_refusal(value, what))
    try:
        return str(operator.index(value))
    except TypeError:
        raise UsageError(_refusal(value, what)) from None


def _refusal(value: Any, what: str) -> str:
    kind = type(value).__name__
    meant = f"; write {int(value)}" if isinstance(value, float) and value.is_integer() else ""
    return f"{what} is {shortened(repr(value), _SHOWN)} ({kind}); an id is text or a whole number{meant}"


def are_texts(ids: Iterable[Any]) -> bool:
    """Whether all of them are text already, which they nearly always are: looked at as quickly as Python can."""
    return set(map(type, ids)) <= {str}


def by_text(values: Mapping[Any, V], what: str) -> Mapping[str, V]:
    """The same mapping with its keys as text; two keys that become one text are refused."""
    if are_texts(values):
        return values
    texts = {id_text(key, what): value for key, value in values.items()}
    if len(texts) < len(values):
        twice = next(text for text, count in Counter(id_text(key, what) for key in values).items() if count > 1)
        raise UsageError(f"{what} {twice!r} is there twice, as a number and as text; write ids in one way")
    return texts
