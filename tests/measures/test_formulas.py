"""Single measures on small answers; every expected number is worked out by hand in the comment beside it."""

from __future__ import annotations

import tracemalloc
from math import log2

import numpy as np
import pytest

from searchmark import Answer, Case, Hit, Judgment, Run, Suite, UsageError, match_hits, score
from searchmark.records.answers import Status


def value(measure: str, judgments: list[Judgment], hits: list[str], **rest: object) -> float:
    """One measure of one answer to one case."""
    orders: tuple[tuple[str, ...], ...] = rest.get("other_orders", ())  # type: ignore[assignment]  # given by tests only
    case = Case("c", judgments=tuple(judgments), unanswerable=bool(rest.get("unanswerable")), other_orders=orders)
    status: Status = rest.get("status") or ("ok" if hits else "empty")  # type: ignore[assignment]  # given by tests only
    scores = rest.get("scores") or [None] * len(hits)
    answer = Answer("c", status, tuple(Hit(hit, rank, s) for rank, (hit, s) in enumerate(zip(hits, scores, strict=True), 1)))  # type: ignore[call-overload]  # a list
    return float(score(match_hits(Suite.from_cases("s", [case]), Run.from_answers("a", [answer])), [measure]).values[0, 0])


def graded(**grades: int) -> list[Judgment]:
    return [Judgment(target, grade=grade) for target, grade in grades.items()]


ABC = graded(a=3, b=1, c=2, z=0)


@pytest.mark.parametrize(
    ("measure", "hits", "expected"),
    [
        ("P@5", ["a", "x", "b"], 2 / 5),  # two relevant, over five although three came
        ("P", ["a", "x", "b"], 2 / 3),  # over what was returned
        ("P(rel=2)@5", ["a", "x", "b"], 1 / 5),  # b has grade 1
        ("R@2", ["a", "x", "b"], 1 / 3),  # a of a, b, c
        ("R(rel=2)", ["a", "x", "b"], 1 / 2),  # a of a, c
        ("F1", ["a", "x", "b"], 2 / 3),  # P 2/3, R 2/3
        ("F1@10", ["a", "x", "b"], 2 * 0.2 * (2 / 3) / (0.2 + 2 / 3)),
        ("RR", ["x", "y", "b"], 1 / 3),
        ("RR@2", ["x", "y", "b"], 0.0),
        ("AP", ["a", "x", "b"], (1 + 2 / 3) / 3),
        ("AP@1", ["a", "x", "b"], 1 / 3),  # still over all three targets
        ("DCG", ["b", "a"], 1 + 3 / log2(3)),
        ("DCG(gain=exp)", ["b", "a"], 1 + 7 / log2(3)),
        ("nDCG@2", ["b", "a"], (1 + 3 / log2(3)) / (3 + 2 / log2(3))),  # ideal: a, c
        ("nDCG", ["a", "c", "b"], 1.0),
        ("nDCG@1", ["a"], 1.0),
        ("nDCG@10", ["a"], 3 / (3 + 2 / log2(3) + 1 / 2)),  # the ideal list is not cut at what came
        ("nDCG(gain=exp)@2", ["b", "a"], (1 + 7 / log2(3)) / (7 + 3 / log2(3))),
        ("Success@1", ["x", "a"], 0.0),
        ("Success@2", ["x", "a"], 1.0),
        ("Rprec", ["a", "x", "b", "c"], 2 / 3),  # the first three
        ("Bpref", ["a", "z", "b"], (1 + 0) / 3),  # before b stands z, the only one judged against
        ("RBP", ["a", "x", "b"], 0.2 * (1 + 0.8**2)),
        ("RBP(p=0.5)@1", ["a", "x", "b"], 0.5),
        ("ERR(max=3)", ["c", "a"], 3 / 8 + (1 - 3 / 8) * (7 / 8) / 2),
        ("ERR@1", ["a"], 7 / 16),
        ("Judged@3", ["a", "x", "z"], 2 / 3),
        ("Judged@10", ["a", "x"], 1 / 2),
        ("Acc@3", ["c", "b", "a"], 1.0),
        ("Acc@2", ["c", "b", "a"], 0.0),
        ("0.5*P@5 + 0.5*RR", ["a", "x", "b"], 0.5 * 2 / 5 + 0.5),
        ("Relevance", ["a", "x", "b"], 0.4 * 2 / 5 + 0.3 * 2 / 3 + 0.3),
    ],
)
def test_hand_arithmetic(measure: str, hits: list[str], expected: float) -> None:
    assert value(measure, ABC, hits) == pytest.approx(expected, abs=1e-12)


EVERY_RANKED = ["P@5", "P", "R", "F1", "RR", "AP", "nDCG@10", "DCG", "Success@5", "Rprec", "Bpref", "RBP", "ERR", "Judged@5", "Acc"]


@pytest.mark.parametrize("measure", EVERY_RANKED)
def test_an_empty_answer_scores_zero(measure: str) -> None:
    assert value(measure, ABC, []) == 0.0


@pytest.mark.parametrize("measure", [name for name in EVERY_RANKED if not name.startswith("Judged")])
def test_a_case_without_relevant_targets_scores_zero_as_in_trec_eval(measure: str) -> None:
    assert value(measure, graded(z=0), ["z", "x"]) == 0.0


def test_negative_grades_are_pooled_but_not_judged() -> None:
    """trec_eval's reading of -1: neither relevant nor against the answer."""
    judgments = graded(a=1, m=-1, z=0)
    assert value("Bpref", judgments, ["m", "a"]) == 1.0
    assert value("Bpref", judgments, ["z", "a"]) == 0.0
    assert value("Judged@2", judgments, ["m", "a"]) == 0.5


def test_err_is_undefined_for_a_grade_above_its_scale() -> None:
    assert np.isnan(value("ERR(max=2)", ABC, ["a"]))


def test_exponential_gain_is_undefined_for_grades_beyond_floats() -> None:
    assert np.isnan(value("nDCG(gain=exp)", graded(a=5000), ["a"]))
    assert value("nDCG", graded(a=5000), ["a"]) == 1.0


class TestTau:
    ORDER = [Judgment("a", rank=1), Judgment("b", rank=2), Judgment("c", rank=3)]

    @pytest.mark.parametrize(
        ("hits", "expected"),
        [
            (["a", "b", "c"], 1.0),
            (["c", "b", "a"], -1.0),
            (["a", "x", "c", "b"], 1 / 3),  # two of three pairs right
            (["b"], 0.0),  # b before c is right, b before a is wrong, a and c are both missing
            (["a"], 2 / 3),
            ([], 0.0),
        ],
    )
    def test_counts_pairs(self, hits: list[str], expected: float) -> None:
        assert value("Tau", self.ORDER, hits) == pytest.approx(expected)

    @pytest.mark.parametrize(
        ("hits", "expected"),
        [
            (["a", "b", "c"], 1.0),
            (["b", "a", "c"], 1.0),  # a and b may come in any order
            (["a", "c", "b"], 0.0),  # a before c is right, b before c is not
            (["c", "b", "a"], -1.0),
            (["a"], 0.5),  # a before c; b and c are both missing
            ([], 0.0),
        ],
    )
    def test_targets_of_equal_rank_may_come_in_any_order(self, hits: list[str], expected: float) -> None:
        assert value("Tau", [Judgment("a", rank=1), Judgment("b", rank=1), Judgment("c", rank=2)], hits) == expected

    @pytest.mark.parametrize(
        ("hits", "expected"),
        [
            (["a", "b", "c"], 1.0),
            (["b", "a", "c"], 1.0),
            (["c", "b"], 1.0),  # a is missing, and comes last
            (["c", "a", "b"], 1 / 3),  # by c, b, a; -1/3 and -1 by the others
            ([], 0.0),
        ],
    )
    def test_of_several_expected_orders_the_best_counts(self, hits: list[str], expected: float) -> None:
        orders = (("b", "a", "c"), ("c", "b", "a"))
        assert value("Tau", self.ORDER, hits, other_orders=orders) == pytest.approx(expected)

    @pytest.mark.parametrize(
        ("order", "wrong"), [(("a", "x"), "names 'x', which is not a target"), (("a", "a"), "names a target twice")]
    )
    def test_an_order_of_anything_else_is_refused(self, order: tuple[str, ...], wrong: str) -> None:
        with pytest.raises(UsageError, match=f"case 'c': an expected order {wrong}"):
            value("Tau", self.ORDER, ["a"], other_orders=(order,))

    def test_agrees_with_scipy_where_ranks_are_equal(self) -> None:
        from scipy.stats import somersd

        rng = np.random.default_rng(7)
        for _ in range(20):
            ranks, returned = rng.integers(1, 5, 8), rng.permutation(8)
            judgments = [Judgment(f"t{target}", rank=int(rank)) for target, rank in enumerate(ranks)]
            expected = somersd(ranks, np.argsort(returned)).statistic  # of the order returned, given the ranks
            assert value("Tau", judgments, [f"t{target}" for target in returned]) == pytest.approx(expected)

    def test_a_target_beyond_the_cutoff_is_missing(self) -> None:
        assert value("Tau@1", self.ORDER, ["a", "c", "b"]) == pytest.approx(2 / 3)

    def test_is_undefined_for_fewer_than_two_ordered_targets(self) -> None:
        assert np.isnan(value("Tau", [Judgment("a", rank=1), Judgment("b")], ["a"]))
        assert np.isnan(value("Tau", [Judgment("a", rank=1), Judgment("b", rank=1)], ["a"]))

    def test_many_targets_take_no_memory_by_the_square(self) -> None:
        judgments = [Judgment(f"t{n}", rank=n + 1) for n in range(3000)]
        tracemalloc.start()
        assert value("Tau", judgments, [f"t{n}" for n in range(3000)]) == 1.0
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
        tracemalloc.stop()

    def test_agrees_with_scipy_on_full_lists(self) -> None:
        from scipy.stats import kendalltau

        rng = np.random.default_rng(5)
        for _ in range(20):
            order = rng.permutation(8)
            expected = kendalltau(order, np.arange(8)).statistic
            judgments = [Judgment(f"t{target}", rank=int(target) + 1) for target in range(8)]
            assert value("Tau", judgments, [f"t{target}" for target in order]) == pytest.approx(expected)


class TestInRange:
    RANGES = [Judgment("a", score_range=(0.7, 1.0)), Judgment("b", score_range=(0.0, 0.3))]

    def test_is_the_share_of_targets_inside(self) -> None:
        assert value("InRange", self.RANGES, ["a", "b"], scores=[0.7, 0.31]) == 0.5

    def test_a_target_that_was_not_returned_is_outside(self) -> None:
        assert value("InRange", self.RANGES, ["a"], scores=[0.9]) == 0.5

    def test_is_undefined_without_scores_or_ranges(self) -> None:
        assert np.isnan(value("InRange", self.RANGES, ["a"]))
        assert np.isnan(value("InRange", ABC, ["a"], scores=[0.9]))


class TestAbstain:
    def test_is_one_for_no_hits_and_zero_for_any(self) -> None:
        assert value("Abstain", [], [], unanswerable=True) == 1.0
        assert value("Abstain", [], ["x"], unanswerable=True) == 0.0

    def test_a_failure_is_no_abstention(self) -> None:
        assert value("Abstain", [], [], unanswerable=True, status="error") == 0.0
        assert value("Abstain", [], [], unanswerable=True, status="timeout") == 0.0

    def test_speaks_only_of_unanswerable_cases_and_the_others_only_of_the_rest(self) -> None:
        assert np.isnan(value("Abstain", ABC, []))
        assert np.isnan(value("nDCG@10", [], [], unanswerable=True))
