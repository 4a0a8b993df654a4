"""What a case expects, as far as a run could say it: ids or paths, each as right as the next, in an order or not."""

from __future__ import annotations

from dataclasses import dataclass

from searchmark.judging.matching import apart
from searchmark.records import Case, Judgment

# Where the files of a format keep what they expect.
FIELDS = {"case-list": "expected_ids", "gold-set": "ground_truth_files", "fixtures": "expected_ranking", "native": "judgments"}
_GRADED = "it holds grades, and a run gives none"
REFUSED = {
    "qrels": _GRADED,
    "beir": _GRADED,
    "labels": _GRADED,
    "quepid": _GRADED,
    "rre": _GRADED,
    "rank-eval": _GRADED,
    "opensearch": _GRADED,
    "mteb": _GRADED,
    "ltr": _GRADED,
    "table": "its columns are named by its owner, and perhaps written by another tool",
    "symbols": "it holds symbols and patterns, and a run gives ids",
    "swe-bench": "it holds the patches that solved the issues, and a run gives ids",
}
OF_A_COMMIT = "expects the files that a commit changed, whatever a run finds"


@dataclass(frozen=True)
class Expected:
    """The targets of a case, best first where ``ordered``; ``by_path`` says how they are met."""

    targets: tuple[str, ...]
    ordered: bool
    by_path: bool = False


def why_not(format_name: str, case: Case) -> str | None:
    """Why no run can say what this case expects; None if one can."""
    if case.other_orders:
        return "expects one of several orders, and a run gives one"
    if any(apart(judgment.target)[1] for judgment in case.judgments):
        return "expects lines"
    if format_name == "gold-set":
        return OF_A_COMMIT if "commit_hash" in case.fields else None
    return _why_not_native(case) if format_name == "native" else None


def _why_not_native(case: Case) -> str | None:
    judgments = case.judgments
    if any(judgment.match not in ("id", "path") for judgment in judgments) or len({each.match for each in judgments}) > 1:
        return "expects patterns, symbols or lines, and a run gives ids"
    if any(judgment.grade != 1 for judgment in judgments):
        return "expects grades, and a run gives none"
    if any(judgment.score_range for judgment in judgments):
        return "expects scores of its targets"
    ranks = {judgment.rank for judgment in judgments}
    if ranks != {None} and len(ranks - {None}) < len(judgments):
        return "expects equal ranks, or ranks of some targets only"
    return None


def expected_of(format_name: str, case: Case) -> Expected:
    """What a case expects that a run can say."""
    judgments = [each for each in case.judgments if format_name != "fixtures" or each.rank is not None]
    ordered = any(judgment.rank is not None for judgment in judgments)
    targets = [judgment.target for judgment in (sorted(judgments, key=_rank) if ordered else judgments)]
    return Expected(tuple(targets), ordered, by_path=any(judgment.match == "path" for judgment in judgments))


def _rank(judgment: Judgment) -> int:
    return judgment.rank or 0
