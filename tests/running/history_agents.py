"""Agents that a test sends into a sandbox to search a history: one reads documents, one files, and one looks around."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def _score(query: str, text: str) -> float:
    return float(sum(text.count(word) for word in query.split()))


class ReadsDocuments:
    """Follows the changes, so that a wrong one shows in the answers."""

    def initialize(self, corpus: Any) -> None:
        self._texts = {document.id: document.text for document in corpus}

    def update(self, changes: Any) -> bool:
        for path in (*changes.removed, *changes.written):
            self._texts.pop(path, None)
        self._texts |= {document.id: document.text for document in changes.corpus.read(changes.written)}
        return True

    def retrieve(self, query: str, k: int) -> list[str]:
        found = {path: _score(query, text) for path, text in self._texts.items()}
        return sorted(found, key=lambda path: (-found[path], path))[:k]


class ReadsFiles:
    """Hands out absolute paths, as programs that search files do."""

    def initialize(self, corpus: Any) -> None:
        self._folder = Path(corpus.folder)

    def retrieve(self, query: str, k: int) -> list[str]:
        files = [path for path in self._folder.rglob("*") if path.is_file()]
        return [str(path) for path in sorted(files, key=lambda path: (-_score(query, path.read_text(errors="replace")), path))][:k]


class LooksAround(ReadsFiles):
    """Says which files beside its own code it can read, and whether it can write to the folder."""

    def retrieve(self, query: str, k: int) -> list[str]:
        names = [name for name in ("agent.py", "later.py", ".git/HEAD") if self._opens(Path(__file__).parent / name, "r")]
        return names + (["the folder can be written to"] if self._opens(self._folder / "planted", "w") else [])

    def _opens(self, path: Path, mode: str) -> bool:
        try:
            path.open(mode).close()
        except OSError:
            return False
        return True
