"""What a gate can see, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from searchmark.gates.self_test import Caught, Chance, SelfTest
from searchmark.reports.quoting import visible


def self_test_text(found: SelfTest) -> str:
    """One line per mutation: from which size on it is caught, or why it is not."""
    width = max((len(each.mutation) for each in found.caught), default=0)
    lines = [f"the gate on the run as it is: {found.verdict}"]
    if found.verdict != "passed":
        lines.append("a gate that is not passed as it is notices nothing new; give it a run that passes")
    lines += [f"  {each.mutation.ljust(width)}  {_sentence(each)}" for each in found.caught]
    lines += _chance(found.chance)
    return "".join(f"{visible(line)}\n" for line in lines)


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
