"""One run per suite and session, however many processes the session has: the first one that needs it makes it, the others wait."""

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
    """The folder of a session, with a folder per suite: its run, and what became of its cases and rules.

    Only the controller makes the folder and removes it: it outlives every worker.
    """

    def __init__(self, session: str, *, is_controller: bool) -> None:
        self._session = session
        self.is_controller = is_controller
        self._until_the_end = ExitStack()
        self._known: dict[str, SuiteOutcome] = {}
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> list[str]:
        """What a test run should not pass over, in sentences; no warnings, since these become errors on request."""
        return list(self._notes)

    def note(self, *sentences: str) -> None:
        """Say something at the end of the session, once."""
        self._notes.update(dict.fromkeys(sentences))

    @cached_property
    def folder(self) -> Path:
        """Made when it is needed; one that is left by a killed session is removed by the next process of ours."""
        from searchmark.files.private_folders import private_folder, private_folder_of

        if not self.is_controller:
            return private_folder_of(self._session)
        return self._until_the_end.enter_context(private_folder(self._session))

    def prepare(self) -> None:
        """Make the folder before workers look for it; they say themselves why it cannot be used."""
        from searchmark.errors import SearchmarkError

        try:
            self.folder.stat()
        except (SearchmarkError, OSError) as error:
            self.note(str(error))

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
        told = [_updated(home) for home in self._chosen()]
        for each in told:
            self.note(*each.sentences)
        return all(each.done for each in told)

    def leave_expectations(self) -> None:
        """Say that nothing is updated, since the session did not end as planned."""
        for home in self._chosen():
            self.note(f"{_path(home)}: no expectation was updated, since the session was stopped before its end")

    def _chosen(self) -> list[Path]:
        """The folders of suites of which a case is to be updated."""
        return [file.parent for file in sorted(self.folder.glob(f"*/{CHOSEN}"))] if "folder" in self.__dict__ else []

    def close(self) -> None:
        self._until_the_end.close()

    def _home(self, suite: SuiteUnderTest) -> Path:
        home = self.folder / suite.key
        home.mkdir(exist_ok=True)
        return home


def _updated(home: Path) -> UpdatedSuite:
    from searchmark.pytest_plugin.updating import update_suite

    only = {json.loads(line) for line in (home / CHOSEN).read_text(encoding="utf-8").splitlines()}
    return update_suite(_path(home), home / RUN, only)


def _path(home: Path) -> Path:
    """Where the suite is that a folder belongs to."""
    return Path(json.loads((home / SUITE).read_text(encoding="utf-8")))


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
