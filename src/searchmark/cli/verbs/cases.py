"""``searchmark cases``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
from annotated_types import Ge

from searchmark.cli._colour import in_colour
from searchmark.cli._corpus import chosen, corpus_options, survey_of, with_corpus_of
from searchmark.cli._groups import SavedRuns, SuiteChoice, config_option, measures_wanted, told_by
from searchmark.cli._live import case_filter, wanted_cases
from searchmark.cli._options import OUTPUT, WHAT_TO_SEARCH, Given, option, option_group
from searchmark.cli._output import STDOUT, remark, show, tell, width_of_terminal
from searchmark.cli._variadic import VariadicBesideCase
from searchmark.config import Config
from searchmark.errors import UsageError
from searchmark.measures.grammar import measures_named
from searchmark.options.corpus_choice import CorpusChoice, FileChoice
from searchmark.options.experiment_options import CaseSelection
from searchmark.options.grade_words import GRADES_HELP
from searchmark.options.option import Option
from searchmark.suites.builtin import builtin_suite, refuse_change
from searchmark.suites.detect import FORMATS as SUITE_FORMATS

if TYPE_CHECKING:
    from searchmark.analysis.scores import Scores
    from searchmark.corpora.corpus import Survey
    from searchmark.mining.case_diff import CaseDiff
    from searchmark.mining.decisions import CaseDecision, Verdict
    from searchmark.records import Suite

WHAT_TO_SHOW, WHAT_TO_DECIDE = "What to show", "What to decide"
SHOWN = 50
HITS = 20
SAID = {"reject": "rejected", "query": "asks the new query", "keep": "kept, and nothing is decided about it any more"}


@dataclass(frozen=True)
class CasesRead:
    """How the suite is read."""

    format: Annotated[str | None, Option("Format of the suite.", default="detected", choices=tuple(SUITE_FORMATS))] = None
    topics: Annotated[str | None, Option("Query texts for TREC qrels or labels.", metavar="FILE")] = None
    grades: Annotated[str | None, Option(GRADES_HELP, metavar="WORD=NUMBER,...")] = None


@dataclass(frozen=True)
class CasesShown:
    """How much is shown, and by what."""

    measures: Annotated[tuple[str, ...], Option("Measure or formula of the runs; repeatable.", ("-m", "--measure"))] = ()
    sort: Annotated[str | None, Option("List cases by this measure of the first run, the lowest first.", metavar="MEASURE")] = None
    limit: Annotated[int, Ge(0), Option("Number of cases to list; 0 for all.")] = SHOWN
    hits: Annotated[int, Ge(0), Option("Number of hits to show of each run; 0 for all.")] = HITS


@dataclass(frozen=True)
class CaseHistory:
    """What the history of a mined case says, and what people decided about it."""

    diff: Annotated[bool, Option("Show what the commit of CASE changed.", ("--diff",))] = False
    repos: Annotated[
        tuple[str, ...], Option("Repository of the gold set, for --diff; repeatable.", ("--repo",), "[NAME=]PATH")
    ] = ()
    decisions: Annotated[
        str | None, Option("File of decisions (.jsonl).", metavar="FILE", default="the file beside the gold set")
    ] = None


@dataclass(frozen=True)
class Decided:
    """A decision to record; it applies with the next generate."""

    reject: Annotated[str | None, Option("Reject a case of a gold set.", metavar="CASE")] = None
    keep: Annotated[str | None, Option("Take back what was decided about a case.", metavar="CASE")] = None
    because: Annotated[str | None, Option("Why, for people.", metavar="TEXT")] = None


@click.command("cases", cls=VariadicBesideCase, short_help="List the cases of a suite, show one, or decide about one.")
@click.argument("suite_path", metavar="SUITE")
@click.argument("case", metavar="[CASE]", required=False)
@option_group(CasesRead, "read_as", WHAT_TO_SHOW)
@option_group(SavedRuns, "saved", WHAT_TO_SHOW)
@option_group(CasesShown, "shown", WHAT_TO_SHOW)
@option_group(CaseHistory, "history", WHAT_TO_SHOW)
@option_group(Decided, "decided", WHAT_TO_DECIDE)
@option(WHAT_TO_DECIDE, "--query", "edited", nargs=2, metavar="CASE TEXT", help="Ask this text in the case of a gold set.")
@option_group(CorpusChoice, "searched", WHAT_TO_SEARCH)
@corpus_options
@config_option(WHAT_TO_SEARCH, "the corpus and the measures")
@case_filter
@option(
    OUTPUT,
    "-o",
    "--output",
    "outputs",
    metavar="PATH",
    multiple=True,
    help="File (.json, .txt), or - for JSON on stdout; repeatable.",
)
def command(
    suite_path: str,
    case: str | None,
    read_as: CasesRead,
    saved: SavedRuns,
    shown: CasesShown,
    history: CaseHistory,
    decided: Decided,
    edited: tuple[str, str] | None,
    searched: CorpusChoice,
    chosen_files: Given[FileChoice],
    config: Config,
    cases: CaseSelection,
    outputs: tuple[str, ...],
) -> None:
    """List the cases of a suite, show one with its judgments and what runs returned for it, or decide about one.

    CASE is the id of a case, or its whole query. With runs, the list has their values, and --sort shows where a run is worst. A
    case shows which target was returned at which rank, and which hits are duplicates or do not exist in the corpus. Decisions about
    the cases of a gold set are kept in a file beside it, which the next 'searchmark generate' applies.

    \b
    searchmark cases suite.yaml -k login
    searchmark cases suite.yaml --run run.jsonl --sort nDCG@10 --limit 10
    searchmark cases gold_set.json api@1a2b3c4d5e6f --diff
    searchmark cases gold_set.json --reject api@1a2b3c4d5e6f --because "asks for two things"
    searchmark cases gold_set.json --query api@1a2b3c4d5e6f "rows are lost when a file is empty"
    searchmark cases suite.yaml login-3 --corpus docs/ --run bm25.jsonl semantic.jsonl -m nDCG@10
    """
    from searchmark.mining.decisions import decisions_beside, read_decisions
    from searchmark.reports.case_layout import list_json, list_text, view_json, view_text
    from searchmark.reports.case_view import list_cases, view_case
    from searchmark.reports.text import WIDTH

    _check_outputs(outputs)
    if history.repos and not history.diff:
        raise UsageError("--repo says where --diff reads; add --diff, or leave it out")
    if history.diff and case is None:
        raise UsageError("--diff is of one case; name the case behind the suite")
    if case is not None and (cases != CaseSelection() or shown.sort):
        raise UsageError("-k, --category and --sort are for the list of cases; leave them out, or leave out CASE")
    source = SuiteChoice(suite_path, read_as.format, read_as.topics, read_as.grades)
    config = source.applied(config)
    suite, setup = source.load(searched.mapping)
    decisions_file = Path(history.decisions or decisions_beside(suite_path))
    if edited or decided != Decided():
        refuse_change(suite_path)
        return _decide(suite, decided, edited, decisions_file)
    decisions = read_decisions(decisions_file, missing_ok=history.decisions is None)
    searched = chosen(with_corpus_of(setup, config, searched), chosen_files, config, told_by(source, saved, ()))
    survey = survey_of(suite, searched)
    kept = wanted_cases(suite, cases)
    scores = _scores(suite, saved, shown, searched, survey, config)
    width, colour = width_of_terminal(WIDTH), in_colour(sys.stdout)
    if case is None:
        found = list_cases(suite, kept, scores, limit=shown.limit or None, sort=shown.sort, decisions=decisions)
        _deliver(outputs, list_json(found), list_text(found), list_text(found, colour=colour, width=width))
    else:
        diff = _diff(suite, case, history, source)
        view = view_case(suite, case, scores, survey, limit=shown.hits or None, decisions=decisions, diff=diff)
        _deliver(outputs, view_json(view), view_text(view), view_text(view, colour=colour, width=width))
    return None


def _diff(suite: Suite, case: str, history: CaseHistory, source: SuiteChoice) -> CaseDiff | None:
    if not history.diff:
        return None
    builtin = builtin_suite(source.path)
    located = None if builtin is None or history.repos else builtin.repository()
    repositories = history.repos if located is None else (located,)
    from searchmark.mining.case_diff import diff_of_case
    from searchmark.reports.case_view import row_of

    return diff_of_case(suite, suite.cases[row_of(suite, case)], repositories, source.file.parent)


def _decide(suite: Suite, decided: Decided, edited: tuple[str, str] | None, file: Path) -> None:
    """Record the one decision that was asked for."""
    from searchmark.mining.decisions import decision_about, read_decisions
    from searchmark.reports.case_view import row_of

    named = [name for name in (decided.reject, decided.keep, edited[0] if edited else None) if name is not None]
    if len(named) != 1:
        raise UsageError("name one case to decide about, with --reject, --query or --keep")
    if decided.keep is not None and decided.keep not in suite.table.index:
        taken_back = read_decisions(file, missing_ok=True).named(decided.keep)
        if taken_back is not None:  # rejected cases are not in the gold set that was mined since
            return _record(file, decided.keep, replace(taken_back, decision="keep", query=None, because=decided.because))
    case = suite.cases[row_of(suite, named[0])]
    if decided.reject is not None and not decided.because:
        raise UsageError("say why the case is rejected, with --because TEXT")
    verdict: Verdict = "query" if edited else "reject" if decided.reject is not None else "keep"
    return _record(file, case.id, decision_about(case, verdict, query=edited[1] if edited else None, because=decided.because))


def _record(file: Path, case: str, decision: CaseDecision) -> None:
    from searchmark.mining.decisions import record_decision

    record_decision(file, decision)
    tell(f"{case}: {SAID[decision.decision]}; the next 'searchmark generate' applies it")
    remark(f"written: {file}")


def _scores(
    suite: Suite, saved: SavedRuns, shown: CasesShown, searched: CorpusChoice, survey: Survey | None, config: Config
) -> Sequence[Scores]:
    """Every run on the whole suite, so that values are those of reports."""
    if not saved.run_paths:
        if shown.measures:
            raise UsageError("-m is computed for runs; name them with --run")
        return ()
    from searchmark.analysis.scores import default_measures
    from searchmark.experiments import score_runs

    asked = measures_named(shown.measures) or (measures_wanted((), config) or default_measures(suite))[:1]
    by = measures_named([shown.sort] if shown.sort else [])
    return score_runs(suite, saved.load(searched.mapping), [*by, *asked] if not shown.measures else [*asked, *by], corpus=survey)


def _check_outputs(outputs: Sequence[str]) -> None:
    for output in outputs:
        if output != STDOUT and Path(output).suffix.lower() not in (".json", ".txt"):
            raise UsageError(f"{output}: the extension must be one of .json, .txt")


def _deliver(outputs: Sequence[str], as_json: str, as_text: str, for_terminal: str) -> None:
    from searchmark.files.store import write_text
    from searchmark.services.environment_secrets import environment_secrets
    from searchmark.services.redaction import scrubbed

    for output in outputs:
        if output != STDOUT:
            text = as_json if Path(output).suffix.lower() == ".json" else as_text
            write_text(output, scrubbed(text, environment_secrets()))
            remark(f"written: {output}")
    show(as_json if STDOUT in outputs else for_terminal)
