"""What must hold of measures on any data."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Answer, Case, Hit, Judgment, Run, Suite, match_hits, parse_measure, score
from tests.support.measure_names import with_cutoffs

IDS = [f"d{n}" for n in range(12)]
PATHS = ["a/b/x.py", "a/b/y.py", "a/bc/x.py", "a/z.py", "b/x.py", "c.py"]
PATHS_AND_DIRECTORIES = [*PATHS, "a", "a/b", "a/bc", "b", "./a/b/", "nowhere"]

judgments = st.dictionaries(st.sampled_from(IDS), st.integers(-1, 4), min_size=1).map(
    lambda grades: tuple(
        Judgment(target, grade=grade, rank=rank, score_range=(0.0, 0.5)) for rank, (target, grade) in enumerate(grades.items(), 1)
    )
)
answers = st.lists(st.sampled_from(IDS), unique=True)
every_name = with_cutoffs(1, 5)


def scored(judged: tuple[Judgment, ...], ids: list[str], measures: list[str]) -> np.ndarray:
    hits = tuple(Hit(hit, rank, 1.0 / rank) for rank, hit in enumerate(ids, 1))
    answer = Answer("c", "ok" if ids else "empty", hits)
    suite = Suite.from_cases("s", [Case("c", judgments=judged)])
    return score(match_hits(suite, Run.from_answers("a", [answer])), measures).values[0]


@given(judgments, answers)
def test_every_measure_stays_in_its_range(judged: tuple[Judgment, ...], ids: list[str]) -> None:
    measures = [parse_measure(name) for name in every_name]
    for name, measure, value in zip(every_name, measures, scored(judged, ids, every_name), strict=True):
        assert np.isnan(value) or measure.low - 1e-12 <= value <= measure.high + 1e-12, name


@given(judgments, answers.filter(lambda ids: len(ids) > 1), st.data(), st.sampled_from(["nDCG", "nDCG@3", "nDCG(gain=exp)@5"]))
def test_an_improving_swap_never_lowers_ndcg(judged: tuple[Judgment, ...], ids: list[str], data: st.DataObject, name: str) -> None:
    grades = {judgment.target: max(0, judgment.grade) for judgment in judged}
    upper = data.draw(st.integers(0, len(ids) - 2))
    lower = data.draw(st.integers(upper + 1, len(ids) - 1))
    if grades.get(ids[lower], 0) < grades.get(ids[upper], 0):
        upper, lower = lower, upper
    better = list(ids)
    better[upper], better[lower] = ids[lower], ids[upper]
    first, second = (ids, better) if upper < lower else (better, ids)

    assert scored(judged, second, [name])[0] >= scored(judged, first, [name])[0] - 1e-12


@given(judgments, answers, st.integers(1, 12), st.integers(1, 4))
def test_precision_never_exceeds_success(judged: tuple[Judgment, ...], ids: list[str], k: int, rel: int) -> None:
    precision, success = scored(judged, ids, [f"P(rel={rel})@{k}", f"Success(rel={rel})@{k}"])
    assert precision <= success


@given(judgments, answers, st.randoms(use_true_random=False))
def test_the_order_of_judgments_never_matters(judged: tuple[Judgment, ...], ids: list[str], random) -> None:
    shuffled = list(judged)
    random.shuffle(shuffled)
    np.testing.assert_array_equal(scored(judged, ids, every_name), scored(tuple(shuffled), ids, every_name))


def directory_credit(targets: list[str], hits: list[str]) -> float:
    """What the hits earn of the targets: recall without its denominator."""
    return float(scored(tuple(Judgment(target, "path") for target in targets), hits, ["R(credit=dir)"])[0]) * len(targets)


path_lists = st.lists(st.sampled_from(PATHS), min_size=1, unique=True)


@given(path_lists, st.lists(st.sampled_from(PATHS_AND_DIRECTORIES), unique=True), st.randoms())
def test_directory_credit_is_independent_of_the_order_of_judgments(targets: list[str], hits: list[str], random) -> None:
    shuffled = list(targets)
    random.shuffle(shuffled)
    assert directory_credit(targets, hits) == directory_credit(shuffled, hits)


@given(path_lists, st.lists(st.sampled_from(PATHS_AND_DIRECTORIES), unique=True))
def test_directory_credit_lies_between_exact_matches_and_what_was_returned(targets: list[str], hits: list[str]) -> None:
    credit = directory_credit(targets, hits)
    assert len(set(targets) & set(hits)) - 1e-9 <= credit <= min(len(targets), len(hits)) + 1e-9


@given(judgments, answers)
def test_unjudged_hits_at_the_end_change_nothing_at_a_cutoff(judged: tuple[Judgment, ...], ids: list[str]) -> None:
    names = ["P@5", "R@5", "nDCG@5", "RR", "AP", "Bpref", "Success@5"]
    np.testing.assert_array_equal(scored(judged, ids, names), scored(judged, [*ids, "unjudged-1", "unjudged-2"], names))
