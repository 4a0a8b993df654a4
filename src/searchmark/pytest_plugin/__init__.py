"""The pytest plug-in: suites named ``*.searchmark.yaml`` are collected, and tests in Python get the fixture ``searchmark``.

Every pytest on a machine loads this module, whatever it tests: nothing of ours is imported before a suite is found.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from searchmark.pytest_plugin.fixture import SearchFixture
    from searchmark.pytest_plugin.shared_runs import SharedRuns

SUFFIXES = (".searchmark.yaml", ".searchmark.yml")
FOLDER = "searchmark_folder"  # what a worker of xdist is told
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
    """Every worker of xdist is told the same folder."""
    node.workerinput[FOLDER] = str(runs_of(node.config).folder)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Expectations are updated when all workers are done."""
    shared = session.config.stash.get(_SHARED, None)
    if shared is not None and shared.is_controller and not shared.update_expectations():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What became of the expectations."""
    shared = config.stash.get(_SHARED, None)
    for line in shared.updated if shared is not None else ():
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
        told = getattr(config, "workerinput", {}).get(FOLDER)
        config.stash[_SHARED] = SharedRuns(None if told is None else Path(told))
    return config.stash[_SHARED]
