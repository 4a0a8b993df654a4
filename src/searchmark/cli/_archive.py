"""What becomes of a report in the archive, on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.core import ParameterSource

from searchmark.cli._options import OUTPUT, Given, config_options, is_given, with_options
from searchmark.cli._output import remark, tell
from searchmark.config import Config
from searchmark.corpora.case_locations import Where, snapshots_of
from searchmark.errors import UsageError
from searchmark.files.our_folder import refuse_leading_out
from searchmark.options.addresses import is_address
from searchmark.options.archive_options import ARCHIVE_FOLDER, ArchiveFolder, ArchiveOptions
from searchmark.options.drift_options import DriftOptions
from searchmark.options.experiment_options import OUR_FOLDER
from searchmark.records import WORK_TREE

if TYPE_CHECKING:
    from searchmark.archive.store import Archive
    from searchmark.records import Run, Suite
    from searchmark.reports import Report


@dataclass(frozen=True)
class Kept:
    """What the command line says about the archive, and about what counts as drift from what is in it."""

    archive: Given[ArchiveOptions]
    drift: Given[DriftOptions]

    def in_use(self, config: Config, *, by_default: bool) -> ArchiveInUse | None:
        """The archive, if it was asked for on the command line, or by default if nothing says otherwise; loaded only then."""
        asked, limit = is_given("enabled", (ParameterSource.COMMANDLINE,)), self.drift.over(config.drift).limit
        if not self.archive.over(config.archive).enabled or not (asked or by_default):
            return None
        from searchmark.archive.store import Archive

        return ArchiveInUse(Archive(archive_folder(self.archive, config)), limit, asked)

    def hidden(self, suite: Suite, where: Where, config: Config) -> list[Path]:
        """What agents must not see, since it tells what others have answered; an archive in what they search is refused.

        Entries are named one by one, too: a folder with the agent's own code in it is not hidden as a whole.
        """
        from searchmark.archive.store import Archive

        self.in_use(config, by_default=True)  # so that what is wrong with it is noticed before hours of searching
        archive = Archive(self.archive.over(config.archive).directory)
        refuse_searched(archive.folder, suite, where)
        with suppress(UsageError):  # what cannot be read here cannot be read by an agent
            return [archive.folder, *map(archive.path, archive.entries())]
        return [archive.folder]


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
    """Where the archive is: command line over environment over file. One that was not named is in the working directory."""
    folder = Path(given.over(config.archive).directory)
    if folder == Path(ARCHIVE_FOLDER):
        refuse_leading_out(folder)
    return folder


def refuse_searched(folder: Path, suite: Suite, where: Where) -> None:
    """Refuse an archive that would be found by the search, and a folder that holds what is searched."""
    archive = folder.resolve()
    for searched in map(Path.resolve, searched_paths(suite, where)):
        below = archive.relative_to(searched).parts if archive.is_relative_to(searched) else None
        if searched.is_relative_to(archive) or (below is not None and OUR_FOLDER not in below):
            raise UsageError(
                f"the archive {folder} and {searched}, which is searched, are one in the other; "
                "name a different folder with --archive-folder"
            )


def searched_paths(suite: Suite, where: Where) -> Iterator[Path]:
    """What is named to be searched as it lies there; of a commit nothing is that has no name in it."""
    if where.corpus is not None:
        yield from () if is_address(where.corpus) else (Path(where.corpus),)
    elif {*snapshots_of(suite, where)} & {None, WORK_TREE}:
        yield from (Path(source.path) for source in where.named if source.address is None)


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
        remark(f"archived: {used.archive.path(entry)}")
    return report


def warn(sentence: str) -> None:
    """Say what is wrong and no reason to stop."""
    tell(f"searchmark: {sentence}")
