"""Searchmark measures search quality: suites in, numbers that hold up out.

The public names are imported when they are first used, so that ``import searchmark`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from searchmark.agents.agent import AgentSpec as AgentSpec
    from searchmark.agents.agent import RetrievalAgent as RetrievalAgent
    from searchmark.agents.agent import RetrievalResult as RetrievalResult
    from searchmark.analysis.comparison import Comparison as Comparison
    from searchmark.analysis.comparison import compare as compare
    from searchmark.analysis.decisions import Decision as Decision
    from searchmark.analysis.scores import Scores as Scores
    from searchmark.analysis.scores import score as score
    from searchmark.archive.past import with_history as with_history
    from searchmark.archive.store import Archive as Archive
    from searchmark.comparability import comparable as comparable
    from searchmark.config import DatasetConfig as DatasetConfig
    from searchmark.corpora.case_locations import Where as Where
    from searchmark.corpora.corpus import Changes as Changes
    from searchmark.corpora.corpus import Corpus as Corpus
    from searchmark.corpora.corpus import FieldMapping as FieldMapping
    from searchmark.corpora.corpus import load_corpus as load_corpus
    from searchmark.errors import FormatError as FormatError
    from searchmark.errors import Incomparable as Incomparable
    from searchmark.errors import NothingEvaluated as NothingEvaluated
    from searchmark.errors import SearchmarkError as SearchmarkError
    from searchmark.errors import UnknownMeasure as UnknownMeasure
    from searchmark.errors import UsageError as UsageError
    from searchmark.experiments import Experiment as Experiment
    from searchmark.experiments import compare_runs as compare_runs
    from searchmark.experiments import evaluate_run as evaluate_run
    from searchmark.experiments import run_suite as run_suite
    from searchmark.experiments import score_runs as score_runs
    from searchmark.findings import Finding as Finding
    from searchmark.gates.baselines import Baseline as Baseline
    from searchmark.gates.baselines import load_baseline as load_baseline
    from searchmark.gates.baselines import named_baseline as named_baseline
    from searchmark.gates.bounds import mean_bound as mean_bound
    from searchmark.gates.bounds import parse_threshold as parse_threshold
    from searchmark.gates.reading import rules_of as rules_of
    from searchmark.gates.rules import Evidence as Evidence
    from searchmark.gates.rules import Gate as Gate
    from searchmark.gates.rules import check_gate as check_gate
    from searchmark.judging.judge import Judged as Judged
    from searchmark.judging.judge import judge as judge
    from searchmark.judging.matches import Matches as Matches
    from searchmark.measures.grammar import parse_measure as parse_measure
    from searchmark.mining.gold_sets import generate_gold_set as generate_gold_set
    from searchmark.mining.gold_sets import mine_suite as mine_suite
    from searchmark.options.compare_options import CompareOptions as CompareOptions
    from searchmark.options.experiment_options import CaseSelection as CaseSelection
    from searchmark.options.experiment_options import Resumption as Resumption
    from searchmark.options.gate_options import GateOptions as GateOptions
    from searchmark.options.gate_options import GateRule as GateRule
    from searchmark.options.gate_options import KnownFailure as KnownFailure
    from searchmark.options.gate_options import Pin as Pin
    from searchmark.options.placement import Placement as Placement
    from searchmark.options.run_options import RunOptions as RunOptions
    from searchmark.records import Answer as Answer
    from searchmark.records import AnswerDetails as AnswerDetails
    from searchmark.records import Case as Case
    from searchmark.records import Defaults as Defaults
    from searchmark.records import Document as Document
    from searchmark.records import Hit as Hit
    from searchmark.records import Judgment as Judgment
    from searchmark.records import Provenance as Provenance
    from searchmark.records import Run as Run
    from searchmark.records import RunLabel as RunLabel
    from searchmark.records import Suite as Suite
    from searchmark.registry import load_agent as load_agent
    from searchmark.reports import Report as Report
    from searchmark.reports import build_comparison as build_comparison
    from searchmark.reports import build_report as build_report
    from searchmark.reports import read_report as read_report
    from searchmark.reports import render as render
    from searchmark.reports.charts import Chart as Chart
    from searchmark.reports.charts import write_charts as write_charts
    from searchmark.runs import load_run as load_run
    from searchmark.runs import save_run as save_run
    from searchmark.runs import save_runs as save_runs
    from searchmark.runs.join import joined as joined
    from searchmark.suite_audit import audit_suite as audit_suite
    from searchmark.suites import load_suite as load_suite
    from searchmark.suites import save_suite as save_suite
    from searchmark.suites.baseline_metrics import load_baseline_metrics as load_baseline_metrics

_HOMES = {
    "agents.agent": ("AgentSpec", "RetrievalAgent", "RetrievalResult"),
    "analysis.comparison": ("compare", "Comparison"),
    "analysis.decisions": ("Decision",),
    "analysis.scores": ("score", "Scores"),
    "archive.past": ("with_history",),
    "archive.store": ("Archive",),
    "comparability": ("comparable",),
    "config": ("DatasetConfig",),
    "corpora.case_locations": ("Where",),
    "corpora.corpus": ("Changes", "Corpus", "FieldMapping", "load_corpus"),
    "errors": ("FormatError", "Incomparable", "NothingEvaluated", "SearchmarkError", "UnknownMeasure", "UsageError"),
    "experiments": ("compare_runs", "evaluate_run", "Experiment", "run_suite", "score_runs"),
    "findings": ("Finding",),
    "gates.baselines": ("Baseline", "load_baseline", "named_baseline"),
    "gates.bounds": ("mean_bound", "parse_threshold"),
    "gates.reading": ("rules_of",),
    "gates.rules": ("check_gate", "Evidence", "Gate"),
    "judging.judge": ("judge", "Judged"),
    "judging.matches": ("Matches",),
    "measures.grammar": ("parse_measure",),
    "mining.gold_sets": ("generate_gold_set", "mine_suite"),
    "options.compare_options": ("CompareOptions",),
    "options.experiment_options": ("CaseSelection", "Resumption"),
    "options.gate_options": ("GateOptions", "GateRule", "KnownFailure", "Pin"),
    "options.placement": ("Placement",),
    "options.run_options": ("RunOptions",),
    "records": (
        "Answer", "AnswerDetails", "Case", "Defaults", "Document", "Hit", "Judgment", "Provenance", "Run", "RunLabel", "Suite",
    ),
    "registry": ("load_agent",),
    "reports": ("build_comparison", "build_report", "read_report", "render", "Report"),
    "reports.charts": ("Chart", "write_charts"),
    "runs": ("load_run", "save_run", "save_runs"),
    "runs.join": ("joined",),
    "suite_audit": ("audit_suite",),
    "suites": ("load_suite", "save_suite"),
    "suites.baseline_metrics": ("load_baseline_metrics",),
}  # fmt: skip
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
