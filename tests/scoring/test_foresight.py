"""What a gate could see, before the run: never called blind where it can fire, never said to see what it would miss."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from searchmark import Answer, Case, Document, Hit, Judgment, Run, Scores, Suite, UsageError, compare, match_hits, score
from searchmark.scoring.planned_tests import sequential_verdict
from searchmark.scoring.power import (
    Foresight,
    GateQuestion,
    LosableColumn,
    _more_alike,
    fewest_that_differ,
    foresee,
    ties_for_margin,
)
from searchmark.scoring.statistics import SHOWN_LEVEL, difference_intervals, observations

HARM, SEQUENTIAL, NON_INFERIOR = (GateQuestion(each) for each in ("no-evidence-of-harm", "sequential", "non-inferior"))


def suite_of(cases: int, per_origin: int = 1) -> Suite:
    return Suite.from_cases(
        "suite",
        [
            Case(
                f"q{n}",
                "",
                (Judgment(f"yes{n}"), Judgment(f"no{n}", grade=0)),
                origin=f"o{n // per_origin}" if per_origin > 1 else None,
            )
            for n in range(cases)
        ],
    )


def run_of(suite: Suite, found: int) -> Scores:
    """A run that finds the target of the first cases at rank 1, and that of no other."""
    answers = [
        Answer(case, "ok", (Hit(f"yes{row}" if row < found else f"no{row}", 1),)) for row, case in enumerate(suite.table.ids)
    ]
    return score(match_hits(suite, Run.from_answers("run", answers)), ["RR"])


def ahead(cases: int, found: int, question: GateQuestion = HARM) -> Foresight:
    suite = suite_of(cases)
    return foresee(suite, "RR", question, run_of(suite, found))


def _found(suite: Suite, hit: str) -> Scores:
    answers = [Answer(case, "ok", (Hit(f"{hit}{row}", 1),)) for row, case in enumerate(suite.table.ids)]
    return score(match_hits(suite, Run.from_answers(hit, answers)), ["DCG@10"])


class TestHarm:
    @pytest.mark.parametrize(("cases", "needed"), [(0, "10 more independent cases are"), (9, "1 more independent case is")])
    def test_fewer_than_ten_independent_cases_never_get_a_verdict(self, cases: int, needed: str) -> None:
        found = foresee(suite_of(10), "RR", HARM, rows=np.arange(cases))
        assert not found.resolvable
        assert found.reason.endswith(f": {needed} needed for a verdict")
        assert foresee(suite_of(10), "RR", HARM).resolvable

    def test_cases_of_one_origin_are_one(self) -> None:
        """40 cases of 8 origins: two more origins of a single case make (42)² / (8 * 25 + 2) = 8.7, three 9.1, six 10.3, five 9.9."""
        found = foresee(suite_of(40, per_origin=5), "RR", HARM)
        assert (found.independent, found.resolvable) == (8, False)
        assert "6 more independent cases are needed" in found.reason

    @pytest.mark.parametrize("found", range(9))
    def test_it_is_resolvable_exactly_where_the_worst_build_would_be_regressed(self, found: int) -> None:
        suite = suite_of(12)
        (pair,) = compare([run_of(suite, found), run_of(suite, 0)])
        said = foresee(suite, "RR", HARM, run_of(suite, found))
        assert said.resolvable == (pair.differences[0].verdict == "REGRESSED")
        assert said.independent == found
        assert said.smallest_p == pytest.approx(0.5**found)

    def test_a_case_that_has_nothing_to_lose_does_not_count(self) -> None:
        said = ahead(100, 4)
        assert (said.independent, said.smallest_p, said.resolvable) == (4, 0.0625, False)
        assert said.reason == (
            "only 4 independent cases can lose something, so that p is 0.062 at best: "
            "2 more independent cases in which the baseline finds something are needed for a verdict"
        )

    def test_a_family_asks_for_more(self) -> None:
        """28 * 2 to the power of -9 is 0.055."""
        said = ahead(100, 9, GateQuestion("no-evidence-of-harm", family=28))
        assert (said.smallest_p, said.resolvable) == (28 / 512, False)
        assert ahead(100, 10, GateQuestion("no-evidence-of-harm", family=28)).resolvable

    def test_a_baseline_that_cannot_lose_what_counts_is_said(self) -> None:
        said = ahead(100, 9, GateQuestion("no-evidence-of-harm", min_effect=0.2))
        assert said.reason == "the baseline can lose 0.09 at most, and only a loss of 0.2 counts: lower min_effect"

    def test_one_large_loss_and_a_few_tiny_ones_are_not_enough(self) -> None:
        """Six cases can lose, p would be small enough, but the interval of the worst build contains 0."""
        suite = suite_of(10)
        before = run_of(suite, 10)
        scores = Scores(before.matched, before.measures, np.array([1.0, *[0.001] * 5, *[0.0] * 4])[:, None])
        said = foresee(suite, "RR", HARM, scores)
        assert said.reason.startswith("not even a build that finds nothing would be REGRESSED: ")
        assert not said.resolvable

    @pytest.mark.slow
    def test_what_no_number_of_cases_changes_is_said_without_one(self) -> None:
        column = LosableColumn(*[observations(np.zeros((10, 1)), None)] * 2, span=1.0, known=True)
        assert _more_alike(column, HARM) is None

    @pytest.mark.parametrize("question", [HARM, SEQUENTIAL])
    @pytest.mark.parametrize("grades", [(3, 3), (3, 2)])
    def test_a_measure_without_a_highest_value_is_judged_by_what_the_baseline_could_lose(
        self, question: GateQuestion, grades: tuple[int, int]
    ) -> None:
        suite = Suite.from_cases(
            "s", [Case(f"q{n}", "", (Judgment(f"yes{n}", grade=grades[n % 2]), Judgment(f"no{n}", grade=0))) for n in range(40)]
        )
        before, nothing = (_found(suite, hit) for hit in ("yes", "no"))
        assert compare([before, nothing])[0].differences[0].verdict == "REGRESSED"
        said = foresee(suite, "DCG@10", question, before)
        assert (said.resolvable, said.independent) == (True, 40)
        assert said.detectable is not None
        assert 0 < said.detectable < 3  # all that there is to lose

    def test_losses_of_every_small_suite_never_fire_where_none_can(self) -> None:
        """All builds of four cases that lose nothing, half or all, among twelve."""
        suite = suite_of(12)
        before = run_of(suite, 4)
        for build in product((0.0, 0.5, 1.0), repeat=4):
            after = Scores(before.matched, before.measures, np.array([*build, *[0.0] * 8])[:, None])
            assert compare([before, after])[0].differences[0].verdict != "REGRESSED"

    def test_unanswerable_cases_do_not_count(self) -> None:
        suite = Suite.from_cases("s", [Case(f"q{n}", "", (Judgment(f"yes{n}"),), unanswerable=n < 5) for n in range(14)])
        assert foresee(suite, "RR", HARM).independent == 9

    def test_some_of_the_cases(self) -> None:
        suite = suite_of(30)
        assert foresee(suite, "RR", HARM, run_of(suite, 30), np.arange(12)).independent == 12

    def test_a_set_that_is_always_answered_in_full_cannot_differ(self) -> None:
        documents = (Document("yes", "a"), Document("no", "b"))
        suite = Suite.from_cases(
            "s", [Case(f"q{n}", "", (Judgment("yes"),), origin=f"o{n}", documents=documents) for n in range(20)]
        )
        full = [Answer(case, "ok", (Hit("no", 1), Hit("yes", 2))) for case in suite.table.ids]
        scores = score(match_hits(suite, Run.from_answers("run", full)), ["P@5", "P@1", "RR"])
        assert [foresee(suite, name, HARM, scores).independent for name in ("P@5", "P@1", "RR")] == [0, 0, 20]
        part = [Answer(case, "ok", (Hit("yes", 1),)) for case in suite.table.ids]
        scores = score(match_hits(suite, Run.from_answers("run", part)), ["P@5"])
        assert foresee(suite, "P@5", HARM, scores).independent == 20

    def test_a_measure_that_the_baseline_lacks_is_named(self) -> None:
        with pytest.raises(UsageError, match=r"the baseline has no nDCG@10; it has RR"):
            foresee(suite_of(10), "nDCG@10", HARM, run_of(suite_of(10), 5))


class TestDetectable:
    def test_more_cases_show_smaller_losses(self) -> None:
        losses = [ahead(cases, cases).detectable or 1.0 for cases in (10, 20, 50, 200, 1000)]
        assert losses == sorted(losses, reverse=True)
        assert losses[-1] < 0.02

    def test_it_exceeds_the_least_that_counts(self) -> None:
        assert (ahead(5000, 5000, GateQuestion("no-evidence-of-harm", min_effect=0.1)).detectable or 0) > 0.1

    def test_with_a_baseline_it_is_known_better_than_without(self) -> None:
        assert (ahead(100, 90).detectable or 1) < (foresee(suite_of(100), "RR", HARM).detectable or 0)

    @pytest.mark.slow
    @pytest.mark.parametrize("question", [HARM, GateQuestion("sequential", look=10)], ids=lambda each: each.policy)
    def test_losses_of_that_size_are_seen_by_four_of_five_builds(self, question: GateQuestion) -> None:
        """A build that is a different search altogether, found or not: of all builds with that mean it varies most."""
        suite, random = suite_of(100), np.random.default_rng(15)
        before = run_of(suite, 80)
        loss = foresee(suite, "RR", question, before).detectable or 0.0
        seen = 0
        for _ in range(100):
            values = (random.random(100) < 0.8 - loss).astype(float)
            after = Scores(before.matched, before.measures, values[:, None])
            if question.policy == "sequential":
                seen += sequential_verdict(before, after, 0, 10, question.min_effect)[1].verdict == "REGRESSED"
            else:
                seen += compare([before, after])[0].differences[0].verdict == "REGRESSED"
        assert seen / 100 >= 0.8 - 0.08  # two standard errors


class TestSequential:
    def test_the_test_is_exact_and_asks_for_more_losses_the_more_looks_there_were(self) -> None:
        """The level of look 1 is 0.0016, of look 30 0.00042, of look 365 0.0000096."""
        needed = [fewest_that_differ(GateQuestion("sequential", look=look)) for look in (1, 30, 365)]
        assert needed == [11, 13, 18]
        assert [ahead(100, found, SEQUENTIAL).resolvable for found in (10, 11)] == [False, True]
        assert ahead(100, 10, SEQUENTIAL).smallest_p == 2.0**-9


class TestNonInferior:
    @pytest.mark.parametrize("margin", [0.01, 0.02, 0.05, 0.3])
    def test_resolvable_from_as_many_ties_as_show_the_margin(self, margin: float) -> None:
        needed = ties_for_margin(margin)
        low = [
            float(difference_intervals(observations(np.zeros((cases, 1)), None), SHOWN_LEVEL)[0][0])
            for cases in (needed - 1, needed)
        ]
        assert low[0] <= -margin < low[1] or needed == 10
        question = GateQuestion("non-inferior", margin=margin)
        assert [foresee(suite_of(cases), "RR", question).resolvable for cases in (needed - 1, needed)] == [False, True]

    def test_it_says_how_many_more_cases_or_which_margin(self) -> None:
        assert foresee(suite_of(100), "RR", NON_INFERIOR).reason == (
            "an unchanged build would not pass: 100 independent cases without any change do not rule out a loss of 0.036 (95 % interval); "
            "83 more independent cases are needed to show that less than 0.02 is lost, or a margin above 0.036"
        )

    def test_a_margin_of_nothing_cannot_be_shown(self) -> None:
        assert not foresee(suite_of(5000), "RR", GateQuestion("non-inferior", margin=0.0)).resolvable

    def test_without_a_highest_value_only_a_baseline_tells(self) -> None:
        assert "no highest value" in foresee(suite_of(500), "DCG@10", NON_INFERIOR).reason
