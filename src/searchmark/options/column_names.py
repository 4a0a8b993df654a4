"""What the columns of tables are called for each role, in files of suites and of runs and in frames; the most telling name first.

Names are compared without capitals, blanks, hyphens and underscores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Words = Mapping[str, tuple[str, ...]]

OF_SUITES: Words = {
    "query": ("query", "question", "query_text", "search_query", "search_term", "prompt", "q"),
    "target": (
        "expected_files", "expected_file", "expected_paths", "expected_path", "expected_docs", "expected_doc", "expected_documents",
        "expected_document", "expected_doc_ids", "expected_doc_id", "expected_ids", "expected_id", "expected_sources",
        "expected_source", "expected", "relevant_files", "relevant_file", "relevant_paths", "relevant_docs", "relevant_documents",
        "relevant_doc_ids", "relevant_ids", "relevant", "answer_files", "answer_file", "gold_files", "gold_file", "gold_docs",
        "gold_doc", "gold_ids", "gold", "target_files", "target_file", "targets", "target", "docid", "doc_id", "document_id",
        "product_id", "item_id", "corpus_id", "docno", "files", "file", "paths", "path",
    ),
    "grade": ("rating", "grade", "relevance", "judgement", "judgment", "esci_label", "label", "gain", "rel", "score"),
    "case": ("case_id", "case", "query_id", "question_id", "qid", "_id", "id"),
    "category": ("category",),
}  # fmt: skip
OF_RUNS: Words = {
    "case": ("case_id", "case", "query_id", "qid", "topic_id", "topic", "query_number", "question_id"),
    "query": ("query", "query_text", "question", "search_term", "search_query", "keywords", "keyword", "q"),
    "id": (
        *(
            "doc_id",
            "document_id",
            "docno",
            "corpus_id",
            "hit_id",
            "result_id",
            "item_id",
            "product_id",
            "passage_id",
            "pid",
            "did",
        ),
        *("doc", "document", "hit", "result", "item", "id", "path", "file", "url"),
    ),
    "rank": ("rank", "position", "pos", "doc_position", "place"),
    "score": ("score", "similarity", "sim", "relevance_score", "retrieval_score"),
    "agent": ("agent", "system", "run", "run_id", "run_name", "run_tag", "tag", "engine", "model"),
    "hits": (
        *("hits", "response", "results", "result", "documents", "docs", "ids", "doc_ids", "ranking", "retrieved", "items"),
        *("answer", "answers", "candidates", "matches"),
    ),
}


def squashed(name: str) -> str:
    """``Doc ID``, ``doc_id`` and ``docId`` as ``docid``."""
    return re.sub(r"[\W_]+", "", name).lower()


def _in_frames(words: Words, **others: tuple[str, ...]) -> Words:
    """The same names in a frame, where a row is known to be a judgment or a hit, so that vaguer ones may be taken as well."""
    return {role: (*names, *others.get(role, ())) for role, names in words.items()}


# In a frame `id` is that of a document: who has ids of cases says which they are.
SUITE_FRAMES = _in_frames(
    {**OF_SUITES, "case": tuple(name for name in OF_SUITES["case"] if name not in {"id", "_id"})},
    case=("topic_id", "topic"),
    query=("text",),
    target=("document", "doc", "id"),
)
RUN_FRAMES = _in_frames({role: names for role, names in OF_RUNS.items() if role != "hits"}, id=("target",))
