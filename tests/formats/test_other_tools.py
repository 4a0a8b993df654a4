"""Files that other tools export: OpenSearch's judgment lists, Quepid's JSON and CSV, LTR lists, Parquet folders of MTEB."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from searchmark import FormatError, Judgment, Suite, UsageError, load_suite, save_suite
from searchmark.formats.suites import detect_suite_format
from searchmark.formats.suites.engines import combine_ratings
from searchmark.formats.suites.source import Source
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples" / "formats"
RATINGS = [{"query": "red dress", "ratings": [{"docId": "B1", "rating": "0.7"}, {"docId": "B2", "rating": "0.000"}]}]
ASTRONOMY = {"star maps": {"8201": 3, "8417": 1}, "planets, dwarf": {"9000": 2}}


def grades(suite: Suite) -> dict[str, dict[str, int]]:
    return {case.query or case.id: {j.target: j.grade for j in case.judgments} for case in suite.cases}


def saved(folder: Path, data: Any, name: str = "suite.json") -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


class TestOpenSearch:
    @pytest.mark.parametrize(
        "data",
        [
            {"name": "x", "description": "y", "type": "IMPORT_JUDGMENT", "judgmentRatings": RATINGS},
            {"took": 1, "hits": {"hits": [{"_id": "1", "_source": {"id": "1", "name": "x", "type": "UBI_JUDGMENT", "judgmentRatings": RATINGS}}]}},
            RATINGS,
        ],
    )  # fmt: skip
    def test_lists_are_read_as_returned_imported_or_alone(self, tmp_path: Path, data: Any) -> None:
        path = saved(tmp_path, data)
        assert detect_suite_format(Source(path)) == "opensearch"
        (case,) = load_suite(path).cases
        assert (case.id, case.query) == ("red dress", "red dress")
        assert case.judgments == (Judgment("B1", grade=1, gain=0.7), Judgment("B2", grade=0))

    def test_the_first_list_of_a_query_counts(self, tmp_path: Path) -> None:
        again = [*RATINGS, {"query": "red dress", "ratings": [{"docId": "B9", "rating": "1.0"}]}]
        suite = load_suite(saved(tmp_path, {"name": "n", "judgmentRatings": again}))
        assert grades(suite) == {"red dress": {"B1": 1, "B2": 0}}
        assert suite.notes[0] == "queries that are listed again, of which the first list counts: 1"

    def test_reference_answers_of_queries_that_a_model_judged_are_no_part_of_the_query(self, tmp_path: Path) -> None:
        ratings = [{"query": "capital of Peru#Lima", "ratings": [{"docId": "p", "rating": "1.0"}]}]
        (case,) = load_suite(saved(tmp_path, {"name": "n", "type": "LLM_JUDGMENT", "judgmentRatings": ratings})).cases
        assert (case.query, case.fields["reference"]) == ("capital of Peru", "Lima")
        ratings[0]["query"] = "c# tutorial"
        (case,) = load_suite(saved(tmp_path, {"name": "n", "type": "IMPORT_JUDGMENT", "judgmentRatings": ratings})).cases
        assert case.query == "c# tutorial"

    @pytest.mark.parametrize(
        ("data", "complaint"),
        [
            ({"hits": {"hits": [{"_source": {"name": name, "judgmentRatings": RATINGS}} for name in "ab"]}}, "has 2 judgment lists ('a', 'b')"),
            ({"judgmentRatings": []}, "judgment_ratings: holds no ratings"),
            ({"judgmentRatings": [{"query": "a", "ratings": [{"docId": "d", "rating": "1"}, {"docId": "d", "rating": "2"}]}]}, "is rated a second time"),
            ({"judgmentRatings": [{"query": "a", "ratings": [{"rating": "1"}]}]}, "judgment_ratings.0.ratings.0.doc_id: is missing"),
            ({"judgmentRatings": [{"query": "a", "ratings": [{"docId": "d", "rating": "nan"}]}]}, "is not a number of at most nine digits"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_meant_is_refused_with_its_place(self, tmp_path: Path, data: Any, complaint: str) -> None:
        with pytest.raises(FormatError) as caught:
            load_suite(saved(tmp_path, data))
        assert complaint in str(caught.value)


class TestQuepid:
    @pytest.mark.parametrize("name", ["quepid_case.json", "quepid_ratings.json", "quepid_book.json", "quepid_book.csv", "ltr.txt"])
    def test_every_export_is_recognised_and_says_the_same(self, name: str) -> None:
        suite = load_suite(EXAMPLES / name)
        expected = {query: dict(documents) for query, documents in ASTRONOMY.items()}
        if name == "quepid_book.json":
            expected["star maps"]["8201"] = 2  # three judges: the lowest of the highest three
        assert grades(suite) == expected
        assert detect_suite_format(Source(EXAMPLES / name)) == ("ltr" if name == "ltr.txt" else "quepid")

    def test_a_case_keeps_its_name_its_scorer_and_what_is_known_of_a_query(self) -> None:
        suite = load_suite(EXAMPLES / "quepid_case.json")
        assert (suite.name, suite.defaults.measures, suite.defaults.gain) == ("Astronomy books", ("nDCG@10",), "exp")
        assert dict(suite.cases[0].fields) == {"information_need": "maps of the night sky, on paper"}
        assert dict(suite.dropped) == {"hits_without_rating": 1}

    def test_a_book_says_how_judges_were_combined(self) -> None:
        suite = load_suite(EXAMPLES / "quepid_book.json")
        assert suite.name == "Astronomy, three judges"
        assert suite.notes == (
            "ratings of several judges are combined as Quepid does it (the mean of two, of more the lowest of the highest three): 1",
        )

    @pytest.mark.parametrize(
        ("ratings", "whole", "expected"),
        [([2], True, 2), ([1, 2], True, 2), ([1, 2], False, 1.5), ([3, 3, 3, 0], True, 3), ([0, 3, 2, 3], True, 2), ([0.2, 0.4], False, 0.3)],
    )  # fmt: skip
    def test_judges_are_combined_as_quepid_does_it(self, ratings: list[float], whole: bool, expected: float) -> None:
        assert combine_ratings(ratings, whole=whole) == pytest.approx(expected)

    def test_a_book_of_implicit_judgments_keeps_fractions(self, tmp_path: Path) -> None:
        book = {"name": "b", "support_implicit_judgements": True, "query_doc_pairs": [
            {"query_text": "q", "doc_id": "d", "judgements": [{"rating": 0.5}, {"rating": 1.0}]}]}  # fmt: skip
        assert load_suite(saved(tmp_path, book)).cases[0].judgments == (Judgment("d", grade=1, gain=0.75),)

    def test_the_detailed_export_ends_lines_of_queries_without_hits_early(self, tmp_path: Path) -> None:
        text = (
            "Team Name,Case Name,Case ID,Query Text,Doc ID,Doc Position,Title,Rating,price\r\n"
            "OSC,Books,7,star maps,8201,1,The sky,3,12\r\nOSC,Books,7,star maps,8500,2,Sea,,9\r\nOSC,Books,7,nothing found\r\n"
        )
        suite = load_suite(saved(tmp_path, text, "detailed.csv"))
        assert grades(suite) == {"star maps": {"8201": 3}}
        assert dict(suite.dropped) == {"hits_without_rating": 2, "queries_without_judgments": 1}

    def test_a_snapshot_is_a_run_and_not_a_suite(self, tmp_path: Path) -> None:
        text = "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position\nS,t,7,star maps,8201,1\n"
        with pytest.raises(FormatError, match="is a snapshot of Quepid, not a suite; name it with --run"):
            load_suite(saved(tmp_path, text, "snapshot.csv"))

    def test_its_rre_and_trec_exports_are_read(self, tmp_path: Path) -> None:
        rre = {"id_field": "id", "index": "books", "template": "template.json", "queries": [
            {"placeholders": {"$query": query}, "relevant_documents": {doc: {"gain": gain} for doc, gain in documents.items()}}
            for query, documents in ASTRONOMY.items()]}  # fmt: skip
        assert grades(load_suite(saved(tmp_path, rre))) == ASTRONOMY
        trec = saved(tmp_path, "\n17 0 8201 3.0\n\n17 0 8417 1.0\n\n18 0 9000 2.0\n", "trec.txt")
        assert grades(load_suite(trec)) == {"17": ASTRONOMY["star maps"], "18": ASTRONOMY["planets, dwarf"]}


class TestLtr:
    def test_features_are_passed_over(self, tmp_path: Path) -> None:
        suite = load_suite(saved(tmp_path, "2 qid:1 1:0.5 2:3 # d1 red dress\n0 qid:1 1:0 2:1 # d2 red dress\n", "train.txt"))
        assert grades(suite) == {"red dress": {"d1": 2, "d2": 0}}

    def test_a_line_without_a_document_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(FormatError, match="line 2: is not 'grade qid:1 # document query'; the comment names the document"):
            load_suite(saved(tmp_path, "2 qid:1 # d1 a\n0 qid:1 1:0 2:1\n", "train.txt"))


class TestMteb:
    QUERIES = pl.DataFrame({"_id": ["q1", "q2"], "text": ["one", "two"], "language": ["en", "en"]})
    QRELS = pl.DataFrame({"query-id": ["q1", "q2"], "corpus-id": ["d1", "d2"], "score": [1, 2]})
    EXPECTED = {"one": {"d1": 1}, "two": {"d2": 2}}

    def put(self, path: Path, frame: pl.DataFrame) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(path)

    @pytest.mark.parametrize(
        ("queries", "qrels"),
        [
            ("queries/queries-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"),
            ("queries/test-00000-of-00001.parquet", "default/test-00000-of-00001.parquet"),
            ("queries/queries.parquet", "qrels/validation.parquet"),
            ("queries.parquet", "qrels.parquet"),
            ("query/test.parquet", "qrels/test.parquet"),
            ("en-queries/test.parquet", "en-qrels/test.parquet"),
        ],
    )
    def test_folders_are_read_as_the_hub_has_them(self, tmp_path: Path, queries: str, qrels: str) -> None:
        self.put(tmp_path / queries, self.QUERIES)
        self.put(tmp_path / qrels, self.QRELS)
        assert detect_suite_format(Source(tmp_path)) == "mteb"
        suite = load_suite(tmp_path)
        assert grades(suite) == self.EXPECTED
        assert suite.name == tmp_path.name
        assert dict(suite.cases[0].fields) == {"language": "en"}
        assert grades(load_suite(tmp_path / qrels)) == self.EXPECTED

    def test_a_split_is_chosen_by_its_file_and_test_is_the_default(self, tmp_path: Path) -> None:
        self.put(tmp_path / "queries/queries.parquet", self.QUERIES)
        self.put(tmp_path / "qrels/test-00000-of-00001.parquet", self.QRELS.head(1))
        self.put(tmp_path / "qrels/dev-00000-of-00002.parquet", self.QRELS.head(1))
        self.put(tmp_path / "qrels/dev-00001-of-00002.parquet", self.QRELS.tail(1))
        suite = load_suite(tmp_path)
        assert (suite.metadata["split"], grades(suite)) == ("test", {"one": {"d1": 1}})
        assert dict(suite.dropped) == {"queries_without_judgments": 1}
        assert grades(load_suite(tmp_path / "qrels/dev-00001-of-00002.parquet")) == self.EXPECTED

    def test_ids_may_be_numbers_and_scores_fractions(self, tmp_path: Path) -> None:
        self.put(tmp_path / "queries.parquet", pl.DataFrame({"id": [7], "text": ["one"]}))
        self.put(tmp_path / "qrels.parquet", pl.DataFrame({"query-id": [7], "corpus-id": [12], "score": [0.5]}))
        assert load_suite(tmp_path).cases[0].judgments == (Judgment("12", grade=1, gain=0.5),)

    @pytest.mark.parametrize(
        ("files", "complaint"),
        [
            (["qrels/a.parquet", "qrels/b.parquet"], "has no split 'test' and not exactly one other (a, b); name a file"),
            (["qrels/test-00000-of-00002.parquet"], "test: is split into 2 files, of which 1 are there"),
            (["de-qrels/test.parquet", "en-qrels/test.parquet"], "has not exactly one folder of qrels (de-qrels, en-qrels)"),
        ],
    )
    def test_what_is_not_one_split_is_refused_with_what_there_is(self, tmp_path: Path, files: list[str], complaint: str) -> None:
        for name in files:
            self.put(tmp_path / name, self.QRELS)
        with pytest.raises(FormatError) as caught:
            load_suite(tmp_path)
        assert complaint in str(caught.value)

    def test_qrels_without_queries_beside_them_are_refused(self, tmp_path: Path) -> None:
        self.put(tmp_path / "qrels/test.parquet", self.QRELS)
        with pytest.raises(UsageError, match="has no queries beside qrels; they are expected in queries or"):
            load_suite(tmp_path)


def test_beir_reads_and_writes_fractions(tmp_path: Path) -> None:
    suite = load_suite(saved(tmp_path, "query,docid,rating\na,d1,0.5\na,d2,2\n", "q.csv"))
    assert not [lost for lost in save_suite(suite, tmp_path / "beir", format="beir") if "gain" in lost]
    assert (tmp_path / "beir/qrels/test.tsv").read_text().splitlines()[1:] == ["a\td1\t0.5", "a\td2\t2"]
    assert load_suite(tmp_path / "beir").cases[0].judgments == suite.cases[0].judgments


@pytest.mark.parametrize(
    ("text", "query", "targets"),
    [
        ("2 qid:7 1:0.05 #docid = GX029-35 inc = 0.01 prob = 0.1\n0 qid:7 1:0.1 #docid = GX030-1 inc = 1 prob = 0.2\n", None, 2),
        ("# qid:7: rambo film\n4 qid:7 #\t7555\tRambo\n3 qid:7 #\t1370\tRambo III\n", "rambo film", 2),
        ("4 qid:7 # 7555 Rambo\n3 qid:7 # 1370 Rambo III\n", None, 2),
    ],
)
def test_comments_of_lists_for_learning_to_rank_name_documents(tmp_path: Path, text: str, query: str | None, targets: int) -> None:
    path = tmp_path / "list.txt"
    path.write_text(text)
    (case,) = load_suite(path).cases
    assert (case.id, case.query, len(case.judgments)) == ("7", query, targets)
    assert case.judgments[0].target in {"GX029-35", "7555"}


def test_a_case_of_quepid_may_begin_with_a_query_that_nobody_rated(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_text(json.dumps({"queries": [{"query_text": "b"}, {"query_text": "a", "ratings": [{"doc_id": "1", "rating": 3}]}]}))
    assert [case.id for case in load_suite(path).cases] == ["a"]
