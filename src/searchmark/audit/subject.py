"""What is audited: a suite and, as far as they are known, its corpus, runs on it and the rules of a gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from searchmark.analysis.scores import Scores
from searchmark.corpora.corpus import Corpus, Survey
from searchmark.corpora.exclusions import with_exclusions
from searchmark.gates.baselines import NO_BASELINE, Baseline
from searchmark.gates.rules import Rule
from searchmark.judging.judge import expand_suite
from searchmark.options.compare_options import CompareOptions, DecisionTable
from searchmark.records import Suite


@dataclass(frozen=True, eq=False)
class Subject:
    """All that checks may look at. What is not known is None or empty, and checks that need it say nothing.

    ``survey`` has the ids of the corpus; ``corpus`` reads its documents, which only a full audit does. ``suite_file`` is where
    the suite was read from. ``scores`` are those of runs on this suite, by their display names. ``decisions`` are tables that
    decide by its categories, ``foresight`` is the size of a loss that a gate is wanted to see.
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

    @property
    def ids(self) -> Set[str] | None:
        """The ids of all documents, if they are known."""
        return None if self.survey is None else self.survey.ids

    @cached_property
    def expanded(self) -> Suite:
        """The suite with its globs and symbols replaced by the ids that they mean, where the ids are known."""
        return self.suite if self.ids is None else expand_suite(with_exclusions(self.suite, self.survey), self.ids)
