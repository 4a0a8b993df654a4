"""No worse than the baseline: what a comparison with it must show, or must not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from searchmark.analysis.declared import Declared
from searchmark.analysis.foresight import Foresight, GateQuestion, foresee
from searchmark.analysis.intervals import SAME
from searchmark.analysis.scores import Scores
from searchmark.analysis.verdicts import Difference
from searchmark.gates.quantities import MOST_CASES, MeanOf
from searchmark.gates.rules import Evidence, GateVerdict, RuleResult, worst_of
from searchmark.gates.segments import EVERYTHING, CaseSegment, named_in, rows_of
from searchmark.gates.sentences import prefix_for
from searchmark.measures.grammar import AnyMeasure
from searchmark.options.gate_options import Policy
from searchmark.records import Suite

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
        verdict, message, notes = self._judged(evidence, name, found, words)
        # What could not have failed has not passed, and what could not have passed has not failed.
        if evidence.foreseeing and verdict == ("failed" if self.policy == "non-inferior" else "passed"):
            foreseen = self._foreseen(evidence)
            if not foreseen.resolvable:
                verdict, message = "unresolvable", f"{words} is unresolvable: {foreseen.reason}"
        causes = self._losers(evidence, name) if verdict == "failed" else ()
        actual = found.low if self.policy == "non-inferior" else found.difference
        return self._result(actual, causes, verdict, message, notes, scores)

    def _foreseen(self, evidence: Evidence) -> Foresight:
        """What could have been seen, by what was known before the run."""
        before = evidence.scores[evidence.baseline or ""]
        return self.foresight(before.judged.suite, before, evidence.min_effect, max(1, len(evidence.differences)))

    def foresight(self, suite: Suite, baseline: Scores | None, min_effect: float, family: int) -> Foresight:
        """What this rule could see of a run that is not made yet."""
        question = GateQuestion(self.policy, min_effect, self.margin, family)
        return foresee(suite, self.quantity.measure, question, baseline, rows_of(suite, self.segment))

    def _judged(self, evidence: Evidence, name: str, found: Difference, words: str) -> tuple[GateVerdict, str, tuple[str, ...]]:
        if self.policy == "sequential":
            return self._looked(evidence, name, found, words)
        met = (found.low or -inf) > -self.margin if self.policy == "non-inferior" else found.verdict != "REGRESSED"
        unseen = () if self.policy == "non-inferior" or found.detectable is None else (_unseen(words, found),)
        left_behind = evidence.looks.note(*self._looked_at(evidence, name), found, evidence.min_effect)
        return "passed" if met else "failed", self._sentence(words, found, met), (*unseen, *left_behind)

    def _looked(self, evidence: Evidence, name: str, found: Difference, words: str) -> tuple[GateVerdict, str, tuple[str, ...]]:
        """The verdict of one look among many."""
        family = max(1, len(evidence.differences))
        look, judgement, notes = evidence.looks.look(*self._looked_at(evidence, name), found.measure, evidence.min_effect, family)
        met = judgement.verdict != "REGRESSED"
        said = f"{look.evidence.mean or 0:+.4f}, look {look.number} at level {look.level:.2g}: {judgement.reason}"
        start = f"{words} shows no evidence of harm" if met else f"Expected {words} not to be worse, but it REGRESSED"
        return "passed" if met else "failed", f"{start}: {said}", notes

    def _looked_at(self, evidence: Evidence, name: str) -> tuple[Scores, Scores, CaseSegment]:
        before, after = evidence.scores[evidence.baseline or ""], evidence.scores[name]
        return before, after, named_in(after.judged.suite, self.segment)

    def _sentence(self, words: str, found: Difference, met: bool) -> str:
        if found.low is None or found.high is None:
            return f"{words} cannot be shown to be anything: {found.reason}"
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
