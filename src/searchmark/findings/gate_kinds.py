"""Kinds of findings about what a gate can see."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS: tuple[FindingKind, ...] = (
    FindingKind(
        "unattainable-threshold",
        "error",
        "A bound of a gate that no ranking can meet.",
        "The gate is red whatever the search does, and people learn to pass it over.",
        "Set the bound below the highest possible value, or judge more targets.",
    ),
    FindingKind(
        "threshold-always-met",
        "error",
        "A bound of a gate that every ranking meets.",
        "The rule cannot fail, so that it protects nothing.",
        "Set a bound that a bad search would miss, or remove the rule.",
    ),
    FindingKind(
        "threshold-below-random",
        "warning",
        "A bound of a gate that a random ranking meets.",
        "A search that has stopped searching would still pass.",
        "Raise the bound above what a random ranking gets, or make the corpus larger.",
    ),
    FindingKind(
        "pin-outside-corpus",
        "error",
        "A pinned document that is not in the corpus.",
        "It can neither be found nor be left out by a search: the pin is always met or never.",
        "Correct the id, or remove the pin.",
    ),
)
