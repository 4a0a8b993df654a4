"""How often advice about groups of cases is given by chance, and how often a real difference is seen.

    python benchmarks/recommendations.py

Fixed seeds: every number of docs/recommendations.md comes out again. Without an effect every case fails with the same chance,
whatever its category, language or tag; cases of one origin fail together or succeed together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from searchmark.records.answers import OK
from searchmark.records.columns import Ints
from searchmark.reports.advice import AnsweredCases, FactTable, group_advice, others_succeed
from searchmark.reports.cases import CaseArrays
from searchmark.reports.report import Recommendation

TRIALS = 2_000
SIZES = (20, 50, 200, 1_000)
RATES = (0.1, 0.3, 0.5)
LANGUAGES = ("de", "en", "pt")
BAR = 0.05


@dataclass(frozen=True)
class Drawn:
    """A suite without answers: what each case belongs to."""

    facts: FactTable
    categories: Ints
    origins: Ints

    @classmethod
    def of(cls, size: int, groups: int, generator: np.random.Generator, per_origin: int = 1) -> Drawn:
        """Categories, three languages, and typos in a tenth of the cases."""
        categories = generator.integers(groups, size=size)
        origins = np.arange(size) // per_origin
        names = [str(origin) for origin in origins.tolist()]
        typos = (generator.random(size) < 0.1).tolist()
        languages = [LANGUAGES[each] for each in generator.integers(len(LANGUAGES), size=size).tolist()]
        tags = [("typo",) if each else () for each in typos]
        facts = FactTable.of_columns([f"k{each}" for each in categories.tolist()], tags, None, languages, names, size)
        return cls(facts, categories, facts.origins)


def answered(run: str, failed: np.ndarray[tuple[int], np.dtype[np.bool_]], origins: Ints) -> AnsweredCases:
    """A run of which only is known which cases failed."""
    size = len(failed)
    none, ids = np.zeros(0, np.int64), [f"c{row}" for row in range(size)]
    no_marks, status = np.zeros(0, bool), np.full(size, OK)
    cases = CaseArrays(
        ids, (), status, np.zeros((size, 0)), np.zeros(size, bool), np.zeros(size + 1, np.int64), none, none, none, no_marks,
        np.full(size, np.nan), np.zeros(size, np.int64), {},
    )  # fmt: skip
    return AnsweredCases(run, cases, origins, np.ones(size, bool), failed)


def by_chance(size: int, groups: int, rate: float, per_origin: int, runs: int) -> float:
    """The share of suites without any effect in which some group is called worse."""
    generator = np.random.default_rng((size, groups, int(100 * rate), per_origin, runs))
    fired = 0
    for _ in range(TRIALS):
        drawn = Drawn.of(size, groups, generator, per_origin)
        fails = [(generator.random(size) < rate)[drawn.origins] for _ in range(runs)]
        found = group_advice([answered(f"run {n}", each, drawn.origins) for n, each in enumerate(fails)], drawn.facts)
        fired += any(True for _ in found)
    return fired / TRIALS


def seen(group: int, rest: int, groups: int) -> float:
    """How often a category of which 0.7 fail is named, where 0.3 of the others do."""
    generator = np.random.default_rng((group, rest, groups))
    fired = 0
    for _ in range(TRIALS):
        drawn = Drawn.of(rest, groups - 1, generator)
        categories = [f"k{each}" for each in drawn.categories.tolist()] + ["bad"] * group
        facts = FactTable.of_columns(categories, None, None, None, None, group + rest)
        failed = np.concatenate([generator.random(rest) < 0.3, generator.random(group) < 0.7])
        fired += any("'bad'" in each.seen for each in group_advice([answered("run", failed, facts.origins)], facts))
    return fired / TRIALS


def flips(size: int, share: float) -> float:
    """How often an agent is said to succeed where another fails, if both are alike but for a share of cases that flip."""
    generator = np.random.default_rng((size, int(1000 * share)))
    fired = 0
    for _ in range(TRIALS):
        failed = generator.random(size) < 0.3
        other = failed ^ (generator.random(size) < share)
        runs = [answered(name, each, np.arange(size)) for name, each in (("a", failed), ("b", other))]
        found: Iterator[Recommendation] = others_succeed(runs, {"a": "a", "b": "b"})
        fired += any(True for _ in found)
    return fired / TRIALS


def main() -> None:
    print(f"any group named without an effect, share of {TRIALS} suites (bar: {BAR})")
    print("| cases | groups | " + " | ".join(f"{rate:g} fail" for rate in RATES) + " | 0.3, origins of 3 | 0.3, 4 runs |")
    print("|---|---|---|---|---|---|---|")
    for size in SIZES:
        for groups in (5, 10):
            cells = [by_chance(size, groups, rate, 1, 1) for rate in RATES]
            cells += [by_chance(size, groups, 0.3, 3, 1), by_chance(size, groups, 0.3, 1, 4)]
            print(f"| {size} | {groups} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")
    print("\na category of which 0.7 fail beside 0.3 of the others, how often it is named")
    print("| cases in the category | others | of 5 categories | of 10 |")
    print("|---|---|---|---|")
    for group in (10, 20, 50):
        for rest in (50, 200):
            print(f"| {group} | {rest} | {seen(group, rest, 5):.3f} | {seen(group, rest, 10):.3f} |")
    print("\ntwo agents that differ only by cases that flip, how often one is said to succeed where the other fails")
    print("| cases | 2 % flip | 5 % | 10 % |")
    print("|---|---|---|---|")
    for size in SIZES:
        print(f"| {size} | " + " | ".join(f"{flips(size, share):.3f}" for share in (0.02, 0.05, 0.1)) + " |")


if __name__ == "__main__":
    main()
