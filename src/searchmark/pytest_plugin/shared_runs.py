"""One run per suite and session, however many processes the session has: the first one that needs it makes it, the others wait.

Nothing heavy is imported here: with xdist the controller has a folder ready before it knows of any suite.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from searchmark.pytest_plugin.outcomes import SuiteOutcome
    from searchmark.pytest_plugin.suites_under_test import SuiteUnderTest
    from searchmark.pytest_plugin.updating import UpdatedSuite

RUN, OUTCOME, CHOSEN, SUITE = "run.jsonl", "outcome.json", "chosen.jsonl", "suite.json"


class SharedRuns:
    """The folder of a session, with a folder per suite: its run, and what became of its cases and rules."""

    def __init__(self, told: Path | None) -> None:
        self._told = told
        self._until_the_end = ExitStack()
        self._known: dict[str, SuiteOutcome] = {}
        self.updated: list[str] = []  # what became of the expectations, in sentences

    @property
    def is_controller(self) -> bool:
        """Whether this process is not a worker, which is told its folder."""
        return self._told is None

    @cached_property
    def folder(self) -> Path:
        """Made when it is needed; one that is left by a killed session is removed by the next process of ours."""
        if self._told is not None:
            return self._told
        from searchmark.files.private_folders import private_folder

        return self._until_the_end.enter_context(private_folder())

    def outcome_of(self, suite: SuiteUnderTest) -> SuiteOutcome:
        """What became of a suite; it is run if no process of this session has done so."""
        if suite.key not in self._known:
            self._known[suite.key] = self._shared(suite)
        return self._known[suite.key]

    def _shared(self, suite: SuiteUnderTest) -> SuiteOutcome:
        from searchmark.files.store import write_text
        from searchmark.pytest_plugin.outcomes import SuiteOutcome

        home = self._home(suite)
        with _locked(home / "lock"):
            file = home / OUTCOME
            if not file.exists():
                write_text(home / SUITE, json.dumps(str(suite.path)))
                write_text(file, suite.tested(home / RUN).to_json())
            return SuiteOutcome.from_json(file.read_text(encoding="utf-8"))

    def choose(self, suite: SuiteUnderTest, case: str) -> None:
        """Note a case whose expectation is to be updated."""
        home = self._home(suite)
        with _locked(home / "lock"), (home / CHOSEN).open("a", encoding="utf-8") as file:
            file.write(json.dumps(case) + "\n")

    def update_expectations(self) -> bool:
        """Approve the chosen cases of every suite; False if one could not be."""
        if "folder" not in self.__dict__:
            return True
        told = [_updated(file.parent) for file in sorted(self.folder.glob(f"*/{CHOSEN}"))]
        self.updated = [each.sentence for each in told]
        return all(each.done for each in told)

    def close(self) -> None:
        self._until_the_end.close()

    def _home(self, suite: SuiteUnderTest) -> Path:
        home = self.folder / suite.key
        home.mkdir(exist_ok=True)
        return home


def _updated(home: Path) -> UpdatedSuite:
    from searchmark.pytest_plugin.updating import update_suite

    path = Path(json.loads((home / SUITE).read_text(encoding="utf-8")))
    only = {json.loads(line) for line in (home / CHOSEN).read_text(encoding="utf-8").splitlines()}
    return update_suite(path, home / RUN, only)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The kernel lets go of the lock whatever its holder dies of."""
    import fcntl  # there is none on Windows, where no agent is run

    held = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
