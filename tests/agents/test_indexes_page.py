"""The page on indexes names every index, and every option of those that it describes with its default."""

from __future__ import annotations

from dataclasses import fields

import pytest

from searchmark.indexes import INDEXES, index_options_class
from tests.generated_docs import ROOT

PAGE = (ROOT / "docs" / "indexes.md").read_text()


def test_every_index_is_in_the_table() -> None:
    assert [name for name in INDEXES if f"\n| `{name}` | " not in PAGE] == []


@pytest.mark.parametrize("name", ["hnsw", "sqlite_vec"])
def test_every_option_is_described_with_its_default(name: str) -> None:
    section = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
    options = fields(index_options_class(name))
    assert [option.name for option in options if f"\n| `{option.name}` | {option.default} | " not in section] == []
    assert section.count("\n| `") == len(options)
