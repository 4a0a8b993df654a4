"""Expectations are updated from the run of the session, at its end."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from searchmark.approval.approving import approve
from searchmark.approval.author import author_of
from searchmark.approval.records import WARNING, Approval
from searchmark.errors import SearchmarkError
from searchmark.pytest_plugin.outcomes import SuiteOutcome
from searchmark.reports.quoting import visible
from searchmark.runs import load_run

REASON = "UPDATE_BENCHMARK_EXPECTATIONS in a pytest run"


def proposed_update(path: Path, run_file: Path, outcome: SuiteOutcome) -> SuiteOutcome:
    """The outcome with what an update would leave alone; which cases are selected is not known here, so no edit is tried."""
    try:
        approval = approve(path, load_run(run_file), lambda _: False, author=author_of(path), reason=REASON, write=False)
    except SearchmarkError as error:
        return replace(outcome, refused=str(error))
    return replace(outcome, left_alone={each.case: each.reason for each in approval.proposal.left_alone})


@dataclass(frozen=True)
class UpdatedSuite:
    """Whether the expectations of a suite were updated, and what there is to say about it."""

    done: bool
    sentences: tuple[str, ...]


def update_suite(path: Path, run_file: Path, only: Collection[str]) -> UpdatedSuite:
    """Make what the run answered what these cases of the suite expect."""
    try:
        approval = approve(path, load_run(run_file), lambda _: True, author=author_of(path), reason=REASON, only=only)
    except SearchmarkError as error:
        return UpdatedSuite(False, (f"{path}: no expectation was updated: {error}",))
    return UpdatedSuite(True, tuple(map(visible, _told(approval))))


def _told(approval: Approval) -> Iterator[str]:
    changed = len(approval.approved)
    yield f"{approval.path}: {changed} expectation{'' if changed == 1 else 's'} updated, {approval.proposal.unchanged} unchanged"
    for change in approval.approved:
        yield f"  case {change.case} expected {', '.join(change.before)}; it expects {', '.join(change.after)} now"
    if approval.circular:
        yield approval.circular_sentence
    yield from (f"comments of {told}" for told in approval.comments)
    if approval.written:
        yield WARNING
