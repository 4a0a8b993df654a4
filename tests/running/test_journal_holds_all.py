"""Whatever passes as a worker's answer is written to the journal and to a saved run, and read from both as it was."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from searchmark import RunLabel, load_run
from searchmark.formats.runs.native import write_native_run
from searchmark.running.journal import Journal, JournalEntry, RunStart
from searchmark.running.run_builder import run_from_entries
from searchmark.running.session import WorkerEvent, outcome_of_reply
from searchmark.running.worker.protocol import DROPPED_KINDS, LARGEST_COUNT, reply_problem

DEPTH = 3
START = RunStart("run", datetime(2024, 1, 1, tzinfo=UTC))


def nest(value: Any, depth: int) -> Any:
    """A value inside so many lists."""
    return nest([value], depth - 1) if depth else value


# Values as a frame can hold them, whether they are allowed or not: `reply_problem` is what decides.
texts = st.text(st.characters(codec=None), max_size=8)
counts = st.integers(0, LARGEST_COUNT)
whole = st.integers(-LARGEST_COUNT, LARGEST_COUNT)
numbers = st.sampled_from([-1.0, 0, 0.5, 1e14, 1e15, 1e16]) | whole | st.floats(allow_nan=False, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
nested = st.builds(nest, plain, st.sampled_from([1, 20, 32, 40, 600]))
spans = st.none() | st.lists(st.integers(1, 10**9), min_size=2, max_size=2)
hits = st.lists(st.tuples(texts, st.none() | numbers, spans), max_size=DEPTH).map(
    lambda rows: [[*column] for column in zip(*rows, strict=True)] or [[], [], []]
)
amounts = st.none() | numbers
remarks = st.fixed_dictionaries({"cost": amounts, "waited_ms": amounts, "tokens": amounts, "metadata": plain | nested})
dropped = st.dictionaries(st.sampled_from(sorted(DROPPED_KINDS)), counts, max_size=3)


@settings(max_examples=300)
@given(hits, remarks, dropped, counts, st.booleans())
@pytest.mark.slow
def test_every_answer_that_is_accepted_is_read_back_as_it_was(
    columns: list[Any], said: dict[str, Any], left_out: dict[str, int], ns: int, known: bool
) -> None:
    ids, scores, lines = columns
    reply = {"ns": ns, "ids": ids, "scores": scores, "lines": lines, "dropped": left_out, **said}
    assume(reply_problem("search", reply, DEPTH) is None)
    outcome = outcome_of_reply(reply, cold_ms=(ns / 1e6,))
    entry = JournalEntry(outcome, (True,) * len(ids) if known else None)
    with TemporaryDirectory() as folder:
        assert reread(Path(folder), entry).entries == {"c1": entry}
        write_native_run(run_from_entries(RunLabel("mine"), ["c1"], {"c1": entry}), Path(folder) / "run.jsonl")
        assert load_run(Path(folder) / "run.jsonl").details == (outcome.details,)


@given(st.text(st.characters(codec=None), max_size=20), st.none() | counts)
def test_every_failure_that_is_accepted_is_read_back_as_it_was(reason: str, ns: int | None) -> None:
    assume(reply_problem("search", {"failed": reason, "ns": ns}, DEPTH) is None)
    event = WorkerEvent("ended", reason=reason)
    with TemporaryDirectory() as folder:
        assert reread(Path(folder), event).events == [event]


@given(counts, st.none() | counts, st.none() | counts, st.dictionaries(texts, plain | nested, max_size=3))
def test_every_preparation_that_is_accepted_is_read_back_as_it_was(
    ns: int, size: int | None, memory: int | None, said: dict[str, Any]
) -> None:
    facts: dict[str, Any] = {"how": "updated", "index_bytes": size, "memory": memory, "description": said}
    assume(reply_problem("prepare", {"ns": ns, "around_ns": 0, **facts}, DEPTH) is None)
    event = WorkerEvent("prepared", seconds=ns / 1e9, **facts)
    with TemporaryDirectory() as folder:
        assert reread(Path(folder), event).events == [event]


def reread(folder: Path, record: JournalEntry | WorkerEvent) -> Journal:
    """A journal with one line, as a run that is resumed sees it."""
    journal = Journal(folder / "journal", lambda _: {}, START, resume=False)
    journal.note(record) if isinstance(record, WorkerEvent) else journal.add("c1", record)
    journal.close()
    again = Journal(folder / "journal", lambda _: {}, START, resume=True)
    again.close()
    return again
