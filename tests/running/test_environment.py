"""What is recorded of a run says where it was made."""

from __future__ import annotations

import subprocess
from pathlib import Path

from searchmark.running.environment import environment, git_state


def test_the_environment_names_versions_and_machine() -> None:
    found = environment()
    assert found.packages["searchmark"]
    assert (found.cores or 0) >= 1
    assert (found.memory_bytes or 0) > 1 << 28


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_commit_and_dirty_state_of_a_work_tree(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-qm", "a")
    state = git_state(tmp_path)
    assert state is not None
    assert len(state["commit"]) == 40
    assert state["dirty"] is False
    (tmp_path / "a").write_text("b")
    assert (git_state(tmp_path) or {})["dirty"] is True


def test_a_hostile_repository_runs_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "core.fsmonitor", f"touch {tmp_path / 'owned'}; true")
    git(tmp_path, "config", "filter.evil.clean", f"touch {tmp_path / 'owned'}; cat")
    (tmp_path / ".gitattributes").write_text("* filter=evil\n")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "a")
    (tmp_path / "a").write_text("changed")
    (tmp_path / "owned").unlink(missing_ok=True)
    git_state(tmp_path)
    assert not (tmp_path / "owned").exists()
