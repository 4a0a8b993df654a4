"""What a project has that a first config could be about. Nothing of it is run, and of large files only the beginning is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from searchmark.corpora.corpus import load_corpus
from searchmark.corpora.folder_files import SKIPPED_FOLDERS
from searchmark.corpora.tool_folders import is_tool_folder
from searchmark.errors import SearchmarkError, UsageError
from searchmark.files.walking import walk
from searchmark.history.git import ask
from searchmark.starting.searches import NamedSearch, named_searches
from searchmark.starting.suites_found import FoundSuite, is_example, is_topics, suites_among

RESULTS = "searchmark-results"
MOST_FOLDERS, MOST_FILES = 2_000, 20_000  # looked at: a project may be a whole disk
FEWEST_DOCUMENTS = 3
MOST_TABLES = 50  # that are opened
LARGEST_CATALOGUE = 1 << 28  # bytes; a larger one is searched if it is named
_DOCUMENTS = (".md", ".mdx", ".rst", ".txt", ".adoc", ".html", ".htm")
_DOCUMENT_FOLDERS = ("docs", "doc", "documentation", "content", "articles", "wiki", "help", "kb", "pages", "posts", "manual")
_CATALOGUES = (".csv", ".tsv", ".jsonl")


@dataclass(frozen=True)
class DocumentFolder:
    """A folder of documents, from the top of the project, and how many there are."""

    path: str
    count: int


@dataclass(frozen=True)
class Project:
    """What was found: paths are from the top of the project on, which is the folder that everything is written to.

    ``unasked`` are judgments without the texts of their queries; ``unread_tables`` are told where nothing else could be searched.
    """

    folder: Path
    is_repository: bool
    commits: int
    documents: tuple[DocumentFolder, ...] = ()
    catalogues: tuple[str, ...] = ()
    suites: tuple[FoundSuite, ...] = ()
    searches: tuple[NamedSearch, ...] = ()
    runs: tuple[str, ...] = ()
    looked_at_all: bool = True
    unasked: tuple[str, ...] = ()
    unread_tables: tuple[str, ...] = ()

    @property
    def own_suite(self) -> FoundSuite | None:
        """The first suite that is about the search of this project."""
        return next((each for each in self.suites if each.is_of_the_project), None)


def look_at(folder: Path) -> Project:
    """What the project in this folder has."""
    _refuse_inside_of_repository(folder)
    is_repository = os.path.lexists(folder / ".git")
    files, complete = _files(folder)
    known = suites_among(folder, files)
    taken = {path for suite in known.suites for path in (suite.path, suite.topics, suite.corpus)} | {*known.runs, *known.unasked}
    documents = tuple(_document_folders(files))
    tables = tuple(_tables(folder, (file for file in files if file not in taken)))
    catalogues = tuple(table for table, has_documents in tables if has_documents)
    return Project(
        folder,
        is_repository,
        _commits(folder) if is_repository else 0,
        documents,
        catalogues,
        known.suites,
        tuple(named_searches(folder)),
        known.runs,
        complete,
        known.unasked,
        () if documents or catalogues or known.suites else tuple(table for table, _ in tables),
    )


def _refuse_inside_of_repository(folder: Path) -> None:
    """A workflow belongs to the top of a repository, and so does a config that is found everywhere in it."""
    top = next((parent for parent in folder.parents if os.path.lexists(parent / ".git")), None)
    if top is not None and not os.path.lexists(folder / ".git"):
        raise UsageError(
            f"{folder} is inside of the repository {top}, where CI looks for workflows: go to {top}, and name this folder with "
            f"--corpus {folder.relative_to(top)}"
        )


def _commits(folder: Path) -> int:
    """How many commits lead to HEAD, merges left out; 0 for a repository without any."""
    answer = ask(folder, "rev-list", "--count", "--no-merges", "HEAD")
    return int(answer.stdout) if answer.returncode == 0 and answer.stdout.strip().isdigit() else 0


def _files(folder: Path) -> tuple[list[str], bool]:
    """The files of the project, hidden ones and those of tools left out, and whether that is all of them."""
    found: list[str] = []
    for seen, (parent, folders, names) in enumerate(walk(folder), 1):
        if seen > MOST_FOLDERS or len(found) > MOST_FILES:
            return found[:MOST_FILES], False
        folders[:] = sorted(name for name in folders if _is_searched(parent, name))
        found += (os.path.relpath(os.path.join(parent, name), folder) for name in sorted(names) if not name.startswith("."))  # noqa: PTH118  # many
    return found, True


def _is_searched(parent: str, name: str) -> bool:
    return not name.startswith(".") and name not in {*SKIPPED_FOLDERS, RESULTS} and not is_tool_folder(parent, name)


def _document_folders(files: Iterable[str]) -> Iterator[DocumentFolder]:
    """Folders at the top whose name says that they hold documents, those with most of them first."""
    counts: dict[str, int] = {}
    for file in files:
        top, slash, _ = file.partition("/")
        if slash and top.lower() in _DOCUMENT_FOLDERS and file.lower().endswith(_DOCUMENTS):
            counts[top] = counts.get(top, 0) + 1
    enough = [DocumentFolder(top, count) for top, count in counts.items() if count >= FEWEST_DOCUMENTS]
    yield from sorted(enough, key=lambda each: (-each.count, each.path))


def _tables(folder: Path, files: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Tables, and whether their first rows are documents: each has an id, and a title or a text. Examples and queries are none."""
    tables = (file for file in files if file.lower().endswith(_CATALOGUES) and not is_example(file) and not is_topics(file))
    for file in islice(tables, MOST_TABLES):
        path = folder / file
        if path.is_file() and path.stat().st_size <= LARGEST_CATALOGUE:
            yield file, _is_catalogue(path)


def _is_catalogue(path: Path) -> bool:
    try:
        first = list(islice(load_corpus(path), FEWEST_DOCUMENTS))
    except (SearchmarkError, OSError):  # some other table, which is none of our business
        return False
    return len(first) == FEWEST_DOCUMENTS and all(document.text or document.title for document in first)
