"""What a shell completes: verbs and options by click, and names that only we know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from searchmark.cli._options import COMPLETION
from searchmark.cli._variadic import spread

PROGRAM = "searchmark"


class _Spread(ShellComplete):
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


class _Bash(_Spread, BashComplete):
    pass


class _Zsh(_Spread, ZshComplete):
    pass


class _Fish(_Spread, FishComplete):
    pass


SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def register() -> None:
    """Let click complete as above."""
    for name, shell in SHELLS.items():
        click.shell_completion.add_completion_class(shell, name)


def script(shell: str, app: click.Command) -> str:
    """What a shell must read to complete our commands."""
    return SHELLS[shell](app, {}, PROGRAM, COMPLETION).source()


def agent_names(incomplete: str) -> list[CompletionItem[Any]]:
    """Built-in agents, those of plug-ins, and those of the config that would be found; nothing of them is imported."""
    from searchmark.registry.known import known_agents

    names = [*(each.name for each in known_agents()), *_configured_names()]
    return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]


def _configured_names() -> Iterator[str]:
    """The names alone: the config is not checked here, and one that cannot be read completes nothing."""
    from pathlib import Path

    from searchmark.config.found import find_config
    from searchmark.config.parsing import parse_config
    from searchmark.errors import SearchmarkError

    try:
        found = find_config(Path.cwd())
        listed = None if found is None else parse_config(found.file, found.text).get("agents")
    except (SearchmarkError, OSError, AttributeError):
        return
    for each in listed if isinstance(listed, list) else ():
        name = each.get("name") if isinstance(each, dict) else each
        if isinstance(name, str) and name.isprintable():
            yield name


def measure_names(incomplete: str) -> list[CompletionItem[Any]]:
    """Every measure by its own name, with the first sentence about it; behind @ a cutoff is up to the user."""
    from searchmark.measures.catalogue import DEFINITIONS, FORMULAS

    helped = {name: definition.summary for name, definition in DEFINITIONS.items()} | dict.fromkeys(FORMULAS, "")
    return [CompletionItem(name, help=about) for name, about in helped.items() if name.lower().startswith(incomplete.lower())]
