"""The suites about commits: built or found where they should be, every target there to be found, and gates that can fail."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from searchmark import UsageError, load_suite
from searchmark.cli.main import main
from searchmark.config.builtin import builtin_named, builtin_suites, builtin_suites_folder
from searchmark.git import builtin
from searchmark.git.builtin import OWN_COMMIT, REPOSITORIES, SHOP_COMMIT, SHOP_STREAM, build_shop, own_repository, shop_repository
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
    build_shop(folder)
    return folder


def full_clone() -> bool:
    try:
        own_repository()
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
    name, _, path = shop_repository().partition("=")
    folder = Path(path)
    assert (name, folder.name, folder.is_relative_to(cache)) == ("larder", "larder", True)
    assert run(folder, "rev-parse", "HEAD").strip() == SHOP_COMMIT
    (folder / "kept").write_text("")
    assert shop_repository() == f"larder={folder}"
    assert (folder / "kept").exists()
    assert [each.name for each in folder.parent.iterdir()] == ["larder"]


def test_the_stored_stream_gives_the_same_branches_everywhere_and_nothing_is_wrong_with_them(larder: Path) -> None:
    assert run(larder, "for-each-ref", "--format=%(objectname) %(refname)").splitlines() == [
        "d2c9de1da70187b4978ef274e1706d2ce3b4674e refs/heads/feature/cancel",
        f"{SHOP_COMMIT} refs/heads/main",
    ]
    assert run(larder, "rev-list", "--count", "--all").strip() == "126"
    assert run(larder, "fsck", "--full", "--strict", "--no-progress") == ""


def test_the_stream_tells_the_answers_and_is_no_document() -> None:
    suite = builtin_named("code-history")
    assert suite.corpus is None
    assert SHOP_STREAM in suite.answers()


def test_a_folder_of_a_suite_holds_data_only_and_commits_are_told_by_name() -> None:
    assert [*builtin_suites_folder().rglob("*.py")] == []
    assert {name for name in builtin_suites() if name in REPOSITORIES} == {*HISTORIES}


def test_one_that_is_not_at_its_last_commit_is_built_again(cache: Path) -> None:
    folder = Path(shop_repository().partition("=")[2])
    run(folder, "reset", "--hard", "--quiet", "HEAD~3")
    shop_repository()
    assert run(folder, "rev-parse", "HEAD").strip() == SHOP_COMMIT


def test_suites_prints_where_the_repository_is(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suites", "code-history", "--repository"]) == 0
    assert Path(capsys.readouterr().out.strip(), ".git").is_dir()
    assert main(["suites", "--repository"]) == 4


def test_the_diff_of_a_built_in_case_needs_no_path(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cases", "builtin:code-history", "larder@52ca2708ee5b", "--diff"]) == 0
    assert '"available": error.available' in capsys.readouterr().out


@pytest.mark.slow
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
    monkeypatch.setattr(builtin, "__file__", str(cache.parent / "builtin.py"))
    assert main(["evaluate", "--gold-set", "builtin:own-history", "--agent", "bm25"]) == 4
    assert capsys.readouterr().err.splitlines()[-1] == (
        "searchmark: builtin:own-history is searched in a full clone of Searchmark's repository, and there is none here; "
        "run it inside of one, or name one with --repo searchmark=PATH"
    )


def test_a_shallow_clone_is_named(cache: Path, larder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{larder}", "shallow"], check=True)
    monkeypatch.chdir("shallow")
    monkeypatch.setattr(builtin, "__file__", str(cache.parent / "builtin.py"))
    with pytest.raises(UsageError, match="shallow is a shallow one"):
        own_repository()


def test_the_cases_of_own_history_end_at_a_fixed_commit() -> None:
    suite = load_suite("builtin:own-history")
    assert suite.metadata["repositories"]["searchmark"]["commit"] == OWN_COMMIT
    assert len(suite) == 150


def test_make_quality_is_part_of_what_every_change_must_pass() -> None:
    steps = (ROOT / ".ci/run").read_text().splitlines()
    assert steps.index("make test") < steps.index("make quality")
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    assert "make quality" in workflow
    assert "quality-output/*.md" in workflow
