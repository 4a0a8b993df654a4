"""Saved runs: one reader per file format, chosen by what the file holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from searchmark.errors import FormatError, UsageError
from searchmark.files.store import BOM, check_readable
from searchmark.records import Answer, Run

FORMATS = ("native", "json", "trec")


def load_run(path: str | PathLike[str], *, format: str | None = None) -> Run:  # noqa: A002  # the word that users know
    """Read a saved run."""
    path = Path(path)
    check_readable(path)
    chosen = format or _detect(path)
    if chosen == "native":
        from searchmark.runs.native import read_native

        return read_native(path)
    if chosen == "json":
        from searchmark.runs.plain import read_plain

        return read_plain(path)
    if chosen == "trec":
        from searchmark.runs.trec import read_trec

        return read_trec(path)
    raise UsageError(f"there is no run format {chosen!r}; the formats are {', '.join(FORMATS)}")


def save_run(run: Run, path: str | PathLike[str]) -> None:
    """Write a run in our own format, whole or not at all."""
    from searchmark.runs.native import write_native

    write_native(run, path)


def joined(runs: Sequence[Run]) -> Run:
    """One run from several that each answer a part of the cases; they must be the same agent's and not overlap."""
    first, *others = runs
    if not others:
        return first
    if any(run.agent != first.agent for run in others):
        raise UsageError(f"these are runs of different agents, and no parts of one: {', '.join(run.agent for run in runs)}")
    answers = [answer for run in runs for answer in run.answers]
    details = tuple(each for run in runs for each in run.details or ({},) * len(run))
    dropped = {key: sum(run.dropped.get(key, 0) for run in runs) for run in runs for key in run.dropped}
    metadata = {"parts": [dict(run.metadata) for run in runs]}
    return Run.from_answers(first.agent, answers, details=details if any(details) else None, dropped=dropped, metadata=metadata)


def completed(run: Run, cases: Sequence[str]) -> Run:
    """A run of ours that lacks cases, a shard for instance, has not run them; in an imported one they are empty."""
    missing = [case for case in cases if case not in run.index]
    parts = run.metadata.get("parts", [run.metadata])
    if not missing or not all("suite" in part for part in parts):
        return run
    answers = [*run.answers, *(Answer(case, "not_run") for case in missing)]
    details = None if run.details is None else (*run.details, *({} for _ in missing))
    return Run.from_answers(run.agent, answers, details=details, dropped=run.dropped, metadata=run.metadata)


def _detect(path: Path) -> str:
    """A header line with ``"record": "run"`` is ours, any other JSON is plain, the rest is TREC."""
    try:
        with path.open("rb") as file:
            head = file.read(4096).removeprefix(BOM).lstrip()
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror}") from error
    if head.startswith(b"{"):
        return "native" if re.search(rb'"record"\s*:\s*"run"', head.split(b"\n", 1)[0]) else "json"
    return "json" if path.suffix.lower() in {".json", ".jsonl"} else "trec"
