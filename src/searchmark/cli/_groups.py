"""What ``evaluate`` and ``compare`` are told, group by group; each group is a heading of their help."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from searchmark.cli._options import WHAT_TO_RUN, option
from searchmark.options.option import Option
from searchmark.runs import FORMATS as RUN_FORMATS
from searchmark.suites.detect import FORMATS as SUITE_FORMATS

config_option = option(
    WHAT_TO_RUN,
    "--config",
    "config_path",
    metavar="FILE",
    help="YAML or TOML file with defaults and agents; the nearest searchmark.yaml, searchmark.toml or pyproject.toml otherwise.",
)


@dataclass(frozen=True)
class SuiteChoice:
    """Which suite."""

    path: Annotated[str, Option("Suite, in any of the formats that --format lists.", ("--gold-set", "--suite"), "SUITE")]
    format: Annotated[str | None, Option("Format of the suite.", default="detected", choices=tuple(SUITE_FORMATS))] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None


@dataclass(frozen=True)
class SavedRuns:
    """Runs that were made before."""

    run_paths: Annotated[
        tuple[str, ...], Option("Saved run: TREC, JSON or Searchmark's own format; repeatable.", ("--run",), "RUN")
    ] = ()
    run_format: Annotated[str | None, Option("Format of the saved runs.", default="detected", choices=tuple(RUN_FORMATS))] = None


@dataclass(frozen=True)
class ReportChoice:
    """What is reported, and where to."""

    measures: Annotated[
        tuple[str, ...],
        Option("Measure or formula, repeatable; the first one leads: -m nDCG@10 -m 'P(rel=2)@5'.", ("-m", "--measure")),
    ] = ()
    splits: Annotated[
        tuple[str, ...], Option("Split by category, tag or a field of the cases; repeatable.", ("--by",), "FIELD")
    ] = ()
    outputs: Annotated[
        tuple[str, ...],
        Option(
            "Report file (.json, .md, .txt, .csv; .tex for a comparison), directory, or - for JSON on stdout; repeatable.",
            ("-o", "--output"),
            "PATH",
        ),
    ] = ()


def told_by(suite: SuiteChoice, saved: SavedRuns, reports: Iterable[Path]) -> list[Path]:
    """The files that tell an agent what is right, or what others have answered; that of the suite first."""
    return [Path(path) for path in (suite.path, suite.topics, *saved.run_paths, *reports) if path is not None]
