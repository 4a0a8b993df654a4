"""The verb `searchmark report`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from click.core import ParameterSource

from searchmark.cli.groups import SUITE_FORMAT, ConfigFile, SuiteFileSettings, archive_folder, load_runs
from searchmark.cli.options import OUTPUT, WHAT_TO_RUN, ConfigGroup, Flag, GivenSettings, OptionGroup, Positional, is_given, verb
from searchmark.cli.output import (
    STDOUT,
    are_charts_wanted,
    check_audit_outputs,
    now,
    output_files,
    show,
    show_audit,
    tell,
    tell_written,
    text_for_terminal,
    write_audit,
    write_files,
)
from searchmark.config.inputs import GRADES_HELP, MAP_HELP
from searchmark.config.option import Option, option_fields
from searchmark.config.run import ReportSettings
from searchmark.config.sections import ArchiveFolderSettings, Config
from searchmark.errors import EXIT_OK, FormatError, UsageError
from searchmark.formats import RUN_FORMATS

if TYPE_CHECKING:
    from searchmark.audit.check import Audit
    from searchmark.reports.archive import Archive
    from searchmark.reports.report import Report


JUDGED = "A saved run"


@dataclass(frozen=True)
class JudgedBySettings:
    """What a saved run is judged by, and how."""

    path: Annotated[str | None, Option("Suite that a saved run is judged by.", ("--gold-set", "--suite"), "SUITE")] = None
    format: Annotated[str | None, SUITE_FORMAT] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None
    mapping: Annotated[tuple[str, ...], Option(MAP_HELP, ("--map",), "FIELD=NAME")] = ()
    run_format: Annotated[
        str | None, Option("Format of the run.", default="detected", choices=tuple(RUN_FORMATS), plugins="formats")
    ] = None
    measures: Annotated[tuple[str, ...], Option("Measure or formula, repeatable; the first one leads.", ("-m", "--measure"))] = ()
    splits: Annotated[
        tuple[str, ...], Option("Split by category, tag or a field of the cases; repeatable.", ("--by",), "FIELD")
    ] = ()

    def report(self, files: Sequence[Path], detail: ReportSettings) -> Report:
        """The report on saved runs; nothing is asked again."""
        from searchmark.experiments.evaluation import compare_runs, evaluate_run

        suite = SuiteFileSettings(str(self.path), self.format, self.topics, self.grades).load(self.mapping)[0]
        runs = load_runs(map(str, files), self.run_format, self.mapping)
        make = evaluate_run if len(runs) == 1 else compare_runs
        return make(suite, runs, self.measures, by=self.splits, detail=detail)


@dataclass(frozen=True)
class ReportCommand:
    """The arguments and options of ``report``."""

    source: Annotated[str, Positional("FILE|ENTRY")]
    config: Annotated[Config, ConfigFile(WHAT_TO_RUN, "the sections 'archive' and 'output'")]
    located: Annotated[GivenSettings[ArchiveFolderSettings], ConfigGroup(WHAT_TO_RUN, "archive")]
    judged: Annotated[JudgedBySettings, OptionGroup(JUDGED)]
    detail: Annotated[ReportSettings, OptionGroup(JUDGED)]
    outputs: Annotated[
        tuple[str, ...],
        Flag(
            OUTPUT,
            "-o",
            "--output",
            multiple=True,
            metavar="PATH",
            help="Report file, as evaluate has them, directory, or - for JSON on stdout; repeatable.",
        ),
    ]
    charts: Annotated[
        bool, Flag(OUTPUT, "--charts", is_flag=True, help="Draw charts beside every Markdown report, and show them in it.")
    ]
    opened: Annotated[bool, Flag(OUTPUT, "--open", is_flag=True, help="Open the report in the browser.")]


@verb("report", ReportCommand, short_help="Show a report in another format, or in the browser.")
def command(settings: ReportCommand) -> int:
    """Show a report in another format, or in the browser. Nothing is run.

    FILE is a report or an audit as JSON, or a saved run together with --gold-set. ENTRY is one of the archive: the id that
    'searchmark history' lists, or its beginning, or 'latest'; with --gold-set its saved runs are judged again.

    \b
    searchmark report report.json -o report.html -o report.md
    searchmark report latest --open
    searchmark report run.jsonl --gold-set suite.yaml -o report.html
    """
    from searchmark.reports.archive import Archive
    from searchmark.reports.render import render, write_report

    files = output_files(settings.outputs, replace(settings.config.output, directory=None))
    with_charts = are_charts_wanted(settings.charts, settings.config.output, files)
    try:
        report = find_report(
            settings.source, Archive(archive_folder(settings.located, settings.config)), settings.judged, settings.detail
        )
    except FormatError:
        audit = _audit_in(Path(settings.source), settings.judged)
        if audit is None:
            raise
        return _show_audit(audit, settings.outputs, charts=settings.charts, opened=settings.opened)
    written_files = write_files(report, files, now())
    tell_written(report, written_files, charts=with_charts)
    if STDOUT in settings.outputs:
        show(render(report, "json"))
    if settings.opened:
        open_in_browser(lambda page: write_report(report, page), [path for path, name in written_files if name == "html"])
    if not settings.outputs and not settings.opened:
        show(text_for_terminal(report))
    return EXIT_OK


def _audit_in(path: Path, judged_by: JudgedBySettings) -> Audit | None:
    """The audit in a file that holds no report, if it holds one."""
    from searchmark.reports.audit import read_audit

    return read_audit(path) if judged_by.path is None and path.is_file() else None


def _show_audit(audit: Audit, outputs: tuple[str, ...], *, charts: bool, opened: bool) -> int:
    if charts:
        raise UsageError("an audit has no charts; leave out --charts")
    check_audit_outputs(outputs)
    write_audit(audit, outputs)
    if opened:
        open_in_browser(lambda page: write_audit(audit, (str(page),)), [Path(each) for each in outputs if each.endswith(".html")])
    if STDOUT in outputs or (not outputs and not opened):
        show_audit(audit, outputs)
    return EXIT_OK


def find_report(source: str, archive: Archive, judged_by: JudgedBySettings, detail: ReportSettings) -> Report:
    """The report that is meant: one in a file, one in the archive, or that of a saved run."""
    from searchmark.reports.archive import SUMMARY, is_entry, read_entry

    path = Path(source)
    if judged_by.path is not None:
        return judged_by.report(_saved_runs(path, archive), detail)
    _refuse_judging()
    entry = path.parent if path.name == SUMMARY else path
    if is_entry(entry):
        return read_entry(entry)
    if path.exists():
        return _read(path)
    if _is_file_name(path):  # a file was meant, and is not there
        raise FormatError(path, None, "cannot be read: there is no such file")
    return archive.report(source)


def _saved_runs(path: Path, archive: Archive) -> Sequence[Path]:
    """The file, or the raw runs of an entry of the archive."""
    from searchmark.reports.archive import Archive, is_entry

    if is_entry(path):
        return Archive(path.absolute().parent).runs(path.absolute().name)
    return [path] if path.exists() or _is_file_name(path) else archive.runs(str(path))


def _is_file_name(path: Path) -> bool:
    return bool(path.suffix) or len(path.parts) > 1


def _refuse_judging() -> None:
    """A report is judged already, so what a saved run is judged by would be ignored."""
    options = {each.name for group in (JudgedBySettings, ReportSettings) for each in option_fields(group)}
    flags = sorted(
        max(parameter.opts, key=len)
        for parameter in click.get_current_context().command.params
        if parameter.name in options and is_given(parameter.name, (ParameterSource.COMMANDLINE,))
    )
    if flags:
        raise UsageError(f"a report is shown as it is; {', '.join(flags)} needs a saved run, or an entry, with --gold-set SUITE")


def _read(path: Path) -> Report:
    from searchmark.formats.runs import load_all_runs
    from searchmark.reports.json_file import read_report

    try:
        return _with_cases(path, read_report(path))
    except FormatError:
        try:
            load_all_runs(path)
        except UsageError:
            pass
        else:
            raise UsageError(f"{path} is a saved run; name what it is judged by: --gold-set SUITE") from None
        raise


def _with_cases(path: Path, report: Report) -> Report:
    if report.suite.cases and not any(agent.cases for agent in report.agents.values()):
        raise UsageError(f"{path} has no cases: it is the summary of an entry of an archive; name the entry or its folder instead")
    return report


def open_in_browser(write: Callable[[Path], None], pages: list[Path]) -> None:
    """Open the page that was written, or one in a temporary folder of this user alone, and say where it is."""
    import tempfile
    import webbrowser

    page = next(iter(pages), None)
    if page is None:
        page = Path(tempfile.mkdtemp(prefix="searchmark-page-")) / "report.html"
        write(page)
    shown = webbrowser.open(page.absolute().as_uri())
    tell(f"opened: {page}" if shown else f"searchmark: no browser could be started; open {page} yourself")
