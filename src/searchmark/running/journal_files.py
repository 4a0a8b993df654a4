"""Where journals are, and journals read as runs: for failed cases, interrupted runs and shards."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from searchmark.config.run import CaseSelection
from searchmark.errors import FormatError, NothingEvaluated, UsageError
from searchmark.formats.runs import load_all_runs
from searchmark.io.data import check_shape
from searchmark.io.paths import user_path
from searchmark.io.store import safe_file_name
from searchmark.records.merge import SavedShard
from searchmark.records.provenance import PARENT, Environment, Provenance, RunLabel, TrustEvent
from searchmark.records.run import Run
from searchmark.records.suite import Suite
from searchmark.running.journal import JournalEntry, JournalReader, RunEnd, SeenHost, read_journal_entries, type_adapter
from searchmark.running.run_builder import RETRIED, run_from_entries, with_machine_parts, with_worker_measurements
from searchmark.running.session import WorkerEvent, description_of, order_events, vector_statistics_of

INTERRUPTED_WARNING = (
    "the run was interrupted, and whether what it searched stayed the same was not checked; resume it, or run it again"
)

TOO_OLD = "was written by a version of Searchmark whose journals cannot be merged; resume it, and save its run (--save-run)"


def is_journal(path: Path) -> bool:
    """Whether a file says that it is one."""
    try:
        with path.open("rb") as file:
            start = file.read(200)
    except OSError:
        return False
    return start.startswith(b"{") and b'"record":"journal"' in start


def load_journal_as_run(path: Path) -> Run:
    """The answers of a journal in the order of their suite. A run that was interrupted is not trusted before it is resumed."""
    descriptor = _open_journal(path)
    try:
        reader = JournalReader(path, descriptor)
        header = reader.header()
        if header is None:
            raise FormatError(path, None, "is empty; nothing was run")
        if "provenance" not in header or "label" not in header:
            raise FormatError(path, "line 1", TOO_OLD)
        label = check_shape(path, type_adapter(RunLabel), header["label"], "line 1.label")
        provenance = check_shape(path, type_adapter(Provenance), header["provenance"], "line 1.provenance")
        contents = _JournalContents.of(reader)
    finally:
        os.close(descriptor)
    if any(entry.row is None for entry in contents.entries.values()):
        raise FormatError(path, None, TOO_OLD)
    cases = sorted(contents.entries, key=lambda case: contents.entries[case].row or 0)
    final_provenance = contents.end or _end_of_interrupted_run(provenance, contents, cases)
    return replace(run_from_entries(label, cases, contents.entries), provenance=final_provenance)


def _open_journal(path: Path) -> int:
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
        contents = cls()
        for record in reader.records():
            contents.end = record.provenance if isinstance(record, RunEnd) else None
            match record:
                case SeenHost():
                    contents.hosts.append(record.environment)
                case WorkerEvent():
                    contents.events.append(record)
                case (case, entry):
                    contents.entries[case] = entry
        return contents


def _end_of_interrupted_run(provenance: Provenance, contents: _JournalContents, cases: Sequence[str]) -> Provenance:
    """What is known of a run that did not come to its end."""
    last = order_events(contents.events)
    agent = None if provenance.agent is None else replace(provenance.agent, description=description_of(last))
    partial = replace(
        provenance,
        agent=agent,
        vectors=vector_statistics_of(last),
        ended=None,
        trust=(*provenance.trust, TrustEvent("interrupted", INTERRUPTED_WARNING)),
    )
    whole = with_worker_measurements(partial, contents.events, ours=provenance.service is None)
    return with_machine_parts(whole, contents.hosts, cases, contents.entries, contents.events)


# Where the journals of an experiment are, and which cases failed in the last one.


def journal_path(folder: Path, suite: Suite, label: RunLabel, cases: CaseSelection, seed: int) -> Path:
    """One journal per suite, label and choice of cases, so that none of them overwrites another; a mode has that of its agent."""
    choice_parts = [cases.text, *cases.categories, cases.sample, seed if cases.sample else None, cases.shard]
    choice = hashlib.sha256(repr(choice_parts).encode("utf-8", "surrogatepass")).hexdigest()[:8] if any(choice_parts) else ""
    snapshot = f"@{label.snapshot}" if label.snapshot not in (None, PARENT) else ""
    repeat = f"#{label.repeat}" if label.repeat > 1 else ""
    name = ".".join(filter(None, [safe_file_name(suite.name), safe_file_name(f"{label.identity}{snapshot}{repeat}"), choice]))
    return folder / f"{name}.jsonl"


def failed_cases_journal(journal: Path) -> Path:
    """The journal of the cases that failed in the run of this one."""
    return journal.with_suffix(".last-failed.jsonl")


def failed_cases(journals: Iterable[Path]) -> frozenset[str]:
    """The cases that ended in an error or a time-out, or were not run, when they were last asked."""
    paths = list(journals)
    entries = [read_journal_entries(path) | read_journal_entries(failed_cases_journal(path)) for path in paths]
    if not any(entries):
        raise UsageError(f"there is no last run: no answers in {', '.join(map(str, paths))}")
    failed = frozenset(case for each in entries for case, entry in each.items() if entry.outcome.status in RETRIED)
    if not failed:
        raise NothingEvaluated("no case failed in the last run")
    return failed


# Files of shards, as they are named to be merged: saved runs, journals, and folders of them.


def load_shards(paths: Iterable[str]) -> list[SavedShard]:
    """The runs of all files, and of all files in folders, each with its file."""
    files = [file for path in paths for file in _files(user_path(path))]
    return [SavedShard(str(file), run) for file in files for run in _runs_of_file(file)]


def _files(path: Path) -> Iterator[Path]:
    """A file, or what ``--save-run FOLDER`` has written into a folder."""
    if not path.is_dir():
        yield path
        return
    files = sorted(path.glob("*.jsonl"))
    if not files:
        raise UsageError(f"{path} holds no saved run (.jsonl)")
    yield from files


def _runs_of_file(file: Path) -> list[Run]:
    return [load_journal_as_run(file)] if is_journal(file) else load_all_runs(file)
