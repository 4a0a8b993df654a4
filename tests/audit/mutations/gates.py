"""Mutations for findings on gates."""

from __future__ import annotations

from dataclasses import replace

from searchmark.audit.subject import Subject
from searchmark.gates.reading import rules_of
from searchmark.options.gate_options import GateOptions, Pin
from tests.audit.clean import Clean
from tests.audit.mutations.mutation import Mutation


def with_gates(clean: Clean, **gates: object) -> Clean:
    return replace(clean, rules=tuple(rules_of(GateOptions(**gates))))  # type: ignore[arg-type]  # as in a config


def out_of_reach(clean: Clean) -> Subject:
    """Six targets of each case are relevant."""
    return with_gates(clean, thresholds={"P@10": 0.85}).subject()


def met_by_all(clean: Clean) -> Subject:
    return with_gates(clean, thresholds={"RR": 0.0}).subject()


def met_by_chance(clean: Clean) -> Subject:
    return with_gates(clean, thresholds={"nDCG@10": 0.001}).subject()


def pinned_elsewhere(clean: Clean) -> Subject:
    return with_gates(clean, pins=(Pin("c00", must_not_contain="archive/d0001"),)).subject()


MUTATIONS: dict[str, Mutation] = {
    "unattainable-threshold": out_of_reach,
    "threshold-always-met": met_by_all,
    "threshold-below-random": met_by_chance,
    "pin-outside-corpus": pinned_elsewhere,
}
