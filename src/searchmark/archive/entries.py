"""How an entry of the archive is named: its folder tells when it was made, of which suite and agents, and ends with its id."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from searchmark.files.store import file_name
from searchmark.reports.report import Report

_NAME = re.compile(r"(?P<time>\d{8}T\d{6})(?P<milliseconds>\d{3})Z_(?P<about>.+)_(?P<id>[0-9a-f]{8})")
_ID_LENGTH = 8


@dataclass(frozen=True)
class ArchiveEntry:
    """One report in the archive. ``folder`` is the name of its folder, ``time`` when it was archived, to the millisecond."""

    id: str
    time: datetime
    folder: str

    def may_be_of(self, suite: str) -> bool:
        """Whether this could be about a suite of this name; it is not if the folder says otherwise."""
        return self.about.startswith(f"{file_name(suite)}_")

    @property
    def about(self) -> str:
        """The suite and the agents, as file names have them."""
        return self.folder.partition("_")[2].rpartition("_")[0]


def parse_entry(folder: str) -> ArchiveEntry | None:
    """The entry that a folder of this name holds; None for a name that is not one of an entry."""
    found = _NAME.fullmatch(folder)
    if found is None:
        return None
    try:
        time = datetime.strptime(found["time"], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return ArchiveEntry(found["id"], time.replace(microsecond=int(found["milliseconds"]) * 1000), folder)


def new_entry(report: Report, time: datetime, attempt: int = 0) -> ArchiveEntry:
    """What the entry of a report that is archived at this time is called; another ``attempt`` has another id."""
    at = time.astimezone(UTC)
    about = f"{file_name(report.suite.name)}_{file_name('+'.join(report.agents))}"
    digest = _digest([at.isoformat(), str(attempt), *_told_apart_by(report)])
    stamp = f"{at:%Y%m%dT%H%M%S}{at.microsecond // 1000:03}Z"
    return ArchiveEntry(digest, at, f"{stamp}_{about}_{digest}")


def _told_apart_by(report: Report) -> Iterable[str]:
    """Two runs of one millisecond differ in their ids, or else in what was measured; the rest is left to another attempt."""
    yield report.suite.name
    yield from map(str, report.suite.hashes.values())
    for name, agent in report.agents.items():
        yield from (name, str(agent.run.id), *(f"{key}={summary.mean}" for key, summary in agent.measures.items()))


def _digest(parts: Iterable[str]) -> str:
    text = "\0".join(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_LENGTH]
