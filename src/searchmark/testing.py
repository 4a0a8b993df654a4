"""Measures of one list of results, as plain functions: a suite of one case, judged and scored like every other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index

from searchmark.analysis.scores import score
from searchmark.errors import UsageError
from searchmark.judging.judge import judge
from searchmark.records import Answer, Hit, Run, Suite
from searchmark.records.ids import id_text

_CASE = "the list"


@dataclass(frozen=True)
class RankingMetrics:
    """What a list of results is worth: nDCG@k by the expected ranking, RR and P@k by what is relevant."""

    ndcg: float
    mrr: float
    precision_at_k: float
    k: int


def precision_at_k(results: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The share of the first k that is relevant, ``P@k``: divided by k, however few results there are."""
    return _value(results, _grades(relevant), f"P@{_cutoff(k)}")


def recall_at_k(results: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The share of what is relevant that is among the first k, ``R@k``; 0 where nothing is."""
    return _value(results, _grades(relevant), f"R@{_cutoff(k)}")


def reciprocal_rank(results: Sequence[str], relevant: Collection[str]) -> float:
    """1 / rank of the first relevant result, ``RR``; 0 without one."""
    return _value(results, _grades(relevant), "RR")


def ndcg_at_k(results: Sequence[str], relevant: Collection[str] | Mapping[str, int], k: int) -> float:
    """``nDCG@k`` with linear gain; ``relevant`` has the grade of each target, or names targets of grade 1."""
    return _value(results, _grades(relevant), f"nDCG@{_cutoff(k)}")


def all_metrics(results: Sequence[str], ranking: Sequence[str], relevant: Collection[str], k: int) -> RankingMetrics:
    """nDCG@k by an expected ranking, in which the first of n documents has grade n and the last 1; RR and P@k by ``relevant``."""
    results, ordered = _ordered(results, "results"), list(dict.fromkeys(_ordered(ranking, "ranking")))
    relevant = relevant if isinstance(relevant, Mapping) else _texts(relevant, "relevant")
    grades = {target: len(ordered) - place for place, target in enumerate(ordered)}
    return RankingMetrics(
        ndcg=ndcg_at_k(results, grades, k),
        mrr=reciprocal_rank(results, relevant),
        precision_at_k=precision_at_k(results, relevant, k),
        k=_cutoff(k),
    )


def _value(results: Sequence[str], grades: Mapping[str, int], measure: str) -> float:
    hits = tuple(Hit(name, rank) for rank, name in enumerate(_ordered(results, "results"), 1))
    run = Run.from_answers("results", [Answer(_CASE, "ok" if hits else "empty", hits)])
    return float(score(judge(Suite.from_grades({_CASE: dict(grades)}), run), [measure]).values[0, 0])


def _grades(relevant: Collection[str] | Mapping[str, int]) -> Mapping[str, int]:
    if isinstance(relevant, Mapping):
        return relevant
    return dict.fromkeys(_texts(relevant, "relevant"), 1)


def _ordered(ids: Iterable[str], name: str) -> list[str]:
    """Ids best first; a set has no order, and what it is worth would change from process to process."""
    if isinstance(ids, set | frozenset):
        raise UsageError(f"{name} must be in an order, and a set has none; give a list, best first")
    return _texts(ids, name)


def _texts(ids: Iterable[str], name: str) -> list[str]:
    """A text is a collection of texts as well, and what has other ids would meet nothing: both would be a silent 0."""
    if not isinstance(ids, Iterable) or isinstance(ids, str):
        raise UsageError(f"{name} must be a list of ids, each of them text")
    return [id_text(each, f"{name}: an id") for each in ids]


def _cutoff(k: int) -> int:
    try:
        whole = 0 if isinstance(k, bool) else index(k)  # a whole number of NumPy is one too
    except TypeError:
        whole = 0
    if whole < 1:
        raise UsageError(f"k must be a whole number of at least 1, not {k!r}")
    return whole
