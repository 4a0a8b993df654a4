"""Finished rows of a sweep whose basis has changed since: they are run again, and a sentence says why."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from searchmark.agents.registry import named_spec
from searchmark.cli.main import main
from searchmark.experiments.sweep import changed_inputs, row_inputs

pytestmark = pytest.mark.slow

SIZE, CASES = 40, 12
PRECOMPUTED = """
options: {embedder: {name: precomputed, vectors: v.npy, queries: q.npy}}
grid: {index: [exact, hnsw]}
num_runs: 1
"""
HASHING = "options: {embedder: {name: hashing, dimension: 64}}\ngrid: {distance: [cosine, ip]}\nnum_runs: 1\n"
COMMAND = ["sweep", "--gold-set", "suite.json", "--corpus", "docs.json", "--config", "sweep.yaml", "-o", "sweep.json"]
HASHED = ("--config", "hashing.yaml", "--folder", "F")


def write_documents(name: str, prefix: str) -> None:
    Path(name).write_text(json.dumps([{"id": f"d{i}", "title": f"{prefix} {i * i}", "text": ""} for i in range(SIZE)]))


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Two sweeps that are finished, one of vectors in files and one in a folder of its own."""
    home = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        write_documents("docs.json", "shirt number")
        write_documents("other.json", "trousers")
        cases = [{"id": f"c{i}", "query": f"shirt number {i * i}", "judgments": [{"target": f"d{i}"}]} for i in range(CASES)]
        Path("suite.json").write_text(json.dumps({"schema_version": 1, "cases": cases}))
        vectors = np.random.default_rng(3).normal(size=(SIZE, 16)).astype(np.float32)
        np.save("v.npy", vectors)
        np.save("q.npy", vectors[:CASES])
        Path("v.json").write_text(json.dumps([f"d{i}" for i in range(SIZE)]))
        Path("q.json").write_text(json.dumps([case["query"] for case in cases]))
        Path("hashing.yaml").write_text(HASHING)
        Path("sweep.yaml").write_text(PRECOMPUTED)
        quality()
        quality(*HASHED)
    return home


@pytest.fixture
def shop(finished: Path, tmp_path: Path, monkeypatch) -> Path:
    home = shutil.copytree(finished, tmp_path / "shop", symlinks=True)
    monkeypatch.chdir(home)
    return home


def quality(*more: str) -> list[float]:
    assert main([*COMMAND, *more]) == 0
    return [row["measures"]["nDCG@10"]["mean"] for row in json.loads(Path("sweep.json").read_text())["rows"]]


def said(capsys, *more: str) -> str:
    """What is announced of the rows that are there."""
    capsys.readouterr()
    assert main([*COMMAND, "--dry-run", *more]) == 0
    return str(capsys.readouterr().err)


def reverse_vectors() -> None:
    np.save("v.npy", np.load("v.npy")[::-1])


def reverse_ids() -> None:
    Path("v.json").write_text(json.dumps(json.loads(Path("v.json").read_text())[::-1]))


def reverse_queries() -> None:
    np.save("q.npy", np.load("q.npy")[::-1])


def add_fingerprint() -> None:
    Path("v.npy.fingerprint.json").write_text(json.dumps({"model": "other"}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "named"),
    [
        (reverse_vectors, "v.npy"),
        (reverse_ids, "v.json"),
        (reverse_queries, "q.npy"),
        (add_fingerprint, "v.npy.fingerprint.json"),
    ],
)
def test_rows_from_files_that_have_changed_are_run_again(shop, capsys, change: Callable[[], None], named: str):
    assert "2 finished already" in said(capsys)
    change()
    printed = said(capsys)
    assert "0 finished already" in printed
    assert f"2 finished rows are run again: {named} has changed" in printed


@pytest.mark.slow
def test_numbers_are_those_of_the_vectors_of_today(shop, capsys):
    reverse_vectors()
    assert max(quality()) < 0.5
    assert "2 finished already" in said(capsys)


def test_a_file_that_was_only_touched_changes_nothing(shop, capsys):
    Path("v.npy").touch()
    assert "2 finished already" in said(capsys)


@pytest.mark.slow
def test_an_index_file_that_a_row_makes_is_no_change_of_it(shop, capsys):
    Path("sweep.yaml").write_text(HASHING.replace("options: {", "options: {index_file: kept.idx, "))
    quality()
    assert "2 finished already" in said(capsys)
    Path("kept.idx").unlink()
    assert "2 finished rows are run again: kept.idx has changed" in said(capsys)


@pytest.mark.slow
def test_a_file_that_an_exact_index_fills_is_no_change_of_it(shop, capsys):
    Path("sweep.yaml").write_text(PRECOMPUTED.replace("exact, hnsw", "{name: exact, file: room.bin}"))
    quality()
    Path("room.bin").write_bytes(b"")
    assert "2 finished already" in said(capsys)


def write_database() -> None:
    with sqlite3.connect("t.db") as database:
        database.execute("DROP TABLE IF EXISTS items")
        database.execute("CREATE TABLE items (id TEXT, vector BLOB)")
        rows = np.load("v.npy").astype("<f4")
        database.executemany("INSERT INTO items VALUES (?, ?)", [(f"d{i}", row.tobytes()) for i, row in enumerate(rows)])
    database.close()


@pytest.mark.slow
def test_rows_of_a_database_that_has_changed_are_run_again(shop, capsys):
    write_database()
    Path("sweep.yaml").write_text(
        "agent: vector-table\noptions: {database: t.db, table: items, embedder: {name: precomputed, vectors: v.npy, queries: q.npy}}\n"
        "grid: {distance: [cosine, l2]}\nbaseline: {distance: cosine}\nnum_runs: 1\n"
    )
    quality()
    assert "2 finished already" in said(capsys)
    with sqlite3.connect("t.db") as database:
        database.execute("UPDATE items SET id = 'x' || id")
    database.close()
    assert "2 finished rows are run again: t.db has changed" in said(capsys)


@pytest.mark.parametrize("options", [{"model": "model"}, {"embedder": {"name": "onnx", "model": "model"}}])
def test_a_file_in_the_folder_of_a_model_counts(shop, options: dict[str, Any]):
    spec = replace(named_spec("semantic", ()), config=options)
    weights = Path("model/onnx/model.onnx")
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"weights")
    before = row_inputs(spec)
    weights.write_bytes(b"others.")
    assert list(changed_inputs(before, row_inputs(spec))) == ["model/onnx/model.onnx has changed"]


def test_the_version_of_a_package_with_a_model_or_an_index_counts():
    now = row_inputs(named_spec("semantic", ()))
    assert list(changed_inputs({**now, "usearch": "1.0"}, now)) == [f"usearch was 1.0 and is {now['usearch']}"]
    assert "wordllama" in now


def test_rows_of_another_corpus_in_one_folder_are_run_again(shop, capsys):
    assert "2 finished already" in said(capsys, *HASHED)
    assert "2 finished rows are run again: different corpus" in said(capsys, *HASHED, "--corpus", "other.json")
    before = quality(*HASHED)
    assert quality(*HASHED, "--corpus", "other.json") != before


@pytest.mark.slow
def test_rows_that_were_asked_otherwise_are_run_again(shop, capsys):
    printed = said(capsys, *HASHED, "--depth", "3", "--num-runs", "2")
    assert "2 finished rows are run again: num_runs was 1 and is 2; depth was 10 and is 3" in printed
    assert "2 finished rows are run again: executor was this process and is process:2" in said(capsys, *HASHED, "--jobs", "2")
    assert "2 finished already" in said(capsys, *HASHED, "--max-failures", "3")
    Path("suite.json").write_text(Path("suite.json").read_text().replace('"d9"', '"d8"'))
    assert "2 finished already" in said(capsys, *HASHED)
    Path("suite.json").write_text(Path("suite.json").read_text().replace("shirt number 9", "shirt number 16"))
    assert "2 finished rows are run again: different queries" in said(capsys, *HASHED)


def test_rows_of_another_version_are_run_again(shop, capsys):
    for row in Path("F/rows").glob("*"):
        row.write_text(row.read_text().replace(f'"version": "{version("searchmark")}"', '"version": "0.0.1"', 1))
    assert "2 finished rows are run again: made by Searchmark 0.0.1" in said(capsys, *HASHED)


def test_documents_that_cases_bring_along_are_the_corpus(shop, capsys):
    documents = [{"id": "x", "text": "green tea"}, {"id": "y", "text": "coffee"}]
    cases = [
        {"id": "a", "query": "tea", "judgments": [{"target": "x"}], "documents": documents},
        {"id": "b", "query": "tea", "judgments": [{"target": "z"}], "documents": [{"id": "z", "text": "black tea"}]},
    ]
    Path("own.json").write_text(json.dumps({"schema_version": 1, "name": "own", "cases": cases}))
    command = ["sweep", "--gold-set", "own.json", "--config", "hashing.yaml", "--folder", "G"]
    assert main(command) == 0
    capsys.readouterr()
    assert main([*command, "--dry-run"]) == 0
    assert "2 finished already" in capsys.readouterr().err
    Path("own.json").write_text(Path("own.json").read_text().replace("coffee", "water"))
    assert main([*command, "--dry-run"]) == 0
    assert "2 finished rows are run again: different corpus" in capsys.readouterr().err


def other_setting(rows: list[Path]) -> None:
    rows[0].write_bytes(rows[1].read_bytes())


def cut_in_half(rows: list[Path]) -> None:
    rows[0].write_bytes(rows[0].read_bytes()[: rows[0].stat().st_size // 2])


def a_flipped_byte(rows: list[Path]) -> None:
    data = bytearray(rows[0].read_bytes())
    data[-10] ^= 1
    rows[0].write_bytes(bytes(data))


DAMAGES: dict[str, Callable[[list[Path]], Any]] = {
    "empty": lambda rows: rows[0].write_bytes(b""),
    "noise": lambda rows: rows[0].write_bytes(random.Random(1).randbytes(5000)),
    "json": lambda rows: rows[0].write_text('{"schema_version": 1, "record": "run", "label": 3}\n'),
    "deep": lambda rows: rows[0].write_text("[" * 100_000),
    "cut": cut_in_half,
    "flipped": a_flipped_byte,
    "other setting": other_setting,
    "no inputs": lambda rows: next(iter((rows[0].parent.parent / "inputs").glob(f"{rows[0].stem}.json"))).unlink(),
    "odd inputs": lambda rows: (rows[0].parent.parent / "inputs" / f"{rows[0].stem}.json").write_text('{"inputs": [1]}'),
    "deep inputs": lambda rows: (rows[0].parent.parent / "inputs" / f"{rows[0].stem}.json").write_text("[" * 100_000),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_row_that_is_damaged_or_foreign_is_run_again(shop, capsys, damage: str):
    DAMAGES[damage](sorted(Path("F/rows").glob("*.jsonl")))
    printed = said(capsys, *HASHED)
    assert "1 finished already" in printed
    assert "1 finished row is run again: " in printed


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_row_that_was_damaged_or_foreign_has_its_numbers_again(shop, capsys, damage: str):
    expected = quality(*HASHED)
    DAMAGES[damage](sorted(Path("F/rows").glob("*.jsonl")))
    assert quality(*HASHED) == expected
    assert "2 finished already" in said(capsys, *HASHED)


def test_a_folder_in_the_way_of_a_row_is_one_sentence(shop, capsys):
    row = next(Path("F/rows").glob("*.jsonl"))
    row.unlink()
    row.mkdir()
    assert main([*COMMAND, *HASHED]) == 2
    assert f"{row} is a folder; remove it" in capsys.readouterr().err
