"""The significance table as LaTeX."""

from __future__ import annotations

import re

from searchmark.errors import UsageError
from searchmark.reports import layout
from searchmark.reports.quoting import visible
from searchmark.reports.report import Report

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def latex_text(text: str) -> str:
    """The text with everything that LaTeX would act on made harmless."""
    return re.sub(r"[\\~^&%$#_{}]", lambda found: _SPECIAL.get(found[0], "\\" + found[0]), visible(text))


def to_latex(report: Report) -> str:
    """A table of means; in superscript the runs that each one beats with evidence."""
    if not report.pairs:
        raise UsageError("a LaTeX table shows a comparison, and this report is of one run")
    measures = list(next(iter(report.agents.values())).measures)
    lines = [
        r"\begin{tabular}{ll" + "r" * len(measures) + "}",
        " & ".join(["", "run", *map(latex_text, measures)]) + r" \\",
        r"\hline",
    ]
    for letter, name, values in layout.standing_rows(report):
        cells = [
            f"${mean}^{{{beaten.replace(' ', ',')}}}$" if beaten else f"${mean}$".replace(f"${layout.UNDEFINED}$", "--")
            for mean, beaten in values
        ]
        lines.append(" & ".join([letter, latex_text(name), *cells]) + r" \\")
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"
