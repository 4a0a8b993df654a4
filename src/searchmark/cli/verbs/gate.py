"""The verb `searchmark gate`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from searchmark.cli.groups import (
    CHOSEN_FILES,
    GATE,
    MISSING,
    ArchiveFlags,
    ConfigFile,
    GateVerdictSettings,
    NamedSuiteSettings,
    ReportOutputSettings,
    SavedRuns,
    load_runs,
    refuse_several_agents,
)
from searchmark.cli.live import CASE_FILTER
from searchmark.cli.options import OUTPUT, WHAT_TO_RUN, WHAT_TO_SEARCH, Flag, GivenSettings, OptionGroup, Positional, Settings, verb
from searchmark.cli.output import show
from searchmark.cli.progress import status_line
from searchmark.config.inputs import CorpusInputSettings, FileSettings
from searchmark.config.option import Option
from searchmark.config.run import CaseSelection
from searchmark.config.sections import Config, OutputSettings
from searchmark.errors import EXIT_OK, EXIT_UNTRUSTED, UsageError
from searchmark.formats import RUN_FORMATS
from searchmark.io.store import start_in_background, write_text
from searchmark.records.merge import restrict_to_suite

if TYPE_CHECKING:
    from searchmark.gates.self_test import SelfTest
    from searchmark.reports.render import ReportFile


@dataclass(frozen=True)
class Searched(CorpusInputSettings):
    """What is known about the run, and about what was searched."""

    run_format: Annotated[
        str | None, Option("Format of the saved run.", default="detected", choices=tuple(RUN_FORMATS), plugins="formats")
    ] = None
    missing: Annotated[Literal["zero"] | None, MISSING] = None


@dataclass(frozen=True)
class GateCommand:
    """The arguments and options of ``gate``."""

    run_paths: Annotated[tuple[str, ...], Positional("RUN...", nargs=-1, required=True)]
    named: Annotated[NamedSuiteSettings, OptionGroup(WHAT_TO_RUN)]
    config: Annotated[Config, ConfigFile(WHAT_TO_RUN, "the section 'gates'")]
    searched: Annotated[Searched, OptionGroup(WHAT_TO_SEARCH)]
    chosen_files: Annotated[GivenSettings[FileSettings], CHOSEN_FILES]
    cases: Annotated[CaseSelection, CASE_FILTER]
    gates: Annotated[GateVerdictSettings, OptionGroup(GATE)]
    self_test: Annotated[
        bool,
        Flag(
            GATE,
            "--self-test",
            is_flag=True,
            help="Try the gate on copies of the run that get worse: from which size on is it red?",
        ),
    ]
    report: Annotated[ReportOutputSettings, OptionGroup(OUTPUT)]
    archive: Annotated[ArchiveFlags, Settings()]


@verb("gate", GateCommand, short_help="Check a saved run against the rules of a gate.")
def command(settings: GateCommand) -> int:
    """Check a saved run against the rules of a gate: those of the config, of a preset, of the command line.

    Exit code 0: every rule is met. 1: one is not. 2: one cannot be checked, so nothing is known. Several runs are the
    shards of one.

    \b
    searchmark gate run.jsonl --gold-set suite.yaml --config searchmark.yaml
    searchmark gate run.jsonl --gold-set suite.yaml --gate search-relevance
    searchmark gate run.jsonl --gold-set suite.yaml --against baseline.jsonl
    searchmark gate --self-test run.jsonl --gold-set suite.yaml --gate search-relevance
    """
    from searchmark.experiments.inputs import select_cases, survey_of

    paths, mapping = settings.run_paths, settings.searched.mapping
    # Of a self-test only what the command line names is written.
    config = replace(settings.config, output=OutputSettings()) if settings.self_test else settings.config
    runs = start_in_background(lambda: load_runs(paths, settings.searched.run_format, mapping))
    saved_runs = SavedRuns(paths, missing=settings.searched.missing)
    task = settings.report.task(settings.named, config, settings.gates, saved_runs, mapping)
    if not task.has_rules:
        raise UsageError(
            "there is no rule to check: write a section 'gates' in the config, or give --gate, --fail-under or --against"
        )
    searched = task.corpus(settings.searched, settings.chosen_files)
    archive = None if settings.self_test else settings.archive.in_use(task.config, by_default=False)
    request = task.evaluation(searched, paths, archive=archive)
    survey, cases = survey_of(request.suite, searched), select_cases(request.suite, settings.cases)
    refuse_several_agents(runs.result(), task.source.path, paths)
    parts = restrict_to_suite(runs.result(), request.suite, cases)
    request = replace(request, suite=cases, corpus=survey)
    if settings.self_test:
        with status_line("self-test") as say:
            self_test = request.self_test(parts, say)
        return _show_self_test(self_test, task.outputs.files)
    return task.outputs.deliver(request.evaluate(parts))


def _show_self_test(self_test: SelfTest, files: list[ReportFile]) -> int:
    """Show what a gate can see; one that a run does not pass as it is cannot be tried."""
    from searchmark.reports.text import self_test_json, self_test_text

    for file in files:
        if file.format != "json":
            raise UsageError(f"{file.path}: a self-test is written as .json")
        write_text(file.path, self_test_json(self_test))
    show(self_test_text(self_test))
    return EXIT_OK if self_test.verdict == "passed" else EXIT_UNTRUSTED
