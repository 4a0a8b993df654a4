"""Names of measures: how they are read, written and listed, and why a case has no value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import lru_cache
from math import isfinite
from typing import TypeAlias

import numpy as np

from searchmark.errors import UnknownMeasure, UsageError
from searchmark.measures.catalogue import DEFINITIONS, FORMULAS, NAMES, NOT_MEASURES, all_names, definition_named
from searchmark.measures.definition import MeasureDefinition, format_value, parse_value, separate_options
from searchmark.measures.hits import GradedHits, Pool, PoolView, Value
from searchmark.records.columns import Bools, Floats
from searchmark.records.suite import Defaults

# Several measures in one text: ``nDCG@10,MRR``, ``P@[5,10]``, or the name of a set.

_SEVERAL = re.compile(r"(?P<head>[^\[\]]*@\s*)\[(?P<cutoffs>[^\[\]]*)\]\s*")

_OPENING, _CLOSING = "([{", ")]}"

LONGEST_LIST = 5000

MOST_CUTOFFS = 100

_TREC_DEPTHS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)

_RECALL_LEVELS = tuple(f"{tenth / 10:g}" for tenth in range(11))

_BEIR_DEPTHS = (1, 3, 5, 10, 100, 1000)

_MTEB_DEPTHS = (1, 3, 5, 10, 20, 100, 1000)


# The measures that others print together, without those that count their queries, in their order.
SETS: dict[str, tuple[str, ...]] = {
    # trec_eval 10.0, -m official, which is what it prints by default
    "official": (
        *("NumRet", "NumRel", "NumRelRet", "AP", "GMAP", "Rprec", "Bpref", "RR"),
        *(f"IPrec@{level}" for level in _RECALL_LEVELS),
        *(f"P@{k}" for k in _TREC_DEPTHS),
    ),
    # BEIR, EvaluateRetrieval.evaluate with its k_values
    "beir": tuple(f"{name}@{k}" for name in ("nDCG", "AP", "R", "P") for k in _BEIR_DEPTHS),
    # MTEB, AbsTaskRetrieval with its k_values
    "mteb": tuple(f"{name}@{k}" for name in ("nDCG", "AP", "R", "P", "RR") for k in _MTEB_DEPTHS),
    # ndeval of the TREC Web tracks, as far as we have its measures
    "ndeval": tuple(f"{name}@{k}" for name in ("ERR_IA", "nERR_IA", "alpha_nDCG", "StRecall") for k in (5, 10, 20)),
}


SET_SOURCES = {
    "official": "trec_eval's default output (-m official), without num_q",
    "beir": "BEIR's EvaluateRetrieval: NDCG, MAP, Recall and P at its k_values",
    "mteb": "MTEB's retrieval tasks: NDCG, MAP, Recall, P and MRR at their k_values",
    "ndeval": "ndeval of the TREC Web tracks, for judgments with aspects",
}


def names_in(text: str) -> list[str]:
    """The names of single measures that a text names."""
    if len(text) > LONGEST_LIST:
        raise UsageError(f"measures {text[:40]!r}... are longer than {LONGEST_LIST} characters")
    return [name for item in _split_items(text) for name in _expand_item(item)]


def _split_items(text: str) -> list[str]:
    """The items between commas; those inside of brackets separate nothing here."""
    items, depth = [""], 0
    for letter in text:
        depth += (letter in _OPENING) - (letter in _CLOSING)
        if letter == "," and depth <= 0:
            items.append("")
        else:
            items[-1] += letter
    names = [item.strip() for item in items if item.strip()]
    return names or [text]  # an empty name is refused where names are read


def _expand_item(item: str) -> list[str]:
    if item.lower() in SETS:
        return list(SETS[item.lower()])
    several = _SEVERAL.fullmatch(item)
    if several is None:
        return [item]
    cutoffs = [cutoff.strip() for cutoff in several["cutoffs"].split(",")]
    if not all(cutoffs):
        raise UsageError(f"measure {item!r}: an empty place between the brackets; write them like P@[5,10]")
    if len(cutoffs) > MOST_CUTOFFS:
        raise UsageError(f"measure {item[:40]!r}... has more than {MOST_CUTOFFS} cutoffs")
    return [f"{several['head']}{cutoff}" for cutoff in cutoffs]


# The names that measures have elsewhere, and the one that a misspelt name may mean.


def unknown_measure_message(name: str) -> str:
    """What to say to those who ask for a measure that does not exist: the nearest name."""
    if name.lower() in NOT_MEASURES:
        return f"{name} is not a measure: {NOT_MEASURES[name.lower()]}"
    names_by_key = all_names() | {each: each for each in SETS}
    near = get_close_matches(name.lower(), filter(str.isascii, names_by_key), n=3, cutoff=0.4)
    if not near:
        return f"there is no measure {name!r}; 'searchmark measures' lists them all"
    nearest: dict[str, str] = {}
    for key in near:
        nearest.setdefault(names_by_key[key], key)
    names = [name if key == name.lower() else f"{key} ({name})" for name, key in nearest.items()]
    return f"there is no measure {name!r}; did you mean {' or '.join(names)}?"


# What the name of one measure says: ``P(rel=2)@5``, ``IPrec@0.1``, trec_eval's ``map_cut_10``.

MOST_DIGITS = 9

_MEASURE = re.compile(r"(?P<name>[^\W\d_][\w -]*?)\s*(?:\((?P<params>[^()]*)\))?\s*(?:@\s*(?P<k>\S+))?")

# What ir_measures calls the gains of nDCG.
FOREIGN_GAINS = {"log2": "linear", "exp-log2": "exp"}

# trec_eval's names that a number follows, as in ``map_cut_10``.
_NUMBERED = {each.numbered.lower(): each for each in DEFINITIONS.values() if each.numbered}


@dataclass(frozen=True)
class ParsedName:
    """What a name says: a definition, a cutoff, and the options that were given, in the definition's order."""

    definition: MeasureDefinition
    cutoff: int | None
    given: tuple[tuple[str, Value], ...]


def read_name(text: str) -> ParsedName | str:
    """What the name of one measure says; of a formula with a name, that name."""
    match = _MEASURE.fullmatch(_with_at(text.strip()))
    if not match:
        raise UsageError(f"measure {text!r} cannot be read; write it like nDCG@10, P(rel=2)@5 or F1(credit=dir)")
    name = NAMES.get(match["name"].lower(), "")
    if name in FORMULAS:
        if match["params"] or match["k"]:
            raise UsageError(f"measure {text!r}: {name} is a formula ({FORMULAS[name]}) and takes no cutoff or option")
        return name
    definition = definition_named(match["name"])
    if definition is None:
        raise UnknownMeasure(unknown_measure_message(match["name"]))
    options = [_parse_option(text, definition, item) for item in separate_options(match["params"] or "")]
    if match["k"]:
        options.append((definition.at, _parse_at(text, definition, match["k"])))
    values = dict(options)
    if len(values) < len(options):
        raise UsageError(f"measure {text!r}: duplicate option")
    if definition.needs_at and definition.at not in values:
        example = "10" if definition.at == "cutoff" else definition.parameter(definition.at).example
        raise UsageError(f"measure {text!r}: {definition.name} needs a {definition.at}; write it like {definition.name}@{example}")
    if definition.budgets and sum(budget in values for budget in definition.budgets) != 1:
        raise UsageError(f"measure {text!r}: {definition.name} needs one budget; write it like {_budget_examples(definition)}")
    _refuse_contradictions(text, values)
    if definition.by_default:
        definition = _plainly(definition, values)
    cutoff = values.pop("cutoff", None)
    pairs = tuple((key, values[key]) for key in definition.parameters if key in values)
    return ParsedName(definition, _parse_cutoff(text, definition, cutoff), pairs)


def _with_at(text: str) -> str:
    """``map_cut@10`` for trec_eval's ``map_cut_10``."""
    name, _, number = text.rpartition("_")
    definition = _NUMBERED.get(name.lower())
    is_number = definition is not None and re.fullmatch(r"\d+" if definition.at == "cutoff" else r"[\d.]+", number)
    return f"{name}@{number}" if is_number else text


def _plainly(definition: MeasureDefinition, values: dict[str, Value]) -> MeasureDefinition:
    """The measure that this one is where the options that only it has are not given, or have their defaults."""
    other = DEFINITIONS[definition.by_default]
    further = [each for each in definition.parameters if each not in other.parameters]
    if any(values.get(each, definition.parameter(each).default) != definition.parameter(each).default for each in further):
        return definition
    for each in further:
        values.pop(each, None)
    return other


def _budget_examples(definition: MeasureDefinition) -> str:
    return " or ".join(f"{definition.name}({budget}={definition.parameter(budget).example})" for budget in definition.budgets)


def _refuse_contradictions(text: str, values: dict[str, Value]) -> None:
    if "gain" in values and values.get("gains"):
        raise UsageError(f"measure {text!r}: gain and gains both say what grades pay; give one of them")
    if values.get("credit") == "dir" and values.get("judged_only"):
        raise UsageError(f"measure {text!r}: a directory has no judgment, so that judged_only leaves nothing to credit=dir")


def _parse_at(text: str, definition: MeasureDefinition, raw: str) -> Value:
    if definition.at == "cutoff":
        return raw
    return _check_value(text, definition, definition.at, raw)


def _parse_cutoff(text: str, definition: MeasureDefinition, value: Value | None) -> int | None:
    if value is None:
        return None
    if not definition.cutoff:
        raise UsageError(f"measure {text!r}: {definition.name} takes no cutoff")
    if not str(value).isdecimal() or len(str(value)) > MOST_DIGITS or int(value) < 1:
        raise UsageError(f"measure {text!r}: the cutoff after @ must be a whole number from 1, not {value!r}")
    return int(value)


def _parse_option(text: str, definition: MeasureDefinition, item: str) -> tuple[str, Value]:
    key, _, raw = (piece.strip() for piece in item.partition("="))
    raw = raw.strip("'\"")
    if key == "cutoff":
        return key, raw
    if key == "dcg" and raw in FOREIGN_GAINS:
        key, raw = "gain", FOREIGN_GAINS[raw]
    if key not in definition.parameters:
        names = ", ".join(definition.parameters) or "none"
        raise UsageError(f"measure {text!r}: {definition.name} has no option {key!r}; its options: {names}")
    return key, _check_value(text, definition, key, raw)


def _check_value(text: str, definition: MeasureDefinition, key: str, raw: str) -> Value:
    value, parameter = parse_value(key, raw), definition.parameter(key)
    if not parameter.accepts(value):
        raise UsageError(f"measure {text!r}: {key} must be {parameter.wanted}, not {raw!r}")
    return value


# The names of measures: what they mean, how they are written, and how to compute them.
#
# A name follows the grammar of ir_measures: ``nDCG@10``, ``P(rel=2)@5``, ``F1(credit=dir)``. A formula is a
# weighted sum of measures, ``0.4*P@5 + 0.3*R@5 + 0.3*RR``, and may be given a name: ``mine = 0.5*P@5 + 0.5*RR``.
# Names are read without regard to case; one spelling is printed.

LONGEST_NAME = 500

UNANSWERABLE = "the case is marked unanswerable and is scored by Abstain"

_LABELLED = re.compile(r"\s*([A-Za-z][\w -]*?)\s*=\s*(.+)", re.DOTALL)

_TERM = re.compile(r"\s*(?:(?P<weight>\d+(?:\.\d*)?|\.\d+)\s*\*)?\s*(?P<measure>[^*]+?)\s*")


@dataclass(frozen=True)
class Measure:
    """A definition with its cutoff and options; ``given`` has only the options that were asked for.

    ``by_depth``: the cutoff was not asked for; it is the depth at which the answers were cut.
    """

    definition: MeasureDefinition
    cutoff: int | None = None
    given: tuple[tuple[str, Value], ...] = ()
    by_depth: bool = False

    @property
    def name(self) -> str:
        """The one spelling of this measure; options that have their plain value are not written."""
        overrides = {key: value for key, value in self.options.items() if value != self.definition.parameter(key).default}
        at = self.cutoff if self.definition.at == "cutoff" else self.options[self.definition.at]
        overrides.pop(self.definition.at, None)
        options = f"({','.join(f'{key}={format_value(value)}' for key, value in overrides.items())})" if overrides else ""
        return f"{self.definition.name}{options}" + ("" if at is None else f"@{format_value(at)}")

    @property
    def options(self) -> dict[str, Value]:
        values = dict(self.given)
        return {key: values.get(key, self.definition.parameter(key).default) for key in self.definition.parameters}

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
        suite_options = {key: value for key, value in wishes.items() if key in self.definition.parameters}
        return replace(self, given=tuple((suite_options | dict(self.given)).items()))

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
    def requested(self) -> Measure:
        """The measure that was asked for, whatever the depth made of it."""
        return replace(self, cutoff=None, by_depth=False) if self.by_depth else self

    def compute(self, hits: GradedHits) -> Floats:
        options = self.options
        alone = options.pop("judged_only", False)
        arguments: dict[str, object] = {("max_grade" if key == "max" else key): value for key, value in options.items()}
        if self.definition.cutoff:
            arguments["k"] = self.cutoff
        return self.definition.compute(hits.judged_only if alone else hits, **arguments)

    def on(self, pool: Pool) -> PoolView:
        """What this measure sees of what there is to rank."""
        return PoolView(pool, self.cutoff, self.options)

    @property
    def parts(self) -> tuple[Measure, ...]:
        """The plain measures that this one is made of: itself."""
        return (self,)

    @property
    def terms(self) -> tuple[tuple[float, Measure], ...]:
        """The same with their weights."""
        return ((1.0, self),)


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
    def requested(self) -> Formula:
        return Formula(tuple((weight, measure.requested) for weight, measure in self.terms), self.label)

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
    match = _LABELLED.fullmatch(text)
    if match:
        label, expression = match.groups()
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
    parts = read_name(text)
    if isinstance(parts, str):
        return _parse_formula(FORMULAS[parts], parts)
    return Measure(parts.definition, parts.cutoff, parts.given)


# Why a case has no value of a measure.


@dataclass(frozen=True)
class CaseTraits:
    """What of a case decides whether it can have a value of a measure."""

    complete: bool  # all its targets are known by id
    answerable: bool  # it is not marked as having no answer
    credited: bool  # some targets are paths
    graded: bool  # its judgments say what is relevant, not only in which order it should come
    about_lines: bool  # all that is relevant are ranges of lines
    lines_counted: bool  # it is known what the lines of its hits cost


def undefined_reason(measure: AnyMeasure, case: CaseTraits) -> str | None:
    """Why a case cannot have a value of this measure at all; None if it can."""
    return next((reason for part in measure.parts for reason in _reasons(part, case)), None)


# For every case its CaseTraits, in their order.
Traits: TypeAlias = tuple[Bools, ...]


def undefined_cases(measure: AnyMeasure, columns: Traits) -> Bools:
    """Cases that this measure cannot speak about; the columns are the fields of `CaseTraits`."""
    kind = sum(
        (column.astype(np.int64) << place for place, column in enumerate(columns)), start=np.zeros(len(columns[0]), np.int64)
    )
    return _undefined_kinds(measure)[kind]


@lru_cache(maxsize=256)
def _undefined_kinds(measure: AnyMeasure) -> Bools:
    """Whether a measure is undefined for cases with these traits; those of a kind are the bits of its number."""
    places = range(len(fields(CaseTraits)))
    return np.array(
        [
            undefined_reason(measure, CaseTraits(*(bool(kind >> n & 1) for n in places))) is not None
            for kind in range(1 << len(places))
        ]
    )


def _reasons(part: Measure, case: CaseTraits) -> Iterator[str]:
    definition = part.definition
    if definition.over_cases:
        yield f"{definition.name} is one number for all cases; a case has {definition.over_cases}"
    if definition.unanswerable and case.answerable:
        yield f"{definition.name} is defined for cases marked unanswerable only"
    if not definition.unanswerable and not case.answerable:
        yield UNANSWERABLE
    if "rel" in definition.parameters and not case.graded:
        yield "the case says in which order documents should come, and not which of them are relevant: list these as 'relevant'"
    if part.options.get("credit") == "dir" and not case.credited:
        yield "credit=dir needs judgments that match by path"
    if definition.needs_lines:
        yield from _reasons_of_lines(case)
    if definition.needs_targets and not case.complete:
        yield "glob and symbol judgments name no targets until they are expanded against a corpus"


def _reasons_of_lines(case: CaseTraits) -> Iterator[str]:
    if not case.about_lines:
        yield "the case does not say which lines are relevant; gold sets do with 'searchmark generate --granularity lines'"
    if not case.lines_counted:
        yield (
            "the run does not say how long the lines of its hits are: that is counted while searchmark runs an agent "
            "on a suite that judges lines, in documents that it can read"
        )


def why_no_verdict(measure: AnyMeasure) -> str:
    """Why differences of a measure that does not decide are never a verdict."""
    for part in measure.parts:
        if part.definition.over_cases:
            return f"{part.name} is one number for all cases: there is no difference case by case that could be tested"
        if part.definition.tells:
            return f"{measure.name} tells {part.definition.tells}, not how good it is"
    raise ValueError(measure.name)


def refuse_over_cases(measure: AnyMeasure, use: str) -> None:
    """Refuse a measure that no case has a value of, where cases are looked at."""
    for part in measure.parts:
        if part.definition.over_cases:
            alternative = part.definition.over_cases
            raise UsageError(f"{part.name} is one number for all cases and cannot be {use}; {alternative} can")


def computed_nan_reason(measure: AnyMeasure) -> str:
    """What it means when a formula itself came out undefined: the most specific reason of its parts."""
    usual = MeasureDefinition.undefined
    return next((part.definition.undefined for part in measure.parts if part.definition.undefined != usual), usual)
