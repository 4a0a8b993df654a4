"""A folder as a corpus: which files are documents, and which are skipped and why."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from searchmark.config.inputs import FileSettings
from searchmark.errors import UsageError
from searchmark.formats.corpora.source import (
    EXAMPLES_SHOWN,
    GIT_ENTRY,
    SKIPPED_FOLDERS,
    DocumentSource,
    FolderListing,
    SkippedFiles,
    SkipReason,
    path_prefix,
    refuse_unreadable,
)
from searchmark.io.paths import walk
from searchmark.records.document import Document
from searchmark.records.file_kinds import PathFilter, escape_glob

# Folders that tools fill, such as node_modules and virtual environments: searched only if that is asked for.

TOOL_FOLDERS = frozenset({"node_modules", "__pycache__"})

ENVIRONMENT_FILE = "pyvenv.cfg"  # is in every virtual environment of Python

COMMITS_SAMPLED = 10  # commits, the first and the last among them


def is_tool_folder(parent: str, name: str) -> bool:
    return name in TOOL_FOLDERS or Path(parent, name, ENVIRONMENT_FILE).is_file()


def committed_tool_globs(repository: Path, commits: Sequence[str], path_filter: PathFilter) -> Iterator[str]:
    """Globs of the folders of tools that were committed and would be searched; of many commits some are looked at."""
    from searchmark.git.worktree import committed_paths

    step = max(1, -(-len(commits) // COMMITS_SAMPLED))
    paths = {path for commit in {*commits[::step], *commits[-1:]} for path in committed_paths(repository, commit)}
    yield from sorted(
        set(_globs_of_tool_folders(path for path in paths if path_filter(path) or path.endswith(f"/{ENVIRONMENT_FILE}")))
    )


def _globs_of_tool_folders(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        *folders, name = path.split("/")
        yield from (f"**/{folder}/**" for folder in TOOL_FOLDERS.intersection(folders))
        if name == ENVIRONMENT_FILE and folders and TOOL_FOLDERS.isdisjoint(folders):
            yield escape_glob("/".join(folders)) + "/**"


# Files that this program has written, told by how they begin.

_BYTES_READ = 4096


# Whatever their names are, files of ours end like this; what ends otherwise is not looked into.
_OUR_ENDINGS = frozenset({".json", ".jsonl", ".ndjson", ".html", ".htm", ".xml", ".md", ".csv", ".tex", ".txt"})

_OUR_RECORDS = rb"run|journal|report|audit|sweep|history|trends|self-test|response|vector index"


_OUR_BEGINNINGS = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:"
    rb'\{\s*"schema_version":\s*\d+,\s*(?:'
    rb'"record":\s*"(?:' + _OUR_RECORDS + rb')"'  # runs, journals, audits, sweeps
    rb'|"suite":\s*\{\s*"name":'  # reports
    rb'|"name":\s*"(?:[^"\\]|\\.)*",\s*"kind":'  # suites
    rb")"
    rb'|<\?xml [^>]*>\s*<testsuites name="searchmark"'
    rb"|<!doctype html>.{0,1500}Content-Security-Policy.{0,1500}<title>[^<]*: (?:search quality|audit|sweep)</title>"
    rb"|# [^\n]*: search quality\n\n## Summary\n"
    rb"|## [^\n]{0,20}Search quality: "
    rb"|run,test_case_id,status,query,category,retrieved_files,ground_truth_files,"
    rb"|run,segment,value,measure,unit,mean,low,high,"
    rb"|% Needs no package\.[^\n]*\n\\begin\{table\}[^\n]*\n\\centering\n\\caption\{Search quality of "
    rb"|[^\n]+ on [^\n]+\n\d+ cases: \d+ [^\n]*\n\n measure +mean "
    rb")",
    re.DOTALL | re.IGNORECASE,
)


def output_files() -> set[Path]:
    """The files that what we say is written to, as in ``searchmark ... > out.txt``, where the system tells."""
    names = (Path(f"/proc/self/fd/{number}") for number in (1, 2))
    return {name.resolve() for name in names if name.is_file()}


def is_our_file(path: str | PathLike[str]) -> bool:
    """Whether a file begins as the reports, runs, journals and suites do that we write."""
    if os.path.splitext(path)[1].lower() not in _OUR_ENDINGS:  # noqa: PTH122  # of a hundred thousand files, as is the rest
        return False
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            return _OUR_BEGINNINGS.match(os.read(handle, _BYTES_READ)) is not None
        finally:
            os.close(handle)
    except OSError:  # a link, a folder, a named pipe that nobody writes to, or a file that cannot be read
        return False


# Which files below a folder are documents, and what is left out of them and why.
#
# That is found out once, where the folder is named: an agent in another process, or in a sandbox where no Git is seen, is
# told the outcome and searches the same files.

SKIP_REASONS: Mapping[SkipReason, str] = {
    "ours": "of the suite or of this program",
    "ignored": "that Git ignores",
    "tools": "of tools (node_modules, virtual environments, __pycache__)",
    "chosen": "by include, exclude and kinds",
}


def list_folder(folder: Path, choice: FileSettings, never: Iterable[Path] = ()) -> FolderListing:
    """Look through a folder once; what Git ignores is asked of Git, for every work tree that lies in it."""
    search = _FolderWalk(folder.resolve(), choice, {path.resolve() for path in never} | output_files())
    return search.outcome()


def refuse_file_settings(why: str, choice: FileSettings) -> None:
    """Refuse to choose files by name where documents are no files: it would change nothing, and nobody would see that."""
    if choice.narrows:
        options = "--include, --exclude and --kinds, also in the section corpus of a config,"
        raise UsageError(f"{options} choose files of a folder, and {why}; leave them out")


def why_no_folder(path: Path, file: Path) -> str:
    """Why files cannot be chosen of what was given."""
    if path.is_dir():
        return f"{path} holds a collection, read from {'its files' if file == path else file.relative_to(path)}"
    return f"{path} is a file"


class _FolderWalk:
    """One walk, which goes into nothing that is left out."""

    def __init__(self, root: Path, choice: FileSettings, never: set[Path]) -> None:
        self._root = root
        self._choice = choice
        self._never = {str(path) for path in never if path != root and path not in root.parents}
        self._chosen = PathFilter.of(choice)
        self._pruned: dict[str, SkipReason] = {}
        self._counts: dict[SkipReason, int] = {}
        self._examples: dict[SkipReason, list[str]] = {}
        self._ignored: set[str] = set()
        self._problems: list[str] = []
        self._git_is_silent = False

    def outcome(self) -> FolderListing:
        self._ask_git(self._root, "")
        for parent, folders, names in walk(self._root, onerror=lambda error: refuse_unreadable(self._root, error)):
            prefix = path_prefix(self._root, parent)
            if prefix and (GIT_ENTRY in folders or GIT_ENTRY in names):
                self._ask_git(Path(parent), prefix)
            folders[:] = [name for name in sorted(folders) if self._enters(parent, prefix, name)]
            for name in sorted(names):
                self._look_at(parent, prefix, name)
        left_out = tuple(
            SkippedFiles(each, self._counts[each], tuple(self._examples[each])) for each in SKIP_REASONS if each in self._counts
        )
        return FolderListing(self._choice, self._pruned, left_out, self._problem_paths())

    def _problem_paths(self) -> tuple[str, ...]:
        """The first of them, and how many more: a folder may hold any number of damaged work trees."""
        more = len(self._problems) - EXAMPLES_SHOWN
        return (
            *self._problems[:EXAMPLES_SHOWN],
            *([f"git cannot tell what it ignores in {more} more work trees"] if more > 0 else []),
        )

    def _ask_git(self, folder: Path, prefix: str) -> None:
        if not self._choice.ignore or self._git_is_silent:
            return
        from searchmark.git.worktree import ignored_below

        answer = ignored_below(folder)
        self._git_is_silent = answer.silent
        self._ignored.update(prefix + path for path in answer.paths)
        self._problems += [answer.problem] if answer.problem else []

    def _enters(self, parent: str, prefix: str, name: str) -> bool:
        path = f"{prefix}{name}/"
        if name in SKIPPED_FOLDERS or Path(parent, name).is_symlink():
            return False  # as in every folder; a link is counted with the files that hold no text
        reason = self._reason_of_folder(parent, name, path)
        if reason is not None:
            self._leave_out(path, reason)
        return reason is None

    def _reason_of_folder(self, parent: str, name: str, path: str) -> SkipReason | None:
        if str(Path(parent, name)) in self._never:
            return "ours"
        if not self._choice.ignore:
            return None
        if is_tool_folder(parent, name):
            return "tools"
        return "ignored" if path in self._ignored else None

    def _look_at(self, parent: str, prefix: str, name: str) -> None:
        path = prefix + name
        if name == GIT_ENTRY:
            return
        if path in self._ignored:
            self._leave_out(path, "ignored")
        elif not self._chosen(path):
            self._count(path, "chosen")
        else:
            file = os.path.join(parent, name)  # noqa: PTH118  # there may be many
            if file in self._never or is_our_file(file):
                self._leave_out(path, "ours")

    def _leave_out(self, path: str, reason: SkipReason) -> None:
        self._pruned[path] = reason
        self._count(path, reason)

    def _count(self, path: str, reason: SkipReason) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + 1
        examples = self._examples.setdefault(reason, [])
        if len(examples) < EXAMPLES_SHOWN:
            examples.append(path)


# The files of a directory as documents: the id is the path below it, whatever bytes that is made of.

BYTES_SAMPLED = 8192


@dataclass(frozen=True)
class DirectorySource(DocumentSource):
    """The files below a folder, which is named in messages as it was given."""

    path: Path
    files: FolderListing = FolderListing()  # noqa: RUF009  # frozen

    def __reduce__(self) -> tuple[type[DirectorySource], tuple[Path, FolderListing]]:
        return DirectorySource, (self.path.absolute(), self.files)  # another process may have another working directory

    def stream(self) -> Iterator[Document | None]:
        """Text files in path order; None for a binary file, a link or a file that cannot be read."""
        for file, path in self.files.below(self.path):  # links to folders included, which are skipped like links to files
            text = _read_text_file(file)
            yield None if text is None else Document(path, text)

    def names(self) -> Iterator[str]:
        return (path for _, path in self.files.below(self.path))

    def folder(self) -> Path:
        return self.path.resolve()

    @property
    def chosen_files(self) -> FolderListing:
        return self.files


def _read_text_file(path: Path) -> str | None:
    """The text of a file; None if it has none or cannot be read."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return decode_content(content)


def decode_content(content: bytes) -> str | None:
    """Content as text, undecodable bytes replaced; None for anything binary."""
    return None if b"\0" in content[:BYTES_SAMPLED] else content.decode("utf-8", "replace")
