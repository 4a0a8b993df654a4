"""A first suite from the history of the project, of a bounded number of cases."""

from __future__ import annotations

import os
from pathlib import Path

from searchmark.config import DatasetConfig
from searchmark.mining.gold_sets import generate_gold_set
from searchmark.mining.mine import MiningFacts, OnProgress

SUITE = "search-quality/gold_set.json"
ENOUGH = 10  # cases: with fewer there would be no interval
OPTIONS = DatasetConfig(max_cases=60, sample="spread")
MINED = ("max_cases", "sample")  # what is not as it is by default


def mine_project(folder: Path, output: Path, on_progress: OnProgress | None) -> MiningFacts:
    """Mine the repository in a folder, which is the working directory: the gold set names it by that, and clones find theirs."""
    named = "." if folder.samefile(Path.cwd()) else str(folder)
    (facts,) = generate_gold_set([named], output, OPTIONS, jobs=os.cpu_count() or 1, on_progress=on_progress)
    return facts
