"""What runs on a suite are scored by, checked against and reported with, and the calls that do it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from shlex import join
from typing import TYPE_CHECKING, Any

from searchmark.audit.check import Subject
from searchmark.audit.quick import short_audit
from searchmark.config.gates import DRIFT_LIMIT, GATE_POLICIES, CompareSettings, DecisionTable
from searchmark.config.run import ReportSettings
from searchmark.config.sections import Versions
from searchmark.config.strict import short_repr
from searchmark.errors import Incomparable, NothingEvaluated, UsageError
from searchmark.experiments.inputs import document_reader, survey_of, texts_of_hits
from searchmark.formats.corpora.case_locations import SearchScope, with_exclusions
from searchmark.formats.corpora.corpus import Survey
from searchmark.gates.baselines import NO_BASELINE, Baseline, named_baseline, needs_baseline
from searchmark.gates.bounds import RelativeRule
from searchmark.gates.rules import AttainableValues, Evidence, Gate, Rule, check_gate
from searchmark.gates.sequential import LookCounter
from searchmark.measures.grammar import AnyMeasure, cut_measures, parse_measure, parse_measures
from searchmark.records.finding import Finding
from searchmark.records.merge import join_runs
from searchmark.records.provenance import display_names
from searchmark.records.run import Run
from searchmark.records.suite import Suite
from searchmark.reports.build import ReportExtras, build_comparison, build_report
from searchmark.reports.cases import HitText
from searchmark.reports.report import Report
from searchmark.scoring.comparability import comparable
from searchmark.scoring.comparison import compare, unique_names
from searchmark.scoring.decisions import measures_of_tables, tables_for_pairs
from searchmark.scoring.match import expand_suite, match_hits
from searchmark.scoring.scores import Scores, default_measures, default_splits, score

if TYPE_CHECKING:
    from searchmark.gates.self_test import SelfTest
    from searchmark.reports.archive import Archive
    from searchmark.running.result import RunResult
    from searchmark.scoring.power import Foresight


# What becomes of a report in an archive.


@dataclass(frozen=True, eq=False)
class ArchiveInUse:
    """The archive that a report goes to, which also tells it of earlier runs."""

    archive: Archive
    drift_limit: float = DRIFT_LIMIT
    required: bool = True  # where it need not work, the report is worth more
    warn: Callable[[str], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None

    __repr__ = short_repr

    def add(self, report: Report, runs: Sequence[Run]) -> Report:
        """The report with its history, once it is in the archive."""
        from searchmark.reports.history import with_history

        runs = runs if len(runs) == len(report.agents) else [join_runs(runs)]  # shards are one run
        now = datetime.now(UTC)
        try:
            report = with_history(report, self.archive, now, self.warn, self.drift_limit)
            entry = self.archive.add(report, runs, now)
        except UsageError as error:
            if self.required:
                raise
            self.warn(f"{error}; the report is not archived (--no-archive does not try)")
        else:
            self.note(f"archived: {self.archive.path(entry)}")
        return report


# What to run after a gate that is not passed.


@dataclass(frozen=True)
class NextStep:
    """The command that shows every case of saved runs, beside the baseline where a rule that compares has failed."""

    verb: str
    suite: str
    runs: Sequence[str]  # files; without one there is nothing to show
    baseline: str | None = None
    reading: Mapping[str, Sequence[str]] = field(default_factory=dict)  # how files are read, as words of the command, by option

    __repr__ = short_repr

    def after(self, gate: Gate | None) -> str | None:
        """The command line; None if there is no gate, or it is passed."""
        if gate is None or gate.verdict == "passed" or not self.runs:
            return None
        relative = self.baseline is not None and any(
            rule.bound in GATE_POLICIES and rule.verdict == "failed" for rule in gate.rules
        )
        runs = [self.baseline, *self.runs] if relative and self.baseline is not None else self.runs
        # The baseline has a format of its own.
        reading = [word for name, words in self.reading.items() if not (relative and name == "run_format") for word in words]
        command = ["searchmark", "compare" if relative else self.verb, "--gold-set", self.suite, *reading]
        return join([*command, *(part for run in runs for part in ("--run", run)), "-o", "report.md"])


MeasureLike = str | AnyMeasure


def score_runs(
    suite: Suite,
    runs: Sequence[Run],
    measures: Iterable[MeasureLike] = (),
    *,
    corpus: Survey | None = None,
    intersect: bool = False,
    same_depth: bool = False,
) -> list[Scores]:
    """Every run on this suite, after the checks of what may be compared with what.

    Where answers end at the depth that was asked for, measures are cut there too and named so: AP is AP@100.
    """
    if not runs:
        raise UsageError("there is no run to score")
    fitting = comparable(suite, runs, intersect=intersect, same_depth=same_depth)
    parsed_measures = parse_measures(list(measures) or default_measures(fitting.suite), fitting.suite.defaults)
    if fitting.depth is not None:
        parsed_measures = cut_measures(parsed_measures, fitting.depth)
    ids, folder = (None, None) if corpus is None else (corpus.ids, corpus.folder)
    effective_suite = with_exclusions(fitting.suite, corpus)
    effective_suite = effective_suite if ids is None else expand_suite(effective_suite, ids)  # once for all runs
    return [score(match_hits(effective_suite, run, ids, folder), parsed_measures) for run in fitting.runs]


def evaluate_run(suite: Suite, parts: Sequence[Run], measures: Iterable[MeasureLike] = (), **settings: Any) -> Report:
    """The report on one run, whole or in shards; ``settings`` are further fields of an `Evaluation`, such as ``corpus``."""
    return Evaluation(suite, tuple(measures), **settings).evaluate(parts)


def compare_runs(suite: Suite, runs: Sequence[Run], measures: Iterable[MeasureLike] = (), **settings: Any) -> Report:
    """The report on several runs of one suite; ``settings`` are further fields of an `Evaluation`, such as ``corpus``."""
    return Evaluation(suite, tuple(measures), **settings).compare(runs)


@dataclass(frozen=True)
class _WithBaseline:
    """Scores of runs, the place of the one that the others are compared with, and why there is none where it is None."""

    scores: Sequence[Scores]
    baseline: int | None
    missing: str = NO_BASELINE.missing


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What runs on a suite are scored by, checked against and reported with.

    Everything but the suite may be left out.
    """

    suite: Suite
    measures: Sequence[MeasureLike] = ()  # those of the suite, or the usual ones, where none is named
    corpus: Survey | None = None  # the documents that were searched
    by: Sequence[str] = ()  # what cases are split by
    rules: Sequence[Rule] = ()
    baseline: Baseline = NO_BASELINE  # for the rules that ask for one; its own rules are checked as well
    looks: LookCounter = LookCounter()  # noqa: RUF009  # frozen
    options: CompareSettings = CompareSettings()  # frozen
    intersect: bool = False  # compare on the cases that all runs answer
    same_depth: bool = False  # cut all answers to the smallest depth among the runs
    detail: ReportSettings = ReportSettings()  # noqa: RUF009  # frozen
    where: SearchScope = SearchScope()  # noqa: RUF009  # where texts of hits are read, if the report has them
    versions: Versions = Versions()  # noqa: RUF009  # those that are declared
    next_step: NextStep | None = None  # what to run where the gate is not passed
    archive: ArchiveInUse | None = None  # tells the report of earlier runs, and keeps it

    __repr__ = short_repr

    def on(self, run_result: RunResult) -> Evaluation:
        """The same for the cases that were asked, and the documents that were searched."""
        return replace(self, suite=run_result.suite, corpus=run_result.survey)

    def evaluate(self, parts: Sequence[Run]) -> Report:
        """The report on one run, whole or in shards, checked by the rules if there are any."""
        texts = texts_of_hits(self.detail, self.suite, self.where, parts)  # what cannot be read is noticed first
        scores, gate = self.gate(parts)
        extras = self._extras(parts, texts, gate, self._audit([scores], self.measures))
        report = build_report(scores, self.by or default_splits(self.suite), gate, self.corpus, extras)
        return report if self.archive is None else self.archive.add(report, parts)

    def compare(self, runs: Sequence[Run]) -> Report:
        """The report on several runs, each compared with the others or with the one that the options name.

        Rules compare every run with the ``baseline``, which is none of the runs and in no table. Without one they are about
        every run but that of the options; one that asks for a baseline where the options name none means the first run. The
        measures of decision tables are computed too.
        """
        tables, texts = self.options.decisions, texts_of_hits(self.detail, self.suite, self.where, runs)
        extra_measures = [*self._measures_of_rules, *measures_of_tables(tables, display_names([run.label for run in runs]))]
        all_measures = [*(self.measures or (default_measures(self.suite) if extra_measures else [])), *extra_measures]
        scores = self._scores(runs, all_measures)
        splits = self.by or default_splits(scores[0].matched.suite)
        pairs = compare(scores, splits, self.options)
        never_started = {
            name for name, run in zip(display_names([run.label for run in runs]), runs, strict=True) if run.never_started
        }
        answerable = [table for table in tables if never_started.isdisjoint((table.candidate, table.baseline))]
        decisions = [_by_known_name(table, scores[0]) for table in tables_for_pairs(answerable, pairs)]
        gate = self._gate(self._among(scores) if self.baseline is NO_BASELINE else self._with_baseline(scores, runs, all_measures))
        extras = self._extras(runs, texts, gate, self._audit(scores, (*self.measures, *extra_measures), decisions))
        report = build_comparison(scores, pairs, splits, decisions, self.corpus, gate, extras)
        return report if self.archive is None else self.archive.add(report, runs)

    def gate(self, parts: Sequence[Run]) -> tuple[Scores, Gate | None]:
        """The scores of one run, whole or in shards, and what the rules say of it; None where there are none."""
        runs = [join_runs(parts)] if parts else []
        measures = [*(self.measures or default_measures(self.suite)), *self._measures_of_rules]
        scores = self._scores(runs, measures)
        return scores[0], self._gate(self._with_baseline(scores, runs, measures))

    def foresee(self) -> list[tuple[str, Foresight]]:
        """What the rules that compare could see of a run that is not made yet, each with the name of its measure."""
        relative = [rule for rule in self._all_rules if isinstance(rule, RelativeRule)]
        if not relative:
            return []
        run = self.baseline.run
        # Only globs and symbols need the ids of the corpus: nDCG is not defined without them.
        if self.corpus is None and run is not None and self.suite.judgments.match is not None:
            survey = survey_of(self.suite, self.where)
            if survey is not None:
                return replace(self, corpus=survey).foresee()
        try:
            scores = None if run is None else self._scores([run], [each for rule in relative for each in rule.measures])[0]
        except NothingEvaluated as error:  # of the run, which is not made yet, nothing of the kind is known
            raise Incomparable(f"the baseline does not fit: {error}; nothing was run") from error
        suite = self.suite if scores is None else scores.matched.suite
        family = len({(rule.quantity.measure.name, rule.segment) for rule in relative})
        numbers = [rule.next_look(scores, self.looks) for rule in relative]
        return [
            (
                f"{rule.quantity.words(scores)}{rule.segment.words}",
                rule.foresight(suite, scores, self.options.min_effect, family, number),
            )
            for rule, number in zip(relative, numbers, strict=True)
        ]

    def self_test(self, parts: Sequence[Run], on_progress: Callable[[str], None] = lambda _: None) -> SelfTest:
        """What the gate would notice of a run that gets worse, and how often it is red for no reason.

        Where no baseline is named, the run is its own.
        """
        from searchmark.gates.self_test import self_test

        runs, rules = [join_runs(parts)], self._all_rules
        measures = self._measures_of_rules or default_measures(self.suite)
        scores = self._scores(runs, measures)
        own = replace(self, rules=rules, baseline=named_baseline(runs[0])) if self.baseline is NO_BASELINE else self
        with_baseline = own._with_baseline(scores, runs, measures)
        against = None if with_baseline.baseline is None else with_baseline.scores[with_baseline.baseline]
        return self_test(
            with_baseline.scores[0], rules, against, self.options, missing_baseline=with_baseline.missing, on_progress=on_progress
        )

    @cached_property
    def _all_rules(self) -> list[Rule]:
        return [*self.rules, *self.baseline.rules]

    @property
    def _measures_of_rules(self) -> list[AnyMeasure]:
        return [measure for rule in self._all_rules for measure in rule.measures]

    def _scores(self, runs: Sequence[Run], measures: Sequence[MeasureLike]) -> list[Scores]:
        return score_runs(self.suite, runs, measures, corpus=self.corpus, intersect=self.intersect, same_depth=self.same_depth)

    def _among(self, scores: Sequence[Scores]) -> _WithBaseline:
        """The runs, one of which is the baseline of the rules: the one of the options, or the first if a rule asks for one."""
        if self.options.baseline is not None:
            return _WithBaseline(scores, unique_names(scores).index(self.options.baseline))
        return _WithBaseline(scores, 0 if needs_baseline(self._all_rules) else None)

    def _with_baseline(self, scores: list[Scores], runs: Sequence[Run], measures: Sequence[MeasureLike]) -> _WithBaseline:
        """The runs and, after them, the baseline; it may not fit, and they are worth their report."""
        run = self.baseline.run
        if run is None or not needs_baseline(self._all_rules):
            return _WithBaseline(scores, None, self.baseline.missing)
        try:
            return _WithBaseline(self._scores([*runs, run], measures), len(scores))
        except (Incomparable, NothingEvaluated) as error:
            return _WithBaseline(scores, None, str(error))

    def _gate(self, with_baseline: _WithBaseline) -> Gate | None:
        if not self._all_rules:
            return None
        names = unique_names(with_baseline.scores)
        reach = AttainableValues(with_baseline.scores[0].matched.suite, None if self.corpus is None else self.corpus.ids)
        scores_by_name = dict(zip(names, with_baseline.scores, strict=True))
        against = None if with_baseline.baseline is None else names[with_baseline.baseline]
        return check_gate(
            Evidence(scores_by_name, against, with_baseline.missing, reach, self.looks), self._all_rules, self.options
        )

    def _audit(
        self, scores: Sequence[Scores], measures: Sequence[MeasureLike], decisions: Sequence[DecisionTable] = ()
    ) -> list[Finding]:
        """The short audit that comes with every report; of the suite only the cases that were scored."""
        scored_cases = self.suite.only(scores[0].matched.suite.table.index.keys())
        subject = Subject(
            scored_cases,
            self.corpus,
            scores=dict(zip(unique_names(scores), scores, strict=True)),
            rules=self._all_rules,
            baseline=self.baseline,
            decisions=decisions,
            options=self.options,
            explicit_measures=measures,
        )
        return short_audit(subject)

    def _extras(self, runs: Sequence[Run], texts: HitText | None, gate: Gate | None, findings: list[Finding]) -> ReportExtras:
        step = None if self.next_step is None else self.next_step.after(gate)
        return ReportExtras(self.detail, texts, self.versions, findings, step, document_reader(self.suite, self.where, runs))


def _by_known_name(table: DecisionTable, scores: Scores) -> DecisionTable:
    """The table with its measure under the name that it has where answers were cut."""
    name = None if table.measure is None else scores.known_as(parse_measure(table.measure))
    return table if name is None else replace(table, measure=name)
