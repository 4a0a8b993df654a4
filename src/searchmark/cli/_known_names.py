"""Names that a shell completes and only we know: agents, measures, topics of the documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import click
from click.shell_completion import CompletionItem

Names = Callable[[str], list[CompletionItem[Any]]]

# What a shell takes as it is: a name such as $(command) would be run by whoever completes it and presses Enter.
_HARMLESS = re.compile(r"[\w.:@%+,/-]+")


def completed_by(names: Names) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem[Any]]]:
    """The names, as an argument of a verb asks for them."""
    return lambda _context, _parameter, incomplete: names(incomplete)


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
        if isinstance(name, str) and _HARMLESS.fullmatch(name):
            yield name


def measure_names(incomplete: str) -> list[CompletionItem[Any]]:
    """Every measure by its own name, with the first sentence about it; behind @ a cutoff is up to the user."""
    from searchmark.measures.catalogue import DEFINITIONS, FORMULAS

    helped = {name: definition.summary for name, definition in DEFINITIONS.items()} | dict.fromkeys(FORMULAS, "")
    return [CompletionItem(name, help=about) for name, about in helped.items() if name.lower().startswith(incomplete.lower())]


def builtin_names(incomplete: str) -> list[CompletionItem[Any]]:
    """The suites that come with Searchmark."""
    from searchmark.suites.builtin import builtin_suites

    return [CompletionItem(name) for name in builtin_suites() if name.startswith(incomplete.lower())]


def topic_names(incomplete: str) -> list[CompletionItem[Any]]:
    """The pages of the documentation; none where they are not installed."""
    from searchmark.cli._pages import topics
    from searchmark.errors import UsageError

    try:
        return [CompletionItem(name) for name in topics() if name.startswith(incomplete.lower())]
    except UsageError:
        return []
