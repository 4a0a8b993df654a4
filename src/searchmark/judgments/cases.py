"""The cases of a suite to look at: a list of them, or one with its judgments and what runs returned for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from searchmark.analysis.comparison import unique_names
from searchmark.analysis.scores import Scores
from searchmark.corpora.corpus import Survey
from searchmark.errors import UsageError
from searchmark.judging.answer_ranks import answer_ranks
from searchmark.judging.described import DescribedIds
from searchmark.judging.existence import Existing
from searchmark.judging.matches import NO_JUDGMENT
from searchmark.judging.matching import is_pattern, path_of_lines
from searchmark.mining.case_diff import CaseDiff
from searchmark.mining.decisions import NO_DECISIONS, CaseDecision, Decisions
from searchmark.records import NOTHING_KNOWN, STATUSES, Case, Judgment, Match, Suite
from searchmark.records.shown import quoted

NEAR = 5  # ids that are offered for one that is not there
LEAST_ALIKE = 0.4


@dataclass(frozen=True)
class ListedCase:
    """A case in a list: how many targets are relevant to it, and its values by run and measure; None is undefined.

    ``decision`` is what a person decided about it: reject or query.
    """

    id: str
    query: str | None
    category: str | None
    relevant: int
    judged: int
    values: Mapping[str, Mapping[str, float | None]]
    decision: str | None = None


@dataclass(frozen=True)
class CaseList:
    """Some cases of a suite, in the order of the suite or the lowest ``sorted_by`` first; ``fitting`` counts all that fit."""

    suite: str
    cases: tuple[ListedCase, ...]
    fitting: int
    sorted_by: str | None = None
    sorted_run: str | None = None


@dataclass(frozen=True)
class JudgedTarget:
    """A judgment of a case, whether its target exists (None: not known), and the rank at which each run returned it."""

    target: str
    match: Match
    grade: int
    rank: int | None
    gain: float | None
    aspects: Mapping[str, int] | None
    exists: bool | None
    found: Mapping[str, int | None]


@dataclass(frozen=True)
class PlacedHit:
    """A hit as a run returned it: its rank, None if it repeats another, and the target that it met, None if it met none.

    ``grade`` is None for a hit that no judgment is about. ``missing``: it does not exist in the corpus.
    """

    place: int
    rank: int | None
    id: str
    score: float | None
    lines: tuple[int, int] | None
    grade: int | None
    target: str | None
    missing: bool

    @property
    def duplicate(self) -> bool:
        return self.rank is None


@dataclass(frozen=True)
class AnswerView:
    """What one run returned for a case; ``returned`` counts all hits, of which ``hits`` are the first."""

    run: str
    status: str
    failure: str | None
    returned: int
    hits: tuple[PlacedHit, ...]
    values: Mapping[str, float | None]
    undefined: Mapping[str, str]


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
    kept: Suite,
    scores: Sequence[Scores] = (),
    *,
    limit: int | None = None,
    sort: str | None = None,
    decisions: Decisions = NO_DECISIONS,
) -> CaseList:
    """The cases of ``kept``, which is the suite or a part of it; sorted by a measure of the first run, the lowest first."""
    if sort is not None and not scores:
        raise UsageError("cases are sorted by what a run got; name the run with --run")
    order = list(kept.table.ids) if sort is None else _lowest_first(kept, scores[0], sort)
    wanted = kept.only(set(order[:limit])) if limit is not None else kept
    places = {case.id: case for case in wanted.cases}
    shown = [_listed(places[case], suite, scores, decisions) for case in order[:limit]]
    return CaseList(suite.name, tuple(shown), len(order), sort, None if sort is None else unique_names(scores)[0])


def _lowest_first(suite: Suite, scores: Scores, measure: str) -> list[str]:
    """Undefined values are neither low nor high, and come last."""
    column, rows = scores.values[:, scores.column_of(measure)], scores.judged.suite.table.index
    values = {case: float(column[rows[case]]) for case in suite.table.ids}
    return sorted(values, key=lambda case: (math.isnan(values[case]), values[case]))


def _listed(case: Case, suite: Suite, scores: Sequence[Scores], decisions: Decisions) -> ListedCase:
    relevant = sum(each.grade >= suite.defaults.rel for each in case.judgments)
    values = {name: _values(each, case.id) for name, each in zip(unique_names(scores), scores, strict=True)}
    decided = decisions.about_case(case)
    verdict = None if decided is None else decided.decision
    return ListedCase(case.id, case.query, case.category, relevant, len(case.judgments), values, verdict)


def _values(scores: Scores, case: str) -> dict[str, float | None]:
    row = scores.values[scores.judged.suite.table.index[case]].tolist()
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
    found, names = suite.cases[row], unique_names(scores)
    case = found.id
    existing = None if corpus is None else Existing(corpus.ids, corpus.folder)
    meant = _meaning(suite, corpus)
    judgments = [
        JudgedTarget(
            target=each.target,
            match=each.match,
            grade=each.grade,
            rank=each.rank,
            gain=each.gain,
            aspects=each.aspects,
            exists=_exists(each, meant, existing),
            found={name: _rank_of(scored, case, {each.target, *meant(each)}) for name, scored in zip(names, scores, strict=True)},
        )
        for each in found.judgments
    ]
    answers = [_answer(name, scored, case, existing, limit) for name, scored in zip(names, scores, strict=True)]
    return CaseView(suite.name, found, tuple(judgments), tuple(answers), decisions.about_case(found), diff)


def row_of(suite: Suite, case: str) -> int:
    """The row of a case, which is named by its id or by its whole query."""
    known = suite.table.index.get(case)
    if known is not None:
        return known
    asking = [row for row, query in enumerate(suite.table.queries or ()) if query is not None and query.strip() == case.strip()]
    if len(asking) == 1:
        return asking[0]
    if asking:
        ids = ", ".join(quoted(suite.table.ids[row]) for row in asking[:NEAR])
        raise UsageError(f"{len(asking)} cases ask {quoted(case)}; name one by its id: {ids}{', …' if len(asking) > NEAR else ''}")
    raise UsageError(f"the suite {quoted(suite.name)} has no case {quoted(case)}{_nearest(case, suite.table.ids)}")


def _nearest(case: str, ids: Sequence[str]) -> str:
    """Ids that hold what was typed, and those that are spelled like it."""
    holding = [each for each in ids if case.lower() in each.lower()]
    near = list(dict.fromkeys([*holding, *get_close_matches(case, ids, NEAR, LEAST_ALIKE)]))[:NEAR]
    return f"; nearest: {', '.join(map(quoted, near))}" if near else "; `searchmark cases SUITE` lists them"


def _meaning(suite: Suite, corpus: Survey | None) -> Callable[[Judgment], list[str]]:
    """What a judgment means in the corpus, where it is a glob or a symbol and the corpus is known."""
    described = None if corpus is None else DescribedIds(corpus.ids, ignore_case=suite.defaults.ignore_case)
    return lambda judgment: described.meant_by(judgment) if described is not None and is_pattern(judgment) else []


def _exists(judgment: Judgment, meant: Callable[[Judgment], list[str]], existing: Existing | None) -> bool | None:
    if existing is None:
        return None
    if is_pattern(judgment):
        return bool(meant(judgment))
    return (path_of_lines(judgment.target) if judgment.match == "lines" else judgment.target) in existing


def _rank_of(scores: Scores, case: str, targets: set[str]) -> int | None:
    """The best rank at which one of these targets was returned."""
    suite, matches = scores.judged.suite, scores.judged.matches
    start, end = suite.judgments.starts[suite.table.index[case] :][:2].tolist()
    ranks = matches.seen_ranks[start:end].tolist()
    met = [rank for target, rank in zip(suite.judgments.targets[start:end], ranks, strict=True) if rank and target in targets]
    return min(met, default=None)


def _answer(name: str, scores: Scores, case: str, existing: Existing | None, limit: int | None) -> AnswerView:
    judged = scores.judged
    row, answer = judged.suite.table.index[case], judged.run.index.get(case)
    details = NOTHING_KNOWN if answer is None else judged.run.details_of(answer)
    columns = np.flatnonzero(np.isnan(scores.values[row])).tolist()
    return AnswerView(
        run=name,
        status=STATUSES[judged.status[row]],
        failure=details.failure,
        returned=0 if answer is None else len(judged.run.rows_of(answer)),
        hits=() if answer is None else tuple(_hits(scores, row, answer, existing, limit)),
        values=_values(scores, case),
        undefined={scores.names[column]: str(scores.reason(row, column)) for column in columns},
    )


def _hits(scores: Scores, row: int, answer: int, existing: Existing | None, limit: int | None) -> Iterator[PlacedHit]:
    judged = scores.judged
    matches, run = judged.matches, judged.run
    of_case = np.flatnonzero(matches.case == row).tolist()
    met = {int(matches.row[number]): number for number in of_case}
    ranks = answer_ranks(judged, row, answer, existing)
    hits, rows = run.answer(answer, limit).hits, run.rows_of(answer).tolist()
    for place, (hit, hit_row, rank) in enumerate(zip(hits, rows, ranks, strict=False), 1):
        number = met.get(hit_row)
        judgment = NO_JUDGMENT if number is None else int(matches.judgment[number])
        target = None if judgment == NO_JUDGMENT else judged.suite.judgments.targets[judgment]
        grade = None if number is None else int(matches.grade[number])
        missing = judged.valid is not None and not judged.valid[hit_row]
        yield PlacedHit(place, rank, hit.id, hit.score, hit.lines, grade, target, missing)
