"""``searchmark generate``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from searchmark.cli._output import show
from searchmark.config import DatasetConfig, load_config
from searchmark.errors import UsageError
from searchmark.history.sources import RepositorySource, parse_sources
from searchmark.mining.gold_sets import generate_gold_set
from searchmark.mining.mine import MiningFacts, MiningProgress, OnProgress

if TYPE_CHECKING:
    from searchmark.mining.cases import Rewrite

# Options of the command line that stand for a field of the config, where they are given.
_FIELDS = (
    "unit", "revisions", "since", "until", "first_parent", "max_cases", "sample", "seed", "query",
    "min_files", "max_files", "include_merge_commits",
)  # fmt: skip


@click.command("generate", short_help="Mine a gold set from the history of Git repositories.")
@click.option("--repo", "repos", multiple=True, metavar="[NAME=]PATH", help="Repository to mine; repeatable.")
@click.option("-o", "--output", metavar="FILE", help="Gold set to write (.json).")
@click.option("--config", "config_path", metavar="FILE", help="YAML or TOML with a section 'dataset'; see docs/gold-sets.md.")
@click.option("--max-cases", type=int, metavar="N", help="At most so many cases from each repository.")
@click.option("--sample", type=click.Choice(["newest", "spread", "random"]), help="Which ones if there are more (default: newest).")
@click.option("--seed", type=int, help="Seed of the sample (default: 0).")
@click.option(
    "--unit", type=click.Choice(["commit", "pr", "auto"]), help="What makes a case: commits, pull requests, or these before those."
)
@click.option("--range", "revisions", metavar="REV|A..B", help="Which commits are read: all that lead to HEAD otherwise.")
@click.option("--since", metavar="DATE", help="Only commits from this date on, as 2024-03-15.")
@click.option("--until", metavar="DATE", help="Only commits up to this date.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Only commits that change something below; repeatable.")
@click.option("--first-parent", is_flag=True, default=None, help="Follow only the first parent of merges.")
@click.option("--include-merges", "include_merge_commits", is_flag=True, default=None, help="Let merges make cases as well.")
@click.option("--min-files", type=int, metavar="N", help="Fewest files that a case must have (default: 1).")
@click.option("--max-files", type=int, metavar="N", help="Most files that a case may have (default: 20).")
@click.option("--exclude", "exclude_patterns", multiple=True, metavar="GLOB", help="Files that are never targets; repeatable.")
@click.option("--without-rule", "without_rules", multiple=True, metavar="RULE", help="Switch a rule off; repeatable.")
@click.option(
    "--query",
    type=click.Choice(["clean", "subject", "masked", "raw", "llm"]),
    help="Which wording becomes the query (default: clean).",
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Repositories mined at a time (default: one per processor).")
@click.option("--explain", "explained", metavar="COMMIT", help="Say why this commit is in or out, and write nothing.")
def command(
    repos: tuple[str, ...], output: str | None, config_path: str | None, jobs: int | None, explained: str | None, **given: Any
) -> None:
    """Mine a gold set from the history of Git repositories.

    A commit's message becomes the query, the files that it changes the targets, its parent the tree to search.
    The file says what was removed, by which rule.

    \b
    searchmark generate --repo . --output gold_set.json --max-cases 200 --sample spread
    searchmark generate --repo api=../api --repo web=../web --output gold_set.json --unit auto
    """
    options = _options(load_config(config_path).dataset, given)
    sources = parse_sources(repos or _configured(options))
    if explained is not None:
        return _explain(sources, explained, options)
    if output is None:
        raise UsageError("--output is missing: where should the gold set go?")
    if Path(output).is_dir():
        raise UsageError(f"{output} cannot be written: it is a folder")
    with _progress() as on_progress:
        mined = generate_gold_set(
            sources, output, options, jobs=jobs or os.cpu_count() or 1, rewrite=_rewriter(options), on_progress=on_progress
        )
    for sentence in (sentence for facts in mined for sentence in summary(facts)):
        click.echo(sentence, err=True)
    click.echo(f"written: {output}", err=True)
    return None


def _options(config: DatasetConfig, given: dict[str, Any]) -> DatasetConfig:
    """The config with everything that the command line says differently."""
    fields = {name: given[name] for name in _FIELDS if given[name] is not None}
    lists = {name: given[name] for name in ("paths", "exclude_patterns", "without_rules") if given[name]}
    return replace(config, **fields, **lists)


def _configured(options: DatasetConfig) -> tuple[str, ...]:
    paths = (options.repository_path,) if isinstance(options.repository_path, str) else options.repository_path
    if not paths:
        raise UsageError("no repository: name one with --repo, or in the config as dataset.repository_path")
    return paths


def _rewriter(options: DatasetConfig) -> Rewrite | None:
    if options.query != "llm":
        return None
    if options.rewriter is None:
        raise UsageError("--query llm needs a section 'dataset.rewriter' with a model in the config; see docs/gold-sets.md")
    from searchmark.mining.rewriting import Rewriter

    return Rewriter(options.rewriter, lambda sentence: click.echo(sentence, err=True)).rewrite


def _explain(sources: list[RepositorySource], commit: str, options: DatasetConfig) -> None:
    from searchmark.mining.explanation import explain
    from searchmark.reports.quoting import visible

    if len(sources) != 1:
        raise UsageError("--explain is about one commit of one repository; name one --repo")
    for line in explain(sources[0], commit, options):
        show(f"{visible(line)}\n")


def summary(facts: MiningFacts) -> Iterator[str]:
    """What was mined from a repository, and what was removed by which rule."""
    name, removed = facts.repository, ", ".join(f"{rule} {count.commits}" for rule, count in facts.ledger.items())
    yield f"{name}: {facts.commits_analyzed} commits read, {facts.commits_passed} passed, {facts.cases} cases"
    if removed:
        yield f"{name}: removed: {removed}"
    if facts.unreachable_files:
        yield f"{name}: {facts.unreachable_files} files were created by their commit and cannot be found: kept apart"
    if facts.shallow:
        yield f"{name}: the clone is shallow, so its history ends early"
    if facts.malformed:
        yield f"{name}: malformed and skipped: {', '.join(facts.malformed)}"


@contextmanager
def _progress() -> Iterator[OnProgress | None]:
    """A bar per repository on a terminal, nothing anywhere else."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("kept {task.fields[kept]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[tuple[str, str], Any] = {}

        def tell(progress: MiningProgress) -> None:
            key = progress.repository, progress.phase
            if key not in tasks:
                tasks[key] = bars.add_task(f"{progress.repository}: {progress.phase}", total=progress.total, kept=0)
            bars.update(tasks[key], completed=progress.done, kept=progress.kept)

        yield tell
