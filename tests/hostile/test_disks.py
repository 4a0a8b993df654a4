"""A full disk costs no answer that was given, no file that was there, and leaves no part of a file behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from searchmark import load_run

HERE = Path(__file__).parent
ROOM = 24_576  # bytes that are free when a command starts


def _can_mount() -> bool:
    try:
        return subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


pytestmark = [
    pytest.mark.hostile,
    pytest.mark.skipif(not _can_mount(), reason="a small file system needs Linux and a mount namespace of our own"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("disk", "corpus", "tmp", "home"):
        (tmp_path / name).mkdir()
    for number in range(40):
        (tmp_path / "corpus" / f"f{number}.txt").write_text(f"word{number} " * 20)
    cases = [{"id": f"c{i}", "query": f"word{i % 40}", "ground_truth_files": [f"f{i % 40}.txt"]} for i in range(120)]
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    return tmp_path


def on_a_disk(folder: Path, *steps: dict[str, Any], size: str = "400k") -> list[dict[str, Any]]:
    command = ["unshare", "-rm", sys.executable, str(HERE / "full_disk.py"), str(folder / "disk"), size]
    done = subprocess.run(command, input=json.dumps(steps), capture_output=True, text=True, check=True)
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return [result for result in results if result]


def evaluate(folder: Path, *more: str, journal: Path | None = None, **environment: str) -> dict[str, Any]:
    arguments = [
        *(
            "evaluate",
            "--gold-set",
            str(folder / "suite.json"),
            "--corpus",
            str(folder / "corpus"),
            "--agent",
            "bm25",
            "--num-runs",
            "1",
        ),
        *("--journal", str(journal or folder / "journal"), *(() if "--archive-folder" in more else ("--no-archive",)), *more),
    ]
    environment = {
        "TMPDIR": str(folder / "tmp"),
        "HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(folder / "home"),
    } | environment
    return {"run": arguments, "env": environment}


def resumed_cases(saved: Path) -> int:
    return load_run(saved).provenance.resumed


def answers(report: Path) -> dict[str, Any]:
    cases = json.loads(report.read_text())["agents"]["bm25"]["cases"]
    return {case: (each["status"], each["hits"], each["measures"]) for case, each in cases.items()}


@pytest.mark.parametrize("output", ["report.json", "report.md", "report.csv", "report.txt"])
def test_a_report_that_does_not_fit_leaves_the_old_one(output: str, folder: Path) -> None:
    before, full = on_a_disk(folder, evaluate(folder, "-o", output), {"fill": 512}, evaluate(folder, "-k", "c1", "-o", output))
    assert before["code"] == 0, before["said"]
    assert full["code"] == 4, full["said"]
    assert output in full["said"]
    assert full["files"] == before["files"]


def test_a_saved_run_that_does_not_fit_leaves_the_old_one(folder: Path) -> None:
    before, full = on_a_disk(
        folder, evaluate(folder, "--save-run", "run.jsonl"), {"fill": 512}, evaluate(folder, "-k", "c1", "--save-run", "run.jsonl")
    )
    assert (before["code"], full["code"]) == (0, 4), full["said"]
    assert "run.jsonl" in full["said"]
    assert full["files"] == before["files"]


def test_a_gold_set_that_does_not_fit_leaves_the_old_one(folder: Path, tmp_path_factory) -> None:
    repository = tmp_path_factory.mktemp("history")
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    for number in range(40):
        (repository / "shop.py").write_text(f"def price():\n    return {number}\n")
        git = ["git", "-C", str(repository), "-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run([*git, "add", "."], check=True)
        message = f"Return a better price for the {number} customers who asked for it"
        subprocess.run([*git, "commit", "-q", "--no-gpg-sign", "-m", message], check=True)
    generate = {"run": ["generate", "--repo", f"shop={repository}", "-o", "gold.json"], "env": {"TMPDIR": str(folder / "tmp")}}
    before, full = on_a_disk(folder, generate, {"fill": 512}, generate)
    assert (before["code"], full["code"]) == (0, 4), full["said"]
    assert "gold.json" in full["said"]
    assert full["files"] == before["files"]


def test_a_journal_that_does_not_fit_can_be_resumed_with_the_same_answers(folder: Path) -> None:
    disk, report, resumed_report = folder / "disk", folder / "report.json", folder / "resumed.json"
    (whole,) = on_a_disk(folder, evaluate(folder, "-o", str(report)))
    full, resumed = on_a_disk(
        folder,
        {"fill": ROOM},
        evaluate(folder, "-o", str(folder / "unused.json"), journal=disk / "j"),
        {"free": True},
        evaluate(folder, "--resume", "-o", str(resumed_report), "--save-run", str(folder / "run.jsonl"), journal=disk / "j"),
    )
    assert full["code"] == 4
    assert "Traceback" not in full["said"]
    assert any(name.startswith("j/") for name in full["files"])
    assert (whole["code"], resumed["code"]) == (0, 0), resumed["said"]
    assert 0 < resumed_cases(folder / "run.jsonl") < 120
    assert answers(resumed_report) == answers(report)


def test_a_full_folder_for_temporary_files_is_called_that(folder: Path) -> None:
    """keyword needs its files in a folder at a commit; here it is the agent's own folder that cannot be made."""
    disk = folder / "disk"
    (full,) = on_a_disk(folder, {"fill": 0}, evaluate(folder, "-o", str(folder / "report.json"), TMPDIR=str(disk)), size="64k")
    assert full["code"] in (0, 2, 4)
    assert "Traceback" not in full["said"]
    assert "output cannot be written" not in full["said"]


def test_a_full_cache_changes_no_answer(folder: Path) -> None:
    disk = folder / "disk"
    (full,) = on_a_disk(
        folder, {"fill": ROOM}, evaluate(folder, "-o", str(folder / "report.json"), HOME=str(disk), XDG_CACHE_HOME=str(disk))
    )
    assert full["code"] == 0, full["said"]
    assert json.loads((folder / "report.json").read_text())["agents"]["bm25"]["counts"]["ok"] == 120


class TestArchive:
    """The report is worth more than its entry in the archive, unless that was asked for."""

    def test_a_full_disk_keeps_no_part_of_an_entry(self, folder: Path) -> None:
        archived = evaluate(folder, "--archive-folder", "runs")
        before, full, freed = on_a_disk(folder, archived, {"fill": 12_288}, archived, {"free": True}, archived, size="4m")
        assert (before["code"], full["code"], freed["code"]) == (0, 0, 0), full["said"]
        assert "searchmark: the archive runs cannot be written: No space left on device; the report is not archived" in full["said"]
        assert full["files"] == before["files"]
        assert len(freed["files"]) == 2 * len(before["files"])

    def test_one_that_was_asked_for_must_be_written(self, folder: Path) -> None:
        asked = evaluate(folder, "--archive-folder", "runs", "--archive")
        (full,) = on_a_disk(folder, {"fill": 12_288}, asked)
        assert (full["code"], full["files"]) == (4, {})
        assert full["said"].endswith("searchmark: the archive runs cannot be written: No space left on device\n")

    def test_a_read_only_archive_is_listed_and_not_written(self, folder: Path) -> None:
        archived, prune = (
            evaluate(folder, "--archive-folder", "runs"),
            ["history", "prune", "--keep", "0", "--archive-folder", "runs"],
        )
        listed = ["history", "--archive-folder", "runs"]
        before, *after = on_a_disk(folder, archived, {"read_only": True}, archived, {"run": listed}, {"run": prune})
        assert [each["code"] for each in after] == [0, 0, 4]
        assert "the archive runs cannot be written: Read-only file system; the report is not archived" in after[0]["said"]
        assert "bm25" in after[1]["said"]
        assert after[2]["said"] == "searchmark: the archive runs cannot be written: Read-only file system\n"
        assert after[2]["files"] == before["files"]
