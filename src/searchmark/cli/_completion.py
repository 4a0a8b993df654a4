"""How shells complete our commands: their scripts, and what click does not know of our command line."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from searchmark.cli import COMPLETION
from searchmark.cli._variadic import spread

PROGRAM = "searchmark"


class _ManyAgents(ShellComplete):
    """After ``--agents a`` the next word is another agent, and where nothing else is known, a file."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        among_agents = not incomplete.startswith("-") and spread(args, "--agents")[-2:-1] == ["--agents"]
        return [*args, "--agents"] if among_agents else args, incomplete

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        found = super().get_completions(args, incomplete)
        if found or incomplete.startswith("-") or not _has_verb(args):
            return found
        return [CompletionItem(incomplete, type="file")]


def _has_verb(args: list[str]) -> bool:
    return any(not each.startswith("-") for each in args)


class _Bash(_ManyAgents, BashComplete):
    pass


class _Zsh(_ManyAgents, ZshComplete):
    pass


class _Fish(_ManyAgents, FishComplete):
    pass


SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def register() -> None:
    """Let click complete as above."""
    for name, shell in SHELLS.items():
        click.shell_completion.add_completion_class(shell, name)


def script(shell: str, app: click.Command) -> str:
    """What a shell must read to complete our commands."""
    return SHELLS[shell](app, {}, PROGRAM, COMPLETION).source()
