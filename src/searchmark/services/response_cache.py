"""Answers on disk, so that nothing is paid for twice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError
from searchmark.files.schemas import Schema
from searchmark.files.store import atomic_write, parse_json, read_text

RESPONSE_SCHEMA = Schema("response", 1)


@dataclass(frozen=True)
class ResponseCache:
    """A folder with one file per answer, readable by its owner alone. Files may be deleted at any time."""

    folder: Path

    def get(self, question: Any) -> Any:
        """What was answered before; None if nothing was, or if the file is damaged."""
        file = self._file(question)
        if not file.is_file():
            return None
        try:
            return RESPONSE_SCHEMA.upgraded(file, parse_json(file, read_text(file)))["answer"]
        except (FormatError, KeyError, TypeError, AttributeError):
            return None

    def put(self, question: Any, answer: Any) -> None:
        with atomic_write(self._file(question), private=True) as file:
            file.write(json.dumps({**RESPONSE_SCHEMA.header(), "answer": answer}).encode() + b"\n")

    def _file(self, question: Any) -> Path:
        digest = sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
        return self.folder / digest[:2] / f"{digest}.json"
