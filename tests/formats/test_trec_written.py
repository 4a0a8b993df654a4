"""A run that is written as TREC scores as it did, with every reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytrec_eval import RelevanceEvaluator, parse_run

from searchmark import Answer, AnswerDetails, Hit, Run, Suite, UsageError, load_run, match_hits, save_run, save_runs, score

GRADES = {"q1": {"a": 2, "c": 1}, "q2": {"b": 1}}
MEASURES = ["AP", "RR", "nDCG", "P@5"]
THEIRS = ["map", "recip_rank", "ndcg", "P_5"]


def run_of(*answers: tuple[str, list[tuple[str, float | None]]], agent: str = "mine") -> Run:
    hits = {case: tuple(Hit(name, rank, value) for rank, (name, value) in enumerate(found, 1)) for case, found in answers}
    return Run.from_answers(agent, [Answer(case, "ok" if found else "empty", found) for case, found in hits.items()])


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def values_of(run: Run) -> list[list[float]]:
    return score(match_hits(Suite.from_grades(GRADES), run), MEASURES).values.tolist()


def test_scores_in_order_are_written_as_they_are(tmp_path: Path) -> None:
    run = run_of(("q1", [("a", 0.75), ("b", 0.5)]), ("q2", [("b", 1e-9)]))
    assert save_run(run, tmp_path / "run.trec") == []
    assert lines_of(tmp_path / "run.trec") == ["q1 Q0 a 1 0.75 mine", "q1 Q0 b 2 0.5 mine", "q2 Q0 b 1 1e-09 mine"]


@pytest.mark.parametrize(
    "found",
    [
        [("b", None), ("a", None), ("c", None)],
        [("b", 3.0), ("a", None), ("c", 1.0)],
        [("b", 0.1), ("a", 0.9), ("c", 0.5)],
        [("a", 0.5), ("b", 0.5), ("c", 0.5)],
        [("a", 1.00000000002), ("b", 1.00000000001), ("c", 1.0)],
        [("a", 3e300), ("b", 2e300), ("c", 1.0)],
    ],
    ids=["none", "one missing", "contradicting", "tied against the ids", "tied in 32 bits", "beyond 32 bits"],
)
def test_an_order_that_scores_do_not_give_is_kept_by_descending_numbers(
    tmp_path: Path, found: list[tuple[str, float | None]]
) -> None:
    run = run_of(("q1", found), ("q2", [("b", 1.0)]))
    sentences = save_run(run, tmp_path / "run.trec")
    assert sentences == ["answers whose scores are missing or contradict their order, written with descending numbers: 1"]
    first, second, third = (name for name, _ in found)
    expected = [f"q1 Q0 {first} 1 3.0 mine", f"q1 Q0 {second} 2 2.0 mine", f"q1 Q0 {third} 3 1.0 mine", "q2 Q0 b 1 1.0 mine"]
    assert lines_of(tmp_path / "run.trec") == expected


def test_ties_that_every_reader_breaks_in_our_order_keep_their_scores(tmp_path: Path) -> None:
    assert save_run(run_of(("q1", [("b", 0.5), ("a", 0.5)])), tmp_path / "run.trec") == []
    assert lines_of(tmp_path / "run.trec") == ["q1 Q0 b 1 0.5 mine", "q1 Q0 a 2 0.5 mine"]


SCORES = st.one_of(st.none(), st.floats(-1e300, 1e300), st.sampled_from([0.0, 0.5, 0.5000000001, 1.0]))
ANSWERS = st.lists(st.tuples(st.sampled_from("abcde"), SCORES), min_size=1, max_size=5, unique_by=lambda hit: hit[0])


@given(first=ANSWERS, second=ANSWERS)
def test_values_survive_the_file_for_us_and_for_trec_eval(tmp_path_factory, first, second) -> None:
    path = tmp_path_factory.mktemp("trec") / "run.trec"
    run = run_of(("q1", first), ("q2", second))
    save_run(run, path)
    assert values_of(load_run(path)) == values_of(run)
    with path.open() as file:
        theirs = RelevanceEvaluator(GRADES, {"map", "recip_rank", "ndcg", "P"}).evaluate(parse_run(file))
    for case, values in zip(GRADES, values_of(run), strict=True):
        assert [theirs[case][name] for name in THEIRS] == pytest.approx(values)


@pytest.mark.parametrize("odd", ["a b", "a\tb", "", "a\nb"])
def test_an_id_with_blanks_is_refused_in_one_sentence_and_nothing_is_written(tmp_path: Path, odd: str) -> None:
    with pytest.raises(UsageError, match=r"cannot hold the id .*, since blanks separate its columns; save the run as \.jsonl"):
        save_run(run_of(("q1", [(odd, 1.0)])), tmp_path / "run.trec")
    assert list(tmp_path.iterdir()) == []


def test_a_case_that_would_be_a_comment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="since # starts a comment"):
        save_run(run_of(("#1", [("a", 1.0)])), tmp_path / "run.trec")


def test_a_tag_has_no_blanks(tmp_path: Path) -> None:
    save_run(run_of(("q1", [("a", 1.0)]), agent="my own agent"), tmp_path / "run.trec")
    assert lines_of(tmp_path / "run.trec") == ["q1 Q0 a 1 1.0 my-own-agent"]


def test_what_has_no_column_is_said(tmp_path: Path) -> None:
    answers = [
        Answer("q1", "ok", (Hit("a", 1, 1.0, lines=(1, 2)), Hit("a", 2, 0.5, lines=(3, 4))), AnswerDetails(cold_ms=(1.0,))),
        Answer("q2", "timeout"),
        Answer("q3", "not_run"),
        Answer("q4", "empty"),
    ]
    assert save_run(Run.from_answers("mine", answers), tmp_path / "run.trec") == [
        "repeated ids in an answer, of which the first is kept: 1",
        "answers that failed, read as empty: 1",
        "cases that were not run, read as empty: 1",
        "lines of hits: 2",
        "times and details of answers: 4",
    ]
    assert lines_of(tmp_path / "run.trec") == ["q1 Q0 a 1 1.0 mine"]


def test_several_runs_do_not_fit_into_one_file(tmp_path: Path) -> None:
    run = run_of(("q1", [("a", 1.0)]))
    with pytest.raises(UsageError, match=r"run\.trec is a file for one run, and there are 2; name a folder"):
        save_runs([run, run], tmp_path / "run.trec")


def test_a_folder_gets_runs_in_our_own_format(tmp_path: Path) -> None:
    run = run_of(("q1", [("a", None)]))
    assert save_runs([run], tmp_path / "runs") == [tmp_path / "runs" / "mine.jsonl"]
    assert load_run(tmp_path / "runs" / "mine.jsonl") == run
