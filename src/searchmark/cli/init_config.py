"""The texts of a first config and CI workflow, and the numbers that they begin with."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from searchmark.agents.outside.presets import PRESETS
from searchmark.agents.registry import check_spec
from searchmark.cli.init_project import RESULTS
from searchmark.cli.installation import Installation
from searchmark.config.agents import (
    AgentSpec,
    CommandSource,
    EntryPointSource,
    HttpSource,
    McpSource,
    PythonSource,
    parse_named_source,
)
from searchmark.config.run import RunSettings
from searchmark.config.sections import DatasetSettings
from searchmark.errors import SearchmarkError, UsageError
from searchmark.experiments.evaluation import score_runs
from searchmark.experiments.experiment import Experiment
from searchmark.formats.corpora.case_locations import SearchScope
from searchmark.git.mining.mine import MiningFacts, OnProgress
from searchmark.judgments.gold_sets import generate_gold_set
from searchmark.records.sentences import count_of
from searchmark.records.suite import Suite

if TYPE_CHECKING:
    from searchmark.running.result import RunResult


# The agents of a first config: the one that the user names, and one of ours to compare it with.

_OUTSIDE = (CommandSource, HttpSource, McpSource)

_ENDS_WITH_1 = ("rg", "grep", "egrep", "fgrep", "ag", "ack")  # where a search that finds nothing ends so, and fails at nothing

UNNAMED = "my-search"


@dataclass(frozen=True)
class FirstAgents:
    """``measured`` is the one that the gate is about, ``reference`` what it is compared with; None where nothing could be."""

    measured: AgentSpec
    reference: str | None

    @property
    def needs_naming(self) -> bool:
        """Whether its options may not be taken from a config that was only found."""
        return isinstance(self.measured.source, _OUTSIDE)

    @property
    def code(self) -> str | None:
        """What the command line has to name as well, as a shell takes it, since no config may: NAME=module:Class."""
        source = self.measured.source
        return shlex.quote(f"{self.measured.name}={source.text}") if isinstance(source, PythonSource) else None

    def entries(self) -> Iterator[str]:
        """The entries of the section ``agents``, the reference first."""
        if self.reference is not None:
            yield self.reference
        yield _entry(self.measured)


def _preset_agent(text: str) -> AgentSpec | None:
    """[NAME=]PRESET:ADDRESS/INDEX, with ?fields=a,b&embedder=NAME where the engine wants them; None where no preset is named."""
    before, equals, rest = text.partition("=")
    name, described = (before, rest) if equals and ":" not in before else (None, text)
    preset, _, address = described.partition(":")
    if preset not in PRESETS:
        return None
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    index = parts.path.strip("/")
    config: dict[str, Any] = {"preset": preset, "url": f"{parts.scheme}://{parts.netloc}", "index": index}
    config |= {"fields": query["fields"].split(",")} if "fields" in query else {}
    config |= {"embedder": query["embedder"]} if "embedder" in query else {}
    missing = [each for each in PRESETS[preset].requires if not config.get(each)]
    if parts.scheme not in ("http", "https") or not parts.netloc or missing:
        wanted = "&".join(f"{each}=..." for each in PRESETS[preset].requires if each != "index")
        form = f"{preset}:http://HOST:PORT/INDEX{'?' if wanted else ''}{wanted}"
        raise UsageError(f"{preset} is a preset for a service: say where it is, and what it searches, as --agent '{form}'")
    return AgentSpec(name or preset, HttpSource(HttpSource.kind), config)


def first_agents(text: str, *, searches_files: bool) -> FirstAgents:
    """The agent that a text names, which is looked up and not started."""
    if (preset := _preset_agent(text)) is not None:
        check_spec(preset)
        return FirstAgents(preset, "bm25" if searches_files else None)
    name, source = parse_named_source(text)
    if isinstance(source, _OUTSIDE):
        spec = AgentSpec(name or UNNAMED, type(source)(source.kind), _options(source))
    elif isinstance(source, PythonSource):
        spec = AgentSpec(name or source.attribute, source)
    else:
        spec = AgentSpec(name or source.text, source)
    check_spec(spec)
    other = "fts5" if source.text == "bm25" else "bm25"
    return FirstAgents(spec, other if searches_files and other != spec.name else None)


def searches_elsewhere(text: str) -> bool:
    """Whether an agent may have documents of its own, so that a project need not have any."""
    return _preset_agent(text) is not None or isinstance(parse_named_source(text)[1], (*_OUTSIDE, PythonSource, EntryPointSource))


def _options(source: CommandSource | HttpSource | McpSource) -> Mapping[str, Any]:
    options = dict(source.options)
    words = options.get("argv") or [""]
    greps = PurePath(words[0]).name in _ENDS_WITH_1 or (PurePath(words[0]).name == "git" and "grep" in words)
    return options | ({"nothing": [1]} if isinstance(source, CommandSource) and greps else {})


def _entry(spec: AgentSpec) -> str:
    if spec.source.text == spec.name and not spec.config:
        return spec.name
    parts = {"name": spec.name, "source": spec.source.text} | ({"config": dict(spec.config)} if spec.config else {})
    return json.dumps(parts, ensure_ascii=False)


# What the agent of a first config scores, so that its gate begins with a number that was measured.

MOST_CASES = 500  # a suite that is larger is measured by evaluate, which shows how long it takes

Run = Callable[[Experiment], "RunResult"]


@dataclass(frozen=True)
class FirstNumbers:
    """The mean of one measure, and its interval where there are cases enough for one."""

    agent: str
    measure: str
    mean: float
    low: float | None
    high: float | None
    cases: int

    @property
    def threshold(self) -> float | None:
        """The lower end of the interval, or else the mean, rounded down; None where that would be 0, which nothing is below."""
        threshold = math.floor((self.mean if self.low is None else self.low) * 100) / 100
        return threshold if threshold > 0 else None

    @property
    def sentence(self) -> str:
        """What was measured."""
        interval = "" if self.low is None or self.high is None else f" (95 % interval {self.low:.4f} to {self.high:.4f})"
        return f"{self.agent} has {self.measure} {self.mean:.4f}{interval} on {count_of(self.cases, 'case')}"


def first_numbers(suite: Suite, spec: AgentSpec, where: SearchScope, measure: str, run: Run) -> FirstNumbers | str:
    """What the agent scores; or why that is not known, in a sentence without its end."""
    if len(suite) > MOST_CASES:
        return f"the suite has {len(suite)} cases, more than the {MOST_CASES} that init measures"
    try:
        run_result = run(Experiment(suite, (spec,), where, options=RunSettings(num_runs=1)))
        (scores,) = score_runs(run_result.suite, run_result.runs, [measure], corpus=run_result.survey)
    except SearchmarkError as error:
        return str(error)

    doubt = next(iter(scores.distrust), None)
    (name, summary), *_ = scores.summaries().items()
    if doubt is not None or summary.mean is None:
        failure = next((text for answer in run_result.runs[0].answers if (text := answer.details.failure)), None)
        why = "not a single case has a value" if doubt is None else doubt.message
        return why if failure is None else f"{failure} ({why})"
    return FirstNumbers(spec.name, name, summary.mean, summary.low, summary.high, summary.cases)


# The text of a first config: every section with a comment that says what it decides.

CONFIG = "searchmark.yaml"


@dataclass(frozen=True)
class FirstConfig:
    """All that a first config says."""

    suite: str
    topics: str | None
    corpus: str | None
    mined: bool
    measures: tuple[str, ...]
    agents: FirstAgents
    numbers: FirstNumbers | str  # what was measured, or why nothing was
    written: date
    reads_elsewhere: bool = False  # a path leads out of the project

    @property
    def needs_naming(self) -> bool:
        """Whether the config is taken only if it is named: it starts a program, asks a service, or reads files elsewhere."""
        return self.agents.needs_naming or self.reads_elsewhere

    @property
    def commands(self) -> tuple[tuple[str, str], ...]:
        """What to type next, each with what it does."""
        name, config, code = self.agents.measured.name, self._named, self.agents.code
        evaluate_command = f"searchmark evaluate{config}" + ("" if code is None else f" --agent {code}")
        compare_command = f"searchmark compare{config}" + ("" if code is None else f" --agents {self.agents.reference} {code}")
        pairs = [(evaluate_command, f"runs {name} on the suite and checks the gate")]
        pairs += [(compare_command, f"holds {name} against {self.agents.reference}")] if self.agents.reference is not None else []
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
    comment = f"  # Measured on {config.written}: {numbers.sentence}."
    if numbers.mean <= 0:
        return [
            "gates:",
            comment,
            "  # No rule would be met. Look at the cases first: searchmark cases, searchmark audit.",
            "  rules: []",
        ]
    if numbers.threshold is None:
        return [
            "gates:",
            comment,
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
        comment,
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


# A first suite from the history of the project, of a bounded number of cases.

SUITE = "search-quality/gold_set.json"

ENOUGH = 10  # cases: with fewer there would be no interval

OPTIONS = DatasetSettings(max_cases=60, sample="spread")

MINED = ("max_cases", "sample")  # what is not as it is by default


def mine_project(folder: Path, output: Path, on_progress: OnProgress | None) -> MiningFacts:
    """Mine the repository in a folder, which is the working directory: the gold set names it by that, and clones find theirs."""
    repository = "." if folder.samefile(Path.cwd()) else str(folder)
    (facts,) = generate_gold_set([repository], output, OPTIONS, jobs=os.cpu_count() or 1, on_progress=on_progress)
    return facts


# The text of a CI workflow, every step with the reason why it is there.

WORKFLOW = ".github/workflows/search-quality.yml"


# By commit, as docs/ci.md has them: a tag can be moved to other code.
CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"

SETUP_PYTHON = "actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0"

UPLOAD = "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0"


def workflow_text(config: FirstConfig, installation: Installation) -> str:
    """The file for GitHub Actions."""
    evaluate = config.commands[0][0]
    depth = (
        "the whole history: every case is searched in the files before its commit"
        if config.mined
        else "the whole history: cases and baselines may name commits"
    )
    own = (
        "      # What your own search needs belongs here as well: it runs on this machine.\n"
        if config.agents.needs_naming or config.agents.code
        else ""
    )
    return f"""\
# Fails a pull request that makes search worse; written by 'searchmark init', and yours to change.
name: Search quality

on: [pull_request]

# It reads the code and nothing else, so that a pull request cannot use it to write.
permissions:
  contents: read

jobs:
  search:
    runs-on: ubuntu-latest
    steps:
      # The files of the pull request. fetch-depth: 0 is {depth}.
      # No credentials are left for the steps below, which run what the pull request brings.
      - uses: {CHECKOUT}
        with:
          fetch-depth: 0
          persist-credentials: false
      # A known Python, so that builds of today and of next year measure alike.
      - uses: {SETUP_PYTHON}
        with:
          python-version: "3.12"
      # {installation.comment}
{own}      - run: {installation.command}
      # Runs the agent on the suite and checks the gate of {CONFIG}: exit code 1, a red build, means that search got worse,
      # 2 that the result cannot be trusted. --github puts the report on the page of the build. The saved run can become a baseline.
      - run: |
          {evaluate} --github --save-run {RESULTS}/run.jsonl
      # Reports and answers are kept also where the gate failed: they show which cases got worse.
      - uses: {UPLOAD}
        if: always()
        with:
          name: search-quality
          path: {RESULTS}/
"""
