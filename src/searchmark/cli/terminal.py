"""How much is said beside what was asked for: ``-q`` and ``-v``, before a verb or after it."""

from __future__ import annotations

from enum import IntEnum

import click

from searchmark.errors import UsageError


class Verbosity(IntEnum):
    """Quiet: results, warnings and errors. Verbose: also what is read, with what, and by which version."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


_NAMES = {"quiet": Verbosity.QUIET, "verbose": Verbosity.VERBOSE}
# One for the process, as stderr is: files are read in threads, which know no context of click.
_chosen: dict[str, Verbosity] = {}


def forget() -> None:
    """What one command was told is not told to the next."""
    _chosen.clear()


def verbosity() -> Verbosity:
    """What was asked for."""
    return next(iter(_chosen.values()), Verbosity.NORMAL)


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


def _option(short: str, name: str, described: str) -> click.Parameter:
    return click.Option([short, name], is_flag=True, expose_value=False, callback=_remember, help=described)


def _remember(_: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or parameter.name in _chosen:
        return
    _chosen[str(parameter.name)] = _NAMES[str(parameter.name)]
    if len(_chosen) > 1:
        raise UsageError("--verbose wants more to be said and --quiet less; give one of them")
    if verbosity() is Verbosity.VERBOSE:
        _say_versions()


def _say_versions() -> None:
    import platform

    import searchmark

    click.echo(f"searchmark {searchmark.__version__}, Python {platform.python_version()}, {platform.system()}", err=True)
