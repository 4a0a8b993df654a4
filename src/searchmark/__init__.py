"""Searchmark measures search quality: suites in, numbers that hold up out.

The public names are imported when they are first used, so that ``import searchmark`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from searchmark.agents.protocol import RetrievalAgent as RetrievalAgent
    from searchmark.agents.protocol import RetrievalResult as RetrievalResult
    from searchmark.agents.registry import load_agent as load_agent
    from searchmark.audit.check import Subject as Subject
    from searchmark.audit.full import check as check
    from searchmark.config.agents import AgentSpec as AgentSpec
    from searchmark.config.file import load_config as load_config
    from searchmark.config.gates import CompareSettings as CompareSettings
    from searchmark.config.gates import GateRule as GateRule
    from searchmark.config.gates import GateSettings as GateSettings
    from searchmark.config.gates import KnownFailure as KnownFailure
    from searchmark.config.gates import Pin as Pin
    from searchmark.config.run import CaseSelection as CaseSelection
    from searchmark.config.run import ExecutorSettings as ExecutorSettings
    from searchmark.config.run import ReportSettings as ReportSettings
    from searchmark.config.run import ResumeSettings as ResumeSettings
    from searchmark.config.run import RunSettings as RunSettings
    from searchmark.config.sections import Config as Config
    from searchmark.config.sections import DatasetSettings as DatasetSettings
    from searchmark.errors import FormatError as FormatError
    from searchmark.errors import Incomparable as Incomparable
    from searchmark.errors import NothingEvaluated as NothingEvaluated
    from searchmark.errors import SearchmarkError as SearchmarkError
    from searchmark.errors import UnknownMeasure as UnknownMeasure
    from searchmark.errors import UsageError as UsageError
    from searchmark.experiments.audit import audit_suite as audit_suite
    from searchmark.experiments.evaluation import ArchiveInUse as ArchiveInUse
    from searchmark.experiments.evaluation import Evaluation as Evaluation
    from searchmark.experiments.evaluation import NextStep as NextStep
    from searchmark.experiments.evaluation import compare_runs as compare_runs
    from searchmark.experiments.evaluation import evaluate_run as evaluate_run
    from searchmark.experiments.evaluation import score_runs as score_runs
    from searchmark.experiments.experiment import Experiment as Experiment
    from searchmark.experiments.experiment import run_suite as run_suite
    from searchmark.experiments.inputs import agent_to_evaluate as agent_to_evaluate
    from searchmark.experiments.inputs import agents_named as agents_named
    from searchmark.experiments.inputs import archived_paths as archived_paths
    from searchmark.experiments.inputs import baseline_file as baseline_file
    from searchmark.experiments.inputs import corpus_in_use as corpus_in_use
    from searchmark.experiments.inputs import only_agent as only_agent
    from searchmark.experiments.inputs import saved_runs_on as saved_runs_on
    from searchmark.experiments.inputs import scope_in_use as scope_in_use
    from searchmark.experiments.inputs import survey_of as survey_of
    from searchmark.experiments.inputs import with_builtin_repository as with_builtin_repository
    from searchmark.experiments.inputs import with_fields_of_targets as with_fields_of_targets
    from searchmark.experiments.inputs import with_gates_of as with_gates_of
    from searchmark.experiments.inputs import with_saved as with_saved
    from searchmark.experiments.sweep import SweepFolder as SweepFolder
    from searchmark.experiments.sweep import SweepRequest as SweepRequest
    from searchmark.experiments.sweep import run_sweep as run_sweep
    from searchmark.experiments.sweep_grid import grid_of as grid_of
    from searchmark.experiments.sweep_grid import load_sweep as load_sweep
    from searchmark.experiments.sweep_rows import sweep_result as sweep_result
    from searchmark.formats.corpora.case_locations import SearchScope as SearchScope
    from searchmark.formats.corpora.corpus import Changes as Changes
    from searchmark.formats.corpora.corpus import Corpus as Corpus
    from searchmark.formats.corpora.corpus import load_corpus as load_corpus
    from searchmark.formats.corpora.source import FieldMapping as FieldMapping
    from searchmark.formats.runs import load_run as load_run
    from searchmark.formats.runs import save_run as save_run
    from searchmark.formats.runs import save_runs as save_runs
    from searchmark.formats.suites import load_suite as load_suite
    from searchmark.formats.suites import load_suite_with_setup as load_suite_with_setup
    from searchmark.formats.suites import save_suite as save_suite
    from searchmark.formats.suites.fixtures import load_baseline_metrics as load_baseline_metrics
    from searchmark.gates.baselines import Baseline as Baseline
    from searchmark.gates.baselines import baseline_in_use as baseline_in_use
    from searchmark.gates.baselines import load_baseline as load_baseline
    from searchmark.gates.baselines import named_baseline as named_baseline
    from searchmark.gates.bounds import mean_bound as mean_bound
    from searchmark.gates.bounds import parse_threshold as parse_threshold
    from searchmark.gates.rules import Evidence as Evidence
    from searchmark.gates.rules import Gate as Gate
    from searchmark.gates.rules import check_gate as check_gate
    from searchmark.gates.section import look_counter as look_counter
    from searchmark.gates.section import rules_of as rules_of
    from searchmark.gates.sequential import LookCounter as LookCounter
    from searchmark.judgments.gold_sets import generate_gold_set as generate_gold_set
    from searchmark.judgments.gold_sets import mine_suite as mine_suite
    from searchmark.measures.definition import MeasureDefinition as MeasureDefinition
    from searchmark.measures.definition import MeasureParameter as MeasureParameter
    from searchmark.measures.grammar import parse_measure as parse_measure
    from searchmark.records.answers import Answer as Answer
    from searchmark.records.answers import AnswerDetails as AnswerDetails
    from searchmark.records.answers import Hit as Hit
    from searchmark.records.document import Document as Document
    from searchmark.records.finding import Finding as Finding
    from searchmark.records.finding import FindingKind as FindingKind
    from searchmark.records.finding import finding as finding
    from searchmark.records.judgments import Judgment as Judgment
    from searchmark.records.merge import join_runs as join_runs
    from searchmark.records.provenance import Provenance as Provenance
    from searchmark.records.provenance import RunLabel as RunLabel
    from searchmark.records.run import Run as Run
    from searchmark.records.suite import Case as Case
    from searchmark.records.suite import Defaults as Defaults
    from searchmark.records.suite import Suite as Suite
    from searchmark.reports.archive import Archive as Archive
    from searchmark.reports.build import ReportExtras as ReportExtras
    from searchmark.reports.build import build_comparison as build_comparison
    from searchmark.reports.build import build_report as build_report
    from searchmark.reports.charts import Chart as Chart
    from searchmark.reports.charts import write_charts as write_charts
    from searchmark.reports.history import with_history as with_history
    from searchmark.reports.json_file import read_report as read_report
    from searchmark.reports.render import Renderer as Renderer
    from searchmark.reports.render import render as render
    from searchmark.reports.report import Report as Report
    from searchmark.scoring.comparability import comparable as comparable
    from searchmark.scoring.comparison import Comparison as Comparison
    from searchmark.scoring.comparison import compare as compare
    from searchmark.scoring.decisions import Decision as Decision
    from searchmark.scoring.decisions import with_decisions as with_decisions
    from searchmark.scoring.match import MatchedRun as MatchedRun
    from searchmark.scoring.match import match_hits as match_hits
    from searchmark.scoring.matches import Matches as Matches
    from searchmark.scoring.scores import Scores as Scores
    from searchmark.scoring.scores import score as score

_HOMES = {
    "audit.check": ("Subject",),
    "audit.full": ("check",),
    "agents.protocol": (
        "RetrievalAgent",
        "RetrievalResult",
    ),
    "agents.registry": ("load_agent",),
    "config.agents": ("AgentSpec",),
    "config.file": ("load_config",),
    "config.gates": (
        "CompareSettings",
        "GateRule",
        "GateSettings",
        "KnownFailure",
        "Pin",
    ),
    "config.run": (
        "CaseSelection",
        "ExecutorSettings",
        "ReportSettings",
        "ResumeSettings",
        "RunSettings",
    ),
    "config.sections": (
        "Config",
        "DatasetSettings",
    ),
    "errors": (
        "FormatError",
        "Incomparable",
        "NothingEvaluated",
        "SearchmarkError",
        "UnknownMeasure",
        "UsageError",
    ),
    "experiments.audit": ("audit_suite",),
    "experiments.evaluation": (
        "ArchiveInUse",
        "Evaluation",
        "NextStep",
        "compare_runs",
        "evaluate_run",
        "score_runs",
    ),
    "experiments.experiment": (
        "Experiment",
        "run_suite",
    ),
    "experiments.inputs": (
        "agent_to_evaluate",
        "agents_named",
        "archived_paths",
        "baseline_file",
        "corpus_in_use",
        "only_agent",
        "saved_runs_on",
        "scope_in_use",
        "survey_of",
        "with_builtin_repository",
        "with_fields_of_targets",
        "with_gates_of",
        "with_saved",
    ),
    "reports.charts": (
        "Chart",
        "write_charts",
    ),
    "experiments.sweep": (
        "SweepFolder",
        "SweepRequest",
        "run_sweep",
    ),
    "experiments.sweep_grid": (
        "grid_of",
        "load_sweep",
    ),
    "experiments.sweep_rows": ("sweep_result",),
    "formats.corpora.case_locations": ("SearchScope",),
    "formats.corpora.corpus": (
        "Changes",
        "Corpus",
        "load_corpus",
    ),
    "formats.corpora.source": ("FieldMapping",),
    "formats.runs": (
        "load_run",
        "save_run",
        "save_runs",
    ),
    "formats.suites": (
        "load_suite",
        "load_suite_with_setup",
        "save_suite",
    ),
    "formats.suites.fixtures": ("load_baseline_metrics",),
    "gates.baselines": (
        "Baseline",
        "baseline_in_use",
        "load_baseline",
        "named_baseline",
    ),
    "gates.bounds": (
        "mean_bound",
        "parse_threshold",
    ),
    "gates.rules": (
        "Evidence",
        "Gate",
        "check_gate",
    ),
    "gates.section": (
        "look_counter",
        "rules_of",
    ),
    "gates.sequential": ("LookCounter",),
    "judgments.gold_sets": (
        "generate_gold_set",
        "mine_suite",
    ),
    "measures.definition": (
        "MeasureDefinition",
        "MeasureParameter",
    ),
    "measures.grammar": ("parse_measure",),
    "records.answers": (
        "Answer",
        "AnswerDetails",
        "Hit",
    ),
    "records.document": ("Document",),
    "records.finding": (
        "Finding",
        "FindingKind",
        "finding",
    ),
    "records.judgments": ("Judgment",),
    "records.merge": ("join_runs",),
    "records.provenance": (
        "Provenance",
        "RunLabel",
    ),
    "records.run": ("Run",),
    "records.suite": (
        "Case",
        "Defaults",
        "Suite",
    ),
    "reports.archive": ("Archive",),
    "reports.build": (
        "ReportExtras",
        "build_comparison",
        "build_report",
    ),
    "reports.history": ("with_history",),
    "reports.json_file": ("read_report",),
    "reports.render": (
        "Renderer",
        "render",
    ),
    "reports.report": ("Report",),
    "scoring.comparability": ("comparable",),
    "scoring.comparison": (
        "Comparison",
        "compare",
    ),
    "scoring.decisions": (
        "Decision",
        "with_decisions",
    ),
    "scoring.match": (
        "MatchedRun",
        "match_hits",
    ),
    "scoring.matches": ("Matches",),
    "scoring.scores": (
        "Scores",
        "score",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  # a list of names, as it should be


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(f"searchmark.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value
    if name == "__version__":
        from importlib.metadata import version

        return version("searchmark")
    raise AttributeError(f"module 'searchmark' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
