"""Runs put together from parts, and runs that lack cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from searchmark.errors import Incomparable, UsageError
from searchmark.records import Answer, Run, RunPart, joined_provenance


def joined(runs: Sequence[Run]) -> Run:
    """One run from several that each answer a part of the cases; nothing is lost, and what spoils one part spoils it all."""
    first, *others = runs
    for other in others:
        _refuse_different(first, other)
    if not others:
        return first
    return Run.from_answers(
        first.label,
        [answer for run in runs for answer in run.answers],
        dropped={key: sum(run.dropped.get(key, 0) for run in runs) for run in runs for key in run.dropped},
        provenance=joined_provenance([RunPart(run.case_ids, run.provenance) for run in runs]),
    )


def _refuse_different(first: Run, other: Run) -> None:
    if first.label != other.label:
        raise UsageError(f"these are runs of different agents, not parts of one: {first.label}, {other.label}")
    one, two = first.provenance, other.provenance
    facts = {
        "version of Searchmark": (one.version, two.version),
        "agent": (_without_description(first), _without_description(other)),
        "options": (one.options, two.options),
        "candidates": (one.candidates, two.candidates),
        "suite": (one.suite and one.suite.name, two.suite and two.suite.name),
    }
    different = [name for name, (here, there) in facts.items() if here != there]
    if different:
        raise Incomparable(f"the runs of {first.agent!r} are not parts of one: they differ in {', '.join(different)}")


def _without_description(run: Run) -> object:
    """The agent without what it says of itself, which may speak of the part that it has seen."""
    agent = run.provenance.agent
    return None if agent is None else replace(agent, description={})


def completed(run: Run, cases: Sequence[str]) -> Run:
    """A run of ours that lacks cases, a shard for instance, has not run them; in an imported one they are empty."""
    missing = [case for case in cases if case not in run.index]
    if not missing or not run.provenance.is_ours:
        return run
    answers = [*run.answers, *(Answer(case, "not_run") for case in missing)]
    return Run.from_answers(run.label, answers, dropped=run.dropped, provenance=run.provenance)
