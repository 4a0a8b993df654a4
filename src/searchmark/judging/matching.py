"""When a hit is what a judgment means: by id, path, glob, symbol or lines.

Globs have a module of their own. Symbol: the dotted parts occur in the id one after the other, so ``Stock.Update``
meets ``TModule.Stock.Update`` and ``Update`` meets both. Lines: ``path#L10-L20`` meets any overlapping
range of that path, and the path alone. Ids, paths and lines heed case, and so do globs and symbols unless their suite says
otherwise. None heeds how accents are encoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from typing import TypeAlias

from searchmark.judging.globs import matches_glob
from searchmark.judging.spelling import nfc, normal_path
from searchmark.records import Judgment

# The first and the last line of a range.
LineRange: TypeAlias = tuple[int, int]

_LINES = re.compile(r"(?P<path>.+)#L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?")


def matches_symbol(symbol: str, hit: str, *, ignore_case: bool = False) -> bool:
    wanted, parts = symbol_parts(symbol, ignore_case=ignore_case), symbol_parts(hit, ignore_case=ignore_case)
    size = len(wanted)
    return any(parts[i : i + size] == wanted for i in range(len(parts) - size + 1))


def symbol_parts(symbol: str, *, ignore_case: bool = False) -> list[str]:
    """The dotted parts of a symbol or an id, as they are compared."""
    return (nfc(symbol).casefold() if ignore_case else nfc(symbol)).split(".")


def apart(text: str) -> tuple[str, LineRange | None]:
    """An id and the lines that are spelt behind it, ``a.py#L3-L9``; None for an id that names none.

    Lines are counted from 1: ``#L0`` is a part of the id.
    """
    found = _LINES.fullmatch(text) if "#L" in text else None
    first = int(found["first"]) if found else 0
    if not found or not first:
        return text, None
    return found["path"], (first, int(found["last"] or first))


def line_range(text: str) -> tuple[str, int, float]:
    """The path, the first and the last line of a judgment about lines; one that names none is about all of them."""
    found = _LINES.fullmatch(text)
    if not found:
        return normal_path(text), 1, inf
    first = int(found["first"])
    return normal_path(found["path"]), first, int(found["last"] or first)


def names_lines(text: str) -> bool:
    """Whether an id speaks of some lines and not of a whole file."""
    return apart(text)[1] is not None


def lines_are_reversed(target: str) -> bool:
    _, first, last = line_range(target)
    return last < first


def path_of_lines(text: str) -> str:
    """The path of a hit that may name lines."""
    return normal_path(apart(text)[0])


def is_pattern(judgment: Judgment) -> bool:
    """Whether the judgment names its targets only by description."""
    return judgment.match in ("glob", "symbol")


def fits(judgment: Judgment, hit: str, lines: LineRange | None = None, *, ignore_case: bool = False) -> bool:
    """Whether a judgment of a whole document (by id, path, glob or symbol) means this hit.

    A target that names lines itself means a hit with these lines; any other means the document, whatever the lines.
    """
    if judgment.match == "glob":
        return matches_glob(judgment.target, hit, ignore_case=ignore_case)
    if judgment.match == "symbol":
        return matches_symbol(judgment.target, hit, ignore_case=ignore_case)
    target, wanted = (judgment.target, None) if lines is None else apart(judgment.target)
    same_name = normal_path if judgment.match == "path" else nfc
    return wanted in (None, lines) and same_name(target) == same_name(hit)


def combined_grade(fitting: Iterable[Judgment], *, excluded: bool = False) -> int | None:
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
