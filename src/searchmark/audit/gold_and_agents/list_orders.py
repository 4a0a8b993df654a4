"""Orders in which a list of targets may have been written without any agent: by id, by number, or as the corpus has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import lt
from typing import Any

from searchmark.audit.subject import Subject

SORTED = 0.9  # share of neighbours that are in such an order, or in its reverse: then the list tells nothing
_NUMBER = re.compile("([0-9]+)")


def is_sorted(one: Sequence[str], two: Sequence[str], subject: Subject) -> bool:
    """Whether ids rise, or fall, from each target (of ``one``) to the next (of ``two``), in any order that is none of an agent."""
    return any(_rises_or_falls(key, one, two) for key in _keys({*one, *two}, subject))


def _keys(targets: set[str], subject: Subject) -> Iterator[Callable[[str], Any]]:
    """What lists may be sorted by, the corpus last: it has to be read."""
    yield str
    yield _with_numbers
    positions: Mapping[str, int] = {} if subject.survey is None else subject.survey.positions(targets)
    if targets <= positions.keys():
        yield positions.__getitem__


def _with_numbers(text: str) -> list[tuple[int, str]]:
    """The parts of an id, numbers by their size: d2 comes before d10."""
    return [(len(part.lstrip("0")), part.lstrip("0")) if part.isdigit() else (0, part) for part in _NUMBER.split(text)]


def _rises_or_falls(key: Callable[[str], Any], one: Sequence[str], two: Sequence[str]) -> bool:
    rising = list(map(lt, map(key, one), map(key, two)))
    return bool(rising) and not 1 - SORTED < sum(rising) / len(rising) < SORTED
