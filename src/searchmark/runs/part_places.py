"""Where the cases of a part belong: every shard knows the places of its cases among those of all shards."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import islice

import numpy as np

from searchmark.records import Run, RunPart
from searchmark.records.shards import stretches


def parts_of(run: Run) -> tuple[RunPart, ...]:
    """The parts that a run was put together from; one that was not is its own, and so is a shard, however many hosts asked it."""
    joined = run.provenance.parts if run.provenance.shard is None else ()
    return joined or (RunPart(run.case_ids, run.provenance),)


def without_fillers(run: Run) -> Run:
    """The answers that came from its parts: others stand for shards that were missing, and make way for them."""
    return _answers(run, {case for part in parts_of(run) for case in part.cases})


def only(run: Run, cases: Collection[str]) -> Run:
    """Its answers to some of its cases, each still at its place."""
    if len(run.index.keys() & cases) == len(run):
        return run
    joined, parts = parts_of(run), [_part(part, cases) for part in parts_of(run)]
    kept = tuple(part for part in parts if part.cases)
    own = joined[0].provenance is run.provenance
    return replace(_answers(run, cases), provenance=parts[0].provenance if own else replace(run.provenance, parts=kept))


def _answers(run: Run, cases: Collection[str]) -> Run:
    rows = np.array([row for row, case in enumerate(run.case_ids) if case in cases], np.int64)
    return run if len(rows) == len(run) else run.with_cases(tuple(run.case_ids[row] for row in rows.tolist()), rows)


def _part(part: RunPart, cases: Collection[str]) -> RunPart:
    kept, shard = part.with_cases({case: (case,) for case in part.cases if case in cases}), part.provenance.shard
    if shard is None:
        return kept
    places = [place for case, place in zip(part.cases, shard.places, strict=False) if case in cases]
    return replace(kept, provenance=replace(kept.provenance, shard=replace(shard, rows=stretches(sorted(places)))))


def places_of(run: Run) -> list[int] | None:
    """The place of each of its cases among those of all shards; None where a part is no shard."""
    places: dict[str, int] = {}
    for part in parts_of(run):
        shard = part.provenance.shard
        if shard is None or shard.size < len(part.cases):
            return None
        # A part that lacks cases does not say which: those that it has are at most as far from their places.
        places |= zip(part.cases, islice(shard.places, len(part.cases)), strict=True)
    return [places[case] for case in run.case_ids] if places.keys() >= run.index.keys() else None


def first_shard(run: Run) -> int:
    """The lowest number of the shards that it has; 0 for what is no shard, which stays where it is."""
    return min(0 if part.provenance.shard is None else part.provenance.shard.number for part in parts_of(run))
