"""The suites about commits: built or found where they should be, every target there to be found, and gates that can fail."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from searchmark import load_suite
from searchmark.builtin_suites.code_history import repository as shop
from searchmark.builtin_suites.own_history import repository as own
from searchmark.cli.main import main
from searchmark.errors import UsageError
from searchmark.suites.builtin import builtin_suites
from tests.conftest import ROOT
from tests.support.histories import run

HISTORIES = ("code-history", "own-history")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEARCHMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop") / "larder"
    shop.build(folder)
    return folder


def full_clone() -> bool:
    try:
        own.located()
    except UsageError:
        return False
    return True


def test_every_folder_with_a_config_is_a_suite_and_has_what_a_suite_needs() -> None:
    found = builtin_suites()
    assert {*HISTORIES} <= {*found}
    for suite in found.values():
        assert suite.purpose
        assert len(load_suite(suite.reference)) > 0


def test_the_repository_is_built_into_the_cache_on_first_use_and_kept(cache: Path) -> None:
    name, _, path = shop.located().partition("=")
    folder = Path(path)
    assert (name, folder.name, folder.is_relative_to(cache)) == ("larder", "larder", True)
    assert run(folder, "rev-parse", "HEAD").strip() == shop.LAST_COMMIT
    (folder / "kept").write_text("")
    assert shop.located() == f"larder={folder}"
    assert (folder / "kept").exists()
    assert [each.name for each in folder.parent.iterdir()] == ["larder"]


def test_one_that_is_not_at_its_last_commit_is_built_again(cache: Path) -> None:
    folder = Path(shop.located().partition("=")[2])
    run(folder, "reset", "--hard", "--quiet", "HEAD~3")
    shop.located()
    assert run(folder, "rev-parse", "HEAD").strip() == shop.LAST_COMMIT


def test_suites_prints_where_the_repository_is(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suites", "code-history", "--repository"]) == 0
    assert Path(capsys.readouterr().out.strip(), ".git").is_dir()
    assert main(["suites", "--repository"]) == 4


def test_the_diff_of_a_built_in_case_needs_no_path(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "builtin:code-history", "larder@52ca2708ee5b", "--diff"]) == 0
    assert '"available": error.available' in capsys.readouterr().out


def test_every_target_of_the_shop_was_there_before_its_commit_and_changed_by_it(larder: Path) -> None:
    suite = load_suite("builtin:code-history")
    assert len(suite) == 105
    for case in suite.cases:
        there = run(larder, "ls-tree", "-r", "--name-only", case.fields["parent_commit"]).splitlines()
        changed = run(larder, "diff", "--name-only", "--no-renames", case.fields["parent_commit"], case.fields["commit_hash"])
        assert {each.target for each in case.judgments} <= {*there} & {*changed.splitlines()}


@pytest.mark.slow
@pytest.mark.parametrize("name", HISTORIES)
def test_the_gate_passes_with_bm25_trips_with_worse_agents_and_the_audit_is_clean(name: str, cache: Path) -> None:
    if name == "own-history" and not full_clone():
        pytest.skip("this is not a full clone")
    asked = ["evaluate", "--gold-set", f"builtin:{name}", "--no-archive"]
    assert main([*asked, "--save-run", "run.jsonl"]) == 0
    assert main(["audit", f"builtin:{name}", "--run", "run.jsonl", "--strict"]) == 0
    Path("worse.yaml").write_text("agents: [{name: worse, source: bm25, config: {k1: 0.0, content_weight: 0.1}}]\n")
    assert main([*asked, "--config", "worse.yaml", "--agent", "worse"]) == 1


def test_own_history_needs_a_full_clone_and_says_so(cache: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(own, "__file__", str(cache.parent / "repository.py"))
    assert main(["evaluate", "--gold-set", "builtin:own-history", "--agent", "bm25"]) == 4
    assert capsys.readouterr().err.splitlines()[-1] == (
        "searchmark: builtin:own-history is searched in a full clone of Searchmark's repository, and there is none here; "
        "run it inside of one, or name one with --repo searchmark=PATH"
    )


def test_a_shallow_clone_is_named(cache: Path, larder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{larder}", "shallow"], check=True)
    monkeypatch.chdir("shallow")
    monkeypatch.setattr(own, "__file__", str(cache.parent / "repository.py"))
    with pytest.raises(UsageError, match="shallow is a shallow one"):
        own.located()


def test_the_cases_of_own_history_end_at_a_fixed_commit() -> None:
    suite = load_suite("builtin:own-history")
    assert suite.metadata["repositories"]["searchmark"]["commit"] == own.LAST_COMMIT
    assert len(suite) == 150


def test_make_quality_is_part_of_what_every_change_must_pass() -> None:
    steps = (ROOT / ".ci/run").read_text().splitlines()
    assert steps.index("make test") < steps.index("make quality")
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    assert "make quality" in workflow
    assert "quality-output/*.md" in workflow
