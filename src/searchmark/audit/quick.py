"""The checks that run with every report. Apart from the full audit, so that scoring a run loads little."""

from __future__ import annotations

from searchmark.audit import agents, corpus, gold, numbers
from searchmark.audit.check import Check, Subject, checks_of
from searchmark.records.finding import Finding, by_severity

SHORT: tuple[Check, ...] = checks_of((corpus, gold, agents, numbers), quick=True)


def short_audit(subject: Subject) -> list[Finding]:
    """The findings that come with every report."""
    return by_severity(each for check in SHORT for each in check.look(subject))
