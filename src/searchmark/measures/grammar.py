"""The names of measures: what they mean, how they are written, and how to compute them.

A name follows the grammar of ir_measures: ``nDCG@10``, ``P(rel=2)@5``, ``F1(credit=dir)``. A formula is a
weighted sum of measures, ``0.4*P@5 + 0.3*R@5 + 0.3*RR``, and may be given a name: ``mine = 0.5*P@5 + 0.5*RR``.
Names are read without regard to case; one spelling is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import isfinite
from typing import TypeAlias

import numpy as np

from searchmark.errors import UnknownMeasure, UsageError
from searchmark.measures.catalogue import ALIASES, DEFINITIONS, FOREIGN_GAINS, FORMULAS, PARAMETERS, Definition, Value
from searchmark.measures.formulas import Floats, GradedHits
from searchmark.records import Defaults

_NAMES = {name.lower(): name for name in (*DEFINITIONS, *FORMULAS)} | ALIASES
LONGEST_NAME = 500
UNANSWERABLE = "the case is marked unanswerable and is scored by Abstain"
MOST_DIGITS = 9
_MEASURE = re.compile(r"(?P<name>[A-Za-z][\w ]*?)\s*(?:\((?P<params>[^()]*)\))?\s*(?:@\s*(?P<k>\S+))?")
_TREC_CUTOFF = re.compile(r"(p|recall|ndcg_cut|map_cut|success)_(\d+)", re.IGNORECASE)
_LABELLED = re.compile(r"\s*([A-Za-z][\w -]*?)\s*=\s*(.+)", re.DOTALL)
_TERM = re.compile(r"\s*(?:(?P<weight>\d+(?:\.\d*)?|\.\d+)\s*\*)?\s*(?P<measure>[^*]+?)\s*")


@dataclass(frozen=True)
class Measure:
    """A definition with its cutoff and options; ``given`` holds only the options somebody asked for.

    ``by_depth``: nobody asked for the cutoff; it is the depth at which the answers were cut.
    """

    definition: Definition
    cutoff: int | None = None
    given: tuple[tuple[str, Value], ...] = ()
    by_depth: bool = False

    @property
    def name(self) -> str:
        """The one spelling of this measure; options that have their plain value are not written."""
        odd = [f"{key}={value}" for key, value in self.options.items() if value != PARAMETERS[key].default]
        options = f"({','.join(odd)})" if odd else ""
        return f"{self.definition.name}{options}" + (f"@{self.cutoff}" if self.cutoff else "")

    @property
    def options(self) -> dict[str, Value]:
        given = dict(self.given)
        return {key: given.get(key, PARAMETERS[key].default) for key in self.definition.parameters}

    @property
    def low(self) -> float:
        """The lowest value that there can be."""
        return self.definition.low

    @property
    def high(self) -> float:
        """The highest value that there can be."""
        return self.definition.high

    @property
    def tells_quality(self) -> bool:
        return self.definition.tells_quality

    def resolve(self, defaults: Defaults) -> Measure:
        """The same measure with the suite's defaults for what it does not say itself."""
        wishes: dict[str, Value] = {"rel": defaults.rel, "gain": defaults.gain}
        added = {key: value for key, value in wishes.items() if key in self.definition.parameters}
        return replace(self, given=tuple((added | dict(self.given)).items()))

    def looks_below(self, depth: int) -> bool:
        """Whether a hit below this rank can change a value; that a case has no hit at all is seen at any depth."""
        return not self.definition.unanswerable and (self.cutoff is None or self.cutoff > depth)

    def cut_at(self, depth: int) -> Measure:
        """What this measure is where answers end at a depth: the one with that cutoff, if that is the same measure."""
        if self.cutoff is not None or self.definition.of_sets or not self.definition.cutoff:
            return self
        return replace(self, cutoff=depth, by_depth=True)

    @property
    def asked(self) -> Measure:
        """The measure that was asked for, whatever the depth made of it."""
        return replace(self, cutoff=None, by_depth=False) if self.by_depth else self

    def compute(self, hits: GradedHits) -> Floats:
        options = self.options
        arguments: dict[str, object] = {("max_grade" if key == "max" else key): value for key, value in options.items()}
        if self.definition.cutoff:
            arguments["k"] = self.cutoff
        return self.definition.compute(hits, **arguments)

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The plain measures that this one is made of: itself."""
        return (self,)


@dataclass(frozen=True)
class Formula:
    """A weighted sum of measures; undefined where any of them is."""

    terms: tuple[tuple[float, Measure], ...]
    label: str | None = None

    @property
    def expression(self) -> str:
        return " + ".join(f"{repr(weight).removesuffix('.0')}*{measure.name}" for weight, measure in self.terms)

    @property
    def name(self) -> str:
        return self.label or self.expression

    @property
    def low(self) -> float:
        return sum(weight * measure.low for weight, measure in self.terms)

    @property
    def high(self) -> float:
        return sum(weight * measure.high for weight, measure in self.terms)

    @property
    def tells_quality(self) -> bool:
        return all(measure.tells_quality for _, measure in self.terms)

    def resolve(self, defaults: Defaults) -> Formula:
        return Formula(tuple((weight, measure.resolve(defaults)) for weight, measure in self.terms), self.label)

    @property
    def by_depth(self) -> bool:
        return any(measure.by_depth for measure in self.parts)

    def looks_below(self, depth: int) -> bool:
        return any(measure.looks_below(depth) for measure in self.parts)

    def cut_at(self, depth: int) -> Formula:
        return Formula(tuple((weight, measure.cut_at(depth)) for weight, measure in self.terms), self.label)

    @property
    def asked(self) -> Formula:
        return Formula(tuple((weight, measure.asked) for weight, measure in self.terms), self.label)

    def compute(self, hits: GradedHits) -> Floats:
        values = np.zeros(hits.cases)
        for weight, measure in self.terms:
            values += weight * measure.compute(hits)
        return values

    @property
    def parts(self) -> tuple[Measure, ...]:
        return tuple(measure for _, measure in self.terms)


AnyMeasure: TypeAlias = Measure | Formula


def parse_measures(texts: Iterable[str | AnyMeasure], defaults: Defaults = Defaults()) -> list[AnyMeasure]:
    """Read names, apply the suite's defaults, and drop repetitions (``MRR`` after ``RR``)."""
    by_name: dict[str, AnyMeasure] = {}
    for measure in (parse_measure(text).resolve(defaults) for text in texts):
        if _meaning(by_name.setdefault(measure.name, measure)) != _meaning(measure):
            raise UsageError(f"{measure.name!r} names two different formulas")
    return list(by_name.values())


def cut_measures(measures: Iterable[AnyMeasure], depth: int) -> list[AnyMeasure]:
    """What measures are where answers end at a depth; one that was also asked for with this cutoff is there once."""
    by_name: dict[str, AnyMeasure] = {}
    for measure in (each.cut_at(depth) for each in measures):
        if measure.by_depth or measure.name not in by_name:  # the one that knows what it was asked as
            by_name[measure.name] = measure
    return list(by_name.values())


def _meaning(measure: AnyMeasure) -> str:
    return measure.expression if isinstance(measure, Formula) else measure.name


def measures_named(texts: Iterable[str]) -> list[AnyMeasure]:
    """The measures that a command line names."""
    return [parse_measure(text) for text in texts]


def parse_measure(text: str | AnyMeasure) -> AnyMeasure:
    """Read one measure or formula from its name."""
    if not isinstance(text, str):
        return text
    if len(text) > LONGEST_NAME:
        raise UsageError(f"measure {text[:40]!r}... is longer than {LONGEST_NAME} characters")
    labelled = _LABELLED.fullmatch(text)
    if labelled:
        label, expression = labelled.groups()
        if label.lower() in _NAMES:
            raise UsageError(f"measure {text!r}: {label!r} is the name of a measure; choose a different one")
        return _parse_formula(expression, label)
    if "*" in text or "+" in text:
        return _parse_formula(text, None)
    return _parse_single(text)


def _parse_formula(text: str, label: str | None) -> Formula:
    terms = []
    for part in text.split("+"):
        term = _TERM.fullmatch(part)
        measure = _parse_single(term["measure"]) if term else None
        if term is None or not isinstance(measure, Measure):
            raise UsageError(f"formula {text!r}: {part.strip()!r} is not 'weight*measure'; for example 0.4*P@5 + 0.6*RR")
        weight = float(term["weight"] or 1)
        if not isfinite(weight):
            raise UsageError(f"formula {label or text!r}: a weight is too large for a number")
        terms.append((weight, measure))
    return Formula(tuple(terms), label)


def _parse_single(text: str) -> AnyMeasure:
    trec = _TREC_CUTOFF.fullmatch(text.strip())
    found = _MEASURE.fullmatch(f"{trec[1]}@{trec[2]}" if trec else text.strip())
    if not found:
        raise UsageError(f"measure {text!r} cannot be read; write it like nDCG@10, P(rel=2)@5 or F1(credit=dir)")
    name = _NAMES.get(found["name"].lower())
    if name is None:
        raise UnknownMeasure(_unknown(found["name"]))
    if name in FORMULAS:
        if found["params"] or found["k"]:
            raise UsageError(f"measure {text!r}: {name} is a formula ({FORMULAS[name]}) and takes no cutoff or option")
        return _parse_formula(FORMULAS[name], name)
    definition = DEFINITIONS[name]
    options = [_parse_option(text, definition, item) for item in (found["params"] or "").split(",") if item.strip()]
    if found["k"]:
        options.append(("cutoff", found["k"]))
    given = dict(options)
    if len(given) < len(options):
        raise UsageError(f"measure {text!r}: duplicate option")
    cutoff = given.pop("cutoff", None)
    ordered = tuple((key, given[key]) for key in definition.parameters if key in given)
    return Measure(definition, _parse_cutoff(text, definition, cutoff), ordered)


def _parse_cutoff(text: str, definition: Definition, value: Value | None) -> int | None:
    if value is None:
        return None
    if not definition.cutoff:
        raise UsageError(f"measure {text!r}: {definition.name} takes no cutoff")
    if not str(value).isdecimal() or len(str(value)) > MOST_DIGITS or int(value) < 1:
        raise UsageError(f"measure {text!r}: the cutoff after @ must be a whole number from 1, not {value!r}")
    return int(value)


def _parse_option(text: str, definition: Definition, item: str) -> tuple[str, Value]:
    key, _, raw = (piece.strip() for piece in item.partition("="))
    value = _parse_value(raw.strip("'\""))
    if key == "cutoff":
        return key, value
    if key == "dcg" and value in FOREIGN_GAINS:
        key, value = "gain", FOREIGN_GAINS[str(value)]
    if key not in definition.parameters:
        known = ", ".join(definition.parameters) or "none"
        raise UsageError(f"measure {text!r}: {definition.name} has no option {key!r}; its options: {known}")
    if not PARAMETERS[key].accepts(value):
        raise UsageError(f"measure {text!r}: {key} must be {PARAMETERS[key].wanted}, not {raw!r}")
    return key, value


def _parse_value(raw: str) -> Value:
    for number in (int, float):
        try:
            return number(raw)
        except ValueError:
            continue
    return raw


def _unknown(name: str) -> str:
    near = get_close_matches(name.lower(), _NAMES, n=3, cutoff=0.4)
    if not near:
        return f"there is no measure {name!r}; 'searchmark measures' lists them all"
    nearest: dict[str, str] = {}
    for key in near:
        nearest.setdefault(_NAMES[key], key)
    shown = [f"{key} ({name})" if key in ALIASES else name for name, key in nearest.items()]
    return f"there is no measure {name!r}; did you mean {' or '.join(shown)}?"


def aliases_of(name: str) -> list[str]:
    """Other spellings that are read as this measure."""
    return sorted(alias for alias, target in ALIASES.items() if target == name)


@dataclass(frozen=True)
class CaseTraits:
    """What of a case decides whether it can have a value of a measure.

    ``complete``: all its targets are known by id. ``answerable``: it is not marked otherwise. ``credited``: some targets
    are paths. ``graded``: its judgments say what is relevant, and not only in which order it should come.
    """

    complete: bool
    answerable: bool
    credited: bool
    graded: bool


def undefined_reason(measure: AnyMeasure, case: CaseTraits) -> str | None:
    """Why a case cannot have a value of this measure at all; None if it can."""
    for part in measure.parts:
        definition = part.definition
        if definition.unanswerable and case.answerable:
            return f"{definition.name} is defined for cases marked unanswerable only"
        if not definition.unanswerable and not case.answerable:
            return UNANSWERABLE
        if "rel" in definition.parameters and not case.graded:
            return "the case says in which order documents should come, and not which of them are relevant"
        if part.options.get("credit") == "dir" and not case.credited:
            return "credit=dir needs judgments that match by path"
        if definition.needs_targets and not case.complete:
            return "glob and symbol judgments name no targets until they are expanded against a corpus"
    return None


def computed_nan_reason(measure: AnyMeasure) -> str:
    """What it means when a formula itself came out undefined: the most specific reason of its parts."""
    usual = Definition.undefined
    return next((part.definition.undefined for part in measure.parts if part.definition.undefined != usual), usual)
