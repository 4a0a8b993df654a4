"""What may have moved a number: all that is known to differ between two runs besides the number itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from searchmark.analysis.past import OF_THE_SUITE, Fingerprints
from searchmark.errors import shortened

LONGEST_NAME = 60
NOTHING_CHANGED = "nothing that is known has changed"
NOT_KNOWN = "what else has changed is not known"

# Which words name the part, and whether its values say something to people; digests do not.
_PARTS = {
    "model": ("another model", True),
    "normalisation": ("other normalisation", True),
    "chunking": ("other chunking", True),
    "index": ("another index", True),
    "corpus": ("another corpus", False),
    "queries": ("other queries", False),
    "judgments": ("other judgments", False),
    "code": ("other code of the agent", False),
    "options": ("other options of the agent", False),
    "asking": ("other options of the run", False),
    "version": ("another version of Searchmark", True),
    "packages": ("other versions of Python or its packages", False),
    "machine": ("another machine", True),
}
# What a number depends on. Neither a machine nor its load changes what is found, as long as no search takes too long.
QUALITY = tuple(part for part in _PARTS if part != "machine")
SCORES = tuple(part for part in QUALITY if part != "judgments")
# Vectors are stored before anything is asked.
VECTORS = tuple(part for part in SCORES if part not in ("queries", "asking"))
SPEED = tuple(part for part in _PARTS if part != "judgments")


def system_of(known: Fingerprints, parts: Collection[str] = QUALITY) -> tuple[str | None, ...] | None:
    """What is equal for runs of which nothing is known to differ that could matter; None where nothing is known of the system."""
    values = {part: getattr(known, part) for part in _PARTS if part in parts}
    is_known = any(value is not None for part, value in values.items() if part not in OF_THE_SUITE)
    return tuple(values.values()) if is_known else None


def causes(now: Fingerprints, before: Sequence[Fingerprints], parts: Collection[str] = QUALITY) -> tuple[str, ...]:
    """What differs from one or more earlier runs, the oldest first, in words; what is not known is not different."""
    if all(each == now for each in before):
        return ()
    return tuple(words for part in _PARTS if part in parts and (words := _difference(part, now, before)))


def _difference(part: str, now: Fingerprints, before: Sequence[Fingerprints]) -> str | None:
    value = getattr(now, part)
    others = [other for each in before if (other := getattr(each, part)) is not None and value not in (None, other)]
    if not others:
        return None
    words, readable = _PARTS[part]
    some = "" if len(others) == len(before) else f" than in {len(others)} of {len(before)} runs"
    return f"{words}{some} ({_short(others[-1])}, now {_short(value)})" if readable else f"{words}{some}"


def _short(value: str) -> str:
    return shortened(value, LONGEST_NAME)


def cause_words(found: Sequence[str], now: Fingerprints, before: Sequence[Fingerprints], *, moved: bool = True) -> str:
    """The end of a sentence: what may have moved a number, or what else differs where it may not have ``moved`` at all."""
    if found:
        what = f"likely cause{'s' * (len(found) > 1)}" if moved else "what else differs"
        return f"{what}: {', '.join(found)}"
    return NOTHING_CHANGED if now.known and any(each.known for each in before) else NOT_KNOWN
