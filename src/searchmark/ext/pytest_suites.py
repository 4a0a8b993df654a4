"""A suite with all that it takes to test it, from its header and the config."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from searchmark.agents.agent import AgentSpec
from searchmark.agents.modes import in_one_mode
from searchmark.agents.source import BuiltIn, EntryPoint, PythonClass
from searchmark.config import Config
from searchmark.corpora.case_locations import Where
from searchmark.errors import SearchmarkError, UsageError
from searchmark.experiments import Experiment, gate_run
from searchmark.files.walking import walk
from searchmark.gates.baselines import NO_BASELINE, Baseline, baseline_in_use
from searchmark.gates.reading import gates_in_force, look_book, rules_of
from searchmark.gates.rules import Rule
from searchmark.options.gate_options import BASELINE_FILE, GateOptions
from searchmark.pytest_plugin.checking import outcome_of
from searchmark.pytest_plugin.environment import is_ci, wants_real_embeddings, wants_update, with_real_embeddings
from searchmark.pytest_plugin.outcomes import SuiteOutcome
from searchmark.pytest_plugin.updating import proposed_update
from searchmark.records import Suite
from searchmark.registry import known_agents, spec_of_suite, with_arms
from searchmark.runs import save_run
from searchmark.suites import load_suite_with_setup
from searchmark.suites.native import SuiteSetup

# How agents say that something is not there; anything else that keeps one from starting is a fault of its own.
_NOT_THERE = re.compile(
    r"\b(ModuleNotFoundError|ImportError|FileNotFoundError|ConnectionRefusedError|ConnectError|not installed|No such file)\b"
)


@dataclass(frozen=True, eq=False)
class SuiteUnderTest:
    """A suite, the agent that is asked, what it searches, and the rules that it must meet.

    ``agent`` is what the agent is called that ``spec`` is a mode of, or is itself.
    """

    path: Path
    suite: Suite
    setup: SuiteSetup
    config: Config
    spec: AgentSpec
    agent: str

    @cached_property
    def gates(self) -> GateOptions:
        """Those of the header, or else those of the config."""
        return gates_in_force(self.setup.gates, self.config.gates)

    @property
    def is_wanted(self) -> bool:
        """Whether the suite is run at all, here."""
        return is_ci() or not self.setup.only_in_ci

    @cached_property
    def rules(self) -> list[Rule]:
        """Those that are stated, then those that the baseline brings along."""
        return [*self._stated, *self._baseline.rules]

    @cached_property
    def _stated(self) -> list[Rule]:
        return rules_of(self.gates)

    @property
    def where(self) -> Where:
        repository = self.config.dataset.repository_path
        corpus = None if self.setup.corpus is None else str(self.setup.corpus)
        return Where(
            corpus=corpus,
            files=self.config.corpus.files,
            never=(self.path, *self.config.own_files),
            base=self.path.parent,
            repository_path=repository if isinstance(repository, str) else None,
        )

    @cached_property
    def key(self) -> str:
        """A digest of everything that decides what comes out: a run is shared by those with the same one."""
        digest = hashlib.sha256()
        for part in self._parts():
            digest.update(hashlib.sha256(part).digest())
        return digest.hexdigest()[:32]

    def tested(self, run_file: Path) -> SuiteOutcome:
        """Run the suite, keep the run, and check the gate; what stops all of that is an outcome too."""
        missing = self._missing()
        if missing is not None:
            return SuiteOutcome(missing=missing)
        try:
            return self._checked(run_file)
        except SearchmarkError as error:
            return SuiteOutcome(missing=str(error)) if self._says_missing(str(error)) else SuiteOutcome(broken=str(error))

    @property
    def command(self) -> str:
        """What shows the whole report."""
        command = ["searchmark", "evaluate", "--gold-set", _shown(self.path)]
        if not (isinstance(self.spec.source, BuiltIn | EntryPoint) and self.setup.agent is not None):
            command += ["--agent", self._agent_text]
            command += ["--mode", self.spec.name] if self.spec.name != self.agent else []
        return shlex.join([*command, "-o", "report.md"])

    @property
    def _agent_text(self) -> str:
        """The agent as the command line names it."""
        source = self.spec.source
        if not isinstance(source, PythonClass):
            return self.agent
        return f"{source.module if self._code is None else _shown(self._code)}:{source.attribute}"

    def _checked(self, run_file: Path) -> SuiteOutcome:
        experiment = Experiment(self.suite, (self.spec,), self.where, options=self.config.evaluation, hidden=(self.path,))
        ran = experiment.run()
        save_run(ran.runs[0], run_file)
        failure = ran.runs[0].provenance.failure
        if failure is not None and self._says_missing(failure):
            return SuiteOutcome(missing=failure)
        scores, gate = gate_run(
            ran.suite,
            ran.runs,
            self._stated,
            baseline=self._baseline,
            looks=look_book(self.gates, self._stated, self._baseline_file),
            options=self.config.compare,
            corpus=ran.survey,
        )
        outcome = outcome_of(scores, self.rules, gate, self.command)
        return proposed_update(self.path, run_file, outcome) if wants_update() else outcome

    @cached_property
    def _baseline(self) -> Baseline:
        if not self.is_wanted:  # what it says is of no use, and need not even be there
            return NO_BASELINE
        return baseline_in_use(self.gates.baseline, self._default_baseline, self._stated)

    @property
    def _default_baseline(self) -> Path:
        return (self.config.folder or self.path.parent) / BASELINE_FILE

    @property
    def _baseline_file(self) -> Path:
        return self._default_baseline if self.gates.baseline is None else Path(self.gates.baseline)

    def _missing(self) -> str | None:
        """What is not there, before anything is run."""
        corpus = self.setup.corpus
        if corpus is not None and not corpus.exists():
            return f"there is no corpus {_shown(corpus)}, which {_shown(self.path)} names"
        if isinstance(self.spec.source, EntryPoint) and self.spec.source.name not in {each.name for each in known_agents()}:
            return f"there is no agent {self.spec.source.name!r}; install the package that brings it"
        try:
            agents = list(with_arms(self.spec))
        except SearchmarkError:
            return None  # options that are wrong are said when it is run
        return next(filter(None, map(_what_is_missing, agents)), None)

    def _says_missing(self, failure: str) -> bool:
        """Whether an agent failed for want of something; its own file is not such a thing, but a mistake in the suite."""
        return _NOT_THERE.search(failure) is not None and (self._code is None or self._code.is_file())

    @property
    def _code(self) -> Path | None:
        """The file that the agent is in, if the suite names one."""
        source = self.spec.source
        return Path(source.module) if isinstance(source, PythonClass) and source.module.endswith(".py") else None

    def _parts(self) -> Iterator[bytes]:
        yield self.path.read_bytes()
        options = [asdict(self.config.evaluation), asdict(self.config.compare), asdict(self.config.corpus), asdict(self.gates)]
        yield repr((str(self.path), self.spec.to_plain(), options)).encode()
        if self._code is not None:
            yield from _content(self._code)
        if self.setup.corpus is not None:
            yield from _content(self.setup.corpus)
        yield from _content(self._baseline_file)


def open_suite(path: Path, config: Config) -> SuiteUnderTest:
    """Read a suite and find out how it is tested; a header is trusted, since pytest runs the code beside it anyway."""
    suite, setup = load_suite_with_setup(path)
    choice = setup.agent
    if choice is None and len(config.agents) != 1:
        raise UsageError(f"{_shown(path)} names no agent: write 'agent: bm25' into it, or describe a single one in the config")
    spec = config.agents[0] if choice is None else spec_of_suite(choice, config.agents, path.parent, trusted=True)
    asked = in_one_mode(spec, setup.mode, ": write 'mode: NAME' into the suite")
    return SuiteUnderTest(path, suite, setup, config, with_real_embeddings(asked) if wants_real_embeddings() else asked, spec.name)


def _what_is_missing(spec: AgentSpec) -> str | None:
    """What a built-in agent says that it needs; with an embedder of its own choice, that says so when it is loaded."""
    if not isinstance(spec.source, BuiltIn) or "embedder" in spec.config:
        return None
    missing: str | None = spec.source.load().missing()
    return missing


def _content(path: Path) -> Iterator[bytes]:
    """A file by its content; the files of a folder by name, size and time, since there may be many."""
    if path.is_file():
        yield path.read_bytes()
    for folder, _, files in walk(path) if path.is_dir() else ():
        for name in sorted(files):
            found = (Path(folder) / name).lstat()
            yield f"{folder}/{name} {found.st_size} {found.st_mtime_ns}".encode("utf-8", "surrogateescape")


def _shown(path: Path) -> str:
    """A path as short as it can be from here."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
