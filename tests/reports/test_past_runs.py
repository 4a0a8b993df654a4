"""What an archive tells of a report later: every run with its numbers, and what could explain them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from searchmark import Answer, Hit, Provenance, Report, Run, read_report
from searchmark.config.sections import Versions
from searchmark.records.provenance import AgentIdentity, Environment
from searchmark.reports.build import answers_digest, past_runs, run_summary
from searchmark.reports.render import write_report
from searchmark.reports.report import RunSummary
from searchmark.scoring.drift import drifts_of
from searchmark.scoring.trends import Fingerprints, PastRun, trends_of
from tests.reports.samples import NOON, comparison_of, report_of
from tests.scoring.histories import history, past_run

LATER = datetime(2026, 6, 1, tzinfo=UTC)


def fingerprints(agent: AgentIdentity | None = None, versions: Versions | None = None, **known: Any) -> Fingerprints:
    """Those of a run of which only this is known."""
    report = report_of()
    summary = replace(report.agents["agent"], run=RunSummary(agent=agent, **known), versions=versions or Versions())
    return past_runs("e", LATER, replace(report, agents={"agent": summary}))[0].fingerprints


def semantic(**differs: Any) -> AgentIdentity:
    said = {"embedder": {"name": "openai", "model": "small"}, "chunking": "lines of 60", "index": "exact"}
    options = {"embedder": {"name": "openai", "model": "small"}, "top_k": 10}
    return replace(AgentIdentity("semantic", options, "digest", said), **differs)


class TestRuns:
    def test_every_run_of_a_report_is_one(self) -> None:
        report = comparison_of()
        parents, head = past_runs("e1", LATER, report)
        assert (parents.entry, parents.suite, parents.agent, parents.snapshot, parents.id) == (
            "e1",
            "watched",
            "bm25",
            "parent",
            "run-0",
        )
        assert (head.snapshot, head.repeat, head.id) == ("head", 1, "run-5")
        agent = report.agents["bm25@parent"]
        assert (parents.measures, parents.segments) == (agent.measures, agent.segments)
        assert (parents.latency_ms, parents.similarity) == (agent.latency_ms, agent.similarity)

    def test_runs_that_nothing_tells_apart_are_numbered_and_repeats_are_not(self) -> None:
        report = report_of()
        one = report.agents["agent"]
        agents = {"agent": one, "agent#2": one, "agent#3": replace(one, repeat=3), "other": replace(one, name="other")}
        found = past_runs("e", LATER, replace(report, agents=agents))
        assert [(run.name, run.repeat) for run in found] == [("agent", 1), ("agent#2", 1), ("agent", 3), ("other", 1)]

    def test_an_imported_run_is_known_by_its_answers(self) -> None:
        scores = {"c1": {"a": 1.0, "b": 0.5}, "c2": {"a": 1.0}}
        one, same = Run.from_scores(scores), Run.from_scores(scores, "another name")
        others = [
            {"c1": {"a": 1.0, "b": 0.4}, "c2": {"a": 1.0}},
            {"c1": {"a": 1.0}, "c2": {"b": 0.5, "a": 1.0}},
            {"c1": {"a": 1.0}},
        ]
        assert answers_digest(one) == answers_digest(same)
        assert len({answers_digest(run) for run in (one, *map(Run.from_scores, others))}) == 4
        assert run_summary(one).answers == answers_digest(one)
        assert run_summary(replace(one, provenance=Provenance(id="x"))).answers is None

    def test_the_digest_of_answers_is_that_of_an_arrow_column_too(self) -> None:
        run = Run.from_answers("agent", [Answer("c1", "ok", (Hit("a", 1, 1.0), Hit("é", 2, 0.5)))])
        assert answers_digest(replace(run, ids=pl.Series(run.ids))) == answers_digest(run)

    def test_a_run_is_as_old_as_it_says_and_else_as_its_entry(self) -> None:
        assert past_runs("e", LATER, comparison_of())[0].time == NOON
        assert past_runs("e", LATER, report_of())[0].time == LATER

    def test_a_time_without_a_zone_is_that_of_utc(self) -> None:
        assert past_runs("e", datetime(2026, 6, 1), report_of())[0].time == LATER  # such times are in files

    @pytest.mark.parametrize(("status", "trusted"), [("ok", True), ("untrusted", False), ("failed", False)])
    def test_only_what_ended_well_is_trusted(self, status: Any, trusted: bool) -> None:
        report = report_of()
        report = replace(report, agents={"agent": replace(report.agents["agent"], status=status)})
        assert past_runs("e", LATER, report)[0].trusted is trusted

    def test_a_report_needs_no_cases(self) -> None:
        report = comparison_of()
        bare = replace(report, cases={}, agents={name: replace(agent, cases={}) for name, agent in report.agents.items()})
        assert past_runs("e", LATER, bare) == past_runs("e", LATER, report)

    def test_a_report_that_was_read_back_tells_the_same(self, tmp_path: Path) -> None:
        report = comparison_of()
        write_report(report, tmp_path / "report.json")
        assert past_runs("e", LATER, read_report(tmp_path / "report.json")) == past_runs("e", LATER, report)


class TestFingerprints:
    def test_an_imported_run_knows_only_the_suite(self) -> None:
        hashes = report_of().suite.hashes
        assert fingerprints() == Fingerprints(queries=hashes["queries"], judgments=hashes["judgments"], corpus=hashes["corpus"])

    def test_model_chunking_and_index_are_what_the_agent_says(self) -> None:
        known = fingerprints(semantic())
        assert (known.model, known.chunking, known.index, known.code) == ("small", "lines of 60", "exact", "digest")

    def test_those_of_the_arms_count_too(self) -> None:
        said = {"arms": {"one": {"chunking": "lines", "index": {"kind": "hnsw", "m": 16}}, "two": {"chunking": "words"}}}
        known = fingerprints(semantic(description=said))
        assert (known.chunking, known.index) == ("lines, words", '{"kind": "hnsw", "m": 16}')

    def test_declared_versions_stand_beside(self) -> None:
        declared = Versions(model_version="2026-05", index_params="m=16", chunking_config="lines of 60")
        known = fingerprints(semantic(), declared)
        assert (known.model, known.chunking, known.index) == ("small, 2026-05", "lines of 60", "exact, m=16")

    def test_the_corpus_is_the_one_that_was_searched(self) -> None:
        assert fingerprints(corpus="searched").corpus == "searched"

    def test_another_model_is_no_other_option(self) -> None:
        config = {"embedder": {"name": "openai", "model": "large"}, "top_k": 10}
        said = {"embedder": {"name": "openai", "model": "large"}}
        one, other = fingerprints(semantic()), fingerprints(semantic(config=config, description=said))
        assert (one.model, other.model) == ("small", "large")
        assert one.options == other.options

    def test_other_options_are(self) -> None:
        one, other = (fingerprints(semantic(config={"top_k": top})) for top in (10, 20))
        assert one.options != other.options

    def test_how_the_work_was_divided_is_no_option_of_a_run_but_its_depth_is(self) -> None:
        usual, blocks, deep = (
            fingerprints(options=options) for options in ({"depth": 10}, {"depth": 10, "block": 5}, {"depth": 20})
        )
        assert usual.asking == blocks.asking != deep.asking

    def test_a_machine_is_its_processor_cores_and_memory(self) -> None:
        environment = Environment("3.12", "Linux", {"numpy": "2"}, "EPYC", 4, 16_000_000_000)
        updated = replace(environment, platform="Linux, newer", packages={"numpy": "3"})
        one, other = fingerprints(environment=environment), fingerprints(environment=updated)
        assert one.machine == other.machine == "EPYC, 4 cores, 16 GB"
        assert one.packages != other.packages

    def test_objects_among_the_options_are_told_by_their_type(self) -> None:
        one, other = (fingerprints(semantic(config={"client": object()})) for _ in range(2))
        assert one.options == other.options


class TestRoundTrip:
    def test_trends_and_drifts_survive_it(self, tmp_path: Path) -> None:
        past: list[PastRun] = [*history([0.8] * 10), past_run(10, 0.6, {"model": "large", "judgments": "j2"})]
        drifts = drifts_of("bm25", past[-1], past)
        report: Report = replace(comparison_of(), trends=tuple(trends_of(past)), drifts=tuple(drifts))
        assert len(report.trends) == len(report.drifts) == 1
        write_report(report, tmp_path / "report.json")
        found = read_report(tmp_path / "report.json")
        assert (found.trends, found.drifts) == (report.trends, report.drifts)
