"""From the section ``gates`` to rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from searchmark.gates.ann_quantities import AnnRecallOf
from searchmark.gates.bounds import NumberRule, mean_bound
from searchmark.gates.looking import LookBook
from searchmark.gates.looks import looks_path
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.pins import EachCaseRule, KnownFailureRule, PinRule
from searchmark.gates.presets import preset_named
from searchmark.gates.quantities import (
    CostOf,
    GatedNumber,
    LatencyOf,
    MeanOf,
    WholeRun,
    index_bytes,
    index_seconds,
    memory_bytes,
)
from searchmark.gates.reach import known_failure_in_range, telling_margin
from searchmark.gates.relative import MARGIN, RelativeRule
from searchmark.gates.rules import Rule
from searchmark.gates.segments import segment_of
from searchmark.gates.stated_quantities import RetriesOf, TokensOf
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.measures.undefined import refuse_over_cases
from searchmark.options.gate_options import PINNED, GateOptions, GateRule, KnownFailure, Pin

_INDEX = {"bytes": WholeRun("index size", " bytes", index_bytes), "seconds": WholeRun("index time", " s", index_seconds)}
_MEMORY = WholeRun("peak memory", " bytes", memory_bytes)


def gates_in_force(header: GateOptions, config: GateOptions) -> GateOptions:
    """Those of a suite's header if it says anything of gates, or else those of the config, whose baseline both share."""
    return config if header == GateOptions() else replace(header, baseline=header.baseline or config.baseline)


def rules_of(options: GateOptions) -> list[Rule]:
    """Every rule that the options state, those of the preset first."""
    preset = rules_of(preset_named(options.preset)) if options.preset else []
    return [*preset, *_own_rules(options)]


def no_worse_by(measure: str | AnyMeasure) -> RelativeRule:
    """The rule that there is no evidence of harm by a measure."""
    parsed = _of_cases(measure, "held against a baseline case by case")
    return RelativeRule(MeanOf(parsed, parsed.name), "no-evidence-of-harm")


def look_book(options: GateOptions, rules: Sequence[Rule], baseline: Path) -> LookBook:
    """Where looks are counted, beside the baseline; nowhere if nothing counts them."""
    counted = options.looks or any(isinstance(rule, RelativeRule) and rule.policy == "sequential" for rule in rules)
    return LookBook(looks_path(baseline) if counted else None)


def _own_rules(options: GateOptions) -> Iterator[Rule]:
    for name, minimum in options.thresholds.items():
        yield mean_bound(name, "at_least", minimum)
    for rule in options.rules:
        yield from _rules(rule)
    known = {failure.case: failure for failure in map(_failure, options.known_failures)}
    for name, minimum in options.each_case.items():
        yield EachCaseRule(_of_cases(name, "bounded case by case"), name, minimum, frozenset(known))
    pins = [(pin, list(_pin_rules(pin))) for pin in options.pins]
    for pin, rules in pins:
        if pin.case not in known:
            yield from rules
    for case, failure in known.items():
        yield KnownFailureRule(failure, tuple(rule for pin, rules in pins if pin.case == case for rule in rules))


def _rules(rule: GateRule) -> Iterator[Rule]:
    segment = segment_of(rule.where)
    if rule.measure is not None and not rule.bounds:
        quantity = MeanOf(_of_cases(rule.measure, "held against a baseline case by case"), rule.measure)
        margin = MARGIN if rule.margin is None else telling_margin(quantity.measure, rule.margin)
        yield RelativeRule(quantity, rule.policy or "no-evidence-of-harm", margin, segment)
    for bound, expected in rule.bounds.items():
        yield NumberRule(_quantity(rule), bound, expected, segment, rule.warn_above, rule.warn_below)


def _quantity(rule: GateRule) -> GatedNumber:
    return next(made(getattr(rule, name)) for name, made in _QUANTITIES.items() if getattr(rule, name) is not None)


def _latency(text: str) -> LatencyOf:
    kind, percentile = text.split(".")
    return LatencyOf(kind, percentile)


# What each field of a rule is about.
_QUANTITIES: Mapping[str, Callable[[Any], GatedNumber]] = {
    "measure": lambda name: MeanOf(parse_measure(name), name),
    "latency": _latency,
    "cost": CostOf,
    "tokens": TokensOf,
    "retries": RetriesOf,
    "own_k": AtOwnK,
    "ann_recall": AnnRecallOf,
    "memory": lambda _: _MEMORY,
    "index": _INDEX.__getitem__,
}


def _failure(given: str | KnownFailure) -> KnownFailure:
    failure = KnownFailure(given) if isinstance(given, str) else given
    return known_failure_in_range(failure, _of_cases(failure.measure, "bounded case by case"))


def _of_cases(name: str | AnyMeasure, use: str) -> AnyMeasure:
    measure = parse_measure(name)
    refuse_over_cases(measure, use)
    return measure


def _pin_rules(pin: Pin) -> Iterator[PinRule]:
    for bound in PINNED:
        wanted = getattr(pin, bound)
        if wanted:
            yield PinRule(pin, bound, (wanted,) if isinstance(wanted, str) else tuple(wanted))
