"""A suite and a run become a proposal: which expectations would change, which would not, and which are left alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from searchmark.analysis.scores import score, untrusted_because
from searchmark.approval.expected import Expected, expected_of, why_not
from searchmark.approval.records import ChangedExpectation, LeftAlone, LeftAloneKind, Proposal
from searchmark.comparability import comparable
from searchmark.errors import Incomparable, UsageError
from searchmark.judging.judge import judge
from searchmark.judging.matching import apart
from searchmark.judging.spelling import nfc, normal_path
from searchmark.records import STATUSES, Answer, Case, Run, Status, Suite

_REASONS: dict[LeftAloneKind, str] = {
    "error": "the agent failed",
    "timeout": "the agent ran out of time",
    "not_run": "the case was not run",
    "empty": "the agent returned nothing",
    "fewer": "the agent returned fewer hits than the case expects",
    "too_short": "the run asked for fewer hits than the case expects",
}


@dataclass(frozen=True)
class _Proposing:
    """A run that may be approved, and the status of each case."""

    format_name: str
    run: Run
    rows: dict[str, int]
    agent: str

    def of(self, case: Case, status: LeftAloneKind | None) -> ChangedExpectation | LeftAlone | None:
        """What becomes of one case; None if it stays as it is."""
        refused = why_not(self.format_name, case)
        if refused:
            return LeftAlone(case.id, "not_approvable", f"it {refused}")
        expected = expected_of(self.format_name, case)
        if not expected.targets:
            return None
        if status is not None:
            return LeftAlone(case.id, status, _REASONS[status])
        return self._change(case, expected, self.run.answer(self.rows[nfc(case.id)]))

    def _change(self, case: Case, expected: Expected, answer: Answer) -> ChangedExpectation | LeftAlone | None:
        wanted = len(expected.targets)
        returned = _names(answer, expected)
        found = list(_existing(case, answer, expected))[:wanted]
        if not found:
            return LeftAlone(case.id, "empty", "the agent returned nothing that exists")
        if len(found) < wanted:  # what a worse answer lacks is not to be forgotten in silence
            why: LeftAloneKind = "too_short" if self._was_cut(answer) else "fewer"
            return LeftAlone(case.id, why, _REASONS[why])
        after = tuple(found if expected.ordered else _in_former_order(expected, found))
        if [_same(target, expected) for target in after] == [_same(target, expected) for target in expected.targets]:
            return None
        equal = list(returned)[:wanted] == found
        return ChangedExpectation(case.id, case.query, expected.targets, after, expected.ordered, self.agent, equal)

    def _was_cut(self, answer: Answer) -> bool:
        depth = self.run.provenance.options.get("depth")
        return isinstance(depth, int) and len(answer.hits) >= depth


def propose(suite: Suite, format_name: str, run: Run, only: Collection[str] = ()) -> Proposal:
    """What approving this run would change, in all cases or ``only`` in some.

    A run that is untrusted, or that was made for a different suite, is refused.
    """
    for case in only:
        if case not in suite.table.index:
            raise UsageError(f"the suite {suite.name!r} has no case {case!r}")
    _refuse_other_queries(suite, run)
    (run,) = comparable(suite, [run]).runs
    judged = judge(suite, run)
    reasons = untrusted_because(score(judged, []))
    if reasons:
        raise Incomparable(f"the run {run.agent!r} is untrusted, so nothing of it can be approved: {'; '.join(reasons)}")
    asked = _Proposing(format_name, run, {nfc(case): row for row, case in enumerate(run.case_ids)}, run.agent)
    outcomes = [
        asked.of(case, _failure(STATUSES[status]))
        for case, status in zip(suite.cases, judged.status.tolist(), strict=True)
        if not only or case.id in only
    ]
    changed = tuple(each for each in outcomes if isinstance(each, ChangedExpectation))
    left = tuple(each for each in outcomes if isinstance(each, LeftAlone))
    return Proposal(changed, len(outcomes) - len(changed) - len(left), left)


def _failure(status: Status) -> LeftAloneKind | None:
    return None if status == "ok" else status


def _refuse_other_queries(suite: Suite, run: Run) -> None:
    """A run that knows what it was asked must have been asked all of this suite and nothing else."""
    asked = run.provenance.suite
    if asked is not None and asked.queries not in (None, suite.hashes["queries"]):
        answered, cases = set(map(nfc, run.case_ids)), set(map(nfc, suite.table.ids))
        if asked.name == suite.name and answered < cases:
            raise Incomparable(
                f"the run {run.agent!r} holds a part of the suite {suite.name!r}, {len(answered)} of {len(cases)} cases; give all "
                f"shards of it, each with a --run of its own, or run the agent on the whole suite"
            )
        raise Incomparable(
            f"the run {run.agent!r} was made for a different suite, or before its cases changed ({asked.name!r}, not "
            f"{suite.name!r} as it is now); run the agent again and approve that run"
        )


def _names(answer: Answer, expected: Expected) -> list[str]:
    """What was returned, best first, each once, under the names that a suite gives it."""
    ids = (apart(hit.id)[0] for hit in answer.hits)
    return list(dict.fromkeys(normal_path(name) if expected.by_path else name for name in ids))


def _existing(case: Case, answer: Answer, expected: Expected) -> Iterator[str]:
    """What was returned and exists; what does not cannot be expected."""
    invalid = {apart(hit.id)[0] for hit in answer.hits if hit.valid is False}
    brought = {document.id for document in case.documents}
    former = {_same(target, expected): target for target in expected.targets}
    for name in _names(answer, expected):
        if name not in invalid and (not brought or name in brought):
            yield former.get(_same(name, expected), name)  # in the spelling that the suite has already


def _same(target: str, expected: Expected) -> str:
    return normal_path(target) if expected.by_path else nfc(target)


def _in_former_order(expected: Expected, found: list[str]) -> Iterator[str]:
    """What is still expected where it was, and new targets in place of those that are gone."""
    new = iter([target for target in found if target not in expected.targets])
    for target in expected.targets:
        yield target if target in found else next(new)
