"""A report as CSV: one row per run and case, to continue in a spreadsheet or a data frame."""

from __future__ import annotations

import csv
import io

from searchmark.reports import layout
from searchmark.reports.cells import Cell, Text
from searchmark.reports.quoting import csv_text
from searchmark.reports.report import Report


def to_csv(report: Report) -> str:
    """Values in full; an undefined one is an empty cell."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    cases = layout.case_table(report)
    writer.writerow(cases.columns)
    writer.writerows(map(_value, row) for row in cases.rows)
    return buffer.getvalue()


def _value(cell: Cell) -> object:
    return csv_text(cell.content) if isinstance(cell, Text) else cell.value
