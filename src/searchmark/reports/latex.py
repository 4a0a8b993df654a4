"""A report as a LaTeX table with caption and label."""

from __future__ import annotations

import re
from collections.abc import Iterable

from searchmark.records.sentences import plain_count
from searchmark.reports.cells import Cell, Table, table
from searchmark.reports.comparison_tables import standing_table
from searchmark.reports.quoting import LONGEST_SENTENCE, visible
from searchmark.reports.report import Report
from searchmark.reports.run_tables import MEANS, measure_table, token_lines

UNDEFINED = "--"

LONGEST = 80

_WORDS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "`": r"\textasciigrave{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    # Behind the end of a row these two would be its options, and two hyphens would become a dash.
    "[": "{[}", "*": "{*}", "-": "-{}",
}  # fmt: skip


def latex_text(text: str, longest: int = LONGEST) -> str:
    """The text with everything that LaTeX would act on made harmless."""
    return re.sub(r"[\\~^`<>|\[*&%$#_{}]|-(?=-)", lambda match: _WORDS.get(match[0], "\\" + match[0]), visible(text, longest))


def to_latex(report: Report) -> str:
    """A table that needs no package; letters beyond Latin need an engine that knows them."""
    table = standing_table(report) if report.pairs else _single(report)
    lines = [
        "% Needs no package. Text beyond Latin letters needs XeLaTeX or LuaLaTeX.",
        r"\begin{table}[ht]",
        r"\centering",
        rf"\caption{{{_caption(report)}}}",
        rf"\label{{{_label(report.suite.name)}}}",
        rf"\begin{{tabular}}{{{_alignment(table)}}}",
        _row(map(latex_text, table.columns)),
        r"\hline",
        *(_row(map(_cell, row)) for row in table.rows),
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _single(report: Report) -> Table:
    """The means of the run, or of each of the runs if they were not compared."""
    parts = [measure_table(agent.measures).select(*MEANS) for agent in report.agents.values()]
    if len(parts) == 1:
        return parts[0]
    rows = [(name, *row) for name, part in zip(report.agents, parts, strict=True) for row in part.rows]
    return table(("run", *MEANS), rows)


def _caption(report: Report) -> str:
    name, cases = latex_text(report.suite.name), plain_count(report.suite.cases, "case")
    if report.pairs:
        beats = "A superscript names the runs that a mean beats with evidence (95\\,\\% interval, randomisation test, Holm)."
        return f"Search quality on {name}, {cases}: means. {beats}{_tokens(report)}"
    runs = f" of {latex_text(next(iter(report.agents)))}" if len(report.agents) == 1 else ""
    return f"Search quality{runs} on {name}, {cases}: means and their 95\\,\\% intervals.{_tokens(report)}"


def _tokens(report: Report) -> str:
    """What answers took in tokens, run by run, with who has counted them."""
    sentences = [f"{name}, {sentence}" for name, agent in report.agents.items() for sentence in token_lines(agent.usage)]
    return "".join(f" {latex_text(sentence, LONGEST_SENTENCE)}." for sentence in sentences)


def _label(name: str) -> str:
    """A label of small letters, digits and hyphens: all others mean something to LaTeX or to a package."""
    return f"tab:{re.sub(r'[^a-z0-9]+', '-', name.lower())[:LONGEST].strip('-') or 'searchmark'}"


def _alignment(table: Table) -> str:
    return "".join("l" if column[0].breaks else "r" for column in zip(*table.rows, strict=True)) or "l" * len(table.columns)


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    if cell.value is None:
        return UNDEFINED
    if cell.raised:
        return f"${cell.text.partition(' ')[0]}^{{{','.join(cell.raised)}}}$"
    return latex_text(cell.text)
