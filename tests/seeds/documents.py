"""The five documents that this project unifies, block by block: those in a folder that is named, or our own of the same shape."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

VARIABLE = "SEARCHMARK_SEED_DOCUMENTS"
OURS = Path(__file__).parent / "ours"
_FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class SeedDocument:
    """The text of one of them."""

    text: str

    def block(self, kind: str, words: str) -> str:
        """The first fenced block of a kind that contains these words, without the indent it stands in."""
        blocks = [text for name, text in _FENCED.findall(self.text) if name == kind and words in text]
        assert blocks, f"the document has no {kind} block with {words!r}"
        indent = len(blocks[0]) - len(blocks[0].lstrip(" "))
        return "".join(line[indent:] for line in blocks[0].splitlines(keepends=True))

    def section(self, heading: str) -> str:
        """What stands below a heading, up to the next one."""
        return self.text.split(heading, 1)[1].split("\n#", 1)[0].split("\nAppendix", 1)[0]


def seed_document(number: str, source: str) -> SeedDocument:
    """Document ``number`` as it was printed, or ours."""
    if source == "ours":
        return SeedDocument((OURS / f"{number}.md").read_text("utf-8"))
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"{VARIABLE} does not name the folder with the documents; ours are tested")
    return SeedDocument(next(Path(folder).glob(f"{number}_*")).read_text("utf-8"))


def searchmark(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "searchmark", *arguments],
        cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def said(done: subprocess.CompletedProcess[str]) -> str:
    """All that was printed, with its lines joined."""
    return " ".join((done.stdout + " " + done.stderr).split())


def write_documents(path: Path, texts: dict[str, str]) -> None:
    """A corpus of documents, by id."""
    path.write_text("".join(json.dumps({"id": id_, "text": text}) + "\n" for id_, text in texts.items()))
