"""Which table of an audit has the numbers behind a finding."""

from __future__ import annotations

from collections.abc import Mapping

from searchmark.findings import claim_kinds

_CODES: Mapping[str, tuple[str, ...]] = {
    "judged": ("judged-unevenly", "hardly-judged"),
    "named_targets": ("queries-name-targets",),
    "query_words": ("gold-by-words",),
    "flips": ("order-could-flip",),
    "ranks": ("ranks-not-apart",),
    "ties": ("ties-decide",),
    "gate": ("threshold-below-random", "gate-passed-by-chance", "fixture-passed-by-chance"),
    "gate_sight": ("unresolvable-rule", "large-loss-unseen", "wanted-loss-unseen"),
    "claims": tuple(kind.code for kind in claim_kinds.KINDS),
}
TABLE_OF: Mapping[str, str] = {code: table for table, codes in _CODES.items() for code in codes}
