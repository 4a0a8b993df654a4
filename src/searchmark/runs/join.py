"""Runs put together from parts, and runs that lack cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from searchmark.errors import UsageError
from searchmark.records import NOT_RUN, AnswerDetails, Provenance, Run, RunPart, TrustEvent, joined_provenance
from searchmark.records.provenance import TRUST_KINDS
from searchmark.records.trust_sentences import not_whole
from searchmark.runs.part_places import first_shard, places_of, without_fillers
from searchmark.runs.same_run import COMPARE_THEM, refuse_different
from searchmark.runs.stacking import stacked

NOT_MERGED = "the shard of this case was not among those that were merged"


def joined(runs: Sequence[Run], files: Sequence[str] = ()) -> Run:
    """One run from several that each answer a part of the cases; nothing is lost, and what spoils one part spoils it all.

    Shards come in the order of their suite, whichever is named first, and together are the run that one machine would have
    made. Others stay in the order that they are given in. ``files`` are where they come from, for what is refused.
    """
    for number in range(1, len(runs)):
        refuse_different(runs[0], runs[number], (files[0], files[number]) if files else ())
    return runs[0] if len(runs) == 1 and not _is_all(runs[0]) else put_together(runs)


def put_together(runs: Sequence[Run]) -> Run:
    """The same of runs that are known to be parts of one, even of one alone."""
    parts = sorted(map(without_fillers, runs), key=first_shard)
    _refuse_doubled(parts)
    provenance = joined_provenance([RunPart(run.case_ids, run.provenance) for run in parts])
    whole = _in_order(parts)
    return replace(whole, provenance=replace(provenance, trust=_trust(provenance, whole)))


def _is_all(run: Run) -> bool:
    """Whether a run is the only shard of its suite."""
    shard = run.provenance.shard
    return shard is not None and shard.cases == len(run)


def _refuse_doubled(runs: Sequence[Run]) -> None:
    answered = Counter(case for run in runs for case in run.case_ids)
    twice = next((case for case, count in answered.items() if count > 1), None)
    if twice is not None:
        raise UsageError(
            f"several files of {runs[0].agent!r} answer the case {twice!r}, so they are not parts of one; {COMPARE_THEM}"
        )


def _in_order(runs: Sequence[Run]) -> Run:
    """All answers, in the order of the suite where it is known."""
    whole, places = stacked(runs), [places_of(run) for run in runs]
    known = np.array([place for each in places if each is not None for place in each], np.int64)
    if any(each is None for each in places) or (np.diff(known) > 0).all():
        return whole
    order = np.argsort(known, kind="stable")
    return whole.with_cases(tuple(whole.case_ids[row] for row in order.tolist()), order)


def _trust(provenance: Provenance, whole: Run) -> tuple[TrustEvent, ...]:
    """What spoils the parts; what is counted over their cases is counted again over all."""
    events = [event for event in provenance.trust if event.kind != "not_whole"]
    return tuple(sorted([*events, *not_whole(whole.details or ())], key=lambda event: TRUST_KINDS.index(event.kind)))


def completed(run: Run, cases: Sequence[str], reason: str | None = None) -> Run:
    """A run of ours that lacks cases, a shard for instance, has not run them; in an imported one they are empty."""
    missing = tuple(case for case in cases if case not in run.index)
    if not missing or not run.provenance.is_ours:
        return run
    not_run = Run(
        label=run.label,
        case_ids=missing,
        starts=np.zeros(len(missing) + 1, np.int64),
        ids=[],
        scores=np.zeros(0),
        status=np.full(len(missing), NOT_RUN, np.uint8),
        valid=np.zeros(0, bool),  # there is no hit of which it is not known
        unique=True,
        details=None if reason is None else (AnswerDetails(failure=reason),) * len(missing),
    )
    return replace(stacked([run, not_run]), provenance=run.provenance)


def filled_up(run: Run, cases: Sequence[str]) -> Run:
    """A run with all cases of a suite in its order; those that it lacks were not run, since their shard is not there."""
    whole = completed(run, cases, NOT_MERGED)
    return whole.with_cases(tuple(cases), np.array([whole.index[case] for case in cases], np.int64))
