"""The page on indexes names every option of those that it describes with its default."""

from __future__ import annotations

from dataclasses import fields

import pytest

from searchmark.agents.vectors import INDEXES
from tests.generated_docs import ROOT

PAGE = (ROOT / "docs" / "indexes.md").read_text()


@pytest.mark.parametrize("name", ["hnsw", "sqlite_vec"])
def test_every_option_is_described_with_its_default(name: str) -> None:
    section = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
    options = fields(INDEXES.parts[name].settings_class())
    assert [option.name for option in options if f"\n| `{option.name}` | {option.default} | " not in section] == []
    assert section.count("\n| `") == len(options)
