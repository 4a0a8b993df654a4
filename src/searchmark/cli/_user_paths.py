"""``~`` on the command line: a shell leaves it where it is quoted, or behind ``--run=`` and ``NAME=``."""

from __future__ import annotations

import click

from searchmark.options.user_paths import user_text

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
