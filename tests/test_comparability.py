"""What may be held against what: the same rules for every verb, seen from the outside."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from searchmark import Answer, Case, Hit, Incomparable, Judgment, NothingEvaluated, Run, Suite
from searchmark.cli.main import main
from searchmark.comparability import check_asked, comparable
from searchmark.records import AnswerDetails, Provenance, SuiteIdentity, query_digest
from searchmark.runs.join import joined
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
    assert main(["compare", "--gold-set", "suite.yaml", "--run", "bm25.trec", "--run", "new/bm25.json", "-m", "nDCG@10"]) == 0
    assert "noise floor" not in capsys.readouterr().out


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
        check_asked(SUITE, run_of(0, 1, asked=OTHER))
    check_asked(SUITE, run_of(0, 1))
    check_asked(SUITE, imported("c0"))


def test_every_part_of_a_joined_run_must_have_been_asked_the_same() -> None:
    check_asked(SUITE, joined([run_of(0, 1), run_of(2, 3)]))
    with pytest.raises(Incomparable, match="was asked different queries"):
        check_asked(SUITE, joined([run_of(0, 1), run_of(2, 3, asked=OTHER)]))


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
