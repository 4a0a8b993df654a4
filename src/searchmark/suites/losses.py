"""What a suite has and a file format lacks: said, never dropped in silence."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.errors import UsageError
from searchmark.records import Defaults, Suite, SuiteKind


def losses(
    suite: Suite,
    *,
    match: str = "id",
    queries: bool = False,
    grades: bool = False,
    gains: bool = False,
    groups: bool = False,
    fields: bool = False,
    documents: bool = False,
    metadata: bool = False,
    origins: bool = False,
    unjudged: bool = True,
    kind: SuiteKind | None = None,
) -> Iterator[str]:
    """One sentence for each thing that is in the suite; the flags say what the format can hold, ``kind`` what it is read as."""
    cases = list(suite.cases)
    judgments = [judgment for case in cases for judgment in case.judgments]
    counts = {
        f"ways of matching other than by {match}": sum(j.match != match for j in judgments),
        "grades above 1, written as 1": 0 if grades else sum(j.grade > 1 for j in judgments),
        "judgments that a target is not relevant": 0 if grades else sum(j.grade <= 0 for j in judgments),
        "expected ranks": sum(j.rank is not None for j in judgments),
        "other orders that are as right": sum(len(case.other_orders) for case in cases),
        "marks of cases that judge the order only": sum(case.order_only for case in cases),
        "gains that are not the grade": 0 if gains else sum(j.gain is not None for j in judgments),
        "aspects": sum(len(j.aspects or ()) for j in judgments),
        "score ranges": sum(j.score_range is not None for j in judgments),
        "query texts": 0 if queries else sum(case.query is not None for case in cases),
        "queries that are not known, written as empty": sum(case.query is None for case in cases) if queries else 0,
        "cases without judgments": 0 if unjudged else sum(not case.judgments for case in cases),
        "categories": 0 if groups else sum(case.category is not None for case in cases),
        "tags": 0 if groups else sum(len(case.tags) for case in cases),
        "origins": 0 if origins else sum(case.origin is not None for case in cases),
        "marks of unanswerable cases": sum(case.unanswerable for case in cases),
        "fields of cases": 0 if fields else sum(len(case.fields) for case in cases),
        "fields of documents that are excluded": sum(len(case.exclude) for case in cases),
        "requests of cases": sum(case.request is not None for case in cases),
        "inline documents": 0 if documents else sum(len(case.documents) for case in cases),
        "the suite's metadata": 0 if metadata else int(bool(suite.metadata)),
        "the suite's defaults for rel, gain, ignore_case and measures": int(suite.defaults != Defaults()),
        "the suite's kind, which decides on default measures": int(suite.kind not in (None, kind)),
        "the suite's description or model": int(bool(suite.description or suite.model)),
    }
    return (f"{what}: {count}" if count > 1 else what for what, count in counts.items() if count)


def refuse_blanks(suite: Suite, blanks: str, where: str) -> None:
    """Refuse ids that would break the lines of a file or make a comment of them, before anything is written."""
    for case in suite.cases:
        if case.id.startswith("#"):
            raise UsageError(f"the id {case.id!r} cannot be written to {where}, where # starts a comment")
    names = (name for case in suite.cases for name in (case.id, *(judgment.target for judgment in case.judgments)))
    for name in names:
        if any(blank in name for blank in blanks):
            raise UsageError(f"the id {name!r} cannot be written to {where}, where blanks separate the columns")
