"""The cases of a suite to look at: a list, or one with its judgments and what runs returned for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from searchmark.errors import UsageError
from searchmark.formats.corpora.corpus import Survey
from searchmark.git.mining.decisions import NO_DECISIONS, CaseDecision, Decisions
from searchmark.git.sources import CaseDiff
from searchmark.records.answers import NOTHING_KNOWN, STATUSES
from searchmark.records.judgments import Judgment, Match
from searchmark.records.matching import is_pattern, path_of_lines
from searchmark.records.sentences import quote_name
from searchmark.records.suite import Case, Suite
from searchmark.scoring.comparison import unique_names
from searchmark.scoring.match import MatchedRun, resolve_hits
from searchmark.scoring.matches import NO_JUDGMENT, CaseKinds, Spelling, distinct_hits, split_line_ids
from searchmark.scoring.scores import Scores
from searchmark.scoring.targets import DescribedIds, ExistingIds


def answer_ranks(matched: MatchedRun, case: int, answer: int, existing: ExistingIds | None = None) -> list[int | None]:
    """For every hit of an answer, best first, its rank among the distinct ones; None for one that repeats another.

    ``case`` and ``answer`` are rows of suite and run. ``existing`` is what the run was judged with, if the corpus was known.
    """
    run = matched.run if existing is None else resolve_hits(matched.run, existing)[0]
    if Spelling.of(run.ids).lines:
        run = split_line_ids(run)
    kinds = CaseKinds.of(matched.suite).for_run(matched.suite, run)
    ranks = {hit.row: rank for rank, hit in enumerate(distinct_hits(run, answer, kinds, case), 1)}
    return [ranks.get(row) for row in run.rows_of(answer).tolist()]


NEAR = 5  # ids that are offered for one that is not there

LEAST_ALIKE = 0.4


@dataclass(frozen=True)
class ListedCase:
    """A case in a list."""

    id: str
    query: str | None
    category: str | None
    relevant: int  # targets
    judged: int  # judgments
    values: Mapping[str, Mapping[str, float | None]]  # by run and measure; None is undefined
    decision: str | None = None  # what a person decided about it: reject or query


@dataclass(frozen=True)
class CaseList:
    """Some cases of a suite, in its order or the lowest values first."""

    suite: str  # its name
    cases: tuple[ListedCase, ...]
    fitting: int  # how many cases fit, those beyond the limit included
    sorted_by: str | None = None  # a measure
    sorted_run: str | None = None  # whose values


@dataclass(frozen=True)
class JudgedTarget:
    """A judgment of a case."""

    target: str
    match: Match
    grade: int
    rank: int | None
    gain: float | None
    aspects: Mapping[str, int] | None
    exists: bool | None  # None where the corpus is not known
    found: Mapping[str, int | None]  # the rank at which each run returned it


@dataclass(frozen=True)
class PlacedHit:
    """A hit as a run returned it."""

    place: int  # in the answer
    rank: int | None  # None if it repeats another hit
    id: str
    score: float | None
    lines: tuple[int, int] | None
    grade: int | None  # None if no judgment is about it
    target: str | None  # that it met; None if it met none
    missing: bool  # it does not exist in the corpus

    @property
    def duplicate(self) -> bool:
        return self.rank is None


@dataclass(frozen=True)
class AnswerView:
    """What one run returned for a case."""

    run: str  # its name
    status: str
    failure: str | None
    returned: int  # how many hits in all
    hits: tuple[PlacedHit, ...]  # the first of them
    values: Mapping[str, float | None]
    undefined: Mapping[str, str]  # why measures have no value


@dataclass(frozen=True)
class CaseView:
    """One case, its judgments, and the answers of runs."""

    suite: str
    case: Case
    judgments: tuple[JudgedTarget, ...]
    answers: tuple[AnswerView, ...]
    decision: CaseDecision | None = None
    diff: CaseDiff | None = None


def list_cases(
    suite: Suite,
    part: Suite,
    scores: Sequence[Scores] = (),
    *,
    limit: int | None = None,
    sort: str | None = None,
    decisions: Decisions = NO_DECISIONS,
) -> CaseList:
    """The cases of ``part``, which is the suite or a part of it; sorted by a measure of the first run, the lowest first."""
    if sort is not None and not scores:
        raise UsageError("cases are sorted by what a run got; name the run with --run")
    order = list(part.table.ids) if sort is None else _lowest_first(part, scores[0], sort)
    first = part.only(set(order[:limit])) if limit is not None else part
    places = {case.id: case for case in first.cases}
    rows = [_listed_case(places[case], suite, scores, decisions) for case in order[:limit]]
    return CaseList(suite.name, tuple(rows), len(order), sort, None if sort is None else unique_names(scores)[0])


def _lowest_first(suite: Suite, scores: Scores, measure: str) -> list[str]:
    """Undefined values are neither low nor high, and come last."""
    column, rows = scores.values[:, scores.column_of(measure)], scores.matched.suite.table.index
    values = {case: float(column[rows[case]]) for case in suite.table.ids}
    return sorted(values, key=lambda case: (math.isnan(values[case]), values[case]))


def _listed_case(case: Case, suite: Suite, scores: Sequence[Scores], decisions: Decisions) -> ListedCase:
    relevant = sum(each.grade >= suite.defaults.rel for each in case.judgments)
    values = {name: _values(each, case.id) for name, each in zip(unique_names(scores), scores, strict=True)}
    decision = decisions.about_case(case)
    verdict = None if decision is None else decision.decision
    return ListedCase(case.id, case.query, case.category, relevant, len(case.judgments), values, verdict)


def _values(scores: Scores, case: str) -> dict[str, float | None]:
    row = scores.values[scores.matched.suite.table.index[case]].tolist()
    return {name: None if math.isnan(value) else value for name, value in zip(scores.names, row, strict=True)}


def view_case(
    suite: Suite,
    case: str,
    scores: Sequence[Scores] = (),
    corpus: Survey | None = None,
    *,
    limit: int | None = None,
    decisions: Decisions = NO_DECISIONS,
    diff: CaseDiff | None = None,
) -> CaseView:
    """One case with its judgments and the first ``limit`` hits of every run, which ``scores`` judge by the same corpus.

    It is named by its id, or by its whole query if no other case asks the same.
    """
    row = row_of(suite, case)
    suite_case, names = suite.cases[row], unique_names(scores)
    case = suite_case.id
    existing = None if corpus is None else ExistingIds(corpus.ids, corpus.folder)
    meaning = _meaning(suite, corpus)
    judgments = [
        JudgedTarget(
            target=each.target,
            match=each.match,
            grade=each.grade,
            rank=each.rank,
            gain=each.gain,
            aspects=each.aspects,
            exists=_exists(each, meaning, existing),
            found={
                name: _rank_of(run_scores, case, {each.target, *meaning(each)})
                for name, run_scores in zip(names, scores, strict=True)
            },
        )
        for each in suite_case.judgments
    ]
    answers = [_answer(name, run_scores, case, existing, limit) for name, run_scores in zip(names, scores, strict=True)]
    return CaseView(suite.name, suite_case, tuple(judgments), tuple(answers), decisions.about_case(suite_case), diff)


def row_of(suite: Suite, case: str) -> int:
    """The row of a case, which is named by its id or by its whole query."""
    row_by_id = suite.table.index.get(case)
    if row_by_id is not None:
        return row_by_id
    asking = [row for row, query in enumerate(suite.table.queries or ()) if query is not None and query.strip() == case.strip()]
    if len(asking) == 1:
        return asking[0]
    if asking:
        ids = ", ".join(quote_name(suite.table.ids[row]) for row in asking[:NEAR])
        raise UsageError(
            f"{len(asking)} cases ask {quote_name(case)}; name one by its id: {ids}{', …' if len(asking) > NEAR else ''}"
        )
    raise UsageError(f"the suite {quote_name(suite.name)} has no case {quote_name(case)}{_nearest(case, suite.table.ids)}")


def _nearest(case: str, ids: Sequence[str]) -> str:
    """Ids that hold what was typed, and those that are spelled like it."""
    holding = [each for each in ids if case.lower() in each.lower()]
    near = list(dict.fromkeys([*holding, *get_close_matches(case, ids, NEAR, LEAST_ALIKE)]))[:NEAR]
    return f"; nearest: {', '.join(map(quote_name, near))}" if near else "; `searchmark cases SUITE` lists them"


def _meaning(suite: Suite, corpus: Survey | None) -> Callable[[Judgment], list[str]]:
    """What a judgment means in the corpus, where it is a glob or a symbol and the corpus is known."""
    described_ids = None if corpus is None else DescribedIds(corpus.ids, ignore_case=suite.defaults.ignore_case)
    return lambda judgment: described_ids.meant_by(judgment) if described_ids is not None and is_pattern(judgment) else []


def _exists(judgment: Judgment, meaning: Callable[[Judgment], list[str]], existing: ExistingIds | None) -> bool | None:
    if existing is None or judgment.match == "text":
        return None
    if is_pattern(judgment):
        return bool(meaning(judgment))
    return (path_of_lines(judgment.target) if judgment.match == "lines" else judgment.target) in existing


def _rank_of(scores: Scores, case: str, targets: set[str]) -> int | None:
    """The best rank at which one of these targets was returned."""
    suite, matches = scores.matched.suite, scores.matched.matches
    start, end = suite.judgments.starts[suite.table.index[case] :][:2].tolist()
    ranks = matches.seen_ranks[start:end].tolist()
    hit_ranks = [rank for target, rank in zip(suite.judgments.targets[start:end], ranks, strict=True) if rank and target in targets]
    return min(hit_ranks, default=None)


def _answer(name: str, scores: Scores, case: str, existing: ExistingIds | None, limit: int | None) -> AnswerView:
    matched = scores.matched
    row, answer = matched.suite.table.index[case], matched.run.index.get(case)
    details = NOTHING_KNOWN if answer is None else matched.run.details_of(answer)
    columns = np.flatnonzero(np.isnan(scores.values[row])).tolist()
    return AnswerView(
        run=name,
        status=STATUSES[matched.status[row]],
        failure=details.failure,
        returned=0 if answer is None else len(matched.run.rows_of(answer)),
        hits=() if answer is None else tuple(_hits(scores, row, answer, existing, limit)),
        values=_values(scores, case),
        undefined={scores.names[column]: str(scores.reason(row, column)) for column in columns},
    )


def _hits(scores: Scores, row: int, answer: int, existing: ExistingIds | None, limit: int | None) -> Iterator[PlacedHit]:
    matched = scores.matched
    matches, run = matched.matches, matched.run
    of_case = np.flatnonzero(matches.case == row).tolist()
    match_by_row = {int(matches.row[number]): number for number in of_case}
    ranks = answer_ranks(matched, row, answer, existing)
    hits, rows = run.answer(answer, limit).hits, run.rows_of(answer).tolist()
    for place, (hit, hit_row, rank) in enumerate(zip(hits, rows, ranks, strict=False), 1):
        number = match_by_row.get(hit_row)
        judgment = NO_JUDGMENT if number is None else int(matches.judgment[number])
        target = None if judgment == NO_JUDGMENT else matched.suite.judgments.targets[judgment]
        grade = None if number is None else int(matches.grade[number])
        missing = matched.valid is not None and not matched.valid[hit_row]
        yield PlacedHit(place, rank, hit.id, hit.score, hit.lines, grade, target, missing)
