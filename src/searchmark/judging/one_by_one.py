"""Matching one case by itself: globs, symbols and line ranges, beside ids and paths.

In a case that judges lines, ranges of one document are different hits; in any other they are the document, again. Which
of them meets which judgment is decided by `assignment`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from math import inf

import numpy as np

from searchmark.judging.assignment import credited
from searchmark.judging.credit import PairRow, pairs_of_case
from searchmark.judging.described import NOTHING
from searchmark.judging.matches import NO_JUDGMENT, Matching, Part
from searchmark.judging.matching import LineRange, apart, combined_grade, fits, is_pattern, line_range
from searchmark.judging.names import CaseKinds
from searchmark.judging.spelling import nfc, normal_path
from searchmark.measures.formulas import Ints
from searchmark.records import Judgment, Run, Suite


@dataclass(frozen=True, slots=True)
class DistinctHit:
    """One hit of an answer that does not repeat another.

    ``name`` is its id as it is compared, ``lines`` those that it means, where they matter, ``row`` its row in the run.
    """

    id: str
    name: str
    lines: LineRange | None
    row: int


@dataclass(frozen=True)
class CaseMatches:
    """The matches of one case; hits and judgments by number, from 0.

    ``graded`` holds a hit, the judgment that it meets alone (NO_JUDGMENT where only descriptions fit) and its grade;
    ``met`` the first hit that every judgment fits. ``covered`` is the first hit with lines of a judgment that no hit meets, since
    all those hits have met others.
    """

    graded: list[tuple[int, int, int]]
    met: dict[int, int]
    covered: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DescriptionRules:
    """How the globs and symbols of a case are read: whether without regard to case, and which documents they never mean."""

    ignore_case: bool = False
    excluded: Set[str] = NOTHING

    @classmethod
    def of(cls, suite: Suite, case: int) -> DescriptionRules:
        return cls(suite.defaults.ignore_case, NOTHING if suite.table.excluded_ids is None else suite.table.excluded_ids[case])


AS_WRITTEN = DescriptionRules()


def match_one_by_one(matching: Matching, cases: Ints, kinds: CaseKinds) -> Part:
    """All matches of these cases, each taken by itself."""
    hits: list[tuple[int, int, int, int, int]] = []
    met: list[tuple[int, int]] = []
    covered: list[tuple[int, int]] = []
    repeats: list[int] = []
    pairs: list[PairRow] = []
    for case in cases.tolist():
        judgments, first = matching.suite.cases[case].judgments, int(matching.suite.judgments.starts[case])
        answer = int(matching.rows[case])
        by_path = bool(kinds.paths[case] or kinds.described[case])  # globs are about paths
        found = distinct_hits(matching.run, answer, paths=by_path, lines=bool(kinds.lines[case]))
        matches = match_case(judgments, found, DescriptionRules.of(matching.suite, case))
        numbers = {place: number for number, (place, _, _) in enumerate(matches.graded, len(hits))}
        met += [(first + row, numbers[place]) for row, place in matches.met.items()]
        covered += [(first + row, numbers[place]) for row, place in matches.covered.items()]
        for place, row, grade in matches.graded:
            hits.append((case, place + 1, found[place].row, row if row == NO_JUDGMENT else first + row, grade))
        repeats += [case] * (len(matching.run.rows_of(answer)) - len(found))
        pairs += _directory_pairs(matching, case, judgments, found)
    return Part(
        hits=np.array(hits, np.int64).reshape(-1, 5).T,
        met=np.array(met, np.int64).reshape(-1, 2).T,
        repeats=np.array(repeats, np.int64),
        pairs=pairs,
        covered=np.array(covered, np.int64).reshape(-1, 2).T,
    )


def _directory_pairs(
    matching: Matching, case: int, judgments: Sequence[Judgment], hits: Sequence[DistinctHit]
) -> Iterator[PairRow]:
    first = int(matching.suite.judgments.starts[case])
    wanted = {normal_path(j.target): (row, j.grade) for row, j in enumerate(judgments, first) if j.match == "path"}
    ranks: dict[str, int] = {}
    for rank, hit in enumerate(hits, 1):
        if matching.exists(hit.row):
            ranks.setdefault(normal_path(hit.id), rank)
    return pairs_of_case(case, wanted, ranks)


def distinct_hits(run: Run, row: int, *, paths: bool, lines: bool) -> list[DistinctHit]:
    """The hits of one answer, best first, each once; with ``paths`` two spellings of a path are one hit."""
    name_of = normal_path if paths else nfc
    first: dict[tuple[str, LineRange | None], DistinctHit] = {}
    for hit, hit_row in zip(run.ids_of(row), run.rows_of(row).tolist(), strict=True):
        meant = run.lines_of(hit_row) if lines else None
        name = name_of(hit)
        first.setdefault((name, meant), DistinctHit(hit, name, meant, hit_row))
    return list(first.values())


def match_case(judgments: Sequence[Judgment], hits: Sequence[DistinctHit], rules: DescriptionRules = AS_WRITTEN) -> CaseMatches:
    return _described(judgments, hits, rules) if any(map(is_pattern, judgments)) else _exact(judgments, hits)


def _described(judgments: Sequence[Judgment], hits: Sequence[DistinctHit], rules: DescriptionRules) -> CaseMatches:
    """Hit by hit: without a corpus a description cannot say what was missed, but it can say what was hit."""
    lines = _LineJudgments(judgments)
    paid = credited(list(map(lines.fitting, hits)), [judgment.grade for judgment in judgments])
    matches = CaseMatches([], {row: place for place, row in paid.items()})
    seen: set[str] = set()  # documents, of which a case that judges lines may have several hits
    for place, hit in enumerate(hits):
        fitting = [] if hit.name in seen else _fitting(judgments, hit, rules)
        seen.add(hit.name)
        excluded = hit.id in rules.excluded
        for row in fitting:
            if not (excluded and is_pattern(judgments[row])):
                matches.met.setdefault(row, place)
        of_lines = judgments[paid[place]].grade if place in paid else None
        of_document = combined_grade((judgments[row] for row in fitting), excluded=excluded)
        grades = [grade for grade in (of_document, of_lines) if grade is not None]
        if grades:
            matches.graded.append((place, NO_JUDGMENT, max(grades)))
    return matches


def _fitting(judgments: Sequence[Judgment], hit: DistinctHit, rules: DescriptionRules) -> list[int]:
    return [
        row
        for row, judgment in enumerate(judgments)
        if judgment.match != "lines" and fits(judgment, hit.id, hit.lines, ignore_case=rules.ignore_case)
    ]


def _exact(judgments: Sequence[Judgment], hits: Sequence[DistinctHit]) -> CaseMatches:
    """One hit pays one judgment: by its name with its lines, by its lines, or else by the name of its document."""
    named, lines = _NamedJudgments(judgments), _LineJudgments(judgments)
    options = [_distinct(named.get(hit.id, hit.lines), *lines.fitting(hit), named.get(hit.id, None)) for hit in hits]
    paid = credited(options, [judgment.grade for judgment in judgments])
    graded = [(place, row, judgments[row].grade) for place, row in paid.items()]
    met = {row: place for place, row in paid.items()}
    covered: dict[int, int] = {}
    for place in sorted(paid):
        for row in lines.fitting(hits[place]):
            if row not in met:
                covered.setdefault(row, place)
    return CaseMatches(graded, met, covered)


def _distinct(*rows: int | None) -> list[int]:
    return [row for row in dict.fromkeys(rows) if row is not None]


class _NamedJudgments:
    """The judgments of a case that name their targets by id or path, by that name and the lines that it ends in."""

    def __init__(self, judgments: Sequence[Judgment]) -> None:
        split = [(row, judgment.match, *apart(judgment.target)) for row, judgment in enumerate(judgments)]
        self._ids = {(nfc(target), lines): row for row, match, target, lines in split if match == "id"}
        self._paths = {(normal_path(target), lines): row for row, match, target, lines in split if match == "path"}

    def get(self, hit: str, lines: LineRange | None) -> int | None:
        row = self._ids.get((nfc(hit), lines))
        if row is None and self._paths:
            name = normal_path(hit), lines
            row = self._paths.get(name, self._ids.get(name))
        return row


class _LineJudgments:
    """The judgments of a case that are about lines, by path, in the order of their targets."""

    def __init__(self, judgments: Sequence[Judgment]) -> None:
        self._ranges: dict[str, list[tuple[int, float, int]]] = {}
        about_lines = [(judgment.target, row) for row, judgment in enumerate(judgments) if judgment.match == "lines"]
        for target, row in sorted(about_lines):
            path, first, last = line_range(target)
            self._ranges.setdefault(path, []).append((first, last, row))

    def fitting(self, hit: DistinctHit) -> list[int]:
        """Those with a line of this hit; a hit without lines is on the whole file."""
        hit_first, hit_last = hit.lines or (1, inf)
        ranges = self._ranges.get(normal_path(hit.id), ()) if self._ranges else ()
        return [row for first, last, row in ranges if first <= hit_last and hit_first <= last]
