"""The agent `fts5`: full text search by SQLite, ranked by its own bm25()."""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, field
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from searchmark.agents.chunks import Passages, lines_description, refuse_lines_of_selection
from searchmark.agents.lexical.analyser import Analyser, AnalyserSelector, AnalyserSettings, Language
from searchmark.agents.protocol import RetrievalAgent, RetrievalResult
from searchmark.config.strict import Number, strict_record
from searchmark.errors import Missing, UsageError
from searchmark.formats.corpora.corpus import DocumentSelection
from searchmark.io.sqlite import IN_MEMORY, PRIVATE_FILE, full_text_problem, open_database
from searchmark.io.text import replace_surrogates

if TYPE_CHECKING:
    import apsw

    from searchmark.formats.corpora.corpus import Changes, Corpus
    from searchmark.records.document import Document


TOKENIZERS = {"unicode61": "unicode61", "porter": "porter unicode61", "trigram": "trigram"}

COLUMNS = ("path", "title", "content")

MAX_QUERY_WORDS = 1000  # FTS5 takes time that grows with the square of their number

LONGEST_WORD = 1000  # characters; nobody looks for more, and trigrams of more take seconds

SHORTEST_SUBSTRING = 3  # trigrams know nothing shorter

LONGEST_QUERY = 100_000


@strict_record
class Fts5Settings:
    """Options of ``fts5``.

    ``tokenizer``: ``unicode61`` splits at whatever is neither letter nor digit, ``porter`` also takes English
    endings off, ``trigram`` finds any part of a word that has three characters; ``auto`` is ``porter`` for English and
    ``unicode61`` for all else. ``language``: that of the texts; ``auto`` decides by the corpus, and takes code for none.
    ``stop_words``: leave function words of the language out of queries. ``operator``: whether a
    document must hold any or all of the words. The weights say what a word in the id of a document, in its title
    and in its text is worth. ``fields``: what of a document is searched, by the names of its fields; all but ``id`` and ``title``
    are text then. ``filter``: only documents with these values, as ``{brand: [adidas, nike]}``.
    ``lines``: hits are passages, with their lines, and a file may be hit several times.
    ``storage``: ``memory``, or a ``file`` without a name that no other process can open.
    """

    tokenizer: Literal["auto", "unicode61", "porter", "trigram"] = "auto"
    language: Language = "auto"
    stop_words: bool = True
    operator: Literal["any", "all"] = "any"
    path_weight: Number = 1.0
    title_weight: Number = 1.0
    content_weight: Number = 1.0
    fields: list[str] | None = None
    filter: dict[str, Any] = field(default_factory=dict)
    lines: bool = False
    storage: Literal["memory", "file"] = "memory"

    def __post_init__(self) -> None:
        refuse_lines_of_selection(self.lines, DocumentSelection.of(self.fields, self.filter))
        weights = (self.path_weight, self.title_weight, self.content_weight)
        if not all(0 <= weight < inf for weight in weights) or not any(weights):
            raise ValueError("weights must be finite and not negative, and one of them must not be 0")


class Fts5Agent(RetrievalAgent):
    """Ranks by SQLite's ``bm25()``, negated so that more is better; equal scores are ordered by id.

    Any text is a query: its words are looked for as they are, and nothing in it is taken for FTS5's query language.
    """

    Config = Fts5Settings

    def __init__(self, config: Fts5Settings | None = None) -> None:
        self._config = config or Fts5Settings()
        self._choice = AnalyserSelector(AnalyserSettings(self._config.language, self._config.stop_words, stemming=False))
        self._selection = DocumentSelection.of(self._config.fields, self._config.filter)
        self._passages = Passages() if self._config.lines else None
        self._analyser = Analyser()
        self._database: apsw.Connection | None = None
        self._ids: dict[int, str] = {}
        self._rows: dict[str, int] = {}
        self._next = 1

    @classmethod
    def missing(cls) -> str | None:
        return full_text_problem()

    def initialize(self, corpus: Corpus) -> None:
        problem = full_text_problem()
        if problem is not None:
            raise Missing(problem)
        corpus = self._selection.corpus(corpus)
        corpus = corpus if self._passages is None else self._passages.corpus(corpus)
        self.close()
        self._analyser = self._choice.of(corpus)
        self._database = open_database(IN_MEMORY if self._config.storage == "memory" else PRIVATE_FILE)
        # The table keeps its content: of one without, SQLite before 3.54 still counts what was deleted, and scores by it.
        tokenizer = TOKENIZERS[self._tokenizer]
        self._database.execute(f"CREATE VIRTUAL TABLE documents USING fts5({', '.join(COLUMNS)}, tokenize='{tokenizer}')")
        with self._database:
            self._insert(self._database, corpus)

    def update(self, changes: Changes) -> bool:
        changes = self._selection.changes(changes)
        changes = changes if self._passages is None else self._passages.changes(changes)
        # Another language may mean another tokenizer, and a table has one for good.
        if self._database is None or self._choice.after(changes) != self._analyser:
            return False
        with self._database:
            self._delete(self._database, (*changes.removed, *changes.written))
            self._insert(self._database, changes.corpus.read(changes.written))
        return True

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        if self._database is None:
            raise UsageError("fts5 was asked before it was initialised")
        expression = match_expression(query, self._tokenizer, self._config.operator, self._analyser)
        if expression is None or k < 1:
            return RetrievalResult([], [])
        weights = (self._config.path_weight, self._config.title_weight, self._config.content_weight)
        rows = self._database.execute(
            "SELECT bm25(documents, ?, ?, ?), rowid FROM documents WHERE documents MATCH ?", (*weights, expression)
        )
        # Sorted here and not in SQL: rows are numbered as the corpus grew, which must not decide between equal scores.
        best = heapq.nsmallest(k, ((score, self._ids[row]) for score, row in rows))
        ids, scores = [name for _, name in best], [-score for score, _ in best]
        return RetrievalResult(ids, scores) if self._passages is None else self._passages.hits(ids, scores)

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = None
        self._ids, self._rows = {}, {}

    def index_bytes(self) -> int | None:
        if self._database is None:
            return None
        return int(self._database.pragma("page_count")) * int(self._database.pragma("page_size"))

    def describe(self) -> Mapping[str, Any]:
        import apsw

        analysis = {key: self._analyser.describe()[key] for key in ("language", "stop_words")}
        choice = {"tokenizer": self._tokenizer, **analysis, "analyser": self._choice.description}
        options = {key: value for key, value in asdict(self._config).items() if key not in ("fields", "filter", "lines")}
        analyser = {**options, **self._selection.describe(), **choice, **lines_description(self._config.lines)}
        return {"ranking": "bm25 of SQLite's FTS5", "sqlite": apsw.sqlite_lib_version(), **analyser}

    @property
    def _tokenizer(self) -> str:
        """FTS5 knows the endings of English and of no other language."""
        if self._config.tokenizer != "auto":
            return self._config.tokenizer
        return "porter" if self._analyser.language in ("english", "porter") else "unicode61"

    def _insert(self, database: apsw.Connection, documents: Iterable[Document]) -> None:
        statement = "INSERT INTO documents(rowid, path, title, content) VALUES (?, ?, ?, ?)"
        database.executemany(statement, map(self._row, documents))

    def _row(self, document: Document) -> tuple[int, str, str, str]:
        number = self._next
        self._next += 1
        self._ids[number] = document.id
        self._rows[document.id] = number
        path = document.id if self._selection.ids else ""
        title = document.title or ""
        if self._passages is not None:  # the lines in the id of a passage are not to be found, and its title may be that id
            path = path and self._passages.source_of(document.id)
            title = "" if title == path else title
        return number, _storable_text(path), _storable_text(title), _storable_text(document.text)

    def _delete(self, database: apsw.Connection, ids: Iterable[str]) -> None:
        numbers = [self._rows.pop(name) for name in ids if name in self._rows]
        database.executemany("DELETE FROM documents WHERE rowid = ?", ((number,) for number in numbers))
        for number in numbers:
            del self._ids[number]


def match_expression(query: str, tokenizer: str, operator: str, analyser: Analyser | None = None) -> str | None:
    """A query in FTS5's language that looks for the words of a text and for nothing else; None if it has no words.

    Stop words of an analyser are left out, unless there is nothing else: documents hold them, so they can be found.
    """
    text = _storable_text(query[:LONGEST_QUERY]).lower()
    trigram = tokenizer == "trigram"
    # A substring may be looked for in one piece where names of files and functions have something between words.
    words = dict.fromkeys(_words(text, "_.-/" if trigram else ""))
    meaningful = (
        word
        for word in words
        if any(unicodedata.category(letter)[0] in "LN" or unicodedata.category(letter) == "Co" for letter in word)
    )
    usable = [word for word in meaningful if (SHORTEST_SUBSTRING if trigram else 1) <= len(word) <= LONGEST_WORD][:MAX_QUERY_WORDS]
    if analyser is not None and not trigram:
        usable = [word for word in usable if not analyser.is_stop_word(word)] or usable
    return (" OR " if operator == "any" else " AND ").join(f'"{word}"' for word in usable) or None


def _words(text: str, within: str = "") -> Iterator[str]:
    """Runs of letters, digits and whatever else may be part of a word."""
    for word in "".join(letter if letter in within or _is_word_character(letter) else " " for letter in text).split():
        yield word.strip(within)


def _is_word_character(character: str) -> bool:
    """What unicode61 takes for part of a word, and marks, which it takes off or leaves in."""
    category = unicodedata.category(character)
    return category[0] in "LNM" or category == "Co"


def _storable_text(text: str) -> str:
    """SQLite holds UTF-8 and ends a text at NUL: both kinds of stranger become blanks or question marks."""
    return replace_surrogates(text.replace("\0", " "))
