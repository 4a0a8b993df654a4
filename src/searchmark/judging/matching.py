"""When a hit is what a judgment means: by id, path, glob, symbol or lines.

Glob: ``*`` and ``?`` stay within a path segment, ``**`` crosses them; a pattern without a slash is held
against the last segment. Symbol: the dotted parts stand in the id one after the other, so ``Stock.Update``
meets ``TModule.Stock.Update`` and ``Update`` meets both. Lines: ``path#L10-L20`` meets any overlapping
range of that path, and the path alone. All comparisons heed case, and none heeds how accents are encoded.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from unicodedata import normalize

from searchmark.errors import UsageError
from searchmark.records import Judgment

_LINES = re.compile(r"(?P<path>.+)#L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?")


def nfc(text: str) -> str:
    """The text with accents composed: one spelling for what looks the same."""
    return text if text.isascii() else normalize("NFC", text)


def normal_path(path: str) -> str:
    """A path without ``./`` in front or ``/`` behind, accents composed."""
    path = nfc(path)
    while path.startswith("./"):
        path = path[2:]
    return path.rstrip("/") or path


def segments(path: str) -> list[str]:
    return path.split("/")


@lru_cache(maxsize=4096)
def glob_segments(glob: str) -> tuple[re.Pattern[str] | None, ...]:
    """What each segment of a glob must match; None for ``**``, which stands for any number of segments."""
    return tuple(None if segment == "**" else _segment_pattern(glob, segment) for segment in nfc(glob).split("/"))


def _segment_pattern(glob: str, segment: str) -> re.Pattern[str]:
    pattern = fnmatch.translate(segment)  # the standard library's never backtracks beyond a segment
    if "(?!)" in pattern:
        raise UsageError(f"{glob!r} is not a glob: a set of characters in it is empty")
    return re.compile(pattern)


def matches_glob(glob: str, hit: str) -> bool:
    """Whether a glob means this id. ``**`` at the end stands for at least one segment."""
    wanted, parts = glob_segments(glob), nfc(hit).split("/")
    if len(wanted) == 1:
        parts = parts[-1:]
    reached = {0}  # how many parts can be used up by the segments so far
    for place, pattern in enumerate(wanted):
        if pattern is None:
            first = min(reached, default=len(parts) + 1)
            last = place == len(wanted) - 1
            reached = set(range(first + 1 if last else first, len(parts) + 1))
        else:
            reached = {used + 1 for used in reached if used < len(parts) and pattern.match(parts[used])}
    return len(parts) in reached


def matches_symbol(symbol: str, hit: str) -> bool:
    wanted, parts = nfc(symbol).split("."), nfc(hit).split(".")
    size = len(wanted)
    return any(parts[i : i + size] == wanted for i in range(len(parts) - size + 1))


def matches_lines(target: str, hit: str) -> bool:
    (path, first, last), (hit_path, hit_first, hit_last) = _line_range(target), _line_range(hit)
    return path == hit_path and first <= hit_last and hit_first <= last


def _line_range(text: str) -> tuple[str, int, float]:
    found = _LINES.fullmatch(text)
    if not found:
        return normal_path(text), 1, float("inf")
    first = int(found["first"])
    return normal_path(found["path"]), first, int(found["last"] or first)


def names_lines(text: str) -> bool:
    """Whether an id speaks of some lines and not of a whole file."""
    return _LINES.fullmatch(text) is not None


def lines_are_reversed(target: str) -> bool:
    _, first, last = _line_range(target)
    return last < first


def path_of_lines(text: str) -> str:
    """The path of a hit that may name lines."""
    return _line_range(text)[0]


def is_pattern(judgment: Judgment) -> bool:
    """Whether the judgment names its targets only by description."""
    return judgment.match in ("glob", "symbol")


def grade_by_description(judgments: Sequence[Judgment]) -> Callable[[str], int | None]:
    """A function from id to grade, None for an id that no judgment speaks of.

    The highest grade wins, except that a glob of grade 0 excludes what other globs would include; what is
    named by id, path or symbol stays in.
    """
    globs = [j for j in judgments if j.match == "glob"]
    named = [j for j in judgments if j.match != "glob"]

    def grade(hit: str) -> int | None:
        by_name = [j.grade for j in named if _named(j, hit)]
        by_glob = [j.grade for j in globs if matches_glob(j.target, hit)]
        if by_glob and min(by_glob) == 0:
            by_glob = [0]
        return max([*by_name, *by_glob], default=None)

    return grade


def _named(judgment: Judgment, hit: str) -> bool:
    if judgment.match == "symbol":
        return matches_symbol(judgment.target, hit)
    if judgment.match == "path":
        return normal_path(judgment.target) == normal_path(hit)
    return nfc(judgment.target) == nfc(hit)


def expanded(judgments: Sequence[Judgment], corpus: Iterable[str]) -> tuple[Judgment, ...]:
    """The same judgments with every glob and symbol replaced by the ids of the corpus that it means."""
    if not any(map(is_pattern, judgments)):
        return tuple(judgments)
    kept = {_known_as(j): j for j in judgments if not is_pattern(j)}
    grade_of = grade_by_description([j for j in judgments if j.match != "lines"])
    for hit in corpus:
        grade = grade_of(hit)
        if grade is not None:
            known = kept.get(nfc(hit)) or kept.get(normal_path(hit)) or Judgment(hit)
            kept[_known_as(known)] = replace(known, grade=grade)
    return tuple(kept.values())


def _known_as(judgment: Judgment) -> str:
    """The one name of what a judgment means, whichever way its path is spelt."""
    return normal_path(judgment.target) if judgment.match == "path" else nfc(judgment.target)


def directory_credit(targets: Iterable[str], hits: Sequence[str]) -> float:
    """What the hits earn of the targets: 1 for each found exactly, half for one below a directory that was hit.

    Exact matches are settled first; then directories in path order each pay the first target below them, in
    path order, that nobody has paid. A hit pays one target at most, and a target is paid once.
    """
    wanted = {normal_path(target) for target in targets}
    answers = dict.fromkeys(map(normal_path, hits))
    paid = wanted & answers.keys()
    unpaid = sorted(wanted - paid, key=segments)
    credit = float(len(paid))
    for directory in sorted(answers.keys() - wanted, key=segments):
        below = next((target for target in unpaid if target.startswith(f"{directory}/")), None)
        if below is not None:
            unpaid.remove(below)
            credit += 0.5
    return credit
