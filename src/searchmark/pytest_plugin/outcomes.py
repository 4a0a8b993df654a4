"""What became of the cases and rules of a suite, as plain data that every worker of a session reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

CaseVerdict = Literal["passed", "failed", "error", "known_failure"]


@dataclass(frozen=True)
class CaseOutcome:
    """What the gate says about one case, or why it could not be run."""

    verdict: CaseVerdict
    message: str = ""


@dataclass(frozen=True)
class RuleOutcome:
    """What became of one rule; a ``failed`` or unknown one has its reason in the message."""

    passed: bool
    message: str = ""


@dataclass(frozen=True)
class SuiteOutcome:
    """One run of a suite: cases by id, and rules in their order.

    ``missing`` is what the agent needs and this machine does not have; ``broken`` why nothing could be run at all. Where
    expectations are updated, ``refused`` is why none can be, and ``left_alone`` has the cases that stay, each with its reason.
    """

    cases: Mapping[str, CaseOutcome] = field(default_factory=dict)
    rules: tuple[RuleOutcome, ...] = ()
    missing: str | None = None
    broken: str | None = None
    refused: str | None = None
    left_alone: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SuiteOutcome:
        """What ``to_json`` has written."""
        data = json.loads(text)
        cases = {case: CaseOutcome(**each) for case, each in data.pop("cases").items()}
        return cls(cases, tuple(RuleOutcome(**each) for each in data.pop("rules")), **data)
