"""Answers find their cases by the text of a query, or by their order; runs are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from searchmark import Incomparable, Run, load_run, load_suite, match_hits, score
from searchmark.formats.runs import parse_run_path
from searchmark.records.merge import with_suite_case_ids
from tests.formats.reading import FORMATS, answers_of, notes_of


class TestJoins:
    SUITE = {
        "schema_version": 1,
        "name": "s",
        "cases": [
            {"id": "a", "query": "Café ", "judgments": [{"target": "x", "grade": 1}]},
            {"id": "b", "query": "same", "judgments": [{"target": "x", "grade": 1}]},
            {"id": "c", "query": "same", "judgments": [{"target": "y", "grade": 1}]},
        ],
    }

    @pytest.fixture
    def suite(self, file) -> Any:
        return load_suite(file("suite.json", json.dumps(self.SUITE)))

    def joined(self, suite: Any, answers: dict[str, list[str]]) -> Run:
        return with_suite_case_ids(suite, Run.from_scores({case: dict.fromkeys(hits, 1.0) for case, hits in answers.items()}))

    def test_texts_are_compared_in_composed_form_without_blanks_around_them(self, suite) -> None:
        run = self.joined(suite, {"Cafe\u0301": ["x"]})
        assert answers_of(run) == {"a": ["x"]}
        assert notes_of(run) == ("answers joined with cases by the text of their query, since their ids differ: 1 of 1",)

    def test_capitals_matter(self, suite) -> None:
        assert answers_of(self.joined(suite, {"café": ["x"]})) == {"café": ["x"]}

    def test_cases_that_ask_the_same_get_the_same_answer(self, suite) -> None:
        run = self.joined(suite, {"other": ["z"], "same": ["y", "x"]})
        assert answers_of(run) == {"other": ["z"], "b": ["y", "x"], "c": ["y", "x"]}
        assert notes_of(run)[0].endswith("1 of 2; 1 of them to several cases that ask the same")
        assert score(match_hits(suite, run), ["RR"]).means()["RR"] == pytest.approx((0 + 0.5 + 1) / 3)

    def test_ids_come_first_and_two_answers_to_a_case_are_refused(self, suite) -> None:
        assert notes_of(self.joined(suite, {"a": ["x"], "b": ["x"]})) == ()
        with pytest.raises(Incomparable, match="several answers to the case 'a'"):
            self.joined(suite, {"a": ["x"], "Café": ["y"]})

    def numbered(self, file, rows: list[tuple[str, str, str]]) -> Run:
        return load_run(file("run.csv", "query_id,query,docid\n" + "".join(",".join(row) + "\n" for row in rows)))

    def test_ids_of_a_different_numbering_are_not_those_of_the_suite(self, suite, file) -> None:
        run = self.numbered(file, [("a", "same", "y"), ("b", "Café", "x"), ("c", "other", "x")])
        joined = with_suite_case_ids(suite, run)
        assert answers_of(joined) == {"b": ["y"], "c": ["y"], "a": ["x"], "c: other": ["x"]}
        assert notes_of(joined)[0].endswith("since their ids differ: 2 of 3; 1 of them to several cases that ask the same")
        assert with_suite_case_ids(suite, joined) == joined

    def test_a_query_that_was_written_differently_is_said(self, suite, file) -> None:
        joined = with_suite_case_ids(suite, self.numbered(file, [("a", "cafe", "x"), ("b", "same", "y"), ("c", "same", "x")]))
        assert answers_of(joined) == {"a": ["x"], "b": ["y"], "c": ["x"]}
        said = "answers whose query differs from that of the case with their id: 1 of 3; 'a' has 'cafe', and the suite 'Café'"
        assert notes_of(joined) == (said,)
        assert with_suite_case_ids(suite, joined) == joined

    def test_judging_joins_too(self, suite) -> None:
        judged = match_hits(suite, Run.from_scores({"Café": {"x": 1.0}}))
        assert judged.run.case_ids == ("a",)
        assert judged.dropped["cases_not_in_suite"] == 0

    def test_answers_without_queries_need_as_many_cases(self, suite) -> None:
        run = load_run(FORMATS / "run-msearch.json")
        assert notes_of(with_suite_case_ids(suite, run)) == ("answers taken in the order of the suite's cases: 3",)
        with pytest.raises(Incomparable, match="has 3 answers without what was asked, and the suite 's' has 2 cases"):
            with_suite_case_ids(suite.only({"a", "b"}), run)


class TestNames:
    def test_a_name_before_the_path(self, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert parse_run_path("bm25=results.csv") == ("bm25", Path("results.csv"))
        assert parse_run_path("results.csv") == (None, Path("results.csv"))
        assert parse_run_path("x/a=b.trec") == (None, Path("x/a=b.trec"))
        (tmp_path / "a=b.trec").touch()
        assert parse_run_path("a=b.trec") == (None, Path("a=b.trec"))

    def test_home_is_expanded_behind_a_name(self) -> None:
        assert parse_run_path("x=~/run.trec") == ("x", Path.home() / "run.trec")

    def test_a_single_run_gets_the_name(self) -> None:
        assert load_run(FORMATS / "run-ranx.json", name="bm25").agent == "bm25"
