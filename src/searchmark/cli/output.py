"""What becomes of a report: files, the terminal, an exit code."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from searchmark.cli._colour import in_colour
from searchmark.cli._verbosity import Verbosity, verbosity
from searchmark.config import OutputConfig
from searchmark.errors import EXIT_GATE_FAILED, EXIT_NOTHING_EVALUATED, EXIT_OK, EXIT_UNTRUSTED, UsageError

if TYPE_CHECKING:
    from searchmark.reports import Report
    from searchmark.reports.file_names import ReportFile
    from searchmark.reports.github import SuiteLines


STDOUT = "-"


def harmless(sentence: str, width: int | None = None) -> str:
    """A sentence for the terminal: no secret of the environment, no credentials, nothing that a terminal would obey."""
    from searchmark.reports.quoting import visible
    from searchmark.services.excerpts import without_known

    return visible(without_known(sentence), width)


def tell(sentence: str, width: int | None = None) -> None:
    """Say something on stderr, on one line."""
    click.echo(harmless(sentence, width), err=True)


def remark(sentence: str, width: int | None = None) -> None:
    """The same for what need not be known, such as which files were written; not said if the user wants quiet."""
    if verbosity() is not Verbosity.QUIET:
        tell(sentence, width)


def detail(sentence: str) -> None:
    """The same for what only those want to know who asked for more."""
    if verbosity() is Verbosity.VERBOSE:
        tell(sentence)


def show(text: str) -> None:
    """Print text as it is, but for secrets of the environment.

    A closed pipe is not our failure, and must not hide the exit code of a gate.
    """
    if sys.stdout is None:  # closed by whoever started us
        return
    from searchmark.services.environment_secrets import environment_secrets
    from searchmark.services.redaction import scrubbed

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = scrubbed(text, environment_secrets())
    try:
        colour = True if in_colour(sys.stdout) else None  # where none is a terminal, click would take forced colours out
        click.echo(text.encode(encoding, "replace").decode(encoding), nl=False, color=colour)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whatever is still in the buffer goes nowhere, quietly, when Python flushes it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def text_for_terminal(report: Report, *, brief: bool = False) -> str:
    """The report as wide as the terminal and in colour, if stdout is one; a few lines if the user wants quiet."""
    from searchmark.reports import without_known_secrets
    from searchmark.reports.result_lines import result_lines
    from searchmark.reports.text import WIDTH, to_text

    report = without_known_secrets(report)
    if verbosity() is Verbosity.QUIET:
        return result_lines(report)
    return to_text(report, brief=brief, colour=in_colour(sys.stdout), width=width_of_terminal(WIDTH))


def width_of_terminal(otherwise: int) -> int:
    """How wide stdout is, if it is a terminal."""
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size((otherwise, 0)).columns if on_terminal else otherwise


def now() -> datetime:
    """The time of a command: asked for once, when it begins."""
    return datetime.now(UTC)


def output_files(outputs: tuple[str, ...], config: OutputConfig = OutputConfig()) -> list[ReportFile]:
    """Every file that is to be written; refused before any work is done if one cannot be."""
    from searchmark.reports.file_names import files_in

    in_folder = files_in(Path(), config)  # checks the formats, whatever is written
    wanted = outputs or ((config.directory,) if config.directory else ())
    if in_folder and config.file_name is not None and not wanted:
        raise UsageError("output.file_name names files, and nothing says where: set output.directory, or say -o FOLDER/")
    return [file for output in wanted if output != STDOUT for file in _files(output, config)]


def _files(output: str, config: OutputConfig) -> list[ReportFile]:
    """One file, or every format in a directory."""
    from searchmark.reports import format_of
    from searchmark.reports.file_names import ReportFile, files_in

    path = Path(output)
    if output.endswith("/") or path.is_dir() or not path.suffix:
        return files_in(path, config)
    found = format_of(path)
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} cannot be written: it is not a file")
    return [ReportFile(path, found)]


def charts_wanted(asked: bool, config: OutputConfig, files: list[ReportFile]) -> bool:
    """Whether charts are drawn; refused before any work is done if no report could show them."""
    if asked and not any(file.format == "markdown" for file in files):
        raise UsageError("--charts draws charts for a Markdown report, and none is written; add -o report.md")
    return asked or config.generate_visualizations


@dataclass(frozen=True)
class GithubStep:
    """The step of a workflow that a report is for: the file of its summary, and where cases are written."""

    summary: Path
    lines: SuiteLines


def github_step(wanted: bool, suite: str) -> GithubStep | None:
    """What is known of the step; refused before any work is done if there is none."""
    if not wanted:
        return None
    from searchmark.reports.github import SuiteLines, summary_file

    return GithubStep(summary_file(), SuiteLines(Path(suite), Path(os.environ.get("GITHUB_WORKSPACE") or ".")))


def exit_code(report: Report) -> int:
    """What the report means to a script."""
    from searchmark.reports.outcome import outcome_of

    return {
        "nothing evaluated": EXIT_NOTHING_EVALUATED,
        "untrusted": EXIT_UNTRUSTED,
        "unresolvable": EXIT_UNTRUSTED,
        "failed": EXIT_GATE_FAILED,
    }.get(outcome_of(report), EXIT_OK)


def deliver(
    report: Report,
    files: list[ReportFile],
    time: datetime,
    *,
    json_on_stdout: bool,
    brief: bool = False,
    charts: bool = False,
    per_case: bool = False,
    github: GithubStep | None = None,
) -> int:
    """Write the files, print the report or the values of every case, say what was written, and tell a script what it means.

    ``time`` is that of the command, which names of files may hold.
    """
    from searchmark.reports import render
    from searchmark.reports.outcome import first_sentence

    written = write_files(report, files, time)
    untrusted = first_sentence(report)
    if untrusted is not None and (per_case or json_on_stdout):  # a report for people begins with it
        tell(untrusted)
    if per_case:
        _show_cases(report)
    else:
        show(render(report, "json") if json_on_stdout else text_for_terminal(report, brief=brief))
    tell_written(report, written, charts=charts)
    if report.next_step is not None:
        remark(f"next: {report.next_step} shows every case")
    if github is not None:
        _tell_github(report, github)
    return exit_code(report)


def write_files(report: Report, files: list[ReportFile], time: datetime) -> list[tuple[Path, str]]:
    """Write the report as each of the files; where they are, each with its format."""
    from searchmark.reports import without_known_secrets, write_report
    from searchmark.reports.file_names import name_values

    values = name_values(without_known_secrets(report), time)
    written = [(file.at(values), file.format) for file in files]
    for path, name in written:
        write_report(report, path, name)
    return written


def tell_written(report: Report, written: list[tuple[Path, str]], *, charts: bool) -> None:
    """Say what was written, and draw the charts if they are wanted."""
    for path, _ in written:
        remark(f"written: {path}")
    if charts:
        _draw_charts(report, [path for path, name in written if name == "markdown"])


def _draw_charts(report: Report, markdown_files: list[Path]) -> None:
    """Beside reports that are written already: whatever is missing here, they are there."""
    from searchmark.reports.charts import charts_beside, lacking

    why = lacking()
    if why is not None:
        tell(f"no charts: {why}")
        return
    for file in markdown_files:
        drawn = charts_beside(report, file)
        names = ", ".join(chart.name for chart in drawn)
        remark(f"written: {drawn[0].files[0].parent}/: {names}" if drawn else "no charts: the report has no values to draw")


def _show_cases(report: Report) -> None:
    from searchmark.reports import without_known_secrets
    from searchmark.reports.per_case import to_per_case, undefined_values

    show("".join(to_per_case(without_known_secrets(report))))
    if undefined := undefined_values(report):
        tell(f"undefined values, which have no line: {undefined}; reports give the reason for each")


def _tell_github(report: Report, step: GithubStep) -> None:
    """The runner reads annotations on stderr as well, where they spoil no JSON."""
    from searchmark.reports import without_known_secrets
    from searchmark.reports.github import annotations_of, append_summary

    append_summary(report, step.summary)
    for annotation in annotations_of(without_known_secrets(report), step.lines.find):
        tell(annotation.command)
