"""Globs: ``*`` and ``?`` stay within a path segment, ``**`` crosses them, ``[a-c]`` is a set, ``{a,b}`` are alternatives.

A pattern without a slash is held against the last segment, any other against the whole path in its normal form.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from searchmark.errors import UsageError, shortened
from searchmark.judging.spelling import nfc, normal_path

MOST_ALTERNATIVES = 1000
LONGEST_GLOB = 1000

# What each segment must match; None for ``**``, which matches any number of segments.
Segments: TypeAlias = tuple[re.Pattern[str] | None, ...]


@dataclass(frozen=True, slots=True)
class GlobAlternative:
    """One pattern without braces: whether it is held against the last segment alone, and its segments.

    ``literal`` is a text that every name has in it that it means, perhaps an empty one: it tells fast what it does not mean.
    """

    floats: bool
    segments: Segments
    literal: str

    def means(self, parts: Sequence[str]) -> bool:
        """Whether it means the path of these segments."""
        return _matches(self.segments, parts[-1:] if self.floats else parts)


_SPECIAL = re.compile(r"[*?/]")
_TOKEN = re.compile(r"\[!?\]?[^\]]*\]|[{},]")  # a set of characters is one token: braces in it are characters
_RANGE = re.compile(r"\{\w+\.\.\w+\}")


def matches_glob(glob: str, hit: str, *, ignore_case: bool = False) -> bool:
    """Whether a glob means this id. ``**`` at the end matches at least one segment."""
    parts = normal_path(hit).split("/")
    return any(each.means(parts) for each in compiled_glob(glob, ignore_case))


def _matches(wanted: Segments, parts: Sequence[str]) -> bool:
    reached = {0}  # how many parts can be used up by the segments so far
    for place, pattern in enumerate(wanted):
        if pattern is None:
            first = min(reached, default=len(parts) + 1)
            last = place == len(wanted) - 1
            reached = set(range(first + 1 if last else first, len(parts) + 1))
        else:
            reached = {used + 1 for used in reached if used < len(parts) and pattern.match(parts[used])}
    return len(parts) in reached


@lru_cache(maxsize=4096)
def compiled_glob(glob: str, ignore_case: bool = False) -> tuple[GlobAlternative, ...]:  # a key of the cache
    """Every alternative of a glob."""
    if len(glob) > LONGEST_GLOB:
        raise UsageError(f"{shortened(repr(glob), 60)} is not a usable glob: it has more than {LONGEST_GLOB} characters")
    if _RANGE.search(glob):
        raise UsageError(f"{glob!r} is not a glob: ranges in braces are not supported; list what is meant, as in {{1,2,3}}")
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    return tuple(
        GlobAlternative("/" not in each, _segments(glob, each, flags), _literal(each)) for each in _alternatives(nfc(glob))
    )


def _literal(alternative: str) -> str:
    """The longest text that is taken as it is, of what comes before a set of characters; dots may be a detour."""
    return max(_SPECIAL.split(alternative.split("[", 1)[0]), key=lambda each: len(each.strip(".")))


def _segments(glob: str, alternative: str, flags: re.RegexFlag) -> Segments:
    """Like a path in its normal form, a pattern has no empty segment but the first, and no dot for one."""
    first, *rest = alternative.split("/")
    names = [first, *(each for each in rest if each not in ("", "."))]
    kept = names[1:] if first == "." and rest else names
    return tuple(None if each == "**" else _pattern(glob, each, flags) for each in kept)


def _pattern(glob: str, segment: str, flags: re.RegexFlag) -> re.Pattern[str]:
    pattern = fnmatch.translate(segment)  # the standard library's never backtracks beyond a segment
    if "(?!)" in pattern:
        raise UsageError(f"{glob!r} is not a glob: a set of characters in it is empty")
    return re.compile(pattern, flags)


def _alternatives(glob: str) -> list[str]:
    """What a glob stands for, without braces; braces that hold no comma, or never close, are characters like others."""
    done, open_ones = [], [glob]
    while open_ones:
        each = open_ones.pop()
        chosen = _first_choice(each)
        if chosen is None:
            done.append(each)
        else:
            open_ones += chosen
        if len(done) + len(open_ones) > MOST_ALTERNATIVES:
            raise UsageError(f"{glob!r} is not a usable glob: its braces mean more than {MOST_ALTERNATIVES} patterns")
    return done


def _first_choice(glob: str) -> list[str] | None:
    """The glob with each of the alternatives in its first braces in their stead; None if there are none."""
    waiting: list[list[int]] = []  # braces that are open here, and the commas in each
    closed: list[list[int]] = []
    for token in _TOKEN.finditer(glob):
        if token.group() == "{":
            waiting.append([token.start()])
        elif waiting and token.group() == ",":
            waiting[-1].append(token.start())
        elif waiting and token.group() == "}":
            closed.append([*waiting.pop(), token.start()])
    cuts = min((each for each in closed if len(each) > len("{}")), default=None)
    if cuts is None:
        return None
    return [glob[: cuts[0]] + glob[before + 1 : after] + glob[cuts[-1] + 1 :] for before, after in pairwise(cuts)]
