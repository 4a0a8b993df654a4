"""Which sandboxes there are on the machine that the tests run on."""

from __future__ import annotations

from typing import Any

import pytest

from searchmark.running.sandbox import launch
from searchmark.running.sandbox.launch import landlock_problem

MECHANISMS = ("bubblewrap", "landlock")


def available(level: str) -> str:
    """The level, or a skipped test that says why it is not there."""
    problem = {"off": lambda: None, "bubblewrap": launch.bubblewrap_problem, "landlock": landlock_problem}[level]()
    if problem:
        pytest.skip(problem)
    return level


def mechanisms() -> list[Any]:
    """Those that work here; without any the test is skipped."""
    problems = {"bubblewrap": launch.bubblewrap_problem(), "landlock": landlock_problem()}
    usable = [name for name, problem in problems.items() if problem is None]
    return usable or pytest.skip("neither bubblewrap nor Landlock works here")
