"""Where things are cached that could be made again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Where things are cached that could be made again: ``$SEARCHMARK_CACHE``, or where the platform wants them."""
    from platformdirs import user_cache_path

    named = os.environ.get("SEARCHMARK_CACHE")
    return Path(named) if named else user_cache_path("searchmark", appauthor=False)


def foreign_cache_folder() -> Path:
    """Where agents that are not built in cache what they make with our embedders: apart from what built-in ones rely on."""
    return (cache_folder() / "foreign").absolute()
