"""Suites as pytest tests: one item per case and rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from searchmark import load_config
from searchmark.errors import SearchmarkError
from searchmark.testing.suites import SharedRuns, SuiteOutcome, SuiteUnderTest, wants_update

NO_RULE_WARNING = "has no rule: its tests fail only where the agent does; write 'gates' into it or into the config"


class ExpectationNotMet(Exception):
    """What the gate says against a case or a rule."""


class SuiteNotRun(Exception):
    """Why there is nothing that a gate could be asked about."""


class SuiteCollector(pytest.File):
    """A file with a suite."""

    def __init__(self, *, shared: SharedRuns, **rest: Any) -> None:
        super().__init__(**rest)
        self.shared = shared

    def collect(self) -> Iterator[pytest.Item]:
        suite = SuiteUnderTest.read(self.path, load_config(self.config.getoption("--searchmark-config")), self.shared.note)
        for case, title in suite.case_titles():
            yield CaseItem.from_parent(self, suite=suite, case=case, **self._named(title))
        for number, title in enumerate(suite.rule_titles()):
            yield RuleItem.from_parent(self, suite=suite, number=number, **self._named(title))
        if not suite.rules:
            self.shared.note(f"{self.nodeid} {NO_RULE_WARNING}")

    def _named(self, name: str) -> dict[str, str]:
        """The name with the id that the cache of pytest has for it: from a name alone, brackets would be read otherwise there."""
        return {"name": name, "nodeid": f"{self.nodeid}::{name}"}

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002  # pytest's
        """One sentence for what is wrong with a suite or a config."""
        return str(excinfo.value) if isinstance(excinfo.value, SearchmarkError) else super().repr_failure(excinfo)


class SuiteItem(pytest.Item):
    """A part of a suite; all parts share one run of the whole."""

    parent: SuiteCollector

    def __init__(self, *, suite: SuiteUnderTest, **rest: Any) -> None:
        super().__init__(**rest)
        self.suite = suite

    @property
    def outcome(self) -> SuiteOutcome:
        return self.parent.shared.outcome_of(self.suite)

    def setup(self) -> None:
        """What keeps the suite from being run is an error, and no failure of a gate."""
        try:
            self.prepare()
        except (SuiteNotRun, SearchmarkError) as error:
            pytest.fail(str(error), pytrace=False)  # in this phase pytest asks no repr_failure of ours

    def prepare(self) -> None:
        """Run the suite, unless that was done."""
        if not self.suite.is_wanted:
            pytest.skip("only_in_ci: the environment variable CI is not set")
        missing, broken = self.outcome.missing, self.outcome.broken
        if missing is not None and self.suite.setup.skip_if_missing:
            self.parent.shared.note(f"{self.parent.nodeid} was skipped: {missing}")
            pytest.skip(missing)
        if missing is not None or broken is not None:
            raise SuiteNotRun(missing or broken)
        if wants_update() and self.outcome.refused is not None:
            raise SuiteNotRun(f"no expectation is updated: {self.outcome.refused}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What the gate says, without the way through our code."""
        expected = isinstance(excinfo.value, ExpectationNotMet | SearchmarkError)
        return str(excinfo.value) if expected else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class CaseItem(SuiteItem):
    """One case: fails for what the gate says about this case alone."""

    def __init__(self, *, case: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case

    def prepare(self) -> None:
        super().prepare()
        outcome = self.outcome.cases[self.case]
        if outcome.verdict == "error":
            raise SuiteNotRun(outcome.message)

    def runtest(self) -> None:
        outcome = self.outcome.cases[self.case]
        if wants_update():
            self._update()
            return
        if outcome.verdict == "known_failure":
            pytest.xfail(outcome.message)  # returns under --runxfail
            raise ExpectationNotMet(f"case {self.case} fails, as is known: {outcome.message}")
        if outcome.verdict == "failed":
            raise ExpectationNotMet(outcome.message)

    def _update(self) -> None:
        reason = self.outcome.left_alone.get(self.case)
        if reason is not None:
            self.parent.shared.note(f"{self.parent.nodeid}: the expectation of case {self.case} was left alone: {reason}")
        else:
            self.parent.shared.choose(self.suite, self.case)


class RuleItem(SuiteItem):
    """One rule of the gate, about the whole suite whatever items are selected."""

    def __init__(self, *, number: int, **rest: Any) -> None:
        super().__init__(**rest)
        self.number = number

    def runtest(self) -> None:
        outcome = self.outcome.rules[self.number]
        if wants_update():
            self.parent.shared.note(f"{self.parent.nodeid}: no rule was checked, since expectations are updated")
            return
        if not outcome.passed:
            raise ExpectationNotMet(outcome.message)
        self.add_report_section("call", "searchmark", outcome.message)  # seen with -rP
