"""Records in notebooks: frames that other libraries take as they are, and short lines of text."""

from __future__ import annotations

import re
import subprocess
import sys

import altair as alt
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import searchmark
from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    CompareSettings,
    Comparison,
    Hit,
    Judgment,
    Run,
    RunLabel,
    Scores,
    Suite,
    UsageError,
    compare,
    compare_runs,
    match_hits,
    score,
)
from searchmark.config.gates import DecisionRule, DecisionTable
from searchmark.measures.grammar import cut_measures, parse_measures
from searchmark.records.answers import STATUSES, Status
from tests.conftest import ROOT
from tests.reports.samples import HOSTILE, comparison_of, report_of
from tests.support.strategies import runs, suites

QUICKSTART = ROOT / "examples" / "quickstart"

SUITE = Suite.from_cases(
    "small",
    [
        Case("c1", "one", (Judgment("a", grade=2, rank=1), Judgment("b", "glob", 0, score_range=(0.2, 0.5))), "x", ("t", "u"), "o"),
        Case("c2", None, unanswerable=True, fields={"language": "de", "size": 3}),
    ],
)
RUN = Run.from_answers(
    RunLabel("bm25", "parent", 2),
    [
        Answer("c1", "ok", (Hit("b", 1, 0.5, True, (3, 9)), Hit("a", 2, None, True))),
        Answer("c2", "timeout", (), AnswerDetails((9.0,), (1.0, 2.0), first_hit_ms=0.5)),
    ],
)


GRADED, FOUND = Suite.from_grades({"q": {"a": 2, "b": 1}}), Run.from_scores({"q": {"x": 2.0, "a": 1.0}})


def written(text: str) -> str:
    """A text as a frame can hold it."""
    return text.encode("utf-8", "backslashreplace").decode()


@pytest.fixture(scope="module")
def quickstart() -> dict[str, searchmark.Suite | searchmark.Run | Scores | Comparison | searchmark.Decision]:
    """One record of every kind that has a frame."""
    suite = searchmark.load_suite(QUICKSTART / "suite.yaml")
    runs = [searchmark.load_run(QUICKSTART / name) for name in ("bm25.json", "semantic.json")]
    scores = searchmark.score_runs(suite, runs)
    rules = (DecisionRule("ship it", above=0.05), DecisionRule("drop it", below=0.0, categories=("all",)))
    report = compare_runs(suite, runs, options=CompareSettings(decisions=(DecisionTable("semantic", "bm25", rules),)))
    return {
        "suite": suite,
        "run": runs[1],
        "scores": scores[0],
        "comparison": compare(scores, ["category"]),
        "decision": report.decisions[0],
    }


KINDS = ("suite", "run", "scores", "comparison", "decision")


class TestSuiteFrame:
    def test_has_a_row_per_judgment_and_one_for_a_case_without_any(self) -> None:
        assert SUITE.frame().to_dicts() == [
            {"suite": "small", "case": "c1", "query": "one", "category": "x", "tags": '["t", "u"]', "origin": "o", "unanswerable": False,
             "fields": None, "target": "a", "match": "id", "grade": 2, "rank": 1, "score_low": None, "score_high": None,
             "gain": 2.0},
            {"suite": "small", "case": "c1", "query": "one", "category": "x", "tags": '["t", "u"]', "origin": "o", "unanswerable": False,
             "fields": None, "target": "b", "match": "glob", "grade": 0, "rank": None, "score_low": 0.2, "score_high": 0.5,
             "gain": 0.0},
            {"suite": "small", "case": "c2", "query": None, "category": None, "tags": None, "origin": None, "unanswerable": True,
             "fields": '{"language": "de", "size": 3}', "target": None, "match": None, "grade": None, "rank": None, "score_low": None,
             "score_high": None, "gain": None},
        ]  # fmt: skip

    @pytest.mark.slow
    @given(suites)
    def test_says_the_same_as_the_cases(self, suite: Suite) -> None:
        found = [
            (written(case.id), written(each.target), each.match, each.grade, each.rank)
            for case in suite.cases
            for each in case.judgments
        ]
        frame = suite.frame()
        assert frame.filter(pl.col("target").is_not_null()).select("case", "target", "match", "grade", "rank").rows() == found
        assert frame["case"].unique(maintain_order=True).to_list() == list(dict.fromkeys(written(case.id) for case in suite.cases))

    def test_columns_have_their_types_even_where_all_is_null(self) -> None:
        assert Suite.from_grades({}).frame().schema == SUITE.frame().schema
        assert Suite.from_grades({"q": {"a": 1}}).frame().schema == SUITE.frame().schema


class TestRunFrame:
    def test_has_a_row_per_hit_and_one_for_an_answer_without_any(self) -> None:
        assert RUN.frame().to_dicts() == [
            {"run": "bm25#2", "snapshot": "parent", "case": "c1", "status": "ok", "rank": 1, "id": "b", "score": 0.5, "valid": True,
             "first_line": 3, "last_line": 9},
            {"run": "bm25#2", "snapshot": "parent", "case": "c1", "status": "ok", "rank": 2, "id": "a", "score": None, "valid": True,
             "first_line": None, "last_line": None},
            {"run": "bm25#2", "snapshot": "parent", "case": "c2", "status": "timeout", "rank": None, "id": None, "score": None,
             "valid": None, "first_line": None, "last_line": None},
        ]  # fmt: skip

    def test_columns_have_their_types_even_where_all_is_null(self) -> None:
        assert Run.from_scores({}).frame().schema == RUN.frame().schema
        assert Run.from_scores({"q": {"a": 1.0}}).frame().schema == RUN.frame().schema

    def test_hits_are_in_the_order_of_their_ranks(self) -> None:
        run = Run.from_scores({"q1": {"low": 1.0, "high": 3.0, "mid": 2.0}, "none": {}, "q2": {"low": 1.0, "high": 2.0}})
        assert run.frame().select("case", "rank", "id", "score").rows() == [
            ("q1", 1, "high", 3.0), ("q1", 2, "mid", 2.0), ("q1", 3, "low", 1.0), ("none", None, None, None),
            ("q2", 1, "high", 2.0), ("q2", 2, "low", 1.0),
        ]  # fmt: skip

    @pytest.mark.slow
    @given(runs())
    def test_says_the_same_as_the_answers(self, run: Run) -> None:
        hits = [(written(each.case), hit.rank, written(hit.id), hit.score) for each in run.answers for hit in each.hits]
        frame = run.frame()
        assert frame.filter(pl.col("id").is_not_null()).select("case", "rank", "id", "score").rows() == hits
        assert frame["case"].unique(maintain_order=True).to_list() == list(dict.fromkeys(map(written, run.case_ids)))

    def test_ids_from_a_large_file_are_the_same_frame(self) -> None:
        listed = Run.from_scores({"q1": {"low": 1.0, "high": 3.0}, "q2": {"x": 1.0}})
        arrow = Run(listed.label, listed.case_ids, listed.starts, pl.Series(listed.ids), listed.scores, listed.status, listed.rank)
        assert arrow.frame().equals(listed.frame())

    def test_half_of_a_surrogate_pair_is_written_out(self) -> None:
        assert Run.from_answers("a", [Answer("q", "ok", (Hit("x\udcff", 1),))]).frame()["id"].to_list() == ["x\\udcff"]

    def test_times_are_a_frame_of_their_own(self) -> None:
        assert RUN.time_frame().to_dicts() == [
            {"run": "bm25#2", "snapshot": "parent", "kind": kind, "case": "c2", "status": "timeout", "search": search, "ms": ms}
            for kind, search, ms in [("cold", 1, 9.0), ("warm", 1, 1.0), ("warm", 2, 2.0), ("first_hit", 1, 0.5)]
        ]

    def test_times_of_an_index_alone_are_kinds_of_their_own(self) -> None:
        told = AnswerDetails(cold_ms=(9.0,), index_cold_ms=4.0, index_warm_ms=(2.0, 3.0))
        frame = Run.from_answers("a", [Answer("c1", "empty", (), told)]).time_frame()
        assert frame.select("kind", "search", "ms").rows() == [
            ("cold", 1, 9.0), ("index_cold", 1, 4.0), ("index_warm", 1, 2.0), ("index_warm", 2, 3.0)
        ]  # fmt: skip

    def test_what_agents_state_is_a_frame_of_its_own(self) -> None:
        index = {"ann_k": 10, "ann_recall": 0.9, "ann_overlap": 0.8}
        told = AnswerDetails(cost=0.5, tokens=7, tokens_by="gpt", retries=1, waited_ms=2.0, start_ms=3.0, **index)
        frame = Run.from_answers("a", [Answer("c1", "empty", (), told), Answer("c2", "empty")]).usage_frame()
        named = {"run": "a", "snapshot": None, "status": "empty"}
        usage = {"cost": 0.5, "tokens": 7, "tokens_by": "gpt", "retries": 1, "waited_ms": 2.0, "start_ms": 3.0, **index}
        assert frame.to_dicts() == [{**named, "case": "c1", **usage}, {**named, "case": "c2", **dict.fromkeys(usage)}]
        assert frame.schema == Run.from_scores({"q": {"a": 1.0}}).usage_frame().schema

    def test_a_run_that_was_not_watched_has_no_times(self) -> None:
        assert Run.from_scores({"q": {"a": 1.0}}).time_frame().is_empty()


class TestScoresFrame:
    def test_has_a_row_per_case_and_measure_with_the_reason_for_a_null(self) -> None:
        scores = score(match_hits(SUITE, RUN), ["RR", "Abstain"])
        rows = scores.frame().select("run", "snapshot", "case", "category", "status", "measure", "value").rows()
        assert rows == [
            ("bm25#2", "parent", "c1", "x", "ok", "RR", 0.5),
            ("bm25#2", "parent", "c1", "x", "ok", "Abstain", None),
            ("bm25#2", "parent", "c2", None, "timeout", "RR", None),
            ("bm25#2", "parent", "c2", None, "timeout", "Abstain", 0.0),
        ]
        assert [reason is None for reason in scores.frame()["reason"]] == [True, False, False, True]

    @pytest.mark.slow
    @given(suites, st.sampled_from(STATUSES))
    def test_reasons_are_those_of_the_single_values(self, suite: Suite, status: Status) -> None:
        run = Run.from_answers("one", [Answer(case, status) for case in suite.table.ids])
        scores = score(match_hits(suite, run), ["RR", "nDCG@10", "Abstain", "InRange", "Tau"])
        columns = range(len(scores.measures))
        expected = [scores.reason(row, column) for row in range(len(suite)) for column in columns]
        assert scores.frame()["reason"].to_list() == [reason and written(reason) for reason in expected]

    def test_columns_have_their_types_even_where_all_is_null(self) -> None:
        known, empty = (
            score(match_hits(SUITE, RUN), ["RR"]),
            score(match_hits(Suite.from_grades({"q": {"a": 1}}), Run.from_scores({"q": {}})), ["RR"]),
        )
        assert known.frame().schema == empty.frame().schema


class TestComparisonFrame:
    def test_has_a_row_per_pair_segment_and_measure(self, quickstart) -> None:
        comparison: Comparison = quickstart["comparison"]
        frame = comparison.frame()
        (pair,) = comparison
        assert len(frame) == len(pair.differences) * (1 + len(pair.segments["category"]))
        whole = frame.filter(pl.col("segment").is_null(), pl.col("measure") == "nDCG@10").to_dicts()[0]
        assert {name: whole[name] for name in vars(pair.differences[0])} == vars(pair.differences[0])
        assert whole["by"] is None
        crud = frame.filter(pl.col("by") == "category", pl.col("segment") == "crud", pl.col("measure") == "RR").to_dicts()[0]
        assert crud["difference"] == next(each for each in pair.segments["category"]["crud"] if each.measure == "RR").difference

    def test_is_a_sequence_of_its_pairs(self) -> None:
        pairs = comparison_of().pairs
        comparison = Comparison(pairs)
        assert (len(comparison), comparison[0], comparison[:1], list(comparison)) == (1, pairs[0], pairs[:1], list(pairs))
        assert comparison == Comparison(pairs)

    def test_a_report_that_was_read_gives_the_same_frame(self, tmp_path) -> None:
        report = comparison_of()
        (tmp_path / "report.json").write_text(searchmark.render(report, "json"))
        read = searchmark.read_report(tmp_path / "report.json")
        assert Comparison(read.pairs).frame().equals(Comparison(report.pairs).frame())


class TestDecisionFrame:
    def test_has_a_row_per_rule_and_segment(self, quickstart) -> None:
        rows = quickstart["decision"].frame().select("decision", "rule", "segment", "answer", "above", "below", "cases").rows()
        assert rows == [
            ("ship it", "ship it", "all cases", "yes", 0.05, None, 18),
            ("ship it", "drop it", "boards", "undecided", None, 0.0, 4),
            ("ship it", "drop it", "crud", "undecided", None, 0.0, 6),
            ("ship it", "drop it", "users", "undecided", None, 0.0, 4),
            ("ship it", "drop it", "workflow", "undecided", None, 0.0, 4),
        ]

    def test_the_gain_lies_in_its_interval(self, quickstart) -> None:
        first = quickstart["decision"].frame().to_dicts()[0]
        assert 0.05 < first["low"] < first["gain"] < first["high"]
        assert not first["absolute"]

    def test_a_table_without_rules_has_one_row(self) -> None:
        frame = searchmark.Decision("b", "a", "RR", "no clear gain", "b against a", (), ()).frame()
        assert frame.select("candidate", "decision", "rule").rows() == [("b", "no clear gain", None)]


@pytest.mark.parametrize("kind", KINDS)
class TestConsumers:
    """Each takes the record itself, whatever its kind."""

    def test_pandas(self, quickstart, kind: str) -> None:
        record = quickstart[kind]
        made = pd.DataFrame.from_arrow(record)
        assert (list(made.columns), len(made)) == (record.frame().columns, len(record.frame()))

    def test_pyarrow(self, quickstart, kind: str) -> None:
        assert pl.DataFrame(pa.table(quickstart[kind])).equals(quickstart[kind].frame())

    def test_duckdb_by_the_name_of_a_variable(self, quickstart, kind: str) -> None:
        record = quickstart[kind]  # noqa: F841  # read by name in the query
        assert duckdb.sql("select * from record").fetchall() == quickstart[kind].frame().rows()

    def test_altair(self, quickstart, kind: str) -> None:
        column = quickstart[kind].frame().columns[0]
        chart = alt.Chart(quickstart[kind]).mark_bar().encode(x=column, y="count()").to_dict()
        (values,) = chart["datasets"].values()
        assert chart["encoding"]["x"]["type"] == "nominal"
        assert len(values) == len(quickstart[kind].frame())


class TestText:
    def test_is_one_short_line_for_every_record(self, quickstart) -> None:
        assert [repr(quickstart[kind]) for kind in KINDS] == [
            "Suite('quickstart', 20 cases, 40 judgments)",
            "Run('semantic', 20 answers, 140 hits)",
            "Scores('bm25' on 'quickstart': nDCG@10 0.4601, RR 0.5139, R@10 0.5000, 4 more)",
            "Comparison('semantic' against 'bm25': IMPROVED by nDCG@10)",
            "Decision('semantic' against 'bm25' by nDCG@10: 'ship it')",
        ]

    def test_of_reports_and_gates(self) -> None:
        report = report_of(minimum=0.9)
        assert repr(report) == "Report('demo', 3 cases, 1 run: 'agent', gate untrusted)"
        assert repr(report.gate) == "Gate(untrusted, 1 rule; not met: 'RR')"

    @pytest.mark.parametrize("name", [HOSTILE, "x" * 1_000_000], ids=["hostile", "long"])
    def test_stays_one_short_visible_line_whatever_the_names(self, name: str) -> None:
        suite = Suite.from_grades({f"q{n}": {"a": 1} for n in range(12)}, name=name)
        run = Run.from_scores({f"q{n}": {"a": 1.0} for n in range(12)}, agent=name)
        scores = [score(match_hits(suite, run), ["RR"])] * 2
        report = compare_runs(suite, [run, run], ["RR"])
        records = [suite, run, scores[0], compare(scores), report, searchmark.Decision(name, name, "RR", name, name, (), ())]
        assert all(len(repr(record)) < 300 and repr(record).isprintable() for record in records)


class TestMeansByName:
    @pytest.mark.parametrize(
        ("asked", "computed"),
        [("MRR", "RR"), ("mrr", "RR"), ("recip_rank", "RR"), ("Precision@5", "P@5"), ("P_5", "P@5"), ("HitRate@5", "Success@5"),
         ("hit rate@5", "Success@5"), ("ndcg_cut_10", "nDCG@10"), ("mine", "mine")],
    )  # fmt: skip
    def test_a_measure_goes_by_any_of_its_names(self, asked: str, computed: str) -> None:
        scores = score(match_hits(GRADED, FOUND), ["RR", "P@5", "Success@5", "nDCG@10", "mine = 0.5*P@5 + 0.5*RR"])
        assert scores.mean(asked) == scores.means()[computed]

    def test_a_measure_that_the_depth_has_cut_goes_by_the_name_that_was_asked_for(self) -> None:
        scores = score(match_hits(GRADED, FOUND), cut_measures(parse_measures(["RR"]), 2))
        assert scores.names == ["RR@2"]
        assert scores.mean("MRR") == scores.mean("RR@2") == 0.5

    @pytest.mark.parametrize("asked", ["nonsense", "AP", "P@7", ""])
    def test_one_that_was_not_computed_is_named_with_those_that_were(self, asked: str) -> None:
        with pytest.raises(UsageError, match=f"the measure '{asked}' was not computed; available: RR, P@5"):
            score(match_hits(SUITE, RUN), ["RR", "P@5"]).mean(asked)


def test_nothing_that_only_notebooks_need_is_loaded_for_a_score_and_its_line_of_text() -> None:
    statement = (
        "import searchmark as s, sys; "
        "print(s.score(s.match_hits(s.Suite.from_grades({'q': {'a': 1}}), s.Run.from_scores({'q': {'a': 1.0}})), ['RR'])); "
        "print(*{'polars', 'jinja2', 'narwhals', 'searchmark.reports.render'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["Scores('run' on 'suite': RR 1.0000)", ""]


@pytest.mark.slow
def test_no_consumer_is_loaded_by_a_frame() -> None:
    statement = (
        "import searchmark as s, sys; s.Run.from_scores({'q': {'a': 1.0}}).frame().__arrow_c_stream__(); "
        "print(*{'pandas', 'pyarrow', 'duckdb', 'altair', 'narwhals'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True).stdout == "\n"


@pytest.mark.parametrize("kind", KINDS)
def test_every_column_is_documented_in_its_order(quickstart, kind: str) -> None:
    page = (ROOT / "docs" / "notebooks.md").read_text()
    section = re.search(rf"### (?:A |An )?{kind}\b.*?(?=\n### |\Z)", page, re.DOTALL | re.IGNORECASE)
    assert section is not None
    rows = [line.split("|")[1] for line in section[0].splitlines() if line.startswith("| `")]
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == quickstart[kind].frame().columns
