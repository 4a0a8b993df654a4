"""``searchmark measures``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from searchmark.cli._output import show
from searchmark.measures.catalogue import DEFINITIONS, FORMULAS, PARAMETERS, Definition
from searchmark.measures.grammar import aliases_of, parse_measure


@click.command("measures", short_help="List every measure with its definition.")
@click.argument("names", nargs=-1)
def command(names: tuple[str, ...]) -> None:
    """List every measure with its definition, range, direction and rules.

    NAMES limits the list: searchmark measures nDCG MRR
    """
    wanted = [part.definition for name in names for part in parse_measure(name).parts]
    entries = ["\n".join(describe(definition)) for definition in dict.fromkeys(wanted) or DEFINITIONS.values()]
    if not names:
        entries += [
            f"{name}\n  {formula}: a weighted sum; any such formula can be given with -m" for name, formula in FORMULAS.items()
        ]
    show("\n\n".join(entries) + "\n")


def describe(definition: Definition) -> Iterator[str]:
    """The entry of one measure, line by line."""
    yield _usage(definition)
    yield f"  {definition.summary}"
    high = "no upper bound" if definition.high == float("inf") else f"{definition.high:g}"
    yield f"  range      {definition.low:g} to {high}; higher is better"
    for name in definition.parameters:
        parameter = PARAMETERS[name]
        yield f"  {name:<10} {parameter.summary}; {parameter.wanted}, default: {parameter.default}"
    yield f"  ties       {definition.ties}"
    yield f"  empty      {definition.empty}"
    yield f"  missing    {definition.missing}"
    if definition.needs_targets:
        yield "  undefined  where globs or symbols were not expanded against a corpus"
    aliases = aliases_of(definition.name)
    if aliases:
        yield f"  also       {', '.join(aliases)}"


def _usage(definition: Definition) -> str:
    options = f"({', '.join(f'{name}=' for name in definition.parameters)})" if definition.parameters else ""
    return f"{definition.name}{options}{'@k' if definition.cutoff else ''}"
