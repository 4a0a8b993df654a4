"""Where reports go: decided, and refused, before any work is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark.cli._output import output_files
from searchmark.cli.main import main
from searchmark.config import OutputConfig
from searchmark.errors import UsageError


def test_a_directory_gets_every_configured_format(tmp_path: Path) -> None:
    config = OutputConfig(directory=str(tmp_path), formats=("json", "csv", "text"))
    assert [file.path.name for file in output_files((), config)] == ["report.json", "report.csv", "report.txt"]


def test_a_format_that_shows_only_comparisons_is_written_of_comparisons_only(tmp_path: Path) -> None:
    config = OutputConfig(directory=str(tmp_path), formats=("json", "latex"))
    assert [file.path.name for file in output_files((), config)] == ["report.json"]
    assert [file.path.name for file in output_files((), config, comparison=True)] == ["report.json", "report.tex"]


def test_an_unknown_format_in_the_config_is_refused() -> None:
    with pytest.raises(
        UsageError, match="there is no report format 'pdf'; available: comment, csv, json, junit, latex, markdown, text"
    ):
        output_files((), OutputConfig(formats=("json", "pdf")))


def test_a_significance_table_of_one_run_is_refused_before_the_suite_is_read(tmp_path: Path, capsys) -> None:
    assert main(["evaluate", "--gold-set", "missing.json", "--run", "missing.run", "-o", str(tmp_path / "table.tex")]) == 4
    assert "this format shows a comparison, and evaluate reports on one run" in capsys.readouterr().err
