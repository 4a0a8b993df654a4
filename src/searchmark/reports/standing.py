"""Which run beats which with evidence, by letter, as tables in papers show it."""

from __future__ import annotations

from collections.abc import Sequence

from searchmark.analysis.comparison import Pair


def letters(count: int) -> list[str]:
    """a, b, ..., z, aa, ab, ...: names for up to 702 runs."""
    alphabet = [chr(ord("a") + n) for n in range(26)]
    return [*alphabet, *(first + second for first in alphabet for second in alphabet)][:count]


def beaten_by(pairs: Sequence[Pair], names: Sequence[str], measure: str) -> dict[str, list[str]]:
    """For every run the letters of the runs that it beats with evidence."""
    letter = dict(zip(names, letters(len(names)), strict=True))
    beats: dict[str, list[str]] = {name: [] for name in names}
    for pair in pairs:
        for found in pair.differences:
            if found.measure == measure and found.verdict == "IMPROVED":
                beats[found.candidate].append(letter[found.baseline])
            elif found.measure == measure and found.verdict == "REGRESSED":
                beats[found.baseline].append(letter[found.candidate])
    return beats
