"""The verb `searchmark cases`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from searchmark.cli.groups import (
    CHOSEN_FILES,
    SUITE_FORMAT,
    ConfigFile,
    SavedRuns,
    SuiteFileSettings,
    SuiteInUse,
    measures_wanted,
)
from searchmark.cli.live import CASE_FILTER
from searchmark.cli.options import OUTPUT, WHAT_TO_SEARCH, Flag, GivenSettings, OptionGroup, Positional, VariadicBesideCase, verb
from searchmark.cli.output import STDOUT, remark, show, tell, width_of_terminal
from searchmark.cli.terminal import in_colour
from searchmark.config.builtin import builtin_suite_at, refuse_builtin_target
from searchmark.config.inputs import GRADES_HELP, CorpusInputSettings, FileSettings
from searchmark.config.option import Option
from searchmark.config.run import CaseSelection
from searchmark.config.sections import Config
from searchmark.errors import UsageError
from searchmark.git.builtin import repository_of
from searchmark.measures.grammar import measures_named

if TYPE_CHECKING:
    from searchmark.formats.corpora.corpus import Survey
    from searchmark.git.mining.decisions import CaseDecision, Verdict
    from searchmark.git.sources import CaseDiff
    from searchmark.records.suite import Suite
    from searchmark.scoring.scores import Scores


WHAT_TO_SHOW, WHAT_TO_DECIDE = "What to show", "What to decide"

SHOWN = 50

HITS = 20

OUTCOMES = {"reject": "rejected", "query": "asks the new query", "keep": "kept, and nothing is decided about it any more"}


@dataclass(frozen=True)
class CasesRead:
    """How the suite is read."""

    format: Annotated[str | None, SUITE_FORMAT] = None
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
class DecisionSettings:
    """A decision to record."""

    reject: Annotated[str | None, Option("Reject a case of a gold set.", metavar="CASE")] = None
    keep: Annotated[str | None, Option("Take back what was decided about a case.", metavar="CASE")] = None
    because: Annotated[str | None, Option("Why, for people.", metavar="TEXT")] = None


@dataclass(frozen=True)
class CasesCommand:
    """The arguments and options of ``cases``."""

    suite_path: Annotated[str, Positional("SUITE")]
    case: Annotated[str | None, Positional("[CASE]", required=False)]
    read_as: Annotated[CasesRead, OptionGroup(WHAT_TO_SHOW)]
    saved: Annotated[SavedRuns, OptionGroup(WHAT_TO_SHOW)]
    shown: Annotated[CasesShown, OptionGroup(WHAT_TO_SHOW)]
    history: Annotated[CaseHistory, OptionGroup(WHAT_TO_SHOW)]
    decided: Annotated[DecisionSettings, OptionGroup(WHAT_TO_DECIDE)]
    edited: Annotated[
        tuple[str, str] | None,
        Flag(WHAT_TO_DECIDE, "--query", nargs=2, metavar="CASE TEXT", help="Ask this text in the case of a gold set."),
    ]
    searched: Annotated[CorpusInputSettings, OptionGroup(WHAT_TO_SEARCH)]
    chosen_files: Annotated[GivenSettings[FileSettings], CHOSEN_FILES]
    config: Annotated[Config, ConfigFile(WHAT_TO_SEARCH, "the corpus and the measures")]
    cases: Annotated[CaseSelection, CASE_FILTER]
    outputs: Annotated[
        tuple[str, ...],
        Flag(
            OUTPUT, "-o", "--output", metavar="PATH", multiple=True, help="File (.json, .txt), or - for JSON on stdout; repeatable."
        ),
    ]

    def refuse_contradictions(self) -> None:
        for output in self.outputs:
            if output != STDOUT and Path(output).suffix.lower() not in (".json", ".txt"):
                raise UsageError(f"{output}: the extension must be one of .json, .txt")
        if self.history.repos and not self.history.diff:
            raise UsageError("--repo says where --diff reads; add --diff, or leave it out")
        if self.history.diff and self.case is None:
            raise UsageError("--diff is of one case; name the case behind the suite")
        if self.case is not None and (self.cases != CaseSelection() or self.shown.sort):
            raise UsageError("-k, --category and --sort are for the list of cases; leave them out, or leave out CASE")


@verb("cases", CasesCommand, cls=VariadicBesideCase, short_help="List the cases of a suite, show one, or decide about one.")
def command(settings: CasesCommand) -> None:
    """List the cases of a suite, show one with its judgments and what runs returned for it, or decide about one.

    CASE is the id of a case, or its whole query. With runs, the list has their values, and --sort shows where a run is worst. A
    case shows which target was returned at which rank, and which hits are duplicates or do not exist in the corpus. Decisions about
    the cases of a gold set are kept in a file beside it, and apply whenever it is read or generated again.

    \b
    searchmark cases suite.yaml -k login
    searchmark cases suite.yaml --run run.jsonl --sort nDCG@10 --limit 10
    searchmark cases gold_set.json api@1a2b3c4d5e6f --diff
    searchmark cases gold_set.json --reject api@1a2b3c4d5e6f --because "asks for two things"
    searchmark cases gold_set.json --query api@1a2b3c4d5e6f "rows are lost when a file is empty"
    searchmark cases suite.yaml login-3 --corpus docs/ --run bm25.jsonl semantic.jsonl -m nDCG@10
    """
    from searchmark.experiments.inputs import select_cases, survey_of
    from searchmark.git.mining.decisions import decisions_path, read_decisions
    from searchmark.judgments.cases import list_cases, view_case
    from searchmark.reports.case_text import list_json, list_text, view_json, view_text

    settings.refuse_contradictions()
    source = SuiteFileSettings(settings.suite_path, settings.read_as.format, settings.read_as.topics, settings.read_as.grades)
    in_use = SuiteInUse.read(source, source.applied(settings.config), settings.saved, settings.searched.mapping, decided=False)
    suite, shown = in_use.suite, settings.shown
    decisions_file = Path(settings.history.decisions or decisions_path(settings.suite_path))
    if settings.edited or settings.decided != DecisionSettings():
        refuse_builtin_target(settings.suite_path)
        _decide(suite, settings.decided, settings.edited, decisions_file)
        return
    decisions = read_decisions(decisions_file, missing_ok=settings.history.decisions is None)
    survey = survey_of(suite, in_use.corpus(settings.searched, settings.chosen_files))
    cases = select_cases(suite, settings.cases)
    scores = _scores(in_use, settings.saved, shown, settings.searched.mapping, survey)
    if settings.case is None:
        case_list = list_cases(suite, cases, scores, limit=shown.limit or None, sort=shown.sort, decisions=decisions)
        _deliver(settings.outputs, list_json(case_list), partial(list_text, case_list))
    else:
        diff = _diff(suite, settings.case, settings.history, source)
        view = view_case(suite, settings.case, scores, survey, limit=shown.hits or None, decisions=decisions, diff=diff)
        _deliver(settings.outputs, view_json(view), partial(view_text, view))


def _diff(suite: Suite, case: str, history: CaseHistory, source: SuiteFileSettings) -> CaseDiff | None:
    if not history.diff:
        return None
    builtin = builtin_suite_at(source.path)
    repository = None if builtin is None or history.repos else repository_of(builtin.name)
    repositories = history.repos if repository is None else (repository,)
    from searchmark.git.sources import diff_of_case
    from searchmark.judgments.cases import row_of

    return diff_of_case(suite, suite.cases[row_of(suite, case)], repositories, source.file.parent)


def _decide(suite: Suite, decision: DecisionSettings, edit: tuple[str, str] | None, file: Path) -> None:
    """Record the one decision that was asked for."""
    from searchmark.git.mining.decisions import decision_about, read_decisions
    from searchmark.judgments.cases import row_of

    case_ids = [name for name in (decision.reject, decision.keep, edit[0] if edit else None) if name is not None]
    if len(case_ids) != 1:
        raise UsageError("name one case to decide about, with --reject, --query or --keep")
    if decision.keep is not None and decision.keep not in suite.table.index:
        taken_back = read_decisions(file, missing_ok=True).by_case_id(decision.keep)
        if taken_back is not None:  # rejected cases are not in the gold set that was mined since
            return _record(file, decision.keep, replace(taken_back, decision="keep", query=None, because=decision.because))
    case = suite.cases[row_of(suite, case_ids[0])]
    if decision.reject is not None and not decision.because:
        raise UsageError("say why the case is rejected, with --because TEXT")
    verdict: Verdict = "query" if edit else "reject" if decision.reject is not None else "keep"
    return _record(file, case.id, decision_about(case, verdict, query=edit[1] if edit else None, because=decision.because))


def _record(file: Path, case: str, decision: CaseDecision) -> None:
    from searchmark.git.mining.decisions import record_decision

    record_decision(file, decision)
    tell(f"{case}: {OUTCOMES[decision.decision]}")
    remark(f"written: {file}")


def _scores(
    in_use: SuiteInUse, saved_runs: SavedRuns, display: CasesShown, mapping: Iterable[str], survey: Survey | None
) -> Sequence[Scores]:
    """Every run on the whole suite, so that values are those of reports."""
    if not saved_runs.run_paths:
        if display.measures:
            raise UsageError("-m is computed for runs; name them with --run")
        return ()
    from searchmark.experiments.evaluation import score_runs
    from searchmark.scoring.scores import default_measures

    measures = measures_named(display.measures) or (measures_wanted((), in_use.config) or default_measures(in_use.suite))[:1]
    by = measures_named([display.sort] if display.sort else [])
    leading = [*by, *measures] if not display.measures else [*measures, *by]
    return score_runs(in_use.suite, saved_runs.load(mapping), leading, corpus=survey)


def _deliver(outputs: Sequence[str], as_json: str, as_text: Callable[..., str]) -> None:
    from searchmark.io.secrets import environment_secrets, scrub
    from searchmark.io.store import write_text
    from searchmark.reports.text import WIDTH

    for output in outputs:
        if output != STDOUT:
            text = as_json if Path(output).suffix.lower() == ".json" else as_text()
            write_text(output, scrub(text, environment_secrets()))
            remark(f"written: {output}")
    show(as_json if STDOUT in outputs else as_text(colour=in_colour(sys.stdout), width=width_of_terminal(WIDTH)))
