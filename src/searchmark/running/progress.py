"""How far a run has come."""

from __future__ import annotations

from dataclasses import dataclass

from searchmark.records import RunLabel


@dataclass(frozen=True)
class Progress:
    """How far a run has come, for whoever wants to show it; before the first answer an agent is getting ready."""

    label: RunLabel
    done: int
    total: int
    failed: int
    doing: str = ""
