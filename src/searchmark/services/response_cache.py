"""Answers on disk, so that nothing is paid for twice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError
from searchmark.files.store import SCHEMA_VERSION, atomic_write, check_version, parse_json, read_text


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
            data = parse_json(file, read_text(file))
            check_version(file, data)
            return data["answer"]
        except (FormatError, KeyError, TypeError, AttributeError):
            return None

    def put(self, question: Any, answer: Any) -> None:
        with atomic_write(self._file(question), mode=0o600) as file:
            file.write(json.dumps({"schema_version": SCHEMA_VERSION, "answer": answer}).encode() + b"\n")

    def _file(self, question: Any) -> Path:
        digest = sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
        return self.folder / digest[:2] / f"{digest}.json"
