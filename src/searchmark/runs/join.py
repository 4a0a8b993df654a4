"""Runs put together from parts, and runs that lack cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from searchmark.errors import Incomparable, UsageError
from searchmark.options.run_options import CHANGE_NO_ANSWER
from searchmark.records import PARENT, AgentIdentity, Answer, Run, RunPart, display_names, joined_provenance

COMPARE_THEM = "to hold them against each other: searchmark compare --gold-set SUITE --run A --run B"


def joined(runs: Sequence[Run]) -> Run:
    """One run from several that each answer a part of the cases; nothing is lost, and what spoils one part spoils it all."""
    first, *others = runs
    for other in others:
        _refuse_different(first, other)
    if not others:
        return first
    answered = Counter(case for run in runs for case in run.case_ids)
    twice = next((case for case, count in answered.items() if count > 1), None)
    if twice is not None:
        raise UsageError(
            f"several files of {first.agent!r} answer the case {twice!r}, so they are not parts of one; {COMPARE_THEM}"
        )
    asked = [query for run in runs for query in run.queries or (None,) * len(run)]
    return Run.from_answers(
        first.label,
        [answer for run in runs for answer in run.answers],
        queries=tuple(asked) if any(asked) else None,
        dropped={key: sum(run.dropped.get(key, 0) for run in runs) for run in runs for key in run.dropped},
        provenance=joined_provenance([RunPart(run.case_ids, run.provenance) for run in runs]),
    )


def _refuse_different(first: Run, other: Run) -> None:
    if first.label != other.label:
        names = ", ".join(display_names([first.label, other.label]))
        raise UsageError(f"these are runs of different agents or snapshots, not parts of one: {names}; {COMPARE_THEM}")
    one, two = first.provenance, other.provenance
    moved = _differ({each.name: each for each in one.repositories}, {each.name: each for each in two.repositories})
    differs = {
        "version of Searchmark": one.version != two.version,
        "agent": _different_agents(one.agent, two.agent),
        "options": _that_matter(one.options) != _that_matter(two.options),
        "candidates": one.candidates != two.candidates,
        "corpus": _differ(one.corpora, two.corpora) or one.service != two.service,
        # At the parents it does not matter where the head of a repository is meanwhile.
        "state of the repository": moved and first.label.snapshot != PARENT,
        "suite": (one.suite and one.suite.name) != (two.suite and two.suite.name),
    }
    different = [name for name, differing in differs.items() if differing]
    if different:
        raise Incomparable(f"the runs of {first.agent!r} are not parts of one: they differ in {', '.join(different)}")


def _differ(one: Mapping[str, object], two: Mapping[str, object]) -> bool:
    """Whether two parts saw something of one name differently; each may have seen what the other has not."""
    return any(one[name] != two[name] for name in one.keys() & two.keys())


def _different_agents(one: AgentIdentity | None, two: AgentIdentity | None) -> bool:
    """Whether these are two agents; one that could not be started has said nothing of itself."""
    if one is None or two is None or (one.description and two.description):
        return one != two
    return replace(one, description={}) != replace(two, description={})


def _that_matter(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if name not in CHANGE_NO_ANSWER}


def completed(run: Run, cases: Sequence[str]) -> Run:
    """A run of ours that lacks cases, a shard for instance, has not run them; in an imported one they are empty."""
    missing = [case for case in cases if case not in run.index]
    if not missing or not run.provenance.is_ours:
        return run
    answers = [*run.answers, *(Answer(case, "not_run") for case in missing)]
    return Run.from_answers(run.label, answers, dropped=run.dropped, provenance=run.provenance)
