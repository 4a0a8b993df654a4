"""What unjudged hits leave open: the range of every run, and whether labels could turn the order of two runs round."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from searchmark.analysis.comparison import primary_column
from searchmark.analysis.measure_limits import mean_of
from searchmark.analysis.scores import Scores
from searchmark.analysis.unjudged import DEEPEST, Flip, UnjudgedHits, can_be_labelled, flip, label_range, unjudged_hits
from searchmark.audit.result import AuditTable
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import three_digits

EXAMPLES = 3
_COLUMNS = ("run", "measure", "unjudged hits", "none relevant", "all relevant", "left out")
_FLIP_COLUMNS = ("ahead", "behind", "measure", "ahead by", "behind could lead by", "no labels give more than", "could flip")


def _columns(scores: Scores) -> list[int]:
    return [column for column, each in enumerate(scores.measures) if each.tells_quality and can_be_labelled(each)]


def bounds_table(subject: Subject) -> AuditTable | None:
    """The mean of every run with no unjudged hit relevant, with all of them, and without them."""
    unjudged = unjudged_hits(subject.scores, subject.suite)
    rows = []
    for name, scores in subject.scores.items():
        for column in _columns(scores):
            found = label_range(scores, column, unjudged[name])
            means = (mean_of(each) for each in (found.none, found.all, found.condensed))
            rows.append((name, scores.names[column], found.unjudged, *means))
    title = f"What unjudged hits leave open, among the first {DEEPEST} where there is no cutoff"
    return AuditTable("bounds", title, _COLUMNS, tuple(rows)) if any(row[2] for row in rows) else None


def _flips(subject: Subject, column: int, unjudged: dict[str, UnjudgedHits]) -> Iterator[tuple[str, str, Flip]]:
    for one, other in combinations(subject.scores, 2):
        means = {name: mean_of(subject.scores[name].values[:, column]) for name in (one, other)}
        if None in means.values() or not (len(unjudged[one]) or len(unjudged[other])):
            continue
        ahead, behind = sorted(means, key=lambda name: -(means[name] or 0.0))
        found = flip(subject.scores[ahead], subject.scores[behind], column, unjudged[ahead], unjudged[behind])
        if found is not None:
            yield ahead, behind, found


def flips_table(subject: Subject) -> AuditTable | None:
    """Every pair of runs and measure: whether labels could turn their order round."""
    scored = next(iter(subject.scores.values()), None)
    if scored is None:
        return None
    unjudged = unjudged_hits(subject.scores, subject.suite)
    rows = [
        (ahead, behind, scored.names[column], found.difference, found.labelled, found.bound, found.possible)
        for column in _columns(scored)
        for ahead, behind, found in _flips(subject, column, unjudged)
    ]
    return (
        AuditTable("flips", "What labels of unjudged hits could make of the order of runs", _FLIP_COLUMNS, tuple(rows))
        if rows
        else None
    )


def about_flips(subject: Subject) -> Iterator[Finding]:
    """Pairs whose order by the primary measure labels could turn round."""
    scored = next(iter(subject.scores.values()), None)
    column = 0 if scored is None else primary_column(scored, subject.options.primary)
    if scored is None or column not in _columns(scored):
        return
    unjudged = unjudged_hits(subject.scores, subject.suite)
    told = [_sentence(*each) for each in _flips(subject, column, unjudged) if each[2].difference > 0 and each[2].possible]
    if told:
        more = f" and {len(told) - EXAMPLES} more" if len(told) > EXAMPLES else ""
        message = (
            f"labels of unjudged hits could turn round the order by {scored.names[column]}: {', '.join(told[:EXAMPLES])}{more}"
        )
        yield finding("order-could-flip", message)


def _sentence(ahead: str, behind: str, found: Flip) -> str:
    return f"{ahead} is {three_digits(found.difference)} ahead of {behind}, which could lead by {three_digits(found.labelled)}"
