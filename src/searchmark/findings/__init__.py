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
    rule_kinds,
    run_kinds,
    vector_kinds,
)
from searchmark.findings.finding import Finding, FindingKind, Severity

__all__ = [
    "FINDING_KINDS", "OTHER_THEME", "SEVERITIES", "THEMES", "Finding", "FindingKind", "Severity", "by_severity", "by_theme",
    "finding", "spoils",
]  # fmt: skip

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
# What findings are about, by the heading that a reader finds them under.
THEMES: Mapping[str, tuple[FindingKind, ...]] = {
    "Runs": (*run_kinds.KINDS, *vector_kinds.KINDS),
    "Gold against its corpus": corpus_kinds.KINDS,
    "Gold against itself": (*gold_kinds.KINDS, *chosen_kinds.KINDS),
    "Gold against the agents": agent_kinds.KINDS,
    "What the numbers can be": number_kinds.KINDS,
    "What the gate can see": (*rule_kinds.KINDS, *gate_kinds.KINDS),
    "Published numbers": claim_kinds.KINDS,
}
OTHER_THEME = "Other findings"
FINDING_KINDS: Mapping[str, FindingKind] = {kind.code: kind for kinds in THEMES.values() for kind in kinds}
_THEME_OF = {kind.code: theme for theme, kinds in THEMES.items() for kind in kinds}


def finding(code: str, message: str, cases: Iterable[str] = ()) -> Finding:
    """A finding of a known kind."""
    kind = FINDING_KINDS[code]
    return Finding(code, kind.severity, message, tuple(cases), kind.why, kind.fix)


def spoils(found: Finding) -> bool:
    """Whether a result with this finding is untrusted; one of an unknown kind is taken at its severity."""
    kind = FINDING_KINDS.get(found.code)
    return found.severity == "error" if kind is None else kind.spoils


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Findings with the worst first, each only once, those of one code side by side."""
    different = list(dict.fromkeys(findings))
    first = {code: at for at, code in reversed([(at, each.code) for at, each in enumerate(different)])}
    return sorted(different, key=lambda each: (SEVERITIES.index(each.severity), first[each.code]))


def by_theme(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Findings under the headings that they belong to; those of a kind that is not known come last."""
    found: dict[str, list[Finding]] = {theme: [] for theme in (*THEMES, OTHER_THEME)}
    for each in findings:
        found[_THEME_OF.get(each.code, OTHER_THEME)].append(each)
    return {theme: some for theme, some in found.items() if some}
