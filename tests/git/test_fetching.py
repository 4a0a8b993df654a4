"""Shallow clones: what they lack is named with its remedy, and fetched only if that is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark import UsageError
from searchmark.git.clones import fetch_full_history
from searchmark.git.repository import open_repository
from tests.support.commands import searchmark
from tests.support.small_histories import FILE, git, write_history

REMEDIES = ("fetch-depth: 0", "GIT_DEPTH: 0")


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, list[str]]:
    """A folder with a repository, a clone of its last commit, and a gold set about its first; and its commits."""
    trees = [
        {b"cart.py": (FILE, b"class Cart: pass\n"), b"login.py": (FILE, b"def login(): return %d\n" % number)}
        for number in range(4)
    ]
    commits = write_history(tmp_path / "whole", trees)
    git(tmp_path, "clone", "-q", "--depth=1", (tmp_path / "whole").as_uri(), "short")
    case = {"id": "c1", "query": "login", "ground_truth_files": ["login.py"], "parent_commit": commits[0]}
    metadata = {"repository": "short"}
    (tmp_path / "gold.json").write_text(json.dumps({"test_cases": [case], "metadata": metadata}))
    return tmp_path, commits


def evaluate(folder: Path, *more: str) -> tuple[int, str]:
    done = searchmark("evaluate", "--gold-set", "gold.json", "--agent", "bm25", "--num-runs", "1", "--no-config", *more, cwd=folder)
    return done.returncode, done.stderr


def is_shallow(folder: Path) -> bool:
    with open_repository(folder / "short") as repository:
        return bool(repository.shallow)


def test_a_commit_that_is_missing_is_named_with_what_ci_must_clone(clone: tuple[Path, list[str]]) -> None:
    folder, commits = clone
    code, said = evaluate(folder, "--repo", "short")
    assert code == 4
    assert f"lacks the commit {commits[0]}; it is a shallow clone: fetch the rest with --fetch" in said
    assert all(remedy in said for remedy in REMEDIES)
    assert is_shallow(folder)


def test_a_repository_that_only_the_gold_set_names_is_not_fetched_and_the_remedy_is_named(clone: tuple[Path, list[str]]) -> None:
    folder, _ = clone
    code, said = evaluate(folder)
    assert code == 4
    assert all(remedy in said for remedy in REMEDIES)
    code, said = evaluate(folder, "--fetch")
    assert code == 4
    assert "--fetch completes a repository that you name; name it with --repo" in said
    assert is_shallow(folder)


def test_fetch_completes_the_clone_and_the_case_is_searched(clone: tuple[Path, list[str]]) -> None:
    folder, _ = clone
    code, said = evaluate(folder, "--repo", "short", "--fetch", "-o", "out.json")
    assert code == 0
    assert "fetched: the rest of short" in said
    assert json.loads((folder / "out.json").read_text())["agents"]["bm25"]["counts"]["ok"] == 1
    assert not is_shallow(folder)
    assert "fetched" not in evaluate(folder, "--repo", "short", "--fetch")[1]


@pytest.mark.slow
def test_compare_and_generate_fetch_too(clone: tuple[Path, list[str]]) -> None:
    folder, _ = clone
    done = searchmark("generate", "--repo", "short", "-o", "mined.json", "--no-config", cwd=folder)
    assert done.returncode == 5
    assert all(remedy in done.stderr for remedy in REMEDIES)
    done = searchmark("generate", "--repo", "short", "-o", "mined.json", "--no-config", "--fetch", cwd=folder)
    assert "fetched: the rest of short" in done.stderr
    assert not is_shallow(folder)
    git(folder, "clone", "-q", "--depth=1", (folder / "whole").as_uri(), "other")
    agents = ("--agents", "bm25", "path-match", "--repo", "other", "--num-runs", "1", "--no-config")
    done = searchmark("compare", "--gold-set", "gold.json", *agents, "--fetch", cwd=folder)
    assert "fetched: the rest of other" in done.stderr


@pytest.mark.parametrize("option", ["--offline", "--no-exec"])
def test_nothing_is_fetched_where_no_network_may_be_used(clone: tuple[Path, list[str]], option: str) -> None:
    folder, _ = clone
    code, said = evaluate(folder, "--repo", "short", "--fetch", option)
    assert (code, "--fetch uses the network" in said) == (4, True)
    assert is_shallow(folder)


def test_a_saved_run_has_nothing_to_fetch(clone: tuple[Path, list[str]]) -> None:
    folder, _ = clone
    (folder / "run.json").write_text('{"c1": ["login.py"]}')
    done = searchmark("evaluate", "--gold-set", "gold.json", "--run", "run.json", "--fetch", "--no-config", cwd=folder)
    assert (done.returncode, "--fetch belongs to a run with --agent" in done.stderr) == (4, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"remote.origin.uploadpack": "touch {mark}; git-upload-pack"},
        {"core.sshCommand": "touch {mark}; ssh", "remote.origin.url": "ssh://127.0.0.1:1/x"},
        {"remote.origin.url": "ext::touch {mark}", "protocol.ext.allow": "always"},
        {"remote.origin.vcs": "ext", "remote.origin.url": "touch {mark}", "protocol.ext.allow": "always"},
        {"core.hooksPath": "{hooks}"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_no_program_that_the_repository_names_is_run(clone: tuple[Path, list[str]], settings: dict[str, str]) -> None:
    folder, _ = clone
    mark, hook = folder / "mark", folder / "hooks" / "reference-transaction"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    for name, value in settings.items():
        git(folder / "short", "config", name, value.format(mark=mark, hooks=hook.parent))
    git(folder / "whole", "tag", "new")
    mark.unlink(missing_ok=True)
    evaluate(folder, "--repo", "short", "--fetch")
    assert not mark.exists()


def test_what_cannot_be_fetched_is_one_sentence(clone: tuple[Path, list[str]]) -> None:
    folder, _ = clone
    git(folder / "short", "remote", "remove", "origin")
    with pytest.raises(UsageError, match="short: the rest of this shallow clone cannot be fetched: "):
        fetch_full_history(str(folder / "short"))
