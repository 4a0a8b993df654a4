"""Runs as tables, a row per hit: CSV, TSV and JSON lines, read fast or carefully."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark import FormatError, load_run, save_run
from searchmark.formats.runs import load_all_runs
from tests.formats.reading import answers_of, notes_of, on_suite


class TestTables:
    def test_hits_are_sorted_by_rank_and_this_is_said(self, file) -> None:
        run = load_run(file("run.csv", "query,docid,rank\nq1,b,2\nq2,x,1\nq1,a,1\nq1,c,3\n"))
        assert answers_of(run) == {"q1": ["a", "b", "c"], "q2": ["x"]}
        assert notes_of(run) == ("answers whose hits were not in the order of their ranks, sorted by rank: 1",)

    def test_equal_ranks_keep_the_order_of_the_file(self, file) -> None:
        run = load_run(file("run.csv", "query,docid,rank\nq1,b,1\nq1,a,1\n"))
        assert answers_of(run) == {"q1": ["b", "a"]}
        assert notes_of(run) == ("hits with the same rank as another, kept in the order of the file: 1",)

    def test_scores_alone_order_as_trec_eval_does(self, file) -> None:
        run = load_run(file("run.csv", "query_id,doc_id,score\nq,a,1\nq,b,1\nq,c,2.5\n"))
        assert answers_of(run) == {"q": ["c", "b", "a"]}

    def test_a_rank_decides_over_scores(self, file) -> None:
        run = load_run(file("run.csv", "query,docid,rank,score\nq,a,1,0.1\nq,b,2,0.9\n"))
        assert answers_of(run) == {"q": ["a", "b"]}

    def test_without_rank_and_score_the_order_is_that_of_the_file(self, file) -> None:
        assert answers_of(load_run(file("run.csv", "query;docid\nq;b\nq;a\n"))) == {"q": ["b", "a"]}

    def test_a_table_that_lists_a_query_twice_with_the_same_hits_is_read_once(self, file) -> None:
        run = load_run(file("run.csv", "query,docid,rank\nq,a,1\nq,b,2\nq,a,1\nq,b,2\n"))
        assert answers_of(run) == {"q": ["a", "a", "b", "b"]}  # of which judging drops and counts the second ones

    def test_a_query_without_an_id_has_no_hits(self, file) -> None:
        run = load_run(file("run.csv", "query,docid,rank\nq1,a,1\nq2,,\nq3\n"))
        assert [(answer.case, answer.status) for answer in run.answers] == [("q1", "ok"), ("q2", "empty"), ("q3", "empty")]

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("query,docid,rank\nq,a,first\n", "line 2: the rank 'first' is not a finite number"),
            ("query,docid,score\nq,a,1\nq,b,nan\n", "line 3: the score 'nan' is not a finite number"),
            ("query,docid,score\nq,a,\n", "line 2: has no score"),
            ("query,docid,score\n,a,1\n", "line 2: has no query"),
            ("query,docid,score\nq,,1\n", "line 2: has no docid"),
            ("query,docid,score\nq,a,1,9\n", "line 2: has 4 columns instead of 3"),
            ("query,docid,score\n", "holds no hits"),
            (
                "frage,treffer\nq,a\n",
                "lacks a column for query and id; found the columns 'frage', 'treffer'; name yours with --map run",
            ),
            ("query,docid,rating\nq,a,3\n", "is a table of ratings, not a run; name it with --suite"),
            ("query-id\tcorpus-id\tscore\nq\ta\t1\n", "is BEIR qrels, not a run"),
            ("query,docid,rel,note\nq,a,3,x\n", "holds judgments, not a run: its column 'rel' is a grade"),
            ("red,s1,1,7.5\n", "if its first line is a hit, put one with the names of the columns above it"),
            (
                "query,docid,rank\nq,a,1\nq,b,2\nq,c,1\n",
                "q: has two rankings: 'a' and 'c' are both at rank 1; if these are several",
            ),
            ("query,docid,rank\nq,a,1\nq,b,1\nq,c,2\nq,d,2\n", "q: has two rankings: 'a' and 'b' are both at rank 1"),
            ("topic,query,docid\nhats,red hat,a\nhats,\nhats,blue hat,b\n", "hats: asks both 'red hat' and 'blue hat', so it"),
        ],
    )
    def test_refuses_with_place_and_reason(self, file, content: str, complaint: str) -> None:
        with pytest.raises(FormatError) as caught:
            load_run(file("run.csv", content))
        assert complaint in str(caught.value)

    def test_judgments_can_be_hits_if_somebody_says_so(self, file) -> None:
        path = file("run.csv", "query,docid,rating\nq,b,3\nq,a,\n")
        assert answers_of(load_run(path, format="csv")) == {"q": ["b", "a"]}

    def test_other_names_are_mapped(self, file) -> None:
        path = file("run.csv", "frage,treffer,platz\nq,b,2\nq,a,1\n")
        assert answers_of(load_run(path, mapping={"query": "frage", "id": "treffer", "rank": "platz"})) == {"q": ["a", "b"]}
        with pytest.raises(
            FormatError, match=r"has no field 'frge', which --map run\.query names; it has 'frage', 'treffer', 'platz'"
        ):
            load_run(path, mapping={"query": "frge"})

    def test_an_id_and_the_text_of_a_query_are_both_kept(self, file, tmp_path: Path) -> None:
        run = load_run(file("run.csv", "query_id,query,docid,rank\n9,red shoes,s1,1\n"))
        assert (run.case_ids, run.queries) == (("9",), ("red shoes",))
        save_run(run, tmp_path / "run.jsonl")
        assert load_run(tmp_path / "run.jsonl") == run
        assert answers_of(on_suite(load_run(tmp_path / "run.jsonl"))) == {"shoes": ["s1"]}

    def test_several_agents_in_one_file(self, file) -> None:
        path = file("both.csv", "system,query,docid,rank\nold,q,a,1\nnew,q,b,1\nold,q,c,2\n")
        assert [(run.agent, answers_of(run)) for run in load_all_runs(path)] == [("old", {"q": ["a", "c"]}), ("new", {"q": ["b"]})]
        assert answers_of(load_run(path, name="new")) == {"q": ["b"]}
        with pytest.raises(FormatError, match="holds the runs of 2 agents: 'old', 'new'; name the one that is meant: NAME="):
            load_run(path)
        with pytest.raises(FormatError, match="holds no run of 'newer'; it holds those of 'old', 'new'"):
            load_run(path, name="newer")

    @pytest.mark.parametrize("kind", ["csv", "quoted.csv", "jsonl"])
    def test_both_readers_agree(self, file, monkeypatch, kind: str) -> None:
        rows = [(f"q {n % 7}", f"d{n * 31 % 17}", max(40 - n, 1), n / 3) for n in range(60)]
        if kind == "csv":
            content = "qid,docid,rank,score\n" + "".join(f"{q},{d},{r},{s}\n" for q, d, r, s in rows)
        elif kind == "quoted.csv":
            content = '"qid",docid,"rank",score\r\n' + "".join(f'"{q}, ""x""\n",{d},"{r}",{s}\r\n' for q, d, r, s in rows)
        else:
            content = "".join(json.dumps({"qid": q, "docid": d, "rank": r, "score": s}) + "\n" for q, d, r, s in rows)
        path = file(f"run.{kind}", content)
        careful = load_run(path)
        monkeypatch.setattr("searchmark.formats.runs.tables.FAST_FROM", 1)
        fast = load_run(path)
        assert isinstance(careful.ids, list)
        assert not isinstance(fast.ids, list)
        assert fast == careful

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("run.csv", "query,docid,rank\nq,a,1\nq,b\n"),
            ("run.csv", "query,docid,rank\nq,a,1,2\n"),
            ("run.csv", 'query,docid,rank\n"a, b",a,1\n'),
            ("run.csv", 'query,docid,rank\na "b" c,a,1\n'),
            ("run.csv", 'query,docid,rank\n"b" c,a,1\n'),
            ("run.csv", 'query,docid,rank\nq,"a,1\nq,b,2\n'),
            ("run.csv", 'query,docid,rank\nq, "a",1\n'),
            ("run.csv", "query,docid,rank\nq,a,x\n"),
            ("run.csv", "query,docid,rank\r\nq,a,1\r\n\r\nq,b,2\r\n"),
            ("run.csv", b"query,docid,rank\nq\xff,a,1\n"),
            ("run.jsonl", '{"query": "q", "docid": true, "rank": 1}\n'),
            ("run.jsonl", '{"query": "q", "docid": 1.5, "rank": 1}\n'),
            ("run.jsonl", '{"query": "q", "docid": 7, "rank": 1}\n\n{"query": "q", "docid": "b", "rank": "2"}\n'),
            ("run.jsonl", '{"query": "q", "docid": "b", "rank": 1}\n{"query": "q"}\n'),
        ],
    )
    def test_the_fast_reader_gives_up_where_the_careful_one_has_something_to_say(self, file, monkeypatch, name, content) -> None:
        path, told = file(name, content), []
        for size in (1 << 20, 1):
            monkeypatch.setattr("searchmark.formats.runs.tables.FAST_FROM", size)
            try:
                told.append(list(load_run(path).answers))
            except FormatError as error:
                told.append(str(error))
        assert told[0] == told[1]
