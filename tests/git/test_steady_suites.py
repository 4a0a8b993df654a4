"""A mined gold set changes by as much as was decided or committed, and by no more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.histories import NOUNS, VERBS, Script

pytestmark = pytest.mark.slow  # commands in processes of their own

COMMITS = 40
FILES = 8  # as many commits as --max-alike lets pass change each of them


def history(folder: Path, commits: int) -> None:
    script = Script()
    script.commit("root", "Start of all", {f"src/part{n}.py": f"x = 0  # {' '.join(NOUNS)}\n" for n in range(FILES)})
    for number in range(1, commits):
        first, second, third = (NOUNS[number * step % len(NOUNS)] for step in (1, 3, 7))
        text = f"{VERBS[number // len(NOUNS)].capitalize()} the {first} that a {second} leaves beside its {third}"
        script.commit(f"c{number}", text, {f"src/part{number % FILES}.py": f"x = {number}  # {' '.join(NOUNS)}\n"})
    script.build(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    history(tmp_path / "api.git", COMMITS)
    return tmp_path


def searchmark(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "searchmark", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def mined(folder: Path, sample: str, *more: str) -> tuple[list[str], str]:
    limits = ["--max-cases", "12", "--max-alike", "4", "--sample", sample]
    said = searchmark(folder, "generate", "--repo", "api=api.git", "-o", "gold.json", *limits, *more)
    return [case["id"] for case in json.loads((folder / "gold.json").read_text())["test_cases"]], said


@pytest.mark.parametrize(("sample", "more"), [("newest", []), ("spread", ["--fresh"]), ("random", ["--fresh"])])
def test_a_rejected_case_is_replaced_by_one(sample: str, more: list[str], folder: Path) -> None:
    before, _ = mined(folder, sample)
    searchmark(folder, "cases", "gold.json", "--reject", before[5], "--because", "asks for two things")
    after, said = mined(folder, sample, *more)
    assert (len(after), set(before) - set(after)) == (len(before), {before[5]})
    assert ("11 cases kept, 1 added, 1 dropped" in said) == (not more)


def test_the_newest_rejected_case_is_replaced_by_the_next_older_one(folder: Path) -> None:
    longer, _ = mined(folder, "newest", "--max-cases", "13")
    before, _ = mined(folder, "newest", "--fresh")
    searchmark(folder, "cases", "gold.json", "--reject", before[0], "--because", "asks for two things")
    assert mined(folder, "newest")[0] == longer[1:]


def test_a_longer_history_keeps_the_old_cases_unless_told_otherwise(folder: Path) -> None:
    before, _ = mined(folder, "spread")
    (folder / "api.git").rename(folder / "old.git")
    history(folder / "api.git", COMMITS + 20)
    after, said = mined(folder, "spread", "--max-cases", "15")
    assert set(before) < set(after)
    assert "12 cases kept, 3 added, 0 dropped (--fresh" in said
    assert not set(before) <= set(mined(folder, "spread", "--fresh")[0])


def test_a_gold_set_that_was_mined_in_another_way_keeps_nothing(folder: Path) -> None:
    mined(folder, "newest")
    (folder / "gold.json").rename(folder / "first.json")
    alone, _ = mined(folder, "random", "--seed", "3")
    (folder / "first.json").rename(folder / "gold.json")
    assert mined(folder, "random", "--seed", "3")[0] == alone


def test_decisions_apply_when_a_suite_is_read(folder: Path) -> None:
    ids, _ = mined(folder, "newest")
    evaluate = ["evaluate", "--gold-set", "gold.json", "--no-config", "-o", "out.json"]
    searchmark(folder, *evaluate, "--agent", "bm25", "--num-runs", "1")
    searchmark(folder, "cases", "gold.json", "--reject", ids[0], "--because", "asks for two things")
    searchmark(folder, "cases", "gold.json", "--query", ids[1], "headers that are refused by a reader")
    said = searchmark(folder, *evaluate, "--agent", "bm25", "--num-runs", "1")
    assert "decisions of people (gold.decisions.jsonl): 1 case rejected, 1 case with another query" in said
    assert set(json.loads((folder / "out.json").read_text())["agents"]["bm25"]["cases"]) == set(ids[1:])
    assert "rejected" in searchmark(folder, "cases", "gold.json")
