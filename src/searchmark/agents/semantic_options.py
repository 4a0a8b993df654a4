"""The options of ``semantic``."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from searchmark.agents.chunk_choice import read_chunking
from searchmark.agents.passages import check_lines
from searchmark.agents.pooling import PoolingKind
from searchmark.corpora.selection import DocumentSelection
from searchmark.embedders import EmbedderChoice
from searchmark.indexes import IndexChoice
from searchmark.indexes.index import Distance
from searchmark.options.sensitive import FilePath, ModelName
from searchmark.options.strict import strict_record
from searchmark.options.user_paths import expand_paths

LEAST = {"mean_of": 1, "top_k": 1, "query_cache": 0, "recall_k": 1, "candidates": 1}


@strict_record
class SemanticConfig:
    """Options of ``semantic``.

    ``embedder``: its name, or its name and options (``{name: openai, model: text-embedding-3-small}``).
    ``model``: a sentence-transformers model by its name on the hub or its folder, instead of ``embedder``.
    ``index``: its name, or its name and options (``{name: hnsw, m: 16}``). ``distance``: what is near, by ``cosine``, inner
    product (``ip``) or Euclidean distance (``l2``), whether or not the embedder normalises. ``candidates``: how many chunks an
    approximate index is asked for at first (as many as hits are wanted). ``recall_k``: how many of the nearest chunks its recall
    is measured on; ``measure_recall``: keep the vectors in an exact index too, to know which are the nearest.
    ``pooling``: the score of a file is that of its best chunk (``max``), the ``mean`` of its best ``mean_of``, or
    the ``sum`` of all. ``chunking``: ``lines`` (at blank lines before unindented text; ``{lines: 60}``: at any blank line in what
    is longer), ``{tokens: 300-800, overlap: 15%}`` or ``whole``. ``fields``: what of a document is searched, by the
    names of its fields (``[title, bullets]``); ``filter``: only documents with these values (``{brand: [adidas, nike]}``).
    ``paths``: the id of a document is one of its chunks, unless ``fields`` leaves it out.
    ``lines``: hits say where the best chunk is. ``top_k``: never more hits than that. ``query_cache``: how many queries are
    remembered until ``reset``; ``cache_answers``: with their answers.
    ``index_file``: a file that keeps the vectors of the corpus; it is made unless it exists.
    """

    embedder: EmbedderChoice = "wordllama"
    model: ModelName | None = None
    index: IndexChoice = "exact"
    distance: Distance = "cosine"
    candidates: int | None = None
    recall_k: int = 10
    measure_recall: bool = True
    pooling: PoolingKind = "max"
    mean_of: int = 3
    chunking: str | dict[str, Any] = "lines"
    fields: list[str] | None = None
    filter: dict[str, Any] = field(default_factory=dict)
    paths: bool = True
    lines: bool = False
    top_k: int | None = None
    query_cache: int = 1000
    cache_answers: bool = False
    index_file: FilePath | None = None

    def __post_init__(self) -> None:
        expand_paths(self, "index_file")
        for name, low in LEAST.items():
            value = getattr(self, name)
            if value is not None and value < low:
                raise ValueError(f"{name} is {value}, and must be {low} or more")
        read_chunking(self.chunking)
        check_lines(self.lines, DocumentSelection.of(self.fields, self.filter))
        if self.model is not None and self.embedder != "wordllama":
            raise ValueError("model and embedder exclude each other; set one of them")
