"""Matching in columns is held to matching by hand, on arbitrary suites and runs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Answer, Case, Hit, Judgment, Run, Suite, match_hits, score
from searchmark.records.columns import texts_at
from searchmark.scoring.match import target_ranks
from searchmark.scoring.matches import NOT_MET, Spelling
from tests.scoring.by_hand import credit_in, distinct_places, first_fitting, found_in

# Two spellings of everything, directories of one another, and texts that only look alike.
NAMES = [
    "a/b/x.py",
    "a/b/y.py",
    "a/bc/x.py",
    "a/z.py",
    "b/x.py",
    "c.py",
    "a",
    "a/b",
    "b",
    "caf\u00e9/x",
    "caf\u00e9",
    "/",
    "//a",
    "\u212a",
]
SPELLINGS = [
    *NAMES,
    *(f"./{name}" for name in NAMES),
    *(f"{name}/" for name in NAMES),
    "././a/z.py",
    "a/b//",
    "cafe\u0301/x",
    "cafe\u0301",
    "K",
    "a\n./b",
]


@st.composite
def judged_cases(draw: st.DrawFn) -> tuple[Judgment, ...]:
    """Judgments by id, by path or both, no name judged twice; ids in one spelling, paths in any."""
    kinds = draw(st.sampled_from([["id"], ["path"], ["path"], ["id", "path"]]))
    names = draw(st.lists(st.sampled_from(NAMES), max_size=6, unique=True))
    return tuple(
        Judgment(draw(_spelt(name)) if kind == "path" else name, kind, draw(st.integers(-1, 3)))
        for name, kind in ((name, draw(st.sampled_from(kinds))) for name in names)
    )


def _spelt(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from([name, f"./{name}", name if name.startswith("/") else f"{name}/"])


suites = st.lists(judged_cases(), min_size=1, max_size=5).map(
    lambda rows: Suite.from_cases("s", [Case(f"c{n}", judgments=judgments) for n, judgments in enumerate(rows)])
)
answer_lists = st.lists(st.lists(st.sampled_from(SPELLINGS), min_size=1, max_size=10), min_size=1, max_size=6)


def runs_of(answers: list[list[str]], order: list[int]) -> list[Run]:
    """The same run as a list, as an Arrow column, with its cases in another order, and with its rows in another order."""
    rows = [
        Answer(f"c{case}", "ok", tuple(Hit(hit, rank, -float(rank)) for rank, hit in enumerate(hits, 1)))
        for case, hits in enumerate(answers)
    ]
    listed = Run.from_answers("agent", rows)
    columnar = Run(**{**vars(listed), "ids": pl.Series(listed.ids, dtype=pl.String)})
    return [listed, columnar, Run.from_answers("agent", [rows[n] for n in order]), backwards(listed)]


def backwards(run: Run) -> Run:
    """Every answer with its last hit in the first row; the ranks say what comes first."""
    rows = np.concatenate([run.rows_of(row)[::-1] for row in range(len(run))])
    rank = np.concatenate([np.arange(len(run.rows_of(row)), 0, -1) for row in range(len(run))]).astype(np.int32)
    return Run(**{**vars(run), "ids": [run.ids[row] for row in rows], "scores": run.scores[rows], "rank": rank})


@given(suites, answer_lists, st.randoms(use_true_random=False))
def test_matches_are_those_that_one_finds_by_hand(suite: Suite, answers: list[list[str]], random) -> None:
    order = random.sample(range(len(answers)), len(answers))
    for run in runs_of(answers, order):
        matches = match_hits(suite, run).matches
        expected = [
            (number, found.rank, ids[found.place], int(suite.judgments.starts[number]) + found.judgment)
            for number, (case, ids) in enumerate(zip(suite.cases, answers, strict=False))
            for found in found_in(case, ids)
        ]
        columns = (matches.case.tolist(), matches.rank.tolist(), texts_at(run.ids, matches.row), matches.judgment.tolist())
        assert list(zip(*columns, strict=True)) == expected
        distinct = [len(distinct_places(case, ids)) for case, ids in zip(suite.cases, answers, strict=False)]
        assert matches.returned.tolist() == distinct + [0] * (len(suite) - len(distinct))
        assert matches.duplicates == sum(len(ids) for _, ids in zip(suite.cases, answers, strict=False)) - sum(distinct)


@given(suites, answer_lists, st.sampled_from([None, 1, 2, 3, 10]), st.integers(1, 3))
def test_directory_credit_is_what_one_counts_by_hand(suite: Suite, answers: list[list[str]], k: int | None, rel: int) -> None:
    (run, *_) = runs_of(answers, list(range(len(answers))))
    judged = match_hits(suite, run)
    name = f"P(rel={rel},credit=dir)" + (f"@{k}" if k else "")
    values = score(judged, [name]).values[:, 0]
    for case, ids, value, has_paths in zip(suite.cases, answers, values, judged.has_paths, strict=False):
        size = k or len(distinct_places(case, ids))
        assert value == credit_in(case, ids, k, rel) / size if has_paths else np.isnan(value)


@given(suites, answer_lists)
def test_a_target_has_the_rank_of_the_hit_that_met_it(suite: Suite, answers: list[list[str]]) -> None:
    (run, *_) = runs_of(answers, list(range(len(answers))))
    judged = match_hits(suite, run)
    for number, (case, ids) in enumerate(zip(suite.cases, answers, strict=False)):
        expected = {j.target: None for j in case.judgments if j.grade >= 1}
        expected |= {
            case.judgments[f.judgment].target: f.rank for f in found_in(case, ids) if case.judgments[f.judgment].grade >= 1
        }
        assert target_ranks(judged, number) == expected


patterns = st.sampled_from(["*.py", "a/**", "**/x.py", "*"]).map(lambda target: Judgment(target, "glob"))
symbols = st.sampled_from(["py", "x", "b/x.py"]).map(lambda target: Judgment(target, "symbol", 2))


@given(st.lists(patterns | symbols, min_size=1, max_size=4, unique_by=lambda j: j.target), judged_cases(), answer_lists)
def test_a_glob_or_a_symbol_has_the_rank_of_the_first_hit_that_fits(
    described: list[Judgment], named: tuple[Judgment, ...], answers: list[list[str]]
) -> None:
    case = Case("c0", judgments=(*described, *(j for j in named if j.target not in {d.target for d in described})))
    judged = match_hits(Suite.from_cases("s", [case]), runs_of(answers, list(range(len(answers))))[0])
    assert target_ranks(judged, 0) == first_fitting(case, answers[0])


@given(suites, answer_lists)
def test_met_is_the_other_side_of_the_judgments_of_the_hits(suite: Suite, answers: list[list[str]]) -> None:
    matches = match_hits(suite, runs_of(answers, list(range(len(answers))))[0]).matches
    met = np.flatnonzero(matches.met != NOT_MET)
    assert sorted(matches.judgment.tolist()) == met.tolist()
    assert matches.judgment[matches.met[met]].tolist() == met.tolist()


@given(suites, answer_lists)
def test_matches_do_not_depend_on_how_many_are_found_at_once(suite: Suite, answers: list[list[str]]) -> None:
    for run in runs_of(answers, list(range(len(answers)))[::-1]):
        whole = match_hits(suite, run).matches
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("searchmark.scoring.match_ids.BATCH", 3)
            patch.setattr("searchmark.scoring.matches._LISTED_AT_ONCE", 2)
            patch.setattr("searchmark.scoring.matches._ARROW_AT_ONCE", 2)
            parts = match_hits(suite, run).matches
        for column in ("case", "rank", "row", "judgment", "grade", "met", "returned"):
            np.testing.assert_array_equal(getattr(whole, column), getattr(parts, column))


@pytest.mark.parametrize("arrow", [False, True])
@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        ("a/b.py", Spelling(composed=True, normal=True, lines=False)),
        (".hidden", Spelling(composed=True, normal=True, lines=False)),
        ("./a", Spelling(composed=True, normal=False, lines=False)),
        ("a/", Spelling(composed=True, normal=False, lines=False)),
        ("a//b", Spelling(composed=True, normal=False, lines=False)),
        ("a/./b", Spelling(composed=True, normal=False, lines=False)),
        ("a/../b", Spelling(composed=True, normal=False, lines=False)),
        ("a/.", Spelling(composed=True, normal=False, lines=False)),
        ("a/..", Spelling(composed=True, normal=False, lines=False)),
        ("/a/.b/..c/...", Spelling(composed=True, normal=True, lines=False)),
        ("../a", Spelling(composed=True, normal=True, lines=False)),
        ("caf\u00e9", Spelling(composed=True, normal=True, lines=False)),
        ("cafe\u0301", Spelling(composed=False, normal=False, lines=False)),
        ("a#b", Spelling(composed=True, normal=True, lines=False)),
        ("a#L1", Spelling(composed=True, normal=True, lines=True)),
    ],
)
def test_one_odd_spelling_is_noticed_among_clean_ones(arrow: bool, odd: str, expected: Spelling, monkeypatch) -> None:
    monkeypatch.setattr("searchmark.scoring.matches._LISTED_AT_ONCE", 2)
    monkeypatch.setattr("searchmark.scoring.matches._ARROW_AT_ONCE", 2)
    for place in range(5):
        texts = [*["x"] * place, odd, *["x"] * (4 - place)]
        assert Spelling.of(pl.Series(texts) if arrow else texts, paths=True) == expected


def test_a_hit_that_does_not_exist_keeps_its_match_and_is_worth_nothing() -> None:
    suite = Suite.from_cases("s", [Case("c", judgments=(Judgment("gone.py", "path"), Judgment("b.py", "path")))])
    run = Run.from_answers("agent", [Answer("c", "ok", (Hit("gone.py", 1), Hit("b.py", 2)))])
    judged = match_hits(suite, run, corpus=["b.py"])
    assert judged.matches.valid.tolist() == [False, True]
    assert target_ranks(judged, 0) == {"gone.py": 1, "b.py": 2}
    assert score(judged, ["R"]).mean("R") == pytest.approx(0.5)
