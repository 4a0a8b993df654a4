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
        "A bound of a gate that no value of its measure could miss.",
        "The rule cannot fail, so that it protects nothing.",
        "Set a bound that a bad search would miss, or remove the rule.",
    ),
    FindingKind(
        "threshold-below-random",
        "warning",
        "A bound of a gate that a random ranking meets.",
        "A search that returns the documents in random order would pass on average.",
        "Raise the bound above what a random ranking gets, take a stricter measure, or give fixtures more documents.",
    ),
    FindingKind(
        "pin-outside-corpus",
        "error",
        "A pinned document that is not in the corpus.",
        "It can neither be found nor be left out by a search: the pin is always met or never.",
        "Correct the id, or remove the pin.",
    ),
    FindingKind(
        "rule-without-cases",
        "error",
        "A rule about a segment, a case, a fixture or a metric that the suite does not have.",
        "No run can be held against it: the gate is untrusted whatever the search does.",
        "Correct the name in the rule, or remove the rule.",
    ),
    FindingKind(
        "gate-passed-by-chance",
        "warning",
        "5 % or more of all rankings would pass the whole gate, beyond the luck of draws.",
        "A search that ranks at random would often not be noticed.",
        "Raise bounds, add cases, or give cases more documents to be told apart.",
    ),
    FindingKind(
        "fixture-passed-by-chance",
        "warning",
        "A quarter or more of all rankings of a fixture's documents would pass its rules.",
        "A search that is broken for this fixture would often not be noticed.",
        "Give the fixture more documents, or ask for more of its order.",
    ),
    FindingKind(
        "unresolvable-rule",
        "error",
        "A rule that compares and that no run could fail, or pass, with these cases.",
        "Its verdict is settled before anything is searched.",
        "Add as many independent cases as the message says.",
    ),
    FindingKind(
        "large-loss-unseen",
        "warning",
        "No rule of a gate is sure to see a mean that is lower by 0.1, with 80 % power.",
        "A search that has become much worse may pass.",
        "Add independent cases, set bounds closer to what is reached, or add a rule that compares.",
    ),
    FindingKind(
        "wanted-loss-unseen",
        "error",
        "Rules that do not see a loss of the size that --sees names, with 80 % power.",
        "A loss that matters would pass.",
        "Add cases, lower margins or raise bounds as the message says for each rule, or ask --sees for a larger loss.",
    ),
    FindingKind(
        "flapping-rule",
        "warning",
        "A rule that an unchanged search meets in one run and misses in the next.",
        "A red gate then says nothing of the change, and is run again until it is green.",
        "Fix the seeds of the agent, move the bound away from what is reached, or add cases.",
    ),
    FindingKind(
        "decision-hole",
        "warning",
        "A decision table that has no rule for gains between two of its lines.",
        "A clear gain in between is decided by 'otherwise', which was not written for it.",
        "Add a rule for these gains, or write 'otherwise' for them.",
    ),
)
