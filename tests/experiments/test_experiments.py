"""What the verbs do, done by the library: none of these tests knows the command line."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from searchmark import (
    Case,
    CaseSelection,
    CompareSettings,
    Experiment,
    Incomparable,
    Judgment,
    NothingEvaluated,
    Report,
    ResumeSettings,
    RetrievalAgent,
    RetrievalResult,
    Run,
    RunLabel,
    RunSettings,
    SearchScope,
    Suite,
    UsageError,
    compare_runs,
    evaluate_run,
    generate_gold_set,
    join_runs,
    load_agent,
    load_run,
    load_suite,
    parse_threshold,
    render,
    run_suite,
    save_runs,
    score_runs,
)
from tests.conftest import ROOT
from tests.support.small_histories import git

QUICKSTART = ROOT / "examples" / "quickstart"
SUITE = load_suite(QUICKSTART / "suite.yaml")
CORPUS = QUICKSTART / "corpus.jsonl"
ONCE = RunSettings(num_runs=1)
BM25 = load_agent("bm25")


def experiment(**changes: Any) -> Experiment:
    whole = Experiment(SUITE, (BM25,), SearchScope(corpus=str(CORPUS)), options=ONCE)
    return replace(whole, **changes)


@pytest.mark.slow
def test_one_agent_is_evaluated_and_held_to_rules() -> None:
    ran = experiment().run()
    report = evaluate_run(ran.suite, ran.runs, ["nDCG@10"], rules=[parse_threshold("nDCG@10=0.99")], corpus=ran.survey)
    assert report.gate is not None
    assert (report.gate.verdict, report.agents["bm25"].status) == ("failed", "ok")
    assert render(report, "markdown").startswith("#")


def test_agents_are_compared_on_the_cases_that_are_wanted() -> None:
    ran = experiment(agents=(BM25, load_agent("random")), cases=CaseSelection(sample=12)).run()
    report = compare_runs(ran.suite, ran.runs, ["RR"], options=CompareSettings(baseline="random"), corpus=ran.survey)
    assert [(pair.baseline, pair.candidate) for pair in report.pairs] == [("random", "bm25")]
    assert report.suite.cases == 12


@pytest.mark.slow
def test_saved_runs_are_compared_on_what_all_of_them_answer() -> None:
    theirs = load_run(QUICKSTART / "bm25.trec")
    half = experiment(cases=CaseSelection(shard="1/2")).run().runs[0]
    (first, second) = score_runs(SUITE, [theirs, half], ["RR"], intersect=True)
    both = tuple(case for case in SUITE.table.ids if case in half.index and case in theirs.index)
    assert first.matched.suite.table.ids == second.matched.suite.table.ids == both
    assert compare_runs(SUITE, [theirs, half], ["RR"]).agents["bm25#2"].status == "untrusted"


class Shouting(RetrievalAgent):
    """Defined here, so that a worker can import it."""

    def initialize(self, corpus: Any) -> None:
        self.ids = sorted(document.id for document in corpus)

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(self.ids[:k])


def first_two(query: str, k: int) -> list[str]:
    return ["issue.create", "issue.get"][:k]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "isolated"),
    [
        ("bm25", True),
        (Shouting, True),
        (first_two, True),
        (Shouting(), False),
        (lambda query, k: [("issue.create", 2.0), ("issue.get", 1.0)][:k], False),
    ],
    ids=["name", "class", "function", "instance", "lambda"],
)
def test_an_agent_is_whatever_can_search(agent: Any, isolated: bool) -> None:
    run = run_suite(SUITE, agent, CORPUS, ONCE)
    assert {answer.status for answer in run.answers} <= {"ok", "empty"}
    assert run.provenance.agent is not None
    assert run.provenance.agent.isolated is isolated
    assert bool(run.provenance.trust) is not isolated


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose only case is found at its parent and nowhere else."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "login.py").write_text("def login(): check the password of the customer\n")
    (folder / "cart.py").write_text("def cart(): things to pay\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Sell things to people who come by")
    (folder / "login.py").write_text("def login(): return True\n")
    git(folder, "commit", "--quiet", "-am", "Do not ask a customer for the password twice")
    git(folder, "mv", "login.py", "door.py")
    git(folder, "commit", "--quiet", "-am", "Call a door a door, since that is what it is")
    return folder


def test_a_repository_is_mined_and_searched_at_parents_and_at_its_head(shop: Path) -> None:
    generate_gold_set([f"org/shop={shop}"], "gold.json")
    suite = load_suite("gold.json")
    where = SearchScope(repositories=(f"org/shop={shop}",), snapshots=("parent", "head"))
    ran = Experiment(suite, (BM25,), where, options=ONCE).run()
    assert [run.label for run in ran.runs] == [RunLabel("bm25", "parent"), RunLabel("bm25", "head")]
    assert [repository.name for repository in ran.runs[0].provenance.repositories] == ["shop"]
    assert all(repository.commit and repository.dirty is False for run in ran.runs for repository in run.provenance.repositories)
    assert ran.runs[1].dropped == {"unreachable_targets": 1}
    assert list(compare_runs(ran.suite, ran.runs, ["RR"]).agents) == ["bm25@parent", "bm25@head"]


def test_an_unknown_case_or_shard_is_refused_in_one_sentence() -> None:
    with pytest.raises(NothingEvaluated, match="no case of the suite"):
        experiment(cases=CaseSelection(text="no such words")).run()
    with pytest.raises(UsageError, match="shard '3' cannot be read"):
        experiment(cases=CaseSelection(shard="3")).run()


@pytest.mark.slow
def test_without_a_place_to_resume_from_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    experiment().run()
    assert list(tmp_path.iterdir()) == []


TIMES = {"started", "ended", "start_seconds", "seconds", "latency_ms", "cold_ms", "warm_ms", "first_hit_ms", "memory_bytes"}
IDS = {"id"}


def without_times_and_ids(data: Any, inside: str = "") -> Any:
    if isinstance(data, dict):
        gone = TIMES | (IDS if inside == "run" else set())
        return {key: without_times_and_ids(value, key) for key, value in data.items() if key not in gone}
    return [without_times_and_ids(value, inside) for value in data] if isinstance(data, list) else data


def told(runs: list[Run]) -> Any:
    report: Report = evaluate_run(SUITE, runs, ["nDCG@10", "P@5"], by=["category"])
    return without_times_and_ids(json.loads(render(report, "json")))


@pytest.mark.slow
def test_joined_resumed_and_uninterrupted_runs_tell_the_same_but_for_times_and_ids(tmp_path: Path) -> None:
    whole = list(experiment().run().runs)
    shards = [experiment(cases=CaseSelection(shard=f"{part}/3")).run().runs[0] for part in (1, 2, 3)]
    save_runs(shards[:1], tmp_path / "first.jsonl")
    assert told([load_run(tmp_path / "first.jsonl"), *shards[1:]]) == told(whole)
    assert join_runs(shards).provenance.agent == whole[0].provenance.agent

    journals = ResumeSettings(journal_folder=str(tmp_path / "journals"))
    experiment(resumption=journals).run()
    journal = next((tmp_path / "journals").glob("*.jsonl"))
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[: len(lines) // 2]) + b'{"case": "half a li')
    resumed = experiment(resumption=replace(journals, resume=True)).run().runs
    assert resumed[0].provenance.resumed > 0
    assert resumed[0].provenance.id == json.loads(lines[0])["run_id"]
    assert told(list(resumed)) == told(whole)


def test_a_case_that_brings_its_documents_is_searched_in_them() -> None:
    suite = load_suite(ROOT / "examples" / "formats" / "fixtures.json")
    ran = Experiment(suite, (BM25,), options=ONCE).run()
    assert len(ran.runs[0]) == len(suite)


@pytest.mark.slow
def test_runs_are_saved_under_their_names(tmp_path: Path) -> None:
    ran = experiment(agents=(BM25, load_agent("random")), repeats=2, cases=CaseSelection(sample=2)).run()
    names = [path.name for path in save_runs(ran.runs, tmp_path / "runs")]
    assert names == ["bm25.jsonl", "bm25#2.jsonl", "random.jsonl", "random#2.jsonl"]
    assert [load_run(tmp_path / "runs" / name) for name in names] == list(ran.runs)


@pytest.mark.slow
def test_shards_of_different_corpora_are_not_one_run(tmp_path: Path) -> None:
    small = tmp_path / "corpus.jsonl"
    small.write_text("".join(CORPUS.read_text().splitlines(keepends=True)[:15]))
    first = experiment(cases=CaseSelection(shard="1/2")).run().runs[0]
    second = experiment(cases=CaseSelection(shard="2/2"), where=SearchScope(corpus=str(small))).run().runs[0]
    with pytest.raises(Incomparable, match="they differ in corpus"):
        evaluate_run(SUITE, [first, second], ["RR"])


class Moody(RetrievalAgent):
    """Fails on one case as long as a file says so."""

    def initialize(self, corpus: Any) -> None:
        """Nothing to do."""

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        assert not Path("broken").exists() or query != "query 1"
        return RetrievalResult(["a"])


def test_what_failed_last_is_what_failed_in_the_newest_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.jsonl").write_text('{"id": "a", "text": "tea"}\n')
    suite = Suite.from_cases("s", [Case(f"c{n}", f"query {n}", (Judgment("a"),)) for n in range(3)])
    whole = Experiment(suite, [Moody], SearchScope(corpus="corpus.jsonl"), options=ONCE, resumption=ResumeSettings())
    failed = replace(whole, cases=CaseSelection(last_failed=True))
    Path("broken").touch()
    whole.run()
    Path("broken").unlink()
    assert [answer.status for answer in failed.run().runs[0].answers] == ["ok"]
    Path("broken").touch()
    whole.run()
    assert failed.run().suite.table.ids == ("c1",)


def test_what_cannot_be_run_or_scored_is_said_in_one_sentence() -> None:
    with pytest.raises(UsageError, match="an experiment needs an agent at least"):
        Experiment(SUITE, ())
    with pytest.raises(UsageError, match="there is no run to score"):
        evaluate_run(SUITE, [])
    with pytest.raises(UsageError, match="there is no run to score"):
        compare_runs(SUITE, [])


def test_two_agents_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="duplicate agent name 'bm25'; rename one: --agent other=bm25"):
        experiment(agents=(BM25, BM25)).run()


def test_lines_are_kept_whatever_the_suite_judges(tmp_path: Path) -> None:
    """A run that was made for paths can be judged by lines later."""
    shutil.copy(CORPUS, tmp_path / "corpus.jsonl")
    suite = Suite.from_cases("s", [Case("c", "issue", (Judgment("issue.create", "path"),))])
    run = run_suite(suite, lambda query, k: RetrievalResult(["issue.create"], lines=[(3, 9)]), CORPUS, ONCE)
    assert run.answer(0).hits[0].lines == (3, 9)
