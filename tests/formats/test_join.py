"""Runs put together from parts: nothing is lost, and what spoils one part spoils the whole."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Hit,
    Incomparable,
    Judgment,
    Provenance,
    Run,
    RunLabel,
    Suite,
    UsageError,
    join_runs,
    load_run,
    match_hits,
    save_run,
    score,
)
from searchmark.records.merge import with_missing_cases
from searchmark.records.provenance import AgentIdentity, IndexBuild, SearchedRepository, SuiteIdentity, TrustEvent

SUITE = Suite.from_cases("shop", [Case(f"c{n}", f"query {n}", (Judgment("a", "path"),)) for n in range(4)])
BM25 = AgentIdentity("bm25", {"k1": 1.2}, "code", {"tokens": 7})


def part(*cases: int, trust: tuple[TrustEvent, ...] = ()) -> Run:
    first = cases[0]
    answers = [
        Answer(f"c{n}", "ok", (Hit("a", 1, 2.0, True, (n + 1, n + 2)),), AnswerDetails(cold_ms=(float(n),), cost=0.5))
        for n in cases
    ]
    provenance = Provenance(
        id=f"run-{first}",
        started=datetime(2026, 1, 1, first, tzinfo=UTC),
        ended=datetime(2026, 1, 1, first + 1, tzinfo=UTC),
        version="1.0",
        suite=SuiteIdentity("shop", SUITE.only({f"c{n}" for n in cases}).hashes["queries"], f"corpus {first}"),
        agent=BM25,
        options={"depth": 10},
        repositories=(SearchedRepository("shop", "abc", False),),
        index=IndexBuild(1.5, 1, 2, 100 + first),
        trust=trust,
    )
    return Run.from_answers(RunLabel("bm25", "parent"), answers, provenance=provenance, dropped={"beyond_depth": 2})


def test_answers_with_their_lines_scores_validity_and_details_are_those_of_the_parts() -> None:
    whole = join_runs([part(0, 1), part(2, 3)])
    assert list(whole.answers) == [*part(0, 1).answers, *part(2, 3).answers]
    assert whole.label == RunLabel("bm25", "parent")
    assert whole.dropped == {"beyond_depth": 4}


def test_provenance_is_that_of_all_parts_and_every_part_is_kept() -> None:
    known = join_runs([part(0, 1), part(2, 3)]).provenance
    assert (known.started, known.ended) == (datetime(2026, 1, 1, 0, tzinfo=UTC), datetime(2026, 1, 1, 3, tzinfo=UTC))
    assert (known.agent, known.version, known.options) == (BM25, "1.0", {"depth": 10})
    assert known.repositories == (SearchedRepository("shop", "abc", False),)
    assert known.index == IndexBuild(3.0, 2, 4, 102)
    assert [(each.cases, each.provenance) for each in known.parts] == [
        (("c0", "c1"), part(0, 1).provenance),
        (("c2", "c3"), part(2, 3).provenance),
    ]


def test_a_joined_run_is_saved_and_joined_further_without_loss(tmp_path: Path) -> None:
    save_run(join_runs([part(0), part(1)]), tmp_path / "half.jsonl")
    whole = join_runs([load_run(tmp_path / "half.jsonl"), part(2, 3)])
    assert [each.cases for each in whole.provenance.parts] == [("c0",), ("c1",), ("c2", "c3")]
    assert list(whole.answers) == [*part(0, 1, 2, 3).answers]


def test_a_run_is_untrusted_where_a_part_was() -> None:
    changed = TrustEvent("corpus_changed", "what was searched changed during the run: shop")
    whole = join_runs([part(0, 1, trust=(changed,)), part(2, 3, trust=(changed,))])
    assert score(match_hits(SUITE, whole), ["RR"]).why_untrusted == "what was searched changed during the run: shop"


def test_an_agent_that_started_in_one_part_has_not_failed_and_is_untrusted() -> None:
    failed = TrustEvent("not_started", "the agent could not be started: no memory")
    half = join_runs([part(0, 1, trust=(failed,)), part(2, 3)])
    assert half.provenance.failure is None
    assert score(match_hits(SUITE, half), ["RR"]).why_untrusted == "the agent could not be started: no memory"
    assert join_runs([part(0, trust=(failed,)), part(1, trust=(failed,))]).provenance.failure == failed.message


def test_what_is_not_a_part_of_one_run_is_refused() -> None:
    one, other = part(0, 1), part(2, 3)
    with pytest.raises(UsageError, match="runs of different agents or snapshots, not parts of one: bm25@parent, bm25@head"):
        join_runs([one, replace(other, label=RunLabel("bm25", "head"))])
    with pytest.raises(Incomparable, match=r"they differ in version of Searchmark \(1.0 and 2.0\), options \(depth\)"):
        join_runs([one, replace(other, provenance=replace(other.provenance, version="2.0", options={"depth": 20}))])
    with pytest.raises(Incomparable, match="they differ in agent"):
        join_runs([one, replace(other, provenance=replace(other.provenance, agent=replace(BM25, code="changed")))])
    other_model = replace(BM25, description={"model": "another"})
    with pytest.raises(Incomparable, match="they differ in agent"):
        join_runs([one, replace(other, provenance=replace(other.provenance, agent=other_model))])
    with pytest.raises(UsageError, match="answer the case 'c0', so they are not parts of one; to hold them against each other"):
        join_runs([one, one])


def test_parts_that_searched_different_corpora_are_refused() -> None:
    """Half a corpus finds less, which would look like a worse agent."""
    one, other = part(0, 1), part(2, 3)
    small = replace(other, provenance=replace(other.provenance, corpora={"docs": "half of it"}))
    with pytest.raises(Incomparable, match="they differ in corpus"):
        join_runs([replace(one, provenance=replace(one.provenance, corpora={"docs": "all of it"})), small])


def test_parts_may_have_seen_different_repositories_and_worked_in_different_ways() -> None:
    one, other = part(0, 1), part(2, 3)
    first = replace(one.provenance, corpora={"shop": "a"}, options={"depth": 10, "jobs": 1})
    second = replace(other.provenance, corpora={"docs": "b"}, repositories=(), options={"depth": 10, "jobs": 4})
    whole = join_runs([replace(one, provenance=first), replace(other, provenance=second)])
    assert whole.provenance.corpora == {"shop": "a", "docs": "b"}


def test_a_part_whose_agent_could_not_be_started_is_joined_and_spoils_the_whole() -> None:
    failed = TrustEvent("not_started", "the agent could not be started: no memory")
    silent = replace(part(0, 1).provenance, agent=replace(BM25, description={}), trust=(failed,))
    whole = join_runs([replace(part(0, 1), provenance=silent), part(2, 3)])
    assert score(match_hits(SUITE, whole), ["RR"]).why_untrusted == failed.message


def test_the_head_of_a_repository_may_move_between_parts_only_where_parents_are_searched() -> None:
    one, other = part(0, 1), part(2, 3)
    moved = replace(other, provenance=replace(other.provenance, repositories=(SearchedRepository("shop", "def", True),)))
    assert len(join_runs([one, moved]).provenance.repositories) == 2
    with pytest.raises(Incomparable, match="they differ in state of the repository"):
        join_runs([replace(each, label=RunLabel("bm25", "worktree")) for each in (one, moved)])


def test_a_run_of_ours_has_not_run_what_it_lacks_and_an_imported_one_has_answered_nothing() -> None:
    cases = SUITE.table.ids
    assert [answer.status for answer in with_missing_cases(part(0, 1), cases).answers] == ["ok", "ok", "not_run", "not_run"]
    imported = Run.from_answers("bm25", [Answer("c0", "ok", (Hit("a", 1),))])
    assert with_missing_cases(imported, cases) is imported
