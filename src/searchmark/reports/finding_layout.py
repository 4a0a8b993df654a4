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
    """Severity and message."""
    return f"{found.severity}: {found.message}"


def reason_and_remedy(found: Finding) -> str:
    """Why it matters and what to do, as far as it is known."""
    return " ".join(filter(None, (found.why, found.fix)))


def case_names(found: Finding) -> str:
    """Some of the cases, and how many more there are."""
    return listed(list(found.cases), CASES_SHOWN)


def finding_details(found: Finding) -> str:
    """All that is known beside the message, in one line under its code."""
    cases = f"Cases: {case_names(found)}." if found.cases else ""
    said = " ".join(filter(None, (reason_and_remedy(found), cases)))
    return f"{found.code}: {said}" if said else found.code


def on_screen(findings: Iterable[Finding]) -> Iterator[tuple[Finding, bool]]:
    """Errors and warnings, each with whether its details are new, then the first of the notes, which go without."""
    told, notes = set[str](), 0
    for each in findings:
        notes += each.severity == "note"
        if notes <= NOTES_SHOWN:
            yield each, each.severity != "note" and each.code not in told
            told.add(each.code)


def more_notes(findings: Iterable[Finding]) -> Iterator[str]:
    """How many notes are not on the screen, if any."""
    left = sum(each.severity == "note" for each in findings) - NOTES_SHOWN
    if left > 0:
        yield f"and {counted(left, 'more note')}, in the Markdown, HTML and JSON report"
