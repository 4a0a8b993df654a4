"""What was removed, by which rule: every commit that was read is in a case or in here, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from searchmark.mining.commits import ALL_RULES

_SAMPLES = 5  # hashes that are shown per rule


class RemovedCommit(NamedTuple):
    """A commit that makes no case, and the rule that says so."""

    hash: str
    rule: str


@dataclass(frozen=True)
class RuleCount:
    """How many commits a rule has removed, and the first few of them."""

    commits: int
    samples: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"commits": self.commits, "samples": list(self.samples)}


class Ledger:
    """Counts removals while a history is read: of thousands of commits only the numbers and a few hashes are kept."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._samples: dict[str, list[str]] = {}

    def add(self, rule: str, commit: str) -> None:
        self._counts[rule] += 1
        shown = self._samples.setdefault(rule, [])
        if len(shown) < _SAMPLES:
            shown.append(commit)

    def counts(self) -> dict[str, RuleCount]:
        return {rule: RuleCount(count, tuple(self._samples[rule])) for rule, count in self._counts.items()}


def with_late(counts: Mapping[str, RuleCount], late: Iterable[RemovedCommit]) -> dict[str, RuleCount]:
    """The counts of both passes, in the order of the rules. No rule belongs to both, so nothing is added up."""
    ledger = Ledger()
    for removed in late:
        ledger.add(removed.rule, removed.hash)
    every = {**counts, **ledger.counts()}
    return {rule: every[rule] for rule in ALL_RULES if rule in every}
