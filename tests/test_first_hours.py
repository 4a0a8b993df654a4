"""The first hours of seven people, each a script that they could have typed, on data of their kind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
FIRST_HOURS = EXAMPLES / "first-hour"
# What each of them must have been told, in this order.
TOLD = {
    "shop": ["running shoes", "nDCG@10", "RR", "P@1", "something warm", "B201", "hybrid"],
    "rag": [
        "untrusted: none of the 17 relevant targets is in the corpus: 'docs/INSTALL.md' (the corpus has 'INSTALL.md')",
        "semantic",
        "Retriever passed all checks",
        "KeyError: '429' (why do I get 429)",
        "retriever.py",
    ],
    "code": ["30 cases", "keyword", "random"],
    "newcomer": [
        "git version",
        "api-operations",
        "the gate of this suite is for hybrid search: code 1",
        "hybrid",
        "IMPROVED",
        "nDCG",
    ],
    "relevance": [
        "gate failed: Expected Precision@5 (P@5) >= 0.85",
        "the build fails with code 1",
        "Failed queries",
        "searchmark-baseline.jsonl is here",
        "worse than the baseline: code 1",
        "Review changes before committing",
    ],
    "vectors": ["hnsw m=4 ef_search=10", "recall@10", "semantic: nDCG(gain=exp)@10", "the gate fails with code 1"],
    "research": ["NumRelRet", "sparse", "dense", "alpha_nDCG@10", "corpus.jsonl", "401 Q0 FH-"],
}


def run_script(role: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """The script in a copy of the examples, so that it can leave nothing in the source tree."""
    shutil.copytree(FIRST_HOURS / role, tmp_path / "examples" / "first-hour" / role)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    return subprocess.run(
        ["sh", f"examples/first-hour/{role}/first-hour.sh"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_there_is_one_for_each_role() -> None:
    assert {folder.name for folder in FIRST_HOURS.iterdir() if folder.is_dir()} == set(TOLD)


# One that is typed in full by default; each of them starts some twenty processes.
@pytest.mark.parametrize("role", ["code", *(pytest.param(role, marks=pytest.mark.slow) for role in sorted({*TOLD} - {"code"}))])
def test_a_first_hour_goes_as_it_is_written(role: str, tmp_path: Path) -> None:
    done = run_script(role, tmp_path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    said, position = done.stdout + done.stderr, 0
    for words in TOLD[role]:
        found = done.stdout.find(words, position)
        assert found >= 0 or words in said, f"{words!r} was not said"
        position = max(position, found)
