"""No worse than the baseline: what a comparison with it must show, or must not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from searchmark.analysis.comparison import Declared
from searchmark.analysis.intervals import SAME
from searchmark.analysis.scores import Scores
from searchmark.analysis.verdicts import Difference
from searchmark.gates.quantities import MOST_CASES, MeanOf
from searchmark.gates.rules import Evidence, GateVerdict, RuleResult, worst_of
from searchmark.gates.segments import EVERYTHING, CaseSegment, named_in, rows_of
from searchmark.gates.sentences import prefix_for
from searchmark.measures.grammar import AnyMeasure
from searchmark.options.gate_options import Policy

MARGIN = 0.02


@dataclass(frozen=True)
class RelativeRule:
    """A measure against the baseline, for every other run; the result tells of the worst one.

    ``no-evidence-of-harm`` fails where the comparison is REGRESSED. ``non-inferior`` fails unless the whole interval lies
    above ``-margin``: it is the one that must be shown.
    """

    quantity: MeanOf
    policy: Policy
    margin: float = MARGIN
    segment: CaseSegment = EVERYTHING

    @property
    def measures(self) -> Sequence[AnyMeasure]:
        return self.quantity.measures

    def declared(self, evidence: Evidence) -> Sequence[Declared]:
        return [each for name in evidence.candidates if (each := self._declared(evidence.scores[name], name)) is not None]

    def check(self, evidence: Evidence) -> RuleResult:
        if evidence.baseline is None or not evidence.candidates:
            words = f"{self.quantity.words(None)}{self.segment.words}"
            return self._result(None, (), "untrusted", f"{words} cannot be held against the baseline: {evidence.missing_baseline}")
        return worst_of([replace(self._check(evidence, name), run=name) for name in evidence.candidates])

    def _declared(self, scores: Scores, name: str) -> Declared | None:
        measure = scores.known_as(self.quantity.measure)
        if measure is None or rows_of(scores.judged.suite, self.segment) is None:
            return None
        return Declared(name, measure, *named_in(scores.judged.suite, self.segment))

    def _check(self, evidence: Evidence, name: str) -> RuleResult:
        scores = evidence.scores[name]
        declared = self._declared(scores, name)
        found = None if declared is None else evidence.differences[declared]
        prefix = prefix_for(name, evidence.candidates)
        words = f"{prefix}{self.quantity.words(scores)}{self.segment.words} against {evidence.baseline}"
        if found is None or found.difference is None or found.verdict == "INVALID":
            reason = "no case has a value on both sides" if found is None else found.reason
            return self._result(None, (), "untrusted", f"{words} cannot be compared: {reason}", scores=scores)
        if found.low is None:
            reason = f"{words} is unresolvable: {found.reason}; no result could have been significant"
            return self._result(found.difference, (), "unresolvable", reason, scores=scores)
        met = found.low > -self.margin if self.policy == "non-inferior" else found.verdict != "REGRESSED"
        causes = () if met else self._losers(evidence, name)
        actual = found.low if self.policy == "non-inferior" else found.difference
        notes = () if self.policy == "non-inferior" or found.detectable is None else (_unseen(words, found),)
        return self._result(actual, causes, "passed" if met else "failed", self._sentence(words, found, met), notes, scores)

    def _sentence(self, words: str, found: Difference, met: bool) -> str:
        said = f"{found.difference:+.4f}, interval {found.low:+.4f} to {found.high:+.4f}, {found.cases} cases"
        if self.policy == "non-inferior":
            line = f"the lower end above {-self.margin:g}"
            return f"{words} is non-inferior: {said}, {line}" if met else f"Expected {words}: {line}, but got {said}"
        if met:
            return f"{words} shows no evidence of harm: {found.verdict}, {said}"
        return f"Expected {words} not to be worse, but it REGRESSED: {said}, p {found.p_holm:.4f}"

    def _losers(self, evidence: Evidence, name: str) -> tuple[str, ...]:
        """The cases that lost most."""
        after, before = evidence.scores[name], evidence.scores[evidence.baseline or ""]
        rows, measure = rows_of(after.judged.suite, self.segment), after.known_as(self.quantity.measure)
        if rows is None or measure is None:
            return ()
        lost = before.values[rows, before.names.index(measure)] - after.values[rows, after.names.index(measure)]
        ids = after.judged.suite.table.ids
        return tuple(ids[rows[row]] for row in np.argsort(-lost, kind="stable") if lost[row] > SAME)[:MOST_CASES]

    def _result(
        self,
        actual: float | None,
        cases: tuple[str, ...],
        verdict: GateVerdict,
        message: str,
        notes: tuple[str, ...] = (),
        scores: Scores | None = None,
    ) -> RuleResult:
        expected = -self.margin if self.policy == "non-inferior" else 0.0
        subject = self.quantity.subject(scores)
        return RuleResult(subject, self.segment.where, self.policy, expected, actual, cases, verdict, message, notes)


def _unseen(words: str, found: Difference) -> str:
    return f"{words}: a loss smaller than {found.detectable:.4f} would often not be seen with {found.independent} independent cases"
