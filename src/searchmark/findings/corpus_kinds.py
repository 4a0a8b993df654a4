"""Kinds of findings about gold that does not fit its corpus."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS: tuple[FindingKind, ...] = ()
