"""``searchmark audit``."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from searchmark.cli._audits import check_audit_outputs, show_audit, write_audit
from searchmark.cli._corpus import chosen, corpus_named, corpus_options, with_corpus_of
from searchmark.cli._gates import GATE, GateAgainst, against_options, with_gates_of
from searchmark.cli._groups import NamedSuite, SavedRuns, SuiteChoice, config_option, measures_wanted, told_by
from searchmark.cli._live import case_filter, wanted_cases
from searchmark.cli._options import OUTPUT, WHAT_TO_RUN, WHAT_TO_SEARCH, Given, option, option_group
from searchmark.cli._progress import status_line
from searchmark.cli._variadic import VariadicBesideSuite
from searchmark.config import Config
from searchmark.errors import EXIT_GATE_FAILED, EXIT_OK, UsageError
from searchmark.files.store import check_readable
from searchmark.options.corpus_choice import CorpusChoice, FileChoice
from searchmark.options.experiment_options import CaseSelection
from searchmark.options.grade_words import GRADES_HELP
from searchmark.options.option import Option
from searchmark.runs.cut import narrowed
from searchmark.suites.detect import FORMATS as SUITE_FORMATS

if TYPE_CHECKING:
    from searchmark.audit.claims.claim_table import ClaimTable
    from searchmark.audit.result import Audit

WHAT_TO_AUDIT = WHAT_TO_RUN


@dataclass(frozen=True)
class AuditedFiles:
    """How the suite and its corpus are read."""

    format: Annotated[str | None, Option("Format of the suite.", default="detected", choices=tuple(SUITE_FORMATS))] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None


@click.command(
    "audit", cls=VariadicBesideSuite, short_help="Check whether scores on a suite, or published numbers, can mean anything."
)
@click.argument("suite_path", metavar="[SUITE]", required=False)
@option(WHAT_TO_AUDIT, "--gold-set", "--suite", "named_suite", metavar="SUITE", help="The suite, as other commands name it.")
@option_group(AuditedFiles, "read_as", WHAT_TO_AUDIT)
@option_group(SavedRuns, "saved", WHAT_TO_AUDIT)
@option(WHAT_TO_AUDIT, "-m", "--measure", "measures", multiple=True, help="Measure or formula; repeatable.")
@option(
    WHAT_TO_AUDIT,
    "--claims",
    metavar="FILE",
    help="Table of published numbers to check (.csv, .tsv, .md): name, n, measures.",
)
@option(
    WHAT_TO_AUDIT,
    "--next",
    "judge_next",
    metavar="N",
    type=click.IntRange(1),
    help="List N unjudged pairs whose grades would settle a comparison of two runs soonest; -o next.csv writes them.",
)
@option(
    WHAT_TO_AUDIT, "--between", nargs=2, metavar="A B", help="The runs that --next is about; by default the best not told apart."
)
@config_option(WHAT_TO_AUDIT, "the section 'gates'")
@option_group(CorpusChoice, "searched", WHAT_TO_SEARCH)
@corpus_options
@case_filter
@against_options
@option(
    GATE,
    "--sees",
    "foresight",
    type=click.FloatRange(0, min_open=True),
    metavar="LOSS",
    help="Loss of a mean, such as 0.02, that every rule should see; says what it takes.",
)
@option(
    OUTPUT,
    "-o",
    "--output",
    "outputs",
    metavar="PATH",
    multiple=True,
    help="Audit (.html, .md, .json, .txt; - for JSON), or pairs of --next (.csv, .jsonl); repeatable.",
)
@option(OUTPUT, "--tables", is_flag=True, help="Print all tables, also those that no finding refers to.")
@option(OUTPUT, "--strict", is_flag=True, help="Exit with 1 if there is a finding of severity error.")
def command(
    suite_path: str | None,
    named_suite: str | None,
    read_as: AuditedFiles,
    saved: SavedRuns,
    measures: tuple[str, ...],
    claims: str | None,
    judge_next: int | None,
    between: tuple[str, str] | None,
    config: Config,
    searched: CorpusChoice,
    chosen_files: Given[FileChoice],
    cases: CaseSelection,
    gates: GateAgainst,
    foresight: float | None,
    outputs: tuple[str, ...],
    tables: bool,
    strict: bool,
) -> int:
    """Check whether scores on a suite can mean anything: the gold, the runs, the gate, and published numbers.

    Every finding has a code, a severity, the cases that it is about, why it matters and what to do. The more is known, the
    more is checked: name the corpus, runs, and the config with the gates.

    \b
    searchmark audit suite.yaml --corpus docs/
    searchmark audit qrels.txt --topics topics.tsv --corpus corpus.jsonl --run a.run --run b.run -o audit.json
    searchmark audit suite.yaml --run run.jsonl --config searchmark.yaml --sees 0.02 --strict
    searchmark audit --claims table.csv
    searchmark audit suite.jsonl --corpus corpus.jsonl --run a.run --run b.run --next 20 -o next.csv
    """
    if suite_path is not None and named_suite is not None:
        raise UsageError(f"the suite is named twice: {suite_path} and --gold-set {named_suite}; name it once")
    suite_path = suite_path or named_suite
    if suite_path is None and claims is None and config.suite.path is not None:
        chosen, _ = NamedSuite(None, read_as.format, read_as.topics).chosen(config)
        suite_path, read_as = chosen.path, AuditedFiles(chosen.format, chosen.topics)
    if suite_path is None and claims is None:
        raise UsageError("nothing says what to audit: name a suite, or a table of published numbers with --claims")
    if judge_next is None and between:
        raise UsageError("--between says which runs --next is about; add --next")
    if judge_next is not None and len(saved.run_paths) < 2:  # noqa: PLR2004  # a comparison has two sides
        raise UsageError("--next needs a suite and two runs, whose comparison the grades would settle; name them with --run")
    if foresight is not None and suite_path is None:
        raise UsageError("--sees says which loss the rules of a gate should see on a suite; name the suite")
    if foresight is not None and not isfinite(foresight):
        raise UsageError(f"--sees {foresight} is not a loss of a mean; give a number such as 0.02")
    if gates.against is not None:
        check_readable(Path(gates.against))
    check_audit_outputs(outputs, pairs=judge_next is not None)
    published = None if claims is None else _published(claims)
    found = (
        None
        if suite_path is None
        else _audited(
            suite_path,
            read_as,
            saved,
            measures,
            config,
            (searched, chosen_files),
            cases,
            gates,
            foresight,
            (judge_next or 0, between),
        )
    )
    return _deliver(_with_claims(found, published), outputs, tables=tables, strict=strict)


def _published(path: str) -> ClaimTable:
    from searchmark.audit.claims import read_claims

    return read_claims(path)


def _with_claims(found: Audit | None, published: ClaimTable | None) -> Audit:
    from searchmark.audit.result import NOTHING_ELSE
    from searchmark.suite_audit import audit_claims

    found = found or NOTHING_ELSE
    return found if published is None else audit_claims(published, found)


def _audited(
    path: str,
    read_as: AuditedFiles,
    saved: SavedRuns,
    measures: tuple[str, ...],
    config: Config,
    corpus_said: tuple[CorpusChoice, Given[FileChoice]],
    cases: CaseSelection,
    gates: GateAgainst,
    foresight: float | None,
    pairs: tuple[int, tuple[str, str] | None],
) -> Audit:
    from searchmark.suite_audit import audit_suite

    searched, chosen_files = corpus_said
    source = SuiteChoice(path, read_as.format, read_as.topics, read_as.grades)
    config = source.applied(config)
    suite, setup = source.load(searched.mapping)
    config = with_gates_of(setup, config)
    asked = measures_wanted(measures, config)
    rules = gates.rules(config, asked)
    baseline = gates.baseline(config, rules, asked)
    if foresight is not None and not rules and not baseline.rules:
        raise UsageError(
            "--sees says which loss rules should see, and there is none; add --fail-under, --gate or a config with gates"
        )
    searched = chosen(with_corpus_of(setup, config, searched), chosen_files, config, told_by(source, saved, ()))
    corpus = corpus_named(suite, searched)
    kept = wanted_cases(suite, cases)
    with status_line("audit") as say:
        return audit_suite(
            kept,
            corpus,
            narrowed(saved.load(searched.mapping), suite, kept),
            asked,
            rules=rules,
            baseline=baseline,
            options=config.compare,
            foresight=foresight,
            suite_file=source.file,
            judge_next=pairs[0],
            between=pairs[1],
            on_progress=lambda done, of: say(f"{done} of {of} checks"),
        )


def _deliver(found: Audit, outputs: tuple[str, ...], *, tables: bool, strict: bool) -> int:
    write_audit(found, outputs)
    show_audit(found, outputs, every_table=tables)
    return EXIT_GATE_FAILED if strict and any(each.severity == "error" for each in found.findings) else EXIT_OK
