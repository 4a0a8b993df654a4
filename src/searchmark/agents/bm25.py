"""The ``bm25`` agent: the ranking that every other one should be held against.

Files are searched by path and content, documents by title and text. `searchmark.agents.lexical` has the rest: `postings` the
formula, `tokens` what a token is, `analyser` what becomes of it, and `choice` which analyser a corpus gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import inf
from typing import Any

from searchmark.agents.agent import RetrievalAgent, RetrievalResult
from searchmark.agents.lexical.analyser import AnalyserOptions
from searchmark.agents.lexical.collection import Collection, Weighting
from searchmark.agents.passages import Passages, check_lines, describe_lines
from searchmark.corpora.corpus import Changes, Corpus
from searchmark.corpora.selection import DocumentSelection
from searchmark.options.strict import strict_record


@strict_record
class Bm25Config(AnalyserOptions):
    """The options of ``bm25``, beside those of its analyser.

    ``language``, ``stop_words``, ``stemming``, ``identifiers``: see `AnalyserOptions`.
    ``k1``: how soon further occurrences of a term stop counting; 0 asks only whether a term is there.
    ``b``: how much long documents are held back, from 0 (not at all) to 1 (in proportion to their length).
    ``name_weight``: how many times an occurrence in the path or title counts; 0 leaves that field out.
    ``content_weight``: the same for the content.
    ``fields``: what of a document is searched, by the names of its fields; ``title`` counts as its name, all others as content.
    ``filter``: only documents with these values, as ``{brand: [adidas, nike]}``.
    ``lines``: hits are passages, with their lines, and a file may be hit several times.
    ``cache``: cache what was counted on disk for the next run. The default is to do so where a corpus names the
    contents of its documents, as Git does, because then they need not even be read.
    """

    k1: float = 1.2
    b: float = 0.75
    name_weight: float = 1.0
    content_weight: float = 1.0
    fields: list[str] | None = None
    filter: dict[str, Any] = field(default_factory=dict)
    lines: bool = False
    cache: bool | None = None

    def __post_init__(self) -> None:
        check_lines(self.lines, DocumentSelection.of(self.fields, self.filter))
        if not 0 <= self.k1 < inf or not 0 <= self.b <= 1:
            raise ValueError("k1 must not be negative, and b must lie between 0 and 1")
        weights = (self.name_weight, self.content_weight)
        if not all(0 <= weight < inf for weight in weights) or not any(weights):
            raise ValueError("weights must not be negative, and one of them must not be 0")


class Bm25Agent(RetrievalAgent):
    """BM25 over what an analyser makes of identifiers and words; follows a corpus at the price of what has changed."""

    Config = Bm25Config

    def __init__(self, config: Bm25Config | None = None) -> None:
        self._config = config or Bm25Config()
        options = self._config
        weighting = Weighting(options.k1, options.b, options.name_weight, options.content_weight)
        self._selection = DocumentSelection.of(options.fields, options.filter)
        self._passages = Passages() if options.lines else None
        self.collection = Collection(options, weighting, cache=options.cache)

    @property
    def chunks_tokenised(self) -> int:
        """How many chunks were ever taken apart, each distinct one once; those of a corpus that is read only once are not kept."""
        return self.collection.chunks_tokenised

    def initialize(self, corpus: Corpus) -> None:
        seen = self._selection.corpus(corpus)
        self.collection.initialize(seen if self._passages is None else self._passages.corpus(seen))

    def update(self, changes: Changes) -> bool:
        seen = self._selection.changes(changes)
        self.collection.update(seen if self._passages is None else self._passages.changes(seen))
        return True

    def close(self) -> None:
        self.collection.close()

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        found = self.collection.rank(query, k)
        ids, scores = [document for document, _ in found], [score for _, score in found]
        return RetrievalResult(ids, scores) if self._passages is None else self._passages.hits(ids, scores)

    def index_bytes(self) -> int:
        return self.collection.nbytes

    def describe(self) -> Mapping[str, Any]:
        options = self._config
        weights = {"name_weight": options.name_weight, "content_weight": options.content_weight}
        described = {**self.collection.describe(), **self._selection.describe(), **describe_lines(options.lines)}
        return {"ranking": "bm25", **described, "k1": options.k1, "b": options.b, **weights}
