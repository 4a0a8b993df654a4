"""What to do next, as far as the evidence of a report goes. Every rule, its evidence and its limits: docs/recommendations.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from searchmark.reports.advice import Recommendation
from searchmark.reports.agent_kinds import fuses, is_control, is_normalised, scores_by_vectors
from searchmark.reports.case_arrays import CaseArrays, arrays_of
from searchmark.reports.case_groups import FactTable
from searchmark.reports.group_advice import Answered, group_advice
from searchmark.reports.hit_advice import common_failure, compressed_scores, never_found, others_succeed, poor_order
from searchmark.reports.index_advice import missed_neighbours
from searchmark.reports.report import AgentSummary, Report


@dataclass(frozen=True, eq=False)
class Grounds:
    """What rules look at: the cases of every run but controls as arrays, and what the suite says of them."""

    report: Report

    @cached_property
    def advised(self) -> dict[str, AgentSummary]:
        return {name: agent for name, agent in self.report.agents.items() if not is_control(agent)}

    @cached_property
    def cases(self) -> dict[str, CaseArrays]:
        return {name: arrays_of(agent.cases) for name, agent in self.advised.items()}

    @cached_property
    def facts(self) -> FactTable:
        return FactTable.of(self.report.cases, next(iter(self.cases.values())).ids)

    @cached_property
    def runs(self) -> list[Answered]:
        return [Answered.of(name, cases, self.facts.origins) for name, cases in self.cases.items()]

    @property
    def agents(self) -> dict[str, str]:
        return {name: agent.name for name, agent in self.advised.items()}

    def those(self, kind: Callable[[AgentSummary], object]) -> set[str]:
        """The runs whose agents are of a kind."""
        return {name for name, agent in self.advised.items() if kind(agent)}

    @property
    def missing(self) -> int:
        """Relevant targets that are not in the corpus, where only their number is known."""
        return max(agent.dropped.get("unreachable_targets") or 0 for agent in self.advised.values())


def _cut(agent: AgentSummary) -> bool:
    return agent.cut_answers > 0


def _scores_of_vectors(grounds: Grounds) -> Iterator[Iterable[Recommendation]]:
    vectors, normalised = grounds.those(scores_by_vectors), grounds.those(is_normalised)
    return (compressed_scores(run, normalised=run.run in normalised) for run in grounds.runs if run.run in vectors)


# In the order in which readers get them: first what must be repaired before anything else can be told.
RULES: tuple[Callable[[Grounds], Iterable[Recommendation]], ...] = (
    lambda grounds: _of_each(common_failure(name, cases) for name, cases in grounds.cases.items()),
    lambda grounds: group_advice(grounds.runs, grounds.facts),
    lambda grounds: never_found(grounds.runs, grounds.report.suite.rel, grounds.missing, grounds.those(_cut)),
    lambda grounds: others_succeed(grounds.runs, grounds.agents, grounds.those(fuses)),
    lambda grounds: _of_each(poor_order(run, len(grounds.runs)) for run in grounds.runs),
    lambda grounds: _of_each(_scores_of_vectors(grounds)),
    lambda grounds: _of_each(missed_neighbours(name, grounds.advised[name], cases) for name, cases in grounds.cases.items()),
)


def recommend(report: Report) -> tuple[Recommendation, ...]:
    """Every piece of advice that the cases of a report support."""
    grounds = Grounds(report)
    if not any(len(agent.cases) for agent in grounds.advised.values()):
        return ()
    return tuple(each for rule in RULES for each in rule(grounds))


def _of_each(found: Iterable[Iterable[Recommendation]]) -> Iterator[Recommendation]:
    return (each for one in found for each in one)
