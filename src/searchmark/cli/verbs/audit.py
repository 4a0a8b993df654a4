"""The verb `searchmark audit`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from searchmark.cli.groups import (
    CHOSEN_FILES,
    GATE,
    SUITE_FORMAT,
    ConfigFile,
    GateBaselineSettings,
    NamedSuiteSettings,
    SavedRuns,
    SuiteFileSettings,
    SuiteInUse,
    measures_wanted,
)
from searchmark.cli.live import CASE_FILTER
from searchmark.cli.options import (
    OUTPUT,
    WHAT_TO_RUN,
    WHAT_TO_SEARCH,
    Flag,
    GivenSettings,
    OptionGroup,
    Positional,
    VariadicBesideSuite,
    verb,
)
from searchmark.cli.output import check_audit_outputs, show, show_audit, write_audit
from searchmark.cli.progress import status_line
from searchmark.config.inputs import GRADES_HELP, CorpusInputSettings, FileSettings
from searchmark.config.option import Option
from searchmark.config.run import CaseSelection
from searchmark.config.sections import Config
from searchmark.errors import EXIT_GATE_FAILED, EXIT_OK, UsageError
from searchmark.io.store import check_readable
from searchmark.records.merge import restrict_to_suite

if TYPE_CHECKING:
    from searchmark.audit.check import Audit
    from searchmark.audit.claim_table import ClaimTable


WHAT_TO_AUDIT = WHAT_TO_RUN


@dataclass(frozen=True)
class AuditedFiles:
    """How the suite and its corpus are read."""

    format: Annotated[str | None, SUITE_FORMAT] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None


@dataclass(frozen=True)
class AuditCommand:
    """The arguments and options of ``audit``."""

    suite_path: Annotated[str | None, Positional("[SUITE]", required=False)]
    named_suite: Annotated[
        str | None, Flag(WHAT_TO_AUDIT, "--gold-set", "--suite", metavar="SUITE", help="The suite, as other commands name it.")
    ]
    read_as: Annotated[AuditedFiles, OptionGroup(WHAT_TO_AUDIT)]
    saved: Annotated[SavedRuns, OptionGroup(WHAT_TO_AUDIT)]
    measures: Annotated[
        tuple[str, ...], Flag(WHAT_TO_AUDIT, "-m", "--measure", multiple=True, help="Measure or formula; repeatable.")
    ]
    claims: Annotated[
        str | None,
        Flag(
            WHAT_TO_AUDIT,
            "--claims",
            metavar="FILE",
            help="Table of published numbers to check (.csv, .tsv, .md): name, n, measures.",
        ),
    ]
    judge_next: Annotated[
        int | None,
        Flag(
            WHAT_TO_AUDIT,
            "--next",
            metavar="N",
            type=click.IntRange(1),
            help="List N unjudged pairs whose grades would settle a comparison of two runs soonest; -o next.csv writes them.",
        ),
    ]
    between: Annotated[
        tuple[str, str] | None,
        Flag(
            WHAT_TO_AUDIT,
            "--between",
            nargs=2,
            metavar="A B",
            help="The runs that --next is about; by default the best not told apart.",
        ),
    ]
    config: Annotated[Config, ConfigFile(WHAT_TO_AUDIT, "the section 'gates'")]
    searched: Annotated[CorpusInputSettings, OptionGroup(WHAT_TO_SEARCH)]
    chosen_files: Annotated[GivenSettings[FileSettings], CHOSEN_FILES]
    cases: Annotated[CaseSelection, CASE_FILTER]
    gates: Annotated[GateBaselineSettings, OptionGroup(GATE)]
    foresight: Annotated[
        float | None,
        Flag(
            GATE,
            "--sees",
            type=click.FloatRange(0, min_open=True),
            metavar="LOSS",
            help="Loss of a mean, such as 0.02, that every rule should see; says what it takes.",
        ),
    ]
    outputs: Annotated[
        tuple[str, ...],
        Flag(
            OUTPUT,
            "-o",
            "--output",
            metavar="PATH",
            multiple=True,
            help="Audit (.html, .md, .json, .txt; - for JSON), or pairs of --next (.csv, .jsonl); repeatable.",
        ),
    ]
    tables: Annotated[bool, Flag(OUTPUT, "--tables", is_flag=True, help="Print all tables, also those that no finding refers to.")]
    codes: Annotated[
        bool, Flag(OUTPUT, "--codes", is_flag=True, help="List every code that a finding may have, and audit nothing.")
    ]
    strict: Annotated[bool, Flag(OUTPUT, "--strict", is_flag=True, help="Exit with 1 if there is a finding of severity error.")]


@verb(
    "audit",
    AuditCommand,
    cls=VariadicBesideSuite,
    short_help="Check whether scores on a suite, or published numbers, can mean anything.",
)
def command(settings: AuditCommand) -> int:
    """Check whether scores on a suite can mean anything: the gold, the runs, the gate, and published numbers.

    Every finding has a code, a severity, the cases that it is about, why it matters and what to do. The more is known, the
    more is checked: name the corpus, runs, and the config with the gates.

    \b
    searchmark audit suite.yaml --corpus docs/
    searchmark audit qrels.txt --topics topics.tsv --corpus corpus.jsonl --run a.run --run b.run -o audit.json
    searchmark audit suite.yaml --run run.jsonl --config searchmark.yaml --sees 0.02 --strict
    searchmark audit --claims table.csv
    searchmark audit --codes
    searchmark audit suite.jsonl --corpus corpus.jsonl --run a.run --run b.run --next 20 -o next.csv
    """
    if settings.codes:
        return _show_codes(settings)
    suite_path = settings.suite_path
    read_as = settings.read_as
    if suite_path is not None and settings.named_suite is not None:
        raise UsageError(f"the suite is named twice: {suite_path} and --gold-set {settings.named_suite}; name it once")
    suite_path = suite_path or settings.named_suite
    if suite_path is None and settings.claims is None and settings.config.suite.path is not None:
        source, _ = NamedSuiteSettings(None, read_as.format, read_as.topics).chosen(settings.config)
        suite_path, read_as = source.path, AuditedFiles(source.format, source.topics)
    if suite_path is None and settings.claims is None:
        raise UsageError("nothing says what to audit: name a suite, or a table of published numbers with --claims")
    if settings.judge_next is None and settings.between:
        raise UsageError("--between says which runs --next is about; add --next")
    if settings.judge_next is not None and len(settings.saved.run_paths) < 2:  # noqa: PLR2004  # a comparison has two sides
        raise UsageError("--next needs a suite and two runs, whose comparison the grades would settle; name them with --run")
    if settings.foresight is not None and suite_path is None:
        raise UsageError("--sees says which loss the rules of a gate should see on a suite; name the suite")
    if settings.foresight is not None and not isfinite(settings.foresight):
        raise UsageError(f"--sees {settings.foresight} is not a loss of a mean; give a number such as 0.02")
    if settings.gates.against is not None:
        check_readable(Path(settings.gates.against))
    check_audit_outputs(settings.outputs, pairs=settings.judge_next is not None)
    claims = None if settings.claims is None else _read_claims(settings.claims)
    audit = None if suite_path is None else _audit(suite_path, read_as, settings)
    return _deliver(_with_claims(audit, claims), settings.outputs, tables=settings.tables, strict=settings.strict)


def _show_codes(settings: AuditCommand) -> int:
    """Every code with its severity and what it is about, theme by theme."""
    if settings.suite_path or settings.named_suite or settings.claims or settings.outputs:
        raise UsageError("--codes lists what an audit may find, and audits nothing; leave out what is to be audited or written")
    from searchmark.audit.check import all_kinds

    kinds = all_kinds().values()
    width = max(len(kind.code) for kind in kinds)
    for theme, of_theme in groupby(kinds, key=lambda kind: kind.theme):
        lines = [theme, *(f"  {kind.code:<{width}}  {kind.label:<16}  {kind.about}" for kind in of_theme)]
        show("\n".join(lines) + "\n\n")
    return EXIT_OK


def _read_claims(path: str) -> ClaimTable:
    from searchmark.audit.claim_table import read_claims

    return read_claims(path)


def _with_claims(audit: Audit | None, claims: ClaimTable | None) -> Audit:
    from searchmark.audit.check import NOTHING_ELSE
    from searchmark.experiments.audit import audit_claims

    audit = audit or NOTHING_ELSE
    return audit if claims is None else audit_claims(claims, audit)


def _audit(path: str, read_as: AuditedFiles, settings: AuditCommand) -> Audit:
    from searchmark.experiments.audit import audit_suite
    from searchmark.experiments.inputs import corpus_named, select_cases

    saved_runs, gates, foresight = settings.saved, settings.gates, settings.foresight
    source, mapping = SuiteFileSettings(path, read_as.format, read_as.topics, read_as.grades), settings.searched.mapping
    in_use = SuiteInUse.read(source, source.applied(settings.config), saved_runs, mapping)
    suite, config = in_use.suite, gates.in_force(in_use.setup, in_use.config)
    measures = measures_wanted(settings.measures, config)
    rules = gates.rules(config, measures)
    baseline = gates.baseline(config, rules, measures)
    if foresight is not None and not rules and not baseline.rules:
        raise UsageError(
            "--sees says which loss rules should see, and there is none; add --fail-under, --gate or a config with gates"
        )
    corpus = corpus_named(suite, in_use.corpus(settings.searched, settings.chosen_files))
    cases = select_cases(suite, settings.cases)
    with status_line("audit") as say:
        return audit_suite(
            cases,
            corpus,
            restrict_to_suite(saved_runs.load(mapping), suite, cases),
            measures,
            rules=rules,
            baseline=baseline,
            options=config.compare,
            foresight=foresight,
            suite_file=source.file,
            judge_next=settings.judge_next or 0,
            between=settings.between,
            on_progress=lambda done, of: say(f"{done} of {of} checks"),
        )


def _deliver(audit: Audit, outputs: tuple[str, ...], *, tables: bool, strict: bool) -> int:
    write_audit(audit, outputs)
    show_audit(audit, outputs, every_table=tables)
    return EXIT_GATE_FAILED if strict and any(each.severity == "error" for each in audit.findings) else EXIT_OK
