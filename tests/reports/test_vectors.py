"""What an index takes and finds, and what vectors are like: in every format, kept with every run, and said where it is odd."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Experiment,
    Finding,
    Hit,
    Judgment,
    Provenance,
    Report,
    RetrievalAgent,
    RetrievalResult,
    Run,
    SearchScope,
    Suite,
    build_report,
    compare_runs,
    load_run,
    match_hits,
    read_report,
    render,
    save_run,
    score,
)
from searchmark.agents.protocol import Usage
from searchmark.agents.vectors.index import statistics_of
from searchmark.records.provenance import AgentIdentity, VectorStatistics, only_model
from searchmark.reports.build import past_runs
from searchmark.reports.report import indexes_of
from searchmark.reports.text import to_text
from searchmark.scoring.costs import price_sentences

SUITE = Suite.from_cases("s", [Case(f"c{n}", f"query {n}", (Judgment("a"),)) for n in range(12)])
TIME = datetime(2026, 11, 16, 5, tzinfo=UTC)
FOUND = AnswerDetails(
    (9.0,), (8.0, 7.0), index_cold_ms=0.4567, index_warm_ms=(0.125, 0.25), ann_k=10, ann_recall=0.9, ann_overlap=0.8
)
LOW = replace(FOUND, ann_recall=0.3, ann_overlap=0.2)
VECTORS = VectorStatistics(300, 256, True, norm_mean=1.0, norm_std=0.0, norm_min=1.0, norm_max=1.0, duplicates=2)
HNSW = AgentIdentity(
    "semantic",
    description={"embedder": {"model": "e5", "normalize": True}, "distance": "cosine", "index": {"name": "hnsw", "m": 16}},
)


def run_of(*details: AnswerDetails, name: str = "tool", **known: object) -> Run:
    """A run that has these details of its first answers, and of all others the last."""
    each = [*details, *[details[-1]] * (len(SUITE) - len(details))]
    answers = [
        Answer(case, "ok", (Hit("a", 1, 0.75), Hit("zz", 2, 0.25)), told) for case, told in zip(SUITE.table.ids, each, strict=True)
    ]
    return Run.from_answers(name, answers, provenance=Provenance(**known))  # type: ignore[arg-type]  # its own fields


def report_of(*details: AnswerDetails, **known: object) -> Report:
    return build_report(score(match_hits(SUITE, run_of(*details, **known)), ["RR"]))


def findings_of(vectors: VectorStatistics, distance: str = "cosine") -> dict[str, Finding]:
    agent = AgentIdentity("mine", description={"distance": distance})
    return {each.code: each for each in report_of(FOUND, vectors=(vectors,), agent=agent).audit}


class TestFormats:
    @pytest.mark.parametrize("name", ["text", "markdown", "html", "summary", "summary-csv"])
    def test_recall_is_told_with_its_k(self, name: str) -> None:
        assert "ANN recall@10" in render(report_of(FOUND), name)

    @pytest.mark.parametrize("name", ["text", "markdown", "html", "json"])
    def test_recall_and_overlap_are_beside_each_other(self, name: str) -> None:
        assert next(line for line in render(report_of(FOUND), name).splitlines() if "0.9" in line and "0.8" in line)

    @pytest.mark.parametrize("name", ["text", "markdown", "html"])
    def test_the_time_of_the_index_alone_says_of_which_searches(self, name: str) -> None:
        assert "index only (warm)" in render(report_of(FOUND), name)
        assert "index only (cold)" in render(report_of(replace(FOUND, index_warm_ms=())), name)

    @pytest.mark.parametrize("name", ["text", "markdown", "html", "summary-csv"])
    def test_scores_and_norms_are_told_with_their_spread(self, name: str) -> None:
        text = render(report_of(FOUND, vectors=(VECTORS,)), name)
        assert [
            part for part in ("score of the first hit", "mean score of the first ten hits", "norm of vectors") if part not in text
        ] == []

    @pytest.mark.parametrize("name", ["text", "markdown", "html", "summary-csv"])
    def test_scores_that_were_made_of_those_of_arms_are_no_similarities(self, name: str) -> None:
        text = render(report_of(FOUND, vectors=(replace(VECTORS, arm="v"),)), name)
        assert ("norm of vectors of v" in text, "score of the first" in text) == (True, False)

    @pytest.mark.parametrize("name", ["text", "markdown"])
    def test_vectors_are_counted(self, name: str) -> None:
        assert "ectors: 300 of dimension 256, 0 of zeros, 2 duplicates" in render(report_of(FOUND, vectors=(VECTORS,)), name)

    def test_an_agent_without_vectors_has_none_of_these(self) -> None:
        text = render(report_of(AnswerDetails((3.0,))))
        assert [part for part in ("ANN", "index only", "vectors", "score of the first hit") if part in text] == []
        (agent,) = json.loads(render(report_of(AnswerDetails((3.0,))), "json"))["agents"].values()
        assert {"ann", "vectors"} & agent.keys() == set()

    def test_an_exact_index_says_so(self) -> None:
        exact = replace(HNSW, description={"index": {"name": "exact"}})
        assert "ANN recall@10 (exact index)" in render(report_of(FOUND, agent=exact))
        assert "ANN recall@10 (exact index)" not in render(report_of(FOUND, agent=HNSW))

    def test_a_row_of_csv_has_them_of_its_case(self) -> None:
        header, row, *_ = (line.split(",") for line in render(report_of(LOW, FOUND), "csv").splitlines())
        cells = dict(zip(header[-6:-1], row[-6:-1], strict=True))
        assert cells == {
            "index_cold_ms": "0.4567", "index_warm_ms": "0.1875", "ann_k": "10", "ann_recall": "0.3", "ann_overlap": "0.2"
        }  # fmt: skip

    def test_the_page_tells_them_case_by_case(self) -> None:
        page = render(report_of(FOUND), "html")
        facts = (
            "of the nearest 10 vectors",
            "ANN recall 0.9, overlap 0.8",
            "first search 0.457 ms, median of the repeats 0.188 ms",
        )
        assert [part for part in facts if f'"{part}"' not in page] == []

    def test_markdown_has_versions_and_the_best_cases(self) -> None:
        text = render(report_of(FOUND, agent=HNSW), "markdown")
        assert "### Highest cases" in text
        assert "| model\\_version | e5 |" in text

    @pytest.mark.parametrize("width", [60, 80, 120])
    def test_tables_fit_the_terminal(self, width: int) -> None:
        text = to_text(report_of(FOUND, vectors=(VECTORS,)), width=width)
        assert [line for line in text.splitlines() if len(line) > width] == []

    def test_a_report_that_was_read_back_is_the_same(self, tmp_path: Path) -> None:
        report, path = report_of(LOW, FOUND, vectors=(VECTORS,), agent=HNSW), tmp_path / "report.json"
        path.write_text(render(report, "json"))
        formats = ("json", "text", "markdown", "csv", "summary-csv", "html")
        assert [name for name in formats if render(read_report(path), name) != render(report, name)] == []


class Searcher(RetrievalAgent):
    """Knows what its index took and found."""

    name = "searcher"
    needs_corpus = False

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(["a", "zz"], index_ms=0.001)

    def usage_of_last(self) -> Usage:
        return Usage(ann_k=10, ann_recall=0.75, ann_overlap=0.5)

    def vectors(self) -> list[VectorStatistics]:
        return [VECTORS]


@pytest.fixture(scope="module")
def run() -> Run:
    """What the searcher has answered, in a process of its own."""
    (run,) = Experiment(SUITE, [Searcher()], where=SearchScope(service="shop")).run().runs
    return run


class TestKept:
    def test_a_run_knows_them(self, run: Run) -> None:
        details = run.details_of(0)
        assert (details.ann_k, details.ann_recall, details.ann_overlap) == (10, 0.75, 0.5)
        assert details.index_cold_ms == 0.001
        assert list(details.index_warm_ms) == [0.001] * len(details.warm_ms)
        assert run.provenance.vectors == (VECTORS,)

    def test_a_saved_run_is_read_with_all_of_them(self, run: Run, tmp_path: Path) -> None:
        save_run(run, tmp_path / "run.jsonl")
        assert load_run(tmp_path / "run.jsonl") == run

    def test_an_archive_keeps_them(self, run: Run) -> None:
        report = build_report(score(match_hits(SUITE, run), ["RR"]))
        (past,) = past_runs("e1", TIME, report)
        assert (past.ann["10"].recall, past.latency_ms["index_only"].of, past.vectors) == (0.75, "warm", (VECTORS,))

    def test_a_change_of_normalisation_is_a_cause(self) -> None:
        raw = replace(HNSW, description={"embedder": {"model": "e5", "normalize": False}})
        found = [report_of(FOUND, agent=agent) for agent in (HNSW, raw)]
        assert [past_runs("e", TIME, each)[0].fingerprints.normalisation for each in found] == ["normalised", "not normalised"]


class TestNotes:
    def test_vectors_that_are_as_they_should_be_need_no_word(self) -> None:
        assert findings_of(replace(VECTORS, duplicates=0)) == {}

    @pytest.mark.parametrize(
        ("odd", "code", "message"),
        [
            ({"not_finite": 3}, "vectors-not-finite", "3 of 300 vectors hold a NaN or an infinity"),
            ({"wrong_dimension": 1}, "vectors-of-other-dimension", "1 of 300 vectors have another dimension than 256"),
            ({"zero": 4, "arm": "v"}, "zero-vectors", "4 of 300 vectors of v are all zeros"),
            ({"zero": 4, "looked_at": 50}, "zero-vectors", "4 of 50 vectors that were looked at, of 300, are all zeros"),
            ({"duplicates": 2}, "duplicate-vectors", "2 of 300 vectors have the same numbers as an earlier one"),
            (
                {"norm_min": 0.5, "norm_max": 1.7, "norm_mean": 1.2},
                "unnormalised-vectors",
                "300 vectors were to have length one, and have 0.5 to 1.7, mean 1.2",
            ),
            (
                {"unit_before": 299, "zero": 0, "count": 299},
                "double-normalised",
                "299 vectors had length one already and were normalised again, which changed nothing",
            ),
            ({"normalized": False}, "normalised-already", "300 vectors have length one though normalize is false"),
        ],
    )
    def test_what_is_odd_is_said_with_what_to_do(self, odd: dict[str, object], code: str, message: str) -> None:
        (found,) = findings_of(replace(VECTORS, **{"duplicates": 0} | odd)).values()  # type: ignore[arg-type]  # its own fields
        assert (found.code, found.message) == (code, message)
        assert found.fix is not None

    def test_zeros_are_no_vectors_of_length_one_and_not_unnormalised_either(self) -> None:
        half = statistics_of([np.repeat(np.eye(2, dtype=np.float32), [40, 0], axis=0), np.zeros((40, 2), np.float32)], 2)
        assert set(findings_of(replace(half, normalized=True, duplicates=0))) == {"zero-vectors"}
        found = findings_of(replace(half, normalized=False, duplicates=0))
        assert found["normalised-already"].message == "40 of 80 vectors have length one though normalize is false"
        assert set(findings_of(replace(half, normalized=False, duplicates=0), "l2")) == {"zero-vectors", "normalised-already"}
        text = to_text(report_of(FOUND, vectors=(half,)))
        assert next(line.split()[-4:] for line in text.splitlines() if "norm of vectors" in line) == [
            "0.5000",
            "0.5000",
            "80",
            "vectors",
        ]

    def test_a_vector_that_has_length_one_by_chance_is_not_double_normalised(self) -> None:
        assert findings_of(replace(VECTORS, duplicates=0, unit_before=7)) == {}

    @pytest.mark.parametrize(("distance", "said"), [("cosine", False), ("ip", True), ("l2", True)])
    def test_lengths_matter_where_the_distance_goes_by_them(self, distance: str, said: bool) -> None:
        raw = replace(VECTORS, normalized=False, norm_min=0.5, norm_max=1.7, norm_mean=1.2)
        assert ("unnormalised-vectors" in findings_of(raw, distance)) is said


class TestAdvice:
    def advice_of(self, report: Report) -> list[tuple[str, tuple[str, ...]]]:
        return [(each.advice, each.cases) for each in report.recommendations if each.code == "raise-ann-recall"]

    def test_an_index_that_misses_neighbours_is_named_with_its_cases_and_its_parameter(self) -> None:
        report = report_of(LOW, LOW, replace(FOUND, ann_recall=1.0), agent=HNSW)
        advice = (
            "Raise ef_search above the number of hits that are asked for (--depth), "
            "and compare with index: exact, which tells whether relevance is lost."
        )
        assert self.advice_of(report) == [(advice, ("c0", "c1"))]
        (seen,) = [each.seen for each in report.recommendations if each.code == "raise-ann-recall"]
        assert (
            seen == "the index found 88.3 % of the true nearest 10 vectors (mean of 12 searches), and less than 95 % in 2 of them"
        )

    def test_an_index_that_finds_enough_needs_no_advice(self) -> None:
        assert self.advice_of(report_of(replace(FOUND, ann_recall=0.95), agent=HNSW)) == []

    def test_a_mean_of_four_searches_is_too_few(self) -> None:
        assert self.advice_of(report_of(LOW, LOW, LOW, LOW, AnswerDetails(), agent=HNSW)) == []

    def test_a_report_that_was_read_supports_the_same(self, tmp_path: Path) -> None:
        report, path = report_of(LOW, FOUND, agent=HNSW), tmp_path / "report.json"
        path.write_text(render(report, "json"))
        assert read_report(path).recommendations == report.recommendations
        assert len(self.advice_of(report)) == 1


class TestComparison:
    def test_runs_are_side_by_side(self) -> None:
        report = compare_runs(SUITE, [run_of(FOUND, name="a"), run_of(AnswerDetails((3.0,)), name="b")], ["RR"])
        text = render(report)
        assert "index only p50 / p95" in text
        assert "0.125 / 0.25 ms" in text
        assert "ANN recall@10" in text

    def test_indexes_are_priced_like_with_like(self) -> None:
        slower, cold = replace(FOUND, index_warm_ms=(0.5, 0.5)), replace(FOUND, index_warm_ms=())
        (told,) = [each for each in price_sentences(run_of(FOUND), run_of(slower)) if "index alone" in each]
        assert told.startswith("latency of the index alone: 4.0x that of tool (p50 0.12 ms")
        assert [each for each in price_sentences(run_of(FOUND), run_of(cold)) if "index alone" in each] == []


def test_the_values_of_a_filter_describe_no_agent() -> None:
    said = {
        **HNSW.description,
        "filter": {"embedder": "other", "index": "exact", "model": "x", "chunking": ["y"]},
    }
    agent = replace(HNSW, description=said)
    assert (only_model(said), indexes_of(agent)) == ("e5", ["hnsw"])
    versions = next(iter(report_of(FOUND, agent=agent).agents.values())).versions
    assert (versions.model_version, versions.chunking_config) == ("e5", None)
