"""All checks, and what they find: the short form with every report, all of them in an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from searchmark.audit import gate, gold_alone, gold_and_agents, gold_and_corpus, next_pairs, numbers
from searchmark.audit.about_runs import said_once
from searchmark.audit.check import Check, TableMaker
from searchmark.audit.result import Audit, AuditTable
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, by_severity

_ROOMS = (gold_and_corpus, gold_alone, gold_and_agents, numbers, gate, next_pairs)
CHECKS: tuple[Check, ...] = tuple(check for room in _ROOMS for check in room.CHECKS)
TABLES: tuple[TableMaker, ...] = tuple(table for room in _ROOMS for table in room.TABLES)


def short_audit(subject: Subject) -> list[Finding]:
    """What every report says beside its numbers: the checks that take next to no time."""
    return by_severity(found for check in CHECKS if check.short for found in check.look(subject))


def full_audit(
    subject: Subject, beside: Iterable[Finding] = (), on_progress: Callable[[int, int], None] = lambda _, __: None
) -> Audit:
    """What all checks find, the worst first, with what is known ``beside`` them."""
    findings, tables = list[Finding](), list[AuditTable | None]()
    steps = len(CHECKS) + len(TABLES)
    for number, check in enumerate(CHECKS, 1):
        findings += check.look(subject)
        on_progress(number, steps)
    for number, table in enumerate(TABLES, len(CHECKS) + 1):
        tables.append(table(subject))
        on_progress(number, steps)
    suite = subject.suite
    return Audit(suite.name, len(suite), tuple(by_severity(said_once(beside, findings))), suite.hashes, tuple(filter(None, tables)))
