"""``approve``: decide on every changed expectation, and write the approved ones into the suite, all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from searchmark.approval.expected import REFUSED, expected_of, why_not
from searchmark.approval.list_edits import ListEdit, applied, list_edit
from searchmark.approval.proposing import propose
from searchmark.approval.record_edits import record_edit
from searchmark.approval.records import Approval, ApprovalRecord, ChangedExpectation
from searchmark.approval.suite_text import SuiteText
from searchmark.errors import FormatError, UsageError
from searchmark.files.in_place import read_to_change
from searchmark.files.store import BOM, atomic_write, check_readable, check_replaceable
from searchmark.files.text_encoding import strict_text
from searchmark.options.user_paths import user_path
from searchmark.records import Case, Run, Suite
from searchmark.suites import read_suite
from searchmark.suites.builtin import refuse_change
from searchmark.suites.detect import detect
from searchmark.suites.native import APPROVALS
from searchmark.suites.source import Source, as_text

Decide = Callable[[ChangedExpectation], bool]


def approve(
    path: str | PathLike[str],
    run: Run,
    decide: Decide,
    *,
    author: str,
    reason: str | None = None,
    only: Collection[str] = (),
    format: str | None = None,  # noqa: A002  # as load_suite has it
    write: bool = True,
) -> Approval:
    """Make what a run answered what the suite at ``path`` expects, wherever ``decide`` says yes.

    Every change is decided on before anything is written. The file is changed in place, in the lines that change and no
    others, and not at all if it was changed by others meanwhile. Without ``write`` all but that is done.
    """
    refuse_change(path)
    path = user_path(path)
    _refuse_format(path, format)
    if write:
        check_replaceable(path)
    content = read_to_change(path)
    file, suite = _read(path, strict_text(path, content), format)
    _refuse_all(path, file.format_name, suite)
    proposal = propose(suite, file.format_name, run, only)
    approved = tuple(change for change in proposal.changed if decide(change))
    if not approved:
        return Approval(path, proposal, (), None, recorded=False, written=False, before=file.text, after=file.text)
    today = datetime.now(UTC).date().isoformat()
    record = ApprovalRecord(today, author, _name(run), tuple(change.case for change in approved), reason)
    kept = record_edit(file, record)
    edits = _edits(file, suite, approved)
    after = applied(file.text, [*(each.edit for each in edits.values()), *([kept] if kept else [])])
    new_content = _encoded(path, after, content)
    _check(file, suite, approved, strict_text(path, new_content))
    if write:
        _write(path, content, new_content)
    return Approval(
        path, proposal, approved, record,
        recorded=kept is not None, written=write, before=file.text, after=after,
        comments=tuple(f"case {case}: {told}" for case, each in edits.items() for told in each.comments),
    )  # fmt: skip


def _refuse_format(path: Path, format_name: str | None) -> None:
    """Name the formats that hold what no run can say."""
    check_readable(path)
    found = format_name or detect(Source(path))
    if found in REFUSED:
        raise UsageError(f"{path}: the format {found!r} cannot be approved from a run: {REFUSED[found]}; change it by hand")


def _read(path: Path, text: str, format_name: str | None) -> tuple[SuiteText, Suite]:
    source = Source(path, content=text)
    found = format_name or detect(source)
    return SuiteText(source, found), read_suite(source, found)


def _refuse_all(path: Path, format_name: str, suite: Suite) -> None:
    """A suite of which no case can be approved is refused, with the reason of the first."""
    reasons = {case.id: why_not(format_name, case) for case in suite.cases if case.judgments}
    if reasons and all(reasons.values()):
        first, reason = next(iter(reasons.items()))
        raise UsageError(f"{path}: no case can be approved from a run: {first!r} {reason}; change it by hand")


def _name(run: Run) -> str:
    return f"{run.agent} {run.provenance.id}" if run.provenance.id else run.agent


def _edits(file: SuiteText, suite: Suite, approved: Iterable[ChangedExpectation]) -> dict[str, ListEdit]:
    return {change.case: _edit(file, suite.table.index[change.case], change) for change in approved}


def _edit(file: SuiteText, row: int, change: ChangedExpectation) -> ListEdit:
    slots = file.slots(row)
    ranks = {target: rank for rank, target in enumerate(change.before)}
    try:
        order = [ranks[as_text(slot.target.value) or ""] for slot in slots]
    except KeyError:
        raise file.error(row, f"what {change.case!r} expects is not found in the file; change it by hand") from None
    return list_edit(file, slots, [change.after[rank] for rank in order])


def _check(file: SuiteText, suite: Suite, approved: Iterable[ChangedExpectation], after: str) -> None:
    """Read the new text as it will be read from disk: it must say what was approved, and nothing else that is new."""
    path = file.source.path
    changes = {change.case: change for change in approved}
    try:
        _, new = _read(path, after, file.format_name)
    except FormatError as error:
        raise UsageError(f"{path} cannot be changed in place, change it by hand: {error.reason}") from error
    for case, now in zip(suite.cases, new.cases, strict=True):
        change = changes.get(case.id)
        right = now == case if change is None else _is_changed(file.format_name, case, now, change)
        if not right:
            raise UsageError(f"{path} cannot be changed in place: that would also change {case.id!r}; change it by hand")
    if _beside(suite) != _beside(new):
        raise UsageError(f"{path} cannot be changed in place without changing more than its cases; change it by hand")


def _is_changed(format_name: str, case: Case, now: Case, change: ChangedExpectation) -> bool:
    expected = expected_of(format_name, now)
    return expected.targets == change.after and replace(now, judgments=()) == replace(case, judgments=())


def _beside(suite: Suite) -> tuple[object, ...]:
    metadata = {name: value for name, value in suite.metadata.items() if name != APPROVALS}
    return (suite.name, suite.defaults, suite.description, suite.model, metadata)


def _encoded(path: Path, text: str, former: bytes) -> bytes:
    """The new text as bytes, behind a byte order mark if there was one."""
    try:
        return (BOM if former.startswith(BOM) else b"") + text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{path} cannot be written: {text[error.start]!r} is not a character that a file can hold") from error


def _write(path: Path, former: bytes, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)
        if read_to_change(path) != former:  # as late as possible
            raise UsageError(f"{path} was changed in the meantime, and nothing is written; approve again")
