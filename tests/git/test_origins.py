"""Cases of one piece of work share an origin: seen from outside, on real repositories, as the command writes them."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from searchmark import load_suite
from searchmark.git.mining.origins import message_family, same_wording
from tests.support.commands import searchmark

DAY = 86_400


class Work:
    """A repository with a work tree, and its commits by name; a day passes with every step unless more is said."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now, self.commits = folder, 1_600_000_000, dict[str, str]()
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        for name in ("alpha", "beta", "gamma", "delta", "omega"):
            (folder / f"{name}.py").write_text(f"{name} = 0\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "Everything there is")

    def git(self, *arguments: str) -> str:
        date = f"{self.now} +0000"
        environment = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_CONFIG_GLOBAL": os.devnull}
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@x.org")
        return subprocess.run(
            ["git", *identity, *arguments], cwd=self.folder, env=environment, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, name: str, message: str, *files: str, days: int = 1) -> None:
        self.now += days * DAY
        for file in files:
            with (self.folder / f"{file}.py").open("a") as text:
                text.write(f"{name} = {self.now}\n")
        self.git("commit", "-q", "-a", "-m", message)
        self.commits[self.git("rev-parse", "HEAD")] = name

    def branch(self, name: str) -> None:
        self.git("checkout", "-q", "-b", name)

    def merge(self, branch: str, message: str, into: str = "main") -> None:
        self.now += DAY
        self.git("checkout", "-q", into)
        self.git("merge", "-q", "--no-ff", "-m", message, branch)

    def generate(self, output: Path, *options: str) -> dict[str, Any]:
        searchmark(
            "generate", "--repo", f"w={self.folder}", "--output", str(output), *options, cwd=output.parent
        ).check_returncode()
        return json.loads(output.read_text())

    def origins(self, output: Path, *options: str) -> list[set[str]]:
        """The cases of each origin, as the loaded suite has them."""
        self.generate(output, *options)
        found: dict[str, set[str]] = {}
        for case in load_suite(output).cases:
            found.setdefault(case.origin or "", set()).add(self.commits[case.fields["commit_hash"]])
        return sorted(found.values(), key=sorted)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "work")


def test_the_commits_of_a_merged_pull_request_are_one(work: Work, tmp_path: Path) -> None:
    work.branch("topic")
    work.commit("a", "Reject blank passwords at login", "alpha")
    work.commit("b", "Limit the attempts of strangers", "beta")
    work.git("checkout", "-q", "main")
    work.commit("c", "Sort invoices by their date", "gamma")
    work.merge("topic", "Merge pull request #12 from ada/topic\n\nSafer logins")
    assert work.origins(tmp_path / "gold.json") == [{"a", "b"}, {"c"}]


def test_a_squashed_commit_belongs_to_the_pull_request_of_its_number(work: Work, tmp_path: Path) -> None:
    work.branch("topic")
    work.commit("a", "Reject blank passwords at login", "alpha")
    work.merge("topic", "Merge pull request #12 from ada/topic\n\nSafer logins")
    work.commit("b", "Limit the attempts of strangers (#12)", "beta")
    work.commit("c", "Sort invoices by their date (#13)", "gamma")
    assert work.origins(tmp_path / "gold.json") == [{"a", "b"}, {"c"}]


def test_the_commits_of_a_branch_that_was_merged_by_hand_are_one(work: Work, tmp_path: Path) -> None:
    work.branch("topic")
    work.commit("a", "Reject blank passwords at login", "alpha")
    work.commit("b", "Limit the attempts of strangers", "beta")
    work.merge("topic", "Merge branch 'topic' into main")
    assert work.origins(tmp_path / "gold.json") == [{"a", "b"}]


def test_a_release_branch_is_not_one_piece_of_work_but_a_request_into_it_is(work: Work, tmp_path: Path) -> None:
    work.branch("2.1.x")
    work.commit("a", "Reject blank passwords at login", "alpha")
    work.branch("topic")
    work.commit("b", "Limit the attempts of strangers", "beta")
    work.commit("c", "Sort invoices by their date", "gamma")
    work.merge("topic", "Merge pull request #12 from ada/topic\n\nInvoices", into="2.1.x")
    work.commit("d", "Round totals to whole cents", "delta")
    work.merge("2.1.x", "Merge branch '2.1.x'")
    assert work.origins(tmp_path / "gold.json") == [{"a"}, {"b", "c"}, {"d"}]


def test_a_merged_request_shares_the_origin_of_its_commits(work: Work, tmp_path: Path) -> None:
    work.branch("topic")
    work.commit("a", "Reject blank passwords at login", "alpha")
    work.merge("topic", "Merge branch 'topic'\n\nSafer logins for strangers")
    work.commits[work.git("rev-parse", "HEAD")] = "merge"
    options = ("--include-merges", "--without-rule", "merge_message", "--without-rule", "short", "--without-rule", "vague")
    assert work.origins(tmp_path / "gold.json", *options) == [{"a", "merge"}]


def test_messages_that_follow_one_template_are_one(work: Work, tmp_path: Path) -> None:
    work.commit("a", "Confirmed support for drivers 1.2", "alpha")
    work.commit("b", "Reject blank passwords at login", "beta")
    work.commit("c", "Confirmed support for drivers 1.3", "gamma", days=900)
    assert work.origins(tmp_path / "gold.json") == [{"a", "c"}, {"b"}]


def test_work_on_the_same_files_is_one_as_long_as_it_searches_meanwhile(work: Work, tmp_path: Path) -> None:
    work.commit("a", "Reject blank passwords at login", "alpha", "beta")
    work.commit("b", "Limit the attempts of strangers", "alpha", "beta", days=29)
    work.commit("c", "Sort invoices by their date", "alpha", days=2)
    work.commit("d", "Round totals to whole cents", "alpha", "beta", days=29)
    assert work.origins(tmp_path / "gold.json") == [{"a", "b"}, {"c"}, {"d"}]


def test_what_is_bound_through_others_is_one(work: Work, tmp_path: Path) -> None:
    work.commit("a", "Reject blank passwords at login (#1)", "alpha")
    work.commit("b", "Limit the attempts of strangers (#1)", "beta", days=90)
    work.commit("c", "Sort invoices by their date", "beta")
    assert work.origins(tmp_path / "gold.json") == [{"a", "b", "c"}]


def test_a_sample_keeps_the_origins_of_the_whole_history(work: Work, tmp_path: Path) -> None:
    work.commit("a", "Reject blank passwords at login (#1)", "alpha")
    work.commit("b", "Limit the attempts of strangers (#1)", "beta", days=90)
    work.commit("c", "Sort invoices by their date", "beta")
    whole = {case["id"]: case.get("origin") for case in work.generate(tmp_path / "whole.json")["test_cases"]}
    (newest,) = work.generate(tmp_path / "one.json", "--max-cases", "1")["test_cases"]
    assert newest["origin"] == whole[newest["id"]]
    assert work.commits[newest["origin"]] == "a"


def test_the_metadata_say_how_many_origins_there_are(work: Work, tmp_path: Path) -> None:
    work.commit("a", "Reject blank passwords at login (#1)", "alpha")
    work.commit("b", "Limit the attempts of strangers (#1)", "beta", days=90)
    work.commit("c", "Sort invoices by their date", "gamma")
    about = work.generate(tmp_path / "gold.json")["metadata"]["repositories"]["w"]
    assert (about["test_cases"], about["origins"], about["largest_origin"]) == (3, 2, 2)


def test_a_comma_does_not_make_another_question(work: Work, tmp_path: Path) -> None:
    work.commit("a", "Reject blank passwords at login, at last.", "alpha")
    work.commit("b", "Reject blank passwords at login at last", "beta")
    gold = work.generate(tmp_path / "gold.json")
    assert [work.commits[case["commit_hash"]] for case in gold["test_cases"]] == ["b"]
    assert gold["metadata"]["repositories"]["w"]["ledger"]["duplicate_message"]["commits"] == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Bump requests from 1.0 to 2.0", "Bump urllib from 2.3 to 2.4", True),
        ("Removed get_rows() per deprecation timeline", "Removed `Reader.all` per deprecation timeline.", True),
        ("Added get_rows to Reader.all", "Added put_rows to Writer.all", False),  # nothing but names: no template
        ("Sort invoices by their date", "sort invoices, by their date", True),
        ("Sort invoices by their date", "Sort invoices by their name", False),
    ],
)
def test_a_family_is_known_by_its_words(one: str, other: str, same: bool) -> None:
    assert (message_family(one) == message_family(other)) is same


def test_wording_keeps_what_is_part_of_a_name() -> None:
    assert Counter(map(same_wording, ("Fix the C++ reader", "Fix the C reader", "fix the c reader."))) == {
        "fix the c++ reader": 1,
        "fix the c reader": 2,
    }
