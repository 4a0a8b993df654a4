"""Kinds of findings about what a gate can see."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS: tuple[FindingKind, ...] = ()
