"""``searchmark measures``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from searchmark.cli._output import show
from searchmark.measures.catalogue import DEFINITIONS, FORMULAS, PARAMETERS, Definition
from searchmark.measures.grammar import Formula, aliases_of, parse_measure


@click.command("measures", short_help="List every measure with its definition.")
@click.argument("names", nargs=-1)
def command(names: tuple[str, ...]) -> None:
    """List every measure with its definition, range, direction and rules.

    NAMES limits the list: searchmark measures nDCG MRR
    """
    measures = [parse_measure(name) for name in names or (*DEFINITIONS, *FORMULAS)]
    definitions = dict.fromkeys(part.definition for measure in measures for part in measure.parts)
    formulas = {measure.name: measure for measure in measures if isinstance(measure, Formula)}
    entries = [*map(describe_formula, formulas.values()), *map(describe, definitions)]
    show("\n\n".join("\n".join(lines) for lines in entries) + "\n")


def describe_formula(formula: Formula) -> Iterator[str]:
    """The entry of a weighted sum of measures, line by line; those that it is made of have entries of their own."""
    yield formula.name
    yield f"  {formula.expression}"
    yield _range(formula.low, formula.high)
    yield "  undefined  where any of its measures is; any such formula can be given with -m"
    yield from _aliases(formula.name)


def describe(definition: Definition) -> Iterator[str]:
    """The entry of one measure, line by line."""
    yield _usage(definition)
    yield f"  {definition.summary}"
    yield _range(definition.low, definition.high)
    for name in definition.parameters:
        parameter = PARAMETERS[name]
        yield f"  {name:<10} {parameter.summary}; {parameter.wanted}, default: {parameter.default}"
    yield f"  ties       {definition.ties}"
    yield f"  empty      {definition.empty}"
    yield f"  missing    {definition.missing}"
    if definition.needs_targets:
        yield "  undefined  where globs or symbols were not expanded against a corpus"
    yield from _aliases(definition.name)


def _range(low: float, high: float) -> str:
    return f"  range      {low:g} to {'no upper bound' if high == float('inf') else f'{high:g}'}; higher is better"


def _aliases(name: str) -> Iterator[str]:
    aliases = aliases_of(name)
    if aliases:
        yield f"  also       {', '.join(aliases)}"


def _usage(definition: Definition) -> str:
    options = f"({', '.join(f'{name}=' for name in definition.parameters)})" if definition.parameters else ""
    return f"{definition.name}{options}{'@k' if definition.cutoff else ''}"
