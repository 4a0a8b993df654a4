"""``assert_search``: an agent is asked a suite, and what it answers must meet a gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

from searchmark.agents.modes import in_one_mode
from searchmark.corpora.case_locations import Where, where_in
from searchmark.errors import UsageError
from searchmark.experiments import Experiment, gate_run
from searchmark.files.store import check_shape
from searchmark.gates.baselines import baseline_in_use
from searchmark.gates.looking import LookBook
from searchmark.gates.reading import look_book, rules_of
from searchmark.gates.rules import Gate
from searchmark.options.gate_options import GateOptions
from searchmark.options.run_options import RunOptions
from searchmark.options.user_paths import user_path
from searchmark.records import Run, Suite
from searchmark.registry import load_agent
from searchmark.suites import load_suite_with_setup
from searchmark.suites.native import NO_SETUP, SuiteSetup
from searchmark.testing.sentences import explained

AnyPath = str | PathLike[str]


def assert_search(
    agent: Any,
    suite: Suite | AnyPath,
    gates: GateOptions | Mapping[str, Any],
    corpus: AnyPath | None = None,
    baseline: Run | AnyPath | None = None,
    *,
    options: RunOptions = RunOptions(),
) -> None:
    """Ask an agent every case of a suite; raises AssertionError with everything that the gate says against it.

    ``agent`` is whatever `load_agent` takes, a function ``(query, k)`` that returns hits for one. ``gates`` are as in a
    config, or the lowest means alone: ``{"P@5": 0.85}``. ``corpus`` is what is searched, where neither the suite nor the
    function knows that. A ``baseline``, or that of the gates, is used: without a rule about it nDCG@10 must not be worse. A
    result that cannot be relied on raises as well.
    """
    __tracebackhide__ = True
    path = None if isinstance(suite, Suite) else user_path(suite)
    asked, setup = (suite, NO_SETUP) if isinstance(suite, Suite) else load_suite_with_setup(suite)
    wanted = gate_options_of(gates)
    rules = rules_of(wanted)
    named = wanted.baseline if baseline is None else baseline if isinstance(baseline, Run) else user_path(baseline)
    compared_with = baseline_in_use(named, None, rules)
    if not rules and not compared_with.rules:
        raise UsageError('there is no rule to check: give gates, such as {"P@5": 0.85}')
    where = _where(agent, asked, corpus, setup, path)
    spec = in_one_mode(load_agent(agent))
    ran = Experiment(asked, (spec,), where, options=options).run()
    looks = LookBook() if named is None or isinstance(named, Run) else look_book(wanted, rules, user_path(named))
    _, gate = gate_run(ran.suite, ran.runs, rules, baseline=compared_with, looks=looks, corpus=ran.survey)
    if gate is not None and gate.verdict != "passed":
        raise AssertionError(_said(gate, ran.runs[0].agent, ran.suite))


def gate_options_of(gates: GateOptions | Mapping[str, Any]) -> GateOptions:
    """Gates as a config has them, or as thresholds alone."""
    if isinstance(gates, GateOptions):
        return gates
    from pydantic import TypeAdapter

    known = {each.name for each in fields(GateOptions)}
    content = dict(gates) if known & set(gates) else {"thresholds": dict(gates)}
    return check_shape("gates", TypeAdapter(GateOptions), content)


def _where(agent: Any, suite: Suite, corpus: AnyPath | None, setup: SuiteSetup, path: Path | None) -> Where:
    """What is searched: what was named, what the suite brings along, or what a function knows by itself."""
    searched = corpus if corpus is not None else setup.corpus
    if searched is not None:
        return where_in(searched)
    function = callable(agent) and not isinstance(agent, type) and not hasattr(agent, "retrieve")
    if function and suite.table.documents is None:
        return Where(service=getattr(agent, "__name__", "function"))
    return Where(base=None if path is None else path.parent)


def _said(gate: Gate, agent: str, suite: Suite) -> str:
    """What is wrong, the failed rules first; a result that cannot be relied on says so in its first words."""
    failed = [rule for rule in gate.rules if rule.verdict == "failed"]
    unknown = [rule for rule in gate.rules if rule.verdict not in ("passed", "failed")]
    head = f"{agent} does not meet {len(failed)} of {len(gate.rules)} rules on the suite {suite.name!r}"
    if unknown:
        head = f"the result of {agent} on the suite {suite.name!r} cannot be relied on: {len(unknown)} of {len(gate.rules)} rules"
        head += " cannot be checked" + (f", {len(failed)} are not met" if failed else "")
    return "\n".join([f"{head}:", *(f"- {explained(rule, suite)}" for rule in (*failed, *unknown))])
