"""What measures are called by those who do not know them from trec_eval: Precision@5 for P@5, MRR for RR, Hit rate for Success."""

from __future__ import annotations

import re

WORDS = {"P": "Precision", "R": "Recall", "RR": "MRR", "AP": "MAP", "Success": "Hit rate"}
_NAME = re.compile(r"(?P<base>\w+)(?:\([^()]*\))?(?P<cutoff>@\d+)?")


def named(asked: str, ours: str) -> str:
    """The user's own word, and ours where it is another one."""
    return ours if asked == ours else f"{asked} ({ours})"


def in_words(name: str) -> str:
    """The common word for a measure, with its cutoff; the name itself where there is no other word, as for a formula."""
    found = _NAME.fullmatch(name)
    word = WORDS.get(found["base"]) if found else None
    return f"{word}{found['cutoff'] or ''}" if found and word else name


def with_words(name: str) -> str:
    """The common word beside our name: ``Precision@5 (P@5)``."""
    return named(in_words(name), name)
