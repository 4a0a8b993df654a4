"""How many of the true nearest vectors the searches of a run have found, as its agent states it.

An approximate index may miss some, and no measure of relevance says so by itself. Searches that were held against an exact one
at different k are never averaged together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from searchmark.analysis.usage import asked
from searchmark.records import AnswerDetails, Run


@dataclass(frozen=True)
class AnnRecall:
    """Means over the searches whose nearest ``k`` vectors are known: ``searches`` out of ``of``.

    For ``recall`` a vector that is as near as the last true neighbour is as good, for ``overlap`` it is not. ``lowest`` is the
    recall of the worst search, and ``incomplete`` counts those below 1.
    """

    k: int
    recall: float
    overlap: float | None
    lowest: float
    incomplete: int
    searches: int
    of: int


def ann_of(run: Run) -> dict[str, AnnRecall]:
    """What is known of the searches of a run that took place, by k, the largest first."""
    return ann_in(asked(run))


def ann_in(details: Sequence[AnswerDetails]) -> dict[str, AnnRecall]:
    """The same of some answers."""
    by_k: dict[int, list[AnswerDetails]] = {}
    for each in details:
        if each.ann_k is not None and each.ann_recall is not None:
            by_k.setdefault(each.ann_k, []).append(each)
    return {str(k): _mean_recall(k, by_k[k], len(details)) for k in sorted(by_k, reverse=True)}


def _mean_recall(k: int, known: Sequence[AnswerDetails], of: int) -> AnnRecall:
    recalls = [each.ann_recall for each in known if each.ann_recall is not None]
    overlaps = [each.ann_overlap for each in known if each.ann_overlap is not None]
    return AnnRecall(
        k=k,
        recall=_mean(recalls),
        overlap=_mean(overlaps) if overlaps else None,
        lowest=min(recalls),
        incomplete=sum(recall < 1 for recall in recalls),
        searches=len(recalls),
        of=of,
    )


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)  # exact, so that the order of the answers changes no digit
