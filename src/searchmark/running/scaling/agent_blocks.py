"""One agent of a run on an executor: which of its blocks are still to be handed out, and what came home."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.executors.completion import TaskLost
from searchmark.executors.pool import TaskPool
from searchmark.records import PARENT, AnswerDetails, Printed, Run
from searchmark.running.agent_record import AgentRecord, Ending
from searchmark.running.agent_run import load_into
from searchmark.running.corpus_inspector import CorpusInspector
from searchmark.running.events import WorkerEvent
from searchmark.running.journal_lines import plain_record
from searchmark.running.request import RunRequest
from searchmark.running.sandbox.launch import Launch, sandbox_of
from searchmark.running.scaling.block import Assignment, BlockResult, CaseBlock, block_size, stretches, suite_of
from searchmark.running.scaling.starts import Starts
from searchmark.running.session import Outcome, Session
from searchmark.running.settling import settled
from searchmark.running.worker.client import KEPT_OUTPUT
from searchmark.shipping.installed import installed
from searchmark.shipping.sending import Sender


class AgentBlocks:
    """Blocks of one agent, and its record."""

    def __init__(
        self, run: str, record: AgentRecord, request: RunRequest, inspector: CorpusInspector, pool: TaskPool, sender: Sender
    ) -> None:
        self.run, self.record = run, record
        self._request, self._inspector, self._pool, self._sender = request, inspector, pool, sender
        self._ids: dict[str, str] = {}
        self._starts = Starts()
        self._workers: set[str] = set()
        self._host: int | None = None  # of the last answers
        self._printed: dict[str, Printed] = {}
        self._changed: dict[str, None] = {}
        self._ended = False

    def load(self, *, alone: bool) -> None:
        """Load the agent here once, to know its code: a worker that has another one is refused."""
        request, entrant, last = self._request, self.record.entrant, self.record.steps[-1]
        self.record.tell("loading")
        sandbox = sandbox_of(request.options.sandbox, request.out_of_sight)
        launch = Launch.of(entrant.spec, entrant.locations, sandbox).finding(entrant.spec, request.delivery.code(), None)
        session = Session(entrant.spec, request.options, last.query, lambda _: None, launch)
        self.record.sandbox = launch.text
        try:
            load_into(self.record, session)
        except UsageError as error:
            if alone:
                raise
            self.record.fail(error)
        finally:
            session.abandon()

    def blocks(self) -> Iterator[CaseBlock]:
        """All cases that have no answer yet, block by block, until the agent is left alone."""
        record, request = self.record, self._request
        if record.broken is not None or not record.unanswered:
            return
        record.tell("preparing")
        size = block_size(record.unanswered, self._pool.slots, request.options.block)
        assigned = self.assignment()
        waiting = ((place, step) for place, step in enumerate(record.steps) if not record.knows(step))
        for stretch in stretches(waiting, size):
            if self._ended:
                return
            steps = tuple(step for _, step in stretch)
            yield self._starts.hand_out(CaseBlock(assigned, stretch[0][0], suite_of(request.suite, steps), steps))

    def assignment(self) -> Assignment:
        """What all of its blocks have in common."""
        record, request, sender = self.record, self._request, self._sender
        return Assignment(
            self.run,
            record.entrant.label,
            record.entrant.spec,
            tuple(entrant.spec for entrant in request.entrants),
            request.options,
            record.code,
            installed(),
            request.out_of_sight,
            Path.cwd(),
            sender.supplies,
            {} if record.entrant.label.snapshot == PARENT else self._inspector.shared_corpora(record.entrant.locations),
        )

    def home(self, block: CaseBlock, result: BlockResult) -> list[CaseBlock]:
        """Take what came home; what is still to be asked is handed out again."""
        if self._ended:
            return []
        if result.missing:
            return [replace(block, parcels=self._sender.opened(result.missing))]
        if result.unable is not None:
            ready, able, slots = self.record.ever_ready, len(self._workers), self._pool.slots or 0
            return [*self._starts.unable(block, result, ready=ready, able=able, slots=slots), *self._no_longer_held()]
        self._starts.done(block)
        self.take(result, block)
        if self.record.given_up() is not None:
            self._ended = True
            return []
        rest = [self._starts.hand_out(block.rest(result.asked))] if result.asked < len(block.steps) else []
        return [*rest, *self._no_longer_held()]

    def take(self, result: BlockResult, block: CaseBlock | None) -> None:
        """Write down answers and events, in their order."""
        record = self.record
        self._host = host = record.host(result.environment)
        record.sandbox = result.sandbox
        steps = {} if block is None else {step.case: step for step in block.steps}
        for line in result.lines.splitlines():
            match plain_record(json.loads(line), self._ids):
                case WorkerEvent() as event:
                    record.note(event, host, None if block is None else block.place)
                case (case, entry):
                    record.add(steps[case], entry, host)
        self._workers.add(result.worker)
        self._changed |= dict.fromkeys(result.changed)
        for printed in result.printed:
            self._printed[printed.stream] = _joined(self._printed.get(printed.stream), printed)

    def _no_longer_held(self) -> list[CaseBlock]:
        """Blocks that waited for somebody who is ready and free. If nobody ever will be, the agent is left alone.

        What it said then, and where it failed, is what came home last.
        """
        if self.record.ever_ready:
            return self._starts.released(len(self._workers))
        if (hopeless := self._starts.hopeless) is not None:
            block, result = hopeless
            self.take(result, block)
            self._ended = True
        return []

    def lost(self, lost: TaskLost[CaseBlock]) -> list[CaseBlock]:
        """A block that has ended too many workers is an error of all its cases."""
        reason = f"{lost.losses} workers ended while they asked the block of this case: {lost.reason}"
        self._settle(lost.task, Outcome("error", details=AnswerDetails(failure=reason, lost_workers=lost.losses)))
        self._starts.done(lost.task)
        return self._no_longer_held()

    def _settle(self, block: CaseBlock, outcome: Outcome) -> None:
        for step in block.steps:
            existence = self._inspector.prefetch(step)()
            # Nobody knows where it was lost: a machine that has answered nothing must not look as if it had.
            self.record.add(step, settled(step, outcome, existence, self.record.secrets), self._host)

    def result(self, cache: str | None) -> Run:
        """All answers, in the order of the suite; ``cache`` says what others have changed in that of this machine."""
        slots = self._pool.slots or len(self._workers)
        ending = Ending(
            max(1, min(len(self._workers), slots)),
            tuple(self._printed.values()),
            cache,
            tuple(dict.fromkeys((*self._inspector.changed, *self._changed))),
        )
        return self.record.result(ending)


def _joined(before: Printed | None, more: Printed) -> Printed:
    """What was printed first is kept, and how much there was in all."""
    if before is None:
        return more
    return Printed(more.stream, before.bytes + more.bytes, (before.text + more.text)[:KEPT_OUTPUT])
