"""What to do next, as far as the evidence of a report goes. Every rule, its evidence and its limits: docs/recommendations.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from searchmark.reports.advice import Recommendation
from searchmark.reports.case_arrays import CaseArrays, arrays_of
from searchmark.reports.case_groups import FactTable
from searchmark.reports.group_advice import Answered, group_advice
from searchmark.reports.hit_advice import common_failure, compressed_scores, never_found, others_succeed, poor_order
from searchmark.reports.report import Report


@dataclass(frozen=True, eq=False)
class Grounds:
    """What rules look at: the cases of every run as arrays, and what the suite says of them."""

    report: Report

    @cached_property
    def cases(self) -> dict[str, CaseArrays]:
        return {name: arrays_of(agent.cases) for name, agent in self.report.agents.items()}

    @cached_property
    def facts(self) -> FactTable:
        return FactTable.of(self.report.cases, next(iter(self.cases.values())).ids)

    @cached_property
    def runs(self) -> list[Answered]:
        return [Answered.of(name, cases, self.facts.origins) for name, cases in self.cases.items()]

    @property
    def agents(self) -> dict[str, str]:
        return {name: agent.name for name, agent in self.report.agents.items()}

    @property
    def missing(self) -> int:
        """Relevant targets that are not in the corpus, where only their number is known."""
        return max(agent.dropped.get("unreachable_targets") or 0 for agent in self.report.agents.values())


# In the order in which readers get them: first what must be repaired before anything else can be told.
RULES: tuple[Callable[[Grounds], Iterable[Recommendation]], ...] = (
    lambda grounds: _of_each(common_failure(name, cases) for name, cases in grounds.cases.items()),
    lambda grounds: group_advice(grounds.runs, grounds.facts),
    lambda grounds: never_found(grounds.runs, grounds.report.suite.rel, grounds.missing),
    lambda grounds: others_succeed(grounds.runs, grounds.agents),
    lambda grounds: _of_each(poor_order(run, len(grounds.runs)) for run in grounds.runs),
    lambda grounds: _of_each(compressed_scores(run) for run in grounds.runs),
)


def recommend(report: Report) -> tuple[Recommendation, ...]:
    """Every piece of advice that the cases of a report support."""
    grounds = Grounds(report)
    if not any(len(agent.cases) for agent in report.agents.values()):
        return ()
    return tuple(each for rule in RULES for each in rule(grounds))


def _of_each(found: Iterable[Iterable[Recommendation]]) -> Iterator[Recommendation]:
    return (each for one in found for each in one)
