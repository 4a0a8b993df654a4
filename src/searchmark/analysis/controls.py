"""Agents that only show what a score is worth."""

from __future__ import annotations

from searchmark.records import Run

CONTROLS = frozenset({"path-match", "popular", "random"})


def is_of_control(run: Run) -> bool:
    """Whether a run is of one of them; one that does not know its agent goes by its name."""
    agent = run.provenance.agent
    return (run.agent if agent is None else agent.source) in CONTROLS
