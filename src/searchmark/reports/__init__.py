"""What people and machines get to read: one report, several renderers.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import cast

from searchmark.errors import UsageError
from searchmark.options.user_paths import user_path
from searchmark.reports.building import build_comparison, build_report
from searchmark.reports.json_file import read_report
from searchmark.reports.report import Report

__all__ = [
    "RENDERERS", "Renderer", "Report", "build_comparison", "build_report", "format_of", "pieces_of", "read_report",
    "render", "renderer_of", "suffixes", "without_known_secrets", "write_report",
]  # fmt: skip


@dataclass(frozen=True)
class Renderer:
    """Where a format is written, and the extensions that ask for it, the usual one first.

    The module is loaded when it is needed. Its function gives a text, or the pieces of one that may be too large to hold.
    """

    module: str
    function: str
    suffixes: tuple[str, ...]

    def load(self) -> Callable[[Report], str | Iterable[str]]:
        module = import_module(f"searchmark.reports.{self.module}")
        return cast("Callable[[Report], str | Iterable[str]]", getattr(module, self.function))


PAGE = "html"
RENDERERS = {
    "json": Renderer("json_file", "to_json", (".json",)),
    "markdown": Renderer("markdown", "to_markdown", (".md", ".markdown")),
    "comment": Renderer("comment", "to_comment", (".comment.md",)),
    "junit": Renderer("junit", "to_junit", (".xml",)),
    PAGE: Renderer("page", "to_html", (".html", ".htm")),
    "text": Renderer("text", "to_text", (".txt",)),
    "summary": Renderer("summary", "to_summary", (".summary.txt",)),
    "csv": Renderer("csv_file", "to_csv", (".csv",)),
    "summary-csv": Renderer("csv_file", "to_summary_csv", (".summary.csv",)),
    "latex": Renderer("latex", "to_latex", (".tex",)),
}


def renderer_of(format: str) -> Renderer:  # noqa: A002  # the word that users know
    if format not in RENDERERS:
        raise UsageError(f"there is no report format {format!r}; available: {', '.join(sorted(RENDERERS))}")
    return RENDERERS[format]


def render(report: Report, format: str = "text") -> str:  # noqa: A002  # the word that users know
    """A report in one of the formats that ``RENDERERS`` names."""
    return "".join(pieces_of(report, format))


def suffixes() -> list[str]:
    """The extensions that a report may have."""
    return [suffix for each in RENDERERS.values() for suffix in each.suffixes]


def format_of(path: Path) -> str:
    """The format that a file name asks for by its extension, the longest that fits."""
    asked = [(len(suffix), name) for name, each in RENDERERS.items() for suffix in each.suffixes if _ends(path, suffix)]
    if asked:
        return max(asked)[1]
    raise UsageError(f"{path}: the extension must be one of {', '.join(suffixes())}")


def _ends(path: Path, suffix: str) -> bool:
    """Whether a name has an extension; a dot at its beginning begins none."""
    return path.name[1:].lower().endswith(suffix)


def write_report(report: Report, path: str | PathLike[str], format: str | None = None) -> None:  # noqa: A002  # as above
    """Write a report, in the format that the extension names unless one is named here."""
    from searchmark.files.store import write_text

    path = user_path(path)
    write_text(path, pieces_of(report, format or format_of(path)))


def without_known_secrets(report: Report) -> Report:
    """The report with no secret of the environment in any of its texts."""
    from searchmark.reports.scrubbing import without_known_secrets

    return without_known_secrets(report)


def pieces_of(report: Report, format: str) -> Iterator[str]:  # noqa: A002  # as above
    """The text, piece by piece, without secrets of the environment."""
    made = renderer_of(format).load()(without_known_secrets(report))
    pieces = [made] if isinstance(made, str) else made
    return iter(pieces) if format == PAGE else _checked(report, pieces)


def _checked(report: Report, pieces: Iterable[str]) -> Iterator[str]:
    """A second look at what is written. A page goes without: browsers run its script only as it is, to the letter."""
    from searchmark.reports.scrubbing import known_secrets
    from searchmark.services.redaction import scrubbed

    secrets = known_secrets(report)
    return (scrubbed(piece, secrets) for piece in pieces)
