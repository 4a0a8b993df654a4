"""Kinds of findings about gold that fits one agent better than others."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS: tuple[FindingKind, ...] = ()
