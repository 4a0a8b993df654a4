"""Which entries of an archive are old enough to go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from searchmark.archive.entries import ArchiveEntry
from searchmark.archive.listing import cases_run, what_is_wrong
from searchmark.archive.store import Archive
from searchmark.errors import FormatError
from searchmark.reports.report import Report


@dataclass(frozen=True)
class Retention:
    """How long entries are kept: so many of each suite and its agents, or those since a moment. Only one of them is set."""

    keep: int | None = None
    since: datetime | None = None


@dataclass(frozen=True)
class Pinned:
    """What entries are kept for, however old they are: the run that is the baseline, and the file that it is in."""

    runs: frozenset[str] = frozenset()
    files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Outdated:
    """An entry that has been kept long enough. One that stays all the same has a reason: ``kept``, in words."""

    entry: ArchiveEntry
    kept: str | None


def outdated(archive: Archive, retention: Retention, pinned: Pinned = Pinned()) -> Iterator[Outdated]:  # noqa: B008  # frozen
    """The entries that need not be kept any longer, the oldest last. What only has the name of an entry is none.

    One that cannot be read stays, and counts for none: it may be of a newer version, or be mended.
    """
    seen: Counter[Hashable] = Counter()
    for entry in archive.entries():
        if retention.since is not None and entry.time >= retention.since:
            continue
        try:
            summary = archive.summary(entry)
        except FormatError as error:
            if archive.holds(entry):
                yield Outdated(entry, what_is_wrong(error))
            continue
        seen[_kind(summary)] += 1
        if retention.keep is None or seen[_kind(summary)] > retention.keep:
            yield Outdated(entry, "is the baseline" if _is_pinned(archive.path(entry), summary, pinned) else None)


def _kind(report: Report) -> Hashable:
    """What entries are counted by: a run of some cases does not take the room of one of all of them."""
    runs = tuple(sorted(report.agents))
    return report.suite.name, runs, all(run == there for run, there in (cases_run(report, each) for each in runs))


def _is_pinned(folder: Path, summary: Report, pinned: Pinned) -> bool:
    within = any(folder.resolve() in file.resolve().parents for file in pinned.files)
    return within or any(agent.run.id in pinned.runs for agent in summary.agents.values())
