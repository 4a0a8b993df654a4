"""``searchmark report``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from click.core import ParameterSource

from searchmark.cli._archive import archive_folder
from searchmark.cli._audits import check_audit_outputs, show_audit, write_audit
from searchmark.cli._groups import SuiteChoice, config_option, load_runs
from searchmark.cli._options import OUTPUT, WHAT_TO_RUN, Given, SectionedCommand, config_options, is_given, option, option_group
from searchmark.cli._output import (
    STDOUT,
    charts_wanted,
    now,
    output_files,
    show,
    tell,
    tell_written,
    text_for_terminal,
    write_files,
)
from searchmark.config import Config
from searchmark.errors import EXIT_OK, FormatError, UsageError
from searchmark.options.archive_options import ArchiveFolder
from searchmark.options.field_names import MAP_HELP
from searchmark.options.grade_words import GRADES_HELP
from searchmark.options.option import Option, option_fields
from searchmark.options.report_options import ReportOptions
from searchmark.runs import FORMATS as RUN_FORMATS
from searchmark.suites.detect import FORMATS as SUITE_FORMATS

if TYPE_CHECKING:
    from searchmark.archive.store import Archive
    from searchmark.audit.result import Audit
    from searchmark.reports import Report

JUDGED = "A saved run"


@dataclass(frozen=True)
class JudgedBy:
    """What a saved run is judged by, and how."""

    path: Annotated[str | None, Option("Suite that a saved run is judged by.", ("--gold-set", "--suite"), "SUITE")] = None
    format: Annotated[str | None, Option("Format of the suite.", default="detected", choices=tuple(SUITE_FORMATS))] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None
    mapping: Annotated[tuple[str, ...], Option(MAP_HELP, ("--map",), "FIELD=NAME")] = ()
    run_format: Annotated[str | None, Option("Format of the run.", default="detected", choices=tuple(RUN_FORMATS))] = None
    measures: Annotated[tuple[str, ...], Option("Measure or formula, repeatable; the first one leads.", ("-m", "--measure"))] = ()
    splits: Annotated[
        tuple[str, ...], Option("Split by category, tag or a field of the cases; repeatable.", ("--by",), "FIELD")
    ] = ()

    def report(self, files: Sequence[Path], detail: ReportOptions) -> Report:
        """The report on saved runs; nothing is asked again."""
        from searchmark.experiments import compare_runs, evaluate_run

        suite = SuiteChoice(str(self.path), self.format, self.topics, self.grades).load(self.mapping)[0]
        runs = load_runs(map(str, files), self.run_format, self.mapping)
        make = evaluate_run if len(runs) == 1 else compare_runs
        return make(suite, runs, self.measures, by=self.splits, detail=detail)


@click.command("report", cls=SectionedCommand, short_help="Show a report in another format, or in the browser.")
@click.argument("source", metavar="FILE|ENTRY")
@config_option(WHAT_TO_RUN, "the sections 'archive' and 'output'")
@config_options(ArchiveFolder, "located", WHAT_TO_RUN, "archive")
@option_group(JudgedBy, "judged", JUDGED)
@option_group(ReportOptions, "detail", JUDGED)
@option(
    OUTPUT,
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="PATH",
    help="Report file, as evaluate has them, directory, or - for JSON on stdout; repeatable.",
)
@option(OUTPUT, "--charts", is_flag=True, help="Draw charts beside every Markdown report, and show them in it.")
@option(OUTPUT, "--open", "opened", is_flag=True, help="Open the report in the browser.")
def command(
    source: str,
    config: Config,
    located: Given[ArchiveFolder],
    judged: JudgedBy,
    detail: ReportOptions,
    outputs: tuple[str, ...],
    charts: bool,
    opened: bool,
) -> int:
    """Show a report in another format, or in the browser. Nothing is run.

    FILE is a report or an audit as JSON, or a saved run together with --gold-set. ENTRY is one of the archive: the id that
    'searchmark history' lists, or its beginning, or 'latest'; with --gold-set its saved runs are judged again.

    \b
    searchmark report report.json -o report.html -o report.md
    searchmark report latest --open
    searchmark report run.jsonl --gold-set suite.yaml -o report.html
    """
    from searchmark.archive.store import Archive
    from searchmark.reports import render, write_report

    files = output_files(outputs, replace(config.output, directory=None))
    drawn = charts_wanted(charts, config.output, files)
    try:
        report = found_report(source, Archive(archive_folder(located, config)), judged, detail)
    except FormatError:
        audit = _audit_in(Path(source), judged)
        if audit is None:
            raise
        return _shown_audit(audit, outputs, charts=charts, opened=opened)
    written = write_files(report, files, now())
    tell_written(report, written, charts=drawn)
    if STDOUT in outputs:
        show(render(report, "json"))
    if opened:
        open_in_browser(lambda page: write_report(report, page), [path for path, name in written if name == "html"])
    if not outputs and not opened:
        show(text_for_terminal(report))
    return EXIT_OK


def _audit_in(path: Path, judged: JudgedBy) -> Audit | None:
    """The audit in a file that holds no report, if it holds one."""
    from searchmark.reports.audit_file import read_audit

    return read_audit(path) if judged.path is None and path.is_file() else None


def _shown_audit(found: Audit, outputs: tuple[str, ...], *, charts: bool, opened: bool) -> int:
    if charts:
        raise UsageError("an audit has no charts; leave out --charts")
    check_audit_outputs(outputs)
    write_audit(found, outputs)
    if opened:
        open_in_browser(lambda page: write_audit(found, (str(page),)), [Path(each) for each in outputs if each.endswith(".html")])
    if STDOUT in outputs or (not outputs and not opened):
        show_audit(found, outputs)
    return EXIT_OK


def found_report(source: str, archive: Archive, judged: JudgedBy, detail: ReportOptions) -> Report:
    """The report that is meant: one in a file, one in the archive, or that of a saved run."""
    from searchmark.archive.store import SUMMARY, is_entry, read_entry

    path = Path(source)
    if judged.path is not None:
        return judged.report(_saved_runs(path, archive), detail)
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
    from searchmark.archive.store import Archive, is_entry

    if is_entry(path):
        return Archive(path.absolute().parent).runs(path.absolute().name)
    return [path] if path.exists() or _is_file_name(path) else archive.runs(str(path))


def _is_file_name(path: Path) -> bool:
    return bool(path.suffix) or len(path.parts) > 1


def _refuse_judging() -> None:
    """A report is judged already, so what a saved run is judged by would be ignored."""
    asked = {each.name for group in (JudgedBy, ReportOptions) for each in option_fields(group)}
    given = sorted(
        max(parameter.opts, key=len)
        for parameter in click.get_current_context().command.params
        if parameter.name in asked and is_given(parameter.name, (ParameterSource.COMMANDLINE,))
    )
    if given:
        raise UsageError(f"a report is shown as it is; {', '.join(given)} needs a saved run, or an entry, with --gold-set SUITE")


def _read(path: Path) -> Report:
    from searchmark.reports import read_report
    from searchmark.runs import runs_in

    try:
        return _with_cases(path, read_report(path))
    except FormatError:
        try:
            runs_in(path)
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
