"""Every measure by its names: ours, and those of installed packages."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from searchmark.errors import PluginWarning, UsageError, shortened
from searchmark.io.plugins import installed_plugins, plugins
from searchmark.measures import common, research
from searchmark.measures.definition import MeasureDefinition
from searchmark.measures.hits import SHAPE_COLUMNS, GradedHits, PoolView

# Ours, in the order in which they are written down.
DEFINITIONS = {
    each.name: each for module in (common, research) for each in vars(module).values() if isinstance(each, MeasureDefinition)
}

FORMULAS = {"Relevance": "0.4*P@5 + 0.3*R@5 + 0.3*RR@5"}

# Names that others have for what is not a measure here, and what to say to those who ask for it.
NOT_MEASURES = {"numq": "the number of cases is in every report", "num_q": "the number of cases is in every report"}

# All names, in lower case, and what they are read as.
NAMES = (
    {name: each.name for each in DEFINITIONS.values() for name in each.names}
    | {name.lower(): name for name in FORMULAS}
    | {"relevancescore": "Relevance", "overall relevance": "Relevance"}
)


def definition_named(name: str) -> MeasureDefinition | None:
    """The measure that is read from this name, whatever its case; plug-ins are looked at where it is none of ours."""
    key = name.lower()
    return DEFINITIONS.get(NAMES[key]) if key in NAMES else next((each for each in _added().values() if key in each.names), None)


def all_definitions() -> dict[str, MeasureDefinition]:
    """Ours, then those of plug-ins, by name."""
    return {**DEFINITIONS, **_added()}


def all_names() -> dict[str, str]:
    """Every name in lower case and what it is read as, also those of plug-ins."""
    return {name: each.name for each in _added().values() for name in each.names} | NAMES


def _added() -> Mapping[str, MeasureDefinition]:
    """The measures of installed packages; none while plug-ins are forbidden."""
    return _plugin_measures() if plugins("measures") else {}


@cache
def _plugin_measures() -> Mapping[str, MeasureDefinition]:
    """What of the plug-ins are measures; anything else is a warning."""
    packages = {each.name: each.package for each in reversed(installed_plugins("measures"))}
    measures = {}
    for name, plugin in plugins("measures").items():
        wrong = (
            f"it defines the measure {plugin.name!r}, and must be called so" if plugin.name != name else
            "Searchmark has a measure of that name" if name.lower() in NAMES else
            None
        )  # fmt: skip
        if wrong is None:
            measures[name] = _guarded(plugin, packages[name])
        else:
            message = f"the plug-in {name!r} (measures, {packages[name]}) is not used: {shortened(wrong, 300)}"
            warnings.warn(message, PluginWarning, stacklevel=4)
    return measures


def _guarded(definition: MeasureDefinition, package: str) -> MeasureDefinition:
    """The same with functions that are checked when they are called."""
    subject = f"the measure {definition.name} of {package}"
    highest, chance, shape = (
        None if function is None else PluginFormula(function, subject, columns)
        for function, columns in ((definition.highest, ()), (definition.chance, ()), (definition.shape, (SHAPE_COLUMNS,)))
    )
    formula = PluginFormula(definition.compute, subject)
    return replace(definition, compute=formula, highest=highest, chance=chance, shape=shape, package=package)


@dataclass(frozen=True)
class PluginFormula:
    """A function of a plug-in: what goes wrong there, or is not what it should return, is one sentence."""

    function: Callable[..., Any]
    subject: str
    columns: tuple[int, ...] = ()  # of what it returns, beside a row for each case

    def __call__(self, seen: GradedHits | PoolView, **options: object) -> Any:
        cases = seen.cases if isinstance(seen, GradedHits) else len(seen.pool.suite)
        try:
            result = self.function(seen, **options)
            values = np.asarray(result, np.float64)
        except Exception as error:  # code of others
            raise UsageError(f"{self.subject} failed: {shortened(f'{type(error).__name__}: {error}', 300)}") from error
        if result is None and isinstance(seen, PoolView):
            return None  # it is not known
        if values.shape != (cases, *self.columns):
            expected = f"{(cases, *self.columns)}, which has a row for each case"
            raise UsageError(f"{self.subject} returned an array of the shape {values.shape} instead of {expected}")
        return values


# What measures are called by those who do not know them from trec_eval: Precision@5 for P@5, MRR for RR, Hit rate for Success.

_NAME = re.compile(r"(?P<base>\w+)(?:\([^()]*\))?(?P<cutoff>@\d+)?")


def both_names(theirs: str, ours: str) -> str:
    """The user's own word, and ours where it is another one."""
    return ours if theirs == ours else f"{theirs} ({ours})"


def in_words(name: str) -> str:
    """The common word for a measure, with its cutoff; the name itself where there is no other word, as for a formula."""
    match = _NAME.fullmatch(name)
    definition = definition_named(match["base"]) if match else None
    if match is None or definition is None or definition.name != match["base"] or not definition.word:
        return name
    return f"{definition.word}{match['cutoff'] or ''}"


def with_words(name: str) -> str:
    """The common word beside our name: ``Precision@5 (P@5)``."""
    return both_names(in_words(name), name)
