"""A check: a function that looks at what is audited and says what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from searchmark.audit.result import AuditTable
from searchmark.audit.subject import Subject
from searchmark.findings import Finding


@dataclass(frozen=True)
class Check:
    """One check and the codes that it may find."""

    look: Callable[[Subject], Iterable[Finding]]
    codes: tuple[str, ...]


TableMaker = Callable[[Subject], AuditTable | None]
