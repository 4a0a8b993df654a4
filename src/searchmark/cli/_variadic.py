"""Options that take several values at once: ``--agents a b c``, ``--run a b``."""

from __future__ import annotations

from collections.abc import Callable

import click

from searchmark.cli._options import SectionedCommand
from searchmark.runs import named_path


class VariadicCommand(SectionedCommand):
    """A command whose options ``--agents`` and ``--run`` may be followed by any number of values."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread(spread(args, "--agents"), "--run"))


class VariadicBesideSuite(SectionedCommand):
    """A command whose option ``--run`` may be followed by any number of values, and that takes a suite as its argument.

    In ``--run a.run suite.yaml`` the last word is the suite, unless that is named elsewhere.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options, too_many, _ = self.make_parser(ctx).parse_args(list(args))
        named_twice = options.get("suite_path") is not None and options.get("named_suite") is not None
        return super().parse_args(ctx, spread(args, "--run") if too_many or named_twice else args)


class VariadicFiles(SectionedCommand):
    """A command whose option ``--run`` may be followed by any number of files, and that has arguments which are none."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        suite_first = bool(args) and not args[0].startswith("-")
        return super().parse_args(ctx, spread(args, "--run", _is_run) if suite_first else args)


def _is_run(word: str) -> bool:
    return named_path(word)[1].exists()


def spread(args: list[str], option: str, is_value: Callable[[str], bool] = lambda _: True) -> list[str]:
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
