"""Every suite format: the example of the docs, the rules of its reader, and the way back to disk."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from searchmark import (
    Answer,
    Case,
    Defaults,
    FormatError,
    Hit,
    Judgment,
    Run,
    Suite,
    UsageError,
    load_baseline_metrics,
    load_corpus,
    load_suite,
    match_hits,
    save_suite,
    score,
)
from searchmark.cli.main import main
from searchmark.formats import SUITE_FORMATS
from searchmark.formats.suites import detect_suite_format
from searchmark.formats.suites.case_lists import files_of_patch
from searchmark.formats.suites.source import Source
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples" / "formats"
FILES = {
    "gold-set": "gold_set.json",
    "case-list": "case_list.json",
    "labels": "labels",
    "symbols": "symbols.json",
    "fixtures": "fixtures.json",
    "beir": "beir",
    "quepid": "quepid.csv",
    "rre": "rre.json",
    "rank-eval": "rank_eval.json",
    "swe-bench": "swe_bench.jsonl",
    "native": "../quickstart/suite.yaml",
    "qrels": "../quickstart/qrels.txt",
    "table": "table.csv",
    "mteb": "mteb",
    "opensearch": "opensearch.json",
    "ltr": "ltr.txt",
    "diversity-qrels": "diversity.qrels",
}


def example(name: str) -> Suite:
    return load_suite(EXAMPLES / FILES[name])


def test_there_is_an_example_of_every_format() -> None:
    assert set(FILES) == set(SUITE_FORMATS)


@pytest.mark.parametrize("name", FILES)
def test_the_format_is_recognised_by_content(name: str) -> None:
    assert detect_suite_format(Source(EXAMPLES / FILES[name])) == name


@pytest.mark.parametrize("name", FILES)
def test_the_example_can_be_scored(name: str) -> None:
    suite = example(name)
    run = Run.from_scores({case.id: {j.target: 1.0 for j in case.judgments if j.grade > 0} for case in suite.cases})
    assert score(match_hits(suite, run), ["P(rel=1)"]).mean("P") > 0.5


@pytest.mark.parametrize("name", FILES)
def test_converting_to_our_own_format_loses_nothing(name: str, tmp_path: Path) -> None:
    suite = example(name)
    for file in ("suite.json", "suite.jsonl"):
        assert save_suite(suite, tmp_path / file) == []
        again = load_suite(tmp_path / file)
        assert list(again.cases) == list(suite.cases)
        assert again == suite


def test_gold_set_keeps_all_fields() -> None:
    suite = example("gold-set")
    case = suite.cases[0]
    assert case.judgments == (Judgment("server/auth/login.py", "path"), Judgment("server/auth/session.py", "path"))
    assert case.origin == "9f2c41d07be3"
    assert case.fields == {"commit_hash": "9f2c41d07be3", "complexity": "medium", "timestamp": "2024-05-02T09:14:00Z"}
    assert suite.metadata["repository"] == "example/shop"


def test_gold_set_is_written_back_as_it_was(tmp_path: Path) -> None:
    lost = save_suite(example("gold-set"), tmp_path / "again.json", format="gold-set")
    assert lost == []
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads((EXAMPLES / "gold_set.json").read_text())


def test_case_list_ranks_follow_the_first_order_and_others_are_as_right() -> None:
    suite = example("case-list")
    assert [(j.target, j.rank) for j in suite.cases[0].judgments] == [("ticket.create", 1), ("ticket.create_many", 2)]
    assert [case.id for case in suite.cases] == ["1", "2", "3"]
    assert suite.cases[2].other_orders == (("ticket.resolve", "ticket.close"),)
    answers = [Answer(case.id, "ok", (Hit("ticket.resolve", 1), Hit("ticket.close", 2))) for case in suite.cases]
    assert score(match_hits(suite, Run.from_answers("a", answers)), ["Tau"]).values[2].tolist() == [1.0]


def test_case_list_may_be_yaml() -> None:
    suite = load_suite(EXAMPLES / "case_list.yaml")
    assert [case.category for case in suite.cases] == ["crud", "users"]


def test_labels_use_line_numbers_and_their_own_defaults() -> None:
    suite = example("labels")
    assert [(case.id, case.query) for case in suite.cases] == [("3", "waterproof hiking boots"), ("4", "red linen dress")]
    assert suite.defaults == Defaults(rel=2, gain="exp")
    assert score(match_hits(suite, Run.from_scores({"3": {"B-104": 1.0}})), ["nDCG@10"]).names == ["nDCG(gain=exp)@10"]


def test_labels_can_be_given_apart_from_their_queries() -> None:
    suite = load_suite(EXAMPLES / "labels/labels.jsonl", topics=EXAMPLES / "labels/queries.txt")
    assert list(suite.cases) == list(example("labels").cases)


def test_symbols_have_grades_by_kind_and_categories_by_name() -> None:
    suite = example("symbols")
    case = suite.cases[0]
    assert [(j.target, j.match, j.grade) for j in case.judgments] == [
        ("TMailer.Send", "symbol", 2), ("AttachFile", "symbol", 2), ("*Mail*", "glob", 1), ("*Attach*", "glob", 1), ("*Test*", "glob", 0),
    ]  # fmt: skip
    assert (case.category, case.fields["category_number"]) == ("conceptual", "1")


def test_symbols_are_expanded_against_a_corpus_wherever_one_stands(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Mail.txt").touch()  # a shell would expand *Mail* to this
    corpus = ["TMailer.Send", "Util.AttachFile", "MailBox", "MailTest", "Other"]
    run = Run.from_scores({"C1-001": {"MailBox": 2.0, "TMailer.Send": 1.0}})
    scores = score(match_hits(example("symbols"), run, corpus), ["R", "P@2"])
    assert scores.values[0].tolist() == [2 / 3, 1.0]


def test_fixtures_grade_by_place_and_bring_documents() -> None:
    suite = example("fixtures")
    case = suite.cases[0]
    assert [(j.target, j.grade, j.rank, j.score_range) for j in case.judgments] == [
        ("bread", 3, 1, (0.6, 1.0)), ("cake", 2, 2, None), ("tyres", 0, 3, (-0.2, 0.3)),
    ]  # fmt: skip
    assert case.documents[0].text == "Baking bread at home, step by step"
    assert suite.model == "all-MiniLM-L6-v2"


def fixture_with(**changes: object) -> str:
    fixture = {
        "name": "n", "query": "q", "documents": [{"id": "a", "content": "x"}, {"id": "b", "content": "y"}], "expected_ranking": ["a", "b"],
    }  # fmt: skip
    return json.dumps([fixture | changes])


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"documents": [{"id": "a", "content": "x"}], "expected_ranking": ["a"]},
            "0.documents: has 1 entries; a ranking needs at least 2",
        ),
        (
            {"documents": [{"id": "a", "content": "x"}, {"id": "a", "content": "y"}]},
            "0.documents.1.id: duplicate id 'a' in this fixture",
        ),
        ({"expected_ranking": ["a", "z"]}, "0.expected_ranking.1: 'z' is not one of the documents"),
        ({"expected_ranking": ["a", "a"]}, "0.expected_ranking.1: duplicate id 'a'"),
        ({"relevant": ["z"]}, "0.relevant.0: 'z' is not one of the documents"),
        ({"expected_score_ranges": {"a": {"min": 0.9, "max": 0.1}}}, "a: its min 0.9 is not below its max 0.1"),
        ({"expected_score_ranges": {"a": [1]}}, "a: is not a range of two numbers"),
        ({"expected_score_ranges": {"z": [0, 1]}}, "z: is not one of the documents"),
        ({"query": " "}, "0.query: is empty"),
        ({"expected_ranking": []}, "0.expected_ranking: is missing or empty"),
        ({"expected_ranking": None, "relevant": ["a"]}, "0.expected_ranking: is missing or empty"),
    ],
)
def test_fixtures_that_cannot_fail_are_refused(file, changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_suite(file("fixtures.json", fixture_with(**changes)))
    assert complaint in str(caught.value)


def test_a_fixture_that_does_not_say_what_is_relevant_is_about_the_order_only(file) -> None:
    run = Run.from_answers("a", [Answer("n", "ok", (Hit("b", 1), Hit("a", 2)))])
    measures = ["nDCG", "Tau", "P@5", "R@10", "RR", "Success@5", "AP", "Relevance"]
    scores = score(match_hits(load_suite(file("order.json", fixture_with())), run), measures)
    assert scores.values[0, :2].tolist() == pytest.approx([(1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)), -1.0])
    reason = "the case says in which order documents should come, and not which of them are relevant: list these as 'relevant'"
    assert [scores.reason(0, column) for column in range(len(measures))] == [None, None, *[reason] * 6]
    judged = score(match_hits(load_suite(file("both.json", fixture_with(relevant=["a"]))), run), ["RR", "P@5"])
    assert judged.values[0].tolist() == [0.5, 0.2]


def test_baseline_metrics_are_read_and_are_no_suite() -> None:
    baseline = load_baseline_metrics(EXAMPLES / "baseline_metrics.json")
    assert (baseline.model, baseline.kept_share("ndcg"), baseline.targets["min_avg_mrr"]) == ("all-MiniLM-L6-v2", 0.95, 0.95)
    assert baseline.cases[0].metrics == {"ndcg": 0.95, "mrr": 1.0, "precision_at_k": 0.667}
    with pytest.raises(FormatError, match="is a baseline"):
        load_suite(EXAMPLES / "baseline_metrics.json")


def test_beir_counts_queries_without_judgments_and_reads_one_split_by_name(tmp_path: Path) -> None:
    suite = example("beir")
    assert [(case.id, case.query) for case in suite.cases] == [
        ("q1", "does green tea contain caffeine"),
        ("q2", "how long do cats sleep"),
    ]
    assert suite.dropped == {"queries_without_judgments": 1}
    shutil.copytree(EXAMPLES / "beir", tmp_path / "b")
    (tmp_path / "b/qrels/test.tsv").rename(tmp_path / "b/qrels/dev.tsv")
    assert len(load_suite(tmp_path / "b")) == 2
    shutil.copy(tmp_path / "b/qrels/dev.tsv", tmp_path / "b/qrels/train.tsv")
    with pytest.raises(FormatError, match=r"not exactly one other split \(dev.tsv, train.tsv\)"):
        load_suite(tmp_path / "b")
    assert load_suite(tmp_path / "b/qrels/train.tsv").metadata == {"split": "train"}


def test_beir_is_written_back_as_it_was(tmp_path: Path) -> None:
    lost = save_suite(example("beir"), tmp_path / "again", format="beir")
    again = load_suite(tmp_path / "again")
    assert list(again.cases) == list(example("beir").cases)
    assert lost == ["the suite's metadata"]


def test_quepid_counts_what_was_not_rated() -> None:
    suite = example("quepid")
    assert [case.id for case in suite.cases] == ["star maps", "planets, dwarf"]
    assert suite.dropped == {"hits_without_rating": 1}


def test_quepid_reads_the_long_header(file) -> None:
    content = "AgentRun Name,Case Name,Query Text,Doc ID,Doc Position,Title,Rating\nt,c,milk,m1,1,Milk,3\n"
    assert load_suite(file("export.csv", content)).cases[0].judgments == (Judgment("m1", grade=3),)


def test_rre_queries_of_a_group_share_targets_and_origin() -> None:
    suite = example("rre")
    assert [case.query for case in suite.cases] == ["harmona", "Harmona guitar", "twelve string"]
    assert suite.cases[0].judgments == suite.cases[1].judgments == (Judgment("g-12", grade=3), Judgment("g-31", grade=1))
    assert [case.origin for case in suite.cases] == ["a brand, in two spellings"] * 2 + [None]
    assert suite.cases[2].judgments == (Judgment("g-31", grade=2), Judgment("g-44", grade=2))


def test_rre_reads_queries_without_groups(file) -> None:
    content = {"queries": [{"placeholders": {"$query": "x"}, "relevant_documents": {"1": ["193"], "2": ["157", 152]}}]}
    suite = load_suite(file("rre.json", json.dumps(content)))
    assert [(j.target, j.grade) for j in suite.cases[0].judgments] == [("193", 1), ("157", 2), ("152", 2)]


def test_rank_eval_finds_the_text_that_is_searched_for() -> None:
    assert [case.query for case in example("rank-eval").cases] == ["old harbour of the town", "museums open on monday"]


def test_swe_bench_targets_are_the_changed_files_and_created_ones_are_apart() -> None:
    case = example("swe-bench").cases[0]
    assert case.judgments == (Judgment("shop/cart.py", "path"),)
    assert (case.fields["created_files"], case.fields["commit_hash"]) == (["shop/money.py"], "5d1e0c9")


def patch_of(*lines: str, end: str = "\n") -> str:
    return end.join(lines) + end


@pytest.mark.parametrize(
    ("patch", "changed", "created"),
    [
        (
            patch_of(
                "diff --git a/q.sql b/q.sql", "--- a/q.sql", "+++ b/q.sql", "@@ -1,2 +1,1 @@", "--- old comment", " select 1;"
            ),
            ["q.sql"],
            [],
        ),
        (patch_of('--- "a/caf\\303\\251.py"', '+++ "b/caf\\303\\251.py"', "@@ -1 +1 @@", "-a", "+b"), ["café.py"], []),
        (patch_of("--- a/x.py", "+++ b/x.py", "@@ -1 +1 @@", "-a", "+b", end="\r\n"), ["x.py"], []),
        (patch_of("diff --git a/i.png b/i.png", "Binary files a/i.png and b/i.png differ"), ["i.png"], []),
        (patch_of("diff --git a/e.txt b/e.txt", "deleted file mode 100644"), ["e.txt"], []),
        (
            patch_of("diff --git a/old.py b/new.py", "similarity index 100%", "rename from old.py", "rename to new.py"),
            ["old.py"],
            [],
        ),
        (patch_of("diff --git a/n.txt b/n.txt", "new file mode 100644"), [], ["n.txt"]),
        (
            patch_of(
                "--- a/x.py\t2024-01-01",
                "+++ b/x.py\t2024-01-02",
                "@@ -1 +1 @@",
                "-a",
                "+b",
                "--- a/y.py",
                "+++ b/y.py",
                "@@ -1 +1 @@",
                "-a",
                "+b",
            ),
            ["x.py", "y.py"],
            [],
        ),
    ],
    ids=["removed lines like headers", "quoted name", "CRLF", "binary", "deleted", "moved", "created", "without git"],
)
def test_files_of_a_patch(patch: str, changed: list[str], created: list[str]) -> None:
    assert files_of_patch(patch) == (changed, created)


@pytest.mark.parametrize(
    ("request_", "query"),
    [
        (
            {"request": {"query": {"bool": {"filter": [{"term": {"lang": "en"}}], "must": [{"match": {"title": "harbour"}}]}}}},
            "harbour",
        ),
        ({"params": {"field": "text", "query_string": "harbour"}}, "harbour"),
        ({"request": {"query": {"match": {"body": {"analyzer": "std", "query": "harbour"}}}}}, "harbour"),
        ({"request": {"query": {"multi_match": {"query": "harbour", "fields": ["a"]}}}}, "harbour"),
        ({"request": {"knn": {"field": "vec", "k": 3}}}, '{"knn": {"field": "vec", "k": 3}}'),
    ],
)
def test_rank_eval_takes_no_filter_for_a_query(file, request_: dict[str, object], query: str) -> None:
    content = {"requests": [{"id": "r", "ratings": [{"_index": "i", "_id": "a", "rating": 1}], **request_}]}
    assert load_suite(file("r.json", json.dumps(content))).cases[0].query == query


def test_rre_with_several_unknown_placeholders_is_refused(file) -> None:
    content = {"queries": [{"placeholders": {"$lang": "en", "$name": "a"}, "relevant_documents": {"1": ["x"]}}]}
    with pytest.raises(FormatError, match=r"has no \$query"):
        load_suite(file("r.json", json.dumps(content)))


def test_an_exclusion_beats_the_same_pattern(file) -> None:
    content = {"queries": [{"query": "q", "expected_patterns": ["*Mail*", "*Test*"], "exclusion_patterns": ["*Test*"]}]}
    judgments = load_suite(file("s.json", json.dumps(content))).cases[0].judgments
    assert [(j.target, j.grade) for j in judgments] == [("*Mail*", 1), ("*Test*", 0)]


def test_keys_that_differ_only_in_spelling_are_refused(file) -> None:
    with pytest.raises(FormatError, match="two of its keys are the same in snake_case"):
        load_suite(file("c.json", '[{"query": "a", "expectedIds": ["x"], "expected_ids": ["y"]}]'))
    with pytest.raises(FormatError, match="duplicate column name"):
        load_suite(file("q.csv", "query,docid,rating,Rating\na,b,1,2\n"))


@pytest.mark.parametrize("name", ["test_cases", "queries", "cases", "fixtures"])
def test_a_list_is_found_under_any_usual_name(file, name: str) -> None:
    content = {name: [{"query": "q", "expectedIds": ["x"]}], "version": "2"}
    suite = load_suite(file("c.json", json.dumps(content)))
    assert (len(suite), suite.metadata) == (1, {"version": "2"})


def test_fixture_documents_may_have_any_ids(file) -> None:
    content = json.dumps([{"name": "n", "query": "q", "documents": {"docA": "x", "doc_a": "y"}, "expected_ranking": ["docA"]}])
    assert [d.id for d in load_suite(file("f.json", content)).cases[0].documents] == ["docA", "doc_a"]


class TestNothingIsLostInSilence:
    def test_documents_that_share_an_id_cannot_become_one_corpus(self, file, tmp_path: Path) -> None:
        fixtures = [
            {
                "name": name,
                "query": "q",
                "documents": [{"id": "d1", "content": f"{name} 1"}, {"id": "d2", "content": "x"}],
                "expected_ranking": ["d1"],
            }
            for name in ("a", "b")
        ]
        with pytest.raises(UsageError, match="duplicate document id 'd1'"):
            save_suite(load_suite(file("f.json", json.dumps(fixtures))), tmp_path / "out", format="beir")
        assert not (tmp_path / "out").exists()

    def test_fields_never_overwrite_the_id(self, tmp_path: Path) -> None:
        suite = Suite.from_cases("s", [Case("q1", "real", (Judgment("a", "path"),), fields={"id": "other", "query": "other"})])
        save_suite(suite, tmp_path / "g.json", format="gold-set")
        assert (load_suite(tmp_path / "g.json").cases[0].id, load_suite(tmp_path / "g.json").cases[0].query) == ("q1", "real")

    def test_an_id_that_would_be_a_comment_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="where # starts a comment"):
            save_suite(Suite.from_grades({"#1": {"a": 1}}), tmp_path / "q.qrels", format="qrels")

    def test_cases_without_judgments_and_line_feeds_are_named(self, tmp_path: Path) -> None:
        suite = Suite.from_cases("s", [Case("a", "two\nlines", (Judgment("x"),)), Case("b", "nobody judged")])
        assert save_suite(suite, tmp_path / "q.qrels", format="qrels") == [
            "cases without judgments",
            "line feeds and runs of blanks in queries: 1",
        ]
        assert save_suite(suite, tmp_path / "beir", format="beir") == ["cases without judgments"]

    @pytest.mark.parametrize("form", ["beir", "gold-set"])
    def test_queries_that_nobody_knows_are_read_back_so(self, tmp_path: Path, form: str) -> None:
        path = tmp_path / ("g.json" if form == "gold-set" else "beir")
        lost = save_suite(
            Suite.from_cases("s", [Case("a", None, (Judgment("x", "path" if form == "gold-set" else "id"),))]), path, format=form
        )
        assert lost == ["queries that are not known, written as empty"]
        assert load_suite(path).cases[0].query is None

    def test_a_character_that_no_file_can_hold_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="is not a character that a file can hold"):
            save_suite(Suite.from_grades({"q": {"\ud800x": 1}}), tmp_path / "q.qrels", format="qrels")

    def test_an_unknown_extension_is_refused(self, tmp_path: Path) -> None:
        assert main(["convert", str(EXAMPLES / "beir"), str(tmp_path / "suite.yaml")]) == 4
        assert list(tmp_path.iterdir()) == []


def test_case_ids_are_compared_in_nfc(file) -> None:
    suite = load_suite(file("q.txt", "cafe\u0301 0 a 1\n"))
    assert score(match_hits(suite, Run.from_scores({"caf\u00e9": {"a": 1.0}})), ["RR"]).mean("RR") == 1.0


def test_quepid_lists_queries_without_ratings(file) -> None:
    suite = load_suite(file("q.csv", "query,docid,rating\nstar maps,8201,3\nno ratings yet,,\n"))
    assert suite.dropped == {"hits_without_rating": 1, "queries_without_judgments": 1}


class TestQrels:
    def test_are_written_with_topics_and_read_back(self, tmp_path: Path) -> None:
        suite = load_suite(EXAMPLES / "../quickstart/qrels.txt", topics=EXAMPLES / "../quickstart/topics.tsv")
        save_suite(suite, tmp_path / "out.qrels", format="qrels")
        again = load_suite(tmp_path / "out.qrels", topics=tmp_path / "out.topics.tsv")
        assert list(again.cases) == list(suite.cases)

    def test_ids_with_blanks_cannot_be_written(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="the id 'star maps' cannot be written to a line"):
            save_suite(example("quepid"), tmp_path / "out.qrels", format="qrels")
        assert list(tmp_path.iterdir()) == []

    def test_topics_may_be_jsonl_with_all_that_is_known_of_a_case(self, file) -> None:
        qrels = file("q.txt", "1 0 a 1\n")
        topics = file(
            "t.jsonl",
            '{"id": 1, "query": "x", "category": "c", "tags": ["t"], "language": "pt"}\n{"id": 2, "query": "y", "unanswerable": true}\n',
        )
        suite = load_suite(qrels, topics=topics)
        assert [(case.id, case.query, case.category, case.tags, case.unanswerable) for case in suite.cases] == [
            ("1", "x", "c", ("t",), False), ("2", "y", None, (), True),
        ]  # fmt: skip
        assert suite.cases[0].fields == {"language": "pt"}

    @pytest.mark.parametrize(
        ("topics", "query"),
        [
            ('<topic number="1"><query lang="en">fish</query></topic>', "fish"),
            ("<topic\nid='1'><title><![CDATA[x < y]]></title></topic>", "x < y"),
            ('<topic number="1">a patient of 50</topic>', "a patient of 50"),
            ("<topic><number>1</number><title>hello <b>bold</b> world</title></topic>", "hello bold world"),
            ("<top lang='en'><num> Number: 1 <title> \u0130\u0130\u0130 fish\n</top>", "\u0130\u0130\u0130 fish"),
            ('<!-- <topic number="1">no</topic> --><topic number="1"><title>yes</title></topic>', "yes"),
            ("qid\tquery\n1\tfish\n", "fish"),
        ],
    )
    def test_topics_come_in_many_forms(self, file, topics: str, query: str) -> None:
        assert load_suite(file("q.txt", "1 0 a 1\n"), topics=file("t.txt", topics)).cases[0].query == query

    def test_topics_may_be_xml_elements(self, file) -> None:
        topics = file("t.xml", '<topics><topic number="1" type="x"><query>fish &amp; chips</query></topic></topics>')
        assert load_suite(file("q.txt", "1 0 a 1\n"), topics=topics).cases[0].query == "fish & chips"


class TestConvert:
    def test_says_what_the_format_cannot_hold(self, tmp_path: Path, capsys) -> None:
        assert main(["convert", str(EXAMPLES / "fixtures.json"), str(tmp_path / "gold.json"), "--to", "gold-set"]) == 0
        error = capsys.readouterr().err
        assert "not in it: grades above 1, written as 1: 2" in error
        assert "not in it: inline documents: 3" in error
        assert "not in it: score ranges: 2" in error

    def test_the_format_follows_the_name(self, tmp_path: Path) -> None:
        for name, written in [
            ("a.json", "a.json"),
            ("a.jsonl", "a.jsonl"),
            ("a.qrels", "a.qrels"),
            ("folder", "folder/qrels/test.tsv"),
        ]:
            assert main(["convert", str(EXAMPLES / "beir"), str(tmp_path / name)]) == 0
            assert (tmp_path / written).exists()

    def test_an_unknown_format_is_a_usage_error(self, tmp_path: Path) -> None:
        assert main(["convert", str(EXAMPLES / "beir"), str(tmp_path / "a.json"), "--to", "excel"]) == 4
        with pytest.raises(UsageError, match="cannot be written as 'excel'"):
            save_suite(example("beir"), tmp_path / "x", format="excel")


class TestRealFiles:
    """Files that we did not write."""

    def test_jira_labels_with_queries_and_corpus(self, shared_data: Path) -> None:
        folder = shared_data / "jira_operations"
        suite = load_suite(folder / "gold_draft.qrels.tsv", topics=folder / "gold_draft.queries.jsonl")
        corpus = load_corpus(folder / "corpus_2022.jsonl").survey
        assert len(suite) == 58
        assert suite.dropped == {"topics_without_judgments": 2}
        assert len(corpus.ids) == 542
        assert {case.category for case in suite.cases} >= {"crud"}
        targets = {j.target for case in suite.cases for j in case.judgments}
        assert targets <= corpus.ids

    def test_xquad_in_two_languages(self, shared_data: Path) -> None:
        folder = shared_data / "xquad_en_es"
        suites = [load_suite(folder / "qrels.tsv", topics=folder / f"queries.{language}.jsonl") for language in ("en", "es")]
        assert [len(suite) for suite in suites] == [1190, 1190]
        assert suites[0].hashes["judgments"] == suites[1].hashes["judgments"]
        assert suites[0].hashes["queries"] != suites[1].hashes["queries"]

    def test_xquad_survives_the_way_through_beir(self, shared_data: Path, tmp_path: Path) -> None:
        folder = shared_data / "xquad_en_es"
        suite = load_suite(folder / "qrels.tsv", topics=folder / "queries.es.jsonl")
        save_suite(suite, tmp_path / "beir", format="beir")
        assert load_suite(tmp_path / "beir").hashes == suite.hashes

    @pytest.mark.parametrize(
        ("file", "mapping", "size"),
        [
            ("pira_pt_en/corpus.jsonl", ("text=pt",), None),
            ("gorilla_torchhub/torchhub_api.jsonl", ("id=api_name", "title=functionality", "text=description,performance"), 43),
            ("retail_fashion/fashion.jsonl", ("title=name",), 737),
            ("xquad_en_es/corpus.es.jsonl", (), 240),
        ],
    )
    def test_corpora_with_their_own_field_names(
        self, shared_data: Path, file: str, mapping: tuple[str, ...], size: int | None
    ) -> None:

        from searchmark import FieldMapping

        corpus = load_corpus(shared_data / file, FieldMapping.parse(mapping))
        assert len(corpus.survey.ids) == (size or len(corpus.survey.ids)) > 40
        assert all(document.text for document in corpus)
