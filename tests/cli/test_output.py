"""Where reports go: decided, and refused, before any work is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import UsageError
from searchmark.cli.main import main
from searchmark.cli.output import output_files
from searchmark.config.sections import OutputSettings


def test_a_directory_gets_every_configured_format(tmp_path: Path) -> None:
    config = OutputSettings(directory=str(tmp_path), formats=("json", "csv", "text"))
    assert [file.path.name for file in output_files((), config)] == ["report.json", "report.csv", "report.txt"]


def test_summaries_stand_beside_the_reports_that_they_are_of(tmp_path: Path) -> None:
    config = OutputSettings(directory=str(tmp_path), formats=("text", "summary", "csv", "summary-csv"))
    names = ["report.txt", "report.summary.txt", "report.csv", "report.summary.csv"]
    assert [file.path.name for file in output_files((), config)] == names


def test_an_unknown_format_in_the_config_is_refused() -> None:
    with pytest.raises(
        UsageError,
        match="there is no report format 'pdf'; available: comment, csv, html, json, junit, latex, markdown, summary, summary-csv, text",
    ):
        output_files((), OutputSettings(formats=("json", "pdf")))


def test_an_unknown_extension_is_refused_before_the_suite_is_read(tmp_path: Path, capsys) -> None:
    assert main(["evaluate", "--gold-set", "missing.json", "--run", "missing.run", "-o", str(tmp_path / "report.pdf")]) == 4
    assert "the extension must be one of" in capsys.readouterr().err
