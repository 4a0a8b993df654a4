"""The ripgrep baselines of a public code-search benchmark, and how near a rebuilt one comes to the published numbers."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from searchmark import Answer, Corpus, RetrievalAgent, RetrievalResult, Run
from searchmark.agents.lexical.ripgrep import STOP_WORDS, ripgrep

DEPTH, PER_WORD, SHORTEST = 10, 500, 3
ROUNDED = 0.00006  # published with four digits
DISCOUNTS = [1 / math.log2(rank + 1) for rank in range(1, DEPTH + 1)]


class WholeQuestion(RetrievalAgent):
    """The baseline as published: the whole question as one fixed string, files by the number of lines that hold it.

    Files with equal counts are published in the order in which ripgrep's threads end; here they are in the order of paths.
    """

    def __init__(self) -> None:
        self._folder = Path()

    def initialize(self, corpus: Corpus) -> None:
        self._folder = Path(corpus.folder or "")

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        found = counted(query, self._folder)[:k]
        return RetrievalResult([path for path, _ in found], [float(lines) for _, lines in found])


class ByWords(WholeQuestion):
    """The baseline as proposed later: one search per word that is no function word, files by the number of different words."""

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        found = (word for word in re.findall(r"[a-zA-Z][a-zA-Z0-9]*", query) if len(word) >= SHORTEST)
        words = {word.lower(): word for word in found if word.lower() not in STOP_WORDS}
        if not words:
            return super().retrieve(query, k)
        held = Counter(path for word in words.values() for path, _ in counted(word, self._folder)[:PER_WORD])
        best = held.most_common(k)
        return RetrievalResult([path for path, _ in best], [float(times) for _, times in best])


def counted(text: str, folder: Path) -> list[tuple[str, int]]:
    """Files that hold this text and in how many lines, those with most first."""
    flags = ["--count", "--ignore-case", "--hidden", "--glob=!.git", "--no-require-git", "--null", "--fixed-strings", "--sort=path"]
    command = [ripgrep(), "--no-config", *flags, "-e", text, "--", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    lines = [line.split("\0") for line in done.stdout.splitlines()]
    return sorted(((path.removeprefix("./"), int(times)) for path, times in lines), key=lambda entry: -entry[1])


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def meets(hit: str, path: str) -> bool:
    """As the benchmark has it: the path of a hit ends like that of the target."""
    return f"/{hit}".endswith(f"/{path}")


def credited(hits: Sequence[str], wanted: Sequence[str]) -> float:
    """nDCG@10 as the benchmark computes it: a target is met by the first hit that meets it."""
    ranks = {next((rank for rank, hit in enumerate(hits[:DEPTH], 1) if meets(hit, path)), None) for path in wanted}
    return sum(DISCOUNTS[rank - 1] for rank in ranks if rank) / sum(DISCOUNTS[: len(wanted)])


def bounds(answer: Answer, wanted: Sequence[str]) -> tuple[float, float, float]:
    """The value in the order of paths, and the lowest and the highest that another order of equal counts gives."""
    lists = []
    for sign in (0, 1, -1):  # as they are, targets last, targets first
        hits = sorted(answer.hits, key=lambda hit: (-(hit.score or 0), sign * any(meets(hit.id, path) for path in wanted)))
        lists.append([hit.id for hit in hits])
    as_it_is, low, high = (credited(each, wanted) for each in lists)
    return as_it_is, low, high


@dataclass(frozen=True)
class Rebuilt:
    """The published baseline in one repository: its published value and ours, with all orders of equal counts."""

    name: str
    published: float
    ours: float
    low: float
    high: float
    without_gone: float

    @property
    def told(self) -> str:
        if abs(self.published - self.ours) < ROUNDED:
            return "equal"
        if self.low - ROUNDED < self.published < self.high + ROUNDED:
            return "another order of equal counts"
        return "equal without them" if abs(self.published - self.without_gone) < ROUNDED else "different"


def rebuilt(name: str, wanted: Mapping[str, Sequence[str]], published: float, as_published: Run, gone: Iterable[str]) -> Rebuilt:
    values = {case: bounds(as_published.answer(as_published.index[case]), paths) for case, paths in wanted.items()}
    ours, low, high = (mean(column) for column in zip(*values.values(), strict=True))
    kept = [values[case][0] for case, paths in wanted.items() if not {*paths} <= {*gone}]
    return Rebuilt(name, published, ours, low, high, mean(kept))


def check_published(
    results: Path, wanted: Mapping[str, Mapping[str, Sequence[str]]], missing: Mapping[str, Iterable[str]], as_published: Run
) -> None:
    """Our numbers of the baseline beside those that its authors published; targets by case, by repository."""
    files = sorted(results.glob("ripgrep-fixed-strings-*.json"))
    if not files:
        print("  no results/ripgrep-fixed-strings-*.json, so the published numbers are not checked")
        return
    published = {entry["repo"]: entry["ndcg10"] for entry in json.loads(files[-1].read_text())["repos"]}
    names = [name for name in wanted if name in published]
    rows = [rebuilt(name, wanted[name], published[name], as_published, missing[name]) for name in names]
    print(f"  {'':<20}{'':>10}{'rebuilt':>10}{'equal counts in other orders':>30}{'without cases':>16}")
    print(f"  {'repository':<20}{'published':>10}{'by path':>10}{'lowest':>18}{'highest':>12}{'without targets':>16}")
    for row in rows:
        cells = f"{row.published:>10.4f}{row.ours:>10.4f}{row.low:>18.4f}{row.high:>12.4f}{row.without_gone:>16.4f}"
        print(f"  {row.name:<20}{cells}   {row.told}")
    print("  " + ", ".join(f"{told}: {count}" for told, count in Counter(row.told for row in rows).most_common()))
    print(
        f"  mean over these repositories: {mean([row.published for row in rows]):.4f} published, {mean([row.ours for row in rows]):.4f} rebuilt"
    )
