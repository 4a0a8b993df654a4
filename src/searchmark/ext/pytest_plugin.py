"""The pytest plug-in: suites named ``*.searchmark.yaml`` are collected, and tests in Python get the fixture ``searchmark``.

Every pytest on a machine loads this module, whatever it tests: nothing of ours is imported before a suite is found.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from searchmark.pytest_plugin.fixture import SearchFixture
    from searchmark.pytest_plugin.shared_runs import SharedRuns

SUFFIXES = (".searchmark.yaml", ".searchmark.yml")
SESSION = "searchmark_session"  # what a worker of xdist is told
NOTES = "searchmark_notes"  # what a worker tells
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
    from searchmark.pytest_plugin.collecting import SuiteCollector

    collector: pytest.Collector = SuiteCollector.from_parent(parent, path=file_path, shared=runs_of(parent.config))
    return collector


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Every worker of xdist is told the same name; what it names is not there before a suite is."""
    node.workerinput[SESSION] = node.config.stash.setdefault(_ID, _new_id())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """The controller collects nothing itself: it knows of suites by what workers have found, before a test is run."""
    if any(name.partition("::")[0].endswith(SUFFIXES) for name in ids):
        runs_of(node.config).prepare()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a worker has to say reaches the summary."""
    notes = getattr(node, "workeroutput", {}).get(NOTES)
    if notes:
        runs_of(node.config).note(*notes)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Expectations are updated when all workers are done, and not by a session that was stopped."""
    shared = session.config.stash.get(_SHARED, None)
    if shared is None:
        return
    if not shared.is_controller:
        session.config.workeroutput[NOTES] = shared.notes  # type: ignore[attr-defined]  # of xdist
    elif exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or session.shouldfail or session.shouldstop:
        shared.leave_expectations()
    elif not shared.update_expectations():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What should not be passed over, and what became of the expectations."""
    shared = config.stash.get(_SHARED, None)
    if shared is None or not shared.notes:
        return
    terminalreporter.section("searchmark", yellow=True)
    for line in shared.notes:
        terminalreporter.write_line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    """The runs are of use to this session alone."""
    shared = config.stash.get(_SHARED, None)
    if shared is not None:
        shared.close()


@pytest.fixture
def searchmark(request: pytest.FixtureRequest) -> SearchFixture:
    """`assert_search` and the measures of lists; relative paths are from the folder of the test on."""
    from searchmark.pytest_plugin.fixture import SearchFixture

    return SearchFixture(request.path.parent)


def runs_of(config: pytest.Config) -> SharedRuns:
    """The runs that this session shares, one per suite."""
    from searchmark.pytest_plugin.shared_runs import SharedRuns

    if _SHARED not in config.stash:
        told = getattr(config, "workerinput", {}).get(SESSION)
        config.stash[_SHARED] = SharedRuns(told or config.stash.setdefault(_ID, _new_id()), is_controller=told is None)
    return config.stash[_SHARED]


def _new_id() -> str:
    return f"session-{os.urandom(8).hex()}-"
