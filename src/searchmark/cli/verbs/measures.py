"""The verb `searchmark measures`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap

import click

from searchmark.cli.options import completed_by, measure_names
from searchmark.cli.output import show
from searchmark.measures.catalogue import FORMULAS, NAMES, all_definitions, definition_named
from searchmark.measures.definition import MeasureDefinition, format_value
from searchmark.measures.grammar import SET_SOURCES, SETS, Formula, measures_named


@click.command("measures", short_help="List every measure with its definition.")
@click.argument("names", nargs=-1, shell_complete=completed_by(measure_names))
def command(names: tuple[str, ...]) -> None:
    """List every measure with its definition, range, direction and rules.

    NAMES limits the list: searchmark measures nDCG MRR

    Sets of measures have names too: searchmark measures official
    """
    texts = names or (*FORMULAS, *all_definitions(), *SETS)
    by_kind: dict[str, dict[str, Iterator[str]]] = {"formula": {}, "measure": {}, "set": {}}
    for kind, name, entry in (each for text in texts for each in _entries(text)):
        by_kind[kind].setdefault(name, entry)
    entries = [entry for kind in by_kind.values() for entry in kind.values()]
    show("\n\n".join("\n".join(lines) for lines in entries) + "\n")


def _entries(text: str) -> Iterator[tuple[str, str, Iterator[str]]]:
    """What is known of a name: its kind, its one spelling, and its entry, line by line."""
    if text.lower() in SETS:
        yield "set", text.lower(), describe_set(text.lower())
    elif (definition := definition_named(text)) is not None:  # also where a measure needs more than its name
        yield "measure", definition.name, describe(definition)
    else:
        for measure in measures_named([text]):
            if isinstance(measure, Formula):
                yield "formula", measure.name, describe_formula(measure)
            for part in measure.parts:
                yield "measure", part.definition.name, describe(part.definition)


def describe_set(name: str) -> Iterator[str]:
    """The entry of a set of measures, line by line."""
    yield name
    yield f"  a set of {len(SETS[name])} measures: {SET_SOURCES[name]}"
    yield from wrap(", ".join(SETS[name]), width=100, initial_indent="  measures   ", subsequent_indent=" " * 13)


def describe_formula(formula: Formula) -> Iterator[str]:
    """The entry of a weighted sum of measures, line by line; those that it is made of have entries of their own."""
    yield formula.name
    yield f"  {formula.expression}"
    yield _range(formula.low, formula.high)
    yield "  undefined  where any of its measures is; any such formula can be given with -m"
    yield from _aliases(formula.name, [alias for alias, name in NAMES.items() if name == formula.name])


def describe(definition: MeasureDefinition) -> Iterator[str]:
    """The entry of one measure, line by line."""
    yield usage(definition)
    yield f"  {definition.summary}"
    yield _range(definition.low, definition.high, definition.tells)
    for name in definition.parameters:
        parameter = definition.parameter(name)
        default = _default(definition, name)
        yield f"  {name:<10} {parameter.summary}; {parameter.wanted}, {default}"
    yield f"  ties       {definition.ties}"
    yield f"  empty      {definition.empty}"
    yield f"  missing    {definition.missing}"
    if definition.needs_lines:
        yield "  undefined  where lines are not judged, or the run does not say how long those of its hits are"
    if definition.needs_targets:
        yield "  undefined  where globs or symbols were not expanded against a corpus"
    if definition.over_cases:
        yield f"  cases      have no value of it, but one of {definition.over_cases}; it cannot be compared case by case"
    yield from _aliases(definition.name, definition.names)
    if definition.package:
        yield f"  added by   {definition.package}"


def _default(definition: MeasureDefinition, option: str) -> str:
    if option in definition.budgets:
        return "one budget must be said"
    if definition.needs_at and option == definition.at:
        return "it must be said"
    return f"default: {format_value(definition.parameter(option).default) or 'none'}"


def _range(low: float, high: float, tells: str = "") -> str:
    better = f"tells {tells}, not how good it is" if tells else "higher is better"
    return f"  range      {low:g} to {'no upper bound' if high == float('inf') else f'{high:g}'}; {better}"


def _aliases(name: str, names: Iterable[str]) -> Iterator[str]:
    aliases = sorted(set(names) - {name.lower()})
    if aliases:
        yield f"  also       {', '.join(aliases)}"


def usage(definition: MeasureDefinition) -> str:
    """How its name is written."""
    names = [name for name in definition.parameters if name != definition.at]
    options = f"({', '.join(f'{name}=' for name in names)})" if names else ""
    at = "@k" if definition.cutoff else f"@{definition.at}" if definition.at in definition.parameters else ""
    return f"{definition.name}{options}{at}"
