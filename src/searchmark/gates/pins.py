"""Rules about single cases: pinned documents, known failures, a lowest value for each case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from searchmark.config.gates import KnownFailure, Pin
from searchmark.gates.quantities import MOST_CASES, SIGNS, digits_beside_bound, is_within, prefix_for, rule_name
from searchmark.gates.rules import AttainableValues, Evidence, GateVerdict, PinBound, RuleResult, worst_run
from searchmark.measures.catalogue import both_names
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.records.answers import ERROR, NOT_RUN, STATUSES, TIMEOUT
from searchmark.records.finding import GATE, Finding, FindingKind, finding, register
from searchmark.records.matching import normal_path
from searchmark.scoring.comparability import depth_reached
from searchmark.scoring.planned_tests import PlannedDifference
from searchmark.scoring.scores import Scores

_FAILED = (ERROR, TIMEOUT, NOT_RUN)

SHOWN = 5

EVERY_CASE = " of every case"  # ends the subject of a rule about each of them


register(GATE, FindingKind(
    "pin-outside-corpus", "error", "A pinned document that is not in the corpus.",
    "It can neither be found nor be left out by a search: the pin is always met or never.",
    "Correct the id, or remove the pin.",
))  # fmt: skip


@dataclass(frozen=True)
class PinRule:
    """What one case must show."""

    pin: Pin
    bound: PinBound
    targets: tuple[str, ...]
    measures: tuple[AnyMeasure, ...] = ()

    def declared(self, evidence: Evidence) -> Sequence[PlannedDifference]:  # noqa: ARG002  # nothing is compared
        return ()

    def check(self, evidence: Evidence) -> RuleResult:
        return _worst_run(evidence, self.check_run) or self._result(None, "untrusted", f"{self._subject}: there is no run to check")

    @property
    def name(self) -> str:
        return rule_name(self._subject, {}, self.bound, ", ".join(self.targets))

    def own_findings(self, limits: AttainableValues) -> Iterator[Finding]:
        for each in limits.lacking(self.targets):
            yield finding("pin-outside-corpus", f"{each} is not among the documents that are searched", [self.pin.case])

    def check_run(self, scores: Scores) -> RuleResult:
        """What one run makes of it."""
        reason = why_unknown(scores, self.pin.case)
        if reason is not None:
            return self._result(None, "untrusted", f"{self._subject} cannot be checked: {reason}")
        hits = _hits(scores, self.pin.case)
        met = self.is_met(hits)
        if met is (self.bound == "must_not_contain") and self._may_be_cut(scores, hits):
            cut = f"its answer was cut after {len(hits)} hits, before the first {self.pin.k}"
            return self._result(None, "untrusted", f"{self._subject} cannot be checked: {cut}")
        first_hits = ", ".join(hits[:SHOWN]) or "nothing"
        expectation = f"{self._subject}: expected {self._words}"
        message = f"{expectation}, and it is so" if met else f"{expectation}, but got {first_hits}"
        return self._result(hits[0] if hits else None, "passed" if met else "failed", message)

    def _may_be_cut(self, scores: Scores, hits: Sequence[str]) -> bool:
        """Whether the answer is too short to tell what is among the first ``k`` hits."""
        depth = depth_reached(scores.matched.run)
        return self.bound in ("must_contain", "must_not_contain") and depth is not None and depth <= len(hits) < self.pin.k

    def is_met(self, hits: Sequence[str]) -> bool:
        first, k = [normal_path(each) for each in hits], self.pin.k
        targets = [normal_path(each) for each in self.targets]
        match self.bound:
            case "must_be_first":
                return first[:1] == targets
            case "must_contain":
                return set(targets) <= set(first[:k])
            case "must_not_contain":
                return not set(targets) & set(first[:k])
            case _:
                better, worse = (first.index(each) if each in first else len(first) for each in targets)
                return better < worse

    @property
    def _subject(self) -> str:
        return f"case {self.pin.case}"

    @property
    def _words(self) -> str:
        names = ", ".join(self.targets)
        return {
            "must_be_first": f"{names} to be first",
            "must_contain": f"{names} among the first {self.pin.k}",
            "must_not_contain": f"not {names} among the first {self.pin.k}",
        }.get(self.bound, f"{self.targets[0]} before {self.targets[-1]}")

    def _result(self, actual: str | None, verdict: GateVerdict, message: str) -> RuleResult:
        return RuleResult(self._subject, {}, self.bound, ", ".join(self.targets), actual, (self.pin.case,), verdict, message)


@dataclass(frozen=True)
class KnownFailureRule:
    """A case that fails today: that it fails is no news, that it passes is, since then it must not fail again."""

    failure: KnownFailure
    pins: tuple[PinRule, ...] = ()

    @property
    def measures(self) -> tuple[AnyMeasure, ...]:
        return () if self.pins else (parse_measure(self.failure.measure),)

    def declared(self, evidence: Evidence) -> Sequence[PlannedDifference]:  # noqa: ARG002  # nothing is compared
        return ()

    def check(self, evidence: Evidence) -> RuleResult:
        return _worst_run(evidence, self.check_run) or self._result(None, "untrusted", f"{self._subject}: there is no run to check")

    @property
    def name(self) -> str:
        return rule_name(self._subject, {}, "known_failure", "fails")

    def own_findings(self, limits: AttainableValues) -> Iterator[Finding]:
        for pin in self.pins:
            yield from pin.own_findings(limits)

    def check_run(self, scores: Scores) -> RuleResult:
        reason = why_unknown(scores, self.failure.case)
        if reason is not None:
            return self._result(None, "untrusted", f"{self._subject} cannot be checked: {reason}")
        if self.pins:
            passes, actual = all(pin.check_run(scores).verdict == "passed" for pin in self.pins), None
        else:
            actual = value_of(scores, self.measures[0], self.failure.case)
            if actual is None:
                return self._result(None, "untrusted", f"{self._subject}: {self.failure.measure} is undefined")
            passes = is_within("at_least", actual, self.failure.at_least)
        if not passes:
            return self._result(actual, "passed", f"{self._subject} fails, as is known")
        return self._result(actual, "failed", f"{self._subject} is a known failure, but it passes now: take it off known_failures")

    @property
    def _subject(self) -> str:
        return f"case {self.failure.case}"

    def _result(self, actual: float | None, verdict: GateVerdict, message: str) -> RuleResult:
        case = self.failure.case
        return RuleResult(self._subject, {}, "known_failure", "fails", actual, (case,), verdict, message)


@dataclass(frozen=True)
class EachCaseRule:
    """A lowest value that every single case must reach; one for which it is undefined is left out."""

    measure: AnyMeasure
    label: str  # the measure as the user wrote it
    expected: float
    exempt: frozenset[str] = frozenset()  # cases that are known to fail

    @property
    def measures(self) -> tuple[AnyMeasure]:
        return (self.measure,)

    def declared(self, evidence: Evidence) -> Sequence[PlannedDifference]:  # noqa: ARG002  # nothing is compared
        return ()

    def check(self, evidence: Evidence) -> RuleResult:
        return _worst_run(evidence, self.check_run) or self._result(self.label, None, (), "untrusted", "there is no run to check")

    @property
    def name(self) -> str:
        return rule_name(f"{self.measure.name}{EVERY_CASE}", {}, "at_least", self.expected)

    def own_findings(self, limits: AttainableValues) -> Iterator[Finding]:
        yield from limits.findings_of_each(self.measure, self.expected, self.exempt)

    def check_run(self, scores: Scores) -> RuleResult:
        cases = [case for case in scores.matched.suite.table.ids if case not in self.exempt]
        values = {case: value for case in cases if (value := value_of(scores, self.measure, case)) is not None}
        name = scores.known_as(self.measure) or self.measure.name
        words = f"{both_names(self.label, name)}{EVERY_CASE}"
        if not values:
            return self._result(name, None, (), "untrusted", f"{words} cannot be checked: it is defined for no case")
        low = sorted((case for case in values if not is_within("at_least", values[case], self.expected)), key=values.__getitem__)
        lowest = min(values.values())
        bound = f"{SIGNS['at_least']} {self.expected:g}"
        if not low:
            return self._result(name, lowest, (), "passed", f"{words} is {bound}: the lowest of {len(values)} is {lowest:.4g}")
        count = f"{len(low)} of {len(values)} have less, the lowest {digits_beside_bound(lowest, self.expected)}"
        return self._result(name, lowest, tuple(low[:MOST_CASES]), "failed", f"Expected {words} {bound}, but {count}")

    def _result(self, subject: str, actual: float | None, cases: tuple[str, ...], verdict: GateVerdict, message: str) -> RuleResult:
        words = f"{both_names(self.label, subject)}{EVERY_CASE}"
        return RuleResult(f"{subject}{EVERY_CASE}", {}, "at_least", self.expected, actual, cases, verdict, message, words=words)


def value_of(scores: Scores, measure: AnyMeasure, case: str) -> float | None:
    """The value of a measure for one case; None if it is undefined."""
    name, row = scores.known_as(measure), scores.matched.suite.table.index.get(case)
    if name is None or row is None:
        return None
    value = float(scores.values[row, scores.names.index(name)])
    return None if value != value else value  # noqa: PLR0124  # NaN


def why_unknown(scores: Scores, case: str) -> str | None:
    """Why nothing can be said about a case of a run; None if something can."""
    row = scores.matched.suite.table.index.get(case)
    if row is None:
        return "the suite has no such case"
    status = scores.matched.status[row]
    return f"it ended with {STATUSES[status]}" if status in _FAILED else None


def _hits(scores: Scores, case: str) -> list[str]:
    run = scores.matched.run
    return list(dict.fromkeys(run.ids_of(run.index[case]))) if case in run.index else []


def _worst_run(evidence: Evidence, check: Callable[[Scores], RuleResult]) -> RuleResult | None:
    names = evidence.candidates
    if not names:
        return None
    worst = worst_run(evidence, lambda name: check(evidence.scores[name]))
    return replace(worst, message=f"{prefix_for(worst.run or '', names)}{worst.message}")
