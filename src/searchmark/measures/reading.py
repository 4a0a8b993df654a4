"""What the name of one measure says: ``P(rel=2)@5``, ``IPrec@0.1``, trec_eval's ``map_cut_10``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from searchmark.errors import UnknownMeasure, UsageError
from searchmark.measures.catalogue import DEFINITIONS, FOREIGN_GAINS, FORMULAS, NAMES
from searchmark.measures.definition import Definition
from searchmark.measures.parameters import PARAMETERS, Value, parse_value, separate_options
from searchmark.measures.spelling import unknown

MOST_DIGITS = 9
_MEASURE = re.compile(r"(?P<name>[^\W\d_][\w -]*?)\s*(?:\((?P<params>[^()]*)\))?\s*(?:@\s*(?P<k>\S+))?")
_TREC_CUTOFF = re.compile(r"(p|recall|ndcg_cut|map_cut|success|strec)_(\d+)|(iprec_at_recall)_([\d.]+)", re.IGNORECASE)
_EXAMPLES = {"cutoff": "10", "recall": "0.1", "tokens": "4000", "lines": "200"}


@dataclass(frozen=True)
class NameSaid:
    """What a name says: a definition, a cutoff, and the options that were given, in the definition's order."""

    definition: Definition
    cutoff: int | None
    given: tuple[tuple[str, Value], ...]


def read_name(text: str) -> NameSaid | str:
    """What the name of one measure says; of a formula with a name, that name."""
    trec = _TREC_CUTOFF.fullmatch(text.strip())
    found = _MEASURE.fullmatch(f"{trec[1] or trec[3]}@{trec[2] or trec[4]}" if trec else text.strip())
    if not found:
        raise UsageError(f"measure {text!r} cannot be read; write it like nDCG@10, P(rel=2)@5 or F1(credit=dir)")
    name = NAMES.get(found["name"].lower())
    if name is None:
        raise UnknownMeasure(unknown(found["name"]))
    if name in FORMULAS:
        if found["params"] or found["k"]:
            raise UsageError(f"measure {text!r}: {name} is a formula ({FORMULAS[name]}) and takes no cutoff or option")
        return name
    definition = DEFINITIONS[name]
    options = [_parse_option(text, definition, item) for item in separate_options(found["params"] or "")]
    if found["k"]:
        options.append((definition.at, _parse_at(text, definition, found["k"])))
    given = dict(options)
    if len(given) < len(options):
        raise UsageError(f"measure {text!r}: duplicate option")
    if definition.needs_at and definition.at not in given:
        example = f"{definition.name}@{_EXAMPLES[definition.at]}"
        raise UsageError(f"measure {text!r}: {definition.name} needs a {definition.at}; write it like {example}")
    if definition.budgets and sum(budget in given for budget in definition.budgets) != 1:
        raise UsageError(f"measure {text!r}: {definition.name} needs one budget; write it like {_budget_examples(definition)}")
    _refuse_contradictions(text, given)
    if name == "SetF" and given.get("beta", 1) == 1:
        given.pop("beta", None)
        definition = DEFINITIONS["F1"]
    cutoff = given.pop("cutoff", None)
    ordered = tuple((key, given[key]) for key in definition.parameters if key in given)
    return NameSaid(definition, _parse_cutoff(text, definition, cutoff), ordered)


def _budget_examples(definition: Definition) -> str:
    return " or ".join(f"{definition.name}({budget}={_EXAMPLES[budget]})" for budget in definition.budgets)


def _refuse_contradictions(text: str, given: dict[str, Value]) -> None:
    if "gain" in given and given.get("gains"):
        raise UsageError(f"measure {text!r}: gain and gains both say what grades pay; give one of them")
    if given.get("credit") == "dir" and given.get("judged_only"):
        raise UsageError(f"measure {text!r}: a directory has no judgment, so that judged_only leaves nothing to credit=dir")


def _parse_at(text: str, definition: Definition, raw: str) -> Value:
    if definition.at == "cutoff":
        return raw
    return _checked(text, definition.at, raw)


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
    raw = raw.strip("'\"")
    if key == "cutoff":
        return key, raw
    if key == "dcg" and raw in FOREIGN_GAINS:
        key, raw = "gain", FOREIGN_GAINS[raw]
    if key not in definition.parameters:
        known = ", ".join(definition.parameters) or "none"
        raise UsageError(f"measure {text!r}: {definition.name} has no option {key!r}; its options: {known}")
    return key, _checked(text, key, raw)


def _checked(text: str, key: str, raw: str) -> Value:
    value = parse_value(key, raw)
    if not PARAMETERS[key].accepts(value):
        raise UsageError(f"measure {text!r}: {key} must be {PARAMETERS[key].wanted}, not {raw!r}")
    return value
