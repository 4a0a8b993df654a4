"""What unjudged hits leave open: the range of every run, and whether labels could turn the order of two runs round."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from searchmark.analysis.comparison import primary_column
from searchmark.analysis.measure_limits import mean_of
from searchmark.analysis.scores import Scores
from searchmark.analysis.unjudged import DEEPEST, Flip, UnjudgedHits, can_be_labelled, flip, label_range, unjudged_hits
from searchmark.audit.once import once
from searchmark.audit.result import AuditTable
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted, three_digits

EXAMPLES = 3
# A relevant hit in every fifth case is what even a weak search finds; that as much was left unjudged can be expected.
EXPECTED_LABELS = 0.2
MOST_LABELS = 20  # that can be judged in one sitting
_COLUMNS = ("run", "measure", "unjudged hits", "score", "score if all are relevant", "score without unjudged hits")
_FLIP_COLUMNS = (
    "ahead",
    "behind",
    "lead",
    "reverse lead by labels",
    "reverse lead at most",
    "labels that reverse it",
    "unjudged hits of behind",
    "order can reverse",
)


def _columns(scores: Scores) -> list[int]:
    return [column for column, each in enumerate(scores.measures) if each.tells_quality and can_be_labelled(each)]


@once
def _unjudged(subject: Subject) -> dict[str, UnjudgedHits]:
    return unjudged_hits(subject.scores, subject.suite)


def bounds_table(subject: Subject) -> AuditTable | None:
    """The mean of every run with no unjudged hit relevant, with all of them, and without them."""
    unjudged = _unjudged(subject)
    rows = []
    for name, scores in subject.scores.items():
        for column in _columns(scores):
            found = label_range(scores, column, unjudged[name])
            alone = found.condensed if _has_irrelevant(scores) else None
            means = (mean_of(each) for each in (found.none, found.all, alone))
            rows.append((name, scores.names[column], found.unjudged, *means))
    title = f"What unjudged hits leave open, among the first {DEEPEST} where there is no cutoff"
    return AuditTable("bounds", title, _COLUMNS, tuple(rows)).without_empty() if any(row[2] for row in rows) else None


def _has_irrelevant(scores: Scores) -> bool:
    """Whether anything is judged as not relevant; if not, the judged hits of every answer are all relevant, and say nothing."""
    judgments = scores.judged.suite.judgments
    return bool(((judgments.grades >= 0) & (judgments.grades < scores.judged.suite.defaults.rel)).any())


def _flips(subject: Subject, column: int, unjudged: dict[str, UnjudgedHits]) -> Iterator[tuple[str, str, Flip]]:
    for one, other in combinations(subject.scores, 2):
        means = {name: mean_of(subject.scores[name].values[:, column]) for name in (one, other)}
        if None in means.values() or not (len(unjudged[one]) or len(unjudged[other])):
            continue
        ahead, behind = sorted(means, key=lambda name: -(means[name] or 0.0))
        found = flip(subject.scores[ahead], subject.scores[behind], column, unjudged[ahead], unjudged[behind])
        if found is not None:
            yield ahead, behind, found


@once
def _primary_flips(subject: Subject) -> tuple[str, list[tuple[str, str, Flip]]]:
    """The measure that runs are compared by, and what labels could make of every pair."""
    scored = next(iter(subject.scores.values()), None)
    column = 0 if scored is None else primary_column(scored, subject.options.primary)
    if scored is None or column not in _columns(scored):
        return "", []
    return scored.names[column], list(_flips(subject, column, _unjudged(subject)))


def flips_table(subject: Subject) -> AuditTable | None:
    """Every pair of runs: the lead by the primary measure, what labels could make of it, and how many of them are needed."""
    measure, found = _primary_flips(subject)
    rows = tuple(
        (ahead, behind, each.difference, each.labelled, each.bound, each.enough, each.unjudged, each.possible)
        for ahead, behind, each in found
    )
    title = f"What labels of unjudged hits could make of leads by {measure}"
    return AuditTable("flips", title, _FLIP_COLUMNS, rows).without_empty() if rows else None


def about_flips(subject: Subject) -> Iterator[Finding]:
    """Pairs whose order by the primary measure few labels would turn round."""
    measure, found = _primary_flips(subject)
    told = [_sentence(*each) for each in found if _is_easy(each[2])]
    if told:
        more = f"; and {len(told) - EXAMPLES} more" if len(told) > EXAMPLES else ""
        message = f"labels that would turn round the order by {measure}: {'; '.join(told[:EXAMPLES])}{more}"
        yield finding("order-could-flip", message)


def _is_easy(found: Flip) -> bool:
    return found.difference > 0 and found.enough is not None and found.enough <= min(MOST_LABELS, EXPECTED_LABELS * found.cases)


def _sentence(ahead: str, behind: str, found: Flip) -> str:
    needed = f"{found.enough} of its {counted(found.unjudged, 'unjudged hit')}"
    return f"{behind} is {three_digits(found.difference)} behind {ahead}, and {needed} being relevant would put it ahead"
