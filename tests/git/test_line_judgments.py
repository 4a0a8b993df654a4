"""Lines as what is to be found: from the history to judgments, from these to values, as a user types it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from searchmark import load_run, load_suite, match_hits, save_suite, score
from searchmark.cli.main import main
from searchmark.git.mining.drafts import ChangedLines
from tests.support.small_histories import git

BEFORE = {
    "parser.py": "import re\n\n\ndef parse(text):\n    return re.split(',', text)\n\n\ndef quote(text):\n    return text\n",
    "other.py": "def render(page):\n    return page\n",
    "empty.py": "",
}
AFTER = {
    "parser.py": "import re\n\n\ndef parse(text):\n    return re.split(';', text)\n\n\ndef quote(text):\n    return text\n\nEND = 1\n",
    "empty.py": "VALUE = 1\n",
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("history") / "small"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for message, files in (("Start of it all", BEFORE), ("Split rows of the parser at semicolons", AFTER)):
        for name, text in files.items():
            (folder / name).write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", message)
    return folder


@pytest.fixture(scope="module")
def gold(repository: Path, tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("gold") / "gold.json"
    assert main(["generate", "--repo", str(repository), "--granularity", "lines", "-o", str(file)]) == 0
    return file


def test_changed_lines_and_places_of_insertions_are_judged(gold: Path) -> None:
    """The empty file has no line at the parent that anybody could find."""
    (case,) = json.loads(gold.read_text())["test_cases"]
    assert case["ground_truth_lines"] == ["parser.py#L5", "parser.py#L9"]
    assert case["ground_truth_files"] == ["parser.py"]
    (read,) = load_suite(gold).cases
    assert [(each.match, each.target) for each in read.judgments] == [("lines", "parser.py#L5"), ("lines", "parser.py#L9")]


def test_the_file_is_read_and_written_again_without_a_loss(gold: Path, tmp_path: Path) -> None:
    assert list(save_suite(load_suite(gold), tmp_path / "again.json", format="gold-set")) == []
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(gold.read_text())


def test_a_commit_without_lines_to_find_is_counted(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "modes"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "tool.py").write_text("")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Start")
    (folder / "tool.py").write_text("VALUE = 1\n")
    git(folder, "commit", "-q", "-a", "-m", "Give the tool a first value to print")
    assert main(["generate", "--repo", str(folder), "--granularity", "lines", "-o", str(tmp_path / "gold.json")]) == 5
    assert "no_lines 1" in capsys.readouterr().err


def test_ranges_that_touch_are_one() -> None:
    assert ChangedLines(((5, 6), (9, 9)), (0, 1, 7)).places == ((1, 1), (5, 7), (9, 9))


@pytest.mark.parametrize("agent", ["bm25", pytest.param("fts5", marks=pytest.mark.slow)])
def test_an_agent_is_measured_by_lines(repository: Path, gold: Path, tmp_path: Path, agent: str) -> None:
    """Whole files cost all their lines; passages cost theirs, so that more of what is read is relevant."""
    found = {}
    for lines in (False, True):
        config, saved = tmp_path / f"{lines}.yaml", tmp_path / f"{lines}.jsonl"
        config.write_text(json.dumps({"agents": [{"name": agent, "config": {"lines": lines}}]}))
        command = ["evaluate", "--gold-set", str(gold), "--repo", str(repository), "--agent", agent, "--config", str(config)]
        assert main([*command, "--save-run", str(saved)]) in (0, 2)
        found[lines] = score(
            match_hits(load_suite(gold), load_run(saved)), ["LineR(lines=200)", "Efficiency(lines=200)", "LineR(lines=4)"]
        )
    whole, passages = (found[lines].values[0].tolist() for lines in (False, True))
    assert whole in ([1.0, 2 / 9, 0.0], [1.0, 2 / 11, 0.0])  # the other file is hit as well, or not
    assert passages[0] >= 0.5
    assert not math.isnan(passages[1])
    assert passages[1] > whole[1]
