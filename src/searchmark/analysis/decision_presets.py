"""Decision tables that come with Searchmark, and what tables mean for a suite and its runs before anything is run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from searchmark.analysis.scores import category_name, segment_rows
from searchmark.errors import UsageError
from searchmark.options.compare_options import DecisionRule, DecisionTable
from searchmark.records import Suite

FTS5, VECTOR, RERANKER = "fts5", "fts5+vector", "fts5+vector+reranker"  # as the built-in agents are called
# The table that many projects start from: is vector search, added to full text search, worth it, and is a reranker?
PRESETS = {
    "vector-search": (
        DecisionTable(
            candidate=VECTOR,
            baseline=FTS5,
            measure="P@5",
            rules=(
                DecisionRule("keep vector search and promote it", above=0.10, categories=("all",)),
                DecisionRule("keep vector search, document its use cases", above=0.10, categories=(1, 2, 5)),
                DecisionRule("drop vector search, simplify the system", below=0.05),
            ),
            otherwise="between the lines: decide by what vector search costs",
        ),
        DecisionTable(
            candidate=RERANKER,
            baseline=VECTOR,
            measure="P@5",
            rules=(DecisionRule("recommend the reranker by default", above=0.15),),
        ),
    )
}


def preset_tables(preset: str, primary: str | None = None) -> tuple[DecisionTable, ...]:
    """The tables of a preset, which decide by the primary measure where one is declared."""
    return tuple(replace(table, measure=primary or table.measure) for table in PRESETS[preset])


def check_preset(preset: str, runs: Collection[str]) -> None:
    """Refuse runs among which a preset finds none of its pairs."""
    tables = PRESETS[preset]
    if any(_is_about(table, runs) for table in tables):
        return
    arms = list(dict.fromkeys(name for table in tables for name in (table.baseline, table.candidate)))
    pairs = " or ".join(f"{table.baseline} and {table.candidate}" for table in tables)
    raise UsageError(
        f"--decide {preset} compares {pairs}, and finds its runs by these names; the runs are {', '.join(runs)}. "
        f"Name agents so (--agents {arms[0]}=AGENT {arms[1]}=AGENT), or call the modes of an agent so"
    )


def left_out_by(baseline: str | None, tables: Sequence[DecisionTable], runs: Collection[str]) -> Iterator[DecisionTable]:
    """Tables whose arms are among the runs, and are not compared where all others are compared with this one alone."""
    if baseline is not None:
        yield from (each for each in tables if _is_about(each, runs) and baseline not in (each.candidate, each.baseline))


def measures_of_tables(tables: Sequence[DecisionTable], runs: Collection[str]) -> list[str]:
    """The measures that tables about these runs name."""
    return [table.measure for table in tables if table.measure is not None and _is_about(table, runs)]


def about_suite(table: DecisionTable, suite: Suite) -> DecisionTable:
    """The table with the names of the suite's categories, so that ``all`` are those of the suite, whichever cases are asked."""
    if suite.table.categories is None:
        return table
    return replace(table, rules=tuple(replace(rule, categories=_categories(rule, suite)) for rule in table.rules))


def _categories(rule: DecisionRule, suite: Suite) -> tuple[str, ...]:
    return tuple(
        segment_rows(suite, "category") if "all" in rule.categories else (category_name(suite, each) for each in rule.categories)
    )


def _is_about(table: DecisionTable, runs: Collection[str]) -> bool:
    return table.candidate in runs and table.baseline in runs
