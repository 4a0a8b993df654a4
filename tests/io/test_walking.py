"""Folders are walked through as `os.walk` does it, to any depth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark.io.folders import open_folder, remove_entry_in
from searchmark.io.paths import walk

DEPTH = 1300  # beyond what Python lets a function call itself


def test_it_gives_what_the_standard_library_gives(tmp_path: Path) -> None:
    for name in ("b/x", "a/y/z", "a/w"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    assert [*map(sorted_parts, walk(tmp_path))] == [*map(sorted_parts, os.walk(tmp_path))]


def sorted_parts(found: tuple[str, list[str], list[str]]) -> tuple[str, list[str], list[str]]:
    return found[0], sorted(found[1]), sorted(found[2])


@pytest.mark.slow
def test_a_folder_as_deep_as_a_path_can_be_is_searched(tmp_path: Path) -> None:
    """In a process of its own, since it goes from folder to folder."""
    code = f"import os\nos.chdir({str(tmp_path)!r})\nfor _ in range({DEPTH}):\n    os.mkdir('d'); os.chdir('d')\nopen('deep.txt', 'w').write('word')"
    subprocess.run([sys.executable, "-c", code], check=True)
    try:
        suite = {"test_cases": [{"id": "c", "query": "word", "ground_truth_files": ["d/" * DEPTH + "deep.txt"]}], "metadata": {}}
        (tmp_path / "suite.json").write_text(json.dumps(suite))
        command = [sys.executable, "-m", "searchmark", "evaluate", "--gold-set", "suite.json", "--corpus", ".", "--agent", "bm25"]
        done = subprocess.run([*command, "--fail-under", "RR=1"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    finally:
        opened = open_folder(tmp_path)
        remove_entry_in("d", opened)  # which pytest could not
        os.close(opened)
