"""The text of a first config: every section with a comment that says what it decides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from searchmark.starting.first_agents import FirstAgents
from searchmark.starting.first_numbers import FirstNumbers
from searchmark.starting.project import RESULTS

CONFIG = "searchmark.yaml"


@dataclass(frozen=True)
class FirstConfig:
    """All that a first config says. ``numbers`` are what was measured, or why nothing was."""

    suite: str
    topics: str | None
    corpus: str | None
    mined: bool
    measures: tuple[str, ...]
    agents: FirstAgents
    numbers: FirstNumbers | str
    written: date
    reads_elsewhere: bool = False

    @property
    def needs_naming(self) -> bool:
        """Whether the config is taken only if it is named: it starts a program, asks a service, or reads files elsewhere."""
        return self.agents.needs_naming or self.reads_elsewhere

    @property
    def commands(self) -> tuple[tuple[str, str], ...]:
        """What to type next, each with what it does."""
        name, config, code = self.agents.measured.name, self._named, self.agents.code
        evaluated = f"searchmark evaluate{config}" + ("" if code is None else f" --agent {code}")
        compared = f"searchmark compare{config}" + ("" if code is None else f" --agents {self.agents.reference} {code}")
        pairs = [(evaluated, f"runs {name} on the suite and checks the gate")]
        pairs += [(compared, f"holds {name} against {self.agents.reference}")] if self.agents.reference is not None else []
        return (*pairs, (f"searchmark audit{config}", "says whether scores on this suite can mean anything"))

    @property
    def _named(self) -> str:
        return f" --config {CONFIG}" if self.needs_naming else ""


def config_text(config: FirstConfig) -> str:
    """The file, which `searchmark evaluate` and `compare` take everything from."""
    return "\n\n".join("\n".join(section) for section in (_top(config), *_sections(config))) + "\n"


def _top(config: FirstConfig) -> Sequence[str]:
    return [
        f"# How the search of this project is measured; written by 'searchmark init' on {config.written}, and yours to change.",
        *(f"#   {command}" for command, _ in config.commands[:-1]),
        "# Paths are from the folder of this file. 'searchmark docs running' explains every field.",
        *_why_named(config),
    ]


def _why_named(config: FirstConfig) -> Iterator[str]:
    if config.needs_naming:
        yield "# --config has to be said: a config that is only found starts no program, asks no service, reads nothing elsewhere."
    if config.agents.code is not None:
        yield f"# --agent {config.agents.code} has to be said: a config alone may not run code."


def _sections(config: FirstConfig) -> Iterator[Sequence[str]]:
    yield _suite(config)
    yield _corpus(config)
    if config.mined:
        yield _dataset()
    yield _agents(config.agents)
    if config.agents.reference is not None:
        yield _compare(config.agents)
    yield _gates(config)
    yield [
        "output:",
        "  # Reports of evaluate and compare, named after the agents; .gitignore has this folder.",
        f"  directory: {RESULTS}",
        "  formats: [json, markdown, html]",
        '  file_name: "{agent}"',
    ]


def _suite(config: FirstConfig) -> Sequence[str]:
    topics = [] if config.topics is None else [f"  topics: {_quoted(config.topics)}"]
    return [
        "suite:",
        "  # What counts as right.",
        f"  path: {_quoted(config.suite)}",
        *topics,
        "  # The first measure leads: verdicts and the gate are about it. 'searchmark measures' lists all.",
        f"  measures: [{', '.join(map(_quoted, config.measures))}]",
        "  # The agent that 'searchmark evaluate' runs where none is named.",
        f"  agent: {_quoted(config.agents.measured.name)}",
    ]


def _corpus(config: FirstConfig) -> Sequence[str]:
    if config.corpus is not None:
        return ["corpus:", "  # What is searched: a folder or a file of documents.", f"  path: {_quoted(config.corpus)}"]
    if config.mined:
        return ["# What is searched: every case in the files as they were before its commit, so there is no section 'corpus'."]
    return ["# What is searched is known to the cases or to the agent, so there is no section 'corpus'."]


def _dataset() -> Sequence[str]:
    from searchmark.starting.mined import MINED, OPTIONS, SUITE

    return [
        "dataset:",
        f"  # How the suite was mined. To mine it again, with newer commits: searchmark generate -o {SUITE}",
        "  repository_path: .",
        *(f"  {name}: {getattr(OPTIONS, name)}" for name in MINED),
    ]


def _agents(agents: FirstAgents) -> Sequence[str]:
    return [
        "agents:",
        "  # What is compared, the one to hold others against first. Your own search is one more entry:",
        '  #   - {name: mine, source: command, config: {argv: [my-search, "{query}", "{corpus}"]}}',
        '  #   - {name: service, source: http, config: {url: "http://localhost:8080/search?q={query}&n={k}"}}',
        "  # 'searchmark agents' lists what is built in; semantic and hybrid search by meaning.",
        *(f"  - {entry}" for entry in agents.entries()),
    ]


def _compare(agents: FirstAgents) -> Sequence[str]:
    return [
        "compare:",
        "  # Every other agent is held against this one, and the gate is about the others.",
        f"  baseline: {agents.reference}",
    ]


def _gates(config: FirstConfig) -> Sequence[str]:
    numbers, leading = config.numbers, config.measures[0]
    if isinstance(numbers, str):
        return [
            "gates:",
            f"  # Nothing was measured: {numbers}.",
            "  # So the gate fails only where nothing right is found at all. Put a number here that evaluate has shown.",
            f"  rules: [{{measure: {_quoted(leading)}, above: 0}}]",
        ]
    measured = f"  # Measured on {config.written}: {numbers.sentence}."
    if numbers.mean <= 0:
        return [
            "gates:",
            measured,
            "  # No rule would be met. Look at the cases first: searchmark cases, searchmark audit.",
            "  rules: []",
        ]
    if numbers.threshold is None:
        return [
            "gates:",
            measured,
            "  # Too little for a threshold, so the gate fails only where nothing right is found.",
            f"  rules: [{{measure: {_quoted(leading)}, above: 0}}]",
        ]
    end = (
        "the mean, rounded down: there are too few cases for an interval"
        if numbers.low is None
        else "the lower end of the interval"
    )
    return [
        "gates:",
        measured,
        f"  # The threshold is {end}.",
        "  # A loss that stays above it is not seen. To see smaller ones, keep a baseline: searchmark docs baselines.",
        f"  thresholds: {{{_quoted(leading)}: {numbers.threshold}}}",
    ]


def _quoted(text: str) -> str:
    """A text that YAML reads as it is, without quotes where it is a simple one."""
    simple = text.replace("/", "").replace("-", "").replace("_", "").replace(".", "").replace("@", "")
    needs_none = simple.isascii() and simple.isalnum() and simple[0].isalpha() and text[0].isalpha()
    return (
        text
        if needs_none and text.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
        else json.dumps(text, ensure_ascii=False)
    )
