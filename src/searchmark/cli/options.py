"""Options of the command line, made from the fields of records, and shown under headings.

A record of the command line alone becomes an argument of the verb as it is. Of a section of the config file only those
fields arrive that the command line or the environment sets (`Given`), so that a default overrides no file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click
from annotated_types import Ge, Gt, Le
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from searchmark.options.option import OptionField, option_fields

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WHAT_TO_RUN, WHAT_TO_SEARCH, WHICH_CASES, HOW_TO_RUN = "What to run", "What to search", "Which cases", "How to run"
RESUME, COMPARISON, OUTPUT, OTHER = "Resume", "Comparison", "Output", "Other"
LAST_SECTIONS = (OUTPUT, OTHER)
PREFIX = "SEARCHMARK_"  # of all that are ours
FIRST_COLUMN = 30  # as wide as click makes it at most, so that all sections are aligned

SAID = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)

# What a shell offers for the value of an option, by what the help calls it.
_FILES = {**dict.fromkeys(("FILE", "PATH", "RUN", "SUITE", "SWEEP"), "file"), "FOLDER": "dir"}

Command = Callable[..., Any]
T = TypeVar("T", bound="DataclassInstance")


@dataclass(frozen=True)
class Given(Generic[T]):
    """What the command line or the environment sets of a section of the config file."""

    values: Mapping[str, Any]

    def over(self, section: T) -> T:
        """The section of a file, with everything that is given instead."""
        return replace(section, **self.values)


class SectionedOption(click.Option):
    """An option under a heading of the help."""

    def __init__(self, *arguments: Any, section: str = OTHER, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.section = section

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        """Names of agents and measures, files and folders where the option takes one, and whatever click knows."""
        from searchmark.cli._known_names import agent_names, measure_names

        if self.name in ("agent", "agents"):
            return agent_names(incomplete)
        if self.name in ("measures", "sort"):
            return measure_names(incomplete)
        if self.metavar in _FILES:
            return [CompletionItem(incomplete, type=_FILES[str(self.metavar)])]
        return super().shell_complete(ctx, incomplete)

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """The option, and the environment variable if that is where a wrong value comes from."""
        hint = super().get_error_hint(ctx)
        from_environment = ctx is not None and ctx.get_parameter_source(self.name or "") is ParameterSource.ENVIRONMENT
        return f"{hint} (environment variable {self.envvar})" if from_environment else hint


class SectionedCommand(click.Command):
    """A command whose help has a heading for every section; those about output come last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                title = getattr(parameter, "section", OTHER)
                sections.setdefault(title, []).append((record[0].ljust(FIRST_COLUMN), record[1]))
        for title in sorted(sections, key=lambda title: LAST_SECTIONS.index(title) if title in LAST_SECTIONS else -1):
            with formatter.section(title):
                formatter.write_dl(sections[title])


def option(section: str, *declarations: str, **attributes: Any) -> Callable[[Command], Command]:
    """An option that belongs to no record."""
    return click.option(*declarations, cls=SectionedOption, section=section, **attributes)


def option_group(record: type, argument: str, section: str, *, left_out: Collection[str] = ()) -> Callable[[Command], Command]:
    """Options for all fields of a record, which the command gets as one argument; ``left_out`` stay at their defaults."""
    described = [each for each in option_fields(record) if each.name not in left_out]

    def decorated(command: Command) -> Command:
        def collected(**arguments: Any) -> Any:
            values = {each.name: arguments.pop(each.name) for each in described}
            return command(**{argument: record(**values)}, **arguments)

        return with_options(collected, command, *(_click_option(each, section) for each in described))

    return decorated


def config_options(
    record: type, argument: str, section: str, table: str, *, left_out: Collection[str] = (), defaults: Mapping[str, str] = {}
) -> Callable[[Command], Command]:
    """Options for all fields of a section of the config file; the command gets those that are `Given`.

    ``left_out``: fields that mean nothing to this command. ``defaults``: what its help says of those that it has others for.
    """
    described = [_with_default(each, defaults) for each in option_fields(record) if each.name not in left_out]

    def decorated(command: Command) -> Command:
        def collected(**arguments: Any) -> Any:
            values = {each.name: arguments.pop(each.name) for each in described}
            given = {name: value for name, value in values.items() if is_given(name)}
            return command(**{argument: Given(given)}, **arguments)

        return with_options(collected, command, *(_click_option(each, section, table) for each in described))

    return decorated


def _with_default(described: OptionField, defaults: Mapping[str, str]) -> OptionField:
    shown = defaults.get(described.name, described.option.default)
    return replace(described, option=replace(described.option, default=shown))


def is_given(name: str, sources: Collection[ParameterSource | None] = SAID) -> bool:
    """Whether the value of an option comes from one of these sources, and not from its default."""
    return click.get_current_context().get_parameter_source(name) in sources


def variable_of(table: str, name: str) -> str:
    """The environment variable that sets a field of a section."""
    return f"{PREFIX}{table}_{name}".upper()


def precedence(table: str, name: str) -> str:
    """Where else options can be set, for the end of a help text."""
    return (
        f"Defaults can be changed in the config file (such as {table}: {name}) and in the environment (such as "
        f"{variable_of(table, name)}). The command line takes precedence over the environment, the environment over the file."
    )


def with_options(collected: Command, command: Command, *options: Callable[[Command], Command]) -> Command:
    """Options, in this order, for a function that precedes a command and hands it what they say."""
    collected.__doc__ = command.__doc__
    collected.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]  # click's own way to collect them
    for each in reversed(options):
        collected = each(collected)
    return collected


def _click_option(described: OptionField, section: str, table: str | None = None) -> Callable[[Command], Command]:
    """The option for a field; in a section of the config file what is on can be switched off again."""
    spelled = described.option
    flag = f"--{described.name.replace('_', '-')}"
    switch = f"{flag}/--no-{flag[2:]}" if described.kind is bool and table is not None else flag
    return option(
        spelled.section or section,
        *(spelled.flags or (switch,)),
        described.name,
        type=None if described.kind is bool else _click_type(described),
        # Only what may be given alone is told to be no flag: click would take a required option without its value too.
        **({"is_flag": True} if described.kind is bool else {}),
        **({} if spelled.alone is None else {"is_flag": False, "flag_value": spelled.alone}),
        multiple=described.several,
        metavar=spelled.metavar or (None if described.choices else _METAVARS.get(described.kind)),
        envvar=None if table is None else variable_of(table, described.name),
        help=spelled.help,
        **_default(described),
    )


_METAVARS: dict[type, str] = {int: "N", float: "X"}


def _default(described: OptionField) -> dict[str, Any]:
    """The default of the field, and how the help shows it."""
    if described.required:
        return {"required": True}
    plain_flag = described.kind is bool and not described.default
    return {"default": described.default, "show_default": described.option.default or not plain_flag}


def _click_type(described: OptionField) -> click.ParamType[Any]:
    if described.choices:
        return click.Choice(described.choices)
    bounds = _bounds(described)
    if described.kind is int:
        return click.IntRange(**bounds) if bounds else click.INT
    if described.kind is float:
        return click.FloatRange(**bounds) if bounds else click.FLOAT
    return click.STRING


def _bounds(described: OptionField) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    for bound in described.bounds:
        match bound:
            case Ge(low):
                bounds |= {"min": low}
            case Gt(low):
                bounds |= {"min": low, "min_open": True}
            case Le(high):
                bounds |= {"max": high}
    return bounds
