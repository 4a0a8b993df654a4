"""What a gate can see, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from searchmark.gates.mutations import MOST_CATEGORIES
from searchmark.gates.self_test import Caught, Chance, SelfTest
from searchmark.reports.quoting import visible


def self_test_text(found: SelfTest) -> str:
    """One line per mutation: from which size on it is caught, or why it is not; none where the run itself is not passed."""
    lines = [f"the gate on the run as it is: {found.verdict}", *(_tried(found) if found.verdict == "passed" else _not_tried(found))]
    return "".join(f"{visible(line)}\n" for line in lines)


def _not_tried(found: SelfTest) -> list[str]:
    reasons = (reason.split("\n", 1)[0] for reason in found.reasons)
    return [
        *(f"  {reason}" for reason in reasons),
        "nothing was tried: only what a run passes can be seen to fail; give it a run that passes",
    ]


def _tried(found: SelfTest) -> list[str]:
    width = max((len(each.mutation) for each in found.caught), default=0)
    lines = [f"  {each.mutation.ljust(width)}  {_sentence(each)}" for each in found.caught]
    if found.left_out:
        lines.append(f"only the {MOST_CATEGORIES} largest of {MOST_CATEGORIES + found.left_out} categories were tried")
    return [*lines, *_chance(found.chance)]


def _chance(found: Chance | None) -> list[str]:
    if found is None:
        return ["false alarms: not tried, since no rule compares with a baseline"]
    pairs = f"of {found.trials:,} pairs that differ by chance alone"
    alarms = [] if found.red is None else [f"false alarms: {found.red:,} {pairs} are red"]
    return [*alarms, *([] if found.not_shown is None else [f"non-inferior: not shown for {found.not_shown:,} {pairs}"])]


def _sentence(found: Caught) -> str:
    if found.share is None:
        return f"not visible to this gate: {found.reason}"
    return f"caught from {found.share:.0%} on ({found.cases} of {found.possible} cases)"


def self_test_json(found: SelfTest) -> str:
    return json.dumps(asdict(found), indent=2) + "\n"
