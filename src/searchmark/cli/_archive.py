"""What becomes of a report in the archive, on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.core import ParameterSource

from searchmark.cli._options import OUTPUT, Given, config_options, is_given, with_options
from searchmark.cli._output import tell
from searchmark.config import Config
from searchmark.errors import UsageError
from searchmark.options.archive_options import ArchiveFolder, ArchiveOptions
from searchmark.options.drift_options import DriftOptions

if TYPE_CHECKING:
    from searchmark.archive.store import Archive
    from searchmark.records import Run
    from searchmark.reports import Report


@dataclass(frozen=True)
class Kept:
    """What the command line says about the archive, and about what counts as drift from what is in it."""

    archive: Given[ArchiveOptions]
    drift: Given[DriftOptions]

    def folder(self, config: Config) -> Path:
        """Where the archive is, which tells agents what others have answered."""
        return archive_folder(self.archive, config)

    def in_use(self, config: Config, *, by_default: bool) -> ArchiveInUse | None:
        """The archive, if it was asked for on the command line, or by default if nothing says otherwise; loaded only then."""
        asked = is_given("enabled", (ParameterSource.COMMANDLINE,))
        if not self.archive.over(config.archive).enabled or not (asked or by_default):
            return None
        from searchmark.archive.store import Archive

        return ArchiveInUse(Archive(self.folder(config)), self.drift.over(config.drift).limit, asked)


@dataclass(frozen=True, eq=False)
class ArchiveInUse:
    """The archive that a report goes to. One that was ``asked`` for must work; otherwise the report is worth more."""

    archive: Archive
    drift_limit: float
    asked: bool


def archive_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--archive``, ``--no-archive``, ``--archive-folder`` and ``--drift-limit``, handed over as one object."""

    def bundled(*, archive: Given[ArchiveOptions], drift: Given[DriftOptions], **arguments: Any) -> Any:
        return command(kept=Kept(archive, drift), **arguments)

    options = config_options(ArchiveOptions, "archive", OUTPUT, "archive"), config_options(DriftOptions, "drift", OUTPUT, "drift")
    return with_options(bundled, command, *options)


def archive_folder(given: Given[ArchiveOptions] | Given[ArchiveFolder], config: Config) -> Path:
    """Where the archive is: command line over environment over file."""
    return Path(str(given.values.get("directory", config.archive.directory)))


def archived(report: Report, runs: Sequence[Run], used: ArchiveInUse | None) -> Report:
    """The report with its history, once it is in the archive; without one as it is."""
    if used is None:
        return report
    from searchmark.archive.past import with_history
    from searchmark.runs.join import joined

    runs = runs if len(runs) == len(report.agents) else [joined(runs)]  # shards are one run
    now = datetime.now(UTC)
    try:
        report = with_history(report, used.archive, now, warn, used.drift_limit)
        entry = used.archive.add(report, runs, now)
    except UsageError as error:
        if used.asked:
            raise
        warn(f"{error}; the report is not archived (--no-archive does not try)")
    else:
        tell(f"archived: {used.archive.path(entry)}")
    return report


def warn(sentence: str) -> None:
    """Say what is wrong and no reason to stop."""
    tell(f"searchmark: {sentence}")
