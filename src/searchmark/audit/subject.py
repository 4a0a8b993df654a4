"""What is audited: a suite and, as far as they are known, its corpus, runs on it and the rules of a gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from searchmark.analysis.measure_limits import MeasureLimits, measure_limits
from searchmark.analysis.pools import Pool
from searchmark.analysis.scores import Scores, default_measures
from searchmark.corpora.corpus import Corpus, Survey
from searchmark.corpora.exclusions import with_exclusions
from searchmark.gates.baselines import NO_BASELINE, Baseline
from searchmark.gates.rules import Rule
from searchmark.judging.judge import expand_suite
from searchmark.measures.grammar import AnyMeasure, parse_measure, parse_measures
from searchmark.options.compare_options import CompareOptions, DecisionTable
from searchmark.records import Suite


@dataclass(frozen=True, eq=False)
class Subject:
    """All that checks may look at. What is not known is None or empty, and checks that need it say nothing.

    ``survey`` has the ids of the corpus; ``corpus`` reads its documents, which only a full audit does. ``suite_file`` is where
    the suite was read from. ``scores`` are those of runs on this suite, by their display names. ``decisions`` are tables that
    decide by its categories, ``rules`` are all of the gate, those of its baseline included, and ``foresight`` is the size of a
    loss that a gate is wanted to see. ``unfit`` are runs that cannot be scored on this suite, by name, each with the reason.
    ``asked`` are the measures that were asked for, not those that are usual. ``set_aside`` is a corpus that was named
    and is none of the states that were searched: nothing is held against it.
    """

    suite: Suite
    survey: Survey | None = None
    corpus: Corpus | None = None
    suite_file: Path | None = None
    scores: Mapping[str, Scores] = field(default_factory=dict)
    rules: Sequence[Rule] = ()
    baseline: Baseline = NO_BASELINE
    decisions: Sequence[DecisionTable] = ()
    options: CompareOptions = CompareOptions()
    foresight: float | None = None
    unfit: Mapping[str, str] = field(default_factory=dict)
    asked: Sequence[str | AnyMeasure] = ()
    set_aside: Survey | None = None

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
        scored = next(iter(self.scores.values()), None)
        return Pool.of(self.expanded if scored is None else scored.judged.suite, self.ids)

    @property
    def measures(self) -> Sequence[AnyMeasure]:
        """Those of the runs, or else the usual ones of the suite and those of rules."""
        scored = next(iter(self.scores.values()), None)
        if scored is not None:
            return scored.measures
        of_rules = [measure for rule in self.rules for measure in rule.measures]
        return parse_measures([*default_measures(self.suite), *of_rules], self.suite.defaults)

    @cached_property
    def primary(self) -> AnyMeasure | None:
        """The measure that runs are compared by: the one declared, or the first that tells of quality."""
        named = self.options.primary
        name = None if named is None else parse_measure(named).resolve(self.suite.defaults).name
        fitting = (each for each in self.measures if (each.decides if name is None else name in (each.name, each.asked.name)))
        return next(fitting, None)

    def is_in_question(self, measure: AnyMeasure) -> bool:
        """Whether a measure was asked for, is bounded by a rule or is the primary one, and is not only usual."""
        return measure == self.primary or bool({measure.name, measure.asked.name} & self._asked_names)

    @cached_property
    def _asked_names(self) -> Set[str]:
        of_rules = [measure for rule in self.rules for measure in rule.measures]
        return {each.name for each in parse_measures([*self.asked, *of_rules], self.suite.defaults)}

    @cached_property
    def limits(self) -> tuple[MeasureLimits, ...]:
        """What these measures can be, in their order."""
        return measure_limits(self.measures, self.pool)
