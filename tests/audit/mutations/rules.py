"""For each code about rules: a report on the clean suite in whose gate one rule has it to say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from searchmark import Baseline, Finding, GateRule, GateSettings, LookCounter, Provenance, Run, Suite, evaluate_run, rules_of
from searchmark.formats.suites.fixtures import BaselineCase, BaselineMetrics
from searchmark.gates.baselines import NO_BASELINE, fixture_rules
from searchmark.gates.rules import Rule
from searchmark.records.provenance import AgentIdentity
from tests.audit.clean import clean

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
BUILDS, DAYS_BETWEEN = 10, 2  # as many as it takes for a baseline to be left behind, over more than 14 days


def _run(name: str = "strong", **known: object) -> Run:
    return Run.from_answers(name, clean().answers[name], provenance=Provenance(**known))  # type: ignore[arg-type]  # its fields


def _found(
    run: Run, rules: Sequence[Rule], baseline: Baseline = NO_BASELINE, looks: LookCounter | None = None
) -> Sequence[Finding]:
    suite = Suite.from_cases("clean", clean().cases)
    return evaluate_run(suite, [run], ["RR"], rules=rules, baseline=baseline, looks=looks or LookCounter()).audit


def _rules(**rule: object) -> list[Rule]:
    return rules_of(GateSettings(rules=(GateRule(**rule),)))  # type: ignore[arg-type]  # as in a config


def quiet() -> Sequence[Finding]:
    """A bound that a good run is far above."""
    return _found(_run(), _rules(measure="RR", at_least=0.3))


def near_its_bound() -> Sequence[Finding]:
    return _found(_run(), _rules(measure="RR", at_least=0.3, warn_below=0.999))


def of_another_model() -> Sequence[Finding]:
    known = BaselineMetrics((BaselineCase("c00", {"mrr": 0.5}, 10),), model="BAAI/bge-small")
    agent = AgentIdentity("strong", description={"embedder": {"model": "hashing"}})
    return _found(_run(agent=agent), fixture_rules(known))


def small_losses() -> Sequence[Finding]:
    return _found(_run(), _rules(measure="RR", against="baseline"), Baseline(_run("weak")))


def _build(number: int) -> Run:
    """Good answers, one of them a hit shorter than the others."""
    answers = list(clean().answers["strong"])
    answers[number] = replace(answers[number], hits=answers[number].hits[:-1])
    ended = NOON + timedelta(days=DAYS_BETWEEN * number)
    return Run.from_answers("strong", answers, provenance=Provenance(id=f"build-{number}", ended=ended))


def left_behind() -> Sequence[Finding]:
    """Good builds, one after the other, against a weak baseline."""
    rules = _rules(measure="nDCG@10", against="baseline")
    with TemporaryDirectory() as folder:
        looks = LookCounter(Path(folder) / "looks.json")
        return [_found(_build(number), rules, Baseline(_run("weak")), looks) for number in range(BUILDS)][-1]


FOUND: dict[str, Callable[[], Sequence[Finding]]] = {
    "warning-level": near_its_bound,
    "baseline-of-another-model": of_another_model,
    "baseline-left-behind": left_behind,
    "small-losses-unseen": small_losses,
}
