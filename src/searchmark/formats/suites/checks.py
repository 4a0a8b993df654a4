"""Rules that hold for every suite, whatever its format: valid cases, readable grades, no silent loss when writing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import ceil, inf, isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any

from searchmark.errors import FormatError, UsageError, shortened
from searchmark.formats.suites.source import HIGHEST_NUMBER, Entry, Source
from searchmark.io.data import TOO_DEEP, check_shape, is_too_deep
from searchmark.measures.grammar import parse_measure
from searchmark.measures.hits import wrong_in_order
from searchmark.records.judgments import Judgment, Match, ScoreRange
from searchmark.records.matching import compile_glob, has_reversed_lines, nfc, normal_path, words_of_text
from searchmark.records.sentences import list_first
from searchmark.records.suite import Case, Defaults, Suite, SuiteKind

if TYPE_CHECKING:
    from pydantic import TypeAdapter


# What must hold of every case, whatever file it came from.

HIGHEST_GRADE = 10**9 - 1

LONGEST_NAME, LONGEST_PATH = 255, 4095  # bytes that file systems allow


def check_cases(path: str | PathLike[str], cases: Sequence[Case], place: str = "cases") -> None:
    """Refuse the first case that contradicts itself or another one."""
    row_by_id: dict[str, int] = {}
    for row, case in enumerate(cases):
        where = f"{place}.{row}"
        if not case.id:
            raise FormatError(path, f"{where}.id", "is empty")
        if case.query is not None and not case.query.strip():
            raise FormatError(path, f"{where}.query", "is empty")
        first = row_by_id.setdefault(nfc(case.id), row)
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
    if not 0 < defaults.overlap <= 1:
        raise FormatError(path, "defaults.overlap", f"{defaults.overlap} is not a share of words: above 0, at most 1")
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
    """What a gold set says of a repository that it was mined from, as far as other code relies on it."""

    path: str = ""


@dataclass(frozen=True)
class OptionsMetadata:
    """The options of mining that later decide which files can be found."""

    kinds: tuple[str, ...] | None = None
    exclude_patterns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ReliedOnMetadata:
    """The metadata of a suite, as far as other code relies on it; there may be any other."""

    repository: str = ""
    repositories: Mapping[str, RepositoryMetadata] = field(default_factory=dict)
    options: OptionsMetadata = OptionsMetadata()


def check_metadata(path: str | PathLike[str], metadata: Mapping[str, Any]) -> None:
    """Refuse metadata that says where cases are searched, or among which files, and has not the shape for it."""
    check_fields(path, "metadata", metadata)
    relied_on = {name: metadata[name] for name, kind in _METADATA_TYPES.items() if isinstance(metadata.get(name), kind)}
    if not relied_on:
        return
    typed_metadata = check_shape(path, _metadata_adapter(), relied_on, "metadata")
    for name, repository in typed_metadata.repositories.items():
        _check_path(path, f"metadata.repositories.{name}.path", repository.path)
    _check_path(path, "metadata.repository", typed_metadata.repository)
    for number, pattern in enumerate(typed_metadata.options.exclude_patterns or ()):
        _check_glob(path, f"metadata.options.exclude_patterns.{number}", pattern)


_METADATA_TYPES: dict[str, type] = {"repository": str, "repositories": Mapping, "options": Mapping}


@cache
def _metadata_adapter() -> TypeAdapter[ReliedOnMetadata]:
    from pydantic import TypeAdapter

    return TypeAdapter(ReliedOnMetadata)


def _check_path(path: str | PathLike[str], place: str, folder: str) -> None:
    longest = max(len(part.encode("utf-8", "surrogatepass")) for part in folder.split("/"))
    if not folder.isprintable() or longest > LONGEST_NAME or len(folder) > LONGEST_PATH:
        raise FormatError(path, place, f"{shortened(repr(folder), 60)} is not a path that a folder can have")


def _check_glob(path: str | PathLike[str], place: str, pattern: str) -> None:
    try:
        compile_glob(pattern)
    except UsageError as error:
        raise FormatError(path, place, str(error)) from error


def _check_judgments(path: str | PathLike[str], where: str, case: Case) -> None:
    row_by_key: dict[tuple[str, str], int] = {}
    for row, judgment in enumerate(case.judgments):
        place = f"{where}.judgments.{row}"
        _check_judgment(path, place, judgment)
        first = row_by_key.setdefault(_judgment_key(judgment), row)
        if first != row:
            raise FormatError(path, f"{place}.target", f"{judgment.target!r} is a duplicate of judgments.{first}")
        if case.unanswerable and judgment.grade > 0:
            raise FormatError(path, f"{place}.grade", "is positive, but the case is marked unanswerable")
    for row, order in enumerate(case.other_orders):
        wrong = wrong_in_order(order, [judgment.target for judgment in case.judgments])
        if wrong:
            raise FormatError(path, f"{where}.other_orders.{row}", wrong)


def _judgment_key(judgment: Judgment) -> tuple[str, str]:
    """What may be judged only once; an id and a path are two ways to name the same thing."""
    if judgment.match == "path":
        return "name", normal_path(judgment.target)
    return ("name" if judgment.match == "id" else judgment.match), nfc(judgment.target)


def _check_judgment(path: str | PathLike[str], place: str, judgment: Judgment) -> None:
    if not judgment.target:
        raise FormatError(path, f"{place}.target", "is empty")
    _check_target(path, f"{place}.target", judgment)
    if abs(judgment.grade) > HIGHEST_GRADE:
        raise FormatError(path, f"{place}.grade", f"{judgment.grade} is beyond ±{HIGHEST_GRADE}")
    if judgment.gain is not None and not (isfinite(judgment.gain) and ceil(judgment.gain) == judgment.grade):
        reason = f"{judgment.gain} does not fit the grade {judgment.grade}, which is the gain rounded up"
        raise FormatError(path, f"{place}.gain", reason)
    if judgment.aspects and max(judgment.aspects.values()) != judgment.grade:
        raise FormatError(path, f"{place}.aspects", f"the highest of their grades is not the grade {judgment.grade}")
    if judgment.rank is not None and not 1 <= judgment.rank <= HIGHEST_GRADE:
        raise FormatError(path, f"{place}.rank", f"{judgment.rank} is not a rank; ranks start at 1")
    for name, (low, high) in _score_ranges_of(path, f"{place}.score_range", judgment.score_range):
        if not -inf < low <= high < inf:
            raise FormatError(path, name, f"its low end {low} is not a number below its high end {high}")


def _check_target(path: str | PathLike[str], place: str, judgment: Judgment) -> None:
    if judgment.match == "glob":
        _check_glob(path, place, judgment.target)
    if judgment.match == "lines" and has_reversed_lines(judgment.target):
        raise FormatError(path, place, f"the lines of {judgment.target!r} end before they begin")
    if judgment.match == "text" and not words_of_text(judgment.target).strip():
        raise FormatError(path, place, f"{shortened(repr(judgment.target), 60)} has no words that a hit could hold")


def _score_ranges_of(
    path: str | PathLike[str], place: str, ranges: ScoreRange | Mapping[str, ScoreRange] | None
) -> Iterator[tuple[str, ScoreRange]]:
    """Every range with where it is written; a mapping without any model says nothing, and is refused."""
    if isinstance(ranges, Mapping):
        if not ranges or not all(map(str.strip, ranges)):
            raise FormatError(path, place, "is neither a range nor a mapping from models to ranges")
        yield from ((f"{place}.{model}", bounds) for model, bounds in ranges.items())
    elif ranges is not None:
        yield place, ranges


# Grades as files have them: whole numbers, fractions, or words whose values --grades gives.
#
# Words that nobody explained are counted while a file is read, and named together at its end: one error tells them all.

GRADES_SHOWN = 10

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")

ESCI = {"E": 3, "S": 2, "C": 1, "I": 0}  # exact, substitute, complement, irrelevant


class GradeReader:
    """Reads the grades of one file."""

    def __init__(self, source: Source) -> None:
        self._path = source.path
        self._worth = source.grades
        self._unknown: Counter[str] = Counter()
        self._names: dict[str, None] = {}

    def judgment(self, entry: Entry, target: str, *names: str, match: Match = "id") -> Judgment:
        """What a target is worth by the first of these names that the entry has."""
        return Judgment.of_gain(target, self.value(entry, *names), match)

    def value(self, entry: Entry, *names: str) -> float:
        name, value = entry.named(*names)
        return self.worth(entry, name, value)

    def worth(self, entry: Entry, name: str, value: Any) -> float:
        """What is written, as a number; ``name`` is where."""
        if value is None:
            raise entry.error(name, "is missing")
        word = str(value).lower() if isinstance(value, bool) else str(value).strip()
        if word in self._worth:
            return self._worth[word]
        number = _grade_number(value)
        if number is not None:
            if not isfinite(number) or abs(number) > HIGHEST_NUMBER:
                raise entry.error(name, f"{shortened(word, 60)!r} is not a number of at most nine digits")
            return number
        if not isinstance(value, str | bool) or not word:
            raise entry.error(name, f"{shortened(repr(value), 60)} is neither a number nor a word")
        if _DECIMAL_COMMA.fullmatch(word):
            raise entry.error(name, f"{shortened(word, 60)!r} has a decimal comma; write it with a point")
        self._unknown[word] += 1
        self._names[name] = None
        return 0.0

    def check(self) -> None:
        """Refuse the file if it has words that nobody explained; to be called when all of it is read."""
        if not self._unknown:
            return
        word_counts = [f"{shortened(word, 40)!r} ({count}×)" for word, count in self._unknown.most_common()]
        words = [shortened(" ".join(word.split()), 20) for word, _ in self._unknown.most_common(4)]
        example = f"--grades {','.join(f'{word}={worth}' for word, worth in ESCI.items())}"
        if not self._unknown.keys() <= ESCI.keys():
            more = ",…" if len(self._unknown) > len(words) else ""
            example = f"--grades {','.join(f'{word}=NUMBER' for word in words)}{more}"
        reason = f"holds grades that are not numbers: {list_first(word_counts, GRADES_SHOWN)}; say what they are worth: {example}"
        raise FormatError(self._path, ", ".join(self._names), reason)


def _grade_number(value: Any) -> float | None:
    """A number, also where it is written as text; anything else not at all."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value) if "_" not in str(value) else None
    except (ValueError, OverflowError):
        return None


# What a suite has and a file format lacks: said, never dropped in silence.


def lost_fields(suite: Suite, *kept: str, match: str = "id", kind: SuiteKind | None = None) -> Iterator[str]:
    """One sentence for each thing that is in the suite and not ``kept`` by the format; ``kind`` is what it is read as."""
    cases = list(suite.cases)
    judgments = [judgment for case in cases for judgment in case.judgments]
    counts = {
        f"ways of matching other than by {match}": sum(j.match != match for j in judgments),
        "grades above 1, written as 1": 0 if "grades" in kept else sum(j.grade > 1 for j in judgments),
        "judgments that a target is not relevant": 0 if "grades" in kept else sum(j.grade <= 0 for j in judgments),
        "expected ranks": sum(j.rank is not None for j in judgments),
        "other orders that are as right": sum(len(case.other_orders) for case in cases),
        "marks of cases that judge the order only": sum(case.order_only for case in cases),
        "gains that are not the grade": 0 if "gains" in kept else sum(j.gain is not None for j in judgments),
        "aspects": sum(len(j.aspects or ()) for j in judgments),
        "score ranges": sum(j.score_range is not None for j in judgments),
        "query texts": 0 if "queries" in kept else sum(case.query is not None for case in cases),
        "queries that are not known, written as empty": sum(case.query is None for case in cases) if "queries" in kept else 0,
        "cases without judgments": 0 if "cases" in kept else sum(not case.judgments for case in cases),
        "categories": 0 if "groups" in kept else sum(case.category is not None for case in cases),
        "tags": 0 if "groups" in kept else sum(len(case.tags) for case in cases),
        "origins": 0 if "origins" in kept else sum(case.origin is not None for case in cases),
        "marks of unanswerable cases": sum(case.unanswerable for case in cases),
        "fields of cases": 0 if "fields" in kept else sum(len(case.fields) for case in cases),
        "fields of documents that are excluded": sum(len(case.exclude) for case in cases),
        "requests of cases": sum(case.request is not None for case in cases),
        "inline documents": 0 if "documents" in kept else sum(len(case.documents) for case in cases),
        "the suite's metadata": 0 if "metadata" in kept else int(bool(suite.metadata)),
        "the suite's defaults for rel, gain, ignore_case and measures": int(suite.defaults != Defaults()),
        "the suite's kind, which decides on default measures": int(suite.kind not in (None, kind)),
        "the suite's description or model": int(bool(suite.description or suite.model)),
    }
    return (f"{what}: {count}" if count > 1 else what for what, count in counts.items() if count)


def refuse_breaking_ids(suite: Suite, blanks: str, where: str) -> None:
    """Refuse ids that would break the lines of a file or make a comment of them, before anything is written."""
    for case in suite.cases:
        if case.id.startswith("#"):
            raise UsageError(f"the id {case.id!r} cannot be written to {where}, where # starts a comment")
    names = (name for case in suite.cases for name in (case.id, *(judgment.target for judgment in case.judgments)))
    for name in names:
        if any(blank in name for blank in blanks):
            raise UsageError(f"the id {name!r} cannot be written to {where}, where blanks separate the columns")
