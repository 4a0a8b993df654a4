"""One case as a report has it: what was asked, what came back, what was expected, and what it scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from searchmark.records import NOTHING_KNOWN, AnswerDetails, Match


@dataclass(frozen=True)
class CaseFacts:
    """What the suite says of a case beside its query and its targets, which are with the answers.

    ``language`` and ``variation`` (a typo, another phrasing) are fields of the case.
    """

    category: str | None = None
    tags: tuple[str, ...] = ()
    origin: str | None = None
    unanswerable: bool = False
    language: str | None = None
    variation: str | None = None


@dataclass(frozen=True, slots=True)
class ShownHit:
    """An entry of an answer as it is shown.

    ``grade`` is that of the judgment it met, None for a hit that is not judged. ``missing``: it does not exist in the
    corpus. ``text`` is what the document says, where that was asked for and is at hand.
    """

    id: str
    score: float | None = None
    lines: tuple[int, int] | None = None
    grade: int | None = None
    missing: bool = False
    text: str | None = None


class ExpectedTarget(NamedTuple):
    """A target that is worth something to a case, and the rank of the hit that met it, None without one.

    A tuple, since there may be a million of them.
    """

    target: str
    match: Match
    grade: int
    rank: int | None = None


@dataclass(frozen=True)
class CaseSummary:
    """One case of one run: what was asked, what came back, what was expected, what it scored, and why not where it did not."""

    status: str
    query: str | None
    measures: Mapping[str, float | None]
    undefined: Mapping[str, str]
    hits: tuple[ShownHit, ...]
    expected: tuple[ExpectedTarget, ...] = ()
    details: AnswerDetails = NOTHING_KNOWN
