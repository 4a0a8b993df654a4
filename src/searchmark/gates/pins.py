"""Rules about single cases: what must come first, what must or must not be there, and which failures are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from searchmark.analysis.declared import Declared
from searchmark.analysis.scores import Scores, untrusted_because
from searchmark.comparability import depth_reached
from searchmark.findings import Finding, finding
from searchmark.gates.quantities import MOST_CASES
from searchmark.gates.reach import Reach
from searchmark.gates.rules import Evidence, GateVerdict, PinBound, RuleResult, worst_run
from searchmark.gates.sentences import SIGNS, prefix_for, rule_name, told_apart, within
from searchmark.judging.spelling import normal_path
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.measures.words import named
from searchmark.options.gate_options import KnownFailure, Pin
from searchmark.records import ERROR, NOT_RUN, STATUSES, TIMEOUT

_FAILED = (ERROR, TIMEOUT, NOT_RUN)
SHOWN = 5
EVERY_CASE = " of every case"  # ends the subject of a rule about each of them


@dataclass(frozen=True)
class PinRule:
    """What one case must show."""

    pin: Pin
    bound: PinBound
    wanted: tuple[str, ...]
    measures: tuple[AnyMeasure, ...] = ()

    def declared(self, evidence: Evidence) -> Sequence[Declared]:  # noqa: ARG002  # nothing is compared
        return ()

    def check(self, evidence: Evidence) -> RuleResult:
        return _worst_run(evidence, self.check_run) or self._result(None, "untrusted", f"{self._subject}: there is no run to check")

    @property
    def name(self) -> str:
        return rule_name(self._subject, {}, self.bound, ", ".join(self.wanted))

    def worth(self, reach: Reach) -> Iterator[Finding]:
        for each in reach.lacking(self.wanted):
            yield finding("pin-outside-corpus", f"{each} is not among the documents that are searched", [self.pin.case])

    def check_run(self, scores: Scores) -> RuleResult:
        """What one run makes of it."""
        reason = unknown_because(scores, self.pin.case)
        if reason is not None:
            return self._result(None, "untrusted", f"{self._subject} cannot be checked: {reason}")
        hits = _hits(scores, self.pin.case)
        met = self.is_met(hits)
        if met is (self.bound == "must_not_contain") and self._may_be_cut(scores, hits):
            cut = f"its answer was cut after {len(hits)} hits, before the first {self.pin.k}"
            return self._result(None, "untrusted", f"{self._subject} cannot be checked: {cut}")
        shown = ", ".join(hits[:SHOWN]) or "nothing"
        wanted = f"{self._subject}: expected {self._words}"
        message = f"{wanted}, and it is so" if met else f"{wanted}, but got {shown}"
        return self._result(hits[0] if hits else None, "passed" if met else "failed", message)

    def _may_be_cut(self, scores: Scores, hits: Sequence[str]) -> bool:
        """Whether what is asked about the first ``k`` hits may lie below those that are there."""
        depth = depth_reached(scores.judged.run)
        return self.bound in ("must_contain", "must_not_contain") and depth is not None and depth <= len(hits) < self.pin.k

    def is_met(self, hits: Sequence[str]) -> bool:
        first, k = [normal_path(each) for each in hits], self.pin.k
        wanted = [normal_path(each) for each in self.wanted]
        match self.bound:
            case "must_be_first":
                return first[:1] == wanted
            case "must_contain":
                return set(wanted) <= set(first[:k])
            case "must_not_contain":
                return not set(wanted) & set(first[:k])
            case _:
                better, worse = (first.index(each) if each in first else len(first) for each in wanted)
                return better < worse

    @property
    def _subject(self) -> str:
        return f"case {self.pin.case}"

    @property
    def _words(self) -> str:
        names = ", ".join(self.wanted)
        return {
            "must_be_first": f"{names} to be first",
            "must_contain": f"{names} among the first {self.pin.k}",
            "must_not_contain": f"not {names} among the first {self.pin.k}",
        }.get(self.bound, f"{self.wanted[0]} before {self.wanted[-1]}")

    def _result(self, actual: str | None, verdict: GateVerdict, message: str) -> RuleResult:
        return RuleResult(self._subject, {}, self.bound, ", ".join(self.wanted), actual, (self.pin.case,), verdict, message)


@dataclass(frozen=True)
class KnownFailureRule:
    """A case that fails today: that it fails is no news, that it passes is, since then it must not fail again."""

    failure: KnownFailure
    pins: tuple[PinRule, ...] = ()

    @property
    def measures(self) -> tuple[AnyMeasure, ...]:
        return () if self.pins else (parse_measure(self.failure.measure),)

    def declared(self, evidence: Evidence) -> Sequence[Declared]:  # noqa: ARG002  # nothing is compared
        return ()

    def check(self, evidence: Evidence) -> RuleResult:
        return _worst_run(evidence, self.check_run) or self._result(None, "untrusted", f"{self._subject}: there is no run to check")

    @property
    def name(self) -> str:
        return rule_name(self._subject, {}, "known_failure", "fails")

    def worth(self, reach: Reach) -> Iterator[Finding]:
        for pin in self.pins:
            yield from pin.worth(reach)

    def check_run(self, scores: Scores) -> RuleResult:
        reason = unknown_because(scores, self.failure.case)
        if reason is not None:
            return self._result(None, "untrusted", f"{self._subject} cannot be checked: {reason}")
        if self.pins:
            passes, actual = all(pin.check_run(scores).verdict == "passed" for pin in self.pins), None
        else:
            actual = value_of(scores, self.measures[0], self.failure.case)
            if actual is None:
                return self._result(None, "untrusted", f"{self._subject}: {self.failure.measure} is undefined")
            passes = within("at_least", actual, self.failure.at_least)
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
    """A lowest value that every single case must reach, but for the known failures; one for which it is undefined is left out."""

    measure: AnyMeasure
    asked: str
    expected: float
    spared: frozenset[str] = frozenset()

    @property
    def measures(self) -> tuple[AnyMeasure]:
        return (self.measure,)

    def declared(self, evidence: Evidence) -> Sequence[Declared]:  # noqa: ARG002  # nothing is compared
        return ()

    def check(self, evidence: Evidence) -> RuleResult:
        found = _worst_run(evidence, self.check_run)
        return found or self._result(self.asked, None, (), "untrusted", "there is no run to check")

    @property
    def name(self) -> str:
        return rule_name(f"{self.measure.name}{EVERY_CASE}", {}, "at_least", self.expected)

    def worth(self, reach: Reach) -> Iterator[Finding]:
        yield from reach.findings_of_each(self.measure, self.expected, self.spared)

    def check_run(self, scores: Scores) -> RuleResult:
        cases = [case for case in scores.judged.suite.table.ids if case not in self.spared]
        values = {case: value for case in cases if (value := value_of(scores, self.measure, case)) is not None}
        name = scores.known_as(self.measure) or self.measure.name
        words = f"{named(self.asked, name)}{EVERY_CASE}"
        if not values or untrusted_because(scores):
            reason = "; ".join(untrusted_because(scores)) or "it is defined for no case"
            return self._result(name, None, (), "untrusted", f"{words} cannot be checked: {reason}")
        low = sorted((case for case in values if not within("at_least", values[case], self.expected)), key=values.__getitem__)
        lowest = min(values.values())
        wanted = f"{SIGNS['at_least']} {self.expected:g}"
        if not low:
            return self._result(name, lowest, (), "passed", f"{words} is {wanted}: the lowest of {len(values)} is {lowest:.4g}")
        count = f"{len(low)} of {len(values)} have less, the lowest {told_apart(lowest, self.expected)}"
        return self._result(name, lowest, tuple(low[:MOST_CASES]), "failed", f"Expected {words} {wanted}, but {count}")

    def _result(self, subject: str, actual: float | None, cases: tuple[str, ...], verdict: GateVerdict, message: str) -> RuleResult:
        words = f"{named(self.asked, subject)}{EVERY_CASE}"
        return RuleResult(f"{subject}{EVERY_CASE}", {}, "at_least", self.expected, actual, cases, verdict, message, words=words)


def value_of(scores: Scores, measure: AnyMeasure, case: str) -> float | None:
    """The value of a measure for one case; None if it is undefined."""
    name, row = scores.known_as(measure), scores.judged.suite.table.index.get(case)
    if name is None or row is None:
        return None
    value = float(scores.values[row, scores.names.index(name)])
    return None if value != value else value  # noqa: PLR0124  # NaN


def unknown_because(scores: Scores, case: str) -> str | None:
    """Why nothing can be said about a case of a run; None if something can."""
    row = scores.judged.suite.table.index.get(case)
    if row is None:
        return "the suite has no such case"
    status = scores.judged.status[row]
    if status in _FAILED:
        return f"it ended with {STATUSES[status]}"
    return "; ".join(untrusted_because(scores)) or None


def _hits(scores: Scores, case: str) -> list[str]:
    run = scores.judged.run
    return list(dict.fromkeys(run.ids_of(run.index[case]))) if case in run.index else []


def _worst_run(evidence: Evidence, check: Callable[[Scores], RuleResult]) -> RuleResult | None:
    names = evidence.candidates
    if not names:
        return None
    found = worst_run(evidence, lambda name: check(evidence.scores[name]))
    return replace(found, message=f"{prefix_for(found.run or '', names)}{found.message}")
