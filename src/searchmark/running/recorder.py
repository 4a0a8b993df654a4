"""What one worker found, recorded one case late: while that worker is busy with the next request.

Nothing waits here for longer than it takes to send that request, and whatever ends the asking, other than the end of this process,
records what is left. A process that is killed may lose one answer, which is asked for again when its run is resumed.
"""

from __future__ import annotations

from collections.abc import Callable

from searchmark.running.corpus_inspector import CaseExistence
from searchmark.running.events import WorkerEvent
from searchmark.running.plan import Step
from searchmark.running.session import Outcome


class LateRecorder:
    """Holds at most one case; cases and events are recorded in the order in which they came."""

    def __init__(self, record: Callable[[Step, Outcome, CaseExistence], None], note: Callable[[WorkerEvent], None]) -> None:
        self._record, self._note = record, note
        self._held: tuple[Step, Outcome, CaseExistence] | None = None

    def hold(self, step: Step, outcome: Outcome, existence: CaseExistence) -> None:
        self.catch_up()
        self._held = step, outcome, existence

    def catch_up(self) -> None:
        """Record what is held. It is let go of first: nobody knows how much an interruption in here has recorded."""
        held, self._held = self._held, None
        if held is not None:
            self._record(*held)

    def happened(self, event: WorkerEvent) -> None:
        self.catch_up()
        self._note(event)
