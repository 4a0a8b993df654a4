"""What a sweep says, from runs whose answers are known."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from searchmark import Answer, AnswerDetails, Case, Hit, Judgment, NothingEvaluated, Provenance, Run, Suite
from searchmark.experiments.sweep import RowOutcome
from searchmark.experiments.sweep_grid import SweepSettings, grid_of
from searchmark.experiments.sweep_rows import sweep_result
from searchmark.records.provenance import Environment, IndexBuild, VectorStatistics
from searchmark.reports.chart_data import beaten_by_none
from searchmark.reports.page.pictures import labels
from searchmark.reports.sweep import Sweep, sweep_csv, sweep_html, sweep_json, sweep_markdown, sweep_text

CASES = 400
SUITE = Suite.from_cases("shop", [Case(f"c{i}", f"q{i}", judgments=(Judgment(f"d{i}"),)) for i in range(CASES)])


def run(
    name: str,
    lost: int,
    index_ms: float | None,
    *,
    recall: float | None = 1.0,
    size: int = 1000,
    swapped: int = 0,
    slow: float | None = None,
    hour: int = 12,
    warm: tuple[float, ...] = (),
    vectors: VectorStatistics | None = None,
    host: str | None = None,
    workers: int = 1,
) -> Run:
    """One that loses the target of the first cases, takes so long, and ranks some cases in another order.

    ``slow``: what each tenth search takes; ``warm``: what the index takes in repeats.
    """
    answers = []
    for i in range(CASES):
        ids = ["nothing" if i < lost else f"d{i}", *(("a", "b") if i >= swapped else ("b", "a"))]
        answers.append(Answer(f"c{i}", "ok", tuple(Hit(each, rank) for rank, each in enumerate(ids, 1))))
    told: dict[str, Any] = {} if recall is None else {"ann_k": 10, "ann_recall": recall, "ann_overlap": recall}
    times = [slow if slow is not None and i % 10 == 0 else index_ms for i in range(CASES)]
    told["index_warm_ms"] = warm
    details = tuple(AnswerDetails(cold_ms=(5.0,), warm_ms=(3.0, 3.0), index_cold_ms=each, **told) for each in times)
    started = datetime(2026, 3, 1, hour, tzinfo=UTC)
    provenance = Provenance(started=started, ended=started + timedelta(minutes=5), index=IndexBuild(seconds=1.5, bytes=size))
    environment = Environment("3.12", "Linux", host=host)
    known = () if vectors is None else (vectors,)
    provenance = replace(provenance, vectors=known, environment=environment, workers=workers)
    return replace(Run.from_answers(name, answers), details=details, provenance=provenance)


def swept(grid: dict[str, Any], runs: Sequence[dict[str, Any] | str], **more: Any) -> Sweep:
    """The runs of all settings, in their order; a text is why there is none."""
    config = SweepSettings(grid, **more)
    found = grid_of(config)
    outcomes = [
        RowOutcome(setting, None, made) if isinstance(made, str) else RowOutcome(setting, run(setting.name, **made))
        for setting, made in zip(found.settings, runs, strict=True)
    ]
    return sweep_result(SUITE, config, found, outcomes, config.depth)


FOUR = {"index": ["exact", {"name": "hnsw", "ef_search": [10, 40, 160]}]}


def four(*better: dict[str, Any]) -> Sweep:
    return swept(FOUR, [{"lost": 0, "index_ms": 4.0}, *better])


def test_the_sentence_names_the_cheapest_setting_that_loses_less_than_the_margin():
    sweep = four(
        {"lost": 60, "index_ms": 0.1, "recall": 0.7}, {"lost": 0, "index_ms": 0.5, "recall": 0.95}, {"lost": 0, "index_ms": 1.0}
    )
    assert sweep.cheapest == "hnsw ef_search=40"
    assert sweep.sentence.startswith(
        "Cheapest setting shown to lose less than 0.02 nDCG@10 against exact: hnsw ef_search=40, p95 0.5 ms index only, 1 KB "
        "instead of p95 4 ms index only, 1 KB; nDCG@10 +0.0000"
    )
    assert "after Holm's correction for 3 settings" in sweep.sentence
    assert "only the quality is a claim" in sweep.sentence
    assert [row.on_frontier for row in sweep.rows] == [False, True, True, True]


class TestHosts:
    BETTER = ({"lost": 60, "index_ms": 0.1}, {"lost": 0, "index_ms": 0.5, "size": 300}, {"lost": 0, "index_ms": 1.0})
    REFUSED = "latencies are not compared: exact was measured on ci-1 and hnsw ef_search=10 on ci-2 (4 runs on 2 hosts)"

    def of(self, baseline: str | None, others: str | None) -> Sweep:
        runs = [{"lost": 0, "index_ms": 4.0, "host": baseline}, *({**each, "host": others} for each in self.BETTER)]
        return swept(FOUR, runs)

    def test_rows_of_different_hosts_are_not_decided_by_their_times(self):
        sweep = self.of("ci-1", "ci-2")
        assert sweep.sentence == (
            f"Which setting is cheapest is not decided: {self.REFUSED}. "
            "Shown to lose less than 0.02 nDCG@10 against exact: hnsw ef_search=40, hnsw ef_search=160."
        )
        assert (sweep.cheapest, sweep.not_compared) == (None, self.REFUSED)
        assert {(row.on_frontier, row.on_quality_frontier) for row in sweep.rows} == {(None, None)}
        assert f"{self.REFUSED}; --fresh measures all again, on one host" in sweep.notes

    @pytest.mark.slow
    def test_quality_is_shown_as_ever(self):
        here, apart = self.of("ci-1", "ci-1"), self.of("ci-1", "ci-2")
        assert [row.against_baseline for row in here.rows] == [row.against_baseline for row in apart.rows]
        assert [row.measures for row in here.rows] == [row.measures for row in apart.rows]

    @pytest.mark.slow
    @pytest.mark.parametrize("hosts", [("ci-1", "ci-1"), (None, None), ("ci-1", None)])
    def test_one_host_or_an_unknown_one_is_decided(self, hosts: tuple[str | None, str | None]):
        assert self.of(*hosts).cheapest == "hnsw ef_search=40"

    def test_every_format_names_the_host_of_each_row_and_decides_nothing(self):
        sweep = self.of("ci-1", "ci-2")
        for said in (sweep_text(sweep), sweep_markdown(sweep), "".join(sweep_html(sweep))):
            assert "Which setting is cheapest is not decided" in said
            assert "frontier of recall" not in said
            assert "ci-2" in said
        assert [row["hosts"] for row in csv.DictReader(io.StringIO(sweep_csv(sweep)))] == ["ci-1", "ci-2", "ci-2", "ci-2"]
        assert json.loads(sweep_json(sweep))["not_compared"] == self.REFUSED


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "told"), [(4, True), (2, False)])
def test_rows_of_other_numbers_of_workers_are_noted(workers: int, told: bool):
    runs = [{"lost": 0, "index_ms": 1.0, "workers": each} for each in (2, 2, workers, 2)]
    note = "rows were measured by 2 to 4 workers at a time: times may not be comparable; --fresh measures all again"
    assert (note in swept(FOUR, runs).notes) is told


def test_of_equally_fast_settings_the_smaller_one_is_cheaper():
    sweep = four(
        {"lost": 0, "index_ms": 0.5, "size": 900},
        {"lost": 0, "index_ms": 0.5, "size": 300},
        {"lost": 0, "index_ms": 0.5, "size": 600},
    )
    assert sweep.cheapest == "hnsw ef_search=40"


def test_the_baseline_stays_where_nothing_that_is_as_good_is_cheaper():
    sweep = four({"lost": 100, "index_ms": 0.1}, {"lost": 0, "index_ms": 9.0}, {"lost": 0, "index_ms": 8.0})
    assert sweep.cheapest == "exact"
    assert sweep.sentence.startswith("Keep exact (p95 4 ms index only, 1 KB): of 2 settings shown")


@pytest.mark.slow
def test_where_nothing_is_shown_the_sentence_says_what_is_missing():
    worse = four(*({"lost": 40, "index_ms": 0.1},) * 3)
    assert worse.cheapest is None
    assert worse.sentence.startswith(
        "No setting was shown to lose less than 0.02 nDCG@10 against exact: more cases like these would not show it either. "
        "Nearest so far: hnsw ef_search=10, nDCG@10 -0.1000, interval -0.13"
    )
    close = four({"lost": 6, "index_ms": 0.1}, {"lost": 5, "index_ms": 0.1}, {"lost": 7, "index_ms": 0.1})
    assert close.cheapest is None
    assert "400 cases are too few, about 2900 are needed. Nearest so far: hnsw ef_search=40" in close.sentence


def test_no_fewer_cases_are_needed_than_there_are_where_they_did_not_show_it():
    """Two gains and one loss in 40 cases: the mean is nearly 0, and its interval is wide."""
    suite = Suite.from_cases("few", list(SUITE.cases[:40]))
    found = grid_of(SweepSettings({"index": ["exact", "hnsw", "sqlite_vec"]}))
    ranks = [{0: 2, 1: 2}, {2: 2}, {}]
    runs = [
        Run.from_answers(
            setting.name, [Answer(f"c{i}", "ok", (Hit("a" if i in rank else f"d{i}", 1), Hit(f"d{i}", 2))) for i in range(40)]
        )
        for setting, rank in zip(found.settings, ranks, strict=True)
    ]
    sweep = sweep_result(
        suite, SweepSettings({}), found, [RowOutcome(*each) for each in zip(found.settings, runs, strict=True)], 10
    )
    needed = [row.against_baseline.non_inferior.cases_needed for row in sweep.rows[1:]]
    assert all(each > 100 for each in needed)
    assert "40 cases are too few, about " in sweep.sentence


@pytest.mark.slow
def test_a_second_sentence_says_whether_the_best_setting_is_worth_its_price():
    grid = {"embedder": [{"name": "hashing", "dimension": [64, 128, 256]}]}
    base = {"lost": 60, "index_ms": 2.0, "size": 1000}
    sweep = swept(grid, [base, {"lost": 20, "index_ms": 4.0, "size": 3000}, {"lost": 58, "index_ms": 1.0}])
    assert sweep.best == "hashing dimension=128"
    assert "Best nDCG@10: hashing dimension=128, nDCG@10 +0.1000, interval +0.0" in sweep.sentence
    assert sweep.sentence.endswith(
        "after Holm's correction for 2 comparisons: IMPROVED, at 1 times the p95 and 3 times the bytes of the baseline."
    )
    unclear = swept(grid, [base, {"lost": 58, "index_ms": 4.0}, {"lost": 61, "index_ms": 1.0}]).sentence
    assert "nDCG@10 +0.0050" in unclear
    assert "IMPROVED" not in unclear


def test_there_is_no_second_sentence_where_the_baseline_is_the_best():
    sweep = four(*({"lost": lost, "index_ms": 0.1} for lost in (0, 10, 20)))
    assert sweep.best is None
    assert "Best" not in sweep.sentence


def test_recall_is_compared_among_settings_that_search_the_same_vectors():
    grid = {"index": ["exact", "hnsw"], "fields": [["title"], ["title", "text"]]}
    sweep = swept(
        grid,
        [
            {"lost": 0, "index_ms": 1.0},
            {"lost": 0, "index_ms": 3.0},
            {"lost": 90, "index_ms": 0.5, "recall": 0.9},
            {"lost": 0, "index_ms": 2.0, "recall": 0.8},
        ],
        baseline={"fields": ["title"], "distance": "cosine", "index": "exact"},
    )
    assert [row.vectors_group for row in sweep.rows] == [1, 2, 1, 2]
    assert [row.on_frontier for row in sweep.rows] == [True, True, True, True]
    assert [row.on_quality_frontier for row in sweep.rows] == [True, False, True, False]


def test_a_setting_that_failed_is_a_row_with_its_reason():
    sweep = four("no server at localhost:5432", {"lost": 0, "index_ms": 1.0}, {"lost": 0, "index_ms": 2.0})
    assert sweep.rows[1].failure == "no server at localhost:5432"
    assert sweep.rows[1].index_ms is None
    assert sweep.rows[1].against_baseline is None
    assert sweep.rows[2].against_baseline.non_inferior.family == 2
    assert "hnsw ef_search=10 has no numbers: no server at localhost:5432" in sweep.notes


def test_without_its_baseline_a_sweep_claims_nothing():
    sweep = swept(FOUR, ["it burned", *({"lost": 0, "index_ms": 1.0},) * 3])
    assert sweep.cheapest is None
    assert sweep.sentence == "Nothing can be said about the cost in relevance: the baseline (exact) failed: it burned"


def test_without_any_run_there_is_no_sweep():
    with pytest.raises(NothingEvaluated, match="no setting could be measured: it burned"):
        swept(FOUR, ["it burned"] * 4)


def test_what_is_not_measured_is_none():
    row = four(*({"lost": 0, "index_ms": None, "recall": None},) * 3).rows[1]
    assert (row.ann_recall, row.ann_overlap, row.ann_k, row.index_ms, row.vectors, row.on_frontier) == (None,) * 6


def test_where_embedders_differ_the_whole_search_decides():
    grid = {"embedder": [{"name": "hashing", "dimension": [64, 128]}]}
    sweep = swept(grid, [{"lost": 0, "index_ms": 1.0}, {"lost": 0, "index_ms": 0.5}])
    assert sweep.decided_by == "end to end, cold"
    assert sweep.p95(sweep.rows[0]) == 5.0


def test_normalising_does_not_make_another_embedder():
    sweep = swept({"normalize": [True, False]}, [{"lost": 0, "index_ms": 1.0}, {"lost": 0, "index_ms": 0.5}])
    assert sweep.decided_by == "index only"


def test_where_models_differ_the_whole_search_decides():
    sweep = swept({"model": ["small", "large"]}, [{"lost": 0, "index_ms": 1.0}, {"lost": 0, "index_ms": 0.5}])
    assert sweep.decided_by == "end to end, cold"


def test_cold_times_of_an_index_are_not_held_against_warm_ones():
    first, second = {"lost": 0, "index_ms": 1.0}, {"lost": 0, "index_ms": 1.0, "warm": (0.5,)}
    assert swept({"distance": ["cosine", "ip"]}, [first, second]).decided_by == "end to end, cold"
    assert swept({"distance": ["cosine", "ip"]}, [second, second]).decided_by == "index only"


UNIT = VectorStatistics(10, 4, norm_mean=1.0, norm_std=0.0, norm_min=0.9999, norm_max=1.0001)


def test_rankings_that_should_be_equal_are_compared_and_not_assumed():
    grid = {"distance": ["cosine", "ip", "l2"]}
    same, other = ({"lost": 0, "index_ms": 1.0, "swapped": swapped, "vectors": UNIT} for swapped in (0, 3))
    first, second, third = swept(grid, [same, same, other]).equivalences
    assert first.sentence == "cosine and ip on normalised vectors: same ranking in 400 of 400 cases"
    assert second.sentence == "cosine and l2 on normalised vectors: same ranking in 397 of 400 cases; different in c0, c1, c2"
    assert third.same == 397


@pytest.mark.slow
@pytest.mark.parametrize(
    "vectors",
    [
        None,
        replace(UNIT, norm_max=1.01),
        replace(UNIT, norm_min=0.5),
        replace(UNIT, zero=1),
        replace(UNIT, norm_min=None, norm_max=None),
    ],
)
def test_distances_on_vectors_not_measured_to_have_length_one_are_not_expected_to_rank_alike(vectors):
    grid = {"distance": ["cosine", "ip"]}
    assert swept(grid, [{"lost": 0, "index_ms": 1.0, "vectors": vectors}] * 2).equivalences == ()


def test_the_frontier_has_what_none_beats_in_both():
    points = {"a": (1.0, 5.0), "b": (0.9, 1.0), "c": (0.8, 2.0), "d": (0.9, 1.0), "e": (None, 1.0), "f": (0.5, None)}
    assert beaten_by_none(points) == {"a": True, "b": True, "c": False, "d": True}


@pytest.fixture
def hostile() -> Sweep:
    grid = {"filter": [None, {"brand": ["<script>alert(1)</script>|`x`", "=cmd()"]}]}
    return swept(grid, [{"lost": 0, "index_ms": 1.0}] * 2)


def test_markup_in_a_setting_stays_text_everywhere(hostile):
    assert "<script>alert" not in "".join(sweep_html(hostile))
    assert "&lt;script&gt;alert" in "".join(sweep_html(hostile))
    assert r"\<script\>" in sweep_markdown(hostile)
    assert r"\|" in sweep_markdown(hostile)
    rows = list(csv.DictReader(io.StringIO(sweep_csv(hostile))))
    assert not any(cell.startswith(("=", "+", "-", "@")) and not cell[1:2].isdigit() for row in rows for cell in row.values())


def test_the_json_has_its_version_and_every_number():
    sweep = four({"lost": 60, "index_ms": 0.1}, {"lost": 0, "index_ms": 0.5}, "it burned")
    data = json.loads(sweep_json(sweep))
    assert (data["schema_version"], data["record"]) == (1, "sweep")
    assert [row["name"] for row in data["rows"]] == ["exact", "hnsw ef_search=10", "hnsw ef_search=40", "hnsw ef_search=160"]
    assert data["rows"][1]["measures"]["nDCG@10"]["mean"] == 0.85
    assert data["rows"][1]["index_ms"]["p95"] == 0.1
    assert data["rows"][1]["against_baseline"]["verdict"] == "REGRESSED"
    assert data["rows"][3]["index_ms"] is None


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_no_number_is_broken_on_any_terminal(width):
    sweep = four({"lost": 60, "index_ms": 0.1, "recall": 0.7}, {"lost": 0, "index_ms": 0.5}, {"lost": 0, "index_ms": 1.0})
    text = sweep_text(sweep, width=width)
    assert "0.8500" in text
    assert "-0.1500" in text
    assert "0.7000" in text


def test_a_password_in_a_choice_is_in_no_output():
    described = {"name": "openai", "model": ["a", "b"], "url": "https://me:hunter2secret@host/v1"}
    sweep = swept({"embedder": [described]}, [{"lost": 0, "index_ms": 1.0}] * 2)
    for text in (sweep_text(sweep), sweep_markdown(sweep), sweep_json(sweep), sweep_csv(sweep), "".join(sweep_html(sweep))):
        assert "hunter2secret" not in text


FINE = {"lost": 0, "index_ms": 1.0}


def test_rows_of_an_earlier_session_are_named_with_their_time():
    sweep = swept(FOUR, [FINE, {**FINE, "hour": 15}, FINE, {**FINE, "hour": 15}])
    said = (
        "rows 1, 3 were measured on 2026-03-01 12:00 UTC, the last ones on 2026-03-01 15:00 UTC: times may not be comparable; "
        "--fresh measures all again"
    )
    assert said in sweep.notes
    assert [row["started"] for row in json.loads(sweep_json(sweep))["rows"]][:2] == [
        "2026-03-01T12:00:00+00:00",
        "2026-03-01T15:00:00+00:00",
    ]
    assert next(csv.DictReader(io.StringIO(sweep_csv(sweep))))["started"] == "2026-03-01T12:00:00+00:00"


def test_rows_of_one_session_need_no_note_about_their_time():
    assert swept(FOUR, [FINE] * 4).notes == ()


def test_a_row_whose_times_vary_more_than_tenfold_is_named():
    sweep = swept(FOUR, [{**FINE, "slow": 20.0}, {**FINE, "slow": 9.0}, FINE, FINE])
    assert sweep.notes == (
        "in the index, p95 is far above p50 in row 1 (20-fold): was the machine busy? --fresh measures all again",
    )


def test_rows_that_failed_for_one_reason_are_one_note():
    sweep = swept(FOUR, [FINE, "no server", "no server", "it burned"])
    assert sweep.notes == ("2 settings have no numbers: no server", "hnsw ef_search=160 has no numbers: it burned")


@pytest.fixture
def worse() -> Sweep:
    some = [{"lost": 60, "index_ms": 0.1, "recall": 0.7}, {"lost": 0, "index_ms": 0.5, "recall": 0.95}, FINE]
    return swept(FOUR, [{"lost": 0, "index_ms": 4.0}, *some], measure="nDCG(gain=exp)@10", measures=("RR",))


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120])
def test_the_difference_and_its_interval_are_in_the_table_on_every_terminal(worse, width):
    text = sweep_text(worse, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "-0.1500" in text
    against = worse.rows[1].against_baseline
    assert f"{against.low:+.4f} to {against.high:+.4f}" in text
    assert "not shown" in text
    assert " verdict" not in text


def test_the_frontier_is_called_so_and_explained(worse):
    said = "frontier of recall and p95: 2, 3, 4; of nDCG@10 and p95: 2, 3 (no other setting is both quicker and better"
    assert said in " ".join(sweep_text(worse).split())
    assert "best in" not in sweep_text(worse)


def test_a_long_measure_is_short_in_the_header_and_whole_below_it(worse):
    header = next(line for line in sweep_text(worse, width=200).splitlines() if "setting" in line and "#" in line)
    assert "nDCG@10" in header
    assert "gain" not in header
    assert "nDCG@10 is nDCG(gain=exp)@10" in sweep_text(worse)


def test_measures_beside_the_deciding_one_are_shown(worse):
    found = worse.rows[1].measures["RR"]
    for text in (sweep_text(worse), sweep_markdown(worse), "".join(sweep_html(worse))):
        assert "Other measures" in text
        assert "RR" in text
        assert f"{found.low:.4f} to {found.high:.4f}" in text


def test_what_building_took_compares_nothing_and_is_in_the_data_alone(worse):
    assert "build" not in sweep_text(worse)
    assert json.loads(sweep_json(worse))["rows"][0]["build_seconds"] == 1.5


def test_the_page_says_one_thing_at_a_time_and_marks_the_baseline_and_the_cheapest(worse):
    page = "".join(sweep_html(worse))
    assert "<dt>Time</dt><dd>p95 0.5 ms instead of 4 ms, index only</dd>" in page
    assert "<dt>Quality</dt><dd>nDCG(gain=exp)@10 +0.0000, interval " in page
    assert ">1 baseline</text>" in page
    assert ">3 cheapest</text>" in page


def test_the_page_is_that_of_a_comparison_with_every_case(worse):
    page = "".join(sweep_html(worse))
    assert page.index('id="settings"') < page.index('id="verdict"') < page.index('id="cases"')
    assert '"ids":["c0","c1"' in page
    assert [pair.candidate for pair in worse.report.pairs] == [row.name for row in worse.rows[1:]]


@pytest.mark.slow
def test_of_many_settings_the_page_compares_those_that_matter():
    grid = {"index": ["exact", {"name": "hnsw", "ef_search": list(range(10, 23))}]}
    sweep = swept(grid, [{"lost": 0, "index_ms": 90.0}, *({"lost": 0, "index_ms": 1.0 + each} for each in range(13))])
    assert list(sweep.report.agents) == ["exact", "hnsw ef_search=10"]
    page = "".join(sweep_html(sweep))
    assert "12 other settings are in the tables above only" in page
    assert "hnsw ef_search=22" in page


def test_no_label_of_a_chart_lies_on_another_point():
    first, second = labels([(50.0, 50.0, "1"), (52.0, 50.0, "2")])
    assert (first.x, first.anchor) == (48.4, "end")
    assert (second.x, second.anchor) == (53.6, "start")
