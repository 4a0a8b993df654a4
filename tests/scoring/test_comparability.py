"""What may be held against what: the same rules for every verb, seen from the outside."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    CompareSettings,
    Hit,
    Incomparable,
    Judgment,
    NothingEvaluated,
    Provenance,
    Run,
    RunLabel,
    Suite,
    comparable,
    compare_runs,
    join_runs,
)
from searchmark.cli.main import main
from searchmark.config.gates import DecisionRule, DecisionTable
from searchmark.records.digests import query_digest
from searchmark.records.provenance import PARENT, AgentIdentity, CandidateKinds, SuiteIdentity
from searchmark.scoring.comparability import check_queries, is_proven_repeat, mismatches
from tests.conftest import ROOT

QUICKSTART = ROOT / "examples" / "quickstart"


@pytest.fixture
def quickstart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(QUICKSTART, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def saved(*arguments: str) -> None:
    live = ["evaluate", "--gold-set", "suite.yaml", "--corpus", "corpus.jsonl", "--agent", "bm25", "--num-runs", "1", "-m", "RR"]
    assert main([*live, *arguments]) == 0


def report(*arguments: str) -> tuple[int, dict[str, Any]]:
    code = main([*arguments, "--gold-set", "suite.yaml", "-m", "RR", "-o", "out.json"])
    return code, json.loads(Path("out.json").read_text())


@pytest.mark.slow
def test_a_shard_is_untrusted_wherever_it_is_held_against_something(quickstart: Path, capsys) -> None:
    """Cases that were never asked are no zeros: neither verb takes half a run for a worse one."""
    saved("--save-run", "full.jsonl")
    saved("--shard", "1/2", "--save-run", "half.jsonl")
    code, alone = report("evaluate", "--run", "half.jsonl")
    assert (code, alone["agents"]["bm25"]["status"]) == (2, "untrusted")
    code, both = report("compare", "--run", "full.jsonl", "--run", "half.jsonl")
    assert code == 2
    assert [agent["status"] for agent in both["agents"].values()] == ["ok", "untrusted"]
    assert {found["verdict"] for found in both["comparisons"]} == {"INVALID"}


def test_two_engines_of_one_name_are_not_one_agent_asked_twice(quickstart: Path, capsys) -> None:
    """Equal file names prove nothing about who answered."""
    Path("new").mkdir()
    shutil.copy("semantic.json", "new/bm25.json")
    assert main(["compare", "--gold-set", "suite.yaml", "--run", "bm25.json", "--run", "new/bm25.json", "-m", "nDCG@10"]) == 0
    assert "noise floor" not in capsys.readouterr().out


@pytest.mark.slow
def test_one_agent_that_was_really_asked_twice_shows_the_noise_floor(quickstart: Path, capsys) -> None:
    live = ["--agents", "bm25", "--repeat-agent", "--corpus", "corpus.jsonl", "--num-runs", "1", "-m", "RR"]
    assert main(["compare", "--gold-set", "suite.yaml", *live]) == 0
    assert "noise floor, bm25 asked twice: the means differ by RR 0.0000" in capsys.readouterr().out


SUITE = Suite.from_cases("s", [Case(f"c{n}", f"query {n}", (Judgment("a"),)) for n in range(4)])


def run_of(*cases: int, agent: str = "bm25", asked: Suite = SUITE) -> Run:
    """A run that an agent made of us, on some cases of a suite."""
    queries = {case.id: case.query or "" for case in asked.cases}
    answers = [Answer(c, "ok", (Hit("a", 1),), AnswerDetails(asked=query_digest(queries[c]))) for c in (f"c{n}" for n in cases)]
    return Run.from_answers(agent, answers, provenance=Provenance(suite=SuiteIdentity("s")))


def imported(*cases: str) -> Run:
    return Run.from_answers("theirs", [Answer(case, "ok", (Hit("a", 1),)) for case in cases])


OTHER = Suite.from_cases("s", [Case(f"c{n}", f"another question {n}", (Judgment("a"),)) for n in range(4)])


def test_a_run_that_was_asked_different_queries_is_refused() -> None:
    with pytest.raises(Incomparable, match="was asked different queries"):
        check_queries(SUITE, run_of(0, 1, asked=OTHER))
    check_queries(SUITE, run_of(0, 1))
    check_queries(SUITE, imported("c0"))


def test_every_part_of_a_joined_run_must_have_been_asked_the_same() -> None:
    check_queries(SUITE, join_runs([run_of(0, 1), run_of(2, 3)]))
    with pytest.raises(Incomparable, match="was asked different queries"):
        check_queries(SUITE, join_runs([run_of(0, 1), run_of(2, 3, asked=OTHER)]))


def test_different_queries_are_noticed_where_only_common_cases_are_compared() -> None:
    """One case of another suite must not switch the check off."""
    queries = {f"c{n}": f"another question {n}" for n in range(2)} | {"x": "elsewhere"}
    answers = [Answer(case, "ok", (Hit("a", 1),), AnswerDetails(asked=query_digest(query))) for case, query in queries.items()]
    with pytest.raises(Incomparable, match="was asked different queries"):
        comparable(SUITE, [run_of(0, 1, 2, 3), Run.from_answers("theirs", answers)], intersect=True)


def test_what_a_run_of_ours_lacks_was_not_run() -> None:
    found = comparable(SUITE, [run_of(0, 1, 2, 3), run_of(1, 2)])
    assert found.suite is SUITE
    assert [answer.status for answer in found.runs[1].answers] == ["ok", "ok", "not_run", "not_run"]


def test_a_run_that_has_hardly_a_case_in_common_with_the_suite_is_refused() -> None:
    wide = Suite.from_cases("wide", [Case(f"c{n}", f"query {n}", (Judgment("a"),)) for n in range(11)])
    foreign = [f"x{n}" for n in range(11)]
    with pytest.raises(Incomparable, match="answers 1 of the 11 cases of the suite and 11 others: it was made for a different"):
        comparable(wide, [imported("c0", *foreign)])
    assert comparable(wide, [imported("c0", *foreign)], intersect=True).suite.table.ids == ("c0",)


def test_a_run_may_answer_other_cases_and_lack_some_as_trec_runs_do() -> None:
    theirs = imported("c0", "x")
    assert comparable(SUITE, [theirs, imported("c1", "c2")]).runs[0] is theirs


def test_on_request_only_the_cases_that_all_were_asked_are_compared() -> None:
    not_run = replace(run_of(0, 1, 2), status=run_of(0, 1, 2).status + [0, 0, 4])
    found = comparable(SUITE, [not_run, imported("c0", "c1", "c2", "x")], intersect=True)
    assert found.suite.table.ids == ("c0", "c1")
    assert found.suite.dropped == {"cases_not_in_all_runs": 2}
    with pytest.raises(NothingEvaluated, match="no case of the suite is answered by all runs"):
        comparable(SUITE, [run_of(0), run_of(1)], intersect=True)


BM25 = RunLabel("bm25")
KNOWN = Provenance(
    id="run 1",
    version="1",
    suite=SuiteIdentity("s", "queries", "corpus", "judgments"),
    agent=AgentIdentity("bm25", {"k1": 1.2}, "code"),
    options={"depth": 3, "timeout_seconds": 30.0, "seed": 0},
    corpora={"docs": "all of it"},
)


def known(hits: int = 2, label: RunLabel = BM25, status: str = "ok", **changes: Any) -> Run:
    """A run of ours on one case."""
    ranked = tuple(Hit(f"d{rank}", rank) for rank in range(1, hits + 1)) if status == "ok" else ()
    answers = [Answer("c0", status, ranked)]
    return Run.from_answers(label, answers, provenance=replace(KNOWN, **{"id": "run 2"} | changes))


def found(one: Run, other: Run) -> list[tuple[str, str, int | None]]:
    return [(each.kind, each.sentence, each.below) for each in mismatches(one, other, ("a", "b"))]


def test_runs_that_differ_in_their_agents_only_are_comparable() -> None:
    other = known(agent=AgentIdentity("other", {}, "other code"), label=RunLabel("other"), version="2")
    assert found(known(), other) == []
    assert found(known(), known(options={"depth": 50, "timeout_seconds": 1.0, "seed": 7})) == []
    assert found(known(3), imported("c0")) == []


def test_different_corpora_are_a_mismatch_also_under_different_names() -> None:
    half = known(corpora={"docs": "half of it"})
    assert found(known(), half) == [("corpus", "a and b searched different corpora: the contents of docs differ", None)]
    renamed = known(corpora={"half": "half of it"})
    assert found(known(), renamed) == [("corpus", "a and b searched different corpora: docs and half", None)]
    assert found(known(), known(corpora={"copy": "all of it"})) == []
    assert found(known(), known(corpora={"one": "1", "two": "2"})) == []


def test_documents_that_cases_bring_along_are_a_corpus_too() -> None:
    changed = replace(KNOWN.suite, corpus="changed")
    one, other = known(corpora={}), known(corpora={}, suite=changed)
    assert found(one, other) == [("corpus", "a and b searched different corpora: the documents of the cases differ", None)]
    sampled = replace(changed, queries="fewer")
    assert found(one, known(corpora={}, suite=sampled)) == []
    at_parents = RunLabel("bm25", "parent")
    assert found(known(corpora={}, label=at_parents), known(corpora={}, suite=changed, label=at_parents)) == []


def test_different_kinds_of_files_are_a_mismatch() -> None:
    one, other = known(candidates=CandidateKinds(("code",), ("docs/*",))), known()
    assert found(one, other) == [
        ("candidates", "a searched files of the kinds code without docs/* and b searched every file", None)
    ]


def test_snapshots_are_what_is_compared_of_one_agent_and_a_mismatch_of_two() -> None:
    parent, head = RunLabel("bm25", "parent"), RunLabel("bm25", "head")
    assert found(known(label=parent), known(label=head, corpora={"docs": "later"})) == []
    changed = known(label=head, agent=AgentIdentity("bm25", {"k1": 1.2}, "changed"))
    told = "a searched the snapshot parent and b head: whether that or the agent makes the difference cannot be told"
    assert found(known(label=parent), changed) == [("snapshot", told, None)]
    assert found(known(label=parent), known(label=RunLabel("unknown"), corpora={})) == []


def test_a_service_cannot_be_held_against_an_agent_at_a_commit() -> None:
    """It may have an index of today, which knows the answers."""
    service = known(label=RunLabel("service"), corpora={}, own_corpus=True, service="shop")
    at_parent = known(label=RunLabel("bm25", PARENT))
    told = "{} searched what it has, in whatever state that is, and {} the snapshot parent"
    assert found(service, at_parent) == [("snapshot", told.format("a", "b"), None)]
    assert found(at_parent, service) == [("snapshot", told.format("b", "a"), None)]
    asks_one = known(label=RunLabel("hybrid", PARENT), own_corpus=True)
    assert found(at_parent, asks_one) == [("snapshot", told.format("b", "a"), None)]
    assert found(asks_one, known(label=RunLabel("other", PARENT), own_corpus=True)) == []
    assert found(service, known(label=RunLabel("other"), corpora={}, own_corpus=True, service="shop")) == []
    at_work_tree = [known(label=RunLabel(name, "worktree"), own_corpus=own) for name, own in (("bm25", False), ("service", True))]
    assert found(*at_work_tree) == []


def test_a_snapshot_against_a_corpus_is_a_mismatch() -> None:
    travelled, stayed = known(label=RunLabel("bm25", "head")), known()
    assert found(travelled, stayed) == [("corpus", "a searched the snapshot head, and b a corpus", None)]
    assert found(stayed, travelled) == [("corpus", "b searched the snapshot head, and a a corpus", None)]


def test_a_run_that_was_cut_is_held_against_longer_answers_down_to_its_depth_only() -> None:
    told = ("depth", "the answers of {} end after 3 hits, and those of {} have up to 5", 3)
    deep = known(5, options={"depth": 100})
    longer = Run.from_answers("theirs", [Answer("c0", "ok", tuple(Hit(f"d{n}", n) for n in range(1, 6)))])
    assert found(known(3), deep) == [(told[0], told[1].format("a", "b"), 3)]
    assert found(deep, known(3)) == [(told[0], told[1].format("b", "a"), 3)]
    assert found(known(3), longer) == [(told[0], told[1].format("a", "b"), 3)]
    assert found(known(2), longer) == []


def test_a_shorter_time_limit_is_a_mismatch_where_it_was_reached() -> None:
    late = known(status="timeout", options={"timeout_seconds": 1.0})
    assert found(known(), late) == [("time_limit", "b timed out in 1 cases after 1 s, and a had 30 s", None)]
    assert found(known(options={"timeout_seconds": 0.5}), late) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "run 1"},
        {"agent": AgentIdentity("bm25", {"k1": 1.2}, "changed")},
        {"agent": AgentIdentity("bm25", {"k1": 2.0}, "code")},
        {"options": {"depth": 4}},
        {"corpora": {"docs": "half of it"}},
        {"label": RunLabel("bm25", "head")},
        {"suite": SuiteIdentity("s", "fewer")},
    ],
)
def test_a_repeat_is_proven_by_equal_code_options_suite_corpus_and_snapshot(changes: dict[str, Any]) -> None:
    first = known(id="run 1")
    assert is_proven_repeat(first, known())
    assert not is_proven_repeat(first, known(**changes))


def test_a_decision_about_a_measure_is_one_about_what_the_depth_has_made_of_it() -> None:
    suite = Suite.from_cases("s", [Case("c0", "query", (Judgment("d2"),))])
    table = DecisionTable("b", "a", (DecisionRule("use it", above=0.1),), measure="AP")
    runs = [known(3, RunLabel(name), agent=AgentIdentity(name, {}, name)) for name in "ab"]
    found = compare_runs(suite, runs, ["AP"], options=CompareSettings(decisions=(table,)))
    assert [
        (pair.differences[0].measure, decision.measure) for pair, decision in zip(found.pairs, found.decisions, strict=True)
    ] == [("AP@3", "AP@3")]


def test_only_runs_of_one_depth_share_a_name_and_two_imported_ones_are_cut_on_request() -> None:
    assert comparable(SUITE, [run_of(0, 1, 2, 3)]).depth is None
    suite = Suite.from_cases("s", [Case("c0", "query", (Judgment("d2"),))])
    short, long = (replace(known(hits), provenance=Provenance()) for hits in (2, 5))
    assert comparable(suite, [known(3), known(2)]).depth == 3
    assert comparable(suite, [known(3), long]).depth is None
    assert comparable(suite, [short, long]).depth is None
    both = comparable(suite, [short, long], same_depth=True)
    assert (both.depth, [run.longest for run in both.runs]) == (2, [2, 2])
