"""The state of a work tree: told without reading a file, and without running what its config names."""

from __future__ import annotations

from pathlib import Path

from searchmark.git.worktree import RepositoryState, repository_state
from tests.support.small_histories import git


def test_commit_and_dirty_state_of_a_work_tree(tmp_path: Path) -> None:
    assert repository_state(tmp_path) is None
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-qm", "a")
    commit = git(tmp_path, "rev-parse", "HEAD").decode().strip()
    assert repository_state(tmp_path) == RepositoryState(commit, dirty=False)
    (tmp_path / "a").write_text("b")
    assert repository_state(tmp_path) == RepositoryState(commit, dirty=True)


def test_without_git_there_is_no_state(tmp_path: Path, monkeypatch) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "a")
    monkeypatch.setenv("PATH", "/nowhere")
    assert repository_state(tmp_path) is None


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
    repository_state(tmp_path)
    assert not (tmp_path / "owned").exists()
