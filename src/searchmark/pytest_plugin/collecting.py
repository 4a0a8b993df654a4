"""A suite as pytest has it: a file with one item per case and one per rule of its gate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from searchmark.config import load_config
from searchmark.errors import SearchmarkError
from searchmark.pytest_plugin.environment import NO_ONNX, names_onnx, wants_update
from searchmark.pytest_plugin.outcomes import SuiteOutcome
from searchmark.pytest_plugin.shared_runs import SharedRuns
from searchmark.pytest_plugin.suites_under_test import SuiteUnderTest, open_suite
from searchmark.pytest_plugin.titles import case_title, rule_titles

NO_RULE = "has no rule: its tests fail only where the agent does; write 'gates' into it or into the config"


class NotMet(Exception):
    """What the gate says against a case or a rule."""


class NotRun(Exception):
    """Why there is nothing that a gate could be asked about."""


class SuiteCollector(pytest.File):
    """A file with a suite."""

    def __init__(self, *, shared: SharedRuns, **rest: Any) -> None:
        super().__init__(**rest)
        self.shared = shared

    def collect(self) -> Iterator[pytest.Item]:
        suite = open_suite(self.path, load_config(self.config.getoption("--searchmark-config")))
        for case in suite.suite.table.ids:
            yield CaseItem.from_parent(self, suite=suite, case=case, **self._named(case_title(case)))
        for number, title in enumerate(rule_titles(suite.rules)):
            yield RuleItem.from_parent(self, suite=suite, number=number, **self._named(title))
        if not suite.rules:
            self.shared.note(f"{self.nodeid} {NO_RULE}")
        if names_onnx():
            self.shared.note(NO_ONNX)

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
        except (NotRun, SearchmarkError) as error:
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
            raise NotRun(missing or broken)
        if wants_update() and self.outcome.refused is not None:
            raise NotRun(f"no expectation is updated: {self.outcome.refused}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What the gate says, without the way through our code."""
        expected = isinstance(excinfo.value, NotMet | SearchmarkError)
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
        found = self.outcome.cases[self.case]
        if found.verdict == "error":
            raise NotRun(found.message)

    def runtest(self) -> None:
        found = self.outcome.cases[self.case]
        if wants_update():
            self._update()
            return
        if found.verdict == "known_failure":
            pytest.xfail(found.message)  # returns under --runxfail
            raise NotMet(f"case {self.case} fails, as is known: {found.message}")
        if found.verdict == "failed":
            raise NotMet(found.message)

    def _update(self) -> None:
        left = self.outcome.left_alone.get(self.case)
        if left is not None:
            self.parent.shared.note(f"{self.parent.nodeid}: the expectation of case {self.case} was left alone: {left}")
        else:
            self.parent.shared.choose(self.suite, self.case)


class RuleItem(SuiteItem):
    """One rule of the gate, about the whole suite whatever items are selected."""

    def __init__(self, *, number: int, **rest: Any) -> None:
        super().__init__(**rest)
        self.number = number

    def runtest(self) -> None:
        found = self.outcome.rules[self.number]
        if wants_update():
            self.parent.shared.note(f"{self.parent.nodeid}: no rule was checked, since expectations are updated")
            return
        if not found.passed:
            raise NotMet(found.message)
        self.add_report_section("call", "searchmark", found.message)  # seen with -rP
