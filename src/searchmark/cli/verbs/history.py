"""``searchmark history``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from searchmark.cli._archive import archive_folder, warn
from searchmark.cli._gates import baseline_file
from searchmark.cli._groups import config_option
from searchmark.cli._moments import moment
from searchmark.cli._options import OUTPUT, Command, Given, SectionedCommand, config_options, option, option_group
from searchmark.cli._output import STDOUT, harmless, remark, show
from searchmark.config import Config
from searchmark.errors import EXIT_OK, UsageError
from searchmark.measures.grammar import measures_named
from searchmark.options.archive_options import ArchiveFolder
from searchmark.options.option import Option

if TYPE_CHECKING:
    from searchmark.archive.listing import EntrySelection
    from searchmark.archive.pruning import Pinned
    from searchmark.archive.store import Archive

WHICH_ENTRIES, ARCHIVE = "Which entries", "Archive"
SHOWN = 20
DEFAULT = "list"


@dataclass(frozen=True)
class EntryChoice:
    """Which entries of the archive."""

    suite: Annotated[str | None, Option("Only entries of the suite with this name.", metavar="NAME")] = None
    agent: Annotated[str | None, Option("Only runs of this agent.", metavar="NAME")] = None
    since: Annotated[
        str | None, Option("Only entries from this date on, as 2026-03-15, or of the last 90d, 12h or 8w.", metavar="DATE")
    ] = None

    def selection(self, now: datetime) -> EntrySelection:
        from searchmark.archive.listing import EntrySelection

        return EntrySelection(self.suite, self.agent, None if self.since is None else moment(self.since, now, "--since"))


class HistoryGroup(click.Group):
    """A group whose first command need not be named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = args and args[0] in {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if named else [DEFAULT, *args])


@click.group("history", cls=HistoryGroup, short_help="List archived runs, show trends, remove old ones.")
def command() -> None:
    """List archived runs, show trends, remove old ones.

    Without a command the runs are listed, the newest first.

    \b
    searchmark history --suite shop --since 30d
    searchmark history trend --suite shop --agent bm25
    searchmark history prune --older-than 90d --dry-run
    """


def history_command(name: str, short_help: str) -> Callable[[Command], click.Command]:
    """A command of the group, with the options that all of them have."""

    def decorated(function: Command) -> click.Command:
        located = config_options(ArchiveFolder, "located", ARCHIVE, "archive")(function)
        return command.command(name, cls=SectionedCommand, short_help=short_help)(
            config_option(ARCHIVE, "the section 'archive'")(located)
        )

    return decorated


def output_option(formats: str) -> Callable[[Command], Command]:
    return option(
        OUTPUT,
        "-o",
        "--output",
        "outputs",
        multiple=True,
        metavar="PATH",
        help=f"File ({formats}), or - for JSON on stdout; repeatable.",
    )


def archive_of(located: Given[ArchiveFolder], config: Config) -> Archive:
    """The archive; one that is not there has no entries yet, unless it was named, and the name may be wrong."""
    from searchmark.archive.store import Archive

    folder = archive_folder(located, config)
    if not os.path.lexists(folder):
        sentence = f"there is no archive {folder}; runs of agents are archived there, saved runs with --archive"
        if located.values:
            raise UsageError(sentence)
        warn(sentence)
    return Archive(folder)


@history_command(DEFAULT, "List archived runs, the newest first.")
@option_group(EntryChoice, "chosen", WHICH_ENTRIES)
@option(WHICH_ENTRIES, "-n", "number", type=click.IntRange(1), default=SHOWN, show_default=True, help="Number of entries.")
@output_option(".json or .csv")
def list_entries(located: Given[ArchiveFolder], config: Config, chosen: EntryChoice, number: int, outputs: tuple[str, ...]) -> int:
    """List archived runs, the newest first: the leading measures with their intervals, and how each ended.

    \b
    searchmark history
    searchmark history --suite shop --agent bm25 --since 2026-03-15 -n 100 -o history.csv
    """
    from searchmark.archive.listing import history_rows, summaries
    from searchmark.archive.tables import aligned, history_csv, history_json, history_table

    archive, selection = archive_of(located, config), chosen.selection(datetime.now(UTC))
    found = islice(summaries(archive, selection, warn), number)
    rows = [row for entry, report in found for row in history_rows(entry, report, selection)]
    text = aligned(history_table(rows)) if rows else f"no entry of {archive.folder} fits\n"
    return written(outputs, {".json": lambda: history_json(rows), ".csv": lambda: history_csv(rows)}, text)


def written(outputs: tuple[str, ...], formats: Mapping[str, Callable[[], str]], text: str) -> int:
    """Write the files that were asked for, or print JSON, or else the text."""
    from searchmark.files.store import write_text

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


@history_command("trend", "Show every measure over the archived runs.")
@option_group(EntryChoice, "chosen", WHICH_ENTRIES)
@option(WHICH_ENTRIES, "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="Only this measure; repeatable.")
@option(WHICH_ENTRIES, "--worse", is_flag=True, help="Only what has become worse.")
@output_option(".json or .csv")
def trend(
    located: Given[ArchiveFolder],
    config: Config,
    chosen: EntryChoice,
    measures: tuple[str, ...],
    worse: bool,
    outputs: tuple[str, ...],
) -> int:
    """Show every measure over the archived runs, as a whole and by category: the noise band, and since which run it is worse.

    \b
    searchmark history trend --suite shop --agent bm25
    searchmark history trend --since 30d --worse -o trends.csv
    """
    from searchmark.archive.past import archived_trends
    from searchmark.archive.tables import trends_csv, trends_json, trends_text

    archive = archive_of(located, config)
    found = archived_trends(archive, chosen.selection(datetime.now(UTC)), warn)
    wanted = set(named_measures(measures))
    shown = [each for each in found if (not wanted or each.measure in wanted) and (each.worse_since or not worse)]
    text = trends_text(shown) if shown else f"no trend in {archive.folder} fits\n"
    return written(outputs, {".json": lambda: trends_json(shown), ".csv": lambda: trends_csv(shown)}, text)


def named_measures(names: Iterable[str]) -> Iterator[str]:
    """The measures that were named, in any way that they can be; that of a formula may be its label."""
    for name in names:
        yield name
        with suppress(UsageError):
            yield from (measure.name for measure in measures_named([name]))


@history_command("prune", "Remove old entries from the archive.")
@option(
    WHICH_ENTRIES, "--keep", type=click.IntRange(0), metavar="N", help="Keep the newest N entries of each suite and its agents."
)
@option(WHICH_ENTRIES, "--older-than", metavar="AGE", help="Remove entries that are older than 90d, 12h or 8w, or than a date.")
@option(OUTPUT, "--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
def prune(located: Given[ArchiveFolder], config: Config, keep: int | None, older_than: str | None, dry_run: bool) -> int:
    """Remove old entries from the archive, and name each of them. The run that is the baseline stays.

    \b
    searchmark history prune --keep 100
    searchmark history prune --older-than 90d --dry-run
    """
    from searchmark.archive.pruning import Retention, outdated

    if (keep is None) == (older_than is None):
        raise UsageError("say how long entries are kept: either --keep N or --older-than AGE")
    since = None if older_than is None else moment(older_than, datetime.now(UTC), "--older-than")
    archive = archive_of(located, config)
    for each in outdated(archive, Retention(keep, since), pinned_by(config)):
        if each.kept is not None:
            show(f"kept, since it {each.kept}: {harmless(each.entry.folder)}\n")
            continue
        if not dry_run:
            archive.remove(each.entry)
        show(f"{'would be removed' if dry_run else 'removed'}: {harmless(each.entry.folder)}\n")
    return EXIT_OK


def pinned_by(config: Config) -> Pinned:
    """What the baseline in use pins: its run, and the file that it is in."""
    from searchmark.archive.pruning import Pinned
    from searchmark.gates.baselines import read_baseline
    from searchmark.records import Run

    file = Path(baseline_file(config, None))
    baseline = read_baseline(file)
    known = baseline.provenance.id if isinstance(baseline, Run) else None
    return Pinned(frozenset() if known is None else frozenset([known]), (file,))
