"""What an archive holds, as tests look at it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path


def texts_below(folder: Path) -> Iterator[str]:
    """The text of every file in a folder and below it, unpacked."""
    for path in (path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        yield (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
