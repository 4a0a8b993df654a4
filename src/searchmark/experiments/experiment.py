"""One library call for what the verbs do: a suite and agents become runs, runs become scores, a report or a comparison.

What ``compare --snapshot parent`` does, in a notebook:

    from searchmark import Experiment, Where, compare_runs, load_suite

    suite = load_suite("gold_set.json")
    ran = Experiment(suite, ["bm25", "keyword"], Where(repositories=("shop=../shop",), snapshots=("parent",))).run()
    report = compare_runs(ran.suite, ran.runs, ["nDCG@10"], corpus=ran.survey)

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from searchmark.analysis.comparison import compare, unique_names
from searchmark.analysis.decision_presets import measures_of_tables
from searchmark.analysis.decisions import tables_about
from searchmark.analysis.foresight import Foresight
from searchmark.analysis.scores import Scores, default_measures, default_splits, score
from searchmark.audit.short_form import short_audit
from searchmark.audit.subject import Subject
from searchmark.comparability import comparable
from searchmark.corpora.case_locations import Where, locations_of, snapshots_of, where_in, where_of
from searchmark.corpora.corpus import Corpus, Survey
from searchmark.corpora.exclusions import with_exclusions
from searchmark.errors import Incomparable, NothingEvaluated, UsageError
from searchmark.gates.baselines import NO_BASELINE, Baseline, compares, named_baseline
from searchmark.gates.looking import LookBook
from searchmark.gates.reach import Reach
from searchmark.gates.relative import RelativeRule
from searchmark.gates.rules import Evidence, Gate, Rule, check_gate
from searchmark.judging.judge import expand_suite, judge
from searchmark.measures.grammar import AnyMeasure, cut_measures, parse_measure, parse_measures
from searchmark.options.compare_options import CompareOptions, DecisionTable
from searchmark.options.experiment_options import CaseSelection, Resumption
from searchmark.options.placement import Placement
from searchmark.options.report_options import ReportOptions
from searchmark.options.run_options import RunOptions
from searchmark.options.short_repr import short_repr
from searchmark.records import Case, Document, Run, RunLabel, Suite, display_names
from searchmark.records.versions import Versions
from searchmark.reports import Report, build_comparison, build_report
from searchmark.reports.case_columns import HitText
from searchmark.runs.join import joined

if TYPE_CHECKING:
    from searchmark.executors.choice import ExecutorChoice
    from searchmark.gates.self_test import SelfTest
    from searchmark.running.entrant import Entrant
    from searchmark.running.progress import Progress
    from searchmark.running.request import Ran, RunRequest
    from searchmark.running.scaling.planning import RunPlan
    from searchmark.shipping.delivery import Delivery

OnProgress: TypeAlias = "Callable[[Progress], None]"
MeasureLike = str | AnyMeasure


@dataclass(frozen=True, eq=False)
class Experiment:
    """Agents to be asked the cases of a suite, each whatever `load_agent` takes; one with modes in all of them.

    ``where`` says what is searched, ``cases`` which are asked, ``options`` how. With a ``resumption`` every answer is
    recorded as it arrives, so that an interrupted experiment can be resumed; without one nothing is written to disk.
    ``hidden``: files that a sandboxed agent must not see and that are no documents, beside those that the suite was read from.
    ``placement``: who runs it; unless an executor is named, this process, or as many as ``options.jobs`` says.
    """

    suite: Suite
    agents: Sequence[Any]
    where: Where = Where()  # noqa: RUF009  # frozen
    cases: CaseSelection = CaseSelection()  # noqa: RUF009  # frozen
    options: RunOptions = RunOptions()
    resumption: Resumption | None = None
    repeats: int = 1
    hidden: tuple[Path, ...] = ()
    placement: Placement = Placement()  # noqa: RUF009  # frozen

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if not self.agents or self.repeats < 1:
            raise UsageError("an experiment needs an agent at least, and asks it once at least")
        from searchmark.agents.modes import in_modes
        from searchmark.registry import check_spec, load_agent

        object.__setattr__(self, "agents", tuple(in_modes([load_agent(each) for each in self.agents])))
        self._executor()  # one that cannot be meant is refused at once
        for spec in self.agents:
            check_spec(spec, foreign=not self.options.no_exec, network=self.options.network)
        if self.where.snapshots and all(each.service is not None for each in self._searched.values()):
            first = self.agents[0].name
            raise UsageError(f"{first!r} searches what it has, and cannot be asked about an earlier state; leave out --snapshot")

    @property
    def labels(self) -> list[RunLabel]:
        """The labels of the runs to come, in their order."""
        repeats = range(1, self.repeats + 1)
        return [
            RunLabel(each.name, snapshot, repeat, each.qualified)
            for each in self.agents
            for repeat in repeats
            for snapshot in snapshots_of(self.suite, self._searched[each.name])
        ]

    @property
    def _told(self) -> tuple[Path, ...]:
        """What tells the answers: the files of the suite, whoever has read it, and whatever else was named."""
        return tuple(dict.fromkeys((*self.hidden, *self.suite.files)))

    @cached_property
    def _searched(self) -> dict[str, Where]:
        """What each agent searches, by its name."""
        from searchmark.registry import searches_own_corpus

        # What an agent must not see is not a document either.
        where = replace(self.where, never=tuple(dict.fromkeys((*self.where.never, *self._told))))
        return {each.name: where_of(self.suite, where, each.name, own_corpus=searches_own_corpus(each)) for each in self.agents}

    @property
    def begun(self) -> bool:
        """Whether an earlier run of the same left answers that could be resumed."""
        from searchmark.running.journal import has_begun

        return any(map(has_begun, self._journals().values()))

    def run(self, on_progress: OnProgress = lambda _: None) -> Ran:
        """Ask every agent every case, the agents taking turns."""
        # The runner is loaded when something is run: scoring a saved run must not wait for it.
        from searchmark.running.journals import only_failed
        from searchmark.running.runner import run_agents

        request = self._request()
        if not self.cases.last_failed and not request.resume:  # what failed before this run is not what failed last
            for path in request.journals.values():
                only_failed(path).unlink(missing_ok=True)
        return run_agents(request, on_progress)

    def plan(self, on_progress: OnProgress = lambda _: None) -> RunPlan:
        """What a run would be like: every agent is asked a few cases where all would be asked, and nothing is written down."""
        from searchmark.running.scaling.planning import plan_run

        return plan_run(self._request(), on_progress)

    def _request(self) -> RunRequest:
        from searchmark.running.journals import last_failed, only_failed
        from searchmark.running.plan import planned
        from searchmark.running.request import RunRequest

        journals = self._journals()
        only = last_failed(journals.values()) if self.cases.last_failed else None
        suite, shard = planned(self.suite, self.cases, self.options.seed, only)
        again = self.resumption or Resumption()
        if only is not None:
            journals = {label: only_failed(path) for label, path in journals.items()}
        resume = (journals, again.wanted, again.retry_errors)
        entrants = self._entrants(suite)
        return RunRequest(suite, entrants, self.options, *resume, self._told, shard, self._executor(), self._delivery())

    @property
    def on_executor(self) -> bool:
        """Whether cases are asked by others than this process, many at the same time."""
        return self._executor() is not None

    def _executor(self) -> ExecutorChoice | None:
        """Who runs it, if not this process: one that is named, or as many processes as were asked for."""
        from searchmark.executors.choice import ProcessChoice, parse_executor

        own = next((each.name for each in self.agents if not each.isolated), None)
        named = self.placement.executor
        if named is not None:
            if own is not None:
                raise UsageError(f"the agent {own!r} is an object of this process, which no executor can ask; put it into a module")
            return parse_executor(named, foreign=not self.options.no_exec, network=self.options.network)
        return ProcessChoice(self.options.jobs) if self.options.jobs > 1 and own is None else None

    def _delivery(self) -> Delivery:
        """How others come by what is searched here: what was named by its address is had from there everywhere."""
        from searchmark.shipping.delivery import Delivery

        if self.placement.wheels and self.options.no_exec:
            raise UsageError("--wheel brings code that is not built in, and --no-exec allows none; leave out one of the two")
        known = {path: address for where in self._searched.values() for path, address in where.addresses().items()}
        return Delivery(self.placement.ship, tuple(map(Path, self.placement.wheels)), known)

    @property
    def first_case(self) -> Case:
        """The first of the cases that are asked, in the order of the suite."""
        from searchmark.running.plan import selected

        return selected(self.suite, replace(self.cases, last_failed=False), self.options.seed).cases[0]

    def debug(self, on_error: Callable[[BaseException], None] = lambda _: None) -> Ran:
        """Ask the only agent the first case, in this process: nothing isolates it, and what it raises is raised.

        Calls of ``breakpoint()`` stop in the debugger, and what the agent prints is seen. ``on_error`` is called with what it
        raises, before it is closed.
        """
        from searchmark.running.debugging import debug_case

        suite = self.suite.only({self.first_case.id})
        entrants = self._entrants(suite)
        if len(entrants) != 1:
            raise UsageError(f"one agent is debugged at a time, and here are {len(entrants)}; name one")
        return debug_case(entrants[0], suite, self.options, on_error)

    def _journals(self) -> dict[RunLabel, Path]:
        if self.resumption is None:
            return {}
        from searchmark.running.journals import journal_path

        folder = Path(self.resumption.journal_folder)
        return {label: journal_path(folder, self.suite, label, self.cases, self.options.seed) for label in self.labels}

    def _entrants(self, suite: Suite) -> tuple[Entrant, ...]:
        from searchmark.running.entrant import Entrant

        specs = {spec.name: spec for spec in self.agents}
        wanted = {label: (self._searched[label.agent], label.snapshot) for label in self.labels}
        network = self.options.network
        locations = {searched: locations_of(suite, *searched, network=network) for searched in dict.fromkeys(wanted.values())}
        return tuple(Entrant(specs[label.agent], locations[wanted[label]], label) for label in self.labels)


def run_suite(
    suite: Suite,
    agent: Any,
    corpus: str | PathLike[str] | Corpus | Iterable[Document | Mapping[str, Any]] | None = None,
    options: RunOptions = RunOptions(),
    *,
    where: Where | None = None,
) -> Run:
    """Ask one agent every case; nothing is written to disk.

    The corpus is a path, a `Corpus`, or a list of documents.
    The agent is a name, a class, an instance, or a function ``(query, k)`` that returns hits. What a worker can import
    runs in a process of its own; anything else runs in this one, where no deadline is enforced, and the run says so.
    """
    from searchmark.agents.modes import in_one_mode
    from searchmark.registry import load_agent

    if where is not None and corpus is not None:
        raise UsageError("corpus and where both say what is searched; give one of them")
    searched = where or where_in(corpus)
    asked = in_one_mode(load_agent(agent))
    return Experiment(suite, (asked,), searched, options=options).run().runs[0]


def score_runs(
    suite: Suite,
    runs: Sequence[Run],
    measures: Iterable[MeasureLike] = (),
    *,
    corpus: Survey | None = None,
    intersect: bool = False,
    same_depth: bool = False,
) -> list[Scores]:
    """Every run on this suite, after the checks of what may be held against what.

    Where answers end at the depth that was asked for, measures are cut there too and named so: AP is AP@100.
    """
    if not runs:
        raise UsageError("there is no run to score")
    fitting = comparable(suite, runs, intersect=intersect, same_depth=same_depth)
    wanted = parse_measures(list(measures) or default_measures(fitting.suite), fitting.suite.defaults)
    if fitting.depth is not None:
        wanted = cut_measures(wanted, fitting.depth)
    ids, folder = (None, None) if corpus is None else (corpus.ids, corpus.folder)
    known = with_exclusions(fitting.suite, corpus)
    known = known if ids is None else expand_suite(known, ids)  # once for all runs
    return [score(judge(known, run, ids, folder), wanted) for run in fitting.runs]


def evaluate_run(
    suite: Suite,
    parts: Sequence[Run],
    measures: Iterable[MeasureLike] = (),
    *,
    by: Sequence[str] = (),
    rules: Sequence[Rule] = (),
    baseline: Baseline = NO_BASELINE,
    looks: LookBook = LookBook(),  # noqa: B008  # frozen
    options: CompareOptions = CompareOptions(),
    corpus: Survey | None = None,
    detail: ReportOptions = ReportOptions(),  # noqa: B008  # frozen
    versions: Versions = Versions(),  # noqa: B008  # frozen
    text_of: HitText | None = None,
) -> Report:
    """The report on one run, whole or in shards, checked by rules if there are any; ``baseline`` is for those that ask for one.

    A baseline may have rules of its own, which are checked as well. ``versions`` are those that are declared.
    """
    asked = tuple(measures)
    scores, gate = gate_run(suite, parts, rules, asked, baseline=baseline, looks=looks, options=options, corpus=corpus)
    audited = short_audit(_subject(suite, [scores], corpus, [*rules, *baseline.rules], baseline, options, asked))
    return build_report(scores, by or default_splits(suite), gate, corpus, detail, text_of, versions, audited)


def gate_run(
    suite: Suite,
    parts: Sequence[Run],
    rules: Sequence[Rule],
    measures: Iterable[MeasureLike] = (),
    *,
    baseline: Baseline = NO_BASELINE,
    looks: LookBook = LookBook(),  # noqa: B008  # frozen
    options: CompareOptions = CompareOptions(),
    corpus: Survey | None = None,
) -> tuple[Scores, Gate | None]:
    """The scores of one run, whole or in shards, and what the rules say of it; None where there are none."""
    rules = [*rules, *baseline.rules]
    wanted = [*(list(measures) or default_measures(suite)), *_measures_of(rules)]
    runs = [joined(parts)] if parts else []
    (scores,) = score_runs(suite, runs, wanted, corpus=corpus)
    held = _held([scores], baseline, rules, lambda run: score_runs(suite, [*runs, run], wanted, corpus=corpus))
    return scores, _gate(held, rules, options, corpus, looks)


def compare_runs(
    suite: Suite,
    runs: Sequence[Run],
    measures: Iterable[MeasureLike] = (),
    *,
    by: Sequence[str] = (),
    options: CompareOptions = CompareOptions(),
    tables: Sequence[DecisionTable] = (),
    rules: Sequence[Rule] = (),
    baseline: Baseline = NO_BASELINE,
    looks: LookBook = LookBook(),  # noqa: B008  # frozen
    corpus: Survey | None = None,
    intersect: bool = False,
    same_depth: bool = False,
    detail: ReportOptions = ReportOptions(),  # noqa: B008  # frozen
    versions: Versions = Versions(),  # noqa: B008  # frozen
    text_of: HitText | None = None,
) -> Report:
    """The report on several runs of one suite, each held against the others or against the one that the options name.

    Rules hold every run against the ``baseline``, which is none of the runs and in no table. Without one they are about every
    run but that of the options; one that asks for a baseline where the options name none means the first run. The measures of
    decision ``tables`` are computed too.
    """
    rules, tables = [*rules, *baseline.rules], (*options.decisions, *tables)
    named = [*_measures_of(rules), *measures_of_tables(tables, display_names([run.label for run in runs]))]
    asked = tuple(measures)
    wanted = [*(asked or (default_measures(suite) if named else [])), *named]

    def scored(*more: Run) -> list[Scores]:
        return score_runs(suite, [*runs, *more], wanted, corpus=corpus, intersect=intersect, same_depth=same_depth)

    scores = scored()
    splits = by or default_splits(scores[0].judged.suite)
    pairs = compare(scores, splits, options)
    decided = [_by_known_name(table, scores[0]) for table in tables_about(tables, pairs)]
    among = _Held(scores, _baseline_of(scores, rules, options))
    held = among if baseline is NO_BASELINE else _held(scores, baseline, rules, scored)
    gate = _gate(held, rules, options, corpus, looks)
    audited = short_audit(_subject(suite, scores, corpus, rules, baseline, options, (*asked, *named), decided))
    return build_comparison(scores, pairs, splits, decided, corpus, gate, detail, text_of, versions, audited)


def _subject(
    suite: Suite,
    scores: Sequence[Scores],
    corpus: Survey | None,
    rules: Sequence[Rule],
    baseline: Baseline,
    options: CompareOptions,
    asked: Sequence[MeasureLike],
    decisions: Sequence[DecisionTable] = (),
) -> Subject:
    """What is audited with every report; of the suite only the cases that were scored."""
    scored = suite.only(scores[0].judged.suite.table.index.keys())
    named = dict(zip(unique_names(scores), scores, strict=True))
    return Subject(scored, corpus, scores=named, rules=rules, baseline=baseline, decisions=decisions, options=options, asked=asked)


def foresee_gate(
    suite: Suite,
    rules: Sequence[Rule],
    baseline: Baseline = NO_BASELINE,
    options: CompareOptions = CompareOptions(),
    looks: LookBook = LookBook(),  # noqa: B008  # frozen
    corpus: Survey | None = None,
) -> list[tuple[str, Foresight]]:
    """What the rules that compare could see of a run that is not made yet, each with the name of its measure."""
    relative = [rule for rule in (*rules, *baseline.rules) if isinstance(rule, RelativeRule)]
    if not relative:
        return []
    try:
        scores = None if baseline.run is None else score_runs(suite, [baseline.run], _measures_of(relative), corpus=corpus)[0]
    except NothingEvaluated as error:  # of the run, which is not made yet, nothing of the kind is known
        raise Incomparable(f"the baseline does not fit: {error}; nothing was run") from error
    judged = suite if scores is None else scores.judged.suite
    family = len({(rule.quantity.measure.name, rule.segment) for rule in relative})
    numbers = [rule.next_look(scores, looks) for rule in relative]
    return [
        (f"{rule.quantity.words(scores)}{rule.segment.words}", rule.foresight(judged, scores, options.min_effect, family, number))
        for rule, number in zip(relative, numbers, strict=True)
    ]


def gate_self_test(
    suite: Suite,
    parts: Sequence[Run],
    rules: Sequence[Rule],
    *,
    baseline: Baseline = NO_BASELINE,
    options: CompareOptions = CompareOptions(),
    corpus: Survey | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> SelfTest:
    """What a gate would notice of a run that gets worse, and how often it is red for no reason.

    Where no baseline is named, the run is its own.
    """
    from searchmark.gates.self_test import self_test

    rules, runs = [*rules, *baseline.rules], [joined(parts)]
    wanted = _measures_of(rules) or default_measures(suite)
    (scores,) = score_runs(suite, runs, wanted, corpus=corpus)
    own = named_baseline(runs[0]) if baseline is NO_BASELINE else baseline
    held = _held([scores], own, rules, lambda run: score_runs(suite, [*runs, run], wanted, corpus=corpus))
    against = None if held.baseline is None else held.scores[held.baseline]
    return self_test(held.scores[0], rules, against, options, missing_baseline=held.missing, on_progress=on_progress)


def _measures_of(rules: Sequence[Rule]) -> list[AnyMeasure]:
    return [measure for rule in rules for measure in rule.measures]


def _baseline_of(scores: Sequence[Scores], rules: Sequence[Rule], options: CompareOptions) -> int | None:
    """Which run is the baseline of the rules; None if none is named and none is asked for."""
    if options.baseline is not None:
        return unique_names(scores).index(options.baseline)
    return 0 if compares(rules) else None


@dataclass(frozen=True, eq=False)
class _Held:
    """Scores, and which of them the others are held against; None, and why, where there is nothing to hold them against."""

    scores: Sequence[Scores]
    baseline: int | None
    missing: str = NO_BASELINE.missing


def _held(scores: list[Scores], baseline: Baseline, rules: Sequence[Rule], scored: Callable[[Run], list[Scores]]) -> _Held:
    """Runs and, after them, the baseline that they are held against; it may not fit, and they are worth their report."""
    if baseline.run is None or not compares(rules):
        return _Held(scores, None, baseline.missing)
    try:
        return _Held(scored(baseline.run), len(scores))
    except (Incomparable, NothingEvaluated) as error:
        return _Held(scores, None, str(error))


def _gate(held: _Held, rules: Sequence[Rule], options: CompareOptions, corpus: Survey | None, looks: LookBook) -> Gate | None:
    if not rules:
        return None
    names = unique_names(held.scores)
    reach = Reach(held.scores[0].judged.suite, None if corpus is None else corpus.ids)
    named = dict(zip(names, held.scores, strict=True))
    against = None if held.baseline is None else names[held.baseline]
    return check_gate(Evidence(named, against, held.missing, reach, looks), rules, options)


def _by_known_name(table: DecisionTable, scores: Scores) -> DecisionTable:
    """The table with its measure under the name that it has where answers were cut."""
    name = None if table.measure is None else scores.known_as(parse_measure(table.measure))
    return table if name is None else replace(table, measure=name)
