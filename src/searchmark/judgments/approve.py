"""Makes what a run answered what a suite expects: proposes, asks, and writes what was approved."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from os import PathLike
from pathlib import Path

from searchmark.config.builtin import refuse_builtin_target
from searchmark.errors import FormatError, Incomparable, UsageError
from searchmark.formats.detection import snake_case
from searchmark.formats.suites import detect_suite_format, read_suite
from searchmark.formats.suites.fixtures import BASELINE_CASES_FIELD, BaselineCase, BaselineMetrics, fixture_metric
from searchmark.formats.suites.literals import (
    ListSpan,
    LiteralReader,
    MappingSpan,
    MemberSpan,
    ScalarSpan,
    Span,
    indent_before,
    line_end,
)
from searchmark.formats.suites.native import APPROVALS_FIELD
from searchmark.formats.suites.source import Source, as_text
from searchmark.gates.baselines import BaselineChange, CaseChange, ValueChange, embedding_model_name, row_of
from searchmark.gates.quantities import NAMES, AtOwnK
from searchmark.git.process import user_setting
from searchmark.io.paths import user_path
from searchmark.io.store import BOM, atomic_write, check_readable, check_replaceable, read_to_change
from searchmark.io.text import strict_text
from searchmark.judgments.suite_edits import (
    REFUSED,
    Approval,
    ApprovalRecord,
    CaseExpectation,
    ChangedExpectation,
    Edit,
    ListEdit,
    Proposal,
    SkippedCase,
    SkipReason,
    SuiteText,
    apply_edits,
    expectation_of,
    json_text,
    list_edit,
    member_of,
    record_edit,
    why_not_approvable,
)
from searchmark.records.answers import STATUSES, Answer, Status
from searchmark.records.matching import nfc, normal_path, split_line_range
from searchmark.records.run import Run
from searchmark.records.suite import Case, Suite
from searchmark.scoring.comparability import comparable
from searchmark.scoring.match import match_hits
from searchmark.scoring.scores import Scores
from searchmark.scoring.trust import reasons_for_distrust

# From a suite and a run to a proposal: which expectations would change, which would not, and which are left alone.

NO_OBSTACLES = ("nothing-to-find", "most-cases-missing")  # such cases are left alone, and the others may be approved

_REASONS: dict[SkipReason, str] = {
    "error": "the agent failed",
    "timeout": "the agent ran out of time",
    "not_run": "the case was not run",
    "empty": "the agent returned nothing",
    "fewer": "the agent returned fewer hits than the case expects",
    "too_short": "the run asked for fewer hits than the case expects",
}


@dataclass(frozen=True)
class _Proposer:
    """A run that may be approved, and the status of each case."""

    format_name: str
    run: Run
    rows: dict[str, int]
    agent: str

    def of(self, case: Case, status: SkipReason | None) -> ChangedExpectation | SkippedCase | None:
        """What becomes of one case; None if it stays as it is."""
        reason = why_not_approvable(self.format_name, case)
        if reason:
            return SkippedCase(case.id, "not_approvable", f"it {reason}")
        expected = expectation_of(self.format_name, case)
        if not expected.targets:
            return None
        if status is not None:
            return SkippedCase(case.id, status, _REASONS[status])
        return self._change(case, expected, self.run.answer(self.rows[nfc(case.id)]))

    def _change(self, case: Case, expected: CaseExpectation, answer: Answer) -> ChangedExpectation | SkippedCase | None:
        count = len(expected.targets)
        hit_names = _names(answer, expected)
        targets = list(_existing_names(case, answer, expected))[:count]
        if not targets:
            return SkippedCase(case.id, "empty", "the agent returned nothing that exists")
        if len(targets) < count:  # what a worse answer lacks is not to be forgotten in silence
            why: SkipReason = "too_short" if self._was_cut(answer) else "fewer"
            return SkippedCase(case.id, why, _REASONS[why])
        after = tuple(targets if expected.ordered else _keep_order(expected, targets))
        if [_same_target(target, expected) for target in after] == [_same_target(target, expected) for target in expected.targets]:
            return None
        equal = list(hit_names)[:count] == targets
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
    matched = match_hits(suite, run)
    # Approval may be what gives a suite its first targets.
    reasons = [each.message for each in reasons_for_distrust(matched) if each.code not in NO_OBSTACLES]
    if reasons:
        raise Incomparable(f"the run {run.agent!r} is untrusted, so nothing of it can be approved: {'; '.join(reasons)}")
    proposer = _Proposer(format_name, run, {nfc(case): row for row, case in enumerate(run.case_ids)}, run.agent)
    outcomes = [
        proposer.of(case, _failure(STATUSES[status]))
        for case, status in zip(suite.cases, matched.status.tolist(), strict=True)
        if not only or case.id in only
    ]
    changes = tuple(each for each in outcomes if isinstance(each, ChangedExpectation))
    skips = tuple(each for each in outcomes if isinstance(each, SkippedCase))
    return Proposal(changes, len(outcomes) - len(changes) - len(skips), skips)


def _failure(status: Status) -> SkipReason | None:
    return None if status == "ok" else status


def _refuse_other_queries(suite: Suite, run: Run) -> None:
    """A run that has recorded its suite must be of all of this one and of nothing else."""
    origin = run.provenance.suite
    if origin is not None and origin.queries not in (None, suite.hashes["queries"]):
        answered, cases = set(map(nfc, run.case_ids)), set(map(nfc, suite.table.ids))
        if origin.name == suite.name and answered < cases:
            raise Incomparable(
                f"the run {run.agent!r} holds a part of the suite {suite.name!r}, {len(answered)} of {len(cases)} cases; give all "
                f"shards of it, each with a --run of its own, or run the agent on the whole suite"
            )
        raise Incomparable(
            f"the run {run.agent!r} was made for a different suite, or before its cases changed ({origin.name!r}, not "
            f"{suite.name!r} as it is now); run the agent again and approve that run"
        )


def _names(answer: Answer, expected: CaseExpectation) -> list[str]:
    """What was returned, best first, each once, under the names that a suite gives it."""
    ids = (split_line_range(hit.id)[0] for hit in answer.hits)
    return list(dict.fromkeys(normal_path(name) if expected.by_path else name for name in ids))


def _existing_names(case: Case, answer: Answer, expected: CaseExpectation) -> Iterator[str]:
    """What was returned and exists; what does not cannot be expected."""
    invalid = {split_line_range(hit.id)[0] for hit in answer.hits if hit.valid is False}
    document_ids = {document.id for document in case.documents}
    former = {_same_target(target, expected): target for target in expected.targets}
    for name in _names(answer, expected):
        if name not in invalid and (not document_ids or name in document_ids):
            yield former.get(_same_target(name, expected), name)  # in the spelling that the suite has already


def _same_target(target: str, expected: CaseExpectation) -> str:
    return normal_path(target) if expected.by_path else nfc(target)


def _keep_order(expected: CaseExpectation, targets: list[str]) -> Iterator[str]:
    """What is still expected where it was, and new targets in place of those that are gone."""
    new = iter([target for target in targets if target not in expected.targets])
    for target in expected.targets:
        yield target if target in targets else next(new)


# ``approve``: decide on every changed expectation, and write the approved ones into the suite, all of them or none.

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
    refuse_builtin_target(path)
    path = user_path(path)
    _refuse_format(path, format)
    if write:
        check_replaceable(path)
    content = read_to_change(path)
    file, suite = _read_suite(path, strict_text(path, content), format)
    _refuse_all(path, file.format_name, suite)
    proposal = propose(suite, file.format_name, run, only)
    approved_changes = tuple(change for change in proposal.changed if decide(change))
    if not approved_changes:
        return Approval(path, proposal, (), None, recorded=False, written=False, before=file.text, after=file.text)
    today = datetime.now(UTC).date().isoformat()
    name = f"{run.agent} {run.provenance.id}" if run.provenance.id else run.agent
    record = ApprovalRecord(today, author, name, tuple(change.case for change in approved_changes), reason)
    record_change = record_edit(file, record)
    edits = {change.case: _edit(file, suite.table.index[change.case], change) for change in approved_changes}
    after = apply_edits(file.text, [*(each.edit for each in edits.values()), *([record_change] if record_change else [])])
    new_content = _encode(path, after, content)
    _check(file, suite, approved_changes, strict_text(path, new_content))
    if write:
        _write(path, content, new_content)
    return Approval(
        path, proposal, approved_changes, record,
        recorded=record_change is not None, written=write, before=file.text, after=after,
        comments=tuple(f"case {case}: {comment}" for case, each in edits.items() for comment in each.comments),
    )  # fmt: skip


def _refuse_format(path: Path, format_name: str | None) -> None:
    """Name the formats that hold what no run can say."""
    check_readable(path)
    format_ = format_name or detect_suite_format(Source(path))
    if format_ in REFUSED:
        raise UsageError(f"{path}: the format {format_!r} cannot be approved from a run: {REFUSED[format_]}; change it by hand")


def _read_suite(path: Path, text: str, format_name: str | None) -> tuple[SuiteText, Suite]:
    source = Source(path, content=text)
    format_ = format_name or detect_suite_format(source)
    return SuiteText(source, format_), read_suite(source, format_)


def _refuse_all(path: Path, format_name: str, suite: Suite) -> None:
    """A suite of which no case can be approved is refused, with the reason of the first."""
    reasons = {case.id: why_not_approvable(format_name, case) for case in suite.cases if case.judgments}
    if reasons and all(reasons.values()):
        first, reason = next(iter(reasons.items()))
        raise UsageError(f"{path}: no case can be approved from a run: {first!r} {reason}; change it by hand")


def _edit(file: SuiteText, row: int, change: ChangedExpectation) -> ListEdit:
    slots = file.slots(row)
    ranks = {target: rank for rank, target in enumerate(change.before)}
    try:
        order = [ranks[as_text(slot.target.value) or ""] for slot in slots]
    except KeyError:
        raise file.error(row, f"what {change.case!r} expects is not found in the file; change it by hand") from None
    return list_edit(file, slots, [change.after[rank] for rank in order])


def _check(file: SuiteText, suite: Suite, approved_changes: Iterable[ChangedExpectation], after: str) -> None:
    """Read the new text as it will be read from disk: it must say what was approved, and nothing else that is new."""
    path = file.source.path
    changes = {change.case: change for change in approved_changes}
    try:
        _, new = _read_suite(path, after, file.format_name)
    except FormatError as error:
        raise UsageError(f"{path} cannot be changed in place, change it by hand: {error.reason}") from error
    for case, now in zip(suite.cases, new.cases, strict=True):
        change = changes.get(case.id)
        right = now == case if change is None else _is_changed(file.format_name, case, now, change)
        if not right:
            raise UsageError(f"{path} cannot be changed in place: that would also change {case.id!r}; change it by hand")
    if _header_facts(suite) != _header_facts(new):
        raise UsageError(f"{path} cannot be changed in place without changing more than its cases; change it by hand")


def _is_changed(format_name: str, case: Case, now: Case, change: ChangedExpectation) -> bool:
    expected = expectation_of(format_name, now)
    return expected.targets == change.after and replace(now, judgments=()) == replace(case, judgments=())


def _header_facts(suite: Suite) -> tuple[object, ...]:
    metadata = {name: value for name, value in suite.metadata.items() if name != APPROVALS_FIELD}
    return (suite.name, suite.defaults, suite.description, suite.model, metadata)


def _encode(path: Path, text: str, former: bytes) -> bytes:
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


# Who approves: what the user's own Git would write into a commit.


def author_of(path: Path) -> str:
    """Name and address for files in the folder of a path."""
    folder = path.absolute().parent
    name, address = user_setting(folder, "user.name"), user_setting(folder, "user.email")
    if not name and not address:
        raise UsageError("Git does not know who you are (user.name), so nothing can be approved; name the author with --author")
    return " ".join(filter(None, [name, f"<{address}>" if address else None]))


# Updating a ``baseline_metrics.json``: new values, and everything else as it was.

FIRST_VERSION = "1.0.0"


@dataclass(frozen=True)
class MetricsUpdate:
    """The text of the file with new values, and what they change; ``version`` is the new one."""

    text: str
    change: BaselineChange
    version: str

    @property
    def changed(self) -> bool:
        return bool(self.change.cases)


def update_metrics(
    path: Path, text: str, baseline: BaselineMetrics, scores: Scores, *, reason: str | None, today: date
) -> MetricsUpdate:
    """The file with the values that a run reaches; what only has more digits than the file writes stays as it is."""
    top = LiteralReader(str(path), text).value(LiteralReader(str(path), text).skip(0))
    values_by_case = {case.name: dict(_measured_values(case, scores)) for case in baseline.cases}
    edits: list[Edit] = []
    changes: list[CaseChange] = []
    for case in _items(member_of(top, BASELINE_CASES_FIELD)):
        name, metrics = _text(member_of(case, "name")), member_of(case, "metrics")
        edits_and_changes = list(_metric_edits(text, metrics, values_by_case[name]))
        edits += [edit for edit, _ in edits_and_changes]
        changes += [CaseChange(name, tuple(value for _, value in edits_and_changes))] if edits_and_changes else []
    values = ((change.case, value) for change in changes for value in change.values)
    new = {(case, snake_case(value.name)): value.after for case, value in values if value.after is not None}
    version = next_version(path, baseline.version)
    facts = {
        "version": version,
        "model": embedding_model_name(scores.matched.run),
        "created_at": today.isoformat(),
        "notes": reason,
    }
    edits += _fact_edits(text, top, facts)
    return MetricsUpdate(apply_edits(text, edits), BaselineChange(tuple(_averages(baseline, new)), tuple(changes)), version)


def next_version(path: Path, version: str | None) -> str:
    """``1.0.0`` is followed by ``1.1.0``, 3 by 4."""
    if version is None:
        return FIRST_VERSION
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})*", version):
        raise FormatError(path, "version", f"{version!r} cannot be counted up; write it like 1.0.0")
    first, *rest = version.split(".")
    if not rest:
        return str(int(first) + 1)
    return ".".join([first, str(int(rest[0]) + 1), *("0" for _ in rest[1:])])


def _measured_values(case: BaselineCase, scores: Scores) -> Iterator[tuple[str, float]]:
    row = row_of(scores.matched.suite, case)
    if row is None:
        raise Incomparable(f"the suite has no fixture {case.name!r}, which the baseline names; remove it from the file by hand")
    for name in case.metrics:
        metric = fixture_metric(name)
        quantity = None if metric is None else AtOwnK(metric, (case,))
        value = None if quantity is None else quantity.value_of(scores, row)
        if value is None:
            reason = f"{name!r} is not a metric of fixtures" if quantity is None else quantity.why_undefined(scores, row)
            raise Incomparable(f"the fixture {case.name!r} has no value for {name}: {reason}")
        yield name, value


def _metric_edits(text: str, metrics: MemberSpan | None, new_values: Mapping[str, float]) -> Iterator[tuple[Edit, ValueChange]]:
    for member in metrics.value.members if metrics and isinstance(metrics.value, MappingSpan) else ():
        value, new = member.value, new_values[snake_case(member.key)]
        if isinstance(value, ScalarSpan):
            number_text = text[value.start : value.end].strip('"')
            if round(new, len(number_text.partition(".")[2])) != float(number_text):
                yield Edit(value.start, value.end, repr(new)), ValueChange(member.key, float(number_text), new)


def _averages(baseline: BaselineMetrics, new: Mapping[tuple[str, str], float]) -> Iterator[ValueChange]:
    """The means over the fixtures of the file that have a metric, before and after."""
    for metric, name_shown in NAMES.items():
        pairs = [
            (value, new.get((case.name, name), value))
            for case in baseline.cases
            for name, value in case.metrics.items()
            if fixture_metric(name) == metric
        ]
        if pairs:
            before, after = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
            yield ValueChange(f"average {name_shown}", before, after)


def _fact_edits(text: str, top: Span, facts: Mapping[str, str | None]) -> Iterator[Edit]:
    missing: list[str] = []
    escapes = text.isascii() and "\\u" in text  # as the file writes other letters
    for name, value in facts.items():
        member = member_of(top, name)
        if value is None:
            continue
        if member is None:
            missing.append(f'"{name}": {json_text(value, escapes=escapes)}')
        else:
            is_number = isinstance(member.value, ScalarSpan) and isinstance(member.value.value, int)
            new_text = value if is_number and value.isdecimal() else json_text(value, escapes=escapes)
            yield Edit(member.value.start, member.value.end, new_text)
    following = member_of(top, BASELINE_CASES_FIELD)
    if missing and following is not None:
        indent = indent_before(text, following.start)
        separator = ", " if indent is None else f",{line_end(text)}{indent}"
        yield Edit(following.start, following.start, "".join(f"{each}{separator}" for each in missing))


def _items(member: MemberSpan | None) -> tuple[Span, ...]:
    return member.value.items if member is not None and isinstance(member.value, ListSpan) else ()


def _text(member: MemberSpan | None) -> str:
    return str(member.value.value) if member is not None and isinstance(member.value, ScalarSpan) else ""
