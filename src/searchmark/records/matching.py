"""When a hit means what a judgment names: spelling, globs, symbols, lines."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil, inf
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from unicodedata import normalize

from searchmark.errors import UsageError, shortened

# One spelling for what is written in several ways: accents composed, paths in their normal form.

if TYPE_CHECKING:
    from searchmark.records.judgments import Judgment


def nfc(text: str) -> str:
    """The text with accents composed: one spelling for what looks the same."""
    return text if text.isascii() else normalize("NFC", text)


def normal_path(path: str) -> str:
    """A path without ``./``, ``//``, ``a/../`` or ``/`` behind, accents composed: what live answers are brought to as well."""
    return without_detours(nfc(path))


def without_detours(path: str) -> str:
    """A path without ``./``, ``//``, ``a/../`` or ``/`` behind, its accents as they are."""
    if not ("//" in path or "/." in path or path.startswith("./") or path.endswith("/")) or "\0" in path:
        return path  # nearly all; a dot behind a slash may also begin a hidden name, which stays as it is
    return posixpath.normpath(path)


def folder_roots(folder: Path | None) -> tuple[str, ...]:
    """What absolute paths below a folder begin with: it may be named through a link, and an agent may have resolved it."""
    return () if folder is None else tuple(f"{each}/" for each in dict.fromkeys((str(folder), str(folder.resolve()))))


def relative_path(path: str, roots: Iterable[str]) -> str:
    """The path relative to the first of these roots that it is below, or as it is."""
    return next((path[len(root) :] for root in roots if path.startswith(root)), path)


# Globs: ``*`` and ``?`` stay within a path segment, ``**`` crosses them, ``[a-c]`` is a set, ``{a,b}`` are alternatives.
#
# A pattern without a slash is matched with the last segment, any other with the whole path in its normal form.

MOST_ALTERNATIVES = 1000

LONGEST_GLOB = 1000


# What each segment must match; None for ``**``, which matches any number of segments.
GlobSegments: TypeAlias = tuple[re.Pattern[str] | None, ...]


@dataclass(frozen=True, slots=True)
class GlobAlternative:
    """One pattern without braces: whether it is matched with the last segment alone, and its segments.

    ``literal`` is a text that every name has in it that it means, perhaps an empty one: it tells fast what it does not mean.
    """

    floats: bool
    segments: GlobSegments
    literal: str

    def means(self, parts: Sequence[str]) -> bool:
        """Whether it means the path of these segments."""
        return _matches_segments(self.segments, parts[-1:] if self.floats else parts)


_GLOB_CHARACTERS = re.compile(r"[*?/]")

_TOKEN = re.compile(r"\[!?\]?[^\]]*\]|[{},]")  # a set of characters is one token: braces in it are characters

_RANGE = re.compile(r"\{\w+\.\.\w+\}")


def matches_glob(glob: str, hit: str, *, ignore_case: bool = False) -> bool:
    """Whether a glob means this id. ``**`` at the end matches at least one segment."""
    parts = normal_path(hit).split("/")
    return any(each.means(parts) for each in compile_glob(glob, ignore_case))


def _matches_segments(segments: GlobSegments, parts: Sequence[str]) -> bool:
    ends = {0}  # how many parts can be used up by the segments so far
    for place, pattern in enumerate(segments):
        if pattern is None:
            first = min(ends, default=len(parts) + 1)
            last = place == len(segments) - 1
            ends = set(range(first + 1 if last else first, len(parts) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(parts) and pattern.match(parts[end])}
    return len(parts) in ends


@lru_cache(maxsize=4096)
def compile_glob(glob: str, ignore_case: bool = False) -> tuple[GlobAlternative, ...]:  # a key of the cache
    """Every alternative of a glob."""
    if len(glob) > LONGEST_GLOB:
        raise UsageError(f"{shortened(repr(glob), 60)} is not a usable glob: it has more than {LONGEST_GLOB} characters")
    if _RANGE.search(glob):
        raise UsageError(f"{glob!r} is not a glob: ranges in braces are not supported; list what is meant, as in {{1,2,3}}")
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    return tuple(
        GlobAlternative("/" not in each, _segments(glob, each, flags), _longest_literal(each)) for each in _alternatives(nfc(glob))
    )


def _longest_literal(alternative: str) -> str:
    """The longest text that is taken as it is, of what comes before a set of characters; dots may be a detour."""
    return max(_GLOB_CHARACTERS.split(alternative.split("[", 1)[0]), key=lambda each: len(each.strip(".")))


def _segments(glob: str, alternative: str, flags: re.RegexFlag) -> GlobSegments:
    """Like a path in its normal form, a pattern has no empty segment but the first, and no dot for one."""
    first, *rest = alternative.split("/")
    names = [first, *(each for each in rest if each not in ("", "."))]
    segments = names[1:] if first == "." and rest else names
    return tuple(None if each == "**" else _pattern(glob, each, flags) for each in segments)


def _pattern(glob: str, segment: str, flags: re.RegexFlag) -> re.Pattern[str]:
    pattern = fnmatch.translate(segment)  # the standard library's never backtracks beyond a segment
    if "(?!)" in pattern:
        raise UsageError(f"{glob!r} is not a glob: a set of characters in it is empty")
    return re.compile(pattern, flags)


def _alternatives(glob: str) -> list[str]:
    """What a glob stands for, without braces; braces that hold no comma, or never close, are characters like others."""
    literals, pending = [], [glob]
    while pending:
        each = pending.pop()
        choices = _first_choice(each)
        if choices is None:
            literals.append(each)
        else:
            pending += choices
        if len(literals) + len(pending) > MOST_ALTERNATIVES:
            raise UsageError(f"{glob!r} is not a usable glob: its braces mean more than {MOST_ALTERNATIVES} patterns")
    return literals


def _first_choice(glob: str) -> list[str] | None:
    """The glob with each of the alternatives in its first braces in their stead; None if there are none."""
    open_braces: list[list[int]] = []  # braces that are open here, and the commas in each
    closed_braces: list[list[int]] = []
    for token in _TOKEN.finditer(glob):
        if token.group() == "{":
            open_braces.append([token.start()])
        elif open_braces and token.group() == ",":
            open_braces[-1].append(token.start())
        elif open_braces and token.group() == "}":
            closed_braces.append([*open_braces.pop(), token.start()])
    cuts = min((each for each in closed_braces if len(each) > len("{}")), default=None)
    if cuts is None:
        return None
    return [glob[: cuts[0]] + glob[before + 1 : after] + glob[cuts[-1] + 1 :] for before, after in pairwise(cuts)]


# When a hit is what a judgment means: by id, path, glob, symbol or lines.
#
# Symbol: the dotted parts occur in the id one after the other, so ``Stock.Update``
# meets ``TModule.Stock.Update`` and ``Update`` meets both. Lines: ``path#L10-L20`` meets any overlapping
# range of that path, and the path alone. Ids, paths and lines heed case, and so do globs and symbols unless their suite says
# otherwise. None heeds how accents are encoded.

# The first and the last line of a range.
LineRange: TypeAlias = tuple[int, int]

_LINES = re.compile(r"(?P<path>.+)#L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?")


def matches_symbol(symbol: str, hit: str, *, ignore_case: bool = False) -> bool:
    target_parts, parts = symbol_parts(symbol, ignore_case=ignore_case), symbol_parts(hit, ignore_case=ignore_case)
    size = len(target_parts)
    return any(parts[i : i + size] == target_parts for i in range(len(parts) - size + 1))


def symbol_parts(symbol: str, *, ignore_case: bool = False) -> list[str]:
    """The dotted parts of a symbol or an id, as they are compared."""
    return (nfc(symbol).casefold() if ignore_case else nfc(symbol)).split(".")


def split_line_range(text: str) -> tuple[str, LineRange | None]:
    """An id and the lines that are spelt behind it, ``a.py#L3-L9``; None for an id that names none.

    Lines are counted from 1: ``#L0`` is a part of the id.
    """
    match = _LINES.fullmatch(text) if "#L" in text else None
    first = int(match["first"]) if match else 0
    if not match or not first:
        return text, None
    return match["path"], (first, int(match["last"] or first))


def parse_line_target(text: str) -> tuple[str, int, float]:
    """The path, the first and the last line of a judgment about lines; one that names none is about all of them."""
    match = _LINES.fullmatch(text)
    if not match:
        return normal_path(text), 1, inf
    first = int(match["first"])
    return normal_path(match["path"]), first, int(match["last"] or first)


def names_lines(text: str) -> bool:
    """Whether an id speaks of some lines and not of a whole file."""
    return split_line_range(text)[1] is not None


def has_reversed_lines(target: str) -> bool:
    _, first, last = parse_line_target(target)
    return last < first


def path_of_lines(text: str) -> str:
    """The path of a hit that may name lines."""
    return normal_path(split_line_range(text)[0])


# When a hit holds an expected passage: enough of its words stand in the hit, in the same order and in one piece.
#
# Case, white space, line breaks and punctuation do not count, since readers and splitters of documents change them. Words, so that
# "Paris" is not found in "comparison"; in one piece, since any long text on the subject has most words of the passage somewhere.

LEAST_OVERLAP = 0.5  # of the words, unless a suite says otherwise: of a passage that is cut in two, the larger part is found

LEAST_WORDS = 5  # in one piece, or all of a shorter passage: two or three words stand together in many texts

# Scripts without blanks between words, from Thai to Chinese: each of their signs is a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"

_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")


@lru_cache(maxsize=1 << 12)
def words_of_text(text: str) -> str:
    """The words of a text as they are compared, with a blank before and behind each."""
    return f" {' '.join(_WORD.findall(normalize('NFKC', text).casefold()))} "


def holds_passage(text: str, passage: str, overlap: float = LEAST_OVERLAP) -> bool:
    """Whether this share of the words of a passage stands in a text, in one piece."""
    in_text, words = words_of_text(text), words_of_text(passage).split()
    size = min(len(words), max(ceil(overlap * len(words)), LEAST_WORDS))
    half = (size + 1) // 2  # every piece of that size contains one of these whole: most texts are ruled out by a few of them
    halves = (words[begin : begin + half] for begin in range(0, len(words) - half + 1, max(half, 1)))
    if not words or not any(f" {' '.join(piece)} " in in_text for piece in halves):
        return False
    return any(f" {' '.join(words[begin : begin + size])} " in in_text for begin in range(len(words) - size + 1))


def is_pattern(judgment: Judgment) -> bool:
    """Whether the judgment names its targets only by description."""
    return judgment.match in ("glob", "symbol")


def judgment_fits(judgment: Judgment, hit: str, lines: LineRange | None = None, *, ignore_case: bool = False) -> bool:
    """Whether a judgment of a whole document (by id, path, glob or symbol) means this hit.

    A target that names lines itself means a hit with these lines; any other means the document, whatever the lines.
    """
    if judgment.match == "glob":
        return matches_glob(judgment.target, hit, ignore_case=ignore_case)
    if judgment.match == "symbol":
        return matches_symbol(judgment.target, hit, ignore_case=ignore_case)
    target, lines_of_target = (judgment.target, None) if lines is None else split_line_range(judgment.target)
    same_name = normal_path if judgment.match == "path" else nfc
    return lines_of_target in (None, lines) and same_name(target) == same_name(hit)


def combine_grades(fitting: Iterable[Judgment], *, excluded: bool = False) -> int | None:
    """The grade of a hit that some judgments fit, None if there are none.

    The highest grade wins, except that a glob of grade 0 excludes what other globs would include; what is
    named by id, path or symbol stays in. An ``excluded`` hit is not relevant unless it is named by id or path.
    """
    fitting = list(fitting)
    if excluded and any(map(is_pattern, fitting)):
        return max([0, *(judgment.grade for judgment in fitting if not is_pattern(judgment))])
    kinds = [(judgment.match, judgment.grade) for judgment in fitting]
    by_glob = [grade for match, grade in kinds if match == "glob"]
    by_name = [grade for match, grade in kinds if match != "glob"]
    if 0 in by_glob:  # whatever the others say: a negative grade means not judged, and takes nothing back
        by_glob = [0]
    return max([*by_name, *by_glob], default=None)
