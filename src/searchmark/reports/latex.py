"""The significance table as LaTeX."""

from __future__ import annotations

import re

from searchmark.errors import UsageError
from searchmark.reports import layout
from searchmark.reports.cells import Cell, RankedMean
from searchmark.reports.quoting import visible
from searchmark.reports.report import Report

UNDEFINED = "--"
_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def latex_text(text: str) -> str:
    """The text with everything that LaTeX would act on made harmless."""
    return re.sub(r"[\\~^&%$#_{}]", lambda found: _SPECIAL.get(found[0], "\\" + found[0]), visible(text))


def to_latex(report: Report) -> str:
    """A table of means; in superscript the runs that each one beats with evidence."""
    if not report.pairs:
        raise UsageError("a LaTeX table shows a comparison, and this report is of one run")
    standing = layout.standing_table(report)
    lines = [
        r"\begin{tabular}{ll" + "r" * (len(standing.columns) - 2) + "}",
        " & ".join(map(latex_text, standing.columns)) + r" \\",
        r"\hline",
        *(" & ".join(map(_cell, row)) + r" \\" for row in standing.rows),
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _cell(cell: Cell) -> str:
    if not isinstance(cell, RankedMean):
        return latex_text(cell.text)
    if cell.value is None:
        return UNDEFINED
    return f"${cell.mean.text}^{{{','.join(cell.beats)}}}$" if cell.beats else f"${cell.mean.text}$"
