"""``searchmark completion``."""

from __future__ import annotations

import click

from searchmark.cli._completion import SHELLS, script
from searchmark.cli._output import show


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
