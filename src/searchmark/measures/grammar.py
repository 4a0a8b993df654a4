"""The names of measures: what they mean, how they are written, and how to compute them.

A name follows the grammar of ir_measures: ``nDCG@10``, ``P(rel=2)@5``, ``F1(credit=dir)``. A formula is a
weighted sum of measures, ``0.4*P@5 + 0.3*R@5 + 0.3*RR``, and may be given a name: ``mine = 0.5*P@5 + 0.5*RR``.
Names are read without regard to case; one spelling is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isfinite
from typing import TypeAlias

import numpy as np

from searchmark.errors import UsageError
from searchmark.measures.catalogue import FORMULAS, NAMES
from searchmark.measures.definition import Definition
from searchmark.measures.formulas import Floats, GradedHits
from searchmark.measures.lists import names_in
from searchmark.measures.parameters import Value, shown
from searchmark.measures.reading import read_name
from searchmark.records import Defaults

LONGEST_NAME = 500
UNANSWERABLE = "the case is marked unanswerable and is scored by Abstain"
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
        said = {key: value for key, value in self.options.items() if value != self.definition.default(key)}
        at = self.cutoff if self.definition.at == "cutoff" else self.options[self.definition.at]
        said.pop(self.definition.at, None)
        options = f"({','.join(f'{key}={shown(value)}' for key, value in said.items())})" if said else ""
        return f"{self.definition.name}{options}" + ("" if at is None else f"@{shown(at)}")

    @property
    def options(self) -> dict[str, Value]:
        given = dict(self.given)
        return {key: given.get(key, self.definition.default(key)) for key in self.definition.parameters}

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
        wishes: dict[str, Value] = {"rel": defaults.rel}
        if not self.options.get("gains"):  # they say all that there is to say about gains
            wishes["gain"] = defaults.gain
        added = {key: value for key, value in wishes.items() if key in self.definition.parameters}
        return replace(self, given=tuple((added | dict(self.given)).items()))

    def looks_below(self, depth: int) -> bool:
        """Whether a hit below this rank can change a value; that a case has no hit at all is seen at any depth."""
        if self.definition.unanswerable or not self.definition.sees_hits:
            return False
        # Where unjudged hits are removed, those below move up, however few are looked at.
        return self.cutoff is None or self.cutoff > depth or self.judged_only

    @property
    def judged_only(self) -> bool:
        return bool(self.options.get("judged_only"))

    @property
    def per_case(self) -> bool:
        """Whether cases have values of it, and not only all of them together."""
        return not self.definition.over_cases

    @property
    def decides(self) -> bool:
        """Whether it can be the reason of a verdict: it tells how good answers are, case by case."""
        return self.tells_quality and self.per_case

    def cut_at(self, depth: int) -> Measure:
        """What this measure is where answers end at a depth: the one with that cutoff, if that is the same measure."""
        if self.cutoff is not None or self.definition.of_sets or not self.definition.cutoff or self.judged_only:
            return self
        return replace(self, cutoff=depth, by_depth=True)

    @property
    def asked(self) -> Measure:
        """The measure that was asked for, whatever the depth made of it."""
        return replace(self, cutoff=None, by_depth=False) if self.by_depth else self

    def compute(self, hits: GradedHits) -> Floats:
        options = self.options
        alone = options.pop("judged_only", False)
        arguments: dict[str, object] = {("max_grade" if key == "max" else key): value for key, value in options.items()}
        if self.definition.cutoff:
            arguments["k"] = self.cutoff
        return self.definition.compute(hits.judged_only if alone else hits, **arguments)

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

    @property
    def per_case(self) -> bool:
        return True

    @property
    def decides(self) -> bool:
        return self.tells_quality

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
    for measure in (each.resolve(defaults) for text in texts for each in measures_in(text)):
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
    return [measure for text in texts for measure in measures_in(text)]


def measures_in(text: str | AnyMeasure) -> list[AnyMeasure]:
    """The measures that a text names: one, a list with commas, several cutoffs (``P@[5,10]``), or a set by its name."""
    if not isinstance(text, str):
        return [text]
    return [parse_measure(name) for name in names_in(text)]


def parse_measure(text: str | AnyMeasure) -> AnyMeasure:
    """Read one measure or formula from its name."""
    if not isinstance(text, str):
        return text
    if len(text) > LONGEST_NAME:
        raise UsageError(f"measure {text[:40]!r}... is longer than {LONGEST_NAME} characters")
    labelled = _LABELLED.fullmatch(text)
    if labelled:
        label, expression = labelled.groups()
        if label.lower() in NAMES:
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
        if not measure.per_case:
            raise UsageError(f"formula {text!r}: {measure.name} is one number for all cases and cannot be part of a sum")
        weight = float(term["weight"] or 1)
        if not isfinite(weight):
            raise UsageError(f"formula {label or text!r}: a weight is too large for a number")
        terms.append((weight, measure))
    return Formula(tuple(terms), label)


def _parse_single(text: str) -> AnyMeasure:
    said = read_name(text)
    if isinstance(said, str):
        return _parse_formula(FORMULAS[said], said)
    return Measure(said.definition, said.cutoff, said.given)
