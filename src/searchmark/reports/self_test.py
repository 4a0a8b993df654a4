"""What a gate can see, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from searchmark.gates.self_test import Caught, SelfTest
from searchmark.reports.quoting import visible


def self_test_text(found: SelfTest) -> str:
    """One line per mutation: from which size on it is caught, or why it is not."""
    width = max((len(each.mutation) for each in found.caught), default=0)
    lines = [f"the gate on the run as it is: {found.verdict}"]
    if found.verdict != "passed":
        lines.append("a gate that is not passed as it is notices nothing new; give it a run that passes")
    lines += [f"  {each.mutation.ljust(width)}  {_sentence(each)}" for each in found.caught]
    alarms = found.false_alarms
    if alarms is None:
        lines.append("false alarms: not tried, since no rule compares with a baseline")
    else:
        lines.append(f"false alarms: {alarms.red:,} of {alarms.trials:,} pairs that differ by chance alone are red")
    return "".join(f"{visible(line)}\n" for line in lines)


def _sentence(found: Caught) -> str:
    if found.share is None:
        return f"not visible to this gate: {found.reason}"
    return f"caught from {found.share:.0%} on ({found.cases} of {found.possible} cases)"


def self_test_json(found: SelfTest) -> str:
    return json.dumps(asdict(found), indent=2) + "\n"
