"""Which format a file has, by what it holds."""

from __future__ import annotations

from typing import Any

from searchmark.errors import FormatError
from searchmark.suites.diversity_qrels import names_aspects
from searchmark.suites.source import LISTS, Source, snake

# Format and where its reader is.
FORMATS = {
    "native": ("native", "read_native"),
    "qrels": ("trec", "read_qrels"),
    "diversity-qrels": ("trec", "read_diversity_qrels"),
    "gold-set": ("gold_set", "read_gold_set"),
    "case-list": ("case_list", "read_case_list"),
    "labels": ("labels", "read_labels"),
    "symbols": ("symbols", "read_symbols"),
    "fixtures": ("fixtures", "read_fixtures"),
    "beir": ("beir", "read_beir"),
    "quepid": ("quepid", "read_quepid"),
    "rre": ("rre", "read_rre"),
    "rank-eval": ("rank_eval", "read_rank_eval"),
    "swe-bench": ("swe_bench", "read_swe_bench"),
}

# A format and the fields by which its entries are known, the most telling first.
_BY_ENTRY = (
    ("gold-set", {"ground_truth_files"}),
    ("fixtures", {"documents", "query"}),
    ("case-list", {"expected_ids"}),
    ("symbols", {"expected_symbols"}),
    ("symbols", {"expected_patterns"}),
    ("swe-bench", {"instance_id", "patch"}),
    ("labels", {"query_id", "item_id", "grade"}),
    ("rank-eval", {"ratings"}),
    ("rre", {"relevant_documents"}),
)


def detect(source: Source) -> str:
    """The name of the format; native where a structured file looks like nothing else, qrels for other text."""
    if source.path.is_dir():
        return _detect_folder(source)
    if source.extension == ".csv":
        return "quepid"
    if source.structured:
        return _detect_data(source)
    first = source.head.split("\n", 1)[0].strip().split("\t")
    if first == ["query-id", "corpus-id", "score"]:
        return "beir"
    return "diversity-qrels" if names_aspects(source.head) else "qrels"


def _detect_folder(source: Source) -> str:
    if (source.path / "labels.jsonl").is_file():  # it may have a queries.jsonl of its own
        return "labels"
    if (source.path / "queries.jsonl").is_file():
        return "beir"
    raise FormatError(source.path, None, "is a folder without queries.jsonl (BEIR) or labels.jsonl (graded labels)")


def _detect_data(source: Source) -> str:
    data = source.data
    if isinstance(data, dict):
        data = {snake(str(key)): value for key, value in data.items()}
        if "schema_version" in data:
            return "native"
        if "topics" in data or "query_groups" in data:
            return "rre"
        entries = next((data[name] for name in LISTS if isinstance(data.get(name), list)), None)
    else:
        entries = data
    fields = _fields_of_first(entries)
    if "schema_version" in fields:
        return "native"
    if "metrics" in fields and "documents" not in fields:
        raise FormatError(source.path, None, "is a baseline (load_baseline_metrics reads it), not a suite")
    found = next((name for name, known in _BY_ENTRY if known <= fields), "native")
    if source.is_script and found == "native":
        raise FormatError(source.path, None, "its cases have no expectedIds, and no other format was recognised")
    return found


def _fields_of_first(entries: Any) -> set[str]:
    first = entries[0] if isinstance(entries, list) and entries else None
    return {snake(str(key)) for key in first} if isinstance(first, dict) else set()
