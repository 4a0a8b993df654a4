"""What is proposed, what was decided, and what the file keeps of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

LeftAloneKind = Literal["error", "timeout", "not_run", "empty", "fewer", "too_short", "not_approvable"]

WARNING = "⚠️ Updated benchmark expectations! Review changes before committing."


@dataclass(frozen=True)
class ChangedExpectation:
    """A case, what it expects now, and what it would expect: the best hits of the agent's answer, as many as now.

    ``ordered`` says whether their order is expected too. ``equals_output``: what is proposed is exactly what the agent
    returned first; it is not where a hit was left out that does not exist in what was searched.
    """

    case: str
    query: str | None
    before: tuple[str, ...]
    after: tuple[str, ...]
    ordered: bool
    agent: str
    equals_output: bool

    @property
    def new(self) -> tuple[str, ...]:
        return tuple(target for target in self.after if target not in self.before)

    @property
    def gone(self) -> tuple[str, ...]:
        return tuple(target for target in self.before if target not in self.after)

    @property
    def moved(self) -> tuple[str, ...]:
        """What is expected at another rank than before."""
        kept = [target for target in self.after if target in self.before] if self.ordered else []
        return tuple(target for target in kept if self.before.index(target) != self.after.index(target))


@dataclass(frozen=True)
class LeftAlone:
    """A case that no run may change, or not this one, and why."""

    case: str
    kind: LeftAloneKind
    reason: str


@dataclass(frozen=True)
class Proposal:
    """What a run would change about a suite."""

    changed: tuple[ChangedExpectation, ...]
    unchanged: int
    left_alone: tuple[LeftAlone, ...]

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many cases are left alone for each reason."""
        return Counter(each.reason for each in self.left_alone)


@dataclass(frozen=True)
class ApprovalRecord:
    """Who took which expectations from which run, when and why."""

    date: str
    author: str
    run: str
    cases: tuple[str, ...]
    reason: str | None = None

    def as_data(self) -> dict[str, Any]:
        """As files keep it; a reason that was not given is left out."""
        why = {} if self.reason is None else {"reason": self.reason}
        return {"date": self.date, "author": self.author, **why, "run": self.run, "cases": list(self.cases)}

    def as_sentence(self) -> str:
        """As a comment keeps it, on one line."""
        why = "" if self.reason is None else f", because: {self.reason}"
        sentence = f"approved {self.date} by {self.author} from the run {self.run}{why}; cases: {', '.join(self.cases)}"
        return " ".join("".join(char if char.isprintable() else " " for char in sentence).split())


@dataclass(frozen=True)
class Approval:
    """What was decided and written.

    ``record`` is None where nothing was approved, and ``recorded`` False where the file has no room for it. ``before`` and
    ``after`` are the text of the file. ``comments`` says what became of comments whose meaning only people know.
    """

    path: str | PathLike[str]
    proposal: Proposal
    approved: tuple[ChangedExpectation, ...]
    record: ApprovalRecord | None
    recorded: bool
    written: bool
    before: str
    after: str
    comments: tuple[str, ...] = ()

    @property
    def circular(self) -> tuple[ChangedExpectation, ...]:
        """The approved expectations that are nothing but the output of the agent under test."""
        return tuple(change for change in self.approved if change.equals_output)

    @property
    def circular_sentence(self) -> str:
        """What it means that there are such."""
        agent, count = self.circular[0].agent, len(self.circular)
        return (
            f"circular: what {count} case{'' if count == 1 else 's'} would expect is exactly what {agent} returned. Once "
            f"approved, this run scores 1.0 there by construction (RR, and R at that depth): the suite can no longer tell "
            f"whether {agent} is right, only whether it changes."
        )
