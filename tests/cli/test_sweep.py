"""searchmark sweep, as a user runs it: real workers, files, exit codes, and whatever may end it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from searchmark import load_run
from searchmark.cli.main import main

KILLS = int(os.environ.get("SEARCHMARK_TEST_KILLS", "6"))
PATIENCE = 60.0
WORDS = [
    "apple",
    "river",
    "stone",
    "cloud",
    "music",
    "paper",
    "tiger",
    "engine",
    "garden",
    "window",
    "silver",
    "copper",
    "forest",
    "bridge",
    "market",
    "doctor",
]
SWEEP = """
options: {embedder: {name: hashing, dimension: 128}}
grid:
  index: [exact, {name: hnsw, m: 2, ef_construction: 2, ef_search: 1}]
measures: [RR]
num_runs: 2
"""
CASES = 24


@pytest.fixture
def shop(tmp_path: Path, monkeypatch) -> Path:
    drawn = random.Random(7)
    documents = [{"id": f"d{i}", "title": " ".join(drawn.sample(WORDS, 4)), "text": ""} for i in range(120)]
    cases = [{"id": f"c{i}", "query": documents[i]["title"], "judgments": [{"target": f"d{i}"}]} for i in range(CASES)]
    (tmp_path / "docs.json").write_text(json.dumps(documents))
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "cases": cases}))
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMAND = ["sweep", "--gold-set", "suite.json", "--corpus", "docs.json", "--config", "sweep.yaml"]


def swept(*more: str) -> dict[str, Any]:
    assert main([*COMMAND, "-o", "sweep.json", *more]) == 0
    return json.loads(Path("sweep.json").read_text())


def qualities(data: dict[str, Any]) -> list[Any]:
    """All that does not depend on the clock."""
    return [(row["name"], row["measures"], row["ann_recall"], row["ann_overlap"], row["index_bytes"]) for row in data["rows"]]


def rankings(rows: Path) -> dict[str, list[list[str]]]:
    runs = {path.name: load_run(path) for path in rows.glob("*.jsonl")}
    return {name: [run.ids_of(row) for row in range(len(run))] for name, run in runs.items()}


def test_a_sweep_measures_every_setting_and_says_what_the_worse_ones_cost(shop, capsys):
    data = swept("-o", "s.md", "-o", "s.html", "-o", "s.csv", "-o", "s.txt")
    exact, worse = data["rows"]
    assert exact["is_baseline"]
    assert exact["ann_recall"] == 1.0
    assert worse["ann_recall"] < 0.9
    assert worse["measures"]["nDCG@10"]["mean"] < exact["measures"]["nDCG@10"]["mean"] - 0.1
    assert worse["against_baseline"]["verdict"] == "REGRESSED"
    assert worse["measures"].keys() == {"nDCG@10", "RR@10"}
    assert exact["index_ms"]["samples"] == worse["index_ms"]["samples"] > 0
    printed = capsys.readouterr()
    assert "2 settings; 0 finished already; 24 cases each" in printed.err
    assert "row 1 of 2: exact" in printed.err
    assert data["sentence"][:40] in printed.out
    assert all(Path(name).stat().st_size > 500 for name in ("s.md", "s.html", "s.csv", "s.txt"))


@pytest.mark.slow
def test_a_second_call_reads_what_is_finished_and_runs_only_what_is_new(shop, capsys):
    first = swept()
    Path("sweep.yaml").write_text(SWEEP.replace("ef_search: 1", "ef_search: [1, 11]"))
    capsys.readouterr()
    second = swept()
    printed = capsys.readouterr().err
    assert "3 settings; 2 finished already" in printed
    assert printed.count("row ") == 1
    assert [row["cold_ms"] for row in second["rows"][:2]] == [row["cold_ms"] for row in first["rows"]]


@pytest.mark.slow
def test_what_a_row_depends_on_makes_it_new(shop, capsys):
    swept()
    for change in (
        lambda: Path("docs.json").write_text(Path("docs.json").read_text().replace("apple", "pear")),
        lambda: Path("suite.json").write_text(Path("suite.json").read_text().replace('"d3"', '"d4"')),
        lambda: Path("sweep.yaml").write_text(f"{SWEEP}depth: 5\n"),
    ):
        change()
        capsys.readouterr()
        assert main([*COMMAND, "--dry-run"]) == 0
        assert "0 finished already" in capsys.readouterr().err


@pytest.mark.slow
def test_what_has_no_effect_is_one_row_and_a_note(shop, capsys):
    Path("sweep.yaml").write_text(SWEEP.replace("ef_search: 1", "ef_search: [1, 5, 20]"))
    data = swept("--depth", "20")
    assert len(data["rows"]) == 2
    assert data["duplicates"] == 2
    assert "ef_search 5 of hnsw is raised to 20, as many vectors as are asked for" in data["notes"]
    assert "note: ef_search 1 of hnsw is raised to 20" in capsys.readouterr().out


def test_an_agent_without_an_exact_index_needs_a_baseline(shop, capsys):
    Path("sweep.yaml").write_text("agent: bm25\ngrid: {k1: [0.9, 1.2]}\n")
    assert main(COMMAND) == 4
    assert "such as baseline: {k1: 1.2}" in capsys.readouterr().err


@pytest.mark.slow
def test_fresh_runs_everything_again(shop, capsys):
    swept()
    capsys.readouterr()
    swept("--fresh")
    assert capsys.readouterr().err.count("row ") == 2


def test_a_dry_run_lists_the_settings_and_runs_none(shop, capsys):
    assert main([*COMMAND, "--dry-run"]) == 0
    assert capsys.readouterr().out == "1  exact  (baseline)\n2  hnsw m=2 ef_construction=2 ef_search=10\n"
    assert not Path(".searchmark").exists()


@pytest.mark.slow
def test_a_setting_that_cannot_be_started_is_a_row_and_the_others_are_measured(shop, capsys):
    Path("sweep.yaml").write_text(
        "options: {embedder: {name: hashing}, pooling: mean}\ngrid: {index: [exact, hnsw]}\nbaseline: {index: exact}\n"
    )
    assert main([*COMMAND, "-o", "sweep.json"]) == 2
    exact, refused = json.loads(Path("sweep.json").read_text())["rows"]
    assert exact["failure"] is None
    assert "pooling" in refused["failure"]
    assert "hnsw cannot be run: " in capsys.readouterr().err


def test_a_suite_without_documents_needs_a_corpus_which_is_said_once_and_at_once(shop, capsys):
    for more in ([], ["--dry-run"]):
        assert main(["sweep", "--gold-set", "suite.json", "--config", "sweep.yaml", *more]) == 4
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "name them with --corpus" in said
        assert "--repo" not in said


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ("{index: [exact, pgvector]}", "pgvector cannot be run: no database is named: give --dsn, set SEARCHMARK_DSN"),
        ("{index: [exact], fields: [null, [titel]]}", "fields titel cannot be run: no document of docs has the field 'titel'"),
        ("{index: [exact, hnsw], filter: [null, {brand: a}]}", "2 of 4 settings cannot be run: no document of docs has"),
    ],
)
def test_what_cannot_be_run_is_known_before_the_first_row(shop, capsys, monkeypatch, grid, said):
    monkeypatch.delenv("SEARCHMARK_DSN", raising=False)
    Path("sweep.yaml").write_text(f"options: {{embedder: {{name: hashing}}}}\ngrid: {grid}\n")
    assert main([*COMMAND, "--dry-run"]) == 2
    printed = capsys.readouterr()
    assert printed.err.count(said) == 1
    assert "(cannot be run)" in printed.out


def test_a_sweep_of_which_nothing_can_be_run_is_refused(shop, capsys):
    Path("sweep.yaml").write_text("options: {embedder: {name: hashing}, fields: [titel]}\ngrid: {index: [exact, hnsw]}\n")
    assert main(COMMAND) == 4
    assert "no setting can be run: no document of docs has the field 'titel'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "sweep.pdf"], "sweep.pdf: a sweep is written as .json, .md, .html, .csv, .txt, .png, .svg"),
        (["--corpus", "nowhere"], "nowhere"),
        (["--config", "none.yaml"], "none.yaml"),
        (["--gold-set", "none.yaml"], "none.yaml"),
    ],
)
def test_bad_input_is_one_sentence_before_anything_is_run(shop, capsys, arguments, said):
    assert main([*COMMAND, *arguments]) == 4
    printed = capsys.readouterr().err
    assert said in printed
    assert "row 1" not in printed
    assert "Traceback" not in printed


def test_a_measure_that_there_is_not_is_noticed_first(shop, capsys):
    Path("sweep.yaml").write_text(f"{SWEEP}measure: nDGC@10\n")
    assert main(COMMAND) == 4
    assert "row 1" not in capsys.readouterr().err


def started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "searchmark", *COMMAND, "-o", "sweep.json"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def events() -> int:
    """How far it has come: bytes of journals, and finished rows, each of which counts for a journal."""
    journals = sum(path.stat().st_size for path in Path(".searchmark/sweeps").glob("*/journals/*.jsonl") if path.exists())
    return journals + 20_000 * len(list(Path(".searchmark/sweeps").glob("*/rows/*.jsonl")))


def end_at(process: subprocess.Popen[bytes], moment: int, by: signal.Signals) -> None:
    """Send a signal as soon as it has come so far, unless it has ended."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError):  # a journal that was removed meanwhile
            if events() >= moment:
                break
        time.sleep(0.002)
    process.send_signal(by)


def rows_so_far() -> int:
    return len(list(Path(".searchmark/sweeps").glob("*/rows/*.jsonl")))


def check_kills(kills: int, seed: int) -> list[int]:
    """The finished rows at each kill, which falls somewhere behind the one before."""
    undisturbed = qualities(swept("--folder", "undisturbed"))
    expected = rankings(Path("undisturbed/rows"))
    drawn, done = random.Random(seed), []
    for _ in range(kills):
        process = started()
        end_at(process, events() + drawn.randrange(1, 25_000), signal.SIGKILL)
        process.communicate()
        done.append(rows_so_far())
    assert done == sorted(done)
    assert qualities(swept()) == undisturbed
    (rows,) = Path(".searchmark/sweeps").glob("*/rows")
    assert rankings(rows) == expected
    return done


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_with_the_rankings_of_an_undisturbed_one(shop):
    check_kills(2, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_killed_many_times_it_ends_with_the_rankings_of_an_undisturbed_one(shop, seed):
    Path("sweep.yaml").write_text(SWEEP.replace("ef_search: 1", "ef_search: [10, 12, 14]").replace("num_runs: 2", "num_runs: 8"))
    done = check_kills(KILLS, seed)
    assert any(0 < rows < 4 for rows in done)  # in later rows, too


@pytest.mark.slow
def test_ctrl_c_says_how_to_resume_and_loses_no_finished_row(shop):
    process = started()
    end_at(process, 20_001, signal.SIGINT)
    _, printed = process.communicate()
    assert process.returncode == 130
    assert b"run the same command to continue" in printed
    finished = {path: path.stat().st_mtime_ns for path in Path(".searchmark/sweeps").glob("*/rows/*.jsonl")}
    assert finished
    swept()
    assert finished.items() <= {path: path.stat().st_mtime_ns for path in Path(".searchmark/sweeps").glob("*/rows/*.jsonl")}.items()


@pytest.mark.slow
def test_two_sweeps_do_not_work_in_one_folder(shop, capsys):
    process = started()
    end_at(process, 1, signal.SIGSTOP)
    try:
        assert main(COMMAND) == 4
        assert "another sweep is at work in .searchmark/sweeps/" in capsys.readouterr().err
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("named", ["rows", "inputs", "journals", "row"])
def test_nothing_is_written_through_a_link(shop, capsys, named):
    """A folder may come with a stranger's project."""
    elsewhere = shop / "elsewhere"
    kept = shop / "kept" / ("rows" if named == "row" else named)
    kept.parent.mkdir()
    if named == "row":
        elsewhere.write_text("mine\n")
        kept.mkdir()
        (kept / "0123.jsonl").symlink_to(elsewhere)
    else:
        elsewhere.mkdir()
        kept.symlink_to(elsewhere)
    assert main([*COMMAND, "--folder", "kept"]) == 4
    assert "is a link, and a sweep writes to none; remove it, or name a different folder (--folder)" in capsys.readouterr().err
    assert (elsewhere.read_text() if named == "row" else list(elsewhere.iterdir())) == ("mine\n" if named == "row" else [])


@pytest.mark.slow
def test_rows_are_for_the_owner_alone(shop):
    swept("--folder", "kept")
    assert {path.stat().st_mode & 0o077 for path in Path("kept/rows").iterdir()} == {0}


def test_the_help_tells_the_defaults_of_a_sweep_and_has_no_option_without_effect(capsys):
    assert main(["sweep", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "that of the sweep file, or 10" in said
    assert "that of the sweep file, or 3" in said
    assert "--block" not in said
