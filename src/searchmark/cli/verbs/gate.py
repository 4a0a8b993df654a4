"""``searchmark gate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import click

from searchmark.cli._archive import Kept, archive_options, archived
from searchmark.cli._corpus import chosen, corpus_options, survey_of, with_corpus_of, with_fields_of_targets
from searchmark.cli._gates import GATE, GateOutcome, baseline_file, gate_options, with_gates_of, with_next_step
from searchmark.cli._groups import (
    NamedSuite,
    ReportChoice,
    SavedRuns,
    config_option,
    load_runs,
    measures_wanted,
    refuse_several_agents,
    told_by,
)
from searchmark.cli._live import case_filter, wanted_cases
from searchmark.cli._options import OUTPUT, WHAT_TO_RUN, WHAT_TO_SEARCH, Given, SectionedCommand, option, option_group
from searchmark.cli._output import STDOUT, charts_wanted, deliver, github_step, now, output_files, show
from searchmark.cli._progress import status_line
from searchmark.config import Config, OutputConfig
from searchmark.errors import EXIT_OK, EXIT_UNTRUSTED, UsageError
from searchmark.files.meanwhile import Meanwhile
from searchmark.files.store import write_text
from searchmark.options.corpus_choice import CorpusChoice, FileChoice
from searchmark.options.experiment_options import CaseSelection
from searchmark.options.option import Option
from searchmark.runs import FORMATS as RUN_FORMATS
from searchmark.runs.cut import narrowed

if TYPE_CHECKING:
    from searchmark.gates.self_test import SelfTest
    from searchmark.reports.file_names import ReportFile


@dataclass(frozen=True)
class Searched(CorpusChoice):
    """What is known about the run, and about what was searched."""

    run_format: Annotated[str | None, Option("Format of the saved run.", default="detected", choices=tuple(RUN_FORMATS))] = None


@click.command("gate", cls=SectionedCommand, short_help="Check a saved run against the rules of a gate.")
@click.argument("run_paths", metavar="RUN...", nargs=-1, required=True)
@option_group(NamedSuite, "named", WHAT_TO_RUN)
@config_option(WHAT_TO_RUN, "the section 'gates'")
@option_group(Searched, "searched", WHAT_TO_SEARCH)
@corpus_options
@case_filter
@gate_options
@option(GATE, "--self-test", is_flag=True, help="Try the gate on copies of the run that get worse: from which size on is it red?")
@option_group(ReportChoice, "wanted", OUTPUT)
@archive_options
def command(
    run_paths: tuple[str, ...],
    named: NamedSuite,
    config: Config,
    searched: Searched,
    chosen_files: Given[FileChoice],
    cases: CaseSelection,
    gates: GateOutcome,
    self_test: bool,
    wanted: ReportChoice,
    kept: Kept,
) -> int:
    """Check a saved run against the rules of a gate: those of the config, of a preset, of the command line.

    Exit code 0: every rule is met. 1: one is not. 2: one cannot be checked, so nothing is known. Several runs are the
    shards of one.

    \b
    searchmark gate run.jsonl --gold-set suite.yaml --config searchmark.yaml
    searchmark gate run.jsonl --gold-set suite.yaml --gate search-relevance
    searchmark gate run.jsonl --gold-set suite.yaml --against baseline.jsonl
    searchmark gate --self-test run.jsonl --gold-set suite.yaml --gate search-relevance
    """
    from searchmark.experiments import evaluate_run, gate_self_test

    source, config = named.chosen(config)
    time, output = now(), OutputConfig() if self_test else config.output  # of a self-test only what the command line names
    files, github = output_files(wanted.outputs, output), github_step(wanted.github, source.path)
    charts = charts_wanted(wanted.charts, output, files)
    asked = measures_wanted(wanted.measures, config)
    runs = Meanwhile(lambda: load_runs(run_paths, searched.run_format, searched.mapping))
    suite, setup = source.load(searched.mapping)
    config = with_gates_of(setup, config)
    rules = gates.rules(config, asked)
    baseline = gates.baseline(config, rules, asked)
    if not rules and not baseline.rules:
        raise UsageError(
            "there is no rule to check: write a section 'gates' in the config, or give --gate, --fail-under or --against"
        )
    told = told_by(source, SavedRuns(run_paths), files)
    searched = chosen(with_corpus_of(setup, config, searched), chosen_files, config, told)
    suite = with_fields_of_targets(suite, wanted.splits, rules, searched)
    survey = survey_of(suite, searched)
    refuse_several_agents(runs.result(), source.path, run_paths)
    whole, suite = suite, wanted_cases(suite, cases)
    parts = narrowed(runs.result(), whole, suite)
    if self_test:
        with status_line("self-test") as say:
            found = gate_self_test(suite, parts, rules, baseline=baseline, options=config.compare, corpus=survey, on_progress=say)
        return _tried(found, files)
    report = evaluate_run(
        suite,
        parts,
        asked,
        by=wanted.splits,
        rules=rules,
        baseline=baseline,
        looks=gates.looks(config, rules),
        options=config.compare,
        corpus=survey,
        versions=config.versions,
    )
    report = with_next_step(report, source.path, run_paths, baseline_file(config, gates.against))
    report = archived(report, parts, kept.in_use(config, by_default=False))
    return deliver(report, files, time, json_on_stdout=STDOUT in wanted.outputs, charts=charts, github=github)


def _tried(found: SelfTest, files: list[ReportFile]) -> int:
    """Show what a gate can see; one that a run does not pass as it is cannot be tried."""
    from searchmark.reports.self_test import self_test_json, self_test_text

    for file in files:
        if file.format != "json":
            raise UsageError(f"{file.path}: a self-test is written as .json")
        write_text(file.path, self_test_json(found))
    show(self_test_text(found))
    return EXIT_OK if found.verdict == "passed" else EXIT_UNTRUSTED
