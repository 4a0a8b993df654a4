"""Real input that the mutations start from, where no example has it."""

from __future__ import annotations

from typing import Any

from tests.hostile.mutation import Mutate, in_bytes, in_json, in_lines, in_yaml

# For every suite format the examples of it, the first of which lends the name.
SUITES: dict[str, tuple[Mutate, tuple[str, ...]]] = {
    "native": (in_yaml, ("quickstart/suite.yaml",)),
    "qrels": (in_bytes, ("quickstart/qrels.txt",)),
    "gold-set": (in_json, ("formats/gold_set.json",)),
    "case-list": (in_json, ("formats/case_list.json",)),
    "labels": (in_lines, ("formats/labels/labels.jsonl",)),
    "symbols": (in_json, ("formats/symbols.json",)),
    "fixtures": (in_json, ("formats/fixtures.json",)),
    "beir": (in_bytes, ("formats/beir/qrels/test.tsv",)),
    "quepid": (in_bytes, ("formats/quepid.csv",)),
    "rre": (in_json, ("formats/rre.json",)),
    "rank-eval": (in_json, ("formats/rank_eval.json",)),
    "swe-bench": (in_lines, ("formats/swe_bench.jsonl",)),
}
MINED = {
    "test_cases": [
        {
            "id": "a",
            "query": "b",
            "ground_truth_files": ["x.py"],
            "repository": "r",
            "commit_hash": "0" * 40,
            "parent_commit": "1" * 40,
        }
    ],
    "metadata": {"repositories": {"r": {"path": "."}}, "options": {"kinds": ["code"], "exclude_patterns": ["x/*"]}},
}
LINES = {"quickstart/suite.yaml": 34, "quickstart/qrels.txt": 12}
CONFIG = """
[evaluation]
num_runs = 2
timeout_seconds = 10.5
depth = 50
[compare]
min_effect = 0.02
baseline = "bm25"
[[compare.decisions]]
candidate = "semantic"
baseline = "bm25"
measure = "nDCG@10"
rules = [{decision = "use it", above = 0.1}, {decision = "stay", below = 0.05}]
[dataset]
since = 2024-03-15
kinds = ["code", "test"]
exclude_patterns = ["docs/**"]
rewriter = {model = "m", temperature = 0.5}
[[agents]]
name = "words"
source = "bm25"
config = {k1 = 1.5, name_weight = 2}
[[agents]]
name = "both"
source = "hybrid"
config = {arms = ["bm25", {name = "semantic", config = {embedder = {name = "hashing"}}}]}
[output]
directory = "out"
formats = ["json", "markdown"]
"""
MEASURES = ("nDCG@10", "P(rel=2)@5", "mine=0.5*P@5 + 0.5*RR", "DCG(gain=exp)@3", "R@100", "ERR@20", "Success@1", "F1@5", "Abstain")
GLOBS = ("src/**/*.py", "*.{ts,tsx}", "a/[!b-d]*/?", "**/test_*.py", "{a,b{c,d}}/**")
SOURCES = (
    "bm25",
    "mine=bm25",
    "package.module:Class",
    "words=file.py:Class.inner",
    "http://localhost:80/x?y=z",
    "command:ls -l",
    "mcp:x",
)
REPLIES: tuple[dict[str, Any], ...] = (
    {
        "ns": 5,
        "ids": ["a", "b"],
        "scores": [1.5, None],
        "lines": [[1, 2], None],
        "dropped": {"merged_chunks": 1},
        "cost": 0.5,
        "waited_ms": 2,
    },
    {"ns": 5, "how": "updated", "index_bytes": None, "memory": 10**9, "description": {"model": "m"}},
    {"ns": 5, "same": True},
)
TOPICS = (
    b"<top>\n<num> Number: users-search\n<title> Topic: find people\n<desc> d\n</top>\n<top><num>2<title>b</top>",
    b'<topics><topic number="1" id="x"><query>a &amp; b</query></topic><!-- c --><topic number="2"><title><![CDATA[c]]></title></topic></topics>',
)
