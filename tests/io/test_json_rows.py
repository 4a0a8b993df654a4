"""Rows of JSON are laid out as the standard library does it."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.io.data import row_text, write_rows

TEXT = st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3) | st.tuples(inner),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(TEXT, VALUES, max_size=4), max_size=4), st.dictionaries(TEXT, VALUES, max_size=4))
def test_a_file_is_what_the_standard_library_would_write(rows: list[dict[str, object]], metadata: dict[str, object]) -> None:
    file = BytesIO()
    write_rows(file, "test_cases", map(row_text, rows), metadata)
    assert file.getvalue().decode() == json.dumps({"test_cases": rows, "metadata": metadata}, indent=2) + "\n"


@pytest.mark.parametrize("row", [{"a": {2024: "x", None: [1]}}, {"a": {True: {}}}], ids=str)
def test_keys_that_are_no_text_become_text(row: dict[str, object]) -> None:
    assert json.loads(row_text(row)) == json.loads(json.dumps(row))
