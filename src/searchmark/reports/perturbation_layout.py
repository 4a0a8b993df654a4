"""The table of what a change of the query costs, which all renderers share."""

from __future__ import annotations

from searchmark.analysis.perturbations import PerturbationDrop
from searchmark.measures.words import with_words
from searchmark.reports.cells import Cell, Count, Interval, Number, Table, Text, table
from searchmark.reports.measured import leading_measure
from searchmark.reports.report import Report

_COLUMNS = ("kind", "cases", "origins", "originals", "variants", "drop", "95 % interval", "left out")


def perturbation_table(report: Report) -> Table:
    """One row per run and kind, by the leading measure, the largest drop of each run first; no row without variants."""
    leading = leading_measure(report)
    several = len(report.agents) > 1
    drops = [each for each in report.perturbations if each.measure == leading]
    runs = {name: place for place, name in enumerate(report.agents)}
    drops.sort(key=lambda each: (runs.get(each.run, len(runs)), each.drop is None, -(each.drop or 0.0), each.kind))
    rows = ((*((Text(each.run),) if several else ()), *_cells(each)) for each in drops)
    columns = (*(("run",) if several else ()), *_COLUMNS)
    title = f"drop by perturbation, {with_words(leading)}" if leading else None
    return table(columns, rows, title, keys=2 if several else 1, secondary=("left out", "cases"))


def _cells(found: PerturbationDrop) -> tuple[Cell, ...]:
    return (
        Text(found.kind),
        Count(found.cases),
        Count(found.origins),
        Number(found.original_mean),
        Number(found.variant_mean),
        Number(found.drop),
        Interval(found.low, found.high),
        Count(found.left_out),
    )
