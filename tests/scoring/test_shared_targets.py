"""Cases with the same targets are one observation, as cases of one origin are."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from searchmark import Answer, Case, Document, Hit, Judgment, Run, Scores, Suite, compare, match_hits, score
from searchmark.scoring.power import GateQuestion, foresee
from searchmark.scoring.scores import clusters_of
from searchmark.scoring.statistics import mean_intervals

SIZES = (1, 2, 3, 5)  # cases of each group, in turn
TRIALS = 1000


def suite_of(golds: list[int], **more: object) -> Suite:
    """Cases whose only target has this number."""
    cases = [Case(f"c{n:03}", f"q{n}", (Judgment(f"d{gold}"), Judgment(f"n{n}", grade=0)), **more) for n, gold in enumerate(golds)]  # type: ignore[arg-type]  # fields of a case
    return Suite.from_cases("s", cases)


def found_by(suite: Suite, ranks: list[int]) -> Scores:
    """The scores of a run with the target at these ranks."""
    answers = [
        Answer(
            case.id, "ok", tuple(Hit(case.judgments[0].target if place == rank else f"x{place}", place) for place in range(1, 6))
        )
        for case, rank in zip(suite.cases, ranks, strict=True)
    ]
    return score(match_hits(suite, Run.from_answers("run", answers)), ["RR"])


def with_origins(suite: Suite) -> Suite:
    """The same grouping, told by origins that are called after the first case."""
    names: dict[str, str] = {}
    cases = [replace(case, origin=names.setdefault(case.judgments[0].target, case.id)) for case in suite.cases]
    return Suite.from_cases(suite.name, cases)


GOLDS = [n // 2 for n in range(40)]
RANKS = [(1, 1, 2, 4, 5, 1, 3)[n % 7] for n in range(40)]


def test_intervals_are_those_of_cases_of_one_origin() -> None:
    suite = suite_of(GOLDS)
    assert found_by(suite, RANKS).summaries() == found_by(with_origins(suite), RANKS).summaries()
    assert found_by(suite, RANKS).summaries() != found_by(suite_of(list(range(40))), RANKS).summaries()


def test_differences_are_those_of_cases_of_one_origin() -> None:
    suite, after = suite_of(GOLDS), RANKS[::-1]
    shared, named = (
        compare([found_by(each, RANKS), found_by(each, after)])[0].differences for each in (suite, with_origins(suite))
    )
    assert shared == named
    assert shared[0].independent == 20


def test_what_a_gate_can_see_is_that_of_cases_of_one_origin() -> None:
    suite, question = suite_of(GOLDS), GateQuestion("no-evidence-of-harm")
    assert foresee(suite, "RR", question) == foresee(with_origins(suite), "RR", question)
    assert foresee(suite, "RR", question).independent == 20


def test_fewer_than_ten_groups_get_no_interval() -> None:
    assert found_by(suite_of([n % 9 for n in range(40)]), RANKS).summaries()["RR"].low is None


def test_an_origin_is_stronger_than_the_targets() -> None:
    assert (
        len(
            np.unique(
                clusters_of(
                    Suite.from_cases("s", [Case(f"c{n}", "q", (Judgment("x"),), origin=f"o{n}") for n in range(5)]), np.arange(5)
                )
            )
        )
        == 5
    )


def test_a_case_with_an_origin_is_not_grouped_with_one_without() -> None:
    named, free, other = (
        Case("a", "q", (Judgment("x"),), origin="o"),
        Case("b", "r", (Judgment("x"),)),
        Case("c", "s", (Judgment("x"),)),
    )
    clusters = Suite.from_cases("s", [named, free, other]).clusters
    assert clusters is not None
    assert clusters[0] != clusters[1] == clusters[2]


@pytest.mark.parametrize("made", ["cases", "grades"])
def test_suites_of_any_kind_are_grouped_alike(made: str) -> None:
    suite = suite_of(GOLDS) if made == "cases" else Suite.from_grades({f"c{n:03}": {f"d{gold}": 1} for n, gold in enumerate(GOLDS)})
    assert suite.clusters is not None
    assert suite.clusters.tolist() == GOLDS


def test_a_column_of_targets_is_grouped_as_a_list_is() -> None:
    suite = suite_of(GOLDS)
    column = replace(suite.judgments, targets=pl.Series(suite.judgments.targets))
    assert replace(suite, judgments=column).clusters.tolist() == GOLDS  # type: ignore[union-attr]  # it has some


def test_all_cases_with_gold_of_their_own_need_no_clusters() -> None:
    assert suite_of(list(range(20))).clusters is None


def test_the_order_of_cases_and_judgments_changes_no_digit() -> None:
    suite = suite_of(GOLDS)
    scores, order = found_by(suite, RANKS), np.random.default_rng(3).permutation(40)
    cases = [replace(suite.cases[row], judgments=suite.cases[row].judgments[::-1]) for row in order]
    turned = replace(scores, matched=replace(scores.matched, suite=Suite.from_cases("s", cases)), values=scores.values[order])
    assert turned.summaries() == scores.summaries()


def test_a_suite_that_was_pickled_is_grouped_as_before() -> None:
    suite = suite_of(GOLDS)
    assert pickle.loads(pickle.dumps(suite)).clusters.tolist() == suite.clusters.tolist()  # type: ignore[union-attr]  # noqa: S301  # it has some, and is our own


def test_documents_of_their_own_tell_cases_apart() -> None:
    cases = [Case(f"c{n}", "q", (Judgment("x"),), documents=(Document("x", f"text {n // 2}"),)) for n in range(4)]
    clusters = Suite.from_cases("s", cases).clusters
    assert clusters is not None
    assert clusters.tolist() == [0, 0, 1, 1]


def drawn(random: np.random.Generator, golds: np.ndarray, share: float) -> np.ndarray:
    """Scores of which this share of the variance is due to the targets: some documents are easy to find, others hard."""
    easy = random.normal(size=golds.max() + 1)[golds]
    latent = np.sqrt(share) * easy + np.sqrt(1 - share) * random.normal(size=len(golds))
    return np.asarray(1 / (1 + np.exp(-1.5 * latent)))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("sets", [30, 100])
def test_intervals_cover_the_mean_whatever_the_cases_of_a_group_have_in_common(sets: int, share: float) -> None:
    golds = np.repeat(np.arange(sets), np.resize(SIZES, sets))
    clusters = suite_of(golds.tolist()).clusters
    random = np.random.default_rng([20261116, sets, int(10 * share)])
    values = np.column_stack([drawn(random, golds, share) for _ in range(TRIALS)])
    low, high = np.transpose(mean_intervals(values, clusters, [(0.0, 1.0)] * TRIALS))
    assert 0.93 <= ((low <= 0.5) & (high >= 0.5)).mean() <= 0.98


def test_intervals_that_take_such_cases_for_independent_do_not_cover() -> None:
    golds = np.repeat(np.arange(100), np.resize(SIZES, 100))
    random = np.random.default_rng(20261116)
    values = np.column_stack([drawn(random, golds, 0.8) for _ in range(TRIALS)])
    low, high = np.transpose(mean_intervals(values, None, [(0.0, 1.0)] * TRIALS))
    assert ((low <= 0.5) & (high >= 0.5)).mean() < 0.8


def grouped(*cases: Case) -> list[int]:
    clusters = Suite.from_cases("shop", cases).clusters
    assert clusters is not None
    return clusters.tolist()


TENT = Case("tent", "tent for two", judgments=(Judgment("a"),))
VARIANT = Case("tent-es", "tienda para dos", origin="tent", judgments=(Judgment("b"),))
STOVE = Case("stove", "stove", judgments=(Judgment("a"),))
LAMP = Case("lamp", "lamp", judgments=(Judgment("c"),))


def test_a_case_that_variants_name_as_their_origin_is_one_observation_with_them() -> None:
    tent, variant, lamp = grouped(TENT, VARIANT, LAMP)
    assert tent == variant != lamp


def test_a_variant_never_parts_cases_that_were_one_observation() -> None:
    tent, stove, lamp = grouped(TENT, STOVE, LAMP)
    assert tent == stove != lamp
    tent, variant, stove, lamp = grouped(TENT, VARIANT, STOVE, LAMP)
    assert tent == variant == stove != lamp


def test_a_case_with_an_origin_of_its_own_is_one_observation_with_its_variants_too() -> None:
    original, variant, sister, lamp = grouped(replace(TENT, origin="camping"), VARIANT, replace(STOVE, origin="camping"), LAMP)
    assert original == variant == sister != lamp
