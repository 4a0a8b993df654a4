"""What is compared, refused, INVALID or cut, as a user sees it: saved runs, each command in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import ROOT
from tests.support import commands

pytestmark = pytest.mark.slow

QUICKSTART = ROOT / "examples" / "quickstart"
AGENT = """
class Mine:
    def initialize(self, corpus):
        pass

    def retrieve(self, query, k):
        return {hits}
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of one agent and one suite that differ in one thing each."""
    here = tmp_path_factory.mktemp("runs")
    for name in ("suite.yaml", "corpus.jsonl", "qrels.txt", "bm25.trec"):
        (here / name).write_text((QUICKSTART / name).read_text())
    (here / "half.jsonl").write_text("".join((here / "corpus.jsonl").read_text().splitlines(keepends=True)[:25]))
    save(here, "full.jsonl")
    save(here, "half.run.jsonl", corpus="half.jsonl")
    save(here, "sampled.jsonl", "--sample", "12", "--seed", "3")
    save(here, "sampled_too.jsonl", "--sample", "12", "--seed", "3", "--num-runs", "2")
    save(here, "shallow.jsonl", "--depth", "5")
    save(here, "deep.jsonl", "--depth", "20")
    (here / "mine.py").write_text(AGENT.format(hits='["issue.create", "issue.get"]'))
    save(here, "before.jsonl", agent="mine.py:Mine")
    (here / "mine.py").write_text(AGENT.format(hits='["issue.get", "issue.list"]'))
    save(here, "after.jsonl", agent="mine.py:Mine")
    return here


def searchmark(folder: Path, *arguments: str) -> Done:
    done = commands.searchmark(*arguments, cwd=folder)
    return Done(done.returncode, done.stdout, done.stderr)


def save(folder: Path, path: str, *options: str, agent: str = "bm25", corpus: str = "corpus.jsonl") -> None:
    live = ("evaluate", "--gold-set", "suite.yaml", "--corpus", corpus, "--agent", agent, "--num-runs", "1")
    done = searchmark(folder, *live, *options, "--save-run", path)
    assert done.code == 0, done.err


def compared(
    folder: Path, *runs: str, measures: tuple[str, ...] = ("RR",), more: tuple[str, ...] = ()
) -> tuple[int, dict[str, Any]]:
    named = [part for run in runs for part in ("--run", run)] + [part for measure in measures for part in ("-m", measure)]
    done = searchmark(folder, "compare", "--gold-set", "suite.yaml", *named, *more, "-o", "out.json")
    assert done.code in (0, 2), done.err
    return done.code, json.loads((folder / "out.json").read_text())


def verdicts(report: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {found["measure"]: (found["verdict"], found["reason"]) for found in report["comparisons"]}


def findings(report: dict[str, Any], code: str) -> list[str]:
    return [note["message"] for note in report["audit"] if note["code"] == code]


@pytest.mark.parametrize("first", ["full.jsonl", "sampled_too.jsonl"])
def test_cases_that_were_never_asked_are_no_zeros(folder: Path, first: str) -> None:
    """Neither a sample held against all cases nor two samples of the same ones give a verdict on the whole suite."""
    code, report = compared(folder, first, "sampled.jsonl")
    verdict, reason = verdicts(report)["RR"]
    assert (code, verdict) == (2, "INVALID")
    assert "bm25#2 (8 of 20 cases were not run)" in reason
    assert report["agents"]["bm25#2"]["counts"]["not_run"] == 8
    assert "--intersect" in next(note["fix"] for note in report["audit"] if note["code"] == "cases-not-run")


def test_on_request_samples_are_compared_on_the_cases_that_both_were_asked(folder: Path) -> None:
    code, report = compared(folder, "full.jsonl", "sampled.jsonl", more=("--intersect",))
    assert (code, report["suite"]["cases"]) == (0, 12)
    assert report["comparisons"][0]["difference"] == 0.0
    assert findings(report, "cases-not-in-all-runs") == ["all runs: cases of the suite that not all runs answer, left out: 8"]


def test_half_a_corpus_is_not_held_against_all_of_it(folder: Path) -> None:
    code, report = compared(folder, "full.jsonl", "half.run.jsonl")
    verdict, reason = verdicts(report)["RR"]
    assert (code, verdict) == (2, "INVALID")
    assert reason == "bm25 and bm25#2 searched different corpora: corpus.jsonl and half.jsonl"
    assert [(found["kind"], found["fix"]) for found in report["pairs"][0]["mismatches"]] == [
        ("corpus", "run both on the same corpus")
    ]
    assert findings(report, "not-comparable") == [f"bm25#2 against bm25 is INVALID: {reason} (run both on the same corpus)"]


def test_a_saved_run_that_is_checked_against_another_corpus_says_so(folder: Path) -> None:
    done = searchmark(folder, "evaluate", "--gold-set", "suite.yaml", "--run", "full.jsonl", "--corpus", "half.jsonl", "-m", "RR")
    told = "warning other-corpus: hits are checked against another corpus than corpus.jsonl, which was searched"
    assert (done.code, told in done.out.replace("\n", " ")) == (0, True)
    same = searchmark(folder, "evaluate", "--gold-set", "suite.yaml", "--run", "full.jsonl", "--corpus", "corpus.jsonl")
    assert (same.code, "are checked against" in same.out) == (0, False)


def test_one_ranking_in_two_depths_is_invalid_for_measures_that_see_below_the_smaller_one(folder: Path) -> None:
    code, report = compared(folder, "shallow.jsonl", "deep.jsonl", measures=("nDCG@5", "AP", "nDCG@10", "R", "F1"))
    found = verdicts(report)
    assert code == 2
    assert found["nDCG@5"][0] != "INVALID"
    assert {found[name][0] for name in ("AP", "nDCG@10", "R", "F1")} == {"INVALID"}
    assert found["AP"][1] == "the answers of bm25 end after 5 hits, and those of bm25#2 have up to 20"
    assert [(each["kind"], each["fix"]) for each in report["pairs"][0]["mismatches"]] == [
        ("depth", "cut all answers alike with --same-depth, name a cutoff of at most 5, or run again with one --depth")
    ]


def test_on_request_answers_are_cut_to_the_smallest_depth(folder: Path) -> None:
    code, report = compared(folder, "shallow.jsonl", "deep.jsonl", measures=("AP", "R"), more=("--same-depth",))
    assert code == 0
    assert {(found["measure"], found["difference"]) for found in report["comparisons"]} == {("AP@5", 0.0), ("R", 0.0)}
    assert findings(report, "hits-below-same-depth") == ["bm25#2: hits below the smallest depth of all runs, left out: 66"]


def test_the_depth_does_not_matter_where_no_answer_reached_it(folder: Path) -> None:
    """An agent that had no more to give was not cut: 51 documents, 100 hits asked for."""
    code, report = compared(folder, "full.jsonl", "deep.jsonl", measures=("nDCG@5",))
    assert (code, findings(report, "not-comparable")) == (0, [])
    alone = searchmark(folder, "evaluate", "--gold-set", "suite.yaml", "--run", "full.jsonl", "-m", "AP", "-o", "alone.json")
    assert alone.code == 0
    assert list(json.loads((folder / "alone.json").read_text())["agents"]["bm25"]["measures"]) == ["AP"]


def test_measures_of_cut_answers_are_named_by_their_depth(folder: Path) -> None:
    measures = ("-m", "AP", "-m", "F1", "-m", "Bpref", "-m", "mine = 0.5*AP + 0.5*P@1", "--fail-under", "AP=0.1")
    outputs = ("-o", "cut.json", "-o", "cut.csv")
    done = searchmark(folder, "evaluate", "--gold-set", "suite.yaml", "--run", "shallow.jsonl", *measures, *outputs)
    assert done.code == 0, done.err
    report = json.loads((folder / "cut.json").read_text())
    assert list(report["agents"]["bm25"]["measures"]) == ["AP@5", "F1", "Bpref", "mine"]
    assert report["agents"]["bm25"]["measures"]["mine"]["definition"] == "0.5*AP@5 + 0.5*P@1"
    assert report["gate"]["rules"][0]["subject"] == "AP@5"
    assert findings(report, "cut-answers") == [
        "answers end after 5 hits: AP is reported as AP@5",
        "answers end after 5 hits: none below is seen by F1, Bpref",
    ]
    assert (folder / "cut.csv").read_text().splitlines()[0].endswith(",AP@5,F1,Bpref,mine")


def test_before_and_after_of_one_agent_are_a_comparison_and_no_noise_floor(folder: Path) -> None:
    code, report = compared(folder, "before.jsonl", "after.jsonl")
    assert (code, findings(report, "noise-floor")) == (0, [])
    assert verdicts(report)["RR"][0] != "INVALID"


def test_a_run_that_was_repeated_shows_the_noise_floor_and_one_on_another_corpus_does_not(folder: Path) -> None:
    save(folder, "again.jsonl")
    assert "noise floor, bm25 asked twice" in findings(compared(folder, "full.jsonl", "again.jsonl")[1], "noise-floor")[0]
    assert findings(compared(folder, "full.jsonl", "half.run.jsonl")[1], "noise-floor") == []


def test_trec_runs_over_other_topics_are_compared_as_trec_eval_does(folder: Path) -> None:
    """Runs lack judged topics and answer topics that are not judged; that is normal, counted and said."""
    lines = (folder / "bm25.trec").read_text().splitlines(keepends=True)
    topics = list(dict.fromkeys(line.split()[0] for line in lines))
    kept = [line.replace("bm25", "wider") for line in lines if line.split()[0] != topics[0]]
    (folder / "wider.trec").write_text("".join([*kept, "elsewhere Q0 issue.create 1 2.0 wider\n"]))
    runs = ("--run", "bm25.trec", "--run", "wider.trec", "-m", "RR")
    done = searchmark(folder, "compare", "--gold-set", "qrels.txt", *runs, "-o", "trec.json")
    assert done.code == 2, done.err
    report = json.loads((folder / "trec.json").read_text())
    assert "wider: cases of the run that are not in the suite, left out: 2" in findings(report, "cases-not-in-suite")
    assert "wider: 6 of 18 cases are missing from the run" in findings(report, "cases-missing")
    done = searchmark(folder, "compare", "--gold-set", "qrels.txt", *runs, "--missing", "zero", "-o", "trec.json")
    assert done.code == 0, done.err
    report = json.loads((folder / "trec.json").read_text())
    assert verdicts(report)["RR"][0] != "INVALID"


def test_a_run_with_hardly_a_case_in_common_is_refused(folder: Path) -> None:
    lines = (folder / "bm25.trec").read_text().splitlines(keepends=True)
    foreign = [f"other-{number} Q0 issue.create 1 2.0 foreign\n" for number in range(40)]
    (folder / "foreign.trec").write_text("".join([lines[0], *foreign]))
    for verb in (("evaluate",), ("compare", "--run", "bm25.trec")):
        done = searchmark(folder, *verb, "--gold-set", "qrels.txt", "--run", "foreign.trec", "-m", "RR")
        assert (done.code, done.out) == (2, "")
        assert "the run 'foreign' answers 1 of the 18 cases of the suite and 40 others" in done.err
