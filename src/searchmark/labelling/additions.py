"""Grades that people gave to pairs of a suite, added to its judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from searchmark.errors import FormatError, shortened
from searchmark.judging.judge import judge
from searchmark.labelling.label import GRADES
from searchmark.labelling.review_cells import same_text
from searchmark.labelling.review_file import CHOSEN, graded_entries
from searchmark.records import Answer, Case, Hit, Judgment, Run, Suite
from searchmark.records.chosen_judgments import CHOSEN_JUDGMENTS, chosen_pairs
from searchmark.records.judgments import Match
from searchmark.services.secret_forms import HIDDEN
from searchmark.suites.source import Entry, as_whole


@dataclass(frozen=True)
class _NewGrade:
    """One line of the file."""

    entry: Entry
    case: str
    item: str
    grade: int

    @property
    def chosen(self) -> bool:
        """Whether the pair was chosen, or nothing says what it was drawn from."""
        return (self.entry.maybe_text("drawn_from") or CHOSEN) == CHOSEN


@dataclass(frozen=True)
class GradedSuite:
    """A suite with new grades: how many were added, how many were known already, and how many pairs have none yet."""

    suite: Suite
    added: int
    known: int
    empty: int


def add_grades(suite: Suite, path: Path) -> GradedSuite:
    """The suite with the grades of a file; what contradicts it is refused."""
    graded, empty = _read(suite, path)
    existing = _existing_grades(suite, graded)
    contradictions = [each for each in graded if existing.get((each.case, each.item), each.grade) != each.grade]
    if contradictions:
        raise _contradicted(path, contradictions, existing)
    new = [each for each in graded if (each.case, each.item) not in existing]
    return GradedSuite(_with(suite, new), len(new), len(graded) - len(new), empty)


def highest_grade(suite: Suite) -> int:
    """The highest grade that people may give to pairs of a suite: the highest that it has."""
    return max(int(suite.judgments.grades.max(initial=1)), GRADES[-1] if suite.kind == "labels" else 1)


def _read(suite: Suite, path: Path) -> tuple[list[_NewGrade], int]:
    highest = highest_grade(suite)
    found: dict[tuple[str, str], _NewGrade] = {}
    entries, empty = graded_entries(path, lambda _: True)  # grades that are added to a suite are not held against a rule
    for entry in entries:
        case, item = _case(suite, entry), entry.text("item_id")
        if (case, item) in found:
            raise FormatError(path, entry.place, f"item {item!r} is graded a second time for query {case!r}")
        found[case, item] = _NewGrade(entry, case, item, _grade(entry, highest))
    return list(found.values()), empty


def _case(suite: Suite, entry: Entry) -> str:
    case, table = entry.text("query_id"), suite.table
    if case not in table.index:
        raise FormatError(entry.path, entry.place, f"the suite has no case {case!r}; name the one that the pairs are of")
    if HIDDEN in entry.text("item_id"):
        raise FormatError(entry.path, entry.place, "the item's id held a secret, which was removed; remove the line")
    text, known = entry.maybe_text("query"), None if table.queries is None else table.queries[table.index[case]]
    if text is not None and known is not None and not same_text(text, known):
        raise FormatError(
            entry.path, entry.place, f"query {case!r} is {shortened(text, 80)!r} here and {shortened(known, 80)!r} in the suite"
        )
    return case


def _grade(entry: Entry, highest: int) -> int:
    written = entry.first("grade")
    grade = as_whole(written)
    if grade is None or not 0 <= grade <= highest:
        raise FormatError(
            entry.path, entry.place, f"grade {shortened(str(written), 40)!r} is not a whole number from 0 to {highest}"
        )
    return grade


def _existing_grades(suite: Suite, graded: Iterable[_NewGrade]) -> dict[tuple[str, str], int]:
    """What the suite says of these items already, globs and paths included: they are matched as if a run had returned them."""
    items: dict[str, list[str]] = {}
    for each in graded:
        items.setdefault(each.case, []).append(each.item)
    answers = [Answer(case, "ok", tuple(Hit(item, rank) for rank, item in enumerate(of, 1))) for case, of in items.items()]
    run = Run.from_answers("graded", answers)
    matches, ids = judge(suite, run).matches, suite.table.ids
    rows = zip(matches.case.tolist(), matches.row.tolist(), matches.grade.tolist(), strict=True)
    return {(ids[case], run.ids[row]): grade for case, row, grade in rows}


def _contradicted(path: Path, found: list[_NewGrade], existing: Mapping[tuple[str, str], int]) -> FormatError:
    shown = [
        f"{each.item!r} for {each.case!r} is {each.grade} here and {existing[each.case, each.item]} there" for each in found[:3]
    ]
    more = f" and {len(found) - len(shown)} more" if len(found) > len(shown) else ""
    return FormatError(path, found[0].entry.place, f"contradicts grades of the suite: {'; '.join(shown)}{more}")


def _with(suite: Suite, new: list[_NewGrade]) -> Suite:
    by_case: dict[str, list[_NewGrade]] = {}
    for each in new:
        by_case.setdefault(each.case, []).append(each)
    match = _match(suite)
    cases = [_with_grades(case, by_case.get(case.id, ()), match) for case in suite.cases]
    chosen = {case: list(items) for case, items in chosen_pairs(suite).items()}
    for each in new:
        if each.chosen:
            chosen.setdefault(each.case, []).append(each.item)
    metadata = {**suite.metadata, **({CHOSEN_JUDGMENTS: chosen} if chosen else {})}
    return replace(suite, judgments=Suite.from_cases(suite.name, cases).judgments, metadata=metadata)


def _with_grades(case: Case, new: Iterable[_NewGrade], match: Match) -> Case:
    return replace(case, judgments=(*case.judgments, *(Judgment(each.item, match, each.grade) for each in new)))


def _match(suite: Suite) -> Match:
    """How new targets are matched: as paths where the suite's are."""
    kinds = {judgment.match for case in suite.cases for judgment in case.judgments}
    return "path" if kinds & {"path", "glob", "lines"} and "id" not in kinds else "id"
