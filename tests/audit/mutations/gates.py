"""Mutations for findings on gates."""

from __future__ import annotations

from dataclasses import replace

from searchmark import Answer, Baseline, Case, Document, GateRule, GateSettings, Hit, Judgment, Pin, Provenance, Run, rules_of
from searchmark.audit.check import Subject
from searchmark.config.gates import DecisionRule, DecisionTable
from searchmark.experiments.audit import build_subject
from searchmark.formats.suites.fixtures import BaselineCase, BaselineMetrics
from searchmark.gates.baselines import fixture_rules
from searchmark.records.provenance import AgentIdentity, SuiteIdentity
from tests.audit.clean import Clean
from tests.audit.mutations.mutation import Mutation


def with_gates(clean: Clean, **gates: object) -> Clean:
    return replace(clean, rules=tuple(rules_of(GateSettings(**gates))))  # type: ignore[arg-type]  # as in a config


def out_of_reach(clean: Clean) -> Subject:
    """Six targets of each case are relevant."""
    return with_gates(clean, thresholds={"P@10": 0.85}).subject()


def met_by_all(clean: Clean) -> Subject:
    return with_gates(clean, thresholds={"RR": 0.0}).subject()


def met_by_chance(clean: Clean) -> Subject:
    return with_gates(clean, thresholds={"nDCG@10": 0.001}).subject()


def pinned_elsewhere(clean: Clean) -> Subject:
    return with_gates(clean, pins=(Pin("c00", must_not_contain="archive/d0001"),)).subject()


def about_no_case(clean: Clean) -> Subject:
    return with_gates(clean, rules=(GateRule(measure="RR", at_least=0.1, where={"category": "nowhere"}),)).subject()


def passed_by_most(clean: Clean) -> Subject:
    return with_gates(clean, pins=(Pin("c00", must_not_contain="d0001"),)).subject()


def few_orders(clean: Clean) -> Subject:
    """Three documents, two of them relevant: half of their orders begin with a relevant one and pass."""
    documents = tuple(Document(each, each) for each in "abc")
    ranked = tuple(Judgment(each, grade=grade, rank=rank) for each, grade, rank in (("a", 1, 1), ("b", 1, 2), ("c", 0, 3)))
    case = Case("pair", clean.cases[0].query, ranked, documents=documents)
    known = BaselineMetrics((BaselineCase("pair", {"mrr": 1.0}, 3),))
    return replace(clean.with_cases([case]), answers={}).subject(rules=tuple(fixture_rules(known)))


def too_few_cases(clean: Clean) -> Subject:
    few = clean.with_cases(clean.cases[:5])
    kept = {name: answers[:5] for name, answers in clean.answers.items()}
    return with_gates(replace(few, answers=kept), rules=(GateRule(measure="RR", against="baseline"),)).subject()


def bound_far_below(clean: Clean) -> Subject:
    return with_gates(clean, thresholds={"nDCG@10": 0.2}).subject()


def wanted_too_small(clean: Clean) -> Subject:
    return with_gates(clean, rules=(GateRule(measure="nDCG@10", against="baseline"),)).subject(foresight=0.02)


def asked_twice(clean: Clean, *, noisy: bool = True, **gates: object) -> Subject:
    """The same agent twice: the second time, where it is noisy, every other case has its hits in another order."""
    ran = with_gates(clean, **gates)
    changed = tuple(_turned(answer) if noisy and row % 2 else answer for row, answer in enumerate(clean.answers["strong"]))
    agent, suite = AgentIdentity("strong", code="abc"), SuiteIdentity("clean")
    runs = [
        Run.from_answers("strong", answers, provenance=Provenance(id=name, agent=agent, suite=suite))
        for name, answers in (("one", clean.answers["strong"]), ("two", changed))
    ]
    subject = ran.subject()
    return build_subject(subject.suite, subject.corpus, runs, clean.measures, rules=ran.rules, baseline=Baseline())


def _turned(answer: Answer) -> Answer:
    hits = (answer.hits[1], answer.hits[0], *answer.hits[2:])
    return replace(answer, hits=tuple(Hit(hit.id, rank) for rank, hit in enumerate(hits, 1)))


def flaps(clean: Clean) -> Subject:
    subject = asked_twice(clean)
    scores = next(iter(subject.scores.values()))
    mean = float(scores.values[:, scores.names.index("nDCG@10")].mean())
    return asked_twice(clean, thresholds={"nDCG@10": mean})


def hole(clean: Clean) -> Subject:
    rules = (DecisionRule("keep it", above=0.1), DecisionRule("drop it", below=0.05))
    return clean.subject(decisions=(DecisionTable("strong", "weak", rules),))


MUTATIONS: dict[str, Mutation] = {
    "unattainable-threshold": out_of_reach,
    "threshold-always-met": met_by_all,
    "threshold-below-random": met_by_chance,
    "pin-outside-corpus": pinned_elsewhere,
    "rule-without-cases": about_no_case,
    "gate-passed-by-chance": passed_by_most,
    "fixture-passed-by-chance": few_orders,
    "unresolvable-rule": too_few_cases,
    "large-loss-unseen": bound_far_below,
    "wanted-loss-unseen": wanted_too_small,
    "flapping-rule": flaps,
    "decision-hole": hole,
}
