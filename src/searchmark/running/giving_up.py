"""When an agent is left alone: after so many consecutive failures, in the order in which its cases are asked.

Blocks of cases may be asked at the same time, on many machines, each without knowing of the failures in the others. What became of
all cases is then read in order, as if one worker had asked them: whatever comes after the failure that is one too many was not run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from searchmark.running.journal_lines import JournalEntry
from searchmark.running.plan import Step
from searchmark.running.session import too_many_failures

RETRIED = ("error", "timeout", "not_run")


@dataclass(frozen=True)
class GivenUp:
    """That the agent is asked nothing from this place on, and why."""

    place: int
    reason: str


def failures_in_a_row(entry: JournalEntry, before: int) -> int:
    """How many consecutive failures there are with this answer, given those before it."""
    details = entry.outcome.details
    if details.not_whole or details.lost_workers:
        return before  # it was never asked, or nobody knows what it would have said
    failed = entry.outcome.status in ("error", "timeout") or details.repeat_failure is not None
    return before + 1 if failed else 0


class FailureWatch:
    """Reads what became of cases in order, as far as all answers up to there are known, and goes on from there when more are."""

    def __init__(self, steps: Sequence[Step], limit: int) -> None:
        self._steps, self._limit = steps, limit
        self._place = self._in_a_row = 0
        self._found: GivenUp | None = None

    def look(self, entries: Mapping[str, JournalEntry]) -> GivenUp | None:
        """Where one worker that asks all cases in order would have ended; None if it has not, as far as is known."""
        while self._found is None and self._place < len(self._steps):
            entry = entries.get(self._steps[self._place].case)
            if entry is None:
                return None
            self._found = self._after(entry)
            self._place += 1
        return self._found

    def _after(self, entry: JournalEntry) -> GivenUp | None:
        details = entry.outcome.details
        if entry.outcome.status == "not_run":
            return GivenUp(self._place, details.failure or "")
        self._in_a_row = failures_in_a_row(entry, self._in_a_row)
        if self._in_a_row < self._limit:
            return None
        last = details.whole_failure or details.repeat_failure or ""
        return GivenUp(self._place + 1, too_many_failures(self._in_a_row, last))
