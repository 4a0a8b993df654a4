"""What a check is, what it looks at, and what an audit gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Literal, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from searchmark.config.gates import CompareSettings, DecisionTable
from searchmark.config.strict import short_repr
from searchmark.formats.corpora.case_locations import with_exclusions
from searchmark.formats.corpora.corpus import Corpus, Survey
from searchmark.gates.baselines import NO_BASELINE, Baseline
from searchmark.gates.rules import Rule
from searchmark.measures.grammar import AnyMeasure, parse_measure, parse_measures
from searchmark.measures.hits import Pool
from searchmark.records.columns import Bools
from searchmark.records.document import Document
from searchmark.records.finding import FINDING_KINDS, OTHER, SEVERITIES, THEMES, Finding, FindingKind, Theme, register
from searchmark.records.suite import Suite
from searchmark.scoring.limits import MeasureLimits, measure_limits, pool_of
from searchmark.scoring.match import expand_suite
from searchmark.scoring.scores import Scores, default_measures

AuditCell = str | int | float | bool | None
Lack = Literal["queries", "corpus", "runs", "second_run", "gate"]


@dataclass(frozen=True)
class AuditTable:
    """Numbers that an audit has worked out, one row each; None is not known."""

    name: str  # its key in JSON
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[AuditCell, ...], ...]

    def without_empty(self) -> AuditTable:
        """The table without columns in which nothing is known."""
        columns = [column for column in range(len(self.columns)) if any(row[column] is not None for row in self.rows)]
        rows = tuple(tuple(row[column] for column in columns) for row in self.rows)
        return AuditTable(self.name, self.title, tuple(self.columns[column] for column in columns), rows)


@dataclass(frozen=True)
class PairToJudge:
    """An unjudged document that one of two runs returned: where, how likely it is relevant, and what that would change."""

    case: str  # id of the case
    query: str
    item: str  # id of the document
    ranks: tuple[int | None, int | None]  # in the baseline and in the candidate; None where it was not returned
    chance: float  # that it is relevant
    effect: float  # by how much the difference of both runs would change if it were
    document: Document | None = None  # None where it is not known


@dataclass(frozen=True)
class JudgingPlan:
    """What to judge next, so that a comparison of two runs is settled soonest.

    ``expected`` and ``turns`` are None where the judgments do not tell how likely unjudged documents are relevant.
    """

    runs: tuple[str, str]  # the baseline and the candidate
    why: str  # why these two
    measure: str
    difference: float  # of the means, the candidate less the baseline
    verdict: str
    open: int  # unjudged pairs that could change the difference
    least: float  # the difference is at least this, whatever the judgments
    most: float  # and at most this
    expected: float | None  # what it becomes on average once all pairs are judged
    turns: float | None  # about how likely its sign is another one then
    highest_grade: int  # the highest that a pair may get
    pairs: tuple[PairToJudge, ...]  # the most useful first

    @property
    def settled(self) -> str | None:
        """Why which run is better on these cases is settled already, None if it is not."""
        if self.open == 0:
            return "no unjudged pair changes it"
        return "no grades of unjudged pairs turn its sign" if self.least > 0 or self.most < 0 else None


@dataclass(frozen=True)
class Audit:
    """All that an audit found."""

    suite: str | None  # name of what was audited; None where only published numbers were
    cases: int
    findings: tuple[Finding, ...]  # the worst first
    hashes: Mapping[str, str | None] = field(default_factory=dict)  # of the suite's parts
    tables: tuple[AuditTable, ...] = ()
    plan: JudgingPlan | None = None  # what to judge next, where that was asked
    lacking: tuple[Lack, ...] = ()  # inputs that were not given, so that checks said nothing


NOTHING_ELSE = Audit(None, 0, ())


# What is audited: a suite and, as far as they are known, its corpus, runs on it and the rules of a gate.


@dataclass(frozen=True, eq=False)
class Subject:
    """All that checks may look at. What is not known is None or empty, and checks that need it say nothing."""

    suite: Suite
    survey: Survey | None = None  # the ids of the corpus
    corpus: Corpus | None = None  # its documents, which only a full audit reads
    suite_file: Path | None = None  # where the suite was read from
    scores: Mapping[str, Scores] = field(default_factory=dict)  # of runs on this suite, by display name
    rules: Sequence[Rule] = ()  # all of the gate, including those of its baseline
    baseline: Baseline = NO_BASELINE
    decisions: Sequence[DecisionTable] = ()  # tables that decide by the suite's categories
    options: CompareSettings = CompareSettings()
    foresight: float | None = None  # the size of a loss that the gate is meant to see
    unfit: Mapping[str, str] = field(default_factory=dict)  # runs that cannot be scored on this suite, each with the reason
    explicit_measures: Sequence[str | AnyMeasure] = ()  # those the user named, without the usual ones
    set_aside: Survey | None = None  # a corpus of another state than the runs searched; nothing is checked against it

    __repr__ = short_repr

    @property
    def ids(self) -> Set[str] | None:
        """The ids of all documents, if they are known."""
        return None if self.survey is None else self.survey.ids

    @cached_property
    def expanded(self) -> Suite:
        """The suite with its globs and symbols replaced by the ids that they mean, where the ids are known."""
        return self.suite if self.ids is None else expand_suite(with_exclusions(self.suite, self.survey), self.ids)

    @cached_property
    def pool(self) -> Pool:
        """What can be returned for the cases that runs are scored on."""
        scores = next(iter(self.scores.values()), None)
        return pool_of(self.expanded if scores is None else scores.matched.suite, self.ids)

    @property
    def measures(self) -> Sequence[AnyMeasure]:
        """Those of the runs, or else the usual ones of the suite and those of rules."""
        scores = next(iter(self.scores.values()), None)
        if scores is not None:
            return scores.measures
        of_rules = [measure for rule in self.rules for measure in rule.measures]
        return parse_measures([*default_measures(self.suite), *of_rules], self.suite.defaults)

    @cached_property
    def primary(self) -> AnyMeasure | None:
        """The measure that runs are compared by: the one declared, or the first that measures quality."""
        primary_name = self.options.primary
        name = None if primary_name is None else parse_measure(primary_name).resolve(self.suite.defaults).name
        fitting = (each for each in self.measures if (each.decides if name is None else name in (each.name, each.requested.name)))
        return next(fitting, None)

    def is_in_question(self, measure: AnyMeasure) -> bool:
        """Whether anybody cares about a measure: it was named, a rule bounds it, or runs are compared by it."""
        return measure == self.primary or bool({measure.name, measure.requested.name} & self._explicit_names)

    @cached_property
    def _explicit_names(self) -> Set[str]:
        of_rules = [measure for rule in self.rules for measure in rule.measures]
        return {each.name for each in parse_measures([*self.explicit_measures, *of_rules], self.suite.defaults)}

    @cached_property
    def limits(self) -> tuple[MeasureLimits, ...]:
        """What these measures can be, in their order."""
        return measure_limits(self.measures, self.pool)


Look = Callable[[Subject], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """One check: what it finds in a subject, and where that stands among the findings of others."""

    look: Look
    kinds: tuple[FindingKind, ...]  # that stand beside it
    theme: Theme
    quick: bool = False  # it runs with every report
    after: str | None = None  # the code whose check it follows; without one, the order of themes and modules holds
    other_codes: tuple[str, ...] = ()  # of findings that it makes as well, and whose kinds stand elsewhere

    @property
    def codes(self) -> tuple[str, ...]:
        """All that it may find."""
        return (*(kind.code for kind in self.kinds), *self.other_codes)

    def __call__(self, subject: Subject) -> Iterable[Finding]:
        return self.look(subject)


def check(*kinds: FindingKind | str, theme: Theme, quick: bool = False, after: str | None = None) -> Callable[[Look], Check]:
    """Make a function of ours a check that finds these kinds; a mere code is that of a kind which stands elsewhere.

    ``quick``: it takes next to no time, loads nothing and reads no documents, so that it runs with every report.
    """
    beside = tuple(each for each in kinds if isinstance(each, FindingKind))
    register(theme, *beside)
    return lambda look: Check(look, beside, theme, quick, after, tuple(each for each in kinds if isinstance(each, str)))


def checks_of(modules: Iterable[ModuleType], *, quick: bool = False) -> tuple[Check, ...]:
    """The checks of some modules in the order in which they report; with ``quick`` only those of every report."""
    found = dict.fromkeys(each for module in modules for each in vars(module).values() if isinstance(each, Check))
    checks = [each for each in found if each.quick or not quick]
    checks.sort(key=lambda each: (not each.quick, THEMES.index(each.theme)))
    for each in [each for each in checks if each.after is not None]:
        checks.remove(each)
        checks.insert(1 + next(at for at, other in enumerate(checks) if each.after in other.codes), each)
    return tuple(checks)


# What findings mean, also those that were read from a file: their kinds may be in modules that nobody has loaded yet.


def kind_of(code: str) -> FindingKind | None:
    """The kind with this code; None if neither we nor a plug-in has one."""
    if code in FINDING_KINDS:
        return FINDING_KINDS[code]
    foreign = _kinds_of_plugins()
    return FINDING_KINDS.get(code) or foreign.get(code)


def all_kinds() -> Mapping[str, FindingKind]:
    """Every kind of finding there is, by code: in the order of themes, the worst of each first."""
    kinds = [*_kinds_of_plugins().values(), *FINDING_KINDS.values()]
    kinds.sort(key=lambda kind: (THEMES.index(kind.theme), SEVERITIES.index(kind.severity), kind.code))
    return {kind.code: kind for kind in kinds}


def _kinds_of_plugins() -> Mapping[str, FindingKind]:
    """Those of installed packages; ours are all loaded afterwards."""
    checks = import_module("searchmark.audit.full").plugin_checks().values()
    return {kind.code: kind for each in checks for kind in each.kinds}


def spoils(problem: Finding) -> bool:
    """Whether a result with this finding is untrusted; one of an unknown kind is taken at its severity."""
    kind = kind_of(problem.code)
    return problem.severity == "error" if kind is None else kind.spoils


def by_theme(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Findings under the headings that they belong to; those of a kind that is not known come last."""
    findings_by_theme: dict[str, list[Finding]] = {theme: [] for theme in THEMES}
    for each in findings:
        kind = kind_of(each.code)
        findings_by_theme[OTHER if kind is None else kind.theme].append(each)
    return {theme: some for theme, some in findings_by_theme.items() if some}


def ids_of(suite: Suite, rows: Iterable[int] | Bools) -> Iterator[str]:
    """The ids of cases: those of some rows, or of the rows that are marked."""
    numbers = np.flatnonzero(rows).tolist() if isinstance(rows, np.ndarray) and rows.dtype == bool else rows
    return (suite.table.ids[row] for row in numbers)


TableMaker = Callable[[Subject], AuditTable | None]
T = TypeVar("T")


def once_per_subject(work: Callable[[Subject], T]) -> Callable[[Subject], T]:
    """The same result for the same subject, kept as long as the subject is."""
    cache: WeakKeyDictionary[Subject, T] = WeakKeyDictionary()

    @wraps(work)
    def of(subject: Subject) -> T:
        if subject not in cache:
            cache[subject] = work(subject)
        return cache[subject]

    return of
