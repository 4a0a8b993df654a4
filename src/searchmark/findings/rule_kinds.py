"""Kinds of findings that the rules of a gate make when they are checked on a run."""

from __future__ import annotations

from searchmark.findings.finding import FindingKind

KINDS = (
    FindingKind(
        "warning-level",
        "warning",
        "A number beyond warn_above or warn_below of its rule.",
        "The gate is not failed by it; it is closer to its bound than was wanted.",
        "Find out what has changed before the bound is reached.",
    ),
    FindingKind(
        "baseline-of-another-model",
        "warning",
        "A baseline of fixtures that was made with another model than the run.",
        "The scores of two models differ without either being broken.",
        "Make the baseline again with the model that is in use.",
    ),
    FindingKind(
        "baseline-left-behind",
        "warning",
        "Builds that have been far above their baseline for long.",
        "What was gained since could be lost again without a red build.",
        "Update the baseline.",
    ),
    FindingKind(
        "small-losses-unseen",
        "note",
        "How small a loss would often not be seen by a rule that compares.",
        "A pass says that there is no large loss, and nothing of smaller ones.",
        "Add independent cases; 'searchmark audit --sees LOSS' says how many.",
    ),
)
