"""From the section `gates` of a config, or a preset, to rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from searchmark.config.gates import PIN_BOUNDS, GateRule, GateSettings, KnownFailure, Pin
from searchmark.errors import UsageError
from searchmark.gates.bounds import MARGIN, NumberRule, RelativeRule, mean_bound
from searchmark.gates.pins import EachCaseRule, KnownFailureRule, PinRule
from searchmark.gates.quantities import (
    AnnRecallOf,
    AtOwnK,
    CostOf,
    GatedNumber,
    LatencyOf,
    MeanOf,
    RetriesOf,
    TokensOf,
    WholeRun,
    index_bytes,
    index_seconds,
    memory_bytes,
    segment_of,
)
from searchmark.gates.rules import Rule, check_known_failure, check_margin
from searchmark.gates.sequential import LookCounter, looks_path
from searchmark.measures.grammar import AnyMeasure, parse_measure, refuse_over_cases

# Gates that come with Searchmark, each with its exact measures.

PRESETS: dict[str, GateSettings] = {
    "search-relevance": GateSettings(
        rules=(
            GateRule(measure="Relevance", at_least=0.85),
            GateRule(measure="MRR@5", at_least=0.80),
            GateRule(measure="Precision@5", at_least=0.85),
        )
    ),
    "fts5-vector-reranker": GateSettings(
        rules=(
            GateRule(measure="Precision@5", above=0.60),
            GateRule(measure="Precision@10", above=0.50),
            GateRule(measure="MRR@10", above=0.5),
            GateRule(measure="HitRate@5", above=0.80),
        )
    ),
    "semantic-fixtures": GateSettings(
        rules=(
            GateRule(own_k="ndcg", at_least=0.90),
            GateRule(own_k="mrr", at_least=0.95),
            GateRule(own_k="precision", at_least=0.65),
        )
    ),
    "fashion-vectors": GateSettings(
        rules=(
            GateRule(measure="nDCG(gain=exp)@10", at_least=0.85),
            GateRule(ann_recall=10, at_least=0.95),
            GateRule(latency="index_only.p95", at_most=250, warn_above=150),
        )
    ),
}


def preset_named(name: str) -> GateSettings:
    """The preset of this name."""
    if name not in PRESETS:
        raise UsageError(f"there is no preset {name!r} of gates; there are: {', '.join(PRESETS)}")
    return PRESETS[name]


# From the section ``gates`` to rules.

_INDEX = {"bytes": WholeRun("index size", " bytes", index_bytes), "seconds": WholeRun("index time", " s", index_seconds)}

_MEMORY = WholeRun("peak memory", " bytes", memory_bytes)


def gates_in_force(header: GateSettings, config: GateSettings) -> GateSettings:
    """Those of a suite's header if it says anything of gates, or else those of the config, whose baseline both share."""
    return config if header == GateSettings() else replace(header, baseline=header.baseline or config.baseline)


def rules_of(options: GateSettings) -> list[Rule]:
    """Every rule that the options state, those of the preset first."""
    preset = rules_of(preset_named(options.preset)) if options.preset else []
    return [*preset, *_own_rules(options)]


def no_worse_rule(measure: str | AnyMeasure) -> RelativeRule:
    """The rule that there is no evidence of harm by a measure."""
    case_measure = _of_cases(measure, "held against a baseline case by case")
    return RelativeRule(MeanOf(case_measure, case_measure.name), "no-evidence-of-harm")


def look_counter(options: GateSettings, rules: Sequence[Rule], baseline: Path) -> LookCounter:
    """Where looks are counted, beside the baseline; nowhere if nothing counts them."""
    counted = options.looks or any(isinstance(rule, RelativeRule) and rule.policy == "sequential" for rule in rules)
    return LookCounter(looks_path(baseline) if counted else None)


def _own_rules(options: GateSettings) -> Iterator[Rule]:
    for name, minimum in options.thresholds.items():
        yield mean_bound(name, "at_least", minimum)
    for rule in options.rules:
        yield from _rules(rule)
    failures = {failure.case: failure for failure in map(_failure, options.known_failures)}
    for name, minimum in options.each_case.items():
        yield EachCaseRule(_of_cases(name, "bounded case by case"), name, minimum, frozenset(failures))
    pins = [(pin, list(_pin_rules(pin))) for pin in options.pins]
    for pin, rules in pins:
        if pin.case not in failures:
            yield from rules
    for case, failure in failures.items():
        yield KnownFailureRule(failure, tuple(rule for pin, rules in pins if pin.case == case for rule in rules))


def _rules(rule: GateRule) -> Iterator[Rule]:
    segment = segment_of(rule.where)
    if rule.measure is not None and not rule.bounds:
        quantity = MeanOf(_of_cases(rule.measure, "held against a baseline case by case"), rule.measure)
        margin = MARGIN if rule.margin is None else check_margin(quantity.measure, rule.margin)
        yield RelativeRule(quantity, rule.policy or "no-evidence-of-harm", margin, segment)
    for bound, expected in rule.bounds.items():
        yield NumberRule(_quantity(rule), bound, expected, segment, rule.warn_above, rule.warn_below)


def _quantity(rule: GateRule) -> GatedNumber:
    return next(maker(getattr(rule, name)) for name, maker in _QUANTITIES.items() if getattr(rule, name) is not None)


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


def _failure(entry: str | KnownFailure) -> KnownFailure:
    failure = KnownFailure(entry) if isinstance(entry, str) else entry
    return check_known_failure(failure, _of_cases(failure.measure, "bounded case by case"))


def _of_cases(name: str | AnyMeasure, use: str) -> AnyMeasure:
    measure = parse_measure(name)
    refuse_over_cases(measure, use)
    return measure


def _pin_rules(pin: Pin) -> Iterator[PinRule]:
    for bound in PIN_BOUNDS:
        targets = getattr(pin, bound)
        if targets:
            yield PinRule(pin, bound, (targets,) if isinstance(targets, str) else tuple(targets))
