"""What a run knows about where it searched: what exists, which repositories, and what is not known at a service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from searchmark import (
    AgentSpec,
    Case,
    Document,
    Incomparable,
    Judgment,
    Run,
    RunLabel,
    RunSettings,
    Suite,
    UsageError,
    load_run,
    match_hits,
    save_run,
)
from searchmark.config.agents import parse_source
from searchmark.formats.corpora.locations import Commit, Documents, Folder, Location, Remote
from searchmark.records.provenance import IndexBuild, SearchedRepository
from searchmark.running.corpus_inspector import open_inspector
from searchmark.running.plan import order_cases
from searchmark.running.request import AgentJob, RunRequest
from searchmark.running.runner import run_agents
from tests.support.small_histories import FILE, git, write_history

TREES = [{b"app.py": (FILE, b"old\n")}, {b"main.py": (FILE, b"new\n")}]
SUITE = Suite.from_cases("s", [Case("c", "old", (Judgment("app.py", "path"), Judgment("main.py", "path")))])
SERVICE = """
from searchmark.agents.protocol import RetrievalAgent


class Service(RetrievalAgent):
    needs_corpus = False

    def retrieve(self, query, k):
        return ["app.py", "nowhere.py"]
"""


@pytest.fixture
def shop(tmp_path: Path) -> tuple[Path, list[str]]:
    return tmp_path / "shop", write_history(tmp_path / "shop", TREES)


def everywhere(location: Location) -> dict[str, Location]:
    return {"c": location}


def run_at(locations: Mapping[str, Location], source: str, journal: Path | None = None, *, resume: bool = False) -> Run:
    journals = {} if journal is None else {RunLabel("agent"): journal}
    options = RunSettings(num_runs=1, initialize_timeout_seconds=60.0)
    return run_agents(
        RunRequest(
            SUITE, (AgentJob(AgentSpec("agent", parse_source(source)), locations, RunLabel("agent")),), options, journals, resume
        )
    ).runs[0]


@pytest.mark.parametrize("dirty", [False, True])
def test_a_searched_repository_is_recorded_whatever_the_snapshot(dirty: bool, shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    (folder / ("more.py" if dirty else ".git/more")).write_text("x\n")
    for location in (Folder("shop", folder), Commit("shop", folder, commits[0])):
        with open_inspector(SUITE, [everywhere(location)]) as inspector:
            assert inspector.repositories == (SearchedRepository("shop", commits[1], dirty),)


def test_a_bare_repository_has_a_commit_and_no_work_tree_that_could_be_dirty(shop: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, commits = shop
    git(folder, "clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    with open_inspector(SUITE, [everywhere(Commit("bare.git", tmp_path / "bare.git", commits[0]))]) as inspector:
        assert inspector.repositories == (SearchedRepository("bare.git", commits[1], None),)


def test_unreachable_targets_are_recorded_case_by_case_wherever_it_is_known(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    expected = {
        Folder("shop", folder): ["app.py"],
        Commit("shop", folder, commits[0]): ["main.py"],
        Documents.of("s", (Document("x", "y"),)): ["app.py", "main.py"],
        Remote("shop"): None,
    }
    for location, unreachable in expected.items():
        with open_inspector(SUITE, [everywhere(location)]) as inspector:
            (step,) = order_cases(SUITE, everywhere(location), 0)
            assert inspector.prefetch(step)().unreachable == unreachable


def test_one_corpus_for_all_cases_has_its_unreachable_targets_in_the_run(shop: tuple[Path, list[str]]) -> None:
    run = run_at(everywhere(Folder("shop", shop[0])), "bm25")
    assert run.details_of(0).unreachable == ("app.py",)
    assert run.dropped["unreachable_targets"] == 1


def test_files_that_change_during_a_run_are_noticed(shop: tuple[Path, list[str]]) -> None:
    folder, _ = shop
    with open_inspector(SUITE, [everywhere(Folder("shop", folder))]) as inspector:
        inspector.find_changes()
        assert inspector.changed == []
        (folder / "main.py").write_text("changed\n")
        inspector.find_changes()
        assert inspector.changed == ["shop (last written: 'main.py')"]


class TestService:
    """A service searches what it has: the agent is given no corpus, and what exists there is not known."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> str:
        (tmp_path / "service.py").write_text(SERVICE)
        return f"{tmp_path / 'service.py'}:Service"

    def test_it_is_asked_without_being_initialised(self, source: str, tmp_path: Path) -> None:
        run = run_at(everywhere(Remote("shop")), source)
        (answer,) = run.answers
        assert (answer.status, [hit.id for hit in answer.hits]) == ("ok", ["app.py", "nowhere.py"])
        assert [hit.valid for hit in answer.hits] == [None, None]
        assert run.dropped == {}
        save_run(run, tmp_path / "run.jsonl")
        assert load_run(tmp_path / "run.jsonl").valid is None

    def test_hits_count_although_it_is_not_known_whether_they_exist(self, source: str) -> None:
        judged = match_hits(SUITE, run_at(everywhere(Remote("shop")), source))
        assert (judged.hits.rank.tolist(), judged.hits.grade.tolist()) == ([1], [1])

    def test_nothing_is_said_about_its_corpus_or_its_index(self, source: str) -> None:
        known = run_at(everywhere(Remote("shop")), source).provenance
        assert known.suite is not None
        assert (known.suite.corpus, known.repositories, known.own_corpus) == (None, (), True)
        assert known.index == IndexBuild()

    @pytest.mark.slow
    def test_its_journal_can_be_resumed_at_the_same_service_only(self, source: str, tmp_path: Path) -> None:
        journal = tmp_path / "journal.jsonl"
        first = run_at(everywhere(Remote("shop")), source, journal)
        again = run_at(everywhere(Remote("shop")), source, journal, resume=True)
        assert (again.valid, list(again.ids)) == (None, list(first.ids))
        with pytest.raises(Incomparable, match="different corpus"):
            run_at(everywhere(Remote("other")), source, journal, resume=True)

    @pytest.mark.slow
    def test_an_agent_that_needs_a_corpus_is_not_asked_there(self) -> None:
        with pytest.raises(UsageError, match="the agent 'agent' needs a corpus: name what to search with --corpus or --repo"):
            run_at(everywhere(Remote("shop")), "bm25")
