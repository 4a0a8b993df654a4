"""The verb `searchmark completion`."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from searchmark.cli import COMPLETION
from searchmark.cli.options import repeat_option
from searchmark.cli.output import show

# How shells complete our commands: their scripts, and what click does not know of our command line.

PROGRAM = "searchmark"


class _ManyAgents(ShellComplete):
    """After ``--agents a`` the next word is another agent, and where nothing else is known, a file."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        among_agents = not incomplete.startswith("-") and repeat_option(args, "--agents")[-2:-1] == ["--agents"]
        return [*args, "--agents"] if among_agents else args, incomplete

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        completions = super().get_completions(args, incomplete)
        if completions or incomplete.startswith("-") or not _has_verb(args):
            return completions
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


@click.command("completion", short_help="Print a script that completes commands in a shell.")
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script that completes verbs, options, agents, measures and formats in a shell.

    \b
    bash:  echo 'eval "$(searchmark completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(searchmark completion zsh)"' >> ~/.zshrc
    fish:  searchmark completion fish > ~/.config/fish/completions/searchmark.fish
    """
    show(script(shell, ctx.find_root().command) + "\n")
