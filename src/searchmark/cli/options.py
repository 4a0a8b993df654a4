"""Options made from the fields of records, completion of names, pages of the documentation, paths."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, get_type_hints

import click
from annotated_types import Ge, Gt, Le
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from searchmark.config.option import OptionField, option_fields
from searchmark.errors import UsageError
from searchmark.io.paths import user_text
from searchmark.io.plugins import PluginKind, installed_plugins

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


# Names that a shell completes and only we know: agents, measures, topics of the documentation.

Names = Callable[[str], list[CompletionItem[Any]]]


# What a shell takes as it is: a name such as $(command) would be run by whoever completes it and presses Enter.
_HARMLESS = re.compile(r"[\w.:@%+,/-]+")


def completed_by(names: Names) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem[Any]]]:
    """The names, as an argument of a verb asks for them."""
    return lambda _context, _parameter, incomplete: names(incomplete)


def agent_names(incomplete: str) -> list[CompletionItem[Any]]:
    """Built-in agents, those of plug-ins, and those of the config that would be found; nothing of them is imported."""
    from searchmark.agents.registry import agent_names as known_names

    names = dict.fromkeys((*known_names(), *_configured_names()))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _configured_names() -> Iterator[str]:
    """The names alone: the config is not checked here, and one that cannot be read completes nothing."""
    from pathlib import Path

    from searchmark.config.file import find_config, parse_config
    from searchmark.errors import SearchmarkError

    try:
        source = find_config(Path.cwd())
        entries = None if source is None else parse_config(source.file, source.text).get("agents")
    except (SearchmarkError, OSError, AttributeError):
        return
    for each in entries if isinstance(entries, list) else ():
        name = each.get("name") if isinstance(each, dict) else each
        if isinstance(name, str) and _HARMLESS.fullmatch(name):
            yield name


def measure_names(incomplete: str) -> list[CompletionItem[Any]]:
    """Every measure by its own name, with the first sentence about it; behind @ a cutoff is up to the user.

    Those of installed packages are named and not loaded: to complete a word runs no code of others.
    """
    from searchmark.io.plugins import installed_plugins
    from searchmark.measures.catalogue import DEFINITIONS, FORMULAS

    summaries = {name: definition.summary for name, definition in DEFINITIONS.items()} | dict.fromkeys(FORMULAS, "")
    summaries = {each.name: f"of {each.package}" for each in installed_plugins("measures")} | summaries
    return [CompletionItem(name, help=about) for name, about in summaries.items() if name.lower().startswith(incomplete.lower())]


def builtin_names(incomplete: str) -> list[CompletionItem[Any]]:
    """The suites that come with Searchmark."""
    from searchmark.config.builtin import builtin_suites

    return [CompletionItem(name) for name in builtin_suites() if name.startswith(incomplete.lower())]


def topic_names(incomplete: str) -> list[CompletionItem[Any]]:
    """The pages of the documentation; none where they are not installed."""
    try:
        return [CompletionItem(name) for name in topics() if name.startswith(incomplete.lower())]
    except UsageError:
        return []


# Options of the command line, made from the fields of records, and shown under headings.
#
# The settings of a verb are one record. The annotation of each field says which options it is made of:
#
#     @dataclass(frozen=True)
#     class ShowCommand:
#         saved: Annotated[SavedRuns, OptionGroup(WHAT_TO_RUN)]                  # a record with an option for every field
#         given: Annotated[GivenSettings[RunSettings], ConfigGroup(HOW_TO_RUN, "evaluation")]
#         brief: Annotated[bool, Flag(OUTPUT, "--brief", is_flag=True)]
#
#     @verb("show", ShowCommand)
#     def command(settings: ShowCommand) -> int: ...
#
# Of a section of the config file only those fields arrive that the command line or the environment sets (`GivenSettings`), so
# that a default overrides no file.

WHAT_TO_RUN, WHAT_TO_SEARCH, WHICH_CASES, HOW_TO_RUN = "What to run", "What to search", "Which cases", "How to run"

RESUME, COMPARISON, OUTPUT, OTHER = "Resume", "Comparison", "Output", "Other"

LAST_SECTIONS = (OUTPUT, OTHER)

PREFIX = "SEARCHMARK_"  # of all that are ours

FIRST_COLUMN = 30  # as wide as click makes it at most, so that all sections are aligned

EXPLICIT = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


# What a shell offers for the value of an option, by what the help calls it.
_FILES = {**dict.fromkeys(("FILE", "PATH", "RUN", "SUITE", "SWEEP"), "file"), "FOLDER": "dir"}

Command = Callable[..., Any]

T = TypeVar("T", bound="DataclassInstance")


@dataclass(frozen=True)
class GivenSettings(Generic[T]):
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
    """An option of a command that has no settings record."""
    return click.option(*declarations, cls=SectionedOption, section=section, **attributes)


class OptionSource(ABC):
    """Says in the annotation of a field of a verb's settings which options it is made of, and makes its value of them."""

    @abstractmethod
    def parameters(self, name: str, kind: Any) -> Iterator[click.Parameter]:
        """The options, in the order of the help, for the field of this name and type."""

    @abstractmethod
    def value(self, name: str, kind: Any, params: Mapping[str, Any]) -> Any:
        """What the field gets, of all that click has parsed."""


class Flag(OptionSource):
    """A single option, declared as click has it; its name is that of the field. Where no heading is shown, it has no section."""

    def __init__(self, section: str | None, *declarations: str, **attributes: Any) -> None:
        if section is None:
            self._make: Callable[[str], click.Parameter] = lambda name: click.Option([*declarations, name], **attributes)
        else:
            self._make = lambda name: SectionedOption([*declarations, name], section=section, **attributes)

    def parameters(self, name: str, kind: Any) -> Iterator[click.Parameter]:  # noqa: ARG002  # click knows the type
        yield self._make(name)

    def value(self, name: str, kind: Any, params: Mapping[str, Any]) -> Any:  # noqa: ARG002  # as above
        return params.get(name)


class Positional(Flag):
    """A single argument without a flag."""

    def __init__(self, metavar: str, **attributes: Any) -> None:
        self._make = lambda name: click.Argument([name], metavar=metavar, **attributes)


@dataclass(frozen=True)
class OptionGroup(OptionSource):
    """A record, with an option for each of its fields but those that are ``left_out``, which stay at their defaults."""

    section: str
    left_out: Collection[str] = ()

    def _fields(self, record: type) -> list[OptionField]:
        return [each for each in option_fields(record) if each.name not in self.left_out]

    def parameters(self, name: str, kind: Any) -> Iterator[click.Parameter]:  # noqa: ARG002  # options are named by the record
        return (_click_option(each, self.section) for each in self._fields(kind))

    def value(self, name: str, kind: Any, params: Mapping[str, Any]) -> Any:  # noqa: ARG002  # as above
        return kind(**{each.name: params[each.name] for each in self._fields(kind)})


@dataclass(frozen=True)
class ConfigGroup(OptionSource):
    """A section of the config file: a record, of which the field gets what is `GivenSettings`.

    ``left_out``: fields that mean nothing to this command. ``defaults``: what its help says of those that it has others for.
    """

    section: str
    table: str
    left_out: Collection[str] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)

    def _fields(self, kind: Any) -> list[OptionField]:
        (record,) = get_args(kind)
        return [_with_defaults(each, self.defaults) for each in option_fields(record) if each.name not in self.left_out]

    def parameters(self, name: str, kind: Any) -> Iterator[click.Parameter]:  # noqa: ARG002  # options are named by the record
        return (_click_option(each, self.section, self.table) for each in self._fields(kind))

    def value(self, name: str, kind: Any, params: Mapping[str, Any]) -> Any:  # noqa: ARG002  # as above
        return GivenSettings({each.name: params[each.name] for each in self._fields(kind) if is_given(each.name)})


class Settings(OptionSource):
    """A record whose fields say themselves what they are made of."""

    def parameters(self, name: str, kind: Any) -> Iterator[click.Parameter]:  # noqa: ARG002  # its fields have names
        return (each for inner, (of, source) in _sources(kind).items() for each in source.parameters(inner, of))

    def value(self, name: str, kind: Any, params: Mapping[str, Any]) -> Any:  # noqa: ARG002  # as above
        return kind(**{inner: source.value(inner, of, params) for inner, (of, source) in _sources(kind).items()})


@cache
def _sources(record: type[Any]) -> dict[str, tuple[Any, OptionSource]]:
    """The fields of a settings record, each with its type and what it is made of."""
    hints = {name: get_args(hint) for name, hint in get_type_hints(record, include_extras=True).items()}
    return {
        each.name: (kind, source)
        for each in fields(record)
        for kind, *metadata in [hints[each.name] or (None,)]
        for source in metadata
        if isinstance(source, OptionSource)
    }


def verb(
    name: str, settings: type[T], *, cls: type[click.Command] = SectionedCommand, of: click.Group | None = None, **attributes: Any
) -> Callable[[Callable[[T], Any]], click.Command]:
    """A command whose function gets all that the command line says as one object; ``of`` is the group that it belongs to."""

    def decorator(function: Callable[[T], Any]) -> click.Command:
        def callback(**params: Any) -> Any:
            return function(Settings().value(name, settings, params))

        parameters = list(Settings().parameters(name, settings))
        command = cls(name, callback=callback, params=parameters, help=function.__doc__, **attributes)
        if of is not None:
            of.add_command(command)
        return command

    return decorator


def _with_defaults(option_field: OptionField, defaults: Mapping[str, str]) -> OptionField:
    default = defaults.get(option_field.name, option_field.option.default)
    return replace(option_field, option=replace(option_field.option, default=default))


def is_given(name: str, sources: Collection[ParameterSource | None] = EXPLICIT) -> bool:
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


def _click_option(option_field: OptionField, section: str, table: str | None = None) -> SectionedOption:
    """The option for a field; in a section of the config file what is on can be switched off again."""
    declaration = option_field.option
    flag = f"--{option_field.name.replace('_', '-')}"
    switch = f"{flag}/--no-{flag[2:]}" if option_field.kind is bool and table is not None else flag
    return SectionedOption(
        [*(declaration.flags or (switch,)), option_field.name],
        section=declaration.section or section,
        type=None if option_field.kind is bool else _click_type(option_field),
        # Only what may be given alone is told to be no flag: click would take a required option without its value too.
        **({"is_flag": True} if option_field.kind is bool else {}),
        **({} if declaration.alone is None else {"is_flag": False, "flag_value": declaration.alone}),
        multiple=option_field.several,
        metavar=declaration.metavar or (None if option_field.choices else _METAVARS.get(option_field.kind)),
        envvar=None if table is None else variable_of(table, option_field.name),
        help=declaration.help,
        **_default(option_field),
    )


_METAVARS: dict[type, str] = {int: "N", float: "X"}


def _default(option_field: OptionField) -> dict[str, Any]:
    """The default of the field, and how the help shows it."""
    if option_field.required:
        return {"required": True}
    plain_flag = option_field.kind is bool and not option_field.default
    return {"default": option_field.default, "show_default": option_field.option.default or not plain_flag}


class PluginChoice(click.Choice[str]):
    """One of some names, or that of a plug-in. Plug-ins are looked up if none of ours is meant, and none is loaded."""

    def __init__(self, choices: Sequence[str], kind: PluginKind) -> None:
        super().__init__(choices)
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        others = () if value in self.choices else [each.name for each in installed_plugins(self.kind)]
        chosen: str = click.Choice([*self.choices, *others]).convert(value, param, ctx)
        return chosen


def _click_type(option_field: OptionField) -> click.ParamType[Any]:
    if option_field.choices:
        kind = option_field.option.plugins
        return click.Choice(option_field.choices) if kind is None else PluginChoice(option_field.choices, kind)
    bounds = _bounds(option_field)
    if option_field.kind is int:
        return click.IntRange(**bounds) if bounds else click.INT
    if option_field.kind is float:
        return click.FloatRange(**bounds) if bounds else click.FLOAT
    return click.STRING


def _bounds(option_field: OptionField) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    for bound in option_field.bounds:
        match bound:
            case Ge(low):
                bounds |= {"min": low}
            case Gt(low):
                bounds |= {"min": low, "min_open": True}
            case Le(high):
                bounds |= {"max": high}
    return bounds


# The pages of the documentation: beside the package where it is installed, in ``docs`` where it is a source checkout.

PACKAGE = Path(__file__).parent.parent

FOLDERS = (PACKAGE / "pages", PACKAGE.parent.parent / "docs")

_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def topics() -> dict[str, Path]:
    """Every page by its name, those of a folder behind the name of the folder: those at the top first, in alphabetical order."""
    folder = next((each for each in FOLDERS if (each / "agents.md").is_file()), None)
    if folder is None:
        raise UsageError("the pages of the documentation are not installed; install Searchmark from its wheel or its source")
    pages = {file.relative_to(folder).with_suffix("").as_posix().lower(): file for file in folder.rglob("*.md")}
    return dict(sorted(pages.items(), key=lambda each: ("/" in each[0], each[0])))


def topic_lines() -> Iterator[str]:
    """The topics, each with what it is about."""
    pages = topics()
    width = max(map(len, pages))
    for name, file in pages.items():
        title = _TITLE.search(file.read_text("utf-8"))
        yield f"{name:<{width}}  {title[1] if title else ''}".rstrip()


def page_of(topic: str) -> str:
    """The text of a page; its name may be written like that of its file, and a folder means its index."""
    pages, name = topics(), topic.strip().lower().removeprefix("docs/").removesuffix(".md").replace("_", "-")
    page = pages.get(name) or pages.get(f"{name.rstrip('/')}/readme")
    if page is not None:
        return page.read_text("utf-8")
    near = get_close_matches(name, pages, 3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(f"no page is about {topic!r}; {hint}'searchmark docs' lists the topics")


# ``~`` on the command line: a shell leaves it where it is quoted, or behind ``--run=`` and ``NAME=``.

# What the help calls parameters that are paths. The PATH of --path is below a repository, and not below a home.
_PATHS = {"FILE", "FOLDER", "IN", "OUT", "PATH", "RUN", "SHARD", "SUITE", "SWEEP", "[SUITE]", "[NAME=]PATH", "FILE|ENTRY"}

_IN_REPOSITORY = "paths"


class UserPath(click.types.StringParamType):
    """A path as the user writes it."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return user_text(super().convert(value, param, ctx))


def with_user_paths(command: click.Command) -> click.Command:
    """The command, whose paths may begin with ``~``; those of its own commands too."""
    for parameter in command.params:
        if parameter.type is click.STRING and parameter.name != _IN_REPOSITORY and (parameter.metavar or "").rstrip(".") in _PATHS:
            parameter.type = UserPath()
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        with_user_paths(inner)
    return command


# ``--no-exec``: no plug-in is loaded either, whatever the other options name.


def forbid_plugins(ctx: click.Context) -> None:
    """From now on, until the command ends."""
    from searchmark.io.plugins import plugins_forbidden

    ctx.with_resource(plugins_forbidden())


def with_no_exec(command: click.Command) -> click.Command:
    """The command, which looks at ``--no-exec`` before the values of its other options."""

    def forbid_if_given(ctx: click.Context, _: click.Parameter, given: bool) -> bool:
        if given:
            forbid_plugins(ctx)
        return given

    for parameter in command.params:
        if parameter.name == "no_exec":
            parameter.is_eager, parameter.callback = True, forbid_if_given
    return command


# Options that take several values at once: ``--agents a b c``, ``--run a b``.


class VariadicCommand(SectionedCommand):
    """A command whose options ``--agents`` and ``--run`` may be followed by any number of values."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, repeat_option(repeat_option(args, "--agents"), "--run"))


class VariadicBesideSuite(SectionedCommand):
    """A command whose option ``--run`` may be followed by any number of values, and that takes a suite as its argument.

    In ``--run a.run suite.yaml`` the last word is the suite, unless that is named elsewhere.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options, too_many, _ = self.make_parser(ctx).parse_args(list(args))
        named_twice = options.get("suite_path") is not None and options.get("named_suite") is not None
        return super().parse_args(ctx, repeat_option(args, "--run") if too_many or named_twice else args)


class VariadicBesideCase(SectionedCommand):
    """A command whose option ``--run`` may be followed by any number of files, and that takes a suite and a case as arguments.

    In ``suite.yaml --run a.run other`` the last word is a run if there is such a file, and else the case.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options, too_many, _ = self.make_parser(ctx).parse_args(list(args))
        case, spread_out = options.get("case"), args
        if too_many or (isinstance(case, str) and _is_run(case)):
            spread_out = repeat_option(args, "--run", _is_run)
        has_suite = isinstance(self.make_parser(ctx).parse_args(list(spread_out))[0].get("suite_path"), str)
        return super().parse_args(ctx, spread_out if has_suite else args)


def _is_run(word: str) -> bool:
    from searchmark.formats.runs import parse_run_path

    return parse_run_path(word)[1].exists()


def repeat_option(args: list[str], option: str, is_value: Callable[[str], bool] = lambda _: True) -> list[str]:
    """Repeat the option before each value that follows it, up to the next option; the first word is a value in any case."""
    spread_out: list[str] = []
    inside = False
    for position, argument in enumerate(args):
        if argument == option:
            inside = True
            if position + 1 == len(args) or args[position + 1].startswith("-"):
                spread_out.append(argument)  # click says what is missing
        elif inside and not argument.startswith("-") and (args[position - 1] == option or is_value(argument)):
            spread_out += [option, argument]
        else:
            inside = False
            spread_out.append(argument)
    return spread_out
