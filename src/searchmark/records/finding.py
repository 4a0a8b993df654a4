"""A finding: one thing that a reader must not miss, with a code that scripts can rely on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from searchmark.options.short_repr import short_repr

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing to know before a number is relied on: what (``message``), of which cases, why it matters, what to do about it.

    ``cases`` is empty where the finding is about no single cases, or where they are not known.
    """

    code: str
    severity: Severity
    message: str
    cases: tuple[str, ...] = ()
    why: str | None = None
    fix: str | None = None

    __repr__ = short_repr


@dataclass(frozen=True)
class FindingKind:
    """What all findings of one code have in common.

    ``spoils``: a result with such a finding is untrusted, because it was not measured or measured something else. Other
    errors leave the result as it is and say that it means less than it seems to.
    """

    code: str
    severity: Severity
    about: str
    why: str | None = None
    fix: str | None = None
    spoils: bool = False
