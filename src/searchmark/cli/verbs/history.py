"""The verb `searchmark history`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from searchmark.cli.groups import ConfigFile, archive_folder, warn
from searchmark.cli.options import OUTPUT, ConfigGroup, Flag, GivenSettings, OptionGroup, verb
from searchmark.cli.output import STDOUT, harmless, remark, show
from searchmark.config.option import Option
from searchmark.config.sections import ArchiveFolderSettings, Config
from searchmark.errors import EXIT_OK, UsageError
from searchmark.measures.grammar import measures_named

if TYPE_CHECKING:
    from searchmark.reports.archive import Archive, EntrySelection, PinnedEntries


# Moments as users write them: a date, or how long ago.

_AGO = re.compile(r"(\d{1,6})([hdw])")

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def moment(text: str, now: datetime, option: str) -> datetime:
    """A date (2026-03-15), a time in ISO 8601, or a number of hours, days or weeks before now (12h, 90d, 8w)."""
    try:
        if ago := _AGO.fullmatch(text):
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        timestamp = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{option}: {text!r} is neither a date, as 2026-03-15, nor a time span, as 90d, 12h or 8w") from error
    return timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)


WHICH_ENTRIES, ARCHIVE = "Which entries", "Archive"

SHOWN = 20

DEFAULT = "list"


@dataclass(frozen=True)
class EntrySettings:
    """Which entries of the archive."""

    suite: Annotated[str | None, Option("Only entries of the suite with this name.", metavar="NAME")] = None
    agent: Annotated[str | None, Option("Only runs of this agent.", metavar="NAME")] = None
    since: Annotated[
        str | None, Option("Only entries from this date on, as 2026-03-15, or of the last 90d, 12h or 8w.", metavar="DATE")
    ] = None

    def selection(self, now: datetime) -> EntrySelection:
        from searchmark.reports.archive import EntrySelection

        return EntrySelection(self.suite, self.agent, None if self.since is None else moment(self.since, now, "--since"))


class HistoryGroup(click.Group):
    """A group whose first command need not be named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        has_command = args and args[0] in {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if has_command else [DEFAULT, *args])


@click.group("history", cls=HistoryGroup, short_help="List archived runs, show trends, remove old ones.")
def command() -> None:
    """List archived runs, show trends, remove old ones.

    Without a command the runs are listed, the newest first.

    \b
    searchmark history --suite shop --since 30d
    searchmark history trend --suite shop --agent bm25
    searchmark history prune --older-than 90d --dry-run
    """


@dataclass(frozen=True)
class HistoryCommand:
    """What all commands of the group are told."""

    config: Annotated[Config, ConfigFile(ARCHIVE, "the section 'archive'")]
    located: Annotated[GivenSettings[ArchiveFolderSettings], ConfigGroup(ARCHIVE, "archive")]


def output_flag(formats: str) -> Flag:
    return Flag(
        OUTPUT, "-o", "--output", multiple=True, metavar="PATH", help=f"File ({formats}), or - for JSON on stdout; repeatable."
    )


def archive_of(settings: GivenSettings[ArchiveFolderSettings], config: Config) -> Archive:
    """The archive; one that is not there has no entries yet, unless it was named, and the name may be wrong."""
    from searchmark.reports.archive import Archive

    folder = archive_folder(settings, config)
    if not os.path.lexists(folder):
        sentence = f"there is no archive {folder}; runs of agents are archived there, saved runs with --archive"
        if settings.values:
            raise UsageError(sentence)
        warn(sentence)
    return Archive(folder)


@dataclass(frozen=True)
class ListCommand(HistoryCommand):
    """The arguments and options of ``history list``."""

    chosen: Annotated[EntrySettings, OptionGroup(WHICH_ENTRIES)]
    number: Annotated[
        int, Flag(WHICH_ENTRIES, "-n", type=click.IntRange(1), default=SHOWN, show_default=True, help="Number of entries.")
    ]
    outputs: Annotated[tuple[str, ...], output_flag(".json or .csv")]


@verb(DEFAULT, ListCommand, short_help="List archived runs, the newest first.", of=command)
def list_entries(settings: ListCommand) -> int:
    """List archived runs, the newest first: the leading measures with their intervals, and how each ended.

    \b
    searchmark history
    searchmark history --suite shop --agent bm25 --since 2026-03-15 -n 100 -o history.csv
    """
    from searchmark.reports.archive import entry_summaries, history_rows
    from searchmark.reports.history import align_table, history_csv, history_json, history_table

    archive, selection = archive_of(settings.located, settings.config), settings.chosen.selection(datetime.now(UTC))
    entries = islice(entry_summaries(archive, selection, warn), settings.number)
    rows = [row for entry, report in entries for row in history_rows(entry, report, selection)]
    text = align_table(history_table(rows)) if rows else f"no entry of {archive.folder} fits\n"
    return write_outputs(settings.outputs, {".json": lambda: history_json(rows), ".csv": lambda: history_csv(rows)}, text)


def write_outputs(outputs: tuple[str, ...], formats: Mapping[str, Callable[[], str]], text: str) -> int:
    """Write the files that were asked for, or print JSON, or else the text."""
    from searchmark.io.store import write_text

    for output in outputs:
        if output != STDOUT and Path(output).suffix not in formats:
            raise UsageError(f"{output}: the extension must be one of {', '.join(formats)}")
    for output in outputs:
        if output != STDOUT:
            write_text(output, formats[Path(output).suffix]())
            remark(f"written: {output}")
    if STDOUT in outputs:
        show(formats[".json"]())
    elif not outputs:
        show(text)
    return EXIT_OK


@dataclass(frozen=True)
class TrendCommand(HistoryCommand):
    """The arguments and options of ``history trend``."""

    chosen: Annotated[EntrySettings, OptionGroup(WHICH_ENTRIES)]
    measures: Annotated[
        tuple[str, ...],
        Flag(WHICH_ENTRIES, "-m", "--measure", multiple=True, metavar="MEASURE", help="Only this measure; repeatable."),
    ]
    worse: Annotated[bool, Flag(WHICH_ENTRIES, "--worse", is_flag=True, help="Only what has become worse.")]
    outputs: Annotated[tuple[str, ...], output_flag(".json or .csv")]


@verb("trend", TrendCommand, short_help="Show every measure over the archived runs.", of=command)
def trend(settings: TrendCommand) -> int:
    """Show every measure over the archived runs, as a whole and by category: the noise band, and since which run it is worse.

    \b
    searchmark history trend --suite shop --agent bm25
    searchmark history trend --since 30d --worse -o trends.csv
    """
    from searchmark.reports.history import archived_trends, trends_csv, trends_json, trends_text

    archive = archive_of(settings.located, settings.config)
    all_trends = archived_trends(archive, settings.chosen.selection(datetime.now(UTC)), warn)
    measures = set(named_measures(settings.measures))
    trends = [
        each for each in all_trends if (not measures or each.measure in measures) and (each.worse_since or not settings.worse)
    ]
    text = trends_text(trends) if trends else f"no trend in {archive.folder} fits\n"
    return write_outputs(settings.outputs, {".json": lambda: trends_json(trends), ".csv": lambda: trends_csv(trends)}, text)


def named_measures(names: Iterable[str]) -> Iterator[str]:
    """The measures that were named, in any way that they can be; that of a formula may be its label."""
    for name in names:
        yield name
        with suppress(UsageError):
            yield from (measure.name for measure in measures_named([name]))


@dataclass(frozen=True)
class PruneCommand(HistoryCommand):
    """The arguments and options of ``history prune``."""

    keep: Annotated[
        int | None,
        Flag(
            WHICH_ENTRIES,
            "--keep",
            type=click.IntRange(0),
            metavar="N",
            help="Keep the newest N entries of each suite and its agents.",
        ),
    ]
    older_than: Annotated[
        str | None,
        Flag(
            WHICH_ENTRIES, "--older-than", metavar="AGE", help="Remove entries that are older than 90d, 12h or 8w, or than a date."
        ),
    ]
    dry_run: Annotated[bool, Flag(OUTPUT, "--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")]


@verb("prune", PruneCommand, short_help="Remove old entries from the archive.", of=command)
def prune(settings: PruneCommand) -> int:
    """Remove old entries from the archive, and name each of them. The run that is the baseline stays.

    \b
    searchmark history prune --keep 100
    searchmark history prune --older-than 90d --dry-run
    """
    from searchmark.reports.archive import Retention, prunable_entries

    if (settings.keep is None) == (settings.older_than is None):
        raise UsageError("say how long entries are kept: either --keep N or --older-than AGE")
    since = None if settings.older_than is None else moment(settings.older_than, datetime.now(UTC), "--older-than")
    archive = archive_of(settings.located, settings.config)
    for each in prunable_entries(archive, Retention(settings.keep, since), pinned_entries(settings.config)):
        if each.kept is not None:
            show(f"kept, since it {each.kept}: {harmless(each.entry.folder)}\n")
            continue
        if not settings.dry_run:
            archive.remove(each.entry)
        show(f"{'would be removed' if settings.dry_run else 'removed'}: {harmless(each.entry.folder)}\n")
    return EXIT_OK


def pinned_entries(config: Config) -> PinnedEntries:
    """What the baseline in use pins: its run, and the file that it is in."""
    from searchmark.experiments.inputs import baseline_file
    from searchmark.gates.baselines import read_baseline
    from searchmark.records.run import Run
    from searchmark.reports.archive import PinnedEntries

    file = Path(baseline_file(config, None))
    baseline = read_baseline(file)
    run_id = baseline.provenance.id if isinstance(baseline, Run) else None
    return PinnedEntries(frozenset() if run_id is None else frozenset([run_id]), (file,))
