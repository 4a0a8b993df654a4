"""CSV is read with long fields, and nobody else in the process notices."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from searchmark import FormatError, load_suite
from searchmark.io.rows import csv_rows


def test_a_long_field_is_read_and_the_limit_of_the_process_stays(file) -> None:
    before = csv.field_size_limit()
    suite = load_suite(file("ratings.csv", f"query,docid,rating\n{'x' * (before + 1)},a,1\n"))
    assert len(suite.cases[0].id) == before + 1
    assert csv.field_size_limit() == before


def test_between_two_rows_the_limit_is_that_of_the_process() -> None:
    before = csv.field_size_limit()
    rows = csv_rows("x.csv", ["a,b\n", "1,2\n"])
    assert next(rows) == (1, ["a", "b"])
    assert csv.field_size_limit() == before
    assert list(rows) == [(2, ["1", "2"])]


def test_what_is_no_csv_is_refused_with_its_line() -> None:
    before = csv.field_size_limit()
    with pytest.raises(FormatError, match=r"line 2.*not valid CSV"):
        list(csv_rows(Path("x.csv"), ["a\n", '"b\n']))
    assert csv.field_size_limit() == before
