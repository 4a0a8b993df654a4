"""The config of a built-in suite, with what the user's own config adds to it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from searchmark.config.loading import LoadedConfig, load_config
from searchmark.config.sections import Config
from searchmark.options.run_options import RunOptions
from searchmark.suites.builtin import BuiltinSuite

_OF_THE_SUITE = ("corpus", "gates", "compare", "versions")


@dataclass(frozen=True)
class BuiltinConfig(LoadedConfig):
    """What applies to a built-in suite. ``listed_agents`` are those that are asked where a command names none."""

    builtin: BuiltinSuite | None = None
    gates_of_suite: bool = False
    listed_agents: tuple[str, ...] = ()


def with_builtin(suite: BuiltinSuite, config: Config) -> Config:
    """The sections of a built-in suite, and of the user's config what is about agents, how they are run, and outputs.

    A config that the user has named, or that names this suite itself, is about it: its sections go first. One that was found is
    about a search of the user's, and its gates and documents are not those of this suite.
    """
    own = load_config(suite.config_file)
    about = config if config.named or config.suite.path == suite.reference else Config()
    known = {spec.name for spec in config.agents}
    sections = {each.name: getattr(config, each.name) for each in fields(Config)}
    sections |= {name: _first_said(about, own, name) for name in _OF_THE_SUITE}
    sections |= {
        "agents": (*config.agents, *(spec for spec in own.agents if spec.name not in known)),
        "dataset": own.dataset,
        "evaluation": replace(own.evaluation, **_said(config.evaluation)),
        "suite": replace(own.suite, path=suite.reference, format=None, topics=None, measures=_measures(about, own)),
    }
    listed = own.listed_agents or config.listed_agents
    own_gates = about.gates == Config().gates
    return BuiltinConfig(**sections, file=config.file, builtin=suite, gates_of_suite=own_gates, listed_agents=listed)


def _first_said(first: Config, second: Config, name: str) -> object:
    said = getattr(first, name)
    return getattr(second, name) if said == getattr(Config(), name) else said


def _measures(about: Config, own: Config) -> tuple[str, ...]:
    return about.suite.measures or own.suite.measures


def _said(section: RunOptions) -> dict[str, Any]:
    """The fields of a section that differ from their defaults."""
    values = {each.name: getattr(section, each.name) for each in fields(section)}
    return {name: value for name, value in values.items() if value != getattr(RunOptions(), name)}
