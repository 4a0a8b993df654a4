"""What earlier entries tell of a report: which runs are followed together, and which are not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from searchmark import Archive, with_history
from searchmark.reports.archive import EntrySelection
from searchmark.reports.history import archived_trends, trends_text
from tests.reports.samples import NOON, report_of


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / ".searchmark" / "runs")


class TestHistory:
    def changed(self, mean: float, **hashes: str):
        report = report_of()
        agent = report.agents["agent"]
        measures = {name: replace(found, mean=mean) for name, found in agent.measures.items()}
        suite = replace(report.suite, hashes={**report.suite.hashes, **hashes})
        return replace(report, suite=suite, agents={"agent": replace(agent, measures=measures, status="ok")})

    def test_without_earlier_runs_there_is_none(self, archive: Archive) -> None:
        report = self.changed(0.5)
        assert with_history(report, archive, NOON) == report

    def test_a_report_gets_its_trends_and_drifts(self, archive: Archive) -> None:
        for day in range(5):
            archive.add(self.changed(0.8), [], NOON + timedelta(days=day))
        now = NOON + timedelta(days=5)
        report = with_history(self.changed(0.4), archive, now)
        trend = next(each for each in report.trends if each.measure == "RR" and not each.where)
        assert [point.mean for point in trend.points] == [0.8] * 5 + [0.4]
        assert trend.points[-1].entry == archive.add(report, [], now)
        drift = next(each for each in report.drifts if each.quantity == "RR")
        assert (drift.before, drift.now, len(drift.runs)) == (0.8, 0.4, 5)

    def test_runs_that_were_asked_other_queries_or_came_later_are_left_out(self, archive: Archive) -> None:
        archive.add(self.changed(0.8, queries="other"), [], NOON)
        archive.add(self.changed(0.8), [], NOON + timedelta(days=2))
        told = with_history(self.changed(0.5), archive, NOON + timedelta(days=1))
        assert (told.trends, told.drifts) == ((), ())
        assert told.audit[-1].message == "agent is not compared with earlier runs: they were asked other queries"

    def test_a_saved_run_that_is_archived_again_keeps_its_trends(self, archive: Archive) -> None:
        first, second = (self.known_run(mean, name) for mean, name in ((0.8, "run-1"), (0.5, "run-2")))
        archive.add(first, [], NOON)
        archive.add(second, [], NOON + timedelta(days=1))
        again = with_history(second, archive, NOON + timedelta(days=2))
        assert [len(trend.points) for trend in again.trends if trend.measure == "RR" and not trend.where] == [2]

    def known_run(self, mean: float, name: str):
        report = self.changed(mean)
        agent = report.agents["agent"]
        return replace(report, agents={"agent": replace(agent, run=replace(agent.run, id=name))})

    def test_other_judgments_are_named(self, archive: Archive) -> None:
        archive.add(self.changed(0.8, judgments="before"), [], NOON)
        report = with_history(self.changed(0.5), archive, NOON + timedelta(days=1))
        assert "judgments" in str(next(each for each in report.drifts if each.quantity == "RR").cause)
        assert report.trends[0].points[-1].begins

    def test_since_which_run_it_is_worse(self, archive: Archive) -> None:
        means = [0.8] * 6 + [0.4] * 3
        entries = [archive.add(self.changed(mean), [], NOON + timedelta(days=day)) for day, mean in enumerate(means)]
        trend = next(each for each in archived_trends(archive, EntrySelection()) if each.measure == "RR" and not each.where)
        assert trend.worse_since == entries[6]

    def test_a_run_on_a_part_of_the_suite_interrupts_no_trend_and_both_ways_to_ask_agree(self, archive: Archive) -> None:
        for day in range(6):
            archive.add(self.changed(0.8), [], NOON + timedelta(days=day))
        archive.add(self.changed(0.9, queries="part", judgments="part"), [], NOON + timedelta(days=6))
        now = NOON + timedelta(days=7)
        told = with_history(self.changed(0.4), archive, now)
        archive.add(told, [], now)
        assert {len(trend.points) for trend in told.trends} == {7}
        found = archived_trends(archive, EntrySelection())
        assert [trend for trend in found if len(trend.points) > 1] == list(told.trends)
        assert trends_text(found).endswith(
            "\nruns of agent on demo that were asked other queries, such as a part of the suite, have lines of their own\n"
        )

    def test_every_agent_has_its_own_last_thirty(self, archive: Archive) -> None:
        both = self.changed(0.8)
        other = replace(both.agents["agent"], name="other")
        for day in range(3):
            archive.add(replace(both, agents={"other": other}), [], NOON + timedelta(days=day))
        for day in range(3, 35):
            archive.add(both, [], NOON + timedelta(days=day))
        told = with_history(replace(both, agents={**both.agents, "other": other}), archive, NOON + timedelta(days=36))
        assert {(trend.agent, len(trend.points)) for trend in told.trends} == {("agent", 31), ("other", 4)}

    def test_the_two_sides_of_a_comparison_do_not_drift_from_each_other(self, archive: Archive) -> None:
        good, bad = self.changed(0.8), self.changed(0.4)
        both = replace(good, agents={"agent": good.agents["agent"], "agent#2": bad.agents["agent"]})
        for day in range(3):
            archive.add(both, [], NOON + timedelta(days=day))
        told = with_history(both, archive, NOON + timedelta(days=3))
        assert told.drifts == ()
        whole = [trend for trend in told.trends if not trend.where]
        assert {(trend.agent, point.mean) for trend in whole for point in trend.points} == {("agent", 0.8), ("agent#2", 0.4)}

    def test_a_time_without_a_zone_is_local_as_for_the_archive(self, archive: Archive) -> None:
        archive.add(self.changed(0.8), [], NOON)
        assert with_history(self.changed(0.4), archive, (NOON + timedelta(days=1)).astimezone().replace(tzinfo=None)).drifts

    def test_runs_that_all_cannot_be_trusted_are_counted(self, archive: Archive) -> None:
        report = self.changed(0.8)
        spoiled = replace(report, agents={"agent": replace(report.agents["agent"], status="untrusted")})
        for day in range(2):
            archive.add(spoiled, [], NOON + timedelta(days=day))
        warnings: list[str] = []
        assert archived_trends(archive, EntrySelection(), warnings.append) == []
        assert warnings == [f"2 runs of {report.agents['agent'].name} on {report.suite.name} cannot be trusted and are left out"]
        archive.add(report, [], NOON - timedelta(days=1))
        text = trends_text(archived_trends(archive, EntrySelection(), pytest.fail))
        assert f"\n2 later runs of {report.agents['agent'].name} cannot be trusted and are left out\n" in text
