"""What becomes of a report or an audit: files, the terminal, an exit code."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from searchmark.cli.terminal import Verbosity, in_colour, verbosity
from searchmark.config.sections import OutputSettings
from searchmark.errors import EXIT_GATE_FAILED, EXIT_NOTHING_EVALUATED, EXIT_OK, EXIT_UNTRUSTED, UsageError
from searchmark.io.store import write_text

if TYPE_CHECKING:
    from searchmark.audit.check import Audit, JudgingPlan
    from searchmark.records.suite import Suite
    from searchmark.reports.ci import SuiteLines
    from searchmark.reports.render import ReportFile
    from searchmark.reports.report import Report


# What becomes of a report: files, the terminal, an exit code.

STDOUT = "-"


def harmless(sentence: str, width: int | None = None) -> str:
    """A sentence for the terminal: no secret of the environment, no credentials, nothing that a terminal would obey."""
    from searchmark.io.secrets import without_secret_values
    from searchmark.reports.quoting import visible

    return visible(without_secret_values(sentence), width)


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
    from searchmark.io.secrets import environment_secrets, scrub

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = scrub(text, environment_secrets())
    try:
        colour = True if in_colour(sys.stdout) else None  # where none is a terminal, click would take forced colours out
        click.echo(text.encode(encoding, "replace").decode(encoding), nl=False, color=colour)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whatever is still in the buffer goes nowhere, quietly, when Python flushes it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def text_for_terminal(report: Report, *, brief: bool = False) -> str:
    """The report as wide as the terminal and in colour, if stdout is one; a few lines if the user wants quiet."""
    from searchmark.reports.render import without_known_secrets
    from searchmark.reports.text import WIDTH, result_lines, to_text

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


def output_files(outputs: tuple[str, ...], config: OutputSettings = OutputSettings()) -> list[ReportFile]:
    """Every file that is to be written; refused before any work is done if one cannot be."""
    from searchmark.reports.render import files_in

    in_folder = files_in(Path(), config)  # checks the formats, whatever is written
    targets = outputs or ((config.directory,) if config.directory else ())
    if in_folder and config.file_name is not None and not targets:
        raise UsageError("output.file_name names files, and nothing says where: set output.directory, or say -o FOLDER/")
    return [file for output in targets if output != STDOUT for file in _files(output, config)]


def _files(output: str, config: OutputSettings) -> list[ReportFile]:
    """One file, or every format in a directory."""
    from searchmark.reports.render import ReportFile, files_in, format_of

    path = Path(output)
    if output.endswith("/") or path.is_dir() or not path.suffix:
        return files_in(path, config)
    format_name = format_of(path)
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} cannot be written: it is not a file")
    return [ReportFile(path, format_name)]


def are_charts_wanted(explicit: bool, config: OutputSettings, files: list[ReportFile]) -> bool:
    """Whether charts are drawn; refused before any work is done if no report could show them."""
    if explicit and not any(file.format == "markdown" for file in files):
        raise UsageError("--charts draws charts for a Markdown report, and none is written; add -o report.md")
    return explicit or config.generate_visualizations


@dataclass(frozen=True)
class GithubStep:
    """The step of a workflow that a report is for: the file of its summary, and where cases are written."""

    summary: Path
    lines: SuiteLines


def github_step(enabled: bool, suite: str) -> GithubStep | None:
    """What is known of the step; refused before any work is done if there is none."""
    if not enabled:
        return None
    from searchmark.reports.ci import SuiteLines, summary_file

    return GithubStep(summary_file(), SuiteLines(Path(suite), Path(os.environ.get("GITHUB_WORKSPACE") or ".")))


def exit_code(report: Report) -> int:
    """What the report means to a script."""
    from searchmark.reports.report import outcome_of

    return {
        "nothing evaluated": EXIT_NOTHING_EVALUATED,
        "untrusted": EXIT_UNTRUSTED,
        "unresolvable": EXIT_UNTRUSTED,
        "failed": EXIT_GATE_FAILED,
    }.get(outcome_of(report), EXIT_OK)


@dataclass(frozen=True)
class Outputs:
    """Where a report goes. ``time`` is that of the command, which names of files may hold."""

    files: list[ReportFile]
    charts: bool
    github: GithubStep | None
    json_on_stdout: bool
    time: datetime

    def deliver(self, report: Report, *, brief: bool = False, per_case: bool = False) -> int:
        """Write the files, print the report or the values of every case, say what was written, and tell a script what it means."""
        from searchmark.reports.render import render
        from searchmark.reports.report import first_sentence

        written_files = write_files(report, self.files, self.time)
        sentence = first_sentence(report)
        if sentence is not None and (per_case or self.json_on_stdout):  # a report for people begins with it
            tell(sentence)
        if per_case:
            _show_cases(report)
        else:
            show(render(report, "json") if self.json_on_stdout else text_for_terminal(report, brief=brief))
        tell_written(report, written_files, charts=self.charts)
        if report.next_step is not None:
            remark(f"next: {report.next_step} shows every case")
        if self.github is not None:
            _tell_github(report, self.github)
        return exit_code(report)

    def skip(self, suite: Suite, reason: str) -> int:
        """Say that nothing was measured since something is missing: a skipped test per case for JUnit, and no other report."""
        from searchmark.reports.ci import skipped_junit

        tell(f"searchmark: skipped: {reason}")
        for file in self.files:
            if file.format == "junit" and file.pattern is None:
                write_text(file.path, skipped_junit(suite, reason))
                remark(f"written: {file.path}")
        return EXIT_OK


def write_files(report: Report, files: list[ReportFile], time: datetime) -> list[tuple[Path, str]]:
    """Write the report as each of the files; where they are, each with its format."""
    from searchmark.reports.render import name_values, without_known_secrets, write_report

    values = name_values(without_known_secrets(report), time)
    targets = [(file.at(values), file.format) for file in files]
    for path, name in targets:
        write_report(report, path, name)
    return targets


def tell_written(report: Report, written_files: list[tuple[Path, str]], *, charts: bool) -> None:
    """Say what was written, and draw the charts if they are wanted."""
    for path, _ in written_files:
        remark(f"written: {path}")
    if charts:
        _draw_charts(report, [path for path, name in written_files if name == "markdown"])


def _draw_charts(report: Report, markdown_files: list[Path]) -> None:
    """Beside reports that are written already: whatever is missing here, they are there."""
    from searchmark.reports.charts import missing_for_charts, write_charts_beside

    why = missing_for_charts()
    if why is not None:
        tell(f"no charts: {why}")
        return
    for file in markdown_files:
        charts = write_charts_beside(report, file)
        names = ", ".join(chart.name for chart in charts)
        remark(f"written: {charts[0].files[0].parent}/: {names}" if charts else "no charts: the report has no values to draw")


def _show_cases(report: Report) -> None:
    from searchmark.reports.csv_file import to_per_case, undefined_values
    from searchmark.reports.render import without_known_secrets

    show("".join(to_per_case(without_known_secrets(report))))
    if undefined := undefined_values(report):
        tell(f"undefined values, which have no line: {undefined}; reports give the reason for each")


def _tell_github(report: Report, step: GithubStep) -> None:
    """The runner reads annotations on stderr as well, where they spoil no JSON."""
    from searchmark.reports.ci import annotations_of, append_summary
    from searchmark.reports.render import without_known_secrets

    append_summary(report, step.summary)
    for annotation in annotations_of(without_known_secrets(report), step.lines.find):
        tell(annotation.command)


# What becomes of an audit: files, and the terminal.

PAIRS = (".csv", ".jsonl")

FEW_GRADES = 5  # that are listed one by one


def check_audit_outputs(outputs: tuple[str, ...], *, pairs: bool = False) -> None:
    """Refused before any work is done; ``pairs`` to judge are files of their own."""
    from searchmark.reports.audit import audit_format

    for output in outputs:
        if _holds_pairs(output) and not pairs:
            raise UsageError(f"{output}: pairs to judge are written with --next, and an audit as .json, .md, .html or .txt")
        if output != STDOUT and not _holds_pairs(output):
            audit_format(output)


def _holds_pairs(output: str) -> bool:
    return Path(output).suffix.lower() in PAIRS


def write_audit(audit: Audit, outputs: tuple[str, ...]) -> None:
    """Write every file that is asked for."""
    from searchmark.reports.audit import audit_format, audit_pieces

    for output in outputs:
        if output != STDOUT:
            pieces = _pairs_text(audit, Path(output)) if _holds_pairs(output) else audit_pieces(audit, audit_format(output))
            write_text(output, pieces)
            remark(f"written: {output}")
            if _holds_pairs(output) and audit.plan is not None:
                _write_pairs(audit.plan, output)


def _write_pairs(plan: JudgingPlan, output: str) -> None:
    if not plan.pairs:
        tell("no unjudged pair changes the comparison, so there is nothing to grade")
        return
    grades = (
        ", ".join(map(str, range(plan.highest_grade + 1))) if plan.highest_grade <= FEW_GRADES else f"0 to {plan.highest_grade}"
    )
    remark(
        f"fill in the column grade ({grades}) and read it back with `searchmark label --gold-set SUITE --import {output} -o FILE`"
    )
    without = sum(pair.document is None for pair in plan.pairs)
    if without:
        tell(f"pairs without a text: {without} of {len(plan.pairs)}; name the documents that were searched with --corpus")


def _pairs_text(audit: Audit, path: Path) -> str:
    """The pairs to judge, as a file that people fill in and ``label --import`` reads back."""
    from searchmark.io.secrets import environment_secrets, scrub
    from searchmark.judgments.review import ReviewRow, rows_text

    rows = []
    for pair in () if audit.plan is None else audit.plan.pairs:
        document = pair.document
        about = ("", "", {}) if document is None else (document.title or "", document.text, document.fields)
        rows.append(ReviewRow(pair.case, pair.query, pair.item, *about))
    secrets = environment_secrets()
    return scrub(rows_text(rows, path, lambda text: scrub(text, secrets)), secrets)


def show_audit(audit: Audit, outputs: tuple[str, ...], *, every_table: bool = False) -> None:
    """Print it: as JSON if that is asked for, else for the terminal, where tables that no finding refers to are only named."""
    from searchmark.reports.audit import audit_json, audit_text, without_secrets
    from searchmark.reports.text import WIDTH

    clean = without_secrets(audit)
    width, colour = width_of_terminal(WIDTH), in_colour(sys.stdout)
    text = audit_json(clean) if STDOUT in outputs else audit_text(clean, every_table=every_table, colour=colour, width=width)
    show(text)
