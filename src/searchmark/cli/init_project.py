"""What a project has that a first config could be about: documents, suites, searches."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from searchmark.errors import SearchmarkError, UsageError
from searchmark.formats.corpora.corpus import load_corpus
from searchmark.formats.corpora.folder import is_tool_folder
from searchmark.formats.corpora.source import SKIPPED_FOLDERS
from searchmark.formats.suites import detect_suite_format, load_suite
from searchmark.formats.suites.source import Source
from searchmark.git.process import ask_git
from searchmark.io.data import parse_toml, parse_yaml
from searchmark.io.paths import walk
from searchmark.io.store import open_file, open_stored
from searchmark.records.suite import Suite

# Searches that files of a project name: they are suggested to the user, and never queried or started from here.

LARGEST_DESCRIPTION = 1 << 20  # bytes of a description that is read


_DESCRIPTIONS = (
    "openapi.yaml",
    "openapi.yml",
    "openapi.json",
    "swagger.yaml",
    "swagger.json",
    "docs/openapi.yaml",
    "api/openapi.yaml",
)

_SERVERS = (".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json")

_WORD = "search"


@dataclass(frozen=True)
class NamedSearch:
    """Where it is named, what it is, and what to say to have it measured."""

    file: str
    what: str
    agent: str


def named_searches(folder: Path) -> Iterator[NamedSearch]:
    """Every one, in the order of the files."""
    for file in _DESCRIPTIONS:
        yield from _of_openapi(file, _data(folder / file))
    for file in _SERVERS:
        yield from _of_servers(file, _data(folder / file))
    yield from _of_package(_data(folder / "package.json"))
    yield from _of_pyproject(_data(folder / "pyproject.toml"))


def _data(path: Path) -> Mapping[str, Any]:
    """The plain data of a file; nothing for one that is missing, large, broken, or not a mapping."""
    try:
        with open_stored(path) as file:
            content = file.read(LARGEST_DESCRIPTION + 1)
        if len(content) > LARGEST_DESCRIPTION:
            return {}
        text = content.decode()
        if path.suffix == ".toml":
            return parse_toml(path, text)
        data = json.loads(text) if path.suffix == ".json" else parse_yaml(path, text)
    except (SearchmarkError, OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, Mapping) else {}


def _of_openapi(file: str, data: Mapping[str, Any]) -> Iterator[NamedSearch]:
    """Paths with the word search, at the first server of the description."""
    servers = data.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else {}
    server = first.get("url") if isinstance(first, Mapping) else None
    base = server if isinstance(server, str) and server.startswith(("http://", "https://")) else "http://localhost:8080"
    for path, operations in _mapping(data.get("paths")).items():
        if _WORD in str(path).lower() and "get" in _mapping(operations):
            yield NamedSearch(file, f"GET {path}", f"{base.rstrip('/')}{path}?{_query_parameter(operations['get'])}={{query}}")


def _query_parameter(operation: Any) -> str:
    parameters = _mapping(operation).get("parameters")
    names = [each.get("name") for each in parameters or () if isinstance(each, Mapping) and each.get("in") == "query"]
    return next((str(name) for name in names if name in ("q", "query", "search", "text", "term")), str(names[0]) if names else "q")


def _of_servers(file: str, data: Mapping[str, Any]) -> Iterator[NamedSearch]:
    for name, server in _mapping(data.get("mcpServers") or data.get("servers")).items():
        entry = _mapping(server)
        command, arguments, url = entry.get("command"), entry.get("args"), entry.get("url")
        words = [command, *(arguments if isinstance(arguments, list) else [])] if isinstance(command, str) else [url]
        if all(isinstance(word, str) for word in words):
            yield NamedSearch(file, f"MCP server {name}", "mcp:" + " ".join(map(str, words)))


def _of_package(data: Mapping[str, Any]) -> Iterator[NamedSearch]:
    for name in _mapping(data.get("scripts")):
        if _WORD in str(name).lower():
            yield NamedSearch("package.json", f"script {name}", f"command:npm run --silent {name} -- {{query}}")


def _of_pyproject(data: Mapping[str, Any]) -> Iterator[NamedSearch]:
    for name in _mapping(_mapping(data.get("project")).get("scripts")):
        if _WORD in str(name).lower() and name != "searchmark":
            yield NamedSearch("pyproject.toml", f"command {name}", f"command:{name} {{query}}")


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


# Suites, judgments and saved runs that a project has already: recognised by the names of files, then by their content.

LARGEST_SUITE = 1 << 26  # bytes of a file that is read to see whether it is a suite

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
    return _is_file_named(file, _TOPICS_NAME, _TOPICS_ENDINGS)


@dataclass(frozen=True)
class SuitesFound:
    """The suites among some files, the judgments that lack the texts of their queries, and the saved runs."""

    suites: tuple[FoundSuite, ...]
    unasked: tuple[str, ...]
    runs: tuple[str, ...]


def suites_among(folder: Path, files: Sequence[str]) -> SuitesFound:
    """What there is to ask and to compare; a folder in the layout of BEIR is one suite."""
    beir = [each for each in _beir_folders(files) if (suite := _read(folder, each)) is not None and suite.cases]
    suites = [suite for each in beir if (suite := _read(folder, each, corpus=each)) is not None]
    judgment_files: list[str] = []
    single = [file for file in files if _is_file_named(file, _SUITE_NAME, _SUITE_ENDINGS) and not _is_below(file, beir)]
    for file in single[:MOST_READ]:
        suite = _read(
            folder, file, _single_file_beside(file, files, _TOPICS_NAME, _TOPICS_ENDINGS), _corpus_beside(folder, file, files)
        )
        if suite is not None and suite.cases:
            suites.append(suite)
        elif suite is not None and suite.is_of_the_project:
            judgment_files.append(file)
    runs = tuple(file for file in files if _PACKED.sub("", file.lower()).endswith(_RUN_ENDINGS) and _is_run(folder / file))
    in_order = sorted(suites, key=lambda each: (not each.is_of_the_project, each.format == "diversity-qrels"))
    return SuitesFound(tuple(in_order), tuple(judgment_files), runs)


def _is_run(path: Path) -> bool:
    """Whether the first line has the six columns of a TREC run."""
    try:
        with open_file(path) as file:
            return len(file.readline(LARGEST_LINE).split()) == _RUN_COLUMNS
    except (SearchmarkError, OSError):
        return False


def _beir_folders(files: Sequence[str]) -> list[str]:
    paths = set(files)
    folders = {str(PurePosixPath(file).parent) for file in files if PurePosixPath(file).name == "queries.jsonl"}
    complete = [
        each
        for each in folders
        if _in(each, "corpus.jsonl") in paths and any(_is_below(file, [_in(each, "qrels")]) for file in files)
    ]
    return sorted(complete)


def _in(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def _is_below(file: str, folders: Iterable[str]) -> bool:
    return any(file.startswith(f"{each}/") or each == "." for each in folders)


def _is_file_named(file: str, pattern: re.Pattern[str], endings: tuple[str, ...]) -> bool:
    name = _PACKED.sub("", PurePosixPath(file).name.lower())
    return name.endswith(endings) and pattern.search(name) is not None


def _single_file_beside(file: str, files: Sequence[str], pattern: re.Pattern[str], endings: tuple[str, ...]) -> str | None:
    """The only file of such a name in the same folder; where there are several, nothing tells which."""
    parent = PurePosixPath(file).parent
    matches = [
        each for each in files if each != file and PurePosixPath(each).parent == parent and _is_file_named(each, pattern, endings)
    ]
    return matches[0] if len(matches) == 1 else None


def _corpus_beside(folder: Path, file: str, files: Sequence[str]) -> str | None:
    """Documents in the same folder: a file that is called so, or a folder."""
    corpus_file = _single_file_beside(file, files, _CORPUS_NAME, _CORPUS_ENDINGS)
    if corpus_file is not None:
        return corpus_file
    parent = str(PurePosixPath(file).parent)
    folders = [_in(parent, name) for name in ("corpus", "documents", "docs")]
    return next((each for each in folders if (folder / each).is_dir()), None)


def _read(folder: Path, file: str, topics: str | None = None, corpus: str | None = None) -> FoundSuite | None:
    """The suite that a file holds; None if it holds something else, or lacks the queries."""
    path = folder / file
    try:
        if path.is_file() and path.stat().st_size > LARGEST_SUITE:
            return None
        kind = detect_suite_format(Source(path))
        queries = topics if kind in ("qrels", "diversity-qrels", "labels") else None
        suite = load_suite(path, format=kind, topics=None if queries is None else folder / queries)
    except (SearchmarkError, OSError):  # it is only called like a suite
        return None
    has_queries = any(case.query for case in suite.cases)
    return FoundSuite(file, kind, queries, None if has_own_documents(suite) else corpus, len(suite) if has_queries else 0)


def has_own_documents(suite: Suite) -> bool:
    """Whether cases say themselves what is searched: documents that they bring along, or the commit that they were mined from."""
    fields = suite.table.fields
    return suite.table.documents is not None or (fields is not None and all("parent_commit" in each for each in fields))


# What a project has that a first config could be about. Nothing of it is run, and of large files only the beginning is read.

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
    """What was found: paths are from the top of the project on, which is the folder that everything is written to."""

    folder: Path
    is_repository: bool
    commits: int
    documents: tuple[DocumentFolder, ...] = ()
    catalogues: tuple[str, ...] = ()
    suites: tuple[FoundSuite, ...] = ()
    searches: tuple[NamedSearch, ...] = ()
    runs: tuple[str, ...] = ()
    looked_at_all: bool = True
    unasked: tuple[str, ...] = ()  # judgments without the texts of their queries
    unread_tables: tuple[str, ...] = ()  # named only where nothing else could be searched

    @property
    def own_suite(self) -> FoundSuite | None:
        """The first suite that is about the search of this project."""
        return next((each for each in self.suites if each.is_of_the_project), None)


def inspect_project(folder: Path) -> Project:
    """What the project in this folder has."""
    _refuse_inside_of_repository(folder)
    is_repository = os.path.lexists(folder / ".git")
    files, complete = _files(folder)
    suites_found = suites_among(folder, files)
    used_paths = {path for suite in suites_found.suites for path in (suite.path, suite.topics, suite.corpus)} | {
        *suites_found.runs,
        *suites_found.unasked,
    }
    documents = tuple(_document_folders(files))
    tables = tuple(_tables(folder, (file for file in files if file not in used_paths)))
    catalogues = tuple(table for table, has_documents in tables if has_documents)
    return Project(
        folder,
        is_repository,
        _commits(folder) if is_repository else 0,
        documents,
        catalogues,
        suites_found.suites,
        tuple(named_searches(folder)),
        suites_found.runs,
        complete,
        suites_found.unasked,
        () if documents or catalogues or suites_found.suites else tuple(table for table, _ in tables),
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
    answer = ask_git(folder, "rev-list", "--count", "--no-merges", "HEAD")
    return int(answer.stdout) if answer.returncode == 0 and answer.stdout.strip().isdigit() else 0


def _files(folder: Path) -> tuple[list[str], bool]:
    """The files of the project, hidden ones and those of tools left out, and whether that is all of them."""
    paths: list[str] = []
    for number, (parent, folders, names) in enumerate(walk(folder), 1):
        if number > MOST_FOLDERS or len(paths) > MOST_FILES:
            return paths[:MOST_FILES], False
        folders[:] = sorted(name for name in folders if _is_searched(parent, name))
        paths += (os.path.relpath(os.path.join(parent, name), folder) for name in sorted(names) if not name.startswith("."))  # noqa: PTH118  # many
    return paths, True


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
