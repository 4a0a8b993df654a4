"""Runs as the tools of the field write them: every example says the same answers, and what is odd is refused or said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark import FormatError, UsageError, load_run
from searchmark.formats.runs.json import REPEATED_ANSWERS
from tests.formats.reading import ANSWERS, FORMATS, SCORES, answers_of, notes_of, on_suite


class TestExamples:
    @pytest.mark.parametrize(
        ("name", "mapping"),
        [
            ("run-hits.csv", {}),
            ("run-scores.tsv", {}),
            ("run-hits.jsonl", {}),
            ("run-cases.jsonl", {"id": "sku"}),
            ("run-responses.json", {}),
            ("run-msearch.json", {}),
            ("run-folder", {}),
            ("run-rank-eval.json", {}),
            ("run-quepid.csv", {}),
            ("run-quepid.json", {}),
            ("run-mteb_predictions.json", {"split": "test"}),
            ("run-ranx.json", {}),
        ],
    )
    def test_all_say_the_same_answers(self, name: str, mapping: dict[str, str]) -> None:
        run = on_suite(load_run(FORMATS / name, mapping=mapping))
        assert answers_of(run) == ANSWERS
        assert run.longest == 2

    def test_each_format_can_be_named(self) -> None:
        named = {
            "csv": "run-hits.csv",
            "jsonl": "run-hits.jsonl",
            "elasticsearch": "run-responses.json",
            "quepid": "run-quepid.csv",
        }
        for format_name, file in named.items():
            assert answers_of(on_suite(load_run(FORMATS / file, format=format_name))) == ANSWERS

    def test_scores_are_kept(self) -> None:
        for name in ("run-hits.csv", "run-scores.tsv", "run-responses.json", "run-rank-eval.json", "run-ranx.json"):
            run = on_suite(load_run(FORMATS / name))
            assert {answer.case: {hit.id: hit.score for hit in answer.hits} for answer in run.answers} == SCORES


class TestResponses:
    def test_a_failed_search_is_an_error_and_not_an_empty_answer(self, file) -> None:
        failed = {"error": {"type": "parsing_exception", "reason": "unknown query [mtch]"}, "status": 400}
        good = {"took": 1, "hits": {"hits": [{"_id": "s1", "_score": 1.0}]}}
        run = on_suite(load_run(file("run.json", json.dumps({"responses": [good, failed, good]}))))
        assert [answer.status for answer in run.answers] == ["ok", "error", "ok"]
        assert run.details_of(1).failure == "parsing_exception: unknown query [mtch]"

    def test_rank_eval_tells_its_failures(self, file) -> None:
        content = {"metric_score": 1, "details": {}, "failures": {"coats": {"error": {"type": "x", "reason": "no such index"}}}}
        run = load_run(file("run.json", json.dumps(content)))
        assert [(answer.case, answer.status) for answer in run.answers] == [("coats", "error")]

    def test_what_was_cut_short_is_said(self, file) -> None:
        run = load_run(file("run.json", json.dumps({"q": {"timed_out": True, "hits": {"hits": [{"_id": "a"}]}}})))
        assert [note.rpartition(": ")[2] for note in notes_of(run)] == ["1"]
        assert "timed_out" in notes_of(run)[0]

    def test_a_field_of_the_document_can_be_the_id(self, file) -> None:
        hits = [{"_id": "77", "_score": None, "_source": {"sku": "s1"}}]
        run = load_run(file("run.json", json.dumps({"q": {"hits": {"hits": hits}}})), mapping={"id": "_source.sku"})
        assert answers_of(run) == {"q": ["s1"]}

    def test_lines_with_a_response_each(self, file) -> None:
        lines = [{"query": q, "response": {"took": 1, "hits": {"hits": [{"_id": "a"}]}}} for q in ("red", "blue")]
        lines.append({"query": "grey", "error": "timeout of the client"})
        run = load_run(file("run.jsonl", "\n".join(map(json.dumps, lines))))
        assert [(answer.case, answer.status) for answer in run.answers] == [("red", "ok"), ("blue", "ok"), ("grey", "error")]

    def test_a_single_response_is_told_from_a_run(self, file) -> None:
        with pytest.raises(FormatError, match="is the response to one search, and a run has one for every query"):
            load_run(file("run.json", json.dumps({"took": 1, "hits": {"hits": []}})))

    def test_ids_and_scores_in_two_lists(self, file) -> None:
        run = load_run(file("run.jsonl", '{"query": "q", "ids": ["b", "a"], "scores": [2, 1]}\n'))
        assert [(hit.id, hit.score) for hit in run.answer(0).hits] == [("b", 2.0), ("a", 1.0)]

    def test_ranks_in_a_list_decide(self, file) -> None:
        run = load_run(file("run.json", '{"q": [{"id": "b", "rank": 2}, {"id": "a", "rank": 1}]}'))
        assert answers_of(run) == {"q": ["a", "b"]}
        assert notes_of(run) == ("answers whose hits were not in the order of their ranks, sorted by rank: 1",)

    def test_files_of_a_folder_that_are_no_responses_are_counted(self, tmp_path: Path) -> None:
        (tmp_path / "q1.json").write_text('{"hits": {"hits": [{"_id": "a"}]}}')
        (tmp_path / "notes.txt").write_text("hello")
        run = load_run(tmp_path)
        assert (answers_of(run), notes_of(run)) == ({"q1": ["a"]}, ("files of the folder that are not .json, left out: 1",))

    def test_a_case_that_is_answered_twice_is_refused(self, file) -> None:
        with pytest.raises(FormatError, match="q: is answered twice, and differently"):
            load_run(file("run.jsonl", '{"query": "q", "hits": []}\n{"query": "q", "hits": ["a"]}\n'))

    def test_two_cases_that_ask_the_same_may_be_answered_twice_alike(self, file) -> None:
        run = load_run(file("run.jsonl", '{"query": "q", "hits": ["a"]}\n{"query": "q", "hits": ["a"]}\n'))
        assert (answers_of(run), notes_of(run)) == ({"q": ["a"]}, (f"{REPEATED_ANSWERS}: 1",))

    def test_the_first_search_may_have_failed(self, file) -> None:
        run = load_run(file("run.jsonl", '{"query": "q", "error": "down"}\n{"query": "p", "hits": ["a"]}\n'))
        assert [(each.case, each.status, each.details.failure) for each in run.answers] == [
            ("q", "error", "down"),
            ("p", "ok", None),
        ]
        run = load_run(file("run.jsonl", '{"query": "q", "error": "down"}\n{"query": "p", "x": ["a"]}\n'), mapping={"hits": "x"})
        assert [each.status for each in run.answers] == ["error", "ok"]

    def test_pages_in_a_list_are_refused(self, file) -> None:
        hits = [{"id": f"d{number}", "rank": number % 3} for number in range(6)]
        with pytest.raises(FormatError, match=r"q: has two rankings: 'd0' and 'd3' are both at rank 0"):
            load_run(file("run.json", json.dumps({"q": hits})))

    def test_shards_that_failed_are_counted(self, file) -> None:
        response = {"took": 1, "_shards": {"total": 5, "failed": 2}, "hits": {"hits": [{"_id": "a", "_score": None}]}}
        run = load_run(file("run.json", json.dumps({"q": response})))
        assert notes_of(run) == ("responses without the hits of shards that failed (_shards.failed), taken as they are: 1",)

    @pytest.mark.parametrize("kind", ["batches", "lines", "list", "one line"])
    def test_responses_that_say_nothing_of_their_query_are_taken_in_order(self, file, kind: str) -> None:
        one, two, three = ({"took": 1, "hits": {"hits": [{"_id": name}]}} for name in "abc")
        path = {
            "batches": lambda: file("run.jsonl", "\n".join(json.dumps({"responses": each}) for each in ([one, two], [three]))),
            "lines": lambda: file("run.jsonl", "\n".join(map(json.dumps, (one, two, three)))),
            "list": lambda: file("run.json", json.dumps([one, two, three])),
            "one line": lambda: file("run.ndjson", json.dumps({"took": 3, "responses": [one, two, three]})),
        }[kind]()
        assert answers_of(on_suite(load_run(path))) == {"shoes": ["a"], "coats": ["b"], "hats": ["c"]}

    def test_documents_of_solr(self, file) -> None:
        answer = {"responseHeader": {"status": 0}, "response": {"numFound": 1, "docs": [{"id": "s1", "score": 2.5}]}}
        assert answers_of(load_run(file("run.json", json.dumps({"red shoes": answer})))) == {"red shoes": ["s1"]}


class TestQuepidAndMteb:
    def test_columns_that_a_snapshot_has_must_be_there(self, file) -> None:
        with pytest.raises(
            FormatError, match="has no column 'Snapshot Name', 'Query Text', 'Doc ID', 'Doc Position'; it has 'query'"
        ):
            load_run(file("run.csv", "query,docid\nq,a\n"), format="quepid")
        with pytest.raises(FormatError, match="has no column 'sku'; it has 'Snapshot Name'"):
            load_run(FORMATS / "run-quepid.csv", mapping={"id": "sku"})

    def test_a_role_that_runs_do_not_have(self) -> None:
        with pytest.raises(UsageError, match=r"mapping: a run has no 'quer'; .* did you mean query"):
            load_run(FORMATS / "run-hits.csv", mapping={"quer": "x"})

    def test_documents_that_were_only_rated_are_no_hits(self) -> None:
        run = load_run(FORMATS / "run-quepid.json")
        assert run.agent == "before"
        assert notes_of(run) == ("documents that the snapshot has only since they were rated, left out: 1",)

    def test_several_splits_are_named(self) -> None:
        path = FORMATS / "run-mteb_predictions.json"
        with pytest.raises(FormatError, match=r"splits: default/dev, default/test; choose one with --map run\.split=default/dev"):
            load_run(path)
        with pytest.raises(FormatError, match="has no predictions for 'train'"):
            load_run(path, mapping={"split": "train"})
        assert load_run(path, mapping={"split": "default/test"}).agent == "example/small-model"


def test_what_no_format_fits_says_which_were_tried(file) -> None:
    with pytest.raises(FormatError) as caught:
        load_run(file("run.txt", "hello world\n"))
    assert "Tried trec: its first line has 2 columns instead of 6" in str(caught.value)
    assert "csv: its first line has no comma, semicolon or tab" in str(caught.value)
    with pytest.raises(FormatError, match="found the columns 'a', 'b'"):
        load_run(file("run.txt", "a,b\n1,2\n"))


def test_a_hit_without_an_id_says_which_fields_it_has(file) -> None:
    with pytest.raises(FormatError, match="is missing; found the fields 'sku', 'score'; name yours with --map"):
        load_run(FORMATS / "run-cases.jsonl")


@pytest.mark.parametrize("content", ['{"q1": ["a"], "q2": {"b": 1}}', '{\n "q1": ["a"],\n "q2": {"b": 1}\n}\n'])
def test_a_mapping_stays_one_whatever_its_file_is_called(file, content: str) -> None:
    assert answers_of(load_run(file("run.jsonl", content))) == {"q1": ["a"], "q2": ["b"]}
