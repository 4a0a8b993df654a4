"""What all renderers say of findings beside their sentences: how many there are, of which cases, why they matter, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from searchmark.findings import SEVERITIES, Finding
from searchmark.findings.sentences import counted
from searchmark.records.shown import listed

CASES_SHOWN = 5
NOTES_SHOWN = 8  # on a screen; files have all of them


def finding_counts(findings: Sequence[Finding]) -> str:
    """How many there are of each severity, the worst first; empty without any."""
    counts = ((severity, sum(each.severity == severity for each in findings)) for severity in SEVERITIES)
    return ", ".join(counted(count, severity) for severity, count in counts if count)


def finding_sentence(found: Finding) -> str:
    """Severity, code and message, which is how a finding begins wherever it is one line."""
    return f"{found.severity} {found.code}: {found.message}"


def reason_and_remedy(found: Finding) -> str:
    """Why it matters and what to do, as far as it is known."""
    return " ".join(filter(None, (found.why, found.fix)))


def case_names(found: Finding) -> str:
    """Some of the cases, and how many more there are."""
    return listed(list(found.cases), CASES_SHOWN)


def lines_below(found: Finding, *, reasons: bool) -> Iterator[str]:
    """The cases; and why it matters and what to do, which is said once of each code."""
    if found.cases:
        yield f"  cases: {case_names(found)}"
    if reasons:
        yield from (f"  {line}" for line in (found.why, found.fix and f"fix: {found.fix}") if line)


def on_screen(findings: Iterable[Finding]) -> Iterator[tuple[Finding, bool]]:
    """Errors and warnings, then the first of the notes; each with whether it is the first of its code."""
    told, notes = set[str](), 0
    for each in findings:
        notes += each.severity == "note"
        if notes <= NOTES_SHOWN:
            yield each, each.code not in told
            told.add(each.code)


def more_notes(findings: Iterable[Finding]) -> Iterator[str]:
    """How many notes are not on the screen, if any."""
    left = sum(each.severity == "note" for each in findings) - NOTES_SHOWN
    if left > 0:
        yield f"and {counted(left, 'more note')}, in the Markdown, HTML and JSON report"
