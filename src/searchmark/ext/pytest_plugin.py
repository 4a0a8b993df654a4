"""The pytest plug-in: hooks only.

Every pytest session on the machine loads it, so it imports nothing of ours before a suite is found.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from searchmark.testing.suites import SearchmarkFixture, SharedRuns


SUFFIXES = (".searchmark.yaml", ".searchmark.yml")

SESSION = "searchmark_session"  # sent to every worker of xdist

NOTES = "searchmark_notes"  # sent back by a worker

_ID = pytest.StashKey[str]()

_SHARED = pytest.StashKey["SharedRuns"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The config that suites use, where it should not be looked for."""
    group = parser.getgroup("searchmark")
    group.addoption("--searchmark-config", metavar="FILE", help="Config of Searchmark, instead of the one that is found.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A suite becomes one item per case and one per rule of its gate."""
    if not file_path.name.endswith(SUFFIXES):
        return None
    from searchmark.ext.pytest_items import SuiteCollector

    collector: pytest.Collector = SuiteCollector.from_parent(parent, path=file_path, shared=shared_runs_of(parent.config))
    return collector


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Every worker of xdist gets the same name; the folder of that name is made with the first suite."""
    node.workerinput[SESSION] = node.config.stash.setdefault(_ID, _new_session_id())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """The controller collects nothing itself: it knows of suites by what workers have found, before a test is run."""
    if any(name.partition("::")[0].endswith(SUFFIXES) for name in ids):
        shared_runs_of(node.config).prepare()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a worker has to say reaches the summary."""
    notes = getattr(node, "workeroutput", {}).get(NOTES)
    if notes:
        shared_runs_of(node.config).note(*notes)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Expectations are updated when all workers are done, and not by a session that was stopped."""
    shared_runs = session.config.stash.get(_SHARED, None)
    if shared_runs is None:
        return
    if not shared_runs.is_controller:
        session.config.workeroutput[NOTES] = shared_runs.notes  # type: ignore[attr-defined]  # of xdist
    elif exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or session.shouldfail or session.shouldstop:
        shared_runs.leave_expectations()
    elif not shared_runs.update_expectations():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What should not be passed over, and what became of the expectations."""
    shared_runs = config.stash.get(_SHARED, None)
    if shared_runs is None or not shared_runs.notes:
        return
    terminalreporter.section("searchmark", yellow=True)
    for line in shared_runs.notes:
        terminalreporter.write_line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    """The runs are of use to this session alone."""
    shared_runs = config.stash.get(_SHARED, None)
    if shared_runs is not None:
        shared_runs.close()


@pytest.fixture
def searchmark(request: pytest.FixtureRequest) -> SearchmarkFixture:
    """`assert_search` and the measures of lists; relative paths are from the folder of the test on."""
    from searchmark.testing.suites import SearchmarkFixture

    return SearchmarkFixture(request.path.parent)


def shared_runs_of(config: pytest.Config) -> SharedRuns:
    """The runs that this session shares, one per suite."""
    from searchmark.testing.suites import SharedRuns

    if _SHARED not in config.stash:
        session = getattr(config, "workerinput", {}).get(SESSION)
        config.stash[_SHARED] = SharedRuns(
            session or config.stash.setdefault(_ID, _new_session_id()), is_controller=session is None
        )
    return config.stash[_SHARED]


def _new_session_id() -> str:
    return f"session-{os.urandom(8).hex()}-"
