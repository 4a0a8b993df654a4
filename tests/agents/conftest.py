"""Fixtures for agents."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def cache(own_cache: Path) -> Path:
    return own_cache
