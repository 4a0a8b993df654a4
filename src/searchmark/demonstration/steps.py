"""The steps of the demo: what each shows, and the command that a user would type for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

AGENTS = ("keyword", "bm25", "fts5", "semantic", "hybrid")
BROKEN = "searchmark.demonstration.broken:WorstFirst"
MOST_CASES = "100"  # of a repository of the user's, whose history may be long
WRITTEN = ("gold_set.json", "runs", "journal", "comparison.html", "symbols.html", "audit.md", "broken.html")
_PASSED, _GATE_FAILED = 0, 1


@dataclass(frozen=True)
class DemoStep:
    """One command. ``code`` is the exit code that it ends with where all is well; other codes end the demo."""

    title: str
    arguments: tuple[str, ...]
    code: int = _PASSED


def demo_steps(folder: Path, repository: str, *, own: bool) -> Iterator[DemoStep]:
    """All steps, which write into a folder. ``repository``: PATH or NAME=PATH; ``own``: whether it is one of the user's."""
    gold, runs = str(folder / "gold_set.json"), folder / "runs"
    searched = ("--gold-set", gold, "--repo", repository, "--num-runs", "1", "--journal", str(folder / "journal"), "--no-archive")
    shortest = ("--no-config", "-q")
    yield DemoStep(
        "Mine questions from a Git history: the message of a commit asks, the files that it changed are the answer.",
        ("generate", "--repo", repository, "-o", gold, "--no-config", *(("--max-cases", MOST_CASES) if own else ())),
    )
    yield DemoStep(
        "Ask five searches every question, each in the tree that its author saw, and say which differ for sure.",
        (
            *("compare", *searched, "--agents", *AGENTS, "--baseline", "bm25", "-m", "nDCG@10", "-m", "Success@5"),
            *("--save-run", str(runs), "-o", str(folder / "comparison.html"), *shortest),
        ),
    )
    yield DemoStep(
        "Is vector search worth it? The built-in suite of 281 symbols, in three modes, and what a table of rules decides.",
        (
            *("compare", "--gold-set", "builtin:symbols", "--no-archive"),
            *("--journal", str(folder / "journal"), "-o", str(folder / "symbols.html"), *shortest),
        ),
    )
    yield DemoStep(
        "Audit the mined questions: can a score on them mean anything?",
        ("audit", gold, "--run", str(runs / "bm25.jsonl"), "-o", str(folder / "audit.md"), *shortest),
    )
    yield DemoStep(
        "Break bm25 on purpose (its hits come in the wrong order), and hold it against the run from before: the gate turns red.",
        (
            *("evaluate", *searched, "--agent", BROKEN, "--against", str(runs / "bm25.jsonl"), "-m", "nDCG@10"),
            *("-o", str(folder / "broken.html"), *shortest),
        ),
        _GATE_FAILED,
    )
