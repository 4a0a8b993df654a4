"""A run is raw: judged again, from a file or in another process, it gives what it gave when it was made."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import (
    Answer,
    Case,
    Hit,
    Judgment,
    RetrievalAgent,
    RetrievalResult,
    Run,
    Scores,
    Suite,
    build_report,
    load_run,
    match_hits,
    run_suite,
    save_run,
    score,
)
from searchmark.records.judgments import Match

MEASURES = [
    "P",
    "P@2",
    "R",
    "RR",
    "AP",
    "nDCG",
    "nDCG@3",
    "Bpref",
    "Judged",
    "DCG",
    "F1(credit=dir)",
    "P(credit=dir)@2",
    "Tau",
    "InRange",
]

PATHS = ["a.py", "src/b.py", "src/deep/c.py", "TStock.Update", "caf\u00e9.md"]
TARGETS: dict[Match, list[str]] = {
    "id": PATHS,
    "path": [*PATHS, "./src/d.py"],
    "glob": ["*.py", "src/**", "*Stock*"],
    "symbol": ["Update", "TStock.Update"],
    "lines": ["a.py#L1-L5", "a.py#L4-L9", "src/b.py#L7", "src/deep/c.py"],
}
HITS = [*PATHS, "./a.py", "src", "src/", "src/deep", "cafe\u0301.md", "nowhere.py"]
ranges = st.none() | st.tuples(st.integers(1, 9), st.integers(0, 5)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@st.composite
def judged_cases(draw: st.DrawFn, matches: tuple[Match, ...]) -> Suite:
    cases = []
    for number in range(draw(st.integers(1, 3))):
        match = draw(st.sampled_from(matches))
        targets = draw(st.lists(st.sampled_from(TARGETS[match]), max_size=4, unique=True))
        grades, expected = st.integers(-1, 3), st.none() | st.integers(1, 4)
        judgments = tuple(Judgment(target, match, draw(grades), draw(expected), (0.0, 0.5)) for target in targets)
        cases.append(Case(f"c{number}", judgments=judgments))
    return Suite.from_cases("s", cases)


@st.composite
def lined_runs(draw: st.DrawFn) -> Run:
    valid = draw(st.booleans())
    answers = []
    for number in range(draw(st.integers(1, 4))):
        rows = draw(st.lists(st.tuples(st.sampled_from(HITS), ranges, st.none() | st.sampled_from([0.25, 0.75])), max_size=6))
        hits = tuple(
            Hit(hit, rank, value, hit != "nowhere.py" if valid else None, lines) for rank, (hit, lines, value) in enumerate(rows, 1)
        )
        answers.append(Answer(f"c{number}", "ok" if hits else "empty", hits))
    return Run.from_answers("agent", answers)


def spelt(run: Run) -> Run:
    """The same run as others write it: lines behind the ids."""
    answers = [
        Answer(
            answer.case,
            answer.status,
            tuple(Hit(_spelt(hit), hit.rank, hit.score, hit.valid) for hit in answer.hits),
        )
        for answer in run.answers
    ]
    return Run.from_answers("agent", answers)


def _spelt(hit: Hit) -> str:
    return hit.id if hit.lines is None else f"{hit.id}#L{hit.lines[0]}-L{hit.lines[1]}"


def assert_alike(first: Scores, second: Scores) -> None:
    np.testing.assert_array_equal(first.values, second.values)
    assert first.matched.dropped == second.matched.dropped
    for column in ("case", "rank", "row", "judgment", "grade", "valid", "met", "returned"):
        np.testing.assert_array_equal(getattr(first.matched.matches, column), getattr(second.matched.matches, column))


kinds: list[tuple[Match, ...]] = [("id",), ("path",), ("glob", "symbol"), ("lines",), ("id", "path", "glob", "symbol", "lines")]
suites_and_runs = st.tuples(st.sampled_from(kinds).flatmap(judged_cases), lined_runs())


@given(suites_and_runs, st.sampled_from([None, PATHS]))
def test_a_saved_run_is_judged_like_the_live_one(
    tmp_path_factory: pytest.TempPathFactory, both: tuple[Suite, Run], corpus: list[str] | None
) -> None:
    suite, run = both
    path = tmp_path_factory.getbasetemp() / "run.jsonl"
    save_run(run, path)
    assert_alike(score(match_hits(suite, run, corpus), MEASURES), score(match_hits(suite, load_run(path), corpus), MEASURES))


@given(suites_and_runs, st.sampled_from([None, PATHS]))
def test_lines_in_columns_and_behind_ids_are_judged_alike(both: tuple[Suite, Run], corpus: list[str] | None) -> None:
    suite, run = both
    assert_alike(score(match_hits(suite, run, corpus), MEASURES), score(match_hits(suite, spelt(run), corpus), MEASURES))


class Lined(RetrievalAgent):
    """Finds two parts of one file, then a whole one."""

    def initialize(self, corpus: Any) -> None: ...

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(["a.py", "a.py", "b.py"][:k], lines=[(1, 3), (9, 12), None][:k])


def suite_of(*judgments: Judgment) -> Suite:
    return Suite.from_cases("s", [Case("c", "where is it", judgments)])


BY_PATH = suite_of(Judgment("a.py", "path"), Judgment("b.py", "path"))
BY_LINES = suite_of(Judgment("a.py#L9-L10", "lines"))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name in ("a.py", "b.py"):
        (folder / name).write_text("text\n" * 12)
    return folder


def test_a_run_saved_for_judgments_by_path_is_judged_by_lines_as_if_it_were_made_for_them(corpus: Path, tmp_path: Path) -> None:
    save_run(run_suite(BY_PATH, Lined(), corpus), tmp_path / "run.jsonl")
    live = score(match_hits(BY_LINES, run_suite(BY_LINES, Lined(), corpus)), MEASURES)
    assert live.mean("RR") == 0.5
    assert_alike(score(match_hits(BY_LINES, load_run(tmp_path / "run.jsonl")), MEASURES), live)


def test_ranges_of_one_file_are_one_hit_where_files_are_judged_and_several_where_lines_are(corpus: Path) -> None:
    run = run_suite(BY_PATH, Lined(), corpus)
    by_path, by_lines = match_hits(BY_PATH, run), match_hits(BY_LINES, run)
    assert (by_path.matches.rank.tolist(), by_path.dropped["duplicate"]) == ([1, 2], 1)
    assert (by_lines.matches.rank.tolist(), by_lines.dropped["duplicate"]) == ([2], 0)


def test_a_hit_exists_where_its_file_does_whatever_its_lines() -> None:
    run = Run.from_answers("agent", [Answer("c", "ok", (Hit("a.py", 1, lines=(1, 3)), Hit("a.py#L9", 2), Hit("gone.py#L1", 3)))])
    judged = match_hits(BY_LINES, run, corpus=["a.py"])
    assert judged.dropped["invalid"] == 1
    assert score(judged, ["RR"]).mean("RR") == 0.5


def test_an_id_that_is_judged_with_its_lines_is_an_id_like_any_other() -> None:
    suite = suite_of(Judgment("post#L5"), Judgment("post#L7"))
    run = Run.from_answers(
        "agent", [Answer("c", "ok", tuple(Hit(f"post#L{line}", rank) for rank, line in enumerate((4, 5, 7), 1)))]
    )
    assert score(match_hits(suite, run), ["P", "R"]).values[0].tolist() == [2 / 3, 1.0]


def test_lines_that_are_not_counted_from_one_are_a_part_of_the_id() -> None:
    run = Run.from_answers("agent", [Answer("c", "ok", (Hit("post#L0", 1), Hit("post", 2)))])
    assert score(match_hits(suite_of(Judgment("post")), run), ["RR"]).mean("RR") == 0.5


def test_a_judgment_of_a_whole_file_beside_one_of_lines_is_met_by_the_first_hit_that_has_nothing_better_to_pay() -> None:
    suite = suite_of(Judgment("a.py", "path"), Judgment("a.py#L9-L10", "lines"))
    hits = (Hit("a.py", 1, lines=(9, 9)), Hit("a.py", 2, lines=(1, 2)), Hit("a.py", 3, lines=(3, 4)))
    judged = match_hits(suite, Run.from_answers("agent", [Answer("c", "ok", hits)]))
    assert (judged.matches.rank.tolist(), judged.matches.judgment.tolist()) == ([1, 2], [1, 0])


@pytest.mark.parametrize("arrow", [False, True])
def test_every_record_of_the_pipeline_can_be_pickled_and_computes_the_same_afterwards(arrow: bool) -> None:
    suite = suite_of(Judgment("src/a.py", "path", 2), Judgment("src/b.py", "path", rank=1), Judgment("x", score_range=(0.0, 1.0)))
    run = Run.from_answers("agent", [Answer("c", "ok", (Hit("src", 1, 0.5), Hit("src/b.py", 2, 0.4), Hit("x", 3, 0.3)))])
    if arrow:
        run = Run(**{**vars(run), "ids": pl.Series(run.ids, dtype=pl.String)})
    scores = score(match_hits(suite, run), MEASURES)
    report = build_report(scores)
    assert pickled(suite) == suite
    assert pickled(run) == run
    assert pickled(report) == report
    assert_alike(score(match_hits(pickled(suite), pickled(run)), MEASURES), scores)
    assert_alike(score(pickled(scores.matched), MEASURES), scores)
    assert_alike(pickled(scores), scores)
    assert build_report(pickled(scores)) == report


def pickled(record: Any) -> Any:
    return pickle.loads(pickle.dumps(record))  # noqa: S301  # what was pickled here
