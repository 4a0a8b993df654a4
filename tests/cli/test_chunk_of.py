"""``chunk_of`` of an agent in a config, as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from searchmark.cli.main import main

AGENT = """
def search(query, k):
    yield "a.py#chunk-7", 3.0
    yield ("a.py#chunk-2", 2.0)
    yield {"_id": "b.py#chunk-1", "_score": 1.0}
"""


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "corpus").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "corpus" / name).write_text(f"text of {name}\n")
    (tmp_path / "mine.py").write_text(AGENT)
    cases = [{"id": "c1", "query": "tea", "ground_truth_files": ["b.py"]}]
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluated(chunk_of: str) -> int:
    Path("searchmark.yaml").write_text(json.dumps({"agents": [{"name": "mine", "chunk_of": chunk_of}]}))
    command = ["evaluate", "--config", "searchmark.yaml", "--gold-set", "suite.json", "--agent", "mine=mine.py:search"]
    return main([*command, "--corpus", "corpus", "-o", "out.json"])


def test_chunks_count_for_their_files_and_the_report_says_how_many_were_merged(workplace: Path, capsys: Any) -> None:
    assert evaluated("{file}#chunk-{n}") == 0
    report = json.loads(Path("out.json").read_text())["agents"]["mine"]
    assert [hit["id"] for hit in report["cases"]["c1"]["hits"]] == ["a.py", "b.py"]
    assert "merged with it: 1" in " ".join(capsys.readouterr().out.split())


def test_a_rule_that_no_id_fits_is_told(workplace: Path, capsys: Any) -> None:
    evaluated("{file}::{n}")
    assert "hits whose ids do not fit chunk_of, taken as they are: 3" in " ".join(capsys.readouterr().out.split())


def test_a_rule_without_a_file_is_refused_with_file_and_field(workplace: Path, capsys: Any) -> None:
    assert evaluated("#chunk-{n}") == 4
    said = capsys.readouterr().err
    assert "searchmark.yaml" in said
    assert "chunk_of must be such as '{file}#chunk-{n}', and '#chunk-{n}' has no {file}" in said
