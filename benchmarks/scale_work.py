"""Blocks of cases that cost nothing, or sleep: what is left is the work of whoever hands them out and takes them home.

Answers are made up, as lines of a journal: ids of files, scores, the time of one search. Nobody is asked.
"""

from __future__ import annotations

import os
import threading
import time
from functools import cache
from hashlib import blake2b

import numpy as np

from searchmark import Suite
from searchmark.records.judgments import JudgmentTable
from searchmark.records.suite import CaseTable
from searchmark.running.blocks import BlockResult, CaseBlock
from searchmark.running.journal import encode_compact
from searchmark.running.run_builder import environment
from searchmark.running.session import WorkerEvent

DOCUMENTS = 20_000
DIFFERENT = 997  # answers, which the cases share
SPREAD = 0.2  # how much longer or shorter than the average a block takes at most
_ready: set[str] = set()


def made_up_suite(cases: int) -> Suite:
    """Queries that each have one right answer, in columns: so that nothing else was ever in memory."""
    ids = tuple(f"case-{number:07d}" for number in range(cases))
    queries = tuple(f"how is part {number} of the program configured" for number in range(cases))
    targets = [document(number) for number in range(cases)]
    judgments = JudgmentTable(np.arange(cases + 1), targets, np.ones(cases, np.int64))
    suite = Suite("made-up", CaseTable(ids, queries), judgments)
    assert len(suite.table.index) == cases  # it is made when it is first used, and belongs to the suite
    return suite


def document(number: int) -> str:
    return f"src/package_{number % 83}/module_{number % DOCUMENTS}.py"


@cache
def _answers(hits: int) -> tuple[str, ...]:
    """What follows the id of a case in its line."""
    return tuple(_answer(number, hits) for number in range(DIFFERENT))


def _answer(number: int, hits: int) -> str:
    ids = [document(number * 61 + rank * 7) for rank in range(hits)]
    scores = [round(20 / (1 + rank) + number / 1e4, 6) for rank in range(hits)]
    details = {"cold_ms": [20 + number / 1e3], "asked": blake2b(bytes(number), digest_size=8).hexdigest()}
    return encode_compact({"status": "ok", "ids": ids, "details": details, "scores": scores})[1:]


def line_of(case: str, hits: int) -> str:
    """The answer to a case, whoever is asked."""
    return f'{{"case":"{case}",{_answers(hits)[hash_of(case) % DIFFERENT]}'


def hash_of(text: str) -> int:
    """The same in every process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=6).digest())


def seconds_of(place: int, cases: int, per_case: float) -> float:
    """How long a block is to take: nearly as long as others of its size, the same every time."""
    share = hash_of(f"block {place}") / (1 << 48)
    return cases * per_case * (1 - SPREAD + 2 * SPREAD * share)


def made_up(block: CaseBlock, *, hits: int, per_case: float = 0.0) -> BlockResult:
    """Answers after the time that asking would have taken. A thread that sleeps costs nothing: one process plays many workers."""
    begun = time.monotonic()
    worker = f"{os.getpid()} {threading.get_ident()}"
    lines = [*_first_words(worker), *(line_of(step.case, hits) for step in block.steps)]
    time.sleep(max(0.0, begun + seconds_of(block.place, len(block.steps), per_case) - time.monotonic()))
    return BlockResult(environment(), worker, len(block.steps), "\n".join(lines).encode())


def _first_words(worker: str) -> list[str]:
    """A worker that is new says that it has started, and that its agent is ready."""
    if worker in _ready:
        return []
    _ready.add(worker)
    return [encode_compact(WorkerEvent(kind, seconds=0.5).to_plain()) for kind in ("started", "prepared")]
