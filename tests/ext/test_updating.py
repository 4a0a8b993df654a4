"""UPDATE_BENCHMARK_EXPECTATIONS: what is written, what is not, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ext.support import SUITE, in_git, run_pytest, shop

pytestmark = pytest.mark.slow  # each is a session of pytest of its own

WARNING = "⚠️ Updated benchmark expectations! Review changes before committing."
HEAD, CASES = SUITE.split("gates:")[0], "cases:" + SUITE.split("cases:")[1]
UPDATE = {"UPDATE_BENCHMARK_EXPECTATIONS": "true"}


def test_updated_expectations_are_written_and_said(tmp_path: Path) -> None:
    folder = shop(tmp_path, SUITE.split("gates:")[0] + "cases:" + SUITE.split("cases:")[1])
    in_git(folder)
    done = run_pytest(folder, "-n", "2", UPDATE_BENCHMARK_EXPECTATIONS="true")
    assert set(done.outcomes.values()) == {"passed"}
    assert "⚠️ Updated benchmark expectations! Review changes before committing." in done.output
    text = (folder / "search.searchmark.yaml").read_text()
    assert "- {id: milk, query: milk, judgments: [{target: honey.md, grade: 1}]}" in text
    assert "- {id: tea, query: tea, category: hot, judgments: [{target: tea.md, grade: 1}]}" in text
    assert "agent: shop.py:search\ncorpus: docs\n" in text
    assert "search.searchmark.yaml: 3 expectations updated" in done.output


def test_only_the_cases_that_were_selected_are_updated(tmp_path: Path) -> None:
    folder = shop(tmp_path, SUITE)
    in_git(folder)
    run_pytest(folder, "-k", "case[milk]", UPDATE_BENCHMARK_EXPECTATIONS="true")
    text = (folder / "search.searchmark.yaml").read_text()
    assert "{id: milk, query: milk, judgments: [{target: honey.md, grade: 1}]}" in text
    assert "{id: honey, query: honey, judgments: [{target: honey.md, grade: 1}]}" in text


def test_nothing_is_updated_from_a_run_that_is_untrusted(tmp_path: Path) -> None:
    before = SUITE + "  - {id: coffee, query: coffee, judgments: [{target: coffee.md, grade: 1}]}\n"
    folder = shop(tmp_path, before)
    in_git(folder)
    done = run_pytest(folder, UPDATE_BENCHMARK_EXPECTATIONS="true")
    assert set(done.outcomes.values()) == {"error"}
    assert "no expectation is updated: the run 'search' is untrusted" in done.output
    assert (folder / "search.searchmark.yaml").read_text() == before


def test_an_update_without_an_author_is_an_error(tmp_path: Path) -> None:
    folder = shop(tmp_path, SUITE)
    done = run_pytest(folder, UPDATE_BENCHMARK_EXPECTATIONS="1", GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1")
    assert set(done.outcomes.values()) == {"error"}
    assert "no expectation is updated: Git does not know who you are" in done.output


def test_a_case_that_no_run_can_update_is_left_alone_and_says_so(tmp_path: Path) -> None:
    graded = "  - {id: graded, query: tea, judgments: [{target: tea.md, grade: 2}, {target: milk.md, grade: 1}]}\n"
    folder = shop(tmp_path, SUITE + graded)
    in_git(folder)
    done = run_pytest(folder, "-k", "case[", UPDATE_BENCHMARK_EXPECTATIONS="true")
    assert set(done.outcomes.values()) == {"passed"}
    assert "the expectation of case graded was left alone: it expects grades" in done.output
    assert graded in (folder / "search.searchmark.yaml").read_text()


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=" ".join)
def test_what_changed_is_shown_and_that_it_is_circular(tmp_path: Path, workers: tuple[str, ...]) -> None:
    folder = shop(tmp_path, HEAD + CASES)
    in_git(folder)
    done = run_pytest(folder, "-W", "error", *workers, **UPDATE)
    assert set(done.outcomes.values()) == {"passed"}
    assert "  case milk expected milk.md; it expects honey.md now\n" in done.output
    assert "circular: what 3 cases would expect is exactly what search returned." in done.output


def test_where_nothing_changes_nothing_is_said_to_be_updated(tmp_path: Path) -> None:
    folder = shop(tmp_path, SUITE)
    in_git(folder)
    done = run_pytest(folder, "-k", "case[tea]", **UPDATE)
    assert "search.searchmark.yaml: 0 expectations updated, 1 unchanged" in done.output
    assert WARNING not in done.output
    assert (folder / "search.searchmark.yaml").read_text() == SUITE


STOPPED = {
    "interrupted": ("raise KeyboardInterrupt", ()),
    "first failure": ("assert False", ("-x",)),
    "first failure of a worker": ("assert False", ("-x", "-n", "1")),
    "exit": ("import pytest; pytest.exit('enough')", ()),
}


@pytest.mark.parametrize("how", STOPPED)
def test_a_session_that_is_stopped_updates_nothing(tmp_path: Path, how: str) -> None:
    code, arguments = STOPPED[how]
    folder = shop(tmp_path, HEAD + CASES)
    in_git(folder)
    (folder / "test_zoo.py").write_text(f"def test_zoo():\n    {code}\n")
    done = run_pytest(folder, "search.searchmark.yaml", "test_zoo.py", *arguments, **UPDATE)
    assert done.code != 0
    assert (folder / "search.searchmark.yaml").read_text() == HEAD + CASES
    assert "search.searchmark.yaml: no expectation was updated, since the session was stopped before its end" in done.output


def test_a_failure_of_another_test_does_not_stop_an_update(tmp_path: Path) -> None:
    folder = shop(tmp_path, HEAD + CASES)
    in_git(folder)
    (folder / "test_zoo.py").write_text("def test_zoo():\n    assert False\n")
    done = run_pytest(folder, **UPDATE)
    assert (done.code, WARNING in done.output) == (1, True)


def test_a_case_that_cannot_be_changed_in_place_does_not_concern_others(tmp_path: Path) -> None:
    shared = "  - {id: one, query: milk, judgments: &shared [{target: sugar.md}]}\n  - {id: two, query: milk, judgments: *shared}\n"
    folder = shop(tmp_path, HEAD + CASES + shared)
    in_git(folder)
    refused = run_pytest(folder, "-k", "case[two]", **UPDATE)
    assert (refused.code, WARNING in refused.output) == (1, False)
    assert "no expectation was updated: " in refused.output
    assert run_pytest(folder, "-k", "case[milk]", **UPDATE).code == 0
    assert "{id: milk, query: milk, judgments: [{target: honey.md, grade: 1}]}" in (folder / "search.searchmark.yaml").read_text()
