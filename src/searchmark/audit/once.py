"""What a check and a table both need is worked out once for each subject."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from searchmark.audit.subject import Subject

T = TypeVar("T")


def once(work: Callable[[Subject], T]) -> Callable[[Subject], T]:
    """The same result for the same subject, kept as long as the subject is."""
    known: WeakKeyDictionary[Subject, T] = WeakKeyDictionary()

    @wraps(work)
    def of(subject: Subject) -> T:
        if subject not in known:
            known[subject] = work(subject)
        return known[subject]

    return of
