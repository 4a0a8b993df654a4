"""Suites, judgments and saved runs that a project has already: told by what files are called, and then by what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from searchmark.errors import SearchmarkError
from searchmark.files.store import open_file
from searchmark.records import Suite
from searchmark.suites import load_suite
from searchmark.suites.detect import detect
from searchmark.suites.source import Source

LARGEST = 1 << 26  # bytes of a file that is read to see whether it is a suite
MOST_READ = 20
LARGEST_LINE = 1 << 12
_SUITE_NAME = re.compile(
    r"(?:^|[-_.])(suites?|gold|gold[-_]?set|goldset|qrels?|judge?ments?|ratings?|labels|cases|benchmark|fixtures)(?:[-_.]|$)"
)
_TOPICS_NAME = re.compile(r"(?:^|[-_.])(topics?|queries|query)(?:[-_.]|$)")
_CORPUS_NAME = re.compile(r"(?:^|[-_.])(corpus|documents?|docs|collection|catalogu?e)(?:[-_.]|$)")
_SUITE_ENDINGS = (".yaml", ".yml", ".json", ".jsonl", ".csv", ".tsv", ".txt", ".qrels", ".qrel")
_TOPICS_ENDINGS = (".trec", ".tsv", ".txt", ".jsonl", ".json", ".csv", ".xml", ".topics")
_CORPUS_ENDINGS = (".jsonl", ".csv", ".tsv", ".json", ".parquet", ".sgml", ".trec", ".txt")
_RUN_ENDINGS = (".run", ".trec")
_RUN_COLUMNS = 6
_PACKED = re.compile(r"\.(gz|zst|bz2|xz)$")
_EXAMPLES = frozenset(
    {"examples", "example", "samples", "sample", "demo", "demos", "fixtures", "testdata", "test_data", "third_party", "vendor"}
)
_TESTS = frozenset({"tests", "test", "spec"})
_ENOUGH = 10  # cases of a suite among tests: a smaller one tests a program


@dataclass(frozen=True)
class FoundSuite:
    """A suite, the file with its queries if it needs one, and the documents beside it if there are any."""

    path: str
    format: str
    topics: str | None = None
    corpus: str | None = None
    cases: int = 0

    @property
    def is_of_the_project(self) -> bool:
        """Whether it is about the search of this project, and not an example for others or a part of a test."""
        folders = set(self.path.lower().split("/")[:-1])
        return not is_example(self.path) and (folders.isdisjoint(_TESTS) or self.cases >= _ENOUGH)


def is_example(file: str) -> bool:
    """Whether a file lies among examples."""
    return not _EXAMPLES.isdisjoint(file.lower().split("/")[:-1])


def is_topics(file: str) -> bool:
    """Whether a file is called as those that hold queries are."""
    return _is_named(file, _TOPICS_NAME, _TOPICS_ENDINGS)


@dataclass(frozen=True)
class SuitesFound:
    """The suites among some files, the judgments that lack the texts of their queries, and the saved runs."""

    suites: tuple[FoundSuite, ...]
    unasked: tuple[str, ...]
    runs: tuple[str, ...]


def suites_among(folder: Path, files: Sequence[str]) -> SuitesFound:
    """What there is to ask and to compare; a folder in the layout of BEIR is one suite."""
    beir = [each for each in _beir_folders(files) if (found := _read(folder, each)) is not None and found.cases]
    suites = [found for each in beir if (found := _read(folder, each, corpus=each)) is not None]
    unasked: list[str] = []
    single = [file for file in files if _is_named(file, _SUITE_NAME, _SUITE_ENDINGS) and not _is_below(file, beir)]
    for file in single[:MOST_READ]:
        found = _read(folder, file, _beside(file, files, _TOPICS_NAME, _TOPICS_ENDINGS), _corpus_beside(folder, file, files))
        if found is not None and found.cases:
            suites.append(found)
        elif found is not None and found.is_of_the_project:
            unasked.append(file)
    runs = tuple(file for file in files if _PACKED.sub("", file.lower()).endswith(_RUN_ENDINGS) and _is_run(folder / file))
    in_order = sorted(suites, key=lambda each: (not each.is_of_the_project, each.format == "diversity-qrels"))
    return SuitesFound(tuple(in_order), tuple(unasked), runs)


def _is_run(path: Path) -> bool:
    """Whether the first line has the six columns of a TREC run."""
    try:
        with open_file(path) as file:
            return len(file.readline(LARGEST_LINE).split()) == _RUN_COLUMNS
    except (SearchmarkError, OSError):
        return False


def _beir_folders(files: Sequence[str]) -> list[str]:
    known = set(files)
    folders = {str(PurePosixPath(file).parent) for file in files if PurePosixPath(file).name == "queries.jsonl"}
    held = [
        each
        for each in folders
        if _in(each, "corpus.jsonl") in known and any(_is_below(file, [_in(each, "qrels")]) for file in files)
    ]
    return sorted(held)


def _in(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def _is_below(file: str, folders: Iterable[str]) -> bool:
    return any(file.startswith(f"{each}/") or each == "." for each in folders)


def _is_named(file: str, pattern: re.Pattern[str], endings: tuple[str, ...]) -> bool:
    name = _PACKED.sub("", PurePosixPath(file).name.lower())
    return name.endswith(endings) and pattern.search(name) is not None


def _beside(file: str, files: Sequence[str], pattern: re.Pattern[str], endings: tuple[str, ...]) -> str | None:
    """The only file of such a name in the same folder; where there are several, nothing tells which."""
    parent = PurePosixPath(file).parent
    found = [each for each in files if each != file and PurePosixPath(each).parent == parent and _is_named(each, pattern, endings)]
    return found[0] if len(found) == 1 else None


def _corpus_beside(folder: Path, file: str, files: Sequence[str]) -> str | None:
    """Documents in the same folder: a file that is called so, or a folder."""
    named = _beside(file, files, _CORPUS_NAME, _CORPUS_ENDINGS)
    if named is not None:
        return named
    parent = str(PurePosixPath(file).parent)
    folders = [_in(parent, name) for name in ("corpus", "documents", "docs")]
    return next((each for each in folders if (folder / each).is_dir()), None)


def _read(folder: Path, file: str, topics: str | None = None, corpus: str | None = None) -> FoundSuite | None:
    """The suite that a file holds; None if it holds something else, or lacks the queries."""
    path = folder / file
    try:
        if path.is_file() and path.stat().st_size > LARGEST:
            return None
        kind = detect(Source(path))
        queries = topics if kind in ("qrels", "diversity-qrels", "labels") else None
        suite = load_suite(path, format=kind, topics=None if queries is None else folder / queries)
    except (SearchmarkError, OSError):  # it is only called like a suite
        return None
    asked = any(case.query for case in suite.cases)
    return FoundSuite(file, kind, queries, None if brings_its_own(suite) else corpus, len(suite) if asked else 0)


def brings_its_own(suite: Suite) -> bool:
    """Whether cases say themselves what is searched: documents that they bring along, or the commit that they were mined from."""
    fields = suite.table.fields
    return suite.table.documents is not None or (fields is not None and all("parent_commit" in each for each in fields))
