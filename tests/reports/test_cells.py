"""Cells: rounded for readers, with a unit, and exact for sorting."""

from __future__ import annotations

import pytest

from searchmark.reports import cells, comparison_tables, run_tables
from searchmark.reports.cells import Cell, Table
from searchmark.reports.comparison_tables import failed_table, target_table
from tests.reports.samples import comparison_of, report_of


@pytest.mark.parametrize(
    ("cell", "text", "value"),
    [
        (cells.number(0.12345), "0.1235", 0.12345),
        (cells.number(0.1, signed=True), "+0.1000", 0.1),
        (cells.number(None), "–", None),
        (cells.count(1200), "1200", 1200),
        (cells.interval(0.1, 0.25), "0.1000 to 0.2500", 0.1),
        (cells.interval(-0.1, 0.25, signed=True), "-0.1000 to +0.2500", -0.1),
        (cells.interval(None, None), "–", None),
        (cells.p_value(0.0), "< 0.0001", 0.0),
        (cells.p_value(0.00009), "< 0.0001", 0.00009),
        (cells.p_value(0.0001), "0.0001", 0.0001),
        (cells.p_value(1.0), "1.0000", 1.0),
        (cells.milliseconds(0.01234), "0.0123 ms", 0.01234),
        (cells.milliseconds(12345.6), "12346 ms", 12345.6),
        (cells.seconds(0.5), "0.5 s", 0.5),
        (cells.seconds(4321.0), "4321 s", 4321.0),
        (cells.seconds(0.0021), "0.0021 s", 0.0021),
        (cells.seconds(2.69e-05), "0.0269 ms", 2.69e-05),
        (cells.seconds(5e-07), "0.5 µs", 5e-07),
        (cells.seconds(0.0), "0 s", 0.0),
        (cells.size(512), "0.512 KB", 512),
        (cells.size(1_500_000), "1.5 MB", 1_500_000),
        (cells.size(25_276_518_400), "25.3 GB", 25_276_518_400),
        (cells.segment_mean(1.0, cells.interval(0.7225, 1.0, digits=2), None), "1.0000 (0.72 to 1.00)", 1.0),
        (cells.segment_mean(0.5, cells.interval(0.25, 0.625), 7), "0.5000 (0.2500 to 0.6250) (of 7)", 0.5),
        (cells.segment_mean(0.5, cells.interval(None, None), 7), "0.5000 (of 7)", 0.5),
        (cells.segment_mean(None, cells.interval(None, None), None), "–", None),
        (cells.ranked_mean(0.5, ("a", "c")), "0.5000 a c", 0.5),
        (cells.wins_ties_losses(5, 3, 2), "5/3/2", 3),
        (cells.median_and_tail(1.5, 20.0), "1.5 / 20 ms", 1.5),
        (cells.median_and_tail(None, None), "–", None),
        (cells.verdict("IMPROVED"), "IMPROVED", "IMPROVED"),
        (cells.text("a b"), "a b", "a b"),
    ],
)
def test_a_cell_shows_its_text_and_sorts_by_its_value(cell: Cell, text: str, value: object) -> None:
    assert (cell.text, cell.value) == (text, value)


def every_table() -> list[Table]:
    one, several = report_of(), comparison_of()
    (agent,), (pair,) = one.agents.values(), several.pairs
    gated = [target_table(report_of(minimum=0.4)), failed_table(one, "agent")]
    tables = [run_tables.measure_table(agent.measures), *run_tables.segment_tables(agent), run_tables.worst_table(agent), *gated]
    watched = [run_tables.latency_table(each) for each in several.agents.values()]
    side_by_side = [comparison_tables.standing_table(several), comparison_tables.speed_table(several)]
    compared = [*side_by_side, comparison_tables.verdict_table(several), comparison_tables.pair_table(pair)]
    return [*tables, *watched, *compared]


@pytest.mark.parametrize("table", every_table(), ids=lambda table: table.columns[0] or "standing")
def test_every_column_of_a_table_can_be_sorted(table: Table) -> None:
    """The values of a column are all text or all numbers, as far as they are defined."""
    assert table.rows
    assert all(len(row) == len(table.columns) for row in table.rows)
    for column in zip(*table.rows, strict=True):
        assert len({isinstance(cell.value, str) for cell in column if cell.value is not None}) <= 1
        assert len({cell.breaks for cell in column}) == 1
