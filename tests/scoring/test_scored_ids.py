"""Looking judged ids up in dictionaries of scores is held to matching in columns, on arbitrary suites and runs."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Case, Judgment, MatchedRun, Matches, Run, Suite, build_report, load_run, match_hits, render, score
from searchmark.formats.runs.native import write_native_run
from searchmark.measures.catalogue import FORMULAS
from tests.support.measure_names import EVERY_MEASURE

# Bytes and letters sort differently; "cafe\u0301" is a second spelling, and "a#L3" names a line of "a".
CLEAN = ["a", "b", "c", "B", "\u00e9", "\uffff", "\U00010000", "caf\u00e9", "d1", "d10", "d2", ""]
ODD = [*CLEAN, "cafe\u0301", "a#L3", "\udcff"]
SCORES = [0.0, -0.0, 1.0, 1.0, 2.5, -3.0, 1e308, -1e308, 5e-324, 1, True]

cases = st.sampled_from("pqrstu")
grades = st.dictionaries(cases, st.dictionaries(st.sampled_from(ODD), st.integers(-2, 3)), min_size=1)
judgments = st.builds(Judgment, st.sampled_from(ODD), grade=st.integers(-1, 3), rank=st.none() | st.integers(1, 3))
ranged = st.builds(Judgment, st.sampled_from(CLEAN), score_range=st.just((0.0, 1.0)))
case_lists = st.lists(
    st.builds(Case, cases, judgments=st.lists(judgments | ranged, max_size=6).map(tuple)), min_size=1, unique_by=lambda c: c.id
)
suites = grades.map(Suite.from_grades) | case_lists.map(lambda rows: Suite.from_cases("s", rows))


def scores_of(ids: list[str]) -> st.SearchStrategy[dict[str, dict[str, float]]]:
    answers = st.dictionaries(st.sampled_from(ids), st.sampled_from(SCORES) | st.floats(allow_nan=False, allow_infinity=False))
    return st.dictionaries(cases, answers, min_size=1)


def in_columns(run: Run) -> Run:
    """The same run without its dictionaries."""
    return replace(run)


def assert_alike(first: MatchedRun, second: MatchedRun) -> None:
    for column in fields(Matches):
        if column.name != "directories":
            np.testing.assert_array_equal(getattr(first.matches, column.name), getattr(second.matches, column.name))
    assert first.dropped == second.dropped
    np.testing.assert_array_equal(first.status, second.status)
    names = [*EVERY_MEASURE, *FORMULAS, "nDCG@2", "P(rel=2)@3", "R@1"]
    np.testing.assert_array_equal(score(first, names).values, score(second, names).values)


@given(st.lists(st.permutations(CLEAN), min_size=1, max_size=3), st.data())
def test_judged_ids_among_equal_scores_are_ranked_by_id(answers: list[list[str]], data: st.DataObject) -> None:
    few = st.sampled_from([0.0, -0.0, 1.0])
    scores = {str(case): {hit: data.draw(few) for hit in hits} for case, hits in enumerate(answers)}
    run, suite = Run.from_scores(scores), Suite.from_grades({case: dict.fromkeys(hits, 1) for case, hits in scores.items()})
    assert_alike(match_hits(suite, run), match_hits(suite, in_columns(run)))


@given(suites, scores_of(CLEAN) | scores_of(ODD))
def test_a_run_of_dictionaries_is_judged_as_its_columns_are(suite: Suite, scores: dict[str, dict[str, float]]) -> None:
    run = Run.from_scores({**scores, suite.table.ids[0]: scores.get(suite.table.ids[0], {"a": 1.0})})
    assert_alike(match_hits(suite, run), match_hits(suite, in_columns(run)))
    assert_alike(match_hits(suite, run, corpus=["a", "b"]), match_hits(suite, in_columns(run), corpus=["a", "b"]))


@given(grades, scores_of(CLEAN))
def test_judging_clean_ids_makes_no_column_of_them(grades: dict[str, dict[str, int]], scores: dict[str, dict[str, float]]) -> None:
    run = Run.from_scores({**scores, next(iter(grades)): {"a": 1.0}})
    match_hits(Suite.from_grades(grades), run)
    assert not vars(run).keys() & {"ids", "rank"}


@pytest.mark.slow
@given(suites, scores_of(ODD))
def test_a_report_does_not_tell_dictionaries_from_columns(suite: Suite, scores: dict[str, dict[str, float]]) -> None:
    run = Run.from_scores({**scores, suite.table.ids[0]: {"a": 1.0, "b": 1.0}})
    reports = [build_report(score(match_hits(suite, each), ["nDCG@5", "RR"])) for each in (run, in_columns(run))]
    assert render(reports[0], "json") == render(reports[1], "json")


def test_a_later_change_of_the_dictionaries_changes_no_run() -> None:
    scores = {"q": {"a": 1.0, "b": 2.0}}
    run, suite = Run.from_scores(scores), Suite.from_grades({"q": {"a": 1}})
    scores["q"]["a"] = 3.0
    scores["q"]["c"] = 4.0
    assert score(match_hits(suite, run), ["RR"]).mean("RR") == 0.5
    assert run.ids_of(0) == ["b", "a"]


def test_a_run_of_dictionaries_is_pickled_and_saved_like_any_other(tmp_path) -> None:
    run = Run.from_scores({"q": {"a": 1.0, "c": 1.0, "b": 2.0}, "empty": {}})
    write_native_run(run, tmp_path / "run.jsonl")
    pickled = pickle.loads(pickle.dumps(run))  # noqa: S301  # our own bytes
    for copy in (pickled, load_run(tmp_path / "run.jsonl")):
        assert copy == run
        assert copy.ids_of(0) == ["b", "c", "a"]
    judged = pickle.loads(pickle.dumps(match_hits(Suite.from_grades({"q": {"a": 1}}), run)))  # noqa: S301  # our own bytes
    assert score(judged, ["RR"]).mean("RR") == 1 / 3


def test_a_second_spelling_is_noticed_in_the_answer_to_a_last_case_without_judgments() -> None:
    run = Run.from_scores({"q": {"a": 1.0}, "last": {"a": 1.0, "a#L3": 0.5}})
    assert match_hits(Suite.from_grades({"q": {"a": 1}, "last": {}}), run).dropped["duplicate"] == 1
