"""An audit with a text, such as an attack or a secret, everywhere that strangers' text can be."""

from __future__ import annotations

from searchmark import Finding
from searchmark.audit.check import Audit, AuditTable


def audit_with(text: str, case: str = "c1") -> Audit:
    """As a file may hold it: also the code is whatever somebody wrote there."""
    findings = (
        Finding("all-missing", "error", text, (case, "c2"), text, text),
        Finding("cases-missing", "warning", f"of {text}", tuple(f"{case}{number}" for number in range(20)), None, text),
        Finding(text, "note", text),
    )
    table = AuditTable(text, text, (text, "n", "share", "known", "none"), ((text, 3, 0.25, True, None), ("", 4, 0.5, False, text)))
    return Audit(text, 40, findings, {"queries": text, "corpus": None}, (table,))
