"""The same in Python: any function that searches, held against the suite beside this file."""

import json
from pathlib import Path

from searchmark.testing import all_metrics, precision_at_k

CORPUS = Path(__file__).parent.parent / "quickstart" / "corpus.jsonl"


def title_search(query, k):
    """Ranks operations by the words that their titles share with the query."""
    words = set(query.lower().split())
    rows = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    shared = {row["id"]: len(words & set(row["title"].lower().split())) for row in rows}
    found = [name for name in sorted(shared, key=lambda name: (-shared[name], name)) if shared[name]]
    return found[:k]


def test_title_search_is_good_enough(searchmark):
    searchmark.assert_search(title_search, "search.searchmark.yaml", {"RR": 0.5, "Success@5": 0.6})


def test_the_operation_that_does_the_job_comes_first():
    assert precision_at_k(title_search("delete comment", 5), {"comment.delete"}, k=1) == 1.0


def test_the_order_of_a_list():
    found = all_metrics(["a", "c", "b"], ranking=["a", "b", "c"], relevant={"a"}, k=3)
    assert found.ndcg > 0.9
    assert (found.mrr, found.precision_at_k) == (1.0, 1 / 3)
