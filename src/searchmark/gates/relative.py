"""No worse than the baseline: what a comparison with it must show, or must not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from searchmark.analysis.declared import Declared
from searchmark.analysis.foresight import Foresight, GateQuestion, foresee
from searchmark.analysis.intervals import SAME
from searchmark.analysis.scores import Scores
from searchmark.analysis.verdicts import Difference
from searchmark.findings import Finding, finding
from searchmark.gates.looking import LookBook
from searchmark.gates.quantities import MOST_CASES, MeanOf
from searchmark.gates.reach import Reach
from searchmark.gates.rules import Evidence, GateVerdict, RuleResult, worst_run
from searchmark.gates.segments import EVERYTHING, CaseSegment, named_in, rows_of
from searchmark.gates.sentences import prefix_for, rule_name
from searchmark.measures.grammar import AnyMeasure
from searchmark.options.gate_options import Policy
from searchmark.records import Suite

_SMALLEST_P = 0.0001
MARGIN = 0.02


@dataclass(frozen=True)
class _Seen:
    """What a comparison showed, and the number of the look."""

    met: bool
    message: str
    findings: tuple[Finding, ...] = ()
    look: int = 1

    @property
    def verdict(self) -> GateVerdict:
        return "passed" if self.met else "failed"


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
        return worst_run(evidence, lambda name: self._check(evidence, name))

    @property
    def name(self) -> str:
        return rule_name(self.quantity.subject(None), self.segment.where, self.policy, self._expected)

    def worth(self, reach: Reach) -> Iterator[Finding]:  # noqa: ARG002  # it has no bound
        yield from ()

    @property
    def _expected(self) -> float:
        return -self.margin if self.policy == "non-inferior" else 0.0

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
        if not self.quantity.measure.decides:
            return self._result(found.difference, (), "unresolvable", f"{words} is unresolvable: {found.reason}", scores=scores)
        look = self._sequential if self.policy == "sequential" else self._seen
        seen = look(evidence, name, found, words)
        verdict, message = seen.verdict, seen.message
        # What could not have failed has not passed, and what could not have passed has not failed.
        if evidence.foreseeing and verdict == ("failed" if self.policy == "non-inferior" else "passed"):
            before = evidence.scores[evidence.baseline or ""]
            foreseen = self.foresight(before.judged.suite, before, evidence.min_effect, evidence.family, seen.look)
            if not foreseen.resolvable:
                verdict, message = "unresolvable", f"{words} is unresolvable: {foreseen.reason}"
        if verdict == "passed" and found.low is None:  # the run has fewer values than could be foreseen
            verdict, message = "unresolvable", f"{words} is unresolvable: {found.reason}"
        causes = self._losers(evidence, name) if verdict == "failed" else ()
        actual = found.low if self.policy == "non-inferior" else found.difference
        return self._result(actual, causes, verdict, message, seen.findings, scores)

    def next_look(self, baseline: Scores | None, looks: LookBook) -> int:
        """Which look at a build the next one will be, where looks count."""
        if baseline is None or self.policy != "sequential":
            return 1
        return looks.next_number(baseline, self.quantity.subject(baseline), named_in(baseline.judged.suite, self.segment))

    def foresight(self, suite: Suite, baseline: Scores | None, min_effect: float, family: int, look: int = 1) -> Foresight:
        """What this rule could see of a run that is not made yet."""
        question = self.question(min_effect, family, look)
        return foresee(suite, self.quantity.measure, question, baseline, rows_of(suite, self.segment))

    def question(self, min_effect: float, family: int, look: int = 1) -> GateQuestion:
        """What it asks of a build."""
        return GateQuestion(self.policy, min_effect, self.margin, family, look)

    def _seen(self, evidence: Evidence, name: str, found: Difference, words: str) -> _Seen:
        """What the comparison shows."""
        left_behind = evidence.looks.note(*self._looked_at(evidence, name), found, evidence.min_effect)
        if self.policy == "non-inferior":
            met = found.low is not None and found.low > -self.margin
            return _Seen(met, self._non_inferior(words, found, met), left_behind)
        harmed = "REGRESSED" in (found.verdict, found.undone)
        unseen = () if found.detectable is None else (_unseen(prefix_for(name, evidence.candidates), found),)
        return _Seen(not harmed, _harm(words, found, harmed), (*unseen, *left_behind))

    def _sequential(self, evidence: Evidence, name: str, found: Difference, words: str) -> _Seen:
        """What one look among many shows."""
        looked_at = self._looked_at(evidence, name)
        look, judgement, left_behind = evidence.looks.look(*looked_at, found.measure, evidence.min_effect, evidence.family)
        harmed = "REGRESSED" in (judgement.verdict, judgement.undone)
        said = f"{look.evidence.mean or 0:+.4f}, look {look.number} at level {look.level:.2g}: {judgement.reason}"
        start = f"Expected {words} not to be worse, but it REGRESSED" if harmed else f"{words} shows no evidence of harm"
        return _Seen(not harmed, f"{start}: {said}", left_behind, look.number)

    def _looked_at(self, evidence: Evidence, name: str) -> tuple[Scores, Scores, CaseSegment]:
        before, after = evidence.scores[evidence.baseline or ""], evidence.scores[name]
        return before, after, named_in(after.judged.suite, self.segment)

    def _non_inferior(self, words: str, found: Difference, met: bool) -> str:
        line = f"the lower end above {-self.margin:g}"
        return f"{words} is non-inferior: {_said(found)}, {line}" if met else f"Expected {words}: {line}, but got {_said(found)}"

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
        findings: tuple[Finding, ...] = (),
        scores: Scores | None = None,
    ) -> RuleResult:
        subject = self.quantity.subject(scores)
        return RuleResult(subject, self.segment.where, self.policy, self._expected, actual, cases, verdict, message, findings)


def _said(found: Difference) -> str:
    interval = "" if found.low is None or found.high is None else f", interval {found.low:+.4f} to {found.high:+.4f}"
    return f"{found.difference:+.4f}{interval}, {found.cases} cases"


def _harm(words: str, found: Difference, harmed: bool) -> str:
    if not harmed:
        return f"{words} shows no evidence of harm: {found.verdict}, {_said(found)}"
    why = _p(found.p_holm) if found.undone is None else "by cases that failed"
    return f"Expected {words} not to be worse, but it REGRESSED: {_said(found)}, {why}"


def _p(value: float | None) -> str:
    """Never 0: that would be certainty."""
    return "p unknown" if value is None else "p < 0.0001" if value < _SMALLEST_P else f"p {value:.4f}"


def _unseen(prefix: str, found: Difference) -> Finding:
    seen = f"{prefix}a loss smaller than {found.detectable:.4f} would often not be seen with {found.independent} independent cases"
    return finding("small-losses-unseen", seen)
