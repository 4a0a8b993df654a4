"""For tests in Python: `check_agent`, `assert_search`, and measures of one list of results.

`searchmark.testing` is a public name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any

from searchmark.agents.registry import agent_in_one_mode, load_agent
from searchmark.config.gates import GateSettings
from searchmark.config.run import RunSettings
from searchmark.errors import UsageError, shortened
from searchmark.experiments.evaluation import Evaluation
from searchmark.experiments.experiment import Experiment
from searchmark.formats.corpora.case_locations import SearchScope, scope_of_corpus
from searchmark.formats.suites import load_suite_with_setup
from searchmark.formats.suites.native import NO_SETUP, SuiteSetup
from searchmark.gates.baselines import baseline_in_use
from searchmark.gates.rules import Gate, RuleResult
from searchmark.gates.section import look_counter, rules_of
from searchmark.gates.sequential import LookCounter
from searchmark.io.data import check_shape
from searchmark.io.paths import user_path
from searchmark.records.answers import Answer, Hit
from searchmark.records.document import id_text
from searchmark.records.run import Run
from searchmark.records.suite import Case, Suite
from searchmark.running.agent_check import check_agent
from searchmark.scoring.match import match_hits
from searchmark.scoring.scores import score

__all__ = [
    "RankingMetrics", "all_metrics", "assert_search", "check_agent",
    "ndcg_at_k", "precision_at_k", "recall_at_k", "reciprocal_rank",
]  # fmt: skip

# Measures of one list of results, as plain functions: a suite of one case, judged and scored like every other.

_CASE = "the list"


@dataclass(frozen=True)
class RankingMetrics:
    """What a list of results is worth: nDCG@k by the expected ranking, RR and P@k by what is relevant."""

    ndcg: float
    mrr: float
    precision_at_k: float
    k: int


def precision_at_k(results: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The share of the first k that is relevant, ``P@k``: divided by k, however few results there are."""
    return _value(results, _grades(relevant), f"P@{_cutoff(k)}")


def recall_at_k(results: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The share of what is relevant that is among the first k, ``R@k``; 0 where nothing is."""
    return _value(results, _grades(relevant), f"R@{_cutoff(k)}")


def reciprocal_rank(results: Sequence[str], relevant: Collection[str]) -> float:
    """1 / rank of the first relevant result, ``RR``; 0 without one."""
    return _value(results, _grades(relevant), "RR")


def ndcg_at_k(results: Sequence[str], relevant: Collection[str] | Mapping[str, int], k: int) -> float:
    """``nDCG@k`` with linear gain; ``relevant`` has the grade of each target, or names targets of grade 1."""
    return _value(results, _grades(relevant), f"nDCG@{_cutoff(k)}")


def all_metrics(results: Sequence[str], ranking: Sequence[str], relevant: Collection[str], k: int) -> RankingMetrics:
    """nDCG@k by an expected ranking, in which the first of n documents has grade n and the last 1; RR and P@k by ``relevant``."""
    results, ranked_ids = _ordered_ids(results, "results"), list(dict.fromkeys(_ordered_ids(ranking, "ranking")))
    relevant = relevant if isinstance(relevant, Mapping) else _text_ids(relevant, "relevant")
    grades = {target: len(ranked_ids) - place for place, target in enumerate(ranked_ids)}
    return RankingMetrics(
        ndcg=ndcg_at_k(results, grades, k),
        mrr=reciprocal_rank(results, relevant),
        precision_at_k=precision_at_k(results, relevant, k),
        k=_cutoff(k),
    )


def _value(results: Sequence[str], grades: Mapping[str, int], measure: str) -> float:
    hits = tuple(Hit(name, rank) for rank, name in enumerate(_ordered_ids(results, "results"), 1))
    run = Run.from_answers("results", [Answer(_CASE, "ok" if hits else "empty", hits)])
    return float(score(match_hits(Suite.from_grades({_CASE: dict(grades)}), run), [measure]).values[0, 0])


def _grades(relevant: Collection[str] | Mapping[str, int]) -> Mapping[str, int]:
    if isinstance(relevant, Mapping):
        return relevant
    return dict.fromkeys(_text_ids(relevant, "relevant"), 1)


def _ordered_ids(ids: Iterable[str], name: str) -> list[str]:
    """Ids best first; a set has no order, and what it is worth would change from process to process."""
    if isinstance(ids, set | frozenset):
        raise UsageError(f"{name} must be in an order, and a set has none; give a list, best first")
    return _text_ids(ids, name)


def _text_ids(ids: Iterable[str], name: str) -> list[str]:
    """A text is a collection of texts as well, and what has other ids would meet nothing: both would be a silent 0."""
    if not isinstance(ids, Iterable) or isinstance(ids, str):
        raise UsageError(f"{name} must be a list of ids, each of them text")
    return [id_text(each, f"{name}: an id") for each in ids]


def _cutoff(k: int) -> int:
    try:
        whole = 0 if isinstance(k, bool) else index(k)  # a whole number of NumPy is one too
    except TypeError:
        whole = 0
    if whole < 1:
        raise UsageError(f"k must be a whole number of at least 1, not {k!r}")
    return whole


# What a test says about a gate.

MAX_CASES_SHOWN, MAX_TARGETS_SHOWN, LONGEST_QUERY_SHOWN = 10, 5, 120


def explain_rule(result: RuleResult, suite: Suite) -> str:
    """The message of a rule, the cases that caused it with what they expect, and what weakens the rule itself."""
    return "\n".join(_case_lines(result, suite))


def describe_expected(case: Case) -> str:
    """What a case expects, the best first."""
    relevant = sorted((each for each in case.judgments if each.grade > 0), key=lambda each: (-each.grade, each.rank or 0))
    names = [each.target for each in relevant]
    if not names:
        return "no hit" if case.unanswerable else "nothing that is known: it has no relevant target"
    more = f" and {len(names) - MAX_TARGETS_SHOWN} more" if len(names) > MAX_TARGETS_SHOWN else ""
    return shortened(", ".join(names[:MAX_TARGETS_SHOWN]), LONGEST_QUERY_SHOWN) + more


def _case_lines(result: RuleResult, suite: Suite) -> Iterator[str]:
    yield result.message if result.verdict in ("passed", "failed") else f"{result.verdict}: {result.message}"
    rows = suite.table.index
    cases = [case for case in result.cases if case in rows] if result.verdict == "failed" else []
    for case in cases[:MAX_CASES_SHOWN]:
        entry = suite.cases[rows[case]]
        query = "" if entry.query is None else f" {shortened(entry.query, LONGEST_QUERY_SHOWN)!r}"
        yield f"  case {case}{query}: expected {describe_expected(entry)}"
    if len(cases) > MAX_CASES_SHOWN:
        yield f"  and {len(cases) - MAX_CASES_SHOWN} more cases"
    yield from (f"  {case_of_suite.severity} {case_of_suite.code}: {case_of_suite.message}" for case_of_suite in result.findings)


# ``assert_search``: an agent is asked a suite, and what it answers must meet a gate.

AnyPath = str | PathLike[str]


def assert_search(
    agent: Any,
    suite: Suite | AnyPath,
    gates: GateSettings | Mapping[str, Any],
    corpus: AnyPath | None = None,
    baseline: Run | AnyPath | None = None,
    *,
    options: RunSettings = RunSettings(),
) -> None:
    """Ask an agent every case of a suite; raises AssertionError with everything that the gate says against it.

    ``agent`` is whatever `load_agent` takes, a function ``(query, k)`` that returns hits for one. ``gates`` are as in a
    config, or the lowest means alone: ``{"P@5": 0.85}``. ``corpus`` is what is searched, where neither the suite nor the
    function knows that. A ``baseline``, or that of the gates, is used: without a rule about it nDCG@10 must not be worse. A
    result that cannot be relied on raises as well.
    """
    __tracebackhide__ = True
    path = None if isinstance(suite, Suite) else user_path(suite)
    cases, setup = (suite, NO_SETUP) if isinstance(suite, Suite) else load_suite_with_setup(suite)
    settings = read_gate_settings(gates)
    rules = rules_of(settings)
    baseline_run = settings.baseline if baseline is None else baseline if isinstance(baseline, Run) else user_path(baseline)
    compared_with = baseline_in_use(baseline_run, None, rules)
    if not rules and not compared_with.rules:
        raise UsageError('there is no rule to check: give gates, such as {"P@5": 0.85}')
    where = _search_scope(agent, cases, corpus, setup, path)
    spec = agent_in_one_mode(load_agent(agent))
    run_result = Experiment(cases, (spec,), where, options=options).run()
    looks = (
        LookCounter()
        if baseline_run is None or isinstance(baseline_run, Run)
        else look_counter(settings, rules, user_path(baseline_run))
    )
    evaluation = Evaluation(run_result.suite, corpus=run_result.survey, rules=rules, baseline=compared_with, looks=looks)
    _, gate = evaluation.gate(run_result.runs)
    if gate is not None and gate.verdict != "passed":
        raise AssertionError(_failure_message(gate, run_result.runs[0].agent, run_result.suite))


def read_gate_settings(gates: GateSettings | Mapping[str, Any]) -> GateSettings:
    """Gates as a config has them, or as thresholds alone."""
    if isinstance(gates, GateSettings):
        return gates
    from pydantic import TypeAdapter

    names = {each.name for each in fields(GateSettings)}
    content = dict(gates) if names & set(gates) else {"thresholds": dict(gates)}
    return check_shape("gates", TypeAdapter(GateSettings), content)


def _search_scope(agent: Any, suite: Suite, corpus: AnyPath | None, setup: SuiteSetup, path: Path | None) -> SearchScope:
    """What is searched: what was named, what the suite names, or what a function searches."""
    corpus_path = corpus if corpus is not None else setup.corpus
    if corpus_path is not None:
        return scope_of_corpus(corpus_path)
    function = callable(agent) and not isinstance(agent, type) and not hasattr(agent, "retrieve")
    if function and suite.table.documents is None:
        return SearchScope(service=getattr(agent, "__name__", "function"))
    return SearchScope(base=None if path is None else path.parent)


def _failure_message(gate: Gate, agent: str, suite: Suite) -> str:
    """What is wrong, the failed rules first; a result that cannot be relied on says so in its first words."""
    failed = [rule for rule in gate.rules if rule.verdict == "failed"]
    unknown = [rule for rule in gate.rules if rule.verdict not in ("passed", "failed")]
    head = f"{agent} does not meet {len(failed)} of {len(gate.rules)} rules on the suite {suite.name!r}"
    if unknown:
        head = f"the result of {agent} on the suite {suite.name!r} cannot be relied on: {len(unknown)} of {len(gate.rules)} rules"
        head += " cannot be checked" + (f", {len(failed)} are not met" if failed else "")
    return "\n".join([f"{head}:", *(f"- {explain_rule(rule, suite)}" for rule in (*failed, *unknown))])
