"""What an arm prints is fused, reranked and merged under the names of the corpus, however it writes paths."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from searchmark import AgentSpec, Case, Judgment, Run, RunSettings, Suite, load_agent, load_run, run_suite
from searchmark.cli.main import main
from tests.support.small_histories import FILE, write_history

ONCE = RunSettings(num_runs=1, warm_up=False)
SUITE = Suite.from_cases("s", [Case("c1", "pear", (Judgment("pear.txt", "path"),))])
CHUNKS = "{file}#chunk-{n}"


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "real").mkdir()
    for name in ("apple", "pear", "plum"):
        (tmp_path / "real" / f"{name}.txt").write_text(f"text of {name}\n")
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "link"


def arm(name: str, *lines: str, **more: Any) -> dict[str, Any]:
    """A program that prints these lines, with the corpus in place of ``$0``."""
    return {
        "name": name,
        "source": "command",
        "config": {"argv": ["sh", "-c", printing(*lines), "{corpus}"], "stdin": "{query}"},
    } | more


def printing(*lines: str) -> str:
    return "; ".join(f'echo "{line}"' for line in lines)


def run_of(source: str, corpus: Path | None, **config: Any) -> Run:
    return run_suite(SUITE, AgentSpec.from_plain({"name": "mine", "source": source, "config": config}), corpus, ONCE)


def hits_of(run: Run) -> list[str]:
    (answer,) = run.answers
    assert answer.details.failure is None
    return [hit.id for hit in answer.hits]


@pytest.mark.slow
@pytest.mark.parametrize("pear", ["$0/pear.txt", "./pear.txt", "a/../pear.txt", "$0/../real/pear.txt", "$0//pear.txt"])
def test_one_document_under_two_spellings_is_fused(pear: str, corpus: Path) -> None:
    arms = [arm("one", "$0/plum.txt", pear), arm("two", "apple.txt", "pear.txt")]
    assert hits_of(run_of("hybrid", corpus, arms=arms)) == ["pear.txt", "apple.txt", "plum.txt"]


@pytest.mark.slow
def test_an_arm_that_prints_paths_is_fused_with_one_that_gives_documents(corpus: Path) -> None:
    arms = ["bm25", arm("one", "$0/plum.txt", "$0/pear.txt")]
    assert hits_of(run_of("hybrid", corpus, arms=arms))[0] == "pear.txt"


@pytest.mark.slow
def test_a_reranker_gets_the_texts_of_what_an_arm_prints(corpus: Path) -> None:
    answer = hits_of(run_of("rerank", corpus, arm=arm("one", "$0/plum.txt", "./plum.txt", "$0/pear.txt"), names=False))
    assert answer == ["pear.txt", "plum.txt"]


def test_a_streaming_program_can_be_an_arm(corpus: Path) -> None:
    one = arm("one", "$0/plum.txt", "$0/pear.txt")
    one["config"]["streams"] = True
    assert hits_of(run_of("hybrid", corpus, arms=[one, arm("two", "apple.txt", "pear.txt")]))[0] == "pear.txt"


@pytest.mark.slow
def test_addresses_and_what_does_not_exist_stay_as_they_are(corpus: Path) -> None:
    assert hits_of(run_of("hybrid", corpus, arms=[arm("one", "http://a//b")])) == ["http://a//b"]
    printed = arm("one", "./nothing.txt", "$0/./plum.txt")
    assert hits_of(run_suite(SUITE, AgentSpec.from_plain(printed), corpus, ONCE)) == ["./nothing.txt", "plum.txt"]


def test_ids_of_a_service_that_are_no_paths_stay_as_they_are() -> None:
    one, two = arm("one", "http://a//b/./c"), arm("two", "x/../y")
    for each in (one, two):
        each["config"]["argv"].remove("{corpus}")
    assert hits_of(run_of("hybrid", None, arms=[one, two])) == ["http://a//b/./c", "x/../y"]


@pytest.mark.slow
def test_paths_in_the_folder_of_a_commit_are_fused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = [{b"src/a.py": (FILE, b"a = 1\n"), b"src/b.py": (FILE, b"b = %d\n" % n)} for n in range(3)]
    commits = write_history(tmp_path / "shop", trees)
    same = {"query": "b", "ground_truth_files": ["src/b.py"], "repository": "shop"}
    cases = [{"id": f"c{n}", "commit_hash": commits[n], "parent_commit": commits[n - 1], **same} for n in (1, 2)]
    metadata = {"repositories": {"shop": {"path": "shop"}}, "options": {"kinds": ["code"], "exclude_patterns": []}}
    (tmp_path / "gold.json").write_text(json.dumps({"test_cases": cases, "metadata": metadata}))
    arms = [arm("one", "$0/src/a.py", "$0/src/b.py"), arm("two", "./src/b.py")]
    (tmp_path / "own.yaml").write_text(json.dumps({"agents": [{"name": "mine", "source": "hybrid", "config": {"arms": arms}}]}))
    monkeypatch.chdir(tmp_path)
    what = ["--gold-set", "gold.json", "--config", "own.yaml", "--agent", "mine", "--repo", "shop=shop", "--snapshot", "parent"]
    assert main(["evaluate", *what, "--num-runs", "1", "--save-run", "run.jsonl"]) == 0
    assert [[hit.id for hit in answer.hits] for answer in load_run("run.jsonl").answers] == [["src/b.py", "src/a.py"]] * 2


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 10])
def test_chunks_of_one_file_are_merged_under_every_spelling_and_use_up_no_depth(depth: int, corpus: Path) -> None:
    lines = ["$0/plum.txt#chunk-1", "plum.txt#chunk-2", "./plum.txt#chunk-3", "pear.txt#chunk-1"]
    agent = AgentSpec.from_plain(arm("one", *lines, chunk_of=CHUNKS))
    run = run_suite(SUITE, agent, corpus, replace(ONCE, depth=depth))
    assert (hits_of(run), dict(run.dropped)) == (["plum.txt", "pear.txt"], {"merged_chunks": 2})


def test_chunks_of_a_function_are_merged_though_it_was_given_no_folder(corpus: Path) -> None:
    agent = replace(load_agent(lambda query, k: ["plum.txt#chunk-1", f"{corpus.resolve()}/plum.txt#chunk-2"]), chunk_of=CHUNKS)
    run = run_suite(SUITE, agent, corpus, ONCE)
    assert (hits_of(run), dict(run.dropped)) == (["plum.txt"], {"merged_chunks": 1})


STAYING = """
import json, sys
print('{"ready": true}', flush=True)
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "hits": ["pear.txt#chunk-1"]}), flush=True)
"""


def with_chunks(source: str, *argv: str, **more: Any) -> dict[str, Any]:
    return {"name": "one", "source": source, "chunk_of": CHUNKS, "config": {"argv": argv, **more}}


@pytest.mark.slow
def test_an_arm_with_chunks_that_cannot_be_started_is_an_agent_that_cannot(corpus: Path) -> None:
    run = run_of("hybrid", None, arms=[with_chunks("mcp", sys.executable, "-c", "raise SystemExit(3)")])
    (answer,) = run.answers
    assert (answer.status, answer.details.failure) == ("not_run", run.provenance.failure)
    assert str(run.provenance.failure).startswith("the agent could not be started: ")


def test_an_arm_with_chunks_is_started_before_its_first_search(corpus: Path) -> None:
    staying = with_chunks("command", sys.executable, "-c", STAYING, stays=True)
    run = run_of("hybrid", None, arms=[staying])
    (answer,) = run.answers
    assert (hits_of(run), answer.details.start_ms) == (["pear.txt"], None)
