"""Small programs to ask, each a Python of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from searchmark import RetrievalResult
from searchmark.agents.outside.command import CommandAgent
from searchmark.agents.outside.options import CommandSettings
from searchmark.agents.outside.results import ResultFormat

ECHO = "import sys; print(ascii(sys.argv[1]))"


def python(code: str, *arguments: str) -> tuple[str, ...]:
    """An argv that runs this code and nothing else that Python would do at its start."""
    return (sys.executable, "-ISc", code, *arguments)


def agent(argv: tuple[str, ...], **options: Any) -> CommandAgent:
    results = ResultFormat(**options.pop("results", {}))
    made = CommandAgent(CommandSettings(argv=argv, results=results, **options))
    made.connect({})  # as whoever makes agents does
    return made


def search(argv: tuple[str, ...], query: str = "q", k: int = 10, **options: Any) -> RetrievalResult:
    found: RetrievalResult = agent(argv, **options).retrieve(query, k)
    return found


def script(folder: Path, text: str) -> Path:
    """An executable file."""
    path = folder / "program"
    path.write_text(text)
    path.chmod(0o755)
    return path


STAYING = """
import json, os, sys
print('{"ready": true}', flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    n, query, k = asked["id"], asked["query"], asked["k"]
    EVERY
    print(json.dumps({"id": n, "hits": [query] * min(k, 3)}), flush=True)
"""


def staying(code: str = "pass", **options: Any) -> CommandAgent:
    """A program that stays and answers with the query, and does something for every query before."""
    made = agent(python(STAYING.replace("EVERY", code)), stays=True, **options)
    made.start()
    return made
