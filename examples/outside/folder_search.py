"""A small search over the files of a folder: those that hold a word of the query, the most often first."""

from __future__ import annotations

from pathlib import Path


class FolderSearch:
    """Reads the files once, and counts words in them."""

    def __init__(self, folder: str) -> None:
        files = [path for path in sorted(Path(folder).rglob("*.*")) if path.is_file()]
        self.texts = {path.relative_to(folder).as_posix(): path.read_text("utf-8").lower() for path in files}

    def find(self, query: str, k: int) -> list[tuple[str, int]]:
        words = query.lower().split()
        counts = {path: sum(map(text.count, words)) for path, text in self.texts.items()}
        return sorted(((path, count) for path, count in counts.items() if count), key=lambda hit: (-hit[1], hit[0]))[:k]
