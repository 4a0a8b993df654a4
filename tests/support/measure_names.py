"""Names of all measures as they can be asked for."""

from __future__ import annotations

from searchmark.measures.catalogue import DEFINITIONS

_NEEDS_MORE = {"IPrec": "IPrec@0.1", "ERR_IA": "ERR_IA@5", "SetF": "SetF(beta=4)"} | {
    name: f"{name}(tokens=4000)" for name in ("LineR", "Efficiency")
}  # SetF alone is F1

EVERY_MEASURE = [_NEEDS_MORE.get(name, name) for name in DEFINITIONS]
# Those of which cases have values.
EVERY_MEASURE_OF_CASES = [name for name in EVERY_MEASURE if name != "GMAP"]


def with_cutoffs(*cutoffs: int) -> list[str]:
    """Every measure of cases, also with each of these cutoffs where it takes one."""
    names = []
    for name in EVERY_MEASURE_OF_CASES:
        base = name.partition("@")[0]
        cut = [f"{base}@{k}" for k in cutoffs] if DEFINITIONS[base.partition("(")[0]].cutoff else []
        names += [name, *(each for each in cut if each != name)]
    return names
