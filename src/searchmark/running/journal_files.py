"""A journal as a run: what it holds, as if it had been saved, whatever ended the run that wrote it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from searchmark.errors import FormatError
from searchmark.files.store import check_shape
from searchmark.records import Environment, Provenance, Run, RunLabel, TrustEvent
from searchmark.running.events import WorkerEvent, description, in_order, vectors
from searchmark.running.journal_lines import JournalEntry, JournalReader, RunEnd, SeenHost, adapter
from searchmark.running.machine_parts import measured, on_machines
from searchmark.running.run_builder import assembled

NOT_ENDED = "the run was interrupted, and whether what it searched stayed the same was not checked; resume it, or run it again"
TOO_OLD = "was written by a version of Searchmark whose journals cannot be merged; resume it, and save its run (--save-run)"


def is_journal(path: Path) -> bool:
    """Whether a file says that it is one."""
    try:
        with path.open("rb") as file:
            start = file.read(200)
    except OSError:
        return False
    return start.startswith(b"{") and b'"record":"journal"' in start


def run_of_journal(path: Path) -> Run:
    """The answers of a journal in the order of their suite. A run that was interrupted is not trusted before it is resumed."""
    descriptor = _opened(path)
    try:
        reader = JournalReader(path, descriptor)
        header = reader.header()
        if header is None:
            raise FormatError(path, None, "is empty; nothing was run")
        if "provenance" not in header or "label" not in header:
            raise FormatError(path, "line 1", TOO_OLD)
        label = check_shape(path, adapter(RunLabel), header["label"], "line 1.label")
        begun = check_shape(path, adapter(Provenance), header["provenance"], "line 1.provenance")
        held = _JournalContents.of(reader)
    finally:
        os.close(descriptor)
    if any(entry.row is None for entry in held.entries.values()):
        raise FormatError(path, None, TOO_OLD)
    cases = sorted(held.entries, key=lambda case: held.entries[case].row or 0)
    known = held.end or _interrupted(begun, held, cases)
    return replace(assembled(label, cases, held.entries), provenance=known)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror}") from error


@dataclass
class _JournalContents:
    """What follows the header. ``end`` is what is known of a run that came to its end; None if anything came after that."""

    entries: dict[str, JournalEntry] = field(default_factory=dict)
    events: list[WorkerEvent] = field(default_factory=list)
    hosts: list[Environment] = field(default_factory=list)
    end: Provenance | None = None

    @classmethod
    def of(cls, reader: JournalReader) -> _JournalContents:
        held = cls()
        for record in reader.records():
            held.end = record.provenance if isinstance(record, RunEnd) else None
            match record:
                case SeenHost():
                    held.hosts.append(record.environment)
                case WorkerEvent():
                    held.events.append(record)
                case (case, entry):
                    held.entries[case] = entry
        return held


def _interrupted(begun: Provenance, held: _JournalContents, cases: Sequence[str]) -> Provenance:
    """What is known of a run that did not come to its end."""
    last = in_order(held.events)
    said = None if begun.agent is None else replace(begun.agent, description=description(last))
    told = replace(begun, agent=said, vectors=vectors(last), ended=None, trust=(*begun.trust, TrustEvent("interrupted", NOT_ENDED)))
    whole = measured(told, held.events, ours=begun.service is None)
    return on_machines(whole, held.hosts, cases, held.entries, held.events)
