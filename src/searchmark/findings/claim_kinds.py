"""Kinds of findings about published numbers."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS: tuple[FindingKind, ...] = ()
