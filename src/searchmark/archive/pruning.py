"""Which entries of an archive are old enough to go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from searchmark.archive.entries import ArchiveEntry
from searchmark.archive.store import Archive
from searchmark.errors import FormatError


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
    """An entry that has been kept long enough; one that is ``pinned`` stays."""

    entry: ArchiveEntry
    pinned: bool


def outdated(archive: Archive, retention: Retention, pinned: Pinned = Pinned()) -> Iterator[Outdated]:  # noqa: B008  # frozen
    """The entries that need not be kept any longer, the oldest last. What only has the name of an entry is none."""
    seen: Counter[str] = Counter()
    for entry in archive.entries():
        seen[entry.about] += 1
        old = retention.since is not None and entry.time < retention.since
        surplus = retention.keep is not None and seen[entry.about] > retention.keep
        if (old or surplus) and archive.holds(entry):
            yield Outdated(entry, _is_pinned(archive, entry, pinned))


def _is_pinned(archive: Archive, entry: ArchiveEntry, pinned: Pinned) -> bool:
    folder = archive.path(entry).resolve()
    if any(folder in file.resolve().parents for file in pinned.files):
        return True
    if not pinned.runs:
        return False
    try:
        return any(agent.run.id in pinned.runs for agent in archive.summary(entry).agents.values())
    except FormatError:  # what cannot be read is the baseline of nothing
        return False
