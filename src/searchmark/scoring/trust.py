"""Reasons not to rely on a run: it did not search, or it names documents by other ids than the suite and the corpus do.

Each of them scores 0, or next to it, like a search that is bad. So each is said here, where comparisons, gates, baselines
and reports ask whether a run can be relied on, and not only in a finding beside its numbers.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from searchmark.analysis.controls import is_of_control
from searchmark.analysis.failure_kinds import failure_kinds
from searchmark.errors import shortened
from searchmark.findings.sentences import counted
from searchmark.judging.judge import Judged
from searchmark.judging.matching import names_lines, path_of_lines
from searchmark.judging.near_ids import MOST_TARGETS, NearIds, Remedy
from searchmark.records import EMPTY, ERROR, MATCHES, NOT_RUN, OK, TIMEOUT, TrustKind

FEWEST_HITS = 5  # none of which is there, or judged: of fewer, a search may have made up all
FEWEST_ALIKE = 3  # hits that one change makes fit, where others are right as they are
FEWEST_EMPTY = 2  # cases, all of them empty
FEWEST_CASES = 5  # that were all answered by one document
NEARLY_ALL = 0.9  # of the hits, dropped as duplicates
FEW_LEFT = 3.0  # hits of an answer that are left of them on average: a search for chunks has more documents to name
LONGEST_REASON = 160
HALF = 0.5  # of the cases
DEPTH = 10  # hits of a case that are looked at
GLOB, LINES = MATCHES.index("glob"), MATCHES.index("lines")

BrokenKind = Literal[
    "all_targets_missing",
    "nothing_relevant",
    "all_hits_invalid",
    "hits_in_other_spelling",
    "no_hit_judged",
    "all_answers_empty",
    "only_duplicates",
    "one_document",
]


@dataclass(frozen=True)
class Distrust:
    """A reason not to rely on scores, and the cases that it is about where it is not about all of them."""

    kind: Literal["cases_not_run", "too_many_failures"] | BrokenKind | TrustKind
    message: str
    cases: tuple[str, ...] = ()


def most_frequent_failure(judged: Judged) -> str:
    """The kind of failure that most of the failed cases have, as the end of a sentence; empty where the run knows none."""
    failed = [kind for kind in failure_kinds(judged.run, judged.suite.table.index) if kind.cost_a_case]
    return "".join(f"; most often: {shortened(kind.reason, LONGEST_REASON)}" for kind in failed[:1])


def broken(judged: Judged) -> Iterator[Distrust]:
    """Why what a run scored says nothing of its search."""
    yield from _missing_targets(judged)
    yield from _nothing_relevant(judged)
    yield from _unknown_hits(judged)
    yield from _empty_answers(judged)
    yield from _duplicates(judged)
    yield from _one_document(judged)


def _missing_targets(judged: Judged) -> Iterator[Distrust]:
    missing, of = judged.dropped.get("unreachable_targets"), int((judged.suite.judgments.grades > 0).sum())
    if missing and missing == of:
        yield Distrust("all_targets_missing", f"none of {counted(of, 'relevant target')} is in the corpus")


def _nothing_relevant(judged: Judged) -> Iterator[Distrust]:
    """Judgments of which none says that anything is relevant, in cases that are not said to be unanswerable."""
    judgments, wanted = judged.suite.judgments, judged.answerable & judged.graded & judged.complete
    judged_cases = wanted & (np.diff(judgments.starts) > 0)
    if int(wanted.sum()) >= FEWEST_EMPTY and judged_cases.any() and not (judgments.grades > 0).any():
        told = f"none of {counted(len(judgments), 'judgment')} has a grade above 0"
        yield Distrust("nothing_relevant", f"{told}, like that of {judgments.targets[0]!r}: no search can find anything")


def _unknown_hits(judged: Judged) -> Iterator[Distrust]:
    """Hits that do not exist, where that is known; else that no judgment is about any hit, which may be for their spelling."""
    if judged.valid is None:
        yield from _unjudged_hits(judged)
    elif none_exists(judged):
        hits = judged.run.ids
        yield Distrust("all_hits_invalid", f"none of {counted(len(hits), 'hit')} is in the corpus, like {hits[0]!r}")


def none_exists(judged: Judged) -> bool:
    """Whether a run has hits of which the corpus has none, and too many for a search that has made up a few."""
    return judged.valid is not None and len(judged.valid) >= FEWEST_HITS and not judged.valid.any()


def _unjudged_hits(judged: Judged) -> Iterator[Distrust]:
    matches, returned = judged.matches, int(judged.matches.returned.sum())
    if len(matches.case) or len(matches.directories.case) or not returned or not len(judged.suite.judgments):
        return
    own = _first_names(judged)
    if any(not set(hits).isdisjoint(_judged_names(judged, case)) for case, hits in own.items()):
        return  # other lines of the right documents: ids are written alike
    remedy = _fitting_own(judged, own)
    if remedy is not None:
        shown = remedy.shown(list(remedy.found), "the suite")
        yield Distrust("hits_in_other_spelling", f"none of {counted(returned, 'hit')} is judged: {shown}")
    elif own and returned >= FEWEST_HITS:
        (case, hits), judgments = next(iter(own.items())), judged.suite.judgments
        target = judgments.targets[int(judgments.starts[judged.suite.table.index[case]])]
        yield Distrust("no_hit_judged", f"none of {returned} hits is judged: {hits[0]!r} is returned, and {target!r} judged")


def other_spelling(judged: Judged) -> Remedy | None:
    """A change of ids by which hits are judged for their own case, where none of its hits is and those of other cases are.

    What is judged for any case is written as the suite has it, and so a document of its own.
    """
    matched = set(np.unique(np.concatenate([judged.matches.case, judged.matches.directories.case])).tolist())
    if judged.valid is not None or not matched:
        return None
    judgments, index = judged.suite.judgments, judged.suite.table.index
    of_lines = [] if judgments.match is None else np.flatnonzero(judgments.match == LINES).tolist()
    known = {*judgments.targets, *(path_of_lines(judgments.targets[row]) for row in of_lines)}
    names = _first_names(judged, {case for case, row in index.items() if row not in matched})
    strange = {case: [hit for hit in hits if hit not in known] for case, hits in names.items()}
    remedy = _fitting_own(judged, {case: hits for case, hits in strange.items() if hits})
    return remedy if remedy is not None and len(remedy.found) >= FEWEST_ALIKE else None


def _first_names(judged: Judged, of: Container[str] | None = None) -> dict[str, list[str]]:
    """The first hits of cases that have judgments, as far as they are looked at."""
    run, sizes, index = judged.run, np.diff(judged.suite.judgments.starts), judged.suite.table.index
    lengths = np.diff(run.starts)
    cases = (case for case in run.index if case in index and (of is None or case in of))
    answered = (case for case in cases if sizes[index[case]] and lengths[run.index[case]])
    return {case: _first_hits(judged, case) for case in islice(answered, MOST_TARGETS // DEPTH)}


def _first_hits(judged: Judged, case: str) -> list[str]:
    row = judged.run.index[case]
    start, end = judged.run.starts[row : row + 2].tolist()
    names = (judged.run.ids[hit] for hit in range(start, min(end, start + DEPTH)))
    return [path_of_lines(name) if names_lines(name) else name for name in names]


def _fitting_own(judged: Judged, hits: dict[str, list[str]]) -> Remedy | None:
    """The change by which most hits are judged for their own case, if three are, or one in each of fewer cases."""
    wanted = {case: set(_judged_names(judged, case)) for case in hits}
    near = NearIds(set().union(*wanted.values()), (hit for some in hits.values() for hit in some))
    own = [_of_own(each, hits, wanted) for each in near.remedies]
    best = max(own, key=lambda each: len(each.found), default=None)
    return best if best is not None and len(best.found) >= min(FEWEST_ALIKE, len(hits)) else None


def _of_own(remedy: Remedy, hits: dict[str, list[str]], wanted: dict[str, set[str]]) -> Remedy:
    fitting = {hit for case, some in hits.items() for hit in some if remedy.found.get(hit) in wanted[case]}
    return Remedy(remedy.words, {hit: name for hit, name in remedy.found.items() if hit in fitting})


def _judged_names(judged: Judged, case: str) -> Iterator[str]:
    """What is judged of a case by its name."""
    judgments, row = judged.suite.judgments, judged.suite.table.index[case]
    for at in range(*judgments.starts[row : row + 2].tolist()):
        match = 0 if judgments.match is None else int(judgments.match[at])
        if match < GLOB or match == LINES:
            yield path_of_lines(judgments.targets[at]) if match == LINES else judgments.targets[at]


def _empty_answers(judged: Judged) -> Iterator[Distrust]:
    """Empty is right where nothing is to be found; a control that knows nothing is one on purpose."""
    asked = judged.answerable & ~np.isin(judged.status, (NOT_RUN, ERROR, TIMEOUT))
    of = int(asked.sum())
    if of >= FEWEST_EMPTY and (judged.status[asked] == EMPTY).all() and not is_of_control(judged.run):
        yield Distrust("all_answers_empty", f"all of {counted(of, 'answer')} are empty: the agent returned no hit for any case")


def _duplicates(judged: Judged) -> Iterator[Distrust]:
    dropped, returned = judged.matches.duplicates, judged.matches.returned
    left, answers = int(returned.sum()), int((returned > 0).sum())
    if dropped >= max(NEARLY_ALL * (dropped + left), FEWEST_HITS) and left < FEW_LEFT * answers:
        row = int(np.argmax(returned > 0))
        case = judged.suite.table.ids[row]
        told = f"nearly all hits are duplicates: {dropped} of {dropped + left} name what the same answer has already"
        yield Distrust("only_duplicates", f"{told}, like {_first_hits(judged, case)[0]!r} in case {case!r}")


def _one_document(judged: Judged) -> Iterator[Distrust]:
    """One document for every case, where it is a target of fewer than half of them."""
    judgments = judged.suite.judgments
    with_target = np.bincount(judgments.case[judgments.grades > 0], minlength=len(judged.suite)) > 0
    returned, rows = judged.matches.returned, np.flatnonzero((judged.status == OK) & with_target)
    if len(rows) < FEWEST_CASES or (returned[rows] != 1).any() or is_of_control(judged.run):
        return
    run, ids = judged.run, judged.suite.table.ids
    answers = (_first_hits(judged, ids[row])[0] for row in rows.tolist() if ids[row] in run.index)
    name = next(answers, None)
    if name is None or any(each != name for each in answers):
        return
    if not mostly_right(judged):
        yield Distrust("one_document", f"all of {len(rows)} answers are one document, {name!r}, whatever was asked")


def mostly_right(judged: Judged) -> bool:
    """Whether something relevant was found for at least half of the cases: then one answer to all of them may be right."""
    found = judged.matches.case[(judged.matches.grade > 0) & judged.matches.valid]
    return len(np.unique(found)) >= HALF * len(judged.suite)
