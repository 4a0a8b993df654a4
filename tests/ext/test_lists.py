"""Measures of lists equal those of suites and runs to the last digit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Answer, Hit, Run, Suite, UsageError, match_hits, score
from searchmark.testing import RankingMetrics, all_metrics, ndcg_at_k, precision_at_k, recall_at_k, reciprocal_rank

IDS = st.sampled_from([f"doc{number}" for number in range(12)])
RESULTS = st.lists(IDS, max_size=12)
GRADES = st.dictionaries(IDS, st.integers(0, 5), max_size=8)
K = st.integers(1, 15)


def scored(results: list[str], grades: dict[str, int], measure: str) -> float:
    hits = tuple(Hit(name, rank) for rank, name in enumerate(results, 1))
    other = Answer("other", "ok", (Hit("doc1", 1),))
    run = Run.from_answers("run", [other, Answer("list", "ok" if hits else "empty", hits)])
    suite = Suite.from_grades({"other": {"doc1": 1}, "list": grades})
    return float(score(match_hits(suite, run), [measure]).values[1, 0])


@given(RESULTS, GRADES, K)
def test_lists_score_as_suites_do(results: list[str], grades: dict[str, int], k: int) -> None:
    relevant = {target for target, grade in grades.items() if grade}
    binary = dict.fromkeys(relevant, 1)
    assert precision_at_k(results, relevant, k) == scored(results, binary, f"P@{k}")
    assert recall_at_k(results, relevant, k) == scored(results, binary, f"R@{k}")
    assert reciprocal_rank(results, relevant) == scored(results, binary, "RR")
    assert ndcg_at_k(results, relevant, k) == scored(results, binary, f"nDCG@{k}")
    assert ndcg_at_k(results, grades, k) == scored(results, grades, f"nDCG@{k}")


@given(RESULTS, st.lists(IDS, unique=True, max_size=8), st.sets(IDS), K)
def test_all_metrics_are_those_of_the_ranking_and_of_what_is_relevant(
    results: list[str], ranking: list[str], relevant: set[str], k: int
) -> None:
    grades = {target: len(ranking) - place for place, target in enumerate(ranking)}
    binary = dict.fromkeys(relevant, 1)
    assert all_metrics(results, ranking, relevant, k) == RankingMetrics(
        ndcg=scored(results, grades, f"nDCG@{k}"),
        mrr=scored(results, binary, "RR"),
        precision_at_k=scored(results, binary, f"P@{k}"),
        k=k,
    )


def test_by_hand() -> None:
    """doc2, doc1, doc3 against doc1, doc2, doc3: (2 + 3 / log2(3) + 1 / 2) / (3 + 2 / log2(3) + 1 / 2) = 0.9225."""
    found = all_metrics(["doc2", "doc1", "doc3"], ["doc1", "doc2", "doc3"], ["doc1"], 3)
    assert found.ndcg == pytest.approx(0.922495, abs=1e-6)
    assert (found.mrr, found.precision_at_k) == (0.5, 1 / 3)


def test_what_is_ranked_and_not_relevant_has_a_grade_all_the_same() -> None:
    assert all_metrics(["a", "b"], ["a", "b"], ["a"], 2) == RankingMetrics(1.0, 1.0, 0.5, 2)


def test_a_result_that_comes_twice_counts_once() -> None:
    assert precision_at_k(["a", "a", "b"], ["a", "b"], 2) == 1.0


@pytest.mark.parametrize(("results", "relevant"), [([], ["a"]), (["a"], []), ([], [])])
def test_nothing_scores_zero(results: list[str], relevant: list[str]) -> None:
    assert precision_at_k(results, relevant, 5) == recall_at_k(results, relevant, 5) == reciprocal_rank(results, relevant) == 0.0


@pytest.mark.parametrize(
    ("results", "relevant", "k", "said"),
    [
        ("abc", ["a"], 5, "results must be a list of ids, each of them text"),
        ([1.0, 2.0], ["a"], 5, r"results: an id is 1\.0 \(float\); an id is text or a whole number"),
        (["a"], "a", 5, "relevant must be a list of ids, each of them text"),
        ({"a": 1}.keys() | {"b"}, ["a"], 5, "results must be in an order, and a set has none; give a list, best first"),
        (frozenset("ab"), ["a"], 5, "results must be in an order"),
        (None, ["a"], 5, "results must be a list of ids, each of them text"),
        (["a"], ["a"], True, "k must be a whole number of at least 1, not True"),
        (["a"], ["a"], 2.0, "k must be a whole number of at least 1, not 2.0"),
        (["a"], ["a"], 0, "k must be a whole number of at least 1, not 0"),
    ],
)
def test_what_would_be_a_silent_zero_is_refused(results: object, relevant: object, k: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        precision_at_k(results, relevant, k)  # type: ignore[arg-type]  # that is the point


def test_a_ranking_without_an_order_is_refused() -> None:
    with pytest.raises(UsageError, match="ranking must be in an order"):
        all_metrics(["a"], {"a", "b"}, ["a"], 2)  # type: ignore[arg-type]  # that is the point


def test_iterators_are_lists() -> None:
    results, relevant = ["b", "a"], ["a"]
    assert precision_at_k(iter(results), iter(relevant), 2) == 0.5  # type: ignore[arg-type]  # that is the point
    assert all_metrics(iter(results), iter(results), iter(relevant), 2) == all_metrics(results, results, relevant, 2)  # type: ignore[arg-type]  # likewise


def test_a_cutoff_may_be_a_number_of_numpy() -> None:
    assert precision_at_k(["a"], ["a"], np.int64(2)) == 0.5  # type: ignore[arg-type]  # that is the point
