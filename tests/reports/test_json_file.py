"""Reports as JSON: the agreed shape, nothing lost, and nothing that depends on how the work was divided."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest

from searchmark import (
    Answer,
    Case,
    FormatError,
    Hit,
    Judgment,
    Report,
    ReportExtras,
    ReportSettings,
    Run,
    RunLabel,
    Suite,
    build_comparison,
    build_report,
    compare,
    join_runs,
    match_hits,
    read_report,
    render,
    score,
)
from searchmark.records.merge import with_missing_cases
from searchmark.records.provenance import IndexBuild, TrustEvent
from searchmark.reports.cases import CaseFacts
from searchmark.reports.render import write_report
from tests.reports.samples import HOSTILE, WATCHED_SUITE, comparison_of, report_of, watched_answer, watched_run

CASES = list(WATCHED_SUITE.table.ids)


class TestJson:
    def test_has_the_agreed_shape(self) -> None:
        data = json.loads(render(report_of(), "json"))
        agent = data["agents"]["agent"]
        assert data["schema_version"] == 1
        assert data["suite"]["cases"] == 3
        assert set(data["suite"]["hashes"]) == {"queries", "corpus", "judgments"}
        assert agent["counts"] == {"ok": 1, "empty": 1, "error": 0, "timeout": 1, "not_run": 0}
        assert agent["status"] == "untrusted"
        assert set(agent["measures"]["nDCG@10"]) == {"mean", "median", "std", "low", "high", "cases", "answered_mean", "undefined"}
        assert agent["measures"]["mine"]["definition"] == "0.5*P@5 + 0.5*RR"
        assert set(agent["segments"]["category"]) == {"x", "y"}
        assert (agent["name"], agent["snapshot"], agent["repeat"]) == ("agent", None, 1)
        assert agent["cases"]["c1"]["hits"] == [{"id": "a", "score": 9.5, "grade": 2}, {"id": "b", "score": 0.1, "grade": 1}]
        assert agent["cases"]["c1"]["expected"] == [
            {"target": "a", "match": "id", "grade": 2, "rank": 1},
            {"target": "b", "match": "id", "grade": 1, "rank": 2},
        ]
        assert all(list(note) == ["code", "severity", "message", "cases", "why", "fix"] for note in data["audit"])

    def test_undefined_is_null_with_a_reason(self) -> None:
        case = json.loads(render(report_of(), "json"))["agents"]["agent"]["cases"]["c2"]
        assert case["measures"]["nDCG@10"] is None
        assert case["undefined"]["nDCG@10"].startswith("glob and symbol judgments name no targets")
        assert "RR" not in case["undefined"]

    def test_numbers_are_in_full_precision_and_strictly_json(self) -> None:
        text = render(report_of(), "json")
        data = json.loads(text, parse_constant=lambda token: pytest.fail(f"{token} is not JSON"))
        assert data["agents"]["agent"]["measures"]["mine"]["mean"] == (0.4 * 0.5 + 0.5 + 0) / 2

    def test_is_read_back_identical(self, tmp_path: Path) -> None:
        report = report_of(HOSTILE, minimum=0.3)
        write_report(report, tmp_path / "report.json")
        assert read_report(tmp_path / "report.json") == report

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("[]", "is not a report"),
            ('{"schema_version": 9}', "schema_version: is 9"),
            ('{"schema_version": 1}', "suite: is missing"),
        ],
    )
    def test_a_file_that_is_no_report_is_refused(self, file, content: str, complaint: str) -> None:
        with pytest.raises(FormatError, match=complaint):
            read_report(file("report.json", content))

    def test_a_gate_has_the_agreed_shape(self) -> None:
        gate = json.loads(render(report_of(minimum=0.3), "json"))["gate"]
        rule = {
            "subject": "RR",
            "where": {},
            "bound": "at_least",
            "expected": 0.3,
            "actual": None,
            "cases": [],
            "verdict": "untrusted",
        }
        assert gate["verdict"] == "untrusted"
        assert [{key: found[key] for key in rule} for found in gate["rules"]] == [rule]
        assert set(gate["rules"][0]) - set(rule) == {"message", "run", "words", "unit", "amounts"}

    def test_runs_of_one_agent_have_its_name_and_keys_of_their_own(self) -> None:
        agents = json.loads(render(comparison_of(), "json"))["agents"]
        assert {key: (agent["name"], agent["snapshot"]) for key, agent in agents.items()} == {
            "bm25@parent": ("bm25", "parent"),
            "bm25@head": ("bm25", "head"),
        }

    def test_a_comparison_of_snapshots_is_read_back_identical(self, tmp_path: Path) -> None:
        answered = [case for case in CASES if watched_answer(case).status == "ok"]
        runs = [watched_run(answered), watched_run(answered, 5, RunLabel("bm25", "head"))]
        lost = Run.from_answers(
            runs[1].label,
            [replace(answer, hits=(answer.hits[0], Hit("y", 2), Hit("a", 3))) for answer in runs[1].answers],
            provenance=runs[1].provenance,
        )
        suite = WATCHED_SUITE.only(set(answered))
        scores = [score(match_hits(suite, run), ["RR"]) for run in (runs[0], lost)]
        report = build_comparison(scores, compare(scores))
        write_report(report, tmp_path / "report.json")
        assert report.snapshot_effects[0].lower
        assert read_report(tmp_path / "report.json") == without_builds(report)

    def test_a_watched_run_is_read_back_identical_but_for_how_often_it_was_indexed(self, tmp_path: Path) -> None:
        report = build_report(score(match_hits(WATCHED_SUITE, watched_run(CASES)), ["RR"]))
        write_report(report, tmp_path / "report.json")
        assert report.agents["bm25"].cases["c4"].details.cost == 0.0
        assert read_report(tmp_path / "report.json") == without_builds(report)


def unsorted_report() -> Report:
    """Answers longer than what is shown, with ranks by score and ties, in another order than the cases, and not to all of them."""
    grades = {f"q{n}": {f"d{m}": m % 5 - 1 for m in range(n)} for n in range(12)}
    scores = {f"q{n}": {f"d{m}": float(m * 7 % 9) for m in range(2 * n)} for n in (11, 7, 8, 3, 1, 0)}
    return build_report(score(match_hits(Suite.from_grades(grades), Run.from_scores(scores)), ["nDCG@5", "Rprec", "RR"]))


def as_records(report: Report) -> Report:
    """The report with every case as a record of its own, as one that was read from a file has it."""
    return replace(report, agents={name: replace(agent, cases=dict(agent.cases)) for name, agent in report.agents.items()})


@pytest.mark.parametrize(
    "report",
    [report_of(), report_of(HOSTILE, HOSTILE), comparison_of(), unsorted_report()],
    ids=["undefined", "hostile", "watched", "unsorted"],
)
def test_cases_are_written_the_same_from_columns_and_from_records(report: Report) -> None:
    assert render(report, "json") == render(as_records(report), "json")


def test_a_report_without_cases_is_written() -> None:
    report = report_of()
    agents = {name: replace(agent, cases={}) for name, agent in report.agents.items()}
    assert json.loads(render(replace(report, agents=agents), "json"))["agents"]["agent"]["cases"] == {}


def test_a_report_is_pickled_with_its_cases() -> None:
    assert pickle.loads(pickle.dumps(unsorted_report())) == unsorted_report()  # noqa: S301  # our own bytes


def without_builds(report: Report) -> Report:
    """The report without what JSON leaves out."""
    built = {name: agent.index or IndexBuild() for name, agent in report.agents.items()}
    agents = {name: replace(agent, index=replace(built[name], full_builds=0, updates=0)) for name, agent in report.agents.items()}
    return replace(report, agents=agents)


def test_infinite_values_are_text_in_json() -> None:
    suite = Suite.from_cases("s", [Case(f"c{n}", judgments=(Judgment("a", grade=999 + n),)) for n in range(2)])
    run = Run.from_answers("agent", [Answer(f"c{n}", "ok", (Hit("a", 1),)) for n in range(2)])
    text = render(build_report(score(match_hits(suite, run), ["DCG(gain=exp)"])), "json")
    json.loads(text, parse_constant=lambda token: pytest.fail(f"{token} is not JSON"))


class TestDivision:
    """One run, asked in one go, after an interruption, and in two shards."""

    # Times, memory, and ids: the only things that may differ.
    MEASURED = re.compile(
        r'"(?:seconds|start_seconds|cold_ms|warm_ms|first_hit_ms|started|ended|memory_bytes|id)": (?:\[[^]]*\]|"[^"]*"|[\d.]+)'
    )

    def text(self, run: Run) -> str:
        """The report without what was measured in time."""
        text = render(build_report(score(match_hits(WATCHED_SUITE, with_missing_cases(run, CASES)), ["RR", "nDCG@10"])), "json")
        data = json.loads(self.MEASURED.sub('"time or id": 0', text))
        return json.dumps({**data, "agents": {name: agent | {"latency_ms": 0} for name, agent in data["agents"].items()}})

    def test_a_resumed_run_gives_the_same_report(self) -> None:
        whole = watched_run(CASES)
        known = {"resumed": 5, "index": IndexBuild(0.9, 2, 3, 4096), "start_seconds": (0.1, 0.2), "memory_bytes": 7}
        resumed = watched_run(CASES, 9, **known)
        assert self.text(resumed) == self.text(whole)

    @pytest.mark.parametrize("parts", [(CASES[::2], CASES[1::2]), (CASES[5:], CASES[:5]), (CASES[8:], CASES[4:8], CASES[:4])])
    def test_joined_shards_give_the_same_report(self, parts: tuple[list[str], ...]) -> None:
        shards = [watched_run(part, minutes) for minutes, part in enumerate(parts)]
        assert self.text(join_runs(shards)) == self.text(watched_run(CASES))

    def test_the_order_in_which_shards_went_wrong_does_not_matter(self) -> None:
        events = (TrustEvent("not_started", "no such file"), TrustEvent("corpus_changed", "shop changed"))
        shards = [watched_run(CASES[:6], trust=events[1:]), watched_run(CASES[6:], 1, trust=events[:1])]
        assert self.text(join_runs(shards)) == self.text(join_runs(shards[::-1]))


class TestWhatAReportKeepsOfACase:
    def suite(self) -> Suite:
        return Suite.from_cases(
            "s", [Case("c", "q", (Judgment("b", grade=2), Judgment("x")), category="k", tags=("t",), origin="o")]
        )

    def run(self) -> Run:
        return Run.from_answers("a", [Answer("c", "ok", tuple(Hit(f"d{n}", n) for n in range(1, 12)) + (Hit("b", 12),))])

    def test_the_rank_of_every_target_is_known_below_the_hits_that_are_shown(self) -> None:
        report = build_report(score(match_hits(self.suite(), self.run()), ["RR"]))
        case = report.agents["a"].cases["c"]
        assert [(each.target, each.rank) for each in case.expected] == [("b", 12), ("x", None)]
        assert len(case.hits) == 10

    def test_all_hits_are_kept_on_request(self, tmp_path: Path) -> None:
        report = build_report(score(match_hits(self.suite(), self.run()), ["RR"]), extras=ReportExtras(ReportSettings(hits=0)))
        write_report(report, tmp_path / "r.json")
        hits = read_report(tmp_path / "r.json").agents["a"].cases["c"].hits
        assert [hit.grade for hit in hits] == [None] * 11 + [2]
        assert render(read_report(tmp_path / "r.json"), "json") == render(report, "json")

    def test_a_hit_that_does_not_exist_says_so(self) -> None:
        report = build_report(score(match_hits(self.suite(), self.run(), {"d1", "b", "x"}), ["RR"]))
        assert [hit.missing for hit in report.agents["a"].cases["c"].hits[:2]] == [False, True]
        assert json.loads(render(report, "json"))["agents"]["a"]["cases"]["c"]["hits"][1]["missing"] is True

    def test_what_the_suite_says_of_a_case_is_read_back(self, tmp_path: Path) -> None:
        report = build_report(score(match_hits(self.suite(), self.run()), ["RR"]))
        write_report(report, tmp_path / "r.json")
        assert read_report(tmp_path / "r.json").cases["c"] == CaseFacts("k", ("t",), "o")
