"""What people and machines get to read: one report, several renderers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.reports.report import Report, build_comparison, build_report, read_report

__all__ = ["Report", "build_comparison", "build_report", "format_of", "read_report", "render", "write_report"]

EXTENSIONS = {".json": "json", ".md": "markdown", ".markdown": "markdown", ".txt": "text", ".tex": "latex", ".csv": "csv"}
SUFFIXES = {"json": ".json", "csv": ".csv", "markdown": ".md", "text": ".txt", "latex": ".tex"}


def render(report: Report, format: str = "text") -> str:  # noqa: A002  # the word that users know
    """A report as ``text``, ``markdown``, ``json``, ``csv`` or, for a comparison, ``latex``."""
    return _renderer(format)(report)


def _renderer(format: str) -> Callable[[Report], str]:  # noqa: A002  # as above
    if format == "json":
        from searchmark.reports.report import to_json

        return to_json
    if format == "markdown":
        from searchmark.reports.markdown import to_markdown

        return to_markdown
    if format == "csv":
        from searchmark.reports.csv_file import to_csv

        return to_csv
    if format == "latex":
        from searchmark.reports.latex import to_latex

        return to_latex
    if format == "text":
        from searchmark.reports.text import to_text

        return to_text
    raise UsageError(f"there is no report format {format!r}; the formats are csv, json, latex, markdown, text")


def format_of(path: Path) -> str:
    """The format that a file name asks for by its extension."""
    if path.suffix.lower() not in EXTENSIONS:
        raise UsageError(f"{path}: the extension must be one of {', '.join(EXTENSIONS)}")
    return EXTENSIONS[path.suffix.lower()]


def write_report(report: Report, path: Path) -> None:
    from searchmark.files.store import write_text

    write_text(path, render(report, format_of(path)))
