"""Kinds of findings about vectors."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS = (
    FindingKind(
        "vectors-not-finite", "warning", "Vectors that hold a NaN or an infinity.",
        "They are near to nothing, or to everything, and what they stand for cannot be found.",
        "Embed these texts again; an empty text or an overflow in half precision are the usual reasons.",
    ),
    FindingKind(
        "vectors-of-other-dimension", "warning", "Vectors with another dimension than most.",
        "Vectors of two models cannot be compared.",
        "Embed everything again with one model.",
    ),
    FindingKind(
        "zero-vectors", "warning", "Vectors of zeros.",
        "They are near to nothing, so what they stand for cannot be found.",
        "Check the texts that they are of: most are empty, or in a language that the model does not know.",
    ),
    FindingKind(
        "unnormalised-vectors", "warning", "Vectors that do not have length one although ranking relies on it.",
        "Inner product and distance then rank long vectors differently from short ones of the same direction.",
        "Normalise once, documents and queries alike (normalize: true), or search by distance: cosine.",
    ),
    FindingKind(
        "normalised-already", "note", "Vectors of length one although they were not to be normalised.",
        "The model normalises already, or the file does: a distance that goes by length has no effect.",
        "Say normalize: true, so that queries are treated alike for sure.",
    ),
    FindingKind(
        "double-normalised", "note", "Vectors that had length one before they were normalised.",
        "The model normalises them itself, so that doing it again is harmless.",
        "Nothing has to be done: with normalize: true, queries are treated alike for sure.",
    ),
    FindingKind(
        "duplicate-vectors", "note", "Vectors with the same numbers as an earlier one.",
        "Their order is arbitrary, and they take ranks from others.",
        "If the texts are duplicates, remove them; if not, the model sees too little of them.",
    ),
)  # fmt: skip
