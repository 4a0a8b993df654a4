"""What a report's measures are: a report knows them by name only, also where it was read from a file."""

from __future__ import annotations

from collections.abc import Mapping

from searchmark.errors import UsageError
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.reports.report import AgentSummary, Report


def measure_names(report: Report) -> list[str]:
    """Every measure of any run, in the order in which they were asked for."""
    return list(dict.fromkeys(name for agent in report.agents.values() for name in agent.measures))


def measure_named(report: Report, name: str) -> AnyMeasure | None:
    """The measure behind a name; None for one that this version does not know."""
    found = next((agent.measures[name] for agent in report.agents.values() if name in agent.measures), None)
    return known_measure(found.definition if found is not None and found.definition else name)


def known_measure(text: str) -> AnyMeasure | None:
    """The measure of this name or formula; None for a formula that is only known by its label."""
    try:
        return parse_measure(text)
    except UsageError:
        return None


def leading_measure(report: Report) -> str | None:
    """The first measure that tells quality, else the first; None in a report without measures."""
    return _leading({name: measure_named(report, name) for name in measure_names(report)})


def leading_of(agent: AgentSummary) -> str | None:
    """The same of one run."""
    return _leading({name: known_measure(found.definition or name) for name, found in agent.measures.items()})


def _leading(measures: Mapping[str, AnyMeasure | None]) -> str | None:
    telling = (name for name, measure in measures.items() if measure is None or measure.decides)
    return next(telling, next(iter(measures), None))


def distributed_measure(report: Report) -> str | None:
    """The measure whose distribution is drawn: the first F1, whatever its cutoff and options, else the leading one."""
    known = ((name, measure_named(report, name)) for name in measure_names(report))
    f1 = (name for name, measure in known if measure and [part.definition.name for part in measure.parts] == ["F1"])
    return next(f1, leading_measure(report))
