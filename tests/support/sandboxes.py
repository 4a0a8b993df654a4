"""Which sandboxes there are on the machine that the tests run on."""

from __future__ import annotations

from typing import Any

import pytest

from searchmark.running.sandbox.mechanisms import SANDBOXES

MECHANISMS = ("bubblewrap", "landlock")


def available(level: str) -> str:
    """The level, or a skipped test that says why it is not there."""
    problem = None if level == "off" else SANDBOXES[level].problem()
    if problem:
        pytest.skip(problem)
    return level


def mechanisms() -> list[Any]:
    """Those that work here; without any the test is skipped."""
    usable = [name for name, sandbox in SANDBOXES.items() if sandbox.problem() is None]
    return usable or pytest.skip("neither bubblewrap nor Landlock works here")
