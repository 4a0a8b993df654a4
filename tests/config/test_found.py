"""A config that nobody named is obeyed only if it lies in the project and is the user's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from searchmark import UsageError, load_config

MARGIN = "compare: {margin: 0.5}"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
OTHER = 65534


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Path:
    """A repository with a config, and a working directory two folders below its top."""
    folder = tmp_path / "project"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "searchmark.yaml").write_text(MARGIN)
    monkeypatch.chdir(folder / "deep" / "er")
    return folder


def refusal() -> str:
    with pytest.raises(UsageError) as caught:
        load_config()
    sentence = str(caught.value)
    assert "--config " in sentence
    assert "--no-config" in sentence
    return sentence


def test_the_nearest_config_up_to_the_top_of_the_repository_is_obeyed(project: Path) -> None:
    assert load_config().compare.margin == 0.5
    (project / "deep" / "searchmark.toml").write_text("[compare]\nmargin = 0.25")
    assert load_config().compare.margin == 0.25


def test_a_worktree_has_a_file_in_place_of_its_git_directory(project: Path) -> None:
    (project / ".git").rmdir()
    (project / ".git").write_text("gitdir: elsewhere")
    assert load_config().compare.margin == 0.5


@pytest.mark.parametrize("name", ["searchmark.yaml", "pyproject.toml"])
def test_a_config_above_the_repository_is_refused(project: Path, name: str) -> None:
    (project / "searchmark.yaml").unlink()
    (project.parent / name).write_text("[tool.searchmark.compare]\nmargin = 0.5")
    assert f"{project.parent / name} was found and lies above the project {project}" in refusal()


def test_outside_of_a_repository_the_project_is_the_working_directory_alone(project: Path, monkeypatch) -> None:
    (project / ".git").rmdir()
    assert "lies above the project" in refusal()
    monkeypatch.chdir(project)
    assert load_config().compare.margin == 0.5


def test_a_config_above_can_be_ignored_or_named(project: Path) -> None:
    (project / "searchmark.yaml").rename(project.parent / "searchmark.yaml")
    assert load_config(search=False).compare.margin == 0.02
    assert load_config(project.parent / "searchmark.yaml").compare.margin == 0.5


@needs_root
def test_the_config_of_a_different_user_is_refused(project: Path) -> None:
    os.chown(project / "searchmark.yaml", OTHER, -1)
    assert "belongs to a different user" in refusal()


def test_a_config_that_everybody_may_write_is_refused(project: Path) -> None:
    (project / "searchmark.yaml").chmod(0o646)
    assert "may be written by every user" in refusal()


@needs_root
def test_a_config_that_a_foreign_group_may_write_is_refused(project: Path) -> None:
    os.chown(project / "searchmark.yaml", -1, OTHER)
    (project / "searchmark.yaml").chmod(0o664)
    assert "may be written by a group that is not your primary one" in refusal()


@needs_root
def test_a_foreign_group_may_read_it(project: Path) -> None:
    os.chown(project / "searchmark.yaml", -1, OTHER)
    (project / "searchmark.yaml").chmod(0o644)
    assert load_config().compare.margin == 0.5


def test_the_users_own_group_may_write_it(project: Path) -> None:
    (project / "searchmark.yaml").chmod(0o664)
    assert load_config().compare.margin == 0.5


def test_a_link_is_obeyed_where_its_target_lies_in_the_project(project: Path) -> None:
    (project / "searchmark.yaml").rename(project / "real.yaml")
    (project / "searchmark.yaml").symlink_to("real.yaml")
    assert load_config().compare.margin == 0.5


def test_a_link_out_of_the_project_is_refused(project: Path) -> None:
    (project / "searchmark.yaml").rename(project.parent / "real.yaml")
    (project / "searchmark.yaml").symlink_to("../real.yaml")
    assert f"is a link to {project.parent / 'real.yaml'}, outside of the project" in refusal()


def test_a_pipe_is_refused_and_not_waited_for(project: Path) -> None:
    (project / "searchmark.yaml").unlink()
    os.mkfifo(project / "searchmark.yaml")
    assert "is not a regular file" in refusal()


def test_a_folder_of_that_name_is_refused(project: Path) -> None:
    (project / "searchmark.yaml").unlink()
    (project / "searchmark.yaml").mkdir()
    assert "is not a regular file" in refusal()


def test_a_link_to_nothing_is_refused(project: Path) -> None:
    (project / "searchmark.yaml").unlink()
    (project / "searchmark.yaml").symlink_to("nothing")
    assert "cannot be read (No such file or directory)" in refusal()


def test_a_project_file_that_is_not_about_us_is_left_alone(project: Path) -> None:
    (project / "searchmark.yaml").unlink()
    os.mkfifo(project / "deep" / "pyproject.toml")
    (project / "pyproject.toml").write_text("[tool.other]\na = 1")
    (project.parent / "pyproject.toml").write_text("[tool.searchmarket]\na = 1")
    assert load_config().compare.margin == 0.02


def test_a_file_that_is_no_config_by_its_size_is_refused(project: Path) -> None:
    with (project / "searchmark.yaml").open("wb") as file:
        file.truncate(1 << 40)
    assert "is larger than 1 MiB" in refusal()


@pytest.mark.parametrize(
    ("content", "ours"),
    [
        ("agents: [bm25]\ndataset: {min_files: 2}\n", True),
        ("# a benchmark\nevaluation:\n  num_runs: 3\nagents:\n  - bm25\n", True),
        ("dataset: imagenet\nevaluation: top1\n", False),
        ("agents: [bm25]\ntraining: {epochs: 3}\n", False),
        ("[tool]\n", False),
    ],
)
def test_a_benchmark_config_is_obeyed_if_it_lists_agents_and_has_no_other_sections(project: Path, content: str, ours: bool) -> None:
    (project / "searchmark.yaml").unlink()
    (project / "benchmark_config.yaml").write_text(content)
    assert bool(load_config().agents) is ours


def test_a_benchmark_config_that_is_broken_is_told(project: Path) -> None:
    (project / "searchmark.yaml").unlink()
    (project / "benchmark_config.yaml").write_text("agents:\n  - name: [\n")
    with pytest.raises(UsageError, match=r"benchmark_config\.yaml"):
        load_config()


def test_our_own_name_comes_before_that_of_a_benchmark_config(project: Path) -> None:
    (project / "benchmark_config.yaml").write_text("agents: [bm25]\n")
    assert load_config().compare.margin == 0.5
