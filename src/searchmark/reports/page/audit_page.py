"""An audit as one page: errors, then other findings by theme, with their cases, and the tables behind them. It has no script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from searchmark.audit.result import Audit
from searchmark.findings import Finding, by_theme
from searchmark.findings.sentences import counted
from searchmark.reports.audit_layout import audit_cells, not_checked, shown_tables
from searchmark.reports.cells import Table
from searchmark.reports.finding_layout import finding_counts
from searchmark.reports.page.document import filled

_SENTENCES = {
    "error": "A number or a verdict cannot mean what it says, as long as the errors below are there.",
    "warning": "Numbers may mislead as long as the warnings below are there.",
    "note": "Nothing speaks against the numbers; the notes below are to know.",
    "": "No check has found anything.",
}
_TONES = {"error": "bad", "warning": "open", "note": "calm", "": "good"}


@dataclass(frozen=True)
class ThemeSection:
    """Findings under one heading."""

    title: str
    findings: tuple[Finding, ...]

    @property
    def anchor(self) -> str:
        return self.title.lower().replace(" ", "-")


@dataclass(frozen=True)
class AuditPage:
    """An audit as the template sees it."""

    found: Audit

    @property
    def title(self) -> str:
        return self.found.suite or "Published numbers"

    @property
    def about(self) -> str:
        return "Audit" if self.found.suite is None else f"Audit · {counted(self.found.cases, 'case')}"

    @property
    def headline(self) -> str:
        return (finding_counts(self.found.findings) or "no findings").capitalize()

    @property
    def _worst(self) -> str:
        severities = [each.severity for each in self.found.findings]
        return next((severity for severity in ("error", "warning", "note") if severity in severities), "")

    @property
    def tone(self) -> str:
        return _TONES[self._worst]

    @property
    def sentence(self) -> str:
        return _SENTENCES[self._worst]

    @property
    def not_checked(self) -> list[str]:
        return list(not_checked(self.found))

    @property
    def errors(self) -> list[Finding]:
        """Of all themes: nothing that matters less is above them."""
        return [each for each in self.found.findings if each.severity == "error"]

    @cached_property
    def themes(self) -> list[ThemeSection]:
        """All other findings, those with a warning first."""
        others = by_theme(each for each in self.found.findings if each.severity != "error")
        sections = (ThemeSection(title, tuple(findings)) for title, findings in others.items())
        return sorted(sections, key=lambda each: each.findings[0].severity == "note")  # in each the worst is first

    @cached_property
    def tables(self) -> list[tuple[Table, str]]:
        return [(audit_cells(numbers), numbers.title) for numbers in shown_tables(self.found)]


def audit_html(found: Audit) -> Iterator[str]:
    """The pieces of the page."""
    return filled("audit.html", page=AuditPage(found))
