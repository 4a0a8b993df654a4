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
    from searchmark.analysis.comparison import CompareOptions as CompareOptions
    from searchmark.analysis.comparison import compare as compare
    from searchmark.analysis.gate import Evidence as Evidence
    from searchmark.analysis.gate import Gate as Gate
    from searchmark.analysis.gate import MeanBound as MeanBound
    from searchmark.analysis.gate import check_gate as check_gate
    from searchmark.analysis.gate import parse_threshold as parse_threshold
    from searchmark.analysis.scores import Scores as Scores
    from searchmark.analysis.scores import score as score
    from searchmark.config import DatasetConfig as DatasetConfig
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
    from searchmark.judging.judge import Judged as Judged
    from searchmark.judging.judge import judge as judge
    from searchmark.measures.grammar import parse_measure as parse_measure
    from searchmark.mining.gold_sets import generate_gold_set as generate_gold_set
    from searchmark.records import Answer as Answer
    from searchmark.records import Case as Case
    from searchmark.records import Defaults as Defaults
    from searchmark.records import Document as Document
    from searchmark.records import Hit as Hit
    from searchmark.records import Judgment as Judgment
    from searchmark.records import Run as Run
    from searchmark.records import Suite as Suite
    from searchmark.registry import load_agent as load_agent
    from searchmark.reports import Note as Note
    from searchmark.reports import Report as Report
    from searchmark.reports import build_comparison as build_comparison
    from searchmark.reports import build_report as build_report
    from searchmark.reports import read_report as read_report
    from searchmark.reports import render as render
    from searchmark.running.options import RunOptions as RunOptions
    from searchmark.running.runner import run_suite as run_suite
    from searchmark.runs import load_run as load_run
    from searchmark.runs import save_run as save_run
    from searchmark.suites import load_suite as load_suite
    from searchmark.suites import save_suite as save_suite
    from searchmark.suites.fixtures import load_baseline_metrics as load_baseline_metrics

_HOMES = {
    "agents.agent": ("AgentSpec", "RetrievalAgent", "RetrievalResult"),
    "analysis.comparison": ("CompareOptions", "compare"),
    "corpora.corpus": ("Changes", "Corpus", "FieldMapping", "load_corpus"),
    "config": ("DatasetConfig",),
    "errors": (
        "FormatError", "Incomparable", "NothingEvaluated", "SearchmarkError", "UnknownMeasure", "UsageError",
    ),
    "analysis.gate": ("Evidence", "Gate", "MeanBound", "check_gate", "parse_threshold"),
    "judging.judge": ("Judged", "judge"),
    "measures.grammar": ("parse_measure",),
    "mining.gold_sets": ("generate_gold_set",),
    "records": ("Answer", "Case", "Defaults", "Document", "Hit", "Judgment", "Run", "Suite"),
    "registry": ("load_agent",),
    "reports": ("Note", "Report", "build_comparison", "build_report", "read_report", "render"),
    "running.options": ("RunOptions",),
    "running.runner": ("run_suite",),
    "runs": ("load_run", "save_run"),
    "analysis.scores": ("Scores", "score"),
    "suites": ("load_suite", "save_suite"),
    "suites.fixtures": ("load_baseline_metrics",),
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
