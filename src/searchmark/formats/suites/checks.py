"""What must hold of every case, whatever file it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import ceil, inf, isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any

from searchmark.errors import FormatError, UsageError, shortened
from searchmark.files.plain_data import TOO_DEEP, is_too_deep
from searchmark.files.store import check_shape
from searchmark.judging.expected_orders import wrong_in_order
from searchmark.judging.globs import compiled_glob
from searchmark.judging.matching import lines_are_reversed
from searchmark.judging.spelling import nfc, normal_path
from searchmark.measures.grammar import parse_measure
from searchmark.records import Case, Defaults, Judgment, ScoreRange

if TYPE_CHECKING:
    from pydantic import TypeAdapter

HIGHEST_GRADE = 10**9 - 1
LONGEST_NAME, LONGEST_PATH = 255, 4095  # bytes that file systems allow


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
        check_fields(path, f"{where}.fields", case.fields)
        for number, document in enumerate(case.documents):
            check_fields(path, f"{where}.documents.{number}.fields", document.fields)


def check_defaults(path: str | PathLike[str], defaults: Defaults) -> None:
    """Refuse defaults that no measure could be asked with."""
    if defaults.rel < 1:
        raise FormatError(path, "defaults.rel", f"{defaults.rel} is not a grade from 1")
    for row, name in enumerate(defaults.measures):
        try:
            parse_measure(name)
        except UsageError as error:
            raise FormatError(path, f"defaults.measures.{row}", str(error)) from error


def check_fields(path: str | PathLike[str], place: str, fields: Mapping[str, Any]) -> None:
    """Refuse what is nested so deeply that nothing could write it again."""
    for name, value in fields.items():
        if isinstance(value, dict | list) and is_too_deep(value):
            raise FormatError(path, f"{place}.{name}", TOO_DEEP)


@dataclass(frozen=True)
class RepositoryMetadata:
    """What a gold set says of a repository that it was mined from, as far as somebody relies on it."""

    path: str = ""


@dataclass(frozen=True)
class OptionsMetadata:
    """The options of mining that later decide which files can be found."""

    kinds: tuple[str, ...] | None = None
    exclude_patterns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ReliedOnMetadata:
    """The metadata of a suite, as far as somebody relies on it; there may be any other."""

    repository: str = ""
    repositories: Mapping[str, RepositoryMetadata] = field(default_factory=dict)
    options: OptionsMetadata = OptionsMetadata()


def check_metadata(path: str | PathLike[str], metadata: Mapping[str, Any]) -> None:
    """Refuse metadata that says where cases are searched, or among which files, and has not the shape for it."""
    check_fields(path, "metadata", metadata)
    relied_on = {name: metadata[name] for name, kind in _RELIED_ON.items() if isinstance(metadata.get(name), kind)}
    if not relied_on:
        return
    mined = check_shape(path, _relied_on_metadata(), relied_on, "metadata")
    for name, repository in mined.repositories.items():
        _check_path(path, f"metadata.repositories.{name}.path", repository.path)
    _check_path(path, "metadata.repository", mined.repository)
    for number, pattern in enumerate(mined.options.exclude_patterns or ()):
        _check_glob(path, f"metadata.options.exclude_patterns.{number}", pattern)


_RELIED_ON: dict[str, type] = {"repository": str, "repositories": Mapping, "options": Mapping}


@cache
def _relied_on_metadata() -> TypeAdapter[ReliedOnMetadata]:
    from pydantic import TypeAdapter

    return TypeAdapter(ReliedOnMetadata)


def _check_path(path: str | PathLike[str], place: str, named: str) -> None:
    longest = max(len(part.encode("utf-8", "surrogatepass")) for part in named.split("/"))
    if not named.isprintable() or longest > LONGEST_NAME or len(named) > LONGEST_PATH:
        raise FormatError(path, place, f"{shortened(repr(named), 60)} is not a path that a folder can have")


def _check_glob(path: str | PathLike[str], place: str, pattern: str) -> None:
    try:
        compiled_glob(pattern)
    except UsageError as error:
        raise FormatError(path, place, str(error)) from error


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
        _check_glob(path, f"{place}.target", judgment.target)
    if abs(judgment.grade) > HIGHEST_GRADE:
        raise FormatError(path, f"{place}.grade", f"{judgment.grade} is beyond ±{HIGHEST_GRADE}")
    if judgment.gain is not None and not (isfinite(judgment.gain) and ceil(judgment.gain) == judgment.grade):
        reason = f"{judgment.gain} does not fit the grade {judgment.grade}, which is the gain rounded up"
        raise FormatError(path, f"{place}.gain", reason)
    if judgment.aspects and max(judgment.aspects.values()) != judgment.grade:
        raise FormatError(path, f"{place}.aspects", f"the highest of their grades is not the grade {judgment.grade}")
    if judgment.rank is not None and not 1 <= judgment.rank <= HIGHEST_GRADE:
        raise FormatError(path, f"{place}.rank", f"{judgment.rank} is not a rank; ranks start at 1")
    if judgment.match == "lines" and lines_are_reversed(judgment.target):
        raise FormatError(path, f"{place}.target", f"the lines of {judgment.target!r} end before they begin")
    for name, (low, high) in _ranges_of(path, f"{place}.score_range", judgment.score_range):
        if not -inf < low <= high < inf:
            raise FormatError(path, name, f"its low end {low} is not a number below its high end {high}")


def _ranges_of(
    path: str | PathLike[str], place: str, given: ScoreRange | Mapping[str, ScoreRange] | None
) -> Iterator[tuple[str, ScoreRange]]:
    """Every range with where it is written; a mapping without any model says nothing, and is refused."""
    if isinstance(given, Mapping):
        if not given or not all(map(str.strip, given)):
            raise FormatError(path, place, "is neither a range nor a mapping from models to ranges")
        yield from ((f"{place}.{model}", bounds) for model, bounds in given.items())
    elif given is not None:
        yield place, given
