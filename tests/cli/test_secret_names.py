"""A secret of the environment is in no name of a file or folder that a command writes, nor in what these hold."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.support.commands import searchmark

SECRET = "zq8vTt19_XkLm#4"  # noqa: S105  # made up


@pytest.mark.parametrize("suffix", ["json", "trec"], ids=["ids in a list", "ids in a column"])
def test_a_secret_in_names_of_suite_agent_and_hits_is_written_nowhere(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    case = {"id": "c1", "query": "q", "judgments": [{"target": "a"}]}
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "name": f"suite {SECRET}", "cases": [case]}))
    (tmp_path / "run.json").write_text(json.dumps({"c1": ["a", SECRET]}))
    (tmp_path / "run.trec").write_text("".join(f"c1 Q0 {hit} 1 {score} {SECRET}\n" for hit, score in (("a", 2.0), (SECRET, 1.0))))
    config = {"output": {"directory": "out", "formats": ["markdown", "json"], "file_name": "{suite}-{agent}"}}
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    before = set(tmp_path.rglob("*"))
    command = ("evaluate", "--gold-set", "suite.json", "--run", f"run.{suffix}", "--archive", "--config", "config.yaml", "-m", "RR")
    done = searchmark(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made = [path for path in tmp_path.rglob("*") if path not in before]
    assert [path for path in made if SECRET in str(path.relative_to(tmp_path))] == []
    texts = {path: path.read_bytes() for path in made if path.is_file()}
    whole = {path: gzip.decompress(data) if path.suffix == ".gz" else data for path, data in texts.items()}
    assert [path for path, data in whole.items() if SECRET.encode() in data] == []
    assert len(whole) > 4
