"""What ``evaluate`` and ``compare`` are told, group by group; each group is a heading of their help."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from searchmark.cli._options import PREFIX, Command, option, variable_of, with_options
from searchmark.cli._output import detail
from searchmark.config import Config, DatasetConfig, load_config, with_builtin
from searchmark.errors import FormatError, UsageError
from searchmark.measures.grammar import AnyMeasure, measures_named
from searchmark.options.archive_options import ArchiveOptions
from searchmark.options.compare_options import CompareOptions
from searchmark.options.corpus_choice import FileChoice
from searchmark.options.drift_options import DriftOptions
from searchmark.options.field_names import FieldNames
from searchmark.options.grade_words import GRADES_HELP, parse_grade_words
from searchmark.options.option import Option, option_fields
from searchmark.options.run_options import RunOptions
from searchmark.records.shown import counted
from searchmark.runs import FORMATS as RUN_FORMATS
from searchmark.runs import named_path, runs_in
from searchmark.suites import load_suite_with_setup
from searchmark.suites.builtin import PREFIX as BUILTIN
from searchmark.suites.builtin import builtin_suite
from searchmark.suites.detect import FORMATS as SUITE_FORMATS

if TYPE_CHECKING:
    from searchmark.records import Run, Suite
    from searchmark.reports.file_names import ReportFile
    from searchmark.suites.native import SuiteSetup

SUITE_HELP = f"Suite, in any of the formats that --format lists, or {BUILTIN}NAME, which 'searchmark suites' lists."
NEARLY = 0.85  # alike enough to be a mistake in typing, as difflib counts


def config_option(section: str, contents: str) -> Callable[[Command], Command]:
    """``--config`` and ``--no-config``: the command gets the config that applies, loaded."""

    def decorated(command: Command) -> Command:
        def loaded(*, config_path: str | None, no_config: bool, **arguments: Any) -> Any:
            if config_path is not None and no_config:
                raise UsageError("--config names a config and --no-config wants none; give one of them")
            for sentence in mistyped_variables(os.environ):
                click.echo(f"searchmark: {sentence}", err=True)
            config = load_config(config_path, search=not no_config)
            detail(f"config: {_described(config, config_path)}")
            return command(config=config, **arguments)

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


def _described(config: Config, named: str | None) -> str:
    if config.file is None:
        return "none, so the defaults apply"
    return f"{config.file} ({'named' if named else 'found'}), agents: {', '.join(spec.name for spec in config.agents) or 'none'}"


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
    named = [named_path(path) for path in paths]
    return [run for name, path in named for run in _loaded(path, name, format, names)]


def _loaded(path: Path, name: str | None, format: str | None, names: Mapping[str, str]) -> Iterator[Run]:  # noqa: A002  # as above
    for run in runs_in(path, format=format, mapping=names, name=name):
        detail(f"run: {path}, {run.name}, {counted(len(run), 'answer')}")
        yield run


def refuse_several_agents(runs: Sequence[Run], suite: str, paths: Sequence[str]) -> None:
    """Runs of several agents are not the shards of one: say how they are compared."""
    names = list(dict.fromkeys(run.label.identity for run in runs))
    if len(names) > 1:
        command = shlex.join(["searchmark", "compare", "--gold-set", suite, "--run", *paths])
        raise UsageError(f"these are runs of different agents, not parts of one: {', '.join(names)}; to compare them: {command}")


@dataclass(frozen=True)
class SuiteChoice:
    """Which suite."""

    path: Annotated[str, Option(SUITE_HELP, ("--gold-set", "--suite"), "SUITE")]
    format: Annotated[str | None, Option("Format of the suite.", default="detected", choices=tuple(SUITE_FORMATS))] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None

    def load(self, mapping: Iterable[str] = ()) -> tuple[Suite, SuiteSetup]:
        """The suite, and how it says that it is tested; ``mapping`` is what --map says of all files."""
        names = FieldNames.parse(mapping).suite
        words = parse_grade_words(self.grades)
        suite, setup = load_suite_with_setup(self.path, format=self.format, topics=self.topics, mapping=names, grades=words)
        judged = f"{counted(len(suite), 'case')}, {counted(len(suite.judgments), 'judgment')}"
        detail(f"suite: {self.path}{f' with {self.topics}' if self.topics else ''}, {judged}")
        return suite, setup

    @property
    def file(self) -> Path:
        """Where its cases are."""
        builtin = builtin_suite(self.path)
        return Path(self.path) if builtin is None else builtin.file

    def applied(self, config: Config) -> Config:
        """The config that applies to it: a built-in suite brings its own sections along."""
        builtin = builtin_suite(self.path)
        if builtin is None:
            return config
        applied = with_builtin(builtin, config)
        detail(f"built-in suite: {builtin.name}, agents: {', '.join(applied.listed_agents) or 'none'}")
        return applied


@dataclass(frozen=True)
class NamedSuite:
    """Which suite, where the config may name one."""

    path: Annotated[
        str | None,
        Option(
            SUITE_HELP,
            ("--gold-set", "--suite"),
            "SUITE",
            default="suite.path of the config",
        ),
    ] = None
    format: Annotated[str | None, Option("Format of the suite.", default="detected", choices=tuple(SUITE_FORMATS))] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None

    def chosen(self, config: Config) -> tuple[SuiteChoice, Config]:
        """The suite of the command line, or else that of the config, read as it says; and the config that applies to it."""
        source = self._source(config)
        return source, source.applied(config)

    def _source(self, config: Config) -> SuiteChoice:
        if self.path is not None:
            return SuiteChoice(self.path, self.format, self.topics, self.grades)
        of_config = config.suite
        if of_config.path is None:
            raise UsageError("nothing says which suite: name it with --gold-set, or in the config as suite: {path: FILE}")
        if of_config.format is not None and of_config.format not in SUITE_FORMATS:
            raise FormatError(
                config.file or Path(), "suite.format", f"must be one of {', '.join(SUITE_FORMATS)}, not {of_config.format!r}"
            )
        return SuiteChoice(of_config.path, self.format or of_config.format, self.topics or of_config.topics, self.grades)


@dataclass(frozen=True)
class SavedRuns:
    """Runs that were made before."""

    run_paths: Annotated[
        tuple[str, ...],
        Option("Saved runs, each [NAME=]PATH, in any of the formats that --run-format lists.", ("--run",), "RUN..."),
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


def measures_wanted(named: Sequence[str], config: Config) -> list[AnyMeasure]:
    """The measures of the command line, or else those of the config; without either the suite decides."""
    return measures_named(named or config.suite.measures)


def told_by(suite: SuiteChoice, saved: SavedRuns, reports: Iterable[ReportFile]) -> list[Path]:
    """The files that tell an agent what is right, or what others have answered; that of the suite first."""
    earlier = [path for report in reports for path in report.existing()]
    runs = [named_path(path)[1] for path in saved.run_paths]
    return [suite.file, *(Path(path) for path in (suite.topics, *runs, *earlier) if path is not None)]
