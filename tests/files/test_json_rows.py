"""Rows of JSON are laid out as the standard library does it."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.files.json_rows import row_text, write_rows

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
)


@given(st.lists(st.dictionaries(st.text(), VALUES)), st.dictionaries(st.text(), VALUES))
def test_a_file_is_what_the_standard_library_would_write(rows: list[dict[str, object]], metadata: dict[str, object]) -> None:
    file = BytesIO()
    write_rows(file, "test_cases", map(row_text, rows), metadata)
    assert file.getvalue().decode() == json.dumps({"test_cases": rows, "metadata": metadata}, indent=2) + "\n"


@pytest.mark.parametrize("row", [{"a": {2024: "x", None: [1]}}, {"a": {True: {}}}], ids=str)
def test_keys_that_are_no_text_become_text(row: dict[str, object]) -> None:
    assert json.loads(row_text(row)) == json.loads(json.dumps(row))
