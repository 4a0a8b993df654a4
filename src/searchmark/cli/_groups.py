"""What ``evaluate`` and ``compare`` are told, group by group; each group is a heading of their help."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from searchmark.cli._options import PREFIX, Command, option, variable_of, with_options
from searchmark.config import DatasetConfig, load_config
from searchmark.errors import UsageError
from searchmark.options.archive_options import ArchiveOptions
from searchmark.options.compare_options import CompareOptions
from searchmark.options.corpus_choice import FileChoice
from searchmark.options.drift_options import DriftOptions
from searchmark.options.field_names import FieldNames
from searchmark.options.option import Option, option_fields
from searchmark.options.run_options import RunOptions
from searchmark.runs import FORMATS as RUN_FORMATS
from searchmark.runs import load_run
from searchmark.suites import load_suite_with_setup
from searchmark.suites.detect import FORMATS as SUITE_FORMATS

if TYPE_CHECKING:
    from searchmark.records import Run, Suite
    from searchmark.reports.file_names import ReportFile
    from searchmark.suites.native import SuiteSetup

NEARLY = 0.85  # alike enough to be a mistake in typing, as difflib counts


def config_option(section: str, contents: str) -> Callable[[Command], Command]:
    """``--config`` and ``--no-config``: the command gets the config that applies, loaded."""

    def decorated(command: Command) -> Command:
        def loaded(*, config_path: str | None, no_config: bool, **arguments: Any) -> Any:
            if config_path is not None and no_config:
                raise UsageError("--config names a config and --no-config wants none; give one of them")
            for sentence in mistyped_variables(os.environ):
                click.echo(f"searchmark: {sentence}", err=True)
            return command(config=load_config(config_path, search=not no_config), **arguments)

        return with_options(
            loaded,
            command,
            option(
                section,
                "--config",
                "config_path",
                metavar="FILE",
                show_default="searchmark.yaml, searchmark.toml or pyproject.toml of the project",
                help=f"YAML or TOML file with {contents}. Only a file that you name may set addresses, keys and paths elsewhere.",
            ),
            option(section, "--no-config", is_flag=True, help="Do not look for a config file."),
        )

    return decorated


def mistyped_variables(environment: Iterable[str]) -> Iterator[str]:
    """A sentence for every variable that sets nothing and is nearly the name of one that does."""
    sections: dict[str, type] = {
        "archive": ArchiveOptions,
        "compare": CompareOptions,
        "corpus": FileChoice,
        "dataset": DatasetConfig,
        "drift": DriftOptions,
        "evaluation": RunOptions,
    }
    known = [variable_of(table, each.name) for table, section in sections.items() for each in option_fields(section)]
    for name in sorted(environment):
        near = get_close_matches(name, known, 1, NEARLY) if name.startswith(PREFIX) and name not in known else []
        if near:
            yield f"the environment variable {name} has no effect; did you mean {near[0]}?"


def load_runs(paths: Iterable[str], format: str | None = None, mapping: Iterable[str] = ()) -> list[Run]:  # noqa: A002  # as load_run has it
    """Saved runs as the command line names them."""
    names = FieldNames.parse(mapping).run
    return [load_run(path, format=format, mapping=names) for path in paths]


@dataclass(frozen=True)
class SuiteChoice:
    """Which suite."""

    path: Annotated[str, Option("Suite, in any of the formats that --format lists.", ("--gold-set", "--suite"), "SUITE")]
    format: Annotated[str | None, Option("Format of the suite.", default="detected", choices=tuple(SUITE_FORMATS))] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None

    def load(self, mapping: Iterable[str] = ()) -> tuple[Suite, SuiteSetup]:
        """The suite, and how it says that it is tested; ``mapping`` is what --map says of all files."""
        names = FieldNames.parse(mapping).suite
        return load_suite_with_setup(self.path, format=self.format, topics=self.topics, mapping=names)


@dataclass(frozen=True)
class SavedRuns:
    """Runs that were made before."""

    run_paths: Annotated[
        tuple[str, ...], Option("Saved run: TREC, JSON or Searchmark's own format; repeatable.", ("--run",), "RUN")
    ] = ()
    run_format: Annotated[str | None, Option("Format of the saved runs.", default="detected", choices=tuple(RUN_FORMATS))] = None

    def load(self, mapping: Iterable[str] = ()) -> list[Run]:
        """The runs, in the order in which they were named; ``mapping`` is what --map says of all files."""
        return load_runs(self.run_paths, self.run_format, mapping)


@dataclass(frozen=True)
class ReportChoice:
    """What is reported, and where to."""

    measures: Annotated[
        tuple[str, ...],
        Option("Measure or formula, repeatable; the first one leads: -m nDCG@10 -m 'P(rel=2)@5'.", ("-m", "--measure")),
    ] = ()
    splits: Annotated[
        tuple[str, ...],
        Option(
            "Split by category, tag or a field of the cases, or of what they look for (target.brand); repeatable.",
            ("--by",),
            "FIELD",
        ),
    ] = ()
    outputs: Annotated[
        tuple[str, ...],
        Option(
            "Report file (.html, .json, .md, .comment.md, .xml for JUnit, .txt, .csv, .tex; .summary.txt and .summary.csv for "
            "means), directory, or - for JSON on stdout; repeatable.",
            ("-o", "--output"),
            "PATH",
        ),
    ] = ()
    charts: Annotated[bool, Option("Draw charts beside every Markdown report, and show them in it.", ("--charts",))] = False
    github: Annotated[
        bool, Option("Add the report to the summary of the step in GitHub Actions, and at most ten annotations.", ("--github",))
    ] = False


def told_by(suite: SuiteChoice, saved: SavedRuns, reports: Iterable[ReportFile]) -> list[Path]:
    """The files that tell an agent what is right, or what others have answered; that of the suite first."""
    earlier = [path for report in reports for path in report.existing()]
    return [Path(path) for path in (suite.path, suite.topics, *saved.run_paths, *earlier) if path is not None]
