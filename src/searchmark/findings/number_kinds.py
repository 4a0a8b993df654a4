"""Kinds of findings about what numbers can be on a suite."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS: tuple[FindingKind, ...] = (
    FindingKind(
        "above-attainable", "error", "A run with a value above the highest one that any ranking can have.",
        "That is impossible: the run was not judged against this suite and corpus, or a formula is wrong.",
        "Give the corpus that was searched, and report this as a defect if it was that one.",
    ),
    FindingKind(
        "no-better-than-random", "warning", "A run whose interval does not exclude what a random order gets on average.",
        "These cases do not show that it searches better than chance, and a lead over it is hardly more than one over chance.",
        "Look at its first hits: how it is asked, what it searches and how its ids are spelt.",
    ),
    FindingKind(
        "random-is-high", "warning", "A random order of the documents gets half of the attainable value or more.",
        "So few documents flatter every search: high values do not show quality.",
        "Search the whole corpus, add documents that are not relevant, or use a smaller cutoff.",
    ),
    FindingKind(
        "constant-measure", "warning", "A measure that all rankings of all documents share, in most cases.",
        "It tells only how many documents were returned, and a gate on it cannot see a worse order.",
        "Use a cutoff below the number of documents, or a measure of the order: RR, AP or nDCG.",
    ),
    FindingKind(
        "short-answers", "warning", "A run that was cut above the cutoff of a measure, beside runs or a corpus that have more.",
        "What it would have found below counts as not found: a lower value says how the run was saved, and not how it searches.",
        "Save the run as deep as the largest cutoff, or use cutoffs that all runs reach.",
    ),
    FindingKind(
        "ties-decide", "warning", "A run whose mean depends on how hits with equal scores are ordered.",
        "Ids or chance order them, and another tool or another run orders them differently.",
        "Take differences within the range for none; a search of your own should break ties by a second key (ours do, by id).",
    ),
    FindingKind(
        "low-attainable", "note", "A measure whose highest possible mean is far below 1.",
        "A perfect search would look mediocre, and a threshold above that value can never be met.",
        "Read values as shares of the attainable, or use a cutoff that suits the number of targets; nDCG reaches 1 at any.",
    ),
    FindingKind(
        "identical-measures", "note", "Measures that are the same number for every ranking, by construction of the suite.",
        "They look like several proofs and are one.",
        "Keep one of them.",
    ),
    FindingKind(
        "order-could-flip", "note", "Runs whose order at most 20 labels of unjudged hits would turn round.",
        "Unjudged hits count as not relevant, which is hardest on runs that find what others did not.",
        "Judge the hits that --next lists.",
    ),
    FindingKind(
        "ranks-not-apart", "note", "Neighbouring ranks of runs that these cases cannot tell apart.",
        "Their order in a table is not proven: other cases may turn it round.",
        "Share the rank, or add cases; a comparison says how many.",
    ),
)  # fmt: skip
