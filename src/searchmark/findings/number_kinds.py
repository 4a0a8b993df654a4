"""Kinds of findings about what numbers can be on a suite."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS: tuple[FindingKind, ...] = ()
