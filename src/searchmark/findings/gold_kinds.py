"""Kinds of findings about gold that contradicts, repeats or flatters itself."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS: tuple[FindingKind, ...] = ()
