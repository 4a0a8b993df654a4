"""Findings: the sentences that a reader must not miss, each of a known kind. Who makes them is in the rooms above.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from searchmark.findings import (
    agent_kinds,
    chosen_kinds,
    claim_kinds,
    corpus_kinds,
    gate_kinds,
    gold_kinds,
    number_kinds,
    run_kinds,
)
from searchmark.findings.finding import Finding, FindingKind, Severity

__all__ = ["FINDING_KINDS", "SEVERITIES", "Finding", "FindingKind", "Severity", "by_severity", "finding", "spoils"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
_ROOMS = (run_kinds, corpus_kinds, gold_kinds, agent_kinds, number_kinds, gate_kinds, claim_kinds, chosen_kinds)
FINDING_KINDS: Mapping[str, FindingKind] = {kind.code: kind for room in _ROOMS for kind in room.KINDS}


def finding(code: str, message: str, cases: Iterable[str] = ()) -> Finding:
    """A finding of a known kind."""
    kind = FINDING_KINDS[code]
    return Finding(code, kind.severity, message, tuple(cases), kind.why, kind.fix)


def spoils(found: Finding) -> bool:
    """Whether a result with this finding is untrusted; one of an unknown kind is taken at its severity."""
    kind = FINDING_KINDS.get(found.code)
    return found.severity == "error" if kind is None else kind.spoils


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Findings with the worst first, each only once."""
    return sorted(dict.fromkeys(findings), key=lambda each: SEVERITIES.index(each.severity))
