"""Suites as tests: what became of each case and rule, from one run that all processes of a session share.

What a plug-in of a test runner needs, as that for pytest in `searchmark.ext`; `searchmark.testing.suites` is a public name.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeGuard

from searchmark import testing
from searchmark.agents.registry import agent_in_one_mode, spec_of_suite
from searchmark.config.agents import AgentSpec, BuiltInSource, EntryPointSource, PythonSource
from searchmark.config.gates import BASELINE_FILE, GateSettings
from searchmark.config.run import RunSettings
from searchmark.config.sections import Config
from searchmark.errors import SearchmarkError, UsageError, is_missing, shortened
from searchmark.experiments.evaluation import Evaluation
from searchmark.experiments.experiment import Experiment
from searchmark.formats.corpora.case_locations import SearchScope
from searchmark.formats.runs import load_run, save_run
from searchmark.formats.suites import load_suite_with_setup
from searchmark.formats.suites.native import SuiteSetup
from searchmark.gates.baselines import NO_BASELINE, Baseline, FixtureRule, baseline_in_use
from searchmark.gates.bounds import NumberRule, RelativeRule
from searchmark.gates.pins import SHOWN, EachCaseRule, KnownFailureRule, PinRule, value_of
from searchmark.gates.quantities import SIGNS, expectation_sentence, is_within
from searchmark.gates.rules import Gate, Rule, RuleResult, only_if_trusted
from searchmark.gates.section import gates_in_force, look_counter, rules_of
from searchmark.io.paths import walk
from searchmark.io.text import redirect_notes
from searchmark.judgments.approve import approve, author_of
from searchmark.judgments.suite_edits import WARNING, Approval
from searchmark.measures.catalogue import both_names
from searchmark.records.answers import ERROR, NOT_RUN, STATUSES, TIMEOUT
from searchmark.records.run import Run
from searchmark.records.suite import Case, Suite
from searchmark.reports.quoting import visible
from searchmark.running import agent_check
from searchmark.running.result import RunResult
from searchmark.scoring.scores import Scores
from searchmark.testing import LONGEST_QUERY_SHOWN, AnyPath, describe_expected, explain_rule, read_gate_settings

__all__ = ["SearchmarkFixture", "SharedRuns", "SuiteOutcome", "SuiteUnderTest", "wants_update"]

# What became of the cases and rules of a suite, as plain data that every worker of a session reads.

CaseVerdict = Literal["passed", "failed", "error", "known_failure"]


@dataclass(frozen=True)
class CaseOutcome:
    """What the gate says about one case, or why it could not be run."""

    verdict: CaseVerdict
    message: str = ""


@dataclass(frozen=True)
class RuleReport:
    """What became of one rule; a ``failed`` or unknown one has its reason in the message."""

    passed: bool
    message: str = ""


@dataclass(frozen=True)
class SuiteOutcome:
    """One run of a suite."""

    cases: Mapping[str, CaseOutcome] = field(default_factory=dict)  # by id
    rules: tuple[RuleReport, ...] = ()  # in their order
    missing: str | None = None  # what the agent needs and this machine does not have
    broken: str | None = None  # why nothing could be run at all
    refused: str | None = None  # where expectations are updated: why none can be
    left_alone: Mapping[str, str] = field(default_factory=dict)  # likewise: the cases that stay as they are, each with its reason

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SuiteOutcome:
        """What ``to_json`` has written."""
        data = json.loads(text)
        cases = {case: CaseOutcome(**each) for case, each in data.pop("cases").items()}
        return cls(cases, tuple(RuleReport(**each) for each in data.pop("rules")), **data)


# Scores and a gate become the outcome of every case and every rule.

_NO_ANSWER = (ERROR, TIMEOUT, NOT_RUN)


def suite_outcome(scores: Scores, rules: Sequence[Rule], gate: Gate | None, command: str) -> SuiteOutcome:
    """All that items need to know; ``command`` is what to run next."""
    suite = scores.matched.suite
    cases = {case.id: _case_outcome(scores, case, rules, command) for case in suite.cases}
    results = () if gate is None else gate.rules
    outcomes = tuple(_rule_outcome(result, suite, command) for result in results)
    return SuiteOutcome(cases, outcomes)


def _rule_outcome(result: RuleResult, suite: Suite, command: str) -> RuleReport:
    passed = result.verdict == "passed"
    return RuleReport(passed, explain_rule(result, suite) + ("" if passed else _next_command(command)))


def _case_outcome(scores: Scores, case: Case, rules: Sequence[Rule], command: str) -> CaseOutcome:
    status = scores.matched.status[scores.matched.suite.table.index[case.id]]
    if status in _NO_ANSWER:
        return CaseOutcome("error", f"{_no_answer_reason(scores, case.id)}{_next_command(command)}")
    known_failure = next((rule for rule in rules if isinstance(rule, KnownFailureRule) and rule.failure.case == case.id), None)
    if known_failure is not None and only_if_trusted(scores, known_failure.check_run(scores)).verdict == "passed":
        return CaseOutcome("known_failure", known_failure.failure.reason or "a known failure")
    failures = list(_failures_of_case(scores, case.id, rules))
    if not failures:
        return CaseOutcome("passed")
    return CaseOutcome("failed", "\n".join([*failures, *_case_sentences(scores, case)]) + _next_command(command))


def _failures_of_case(scores: Scores, case: str, rules: Sequence[Rule]) -> Iterator[str]:
    """What the gate says against one case."""
    for rule in rules:
        if _rule_names_case(rule, case):
            result = only_if_trusted(scores, rule.check_run(scores))
            if result.verdict != "passed":
                yield result.message
        elif isinstance(rule, EachCaseRule) and case not in rule.exempt:
            value = value_of(scores, rule.measure, case)
            if value is not None and not is_within("at_least", value, rule.expected):
                name = both_names(rule.label, scores.known_as(rule.measure) or rule.measure.name)
                yield expectation_sentence(f"{name} of case {case}", "at_least", rule.expected, value, met=False)


def _rule_names_case(rule: Rule, case: str) -> TypeGuard[PinRule | KnownFailureRule]:
    named_by = rule.pin if isinstance(rule, PinRule) else rule.failure if isinstance(rule, KnownFailureRule) else None
    return named_by is not None and named_by.case == case


def _case_sentences(scores: Scores, case: Case) -> Iterator[str]:
    """What was asked, expected and returned."""
    run = scores.matched.run
    hits = run.ids_of(run.index[case.id])[:SHOWN] if case.id in run.index else []
    if case.query is not None:
        yield f"  query: {shortened(case.query, LONGEST_QUERY_SHOWN)}"
    yield f"  expected: {describe_expected(case)}"
    yield f"  got: {shortened(', '.join(hits), LONGEST_QUERY_SHOWN) or 'nothing'}"


def _no_answer_reason(scores: Scores, case: str) -> str:
    run, row = scores.matched.run, scores.matched.suite.table.index[case]
    status = STATUSES[scores.matched.status[row]].replace("_", " ")
    details = None if run.details is None or case not in run.index else run.details[run.index[case]]
    reason = (details.failure if details is not None else None) or run.provenance.failure
    return f"case {case} ended with {status}" + (f": {reason}" if reason else "")


def _next_command(command: str) -> str:
    return f"\nnext: {command}"


# What environment variables ask for.

FAKE_EMBEDDER = "hashing"

_OFF = ("", "0", "false", "no", "off")

ONNX_PATH_WARNING = (
    "ONNX_PATH has no effect: the embedders minilm and onnx use the ONNX runtime that is installed as a package of Python"
)


def is_ci() -> bool:
    return _is_set("CI", os.environ)


def wants_update() -> bool:
    return _is_set("UPDATE_BENCHMARK_EXPECTATIONS", os.environ)


def wants_real_embeddings() -> bool:
    return _is_set("USE_REAL_EMBEDDINGS", os.environ)


def with_real_embeddings(spec: AgentSpec) -> AgentSpec:
    """The agent with real embeddings wherever it, or an agent that it asks, was given fake ones."""
    return replace(spec, config=_replace_fake(spec.config))


def _replace_fake(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: real_embedder() if key == "embedder" and _is_fake_embedder(each) else _replace_fake(each)
            for key, each in value.items()
        }
    return [_replace_fake(each) for each in value] if isinstance(value, list | tuple) else value


def real_embedder() -> str | dict[str, Any]:
    """all-MiniLM-L6-v2 by whatever is installed, without torch if that is possible; no other model replaces it."""
    from searchmark.agents.vectors import models, onnx

    lacks = onnx.minilm_problem()
    if lacks is None:
        return "minilm"
    if models.transformer_problem() is not None:
        raise UsageError(f"USE_REAL_EMBEDDINGS needs all-MiniLM-L6-v2: {lacks}")
    packaged = models.is_packaged(models.ALL_MINILM)
    return {"name": "transformer", "model": models.ALL_MINILM} if packaged else "transformer"


def _is_fake_embedder(embedder: Any) -> bool:
    return (embedder.get("name") if isinstance(embedder, Mapping) else embedder) == FAKE_EMBEDDER


def _is_set(name: str, environment: Mapping[str, str]) -> bool:
    return environment.get(name, "").strip().lower() not in _OFF


# One run per suite and session, however many processes the session has: the first one that needs it makes it, the others wait.

RUN, OUTCOME, CHOSEN, SUITE = "run.jsonl", "outcome.json", "chosen.jsonl", "suite.json"


class SharedRuns:
    """The folder of a session, with a folder per suite: its run, and what became of its cases and rules.

    Only the controller makes the folder and removes it: it outlives every worker.
    """

    def __init__(self, session: str, *, is_controller: bool) -> None:
        self._session = session
        self.is_controller = is_controller
        self._until_the_end = ExitStack()
        self._known: dict[str, SuiteOutcome] = {}
        self._notes = dict.fromkeys([ONNX_PATH_WARNING] if _is_set("ONNX_PATH", os.environ) else [])

    @property
    def notes(self) -> list[str]:
        """What a test run should not pass over, in sentences; no warnings, since these become errors on request."""
        return list(self._notes)

    def note(self, *sentences: str) -> None:
        """Say something at the end of the session, once."""
        self._notes.update(dict.fromkeys(sentences))

    @cached_property
    def folder(self) -> Path:
        """Made when it is needed; one that is left by a killed session is removed by the next process of ours."""
        from searchmark.io.folders import private_folder, private_folder_of

        if not self.is_controller:
            return private_folder_of(self._session)
        return self._until_the_end.enter_context(private_folder(self._session))

    def prepare(self) -> None:
        """Make the folder before workers look for it; they say themselves why it cannot be used."""
        try:
            self.folder.stat()
        except (SearchmarkError, OSError) as error:
            self.note(str(error))

    def outcome_of(self, suite: SuiteUnderTest) -> SuiteOutcome:
        """What became of a suite; it is run if no process of this session has done so."""
        if suite.key not in self._known:
            self._known[suite.key] = self._shared(suite)
        return self._known[suite.key]

    def _shared(self, suite: SuiteUnderTest) -> SuiteOutcome:
        from searchmark.io.store import write_text

        home = self._home(suite)
        with _lock_file(home / "lock"):
            file = home / OUTCOME
            if not file.exists():
                write_text(home / SUITE, json.dumps(str(suite.path)))
                write_text(file, suite.tested(home / RUN).to_json())
            return SuiteOutcome.from_json(file.read_text(encoding="utf-8"))

    def choose(self, suite: SuiteUnderTest, case: str) -> None:
        """Note a case whose expectation is to be updated."""
        home = self._home(suite)
        with _lock_file(home / "lock"), (home / CHOSEN).open("a", encoding="utf-8") as file:
            file.write(json.dumps(case) + "\n")

    def update_expectations(self) -> bool:
        """Approve the chosen cases of every suite; False if one could not be."""
        updates = [_read_update(home) for home in self._chosen()]
        for each in updates:
            self.note(*each.sentences)
        return all(each.done for each in updates)

    def leave_expectations(self) -> None:
        """Say that nothing is updated, since the session did not end as planned."""
        for home in self._chosen():
            self.note(f"{_suite_path(home)}: no expectation was updated, since the session was stopped before its end")

    def _chosen(self) -> list[Path]:
        """The folders of suites of which a case is to be updated."""
        return [file.parent for file in sorted(self.folder.glob(f"*/{CHOSEN}"))] if "folder" in self.__dict__ else []

    def close(self) -> None:
        self._until_the_end.close()

    def _home(self, suite: SuiteUnderTest) -> Path:
        home = self.folder / suite.key
        home.mkdir(exist_ok=True)
        return home


def _read_update(home: Path) -> SuiteUpdate:
    only = {json.loads(line) for line in (home / CHOSEN).read_text(encoding="utf-8").splitlines()}
    return update_suite_expectations(_suite_path(home), home / RUN, only)


def _suite_path(home: Path) -> Path:
    """Where the suite is that a folder belongs to."""
    return Path(json.loads((home / SUITE).read_text(encoding="utf-8")))


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    """The kernel releases the lock however the process that has it ends."""
    import fcntl  # there is none on Windows, where no agent is run

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# Expectations are updated from the run of the session, at its end.

UPDATE_REASON = "UPDATE_BENCHMARK_EXPECTATIONS in a pytest run"


def propose_update(path: Path, run_file: Path, outcome: SuiteOutcome) -> SuiteOutcome:
    """The outcome with what an update would leave alone; which cases are selected is not known here, so no edit is tried."""
    try:
        approval = approve(path, load_run(run_file), lambda _: False, author=author_of(path), reason=UPDATE_REASON, write=False)
    except SearchmarkError as error:
        return replace(outcome, refused=str(error))
    return replace(outcome, left_alone={each.case: each.reason for each in approval.proposal.left_alone})


@dataclass(frozen=True)
class SuiteUpdate:
    """Whether the expectations of a suite were updated, and what there is to say about it."""

    done: bool
    sentences: tuple[str, ...]


def update_suite_expectations(path: Path, run_file: Path, only: Collection[str]) -> SuiteUpdate:
    """Make what the run answered what these cases of the suite expect."""
    try:
        approval = approve(path, load_run(run_file), lambda _: True, author=author_of(path), reason=UPDATE_REASON, only=only)
    except SearchmarkError as error:
        return SuiteUpdate(False, (f"{path}: no expectation was updated: {error}",))
    return SuiteUpdate(True, tuple(map(visible, _update_notes(approval))))


def _update_notes(approval: Approval) -> Iterator[str]:
    count = len(approval.approved)
    yield f"{approval.path}: {count} expectation{'' if count == 1 else 's'} updated, {approval.proposal.unchanged} unchanged"
    for change in approval.approved:
        yield f"  case {change.case} expected {', '.join(change.before)}; it expects {', '.join(change.after)} now"
    if approval.circular:
        yield approval.circular_sentence
    yield from (f"comments of {comment}" for comment in approval.comments)
    if approval.written:
        yield WARNING


# A suite with all that it takes to test it, from its header and the config.


@dataclass(frozen=True, eq=False)
class SuiteUnderTest:
    """A suite, the agent that is asked, what it searches, and the rules that it must meet."""

    path: Path
    suite: Suite
    setup: SuiteSetup
    config: Config
    spec: AgentSpec
    agent: str  # the name of the agent that the spec is, or is a mode of

    @classmethod
    def read(cls, path: Path, config: Config, note: Callable[[str], None]) -> SuiteUnderTest:
        """Read a suite and find out how it is tested; ``note`` is told what is odd about it.

        A header is trusted, since a test runner runs the code beside it anyway.
        """
        with redirect_notes(note):
            suite, setup = load_suite_with_setup(path)
        choice = setup.agent
        if choice is None and len(config.agents) != 1:
            advice = "write 'agent: bm25' into it, or describe a single one in the config"
            raise UsageError(f"{_short_path(path)} names no agent: {advice}")
        spec = config.agents[0] if choice is None else spec_of_suite(choice, config.agents, path.parent, trusted=True)
        mode = agent_in_one_mode(spec, setup.mode, ": write 'mode: NAME' into the suite")
        return cls(path, suite, setup, config, with_real_embeddings(mode) if wants_real_embeddings() else mode, spec.name)

    def case_titles(self) -> Iterator[tuple[str, str]]:
        """Every case and the name of its test; in brackets, as pytest has ids of parameters, a name may hold two colons."""
        return ((case, f"case[{_printable(case)}]") for case in self.suite.table.ids)

    def rule_titles(self) -> Iterator[str]:
        """A name for the test of every rule, with a number where several have the same."""
        counts: dict[str, int] = {}
        for rule in self.rules:
            title = _printable(_title(rule))
            counts[title] = counts.get(title, 0) + 1
            yield f"gate[{title}]" if counts[title] == 1 else f"gate[{title} #{counts[title]}]"

    @cached_property
    def gates(self) -> GateSettings:
        """Those of the header, or else those of the config."""
        return gates_in_force(self.setup.gates, self.config.gates)

    @property
    def is_wanted(self) -> bool:
        """Whether the suite is run at all, here."""
        return is_ci() or not self.setup.only_in_ci

    @cached_property
    def rules(self) -> list[Rule]:
        """Those that are stated, then those of the baseline."""
        return [*self._stated, *self._baseline.rules]

    @cached_property
    def _stated(self) -> list[Rule]:
        return rules_of(self.gates)

    @property
    def where(self) -> SearchScope:
        repository = self.config.dataset.repository_path
        return SearchScope(
            corpus=self.config.corpus.path if self.setup.corpus is None else str(self.setup.corpus),
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
        try:
            ran = Experiment(self.suite, (self.spec,), self.where, options=self.config.evaluation, hidden=(self.path,)).run()
        except SearchmarkError as error:
            return SuiteOutcome(missing=str(error)) if is_missing(error) else SuiteOutcome(broken=str(error))
        for missing in ran.missing.values():
            return SuiteOutcome(missing=missing)
        try:
            return self._checked(ran, run_file)
        except SearchmarkError as error:
            return SuiteOutcome(broken=str(error))

    @property
    def command(self) -> str:
        """What shows the whole report."""
        command = ["searchmark", "evaluate", "--gold-set", _short_path(self.path)]
        if not (isinstance(self.spec.source, BuiltInSource | EntryPointSource) and self.setup.agent is not None):
            command += ["--agent", self._agent_text]
            command += ["--mode", self.spec.name] if self.spec.name != self.agent else []
        return shlex.join([*command, "-o", "report.md"])

    @property
    def _agent_text(self) -> str:
        """The agent as the command line names it."""
        source = self.spec.source
        if not isinstance(source, PythonSource):
            return self.agent
        return f"{source.module if self._code is None else _short_path(self._code)}:{source.attribute}"

    def _checked(self, ran: RunResult, run_file: Path) -> SuiteOutcome:
        save_run(ran.runs[0], run_file)
        evaluation = Evaluation(
            ran.suite,
            corpus=ran.survey,
            rules=self._stated,
            baseline=self._baseline,
            looks=look_counter(self.gates, self._stated, self._baseline_file),
            options=self.config.compare,
        )
        scores, gate = evaluation.gate(ran.runs)
        outcome = suite_outcome(scores, self.rules, gate, self.command)
        return propose_update(self.path, run_file, outcome) if wants_update() else outcome

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

    @property
    def _code(self) -> Path | None:
        """The file that the agent is in, if the suite names one."""
        source = self.spec.source
        return Path(source.module) if isinstance(source, PythonSource) and source.module.endswith(".py") else None

    def _parts(self) -> Iterator[bytes]:
        yield self.path.read_bytes()
        options = [asdict(self.config.evaluation), asdict(self.config.compare), asdict(self.config.corpus), asdict(self.gates)]
        yield repr((str(self.path), self.spec.to_plain(), options)).encode()
        if self._code is not None:
            yield from _content_digest(self._code)
        if self.setup.corpus is not None:
            yield from _content_digest(self.setup.corpus)
        yield from _content_digest(self._baseline_file)


def _content_digest(path: Path) -> Iterator[bytes]:
    """A file by its content; the files of a folder by name, size and time, since there may be many."""
    if path.is_file():
        yield path.read_bytes()
    for folder, _, files in walk(path) if path.is_dir() else ():
        for name in sorted(files):
            status = (Path(folder) / name).lstat()
            yield f"{folder}/{name} {status.st_size} {status.st_mtime_ns}".encode("utf-8", "surrogateescape")


def _short_path(path: Path) -> str:
    """A path as short as it can be from here."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


# The names of tests, known before anything is run and the same in every process.


def _title(rule: Rule) -> str:  # noqa: PLR0911  # one line per kind of rule
    match rule:
        case NumberRule():
            return f"{rule.quantity.subject(None)}{rule.segment.words} {SIGNS[rule.bound]} {rule.expected:g}"
        case RelativeRule():
            return rule.name
        case EachCaseRule():
            return f"{rule.measure.name} of every case {SIGNS['at_least']} {rule.expected:g}"
        case PinRule():
            return f"{rule.pin.case} {rule.bound} {' '.join(rule.targets)}"
        case KnownFailureRule():
            return f"{rule.failure.case} known_failure"
        case FixtureRule():
            return f"{rule.fixture.name} {rule.metric} {SIGNS['at_least']} {rule.threshold:g}"
    return type(rule).__name__


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text)


# What the fixture ``searchmark`` offers.


@dataclass(frozen=True)
class SearchmarkFixture:
    """The functions of `searchmark.testing`, with paths from the folder of the test on."""

    folder: Path

    precision_at_k = staticmethod(testing.precision_at_k)
    recall_at_k = staticmethod(testing.recall_at_k)
    reciprocal_rank = staticmethod(testing.reciprocal_rank)
    ndcg_at_k = staticmethod(testing.ndcg_at_k)
    all_metrics = staticmethod(testing.all_metrics)
    check_agent = staticmethod(agent_check.check_agent)

    def assert_search(
        self,
        agent: Any,
        suite: Suite | AnyPath,
        gates: GateSettings | Mapping[str, Any],
        corpus: AnyPath | None = None,
        baseline: Run | AnyPath | None = None,
        *,
        options: RunSettings = RunSettings(),
    ) -> None:
        """As `searchmark.testing.assert_search`."""
        __tracebackhide__ = True
        agent = spec_of_suite(agent, folder=self.folder, trusted=True) if isinstance(agent, str) else agent
        suite = suite if isinstance(suite, Suite) else self.folder / suite
        corpus = None if corpus is None else self.folder / corpus
        baseline = baseline if baseline is None or isinstance(baseline, Run) else self.folder / baseline
        testing.assert_search(agent, suite, self._beside(read_gate_settings(gates)), corpus, baseline, options=options)

    def _beside(self, gates: GateSettings) -> GateSettings:
        return gates if gates.baseline is None else replace(gates, baseline=str(self.folder / gates.baseline))
