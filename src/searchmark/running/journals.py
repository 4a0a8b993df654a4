"""Where the journals of an experiment are, and which cases failed in the last one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from searchmark.errors import NothingEvaluated, UsageError
from searchmark.files.store import file_name
from searchmark.options.experiment_options import CaseSelection
from searchmark.records import PARENT, RunLabel, Suite
from searchmark.running.giving_up import RETRIED
from searchmark.running.journal_lines import journal_entries


def journal_path(folder: Path, suite: Suite, label: RunLabel, cases: CaseSelection, seed: int) -> Path:
    """One journal per suite, label and choice of cases, so that none of them overwrites another; a mode has that of its agent."""
    chosen = [cases.text, *cases.categories, cases.sample, seed if cases.sample else None, cases.shard]
    choice = hashlib.sha256(repr(chosen).encode("utf-8", "surrogatepass")).hexdigest()[:8] if any(chosen) else ""
    snapshot = f"@{label.snapshot}" if label.snapshot not in (None, PARENT) else ""
    repeat = f"#{label.repeat}" if label.repeat > 1 else ""
    name = ".".join(filter(None, [file_name(suite.name), file_name(f"{label.identity}{snapshot}{repeat}"), choice]))
    return folder / f"{name}.jsonl"


def only_failed(journal: Path) -> Path:
    """The journal of the cases that failed in the run of this one."""
    return journal.with_suffix(".last-failed.jsonl")


def last_failed(journals: Iterable[Path]) -> frozenset[str]:
    """The cases that ended in an error or a time-out, or were not run, when they were last asked."""
    paths = list(journals)
    entries = [journal_entries(path) | journal_entries(only_failed(path)) for path in paths]
    if not any(entries):
        raise UsageError(f"there is no last run: no answers in {', '.join(map(str, paths))}")
    failed = frozenset(case for each in entries for case, entry in each.items() if entry.outcome.status in RETRIED)
    if not failed:
        raise NothingEvaluated("no case failed in the last run")
    return failed
