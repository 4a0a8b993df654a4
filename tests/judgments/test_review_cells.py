"""What others wrote, in a file for people and back."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from searchmark import FormatError, UsageError
from searchmark.formats.suites.source import Entry
from searchmark.judgments.review import ReviewRow, graded_entries, is_chosen, rows_text, same_text


def cells(row: ReviewRow) -> list[list[str]]:
    """The header and the row as a spreadsheet has them."""
    return list(csv.reader(io.StringIO(rows_text([row], Path("next.csv")), newline="")))


def read_back(folder: Path, row: ReviewRow) -> Entry:
    """The row once it has a grade."""
    header, line = cells(row)
    line[header.index("grade")] = "1"
    with (folder / "next.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, line])
    (entry,), _ = graded_entries(folder / "next.csv", is_chosen)
    return entry


@pytest.mark.parametrize("name", ["=q4", "@d11", "-d10", "+1", " =x", "'quoted", "'=x", "''", "a,b", 'a"b', "two\nlines", "simple"])
def test_an_id_reads_back_and_is_no_formula(name: str, tmp_path: Path) -> None:
    row = ReviewRow(name, "query", name)
    entry = read_back(tmp_path, row)
    assert (entry.text("query_id"), entry.text("item_id")) == (name, name)
    assert not cells(row)[1][0].strip().startswith(("=", "+", "-", "@"))


@pytest.mark.parametrize(
    "query", ['=HYPERLINK("http://x")', "a\u2028b", "esc \x1b[31m", "x\x0cy", "x\x0by", "a\x85b", "a\rb", "a\r\nb"]
)
def test_a_query_is_harmless_and_known_again(query: str, tmp_path: Path) -> None:
    row = ReviewRow("q", query, "d")
    shown = cells(row)[1][1]
    assert shown.replace("\n", "").isprintable()
    assert not shown.startswith("=")
    assert same_text(read_back(tmp_path, row).text("query"), query)


def test_an_id_with_control_characters_is_refused_in_csv() -> None:
    with pytest.raises(UsageError, match="has control characters, which a CSV for people cannot hold"):
        rows_text([ReviewRow("q", "query", "d\x1b[31m4")], Path("next.csv"))


def test_a_query_whose_secret_was_removed_is_known_again() -> None:
    assert same_text("why does (removed) fail", "why does tok-123 fail")
    assert not same_text("why did (removed) fail", "why does tok-123 fail")


def test_a_second_column_of_grades_is_refused(tmp_path: Path) -> None:
    (tmp_path / "next.csv").write_text("query_id,item_id,grade,grade\nq,d,1,0\n")
    with pytest.raises(FormatError, match="line 1: has two columns 'grade'; remove one of them"):
        graded_entries(tmp_path / "next.csv", is_chosen)
