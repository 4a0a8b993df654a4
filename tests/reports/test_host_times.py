"""What every format says of runs on several hosts: the times of each, and never one of all."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from searchmark import (
    Archive,
    GateRule,
    GateSettings,
    Report,
    Run,
    compare_runs,
    evaluate_run,
    load_run,
    read_report,
    render,
    rules_of,
    save_run,
    save_suite,
    with_history,
)
from searchmark.records.provenance import AgentIdentity
from searchmark.reports.chart_data import frontier, histogram
from searchmark.reports.charts import CHARTS
from tests.reports.samples import HOSTILE, NOON
from tests.support.commands import searchmark
from tests.support.hosts import CASES, SUITE, on, on_several

REFUSED = "latencies are not compared: bm25 was measured on ci-1 and hybrid on ci-2"
NOT_POOLED = "measured on 3 hosts, so that latencies are not pooled; cases of each: ci-1 50 %, ci-2 25 %, ci-3 25 %"
FORMATS = ("text", "markdown", "html", "summary", "latex")


def evaluated(run: Run, *rules: GateRule) -> Report:
    return evaluate_run(SUITE, [run], ["RR"], rules=rules_of(GateSettings(rules=rules)))


def compared(*runs: Run) -> Report:
    return compare_runs(SUITE, list(runs), ["RR"])


def data(report: Report) -> dict[str, Any]:
    return json.loads(render(report, "json"))


def codes(report: Report) -> dict[str, str]:
    return {found.code: found.message for found in report.audit}


class TestOneRunOnSeveralHosts:
    report = evaluated(on_several())

    def test_json_has_the_times_of_each_host_and_none_of_all(self) -> None:
        agent = data(self.report)["agents"]["bm25"]
        assert agent["latency_ms"] == {}
        assert {each["name"]: each["latency_ms"]["cold"]["p95"] for each in agent["hosts"]} == {
            "ci-1": 10.0, "ci-2": 200.0, "ci-3": 3000.0,
        }  # fmt: skip
        first = agent["hosts"][0]
        assert (first["cases"], first["index_seconds"], first["start_seconds"]) == (6, 1.0, 0.1)
        assert first["environment"]["cpu"] == "EPYC"
        assert first["environment"]["host"] == "ci-1"
        assert first["usage"]["cold_less"]["process_start"]["p50"] == 7.5
        assert "environment" not in agent["run"]
        assert agent["index"] == {"seconds": None, "bytes": 4096}
        assert "start_seconds" not in agent
        assert "usage" not in agent

    def test_json_is_read_back(self, tmp_path: Path) -> None:
        (tmp_path / "report.json").write_text(render(self.report, "json"))
        assert read_report(tmp_path / "report.json").agents["bm25"].hosts == self.report.agents["bm25"].hosts

    @pytest.mark.parametrize("form", ["text", "markdown", "html"])
    def test_a_row_names_its_host(self, form: str) -> None:
        said = re.sub(r"<[^>]*>", " ", render(self.report, form))
        assert re.search(r"cold on ci-1[ |]+10 ms", said)
        assert re.search(r"cold on ci-2[ |]+200 ms", said)
        assert re.search(r"warm on ci-3[ |]+1500 ms", said)
        assert not re.search(r"(cold|warm)[ |]+[\d.]+ ms", said)
        assert "ndex: 1 s on ci-1 and 20 s on ci-2 and 300 s on ci-3" in said

    def test_the_table_of_means_has_a_segment_for_each_host(self) -> None:
        rows = list(csv.DictReader(io.StringIO(render(self.report, "summary-csv"))))
        found = [(row["segment"], row["value"], row["p95"]) for row in rows if row["measure"] == "latency cold"]
        assert found == [("host", "ci-1", "10.0"), ("host", "ci-2", "200.0"), ("host", "ci-3", "3000.0")]

    def test_a_note_names_the_hosts_with_their_share_of_the_cases(self) -> None:
        assert codes(self.report)["several-hosts"] == NOT_POOLED
        assert NOT_POOLED in re.sub(r"\s+", " ", render(self.report, "text"))
        assert NOT_POOLED in render(self.report, "markdown")
        assert NOT_POOLED in render(self.report, "html")

    def test_no_picture_pools_them(self) -> None:
        assert histogram(self.report, "cold") == ()
        assert CHARTS["latency_distribution"](self.report) is None

    def test_a_card_has_a_line_for_each_host(self) -> None:
        card = on_several()._repr_html_()
        assert "latency p50 / p95 on ci-2: cold 200 / 200 ms" in card
        assert "latency p50 / p95: " not in card

    def test_the_name_of_a_host_is_as_harmless_as_any_text(self) -> None:
        report = evaluated(on_several({"ci-1": CASES[:6], HOSTILE.replace("\udcff", ""): CASES[6:]}))
        assert "<script>alert" not in render(report, "markdown")
        assert "<script>alert" not in render(report, "html")
        assert "\x1b[31m" not in render(report, "text")
        assert "\x1b[31m" not in render(report, "summary-csv")


class TestOneHost:
    @pytest.mark.parametrize("form", FORMATS)
    def test_reports_are_as_ever_and_do_not_name_it(self, form: str) -> None:
        assert render(evaluated(on("ci-1")), form) == render(evaluated(on("ci-1", environment=None)), form)

    def test_json_has_it_in_the_environment(self) -> None:
        agent = data(evaluated(on("ci-1")))["agents"]["bm25"]
        assert agent["run"]["environment"]["host"] == "ci-1"
        assert agent["latency_ms"]["cold"]["p95"] == 10.0
        assert "hosts" not in agent


class TestComparison:
    report = compared(on("ci-1"), on("ci-2", "hybrid"))

    def test_refuses_latencies_with_a_sentence(self) -> None:
        assert codes(self.report)["latencies-not-compared"] == REFUSED
        assert REFUSED in render(self.report, "text")
        assert REFUSED in render(self.report, "markdown")
        assert f"L{REFUSED[1:]}." in render(self.report, "html")

    @pytest.mark.parametrize("form", ["text", "markdown", "html"])
    def test_no_table_has_them_side_by_side(self, form: str) -> None:
        said = render(self.report, form)
        assert "p50 / p95" not in said
        assert "index time" not in said
        assert "index size" in said

    def test_the_terminal_names_the_host_of_every_time(self) -> None:
        said = render(self.report, "text")
        assert re.search(r"bm25 +cold on ci-1 +10 ms", said)
        assert re.search(r"hybrid +cold on ci-2 +200 ms", said)

    def test_no_picture_has_both(self) -> None:
        assert frontier(self.report) is None
        assert histogram(self.report, "cold") == ()
        assert CHARTS["accuracy_vs_latency"](self.report) is None
        assert CHARTS["latency_distribution"](self.report) is None

    def test_a_run_on_several_hosts_is_refused_beside_one_on_one(self) -> None:
        said = codes(compared(on_several(), on("ci-1", "hybrid")))["latencies-not-compared"]
        assert said == "latencies are not compared: bm25 was measured on ci-1, ci-2, ci-3 and hybrid on ci-1"

    @pytest.mark.parametrize("host", ["ci-1", None])
    def test_of_one_host_or_an_unknown_one_is_as_ever(self, host: str | None) -> None:
        report = compared(on("ci-1"), on(host, "hybrid"))
        assert "latencies-not-compared" not in codes(report)
        assert frontier(report) is not None
        assert "p50 / p95" in render(report, "text")

    def test_verdicts_do_not_depend_on_hosts(self) -> None:
        assert self.report.pairs == compared(on("ci-1"), on("ci-1", "hybrid")).pairs

    def test_the_noise_of_one_agent_is_not_told_in_times_of_two_hosts(self) -> None:
        runs = [on(host, agent=AgentIdentity("bm25", code="digest")) for host in ("ci-1", "ci-2")]
        message = codes(compared(*runs))["noise-floor"]
        assert message.endswith("; latencies are not compared: bm25 was measured on ci-1 and bm25#2 on ci-2")


class TestGate:
    RULES = (GateRule(latency="cold.p95", at_most=10_000), GateRule(index="seconds", at_most=10_000))

    def test_a_bound_on_times_of_several_hosts_is_untrusted_with_a_sentence(self) -> None:
        gate = evaluated(on_several(), *self.RULES).gate
        assert [rule.verdict for rule in gate.rules] == ["untrusted", "untrusted"]
        why = "it was measured on 3 hosts (ci-1, ci-2, ci-3), so that times are not pooled"
        assert all(rule.message.endswith(why) for rule in gate.rules)

    def test_a_bound_on_quality_or_size_is_checked_as_ever(self) -> None:
        rules = (
            GateRule(measure="RR", at_least=0.5),
            GateRule(index="bytes", at_most=5000),
            GateRule(memory="bytes", at_most=10**10),
        )
        assert evaluated(on_several(), *rules).gate.verdict == "passed"

    @pytest.mark.parametrize("host", ["ci-1", None])
    def test_a_bound_on_times_of_one_host_is_checked(self, host: str | None) -> None:
        assert evaluated(on(host), *self.RULES).gate.verdict == "passed"


class TestArchive:
    def test_latencies_of_another_host_are_not_held_against_the_past(self, tmp_path: Path) -> None:
        archive = Archive(tmp_path)
        archive.add(evaluated(on("ci-1")), [on("ci-1")], NOON)
        later = NOON.replace(day=2)
        report = with_history(evaluated(on("ci-2", id="later", started=later)), archive, later)
        assert report.drifts == ()
        assert codes(report)["earlier-runs-differ"] == (
            "latencies of bm25 are not compared with earlier runs: they were measured on ci-1, this one on ci-2"
        )


class TestCommands:
    """Saved runs, in a process of their own."""

    @pytest.fixture
    def files(self, tmp_path: Path) -> Path:
        save_suite(SUITE, tmp_path / "suite.json")
        for name, run in {"one": on("ci-1"), "two": on("ci-2", "hybrid"), "many": on_several()}.items():
            save_run(run, tmp_path / f"{name}.run.jsonl")
        return tmp_path

    def test_a_saved_run_knows_its_hosts(self, files: Path) -> None:
        assert [host.name for host in load_run(files / "many.run.jsonl").provenance.hosts] == ["ci-1", "ci-2", "ci-3"]

    def test_evaluate_tells_the_times_of_each_host(self, files: Path) -> None:
        done = searchmark("evaluate", "--gold-set", "suite.json", "--run", "many.run.jsonl", "-o", "out.json", cwd=files)
        assert NOT_POOLED in re.sub(r"\s+", " ", done.stdout)
        assert json.loads((files / "out.json").read_text())["agents"]["bm25"]["latency_ms"] == {}

    def test_compare_refuses_times_of_two_hosts(self, files: Path) -> None:
        done = searchmark("compare", "--gold-set", "suite.json", "--run", "one.run.jsonl", "two.run.jsonl", cwd=files)
        assert done.returncode == 0
        assert REFUSED in done.stdout
