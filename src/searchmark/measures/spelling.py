"""Which names measures have elsewhere, and which one somebody may have meant."""

from __future__ import annotations

from difflib import get_close_matches

from searchmark.measures.catalogue import ALIASES, NAMES, NOT_MEASURES
from searchmark.measures.lists import SETS


def unknown(name: str) -> str:
    """What to say to those who ask for a measure that does not exist: the nearest name."""
    if name.lower() in NOT_MEASURES:
        return f"{name} is not a measure: {NOT_MEASURES[name.lower()]}"
    known = NAMES | {each: each for each in SETS}
    near = get_close_matches(name.lower(), filter(str.isascii, known), n=3, cutoff=0.4)
    if not near:
        return f"there is no measure {name!r}; 'searchmark measures' lists them all"
    nearest: dict[str, str] = {}
    for key in near:
        nearest.setdefault(known[key], key)
    shown = [f"{key} ({name})" if key in ALIASES else name for name, key in nearest.items()]
    return f"there is no measure {name!r}; did you mean {' or '.join(shown)}?"


def aliases_of(name: str) -> list[str]:
    """Other spellings that are read as this measure."""
    return sorted(alias for alias, target in ALIASES.items() if target == name)
