"""Files of a benchmark among the documents that are searched: the suite, reports, runs, and folders that no search should see."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.options.experiment_options import OUR_FOLDER
from searchmark.records import Document

FEWEST_QUERIES, FEWEST_WORDS = 5, 3  # queries of so many words that are no accident together in one document
PROBES = 8  # queries that a document is asked for before all are
HELD = 0.5  # share of the queries that make a document a list of them
SHOWN = 3

# Our own files say what they are in their first line.
_OUR_FILE = re.compile(r'\s*\{\s*"schema_version":\s*\d+,\s*"(?:record|kind|name)":|\s*schema_version:\s*\d+\s*$', re.MULTILINE)
_NEVER_SOURCES = frozenset(
    {".git", ".hg", ".svn", OUR_FOLDER, "node_modules", "bower_components", ".venv", "venv", "site-packages", "__pycache__",
     ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".gradle", ".idea", ".next", ".cache", ".terraform"}
)  # fmt: skip
_PERHAPS_OUTPUT = frozenset({"build", "dist", "target", "out", "bin", "obj"})  # if Git ignores them: sources may be called so


class OwnFiles:
    """Tells which documents are the suite, or hold its queries."""

    def __init__(self, subject: Subject) -> None:
        queries = dict.fromkeys(query.strip() for query in subject.suite.table.queries or () if query)
        self._queries = [each for each in queries if len(each.split()) >= FEWEST_WORDS]
        self._probes = self._queries[:: max(len(self._queries) // PROBES, 1)][:PROBES]
        self._suite = _below(subject.suite_file, None if subject.survey is None else subject.survey.folder)

    def reason(self, document: Document) -> str | None:
        """Why a document should not be searched; None for nearly all."""
        if document.id == self._suite:
            return "the suite itself"
        if len(self._queries) >= FEWEST_QUERIES and sum(each in document.text for each in self._probes) * 2 >= len(self._probes):
            held = sum(each in document.text for each in self._queries)
            if held >= max(HELD * len(self._queries), FEWEST_QUERIES):
                return f"holds {held} of {len(self._queries)} queries word for word"
        return "a suite, run or report of this program" if _OUR_FILE.match(document.text[:200]) else None


def _below(file: Path | None, folder: Path | None) -> str | None:
    """The suite's file as the corpus would call it, if it is a file below the folder that is searched."""
    if file is None or folder is None:
        return None
    found = file.resolve()
    return found.relative_to(folder.resolve()).as_posix() if found.is_relative_to(folder.resolve()) and found.is_file() else None


def ignored_folders(subject: Subject) -> Iterator[Finding]:
    """Documents below folders that are never sources, and below build outputs that Git ignores."""
    if subject.survey is None:
        return
    outputs = _PERHAPS_OUTPUT & _ignored_names(subject.survey.folder)
    folders: Counter[str] = Counter()
    for each in subject.survey.ids:
        parents = each.split("/")[:-1]
        folder = next((name for name in parents if name in _NEVER_SOURCES), None)
        if folder is None and parents and parents[0] in outputs:
            folder = parents[0]
        folders.update(() if folder is None else (folder,))
    if folders:
        shown = ", ".join(
            f"{count} in {name!r}" for name, count in sorted(folders.items(), key=lambda each: (-each[1], each[0]))[:SHOWN]
        )
        of = len(subject.survey.ids)
        message = f"{folders.total()} of {counted(of, 'document')} are in folders of tools, packages or build outputs: {shown}"
        yield finding("ignored-folders-among-documents", message)


def _ignored_names(folder: Path | None) -> set[str]:
    """The folders that the file .gitignore of the searched folder names as a whole."""
    try:
        lines = [] if folder is None else (folder / ".gitignore").read_text("utf-8", "replace").splitlines()
    except OSError:
        return set()
    return {line.strip().strip("/") for line in lines}
