"""Colour and verbosity. Light, since `--help` loads it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import IntEnum
from typing import IO

import click

from searchmark.errors import UsageError

# Whether a stream is shown to people: in colour, and with lines that change while they are looked at.

DUMB = ("dumb", "unknown")  # values of TERM for terminals that understand no codes


def in_colour(stream: IO[str] | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether colours belong there: on a terminal that has them, unless NO_COLOR or FORCE_COLOR is set to anything."""
    if stream is None or environment.get("NO_COLOR"):
        return False
    return bool(environment.get("FORCE_COLOR")) or is_live(stream, environment)


def is_live(stream: IO[str] | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a terminal shows it that can change what it has shown."""
    return stream is not None and stream.isatty() and environment.get("TERM", "").lower() not in DUMB


# How much is said beside what was asked for: ``-q`` and ``-v``, before a verb or after it.


class Verbosity(IntEnum):
    """Quiet: results, warnings and errors. Verbose: also what is read, with what, and by which version."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


_NAMES = {"quiet": Verbosity.QUIET, "verbose": Verbosity.VERBOSE}


# One for the process, as stderr is: files are read in threads, which know no context of click.
_verbosity: dict[str, Verbosity] = {}


def forget() -> None:
    """What one command was told is not told to the next."""
    _verbosity.clear()


def verbosity() -> Verbosity:
    """What was asked for."""
    return next(iter(_verbosity.values()), Verbosity.NORMAL)


def with_verbosity(command: click.Command) -> click.Command:
    """The command with both options, and so all commands below it."""
    if not any(parameter.name in _NAMES for parameter in command.params):
        command.params += verbosity_options()
        if isinstance(command, click.Group):
            for each in command.commands.values():
                with_verbosity(each)
    return command


def verbosity_options() -> list[click.Parameter]:
    """``-v`` and ``-q``."""
    return [
        _option("-v", "--verbose", "Say on stderr what is read, and which versions are at work."),
        _option("-q", "--quiet", "Print results, warnings and errors only."),
    ]


def _option(short: str, name: str, help_text: str) -> click.Parameter:
    return click.Option([short, name], is_flag=True, expose_value=False, callback=_set_verbosity, help=help_text)


def _set_verbosity(_: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or parameter.name in _verbosity:
        return
    _verbosity[str(parameter.name)] = _NAMES[str(parameter.name)]
    if len(_verbosity) > 1:
        raise UsageError("--verbose wants more to be said and --quiet less; give one of them")
    if verbosity() is Verbosity.VERBOSE:
        _say_versions()


def _say_versions() -> None:
    import platform
    from importlib.metadata import version

    click.echo(f"searchmark {version('searchmark')}, Python {platform.python_version()}, {platform.system()}", err=True)
