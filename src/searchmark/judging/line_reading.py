"""Which lines somebody reads who follows an answer hit by hit, and which of them are judged to be relevant.

A run says what lines cost, since only whoever has made it had the texts. Lines are read as far as that is known, which is
further than any budget goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from searchmark.judging.matching import line_range
from searchmark.judging.names import LINES, lines_apart
from searchmark.judging.spelling import normal_path
from searchmark.measures.formulas import Ints
from searchmark.measures.line_tokens import MOST_LINES, MOST_TOKENS, TOKENIZER
from searchmark.measures.read_lines import ReadLines
from searchmark.records import OK, AnswerDetails, Judgment, Run, Suite
from searchmark.records.columns import starts_of

Place: TypeAlias = tuple[int, int, int]  # first line, last line, grade


@dataclass(frozen=True, eq=False)
class LineReading:
    """What is read of all answers; per case, whether all that is relevant are lines, and whether what they cost is known."""

    read: ReadLines | None
    about_lines: NDArray[np.bool_]
    counted: NDArray[np.bool_]


@dataclass
class _CaseLines:
    """What is read of one answer, line by line."""

    tokens: list[int] = field(default_factory=list)
    grades: list[int] = field(default_factory=list)
    counted: bool = True


def about_lines(suite: Suite) -> NDArray[np.bool_]:
    """The cases in which everything relevant is a range of lines that says where it ends, and there is something."""
    judgments = suite.judgments
    if judgments.match is None:
        return np.zeros(len(suite), bool)
    relevant = judgments.grades > 0
    ranges = judgments.match == LINES
    ranges[ranges] = [line_range(judgments.targets[row])[2] < inf for row in np.flatnonzero(ranges).tolist()]
    of_lines, of_others = (np.bincount(judgments.case[relevant & each], minlength=len(suite)) for each in (ranges, ~ranges))
    return np.asarray((of_lines > 0) & (of_others == 0))


def line_reading(suite: Suite, run: Run, rows: Ints, status: NDArray[np.uint8]) -> LineReading:
    """Read every answer to a case that is about lines; ``rows`` says where in the run it is. No answer is nothing to read."""
    wanted = about_lines(suite)
    if not wanted.any():
        return LineReading(None, wanted, wanted)
    run = lines_apart(run) if len(run.ids) else run
    counted, lines, places = wanted.copy(), [_CaseLines() for _ in wanted], []
    for case in np.flatnonzero(wanted).tolist():
        judged = _disjoint(suite.cases[case].judgments)
        places += [(case, last - first + 1, grade) for of_path in judged.values() for first, last, grade in of_path]
        if status[case] == OK:
            lines[case] = _read(run, int(rows[case]), judged)
            counted[case] = lines[case].counted
    answered = wanted & (status == OK)
    if answered.any() and not counted[answered].any():
        counted[:] = False  # else the answers that failed, all 0, would be the mean
    place = np.array(places, np.int64).reshape(-1, 3).T
    read = ReadLines(
        starts=starts_of((len(each.tokens) for each in lines), len(lines)),
        tokens=np.array([each for of_case in lines for each in of_case.tokens], np.int64),
        grade=np.array([each for of_case in lines for each in of_case.grades], np.int64),
        place_case=place[0],
        place_lines=place[1],
        place_grade=place[2],
    )
    return LineReading(read, wanted, counted)


def _disjoint(judgments: Iterable[Judgment]) -> dict[str, list[Place]]:
    """The relevant lines by path, as ranges that do not overlap; where judgments do, the highest grade counts."""
    ranges: dict[str, list[Place]] = {}
    for judgment in judgments:
        if judgment.match == "lines" and judgment.grade > 0:
            path, first, last = line_range(judgment.target)
            ranges.setdefault(path, []).append((first, int(last), judgment.grade))
    return {path: list(_apart(of_path)) for path, of_path in ranges.items()}


def _apart(ranges: Sequence[Place]) -> Iterator[Place]:
    waiting = sorted(ranges, reverse=True)  # the next one last
    open_ranges: list[tuple[int, int]] = []  # the highest grade first
    for begin, end in pairwise(sorted({border for first, last, _ in ranges for border in (first, last + 1)})):
        while waiting and waiting[-1][0] <= begin:
            _, last, grade = waiting.pop()
            heappush(open_ranges, (-grade, last))
        while open_ranges and open_ranges[0][1] < begin:
            heappop(open_ranges)
        if open_ranges:
            yield begin, end - 1, -open_ranges[0][0]


def _read(run: Run, answer: int, places: Mapping[str, Sequence[Place]]) -> _CaseLines:
    """Line after line, none twice, until no budget reaches further; what is not counted before that makes all unknown."""
    found, spent = _CaseLines(), 0
    texts = _known_lines(run.details_of(answer))
    seen: set[tuple[str, int]] = set()
    for hit, row in zip(run.ids_of(answer), run.rows_of(answer).tolist(), strict=True):
        path = normal_path(hit)
        text = None if texts is None else texts.get(path)
        if text is None:
            found.counted = spent >= MOST_TOKENS and len(seen) >= MOST_LINES
            return found
        first, last = run.lines_of(row) or (1, text.lines)
        grades = _grades(places.get(path, ()), first, min(last, text.lines))
        for line, grade in grades:
            if spent >= MOST_TOKENS and len(seen) >= MOST_LINES:
                return found
            if (path, line) in seen:
                continue
            if line not in text.tokens:
                found.counted = False
                return found
            seen.add((path, line))
            spent += text.tokens[line]
            found.tokens.append(text.tokens[line])
            found.grades.append(grade)
    return found


@dataclass(frozen=True)
class _KnownText:
    lines: int
    tokens: Mapping[int, int]


def _known_lines(details: AnswerDetails) -> dict[str, _KnownText] | None:
    """What an answer says of the lines of documents, by path; None where it says nothing, or by another count."""
    if details.line_tokens is None or details.line_tokens_by != TOKENIZER:
        return None
    return {
        normal_path(document): _KnownText(
            text.lines, {first + place: each for first, tokens in text.pieces for place, each in enumerate(tokens)}
        )
        for document, text in details.line_tokens.items()
    }


def _grades(places: Sequence[Place], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Every line of a range and its grade."""
    rest = iter(places)
    place = next(rest, None)
    for line in range(first, last + 1):
        while place is not None and place[1] < line:
            place = next(rest, None)
        yield line, place[2] if place is not None and place[0] <= line else 0
