"""DataFrames of pandas and polars and Arrow tables as suites, runs and corpora, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from searchmark import Answer, Case, Corpus, Hit, Judgment, Run, Suite, UsageError, match_hits, score

SUITE = Suite.from_cases(
    "suite",
    [
        Case(
            "1", "tea", (Judgment("a", grade=2, rank=1), Judgment.of_gain("b", 0.5)), "shop", ("x", "y"), "o", fields={"lang": "de"}
        ),
        Case("2", "nothing", unanswerable=True),
    ],
)
RUN = Run.from_answers("bm25", [Answer("1", "ok", (Hit("b", 1, 0.2, lines=(1, 3)), Hit("a", 2, 0.9))), Answer("2", "error")])
KINDS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


@pytest.mark.parametrize("frame", [SUITE.frame(), SUITE.frame().to_pandas(), SUITE.frame().to_arrow(), SUITE.frame().lazy(), SUITE])
def test_a_suite_comes_back_from_its_frame(frame: Any) -> None:
    again = Suite.from_frame(frame)
    assert again == SUITE
    assert again.hashes == SUITE.hashes


@pytest.mark.parametrize("frame", [RUN.frame(), RUN.frame().to_pandas(), RUN.frame().to_arrow(), RUN])
def test_a_run_comes_back_from_its_frame(frame: Any) -> None:
    assert Run.from_frame(frame) == RUN


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_found_by_the_names_that_people_use(kind: str) -> None:
    suite = Suite.from_frame(
        KINDS[kind]({"query-id": [1, 1, 2], "Question": ["a", "a", "b"], "corpus-id": [7, 8, 9], "score": [2, 0, 1]})
    )
    run = Run.from_frame(KINDS[kind]({"qid": [1, 1, 2], "docno": [8, 7, 9], "score": [0.1, 0.9, 0.5]}), "mine")
    assert score(match_hits(suite, run), ["RR"]).values.tolist() == [[1.0], [1.0]]
    assert [case.query for case in suite.cases] == ["a", "b"]
    assert run.agent == "mine"


def test_without_ids_a_query_is_its_own_in_suites_and_runs() -> None:
    suite = Suite.from_frame(pd.DataFrame({"query": ["a", "b"], "docid": ["x", "y"]}))
    run = Run.from_frame(pd.DataFrame({"query": ["a", "b"], "docid": ["x", "z"], "rank": [1, 1]}))
    assert score(match_hits(suite, run), ["RR"]).values.tolist() == [[1.0], [0.0]]


def test_the_rank_decides_on_the_order_then_the_score_then_the_rows() -> None:
    rows = {"case": ["1", "1"], "id": ["a", "b"]}
    assert Run.from_frame(pd.DataFrame({**rows, "rank": [1, 0], "score": [9.0, 1.0]})).ids == ["b", "a"]
    assert Run.from_frame(pd.DataFrame({**rows, "score": [1.0, 1.0]})).ids == ["b", "a"]  # ties as trec_eval breaks them
    assert Run.from_frame(pd.DataFrame(rows)).ids == ["a", "b"]


def test_other_columns_that_say_one_thing_of_a_case_are_its_fields() -> None:
    frame = pd.DataFrame({"query": ["a", "a"], "docid": ["x", "y"], "language": ["de", "de"], "note": ["one", "two"]})
    assert Suite.from_frame(frame).cases[0].fields == {"language": "de"}


def test_a_mapping_names_other_columns() -> None:
    frame = pd.DataFrame({"frage": ["a"], "sku": ["x"], "stars": [3]})
    suite = Suite.from_frame(frame, "shop", {"query": "frage", "target": "sku", "grade": "stars"})
    assert suite.cases[0].judgments == (Judgment("x", grade=3),)
    with pytest.raises(UsageError, match="no column 'skuu' for the target; did you mean 'sku'"):
        Suite.from_frame(frame, mapping={"target": "skuu"})
    with pytest.raises(
        UsageError, match=r"no column for the case .looked for case_id, .*columns are frage, sku, stars: name yours"
    ):
        Suite.from_frame(frame)
    with pytest.raises(UsageError, match="no 'targets' here; it has query, target, grade, case"):
        Suite.from_frame(frame, mapping={"targets": "sku"})


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_missing_is_refused_with_its_row(kind: str) -> None:
    made = KINDS[kind]
    with pytest.raises(UsageError, match=r"row 1 of the frame has no target .column 'docid'"):
        Suite.from_frame(made({"query": ["a", "b"], "docid": ["x", None]}))
    with pytest.raises(UsageError, match=r"row 1 of the frame has no grade"):
        Suite.from_frame(made({"query": ["a", "b"], "docid": ["x", "y"], "grade": [1, None]}))
    with pytest.raises(UsageError, match=r"row 1 of the frame has no case"):
        Run.from_frame(made({"qid": ["a", None], "docid": ["x", "y"]}))
    with pytest.raises(UsageError, match=r"row 1 of the frame: the score is (nan|None)"):
        Run.from_frame(made({"qid": ["a", "b"], "docid": ["x", "y"], "score": [1.0, None]}))
    with pytest.raises(UsageError, match=r"row 1 of the frame has no id"):
        Corpus.from_frame(made({"id": ["a", None], "text": ["x", "y"]}))


def test_numbers_that_pandas_made_fractions_for_a_gap_are_refused() -> None:
    with pytest.raises(UsageError, match=r"row 0 of the frame: the target .column 'docid'. is 1\.0 .float."):
        Suite.from_frame(pd.DataFrame({"query": ["a", "b"], "docid": [1, None]}))


def test_contradictions_are_refused_with_both_rows() -> None:
    with pytest.raises(UsageError, match="row 1 of the frame: the case '1' has the target 'x' in row 0 already"):
        Suite.from_frame(pd.DataFrame({"case": [1, 1], "target": ["x", "x"]}))
    with pytest.raises(UsageError, match="row 1 of the frame: the case '1' has another query in row 0"):
        Suite.from_frame(pd.DataFrame({"case": [1, 1], "query": ["a", "b"], "target": ["x", "y"]}))
    with pytest.raises(UsageError, match=r"several runs .run: 'a', 'b'."):
        Run.from_frame(pd.DataFrame({"case": [1, 1], "id": ["x", "y"], "run": ["a", "b"]}))
    with pytest.raises(UsageError, match="its rank 1 is there twice"):
        Run.from_frame(pd.DataFrame({"case": [1, 1], "id": ["x", "y"], "rank": [1, 1]}))


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_of_documents_is_a_corpus(kind: str) -> None:
    corpus = Corpus.from_frame(KINDS[kind]({"asin": [1, 2], "title": ["Tea", None], "about": ["green", "black"], "price": [3.5, None]}),
                               mapping={"id": "asin", "text": "about"})  # fmt: skip
    first, second = corpus
    assert (first.id, first.title, first.text, first.fields) == ("1", "Tea", "green", {"price": 3.5})
    assert (second.id, second.title, second.text, second.fields) == ("2", None, "black", {})
    with pytest.raises(UsageError, match="no column 'sku'; its columns are"):
        Corpus.from_frame(pd.DataFrame({"id": [1]}), mapping={"id": "sku"})


def test_what_is_not_a_table_is_refused() -> None:
    for made in (Suite.from_frame, Run.from_frame, Corpus.from_frame):
        with pytest.raises(UsageError, match="list is not a table; give a DataFrame of pandas or polars, or an Arrow table"):
            made([1, 2])


def test_frames_know_the_names_that_files_have() -> None:
    suite = Suite.from_frame(pd.DataFrame({"Question ID": [1], "search_query": ["tea"], "relevant_ids": [7], "judgement": [2]}))
    assert list(suite.cases) == [Case("1", "tea", (Judgment("7", grade=2),))]
    run = Run.from_frame(pd.DataFrame({"queryNumber": [1, 1], "passage_id": [8, 7], "pos": [2, 1], "system": ["a", "a"]}))
    assert (run.agent, run.ids) == ("a", ["7", "8"])
    shown = Run.from_frame(pd.DataFrame({"id": ["x"], "text": ["tea"], "topic": [3], "status": ["ok"]}))
    assert (shown.case_ids, shown.ids) == (("3",), ["x"])


def test_a_frame_is_read_in_any_order_of_its_rows_and_odd_cells_are_refused() -> None:
    rows = RUN.frame().sample(fraction=1.0, shuffle=True, seed=3)
    assert {answer.case: answer for answer in Run.from_frame(rows).answers} == {answer.case: answer for answer in RUN.answers}
    assert len(Run.from_frame(pd.DataFrame({"case": [], "id": []}))) == 0
    base = {"case": [1, 1], "id": ["x", "y"]}
    for name, values, message in (
        ("rank", [1, 10**400], "row 1 of the frame: the rank is 1000"),
        ("score", [float("inf"), 1.0], "row 0 of the frame: the score is inf"),
        ("score", ["high", 1.0], "row 0 of the frame: the score is 'high'"),
        ("status", ["ok", "done"], "row 1 of the frame: status is one of ok"),
        ("status", ["ok", "error"], "row 0 of the frame: status is one of ok"),
    ):
        with pytest.raises(UsageError, match=message):
            Run.from_frame(pd.DataFrame({**base, name: pd.Series(values, dtype=object)}))
