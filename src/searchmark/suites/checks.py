"""What must hold of every case, whatever file it came from."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from os import PathLike

from searchmark.errors import FormatError, UsageError
from searchmark.judging.expected_orders import wrong_in_order
from searchmark.judging.globs import compiled_glob
from searchmark.judging.matching import lines_are_reversed
from searchmark.judging.spelling import nfc, normal_path
from searchmark.records import Case, Judgment

HIGHEST_GRADE = 10**9 - 1


def check_cases(path: str | PathLike[str], cases: Sequence[Case], place: str = "cases") -> None:
    """Refuse the first case that contradicts itself or another one."""
    seen: dict[str, int] = {}
    for row, case in enumerate(cases):
        where = f"{place}.{row}"
        if not case.id:
            raise FormatError(path, f"{where}.id", "is empty")
        if case.query is not None and not case.query.strip():
            raise FormatError(path, f"{where}.query", "is empty")
        first = seen.setdefault(nfc(case.id), row)
        if first != row:
            raise FormatError(path, f"{where}.id", f"{case.id!r} is a duplicate of {place}.{first}")
        _check_judgments(path, where, case)


def _check_judgments(path: str | PathLike[str], where: str, case: Case) -> None:
    seen: dict[tuple[str, str], int] = {}
    for row, judgment in enumerate(case.judgments):
        place = f"{where}.judgments.{row}"
        _check_judgment(path, place, judgment)
        first = seen.setdefault(_meaning(judgment), row)
        if first != row:
            raise FormatError(path, f"{place}.target", f"{judgment.target!r} is a duplicate of judgments.{first}")
        if case.unanswerable and judgment.grade > 0:
            raise FormatError(path, f"{place}.grade", "is positive, but the case is marked unanswerable")
    for row, order in enumerate(case.other_orders):
        wrong = wrong_in_order(order, [judgment.target for judgment in case.judgments])
        if wrong:
            raise FormatError(path, f"{where}.other_orders.{row}", wrong)


def _meaning(judgment: Judgment) -> tuple[str, str]:
    """What may be judged only once; an id and a path are two ways to name the same thing."""
    if judgment.match == "path":
        return "name", normal_path(judgment.target)
    return ("name" if judgment.match == "id" else judgment.match), nfc(judgment.target)


def _check_judgment(path: str | PathLike[str], place: str, judgment: Judgment) -> None:
    if not judgment.target:
        raise FormatError(path, f"{place}.target", "is empty")
    if judgment.match == "glob":
        try:
            compiled_glob(judgment.target)
        except UsageError as error:
            raise FormatError(path, f"{place}.target", str(error)) from error
    if abs(judgment.grade) > HIGHEST_GRADE:
        raise FormatError(path, f"{place}.grade", f"{judgment.grade} is beyond ±{HIGHEST_GRADE}")
    if judgment.rank is not None and not 1 <= judgment.rank <= HIGHEST_GRADE:
        raise FormatError(path, f"{place}.rank", f"{judgment.rank} is not a rank; ranks start at 1")
    if judgment.match == "lines" and lines_are_reversed(judgment.target):
        raise FormatError(path, f"{place}.target", f"the lines of {judgment.target!r} end before they begin")
    if judgment.score_range is not None and not -inf < judgment.score_range[0] <= judgment.score_range[1] < inf:
        low, high = judgment.score_range
        raise FormatError(path, f"{place}.score_range", f"its low end {low} is not a number below its high end {high}")
