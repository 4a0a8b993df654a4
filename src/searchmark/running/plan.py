"""Which cases are asked, and in which order: a pure function of suite, seed and filters.

A digest of the seed and its own id decides where a case comes in the order, so that leaving out some cases does not
reorder the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

from searchmark.corpora.locations import Location
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.judging.unjoined import no_query
from searchmark.options.experiment_options import CaseSelection
from searchmark.records import Case, RunLabel, Suite


@dataclass(frozen=True, slots=True)
class Step:
    """One case, to be asked at one location; ``request`` is what it brings along for agents that can send it."""

    case: str
    query: str
    location: Location
    request: Mapping[str, Any] | None = field(default=None, hash=False)


def parse_shard(text: str) -> tuple[int, int]:
    """Read ``2/5``: the second of five parts."""
    first, _, second = text.partition("/")
    if not (first.isascii() and first.isdigit() and second.isascii() and second.isdigit()) or not 1 <= int(first) <= int(second):
        raise UsageError(f"shard {text!r} cannot be read; write it like 1/4, the first of four")
    return int(first), int(second)


def selected(suite: Suite, cases: CaseSelection, seed: int, only: frozenset[str] | None = None) -> Suite:
    """The suite without the cases that are not wanted; at least one is left. ``only`` limits it to some by their ids."""
    if only is None and cases == CaseSelection() and len(suite):
        return suite
    if cases.categories:
        _refuse_unknown_categories(suite, cases.categories)
    kept = [case for case in suite.cases if (only is None or case.id in only) and _wanted(case, cases)]
    if cases.sample is not None:
        kept = _chosen(kept, sorted(kept, key=lambda case: _position(f"sample {seed}", case.id))[: cases.sample])
    if cases.shard is not None:
        number, parts = parse_shard(cases.shard)
        kept = _chosen(kept, sorted(kept, key=lambda case: _position("shard", case.id))[number - 1 :: parts])
    if not kept:
        raise NothingEvaluated(f"no case of the suite {suite.name!r} is left after filtering")
    if len(kept) == len(suite):
        return suite
    left_out = {"cases_filtered_out": len(suite) - len(kept)}
    return replace(suite.only({case.id for case in kept}), dropped={**suite.dropped, **left_out})


def _chosen(cases: Sequence[Case], drawn: Iterable[Case]) -> list[Case]:
    """The cases that were drawn, in the order of the suite."""
    chosen = {case.id for case in drawn}
    return [case for case in cases if case.id in chosen]


def _wanted(case: Case, cases: CaseSelection) -> bool:
    if cases.text is not None and cases.text.lower() not in f"{case.id}\n{case.query or ''}".lower():
        return False
    return not cases.categories or _is_in(case, cases.categories)


def _is_in(case: Case, categories: Collection[str]) -> bool:
    """By the name of the category, or by the number that the suite gives it."""
    number = case.fields.get("category_number")
    return case.category in categories or (number is not None and str(number) in categories)


def _refuse_unknown_categories(suite: Suite, wanted: Iterable[str]) -> None:
    for name in wanted:
        if not any(_is_in(case, (name,)) for case in suite.cases):
            known = ", ".join(sorted({case.category for case in suite.cases if case.category})) or "none"
            raise UsageError(f"no case is of the category {name!r}; the categories are: {known}")


def ordered(suite: Suite, locations: Mapping[str, Location], seed: int, *, shuffled: bool = True) -> list[Step]:
    """All cases as steps: location by location in the order of ``locations``, shuffled within each."""
    groups: dict[Location, list[Step]] = {location: [] for location in locations.values()}
    requests = suite.table.requests or repeat(None)
    for case, query, request in zip(suite.table.ids, suite.table.queries or repeat(None), requests, strict=False):
        if query is None:
            raise UsageError(no_query(suite))
        groups[locations[case]].append(Step(case, query, locations[case], request))
    return [
        step
        for steps in groups.values()
        for step in (sorted(steps, key=lambda step: _position(f"order {seed}", step.case)) if shuffled else steps)
    ]


def blocks(steps: Sequence[Step], size: int) -> Iterator[Sequence[Step]]:
    for start in range(0, len(steps), size):
        yield steps[start : start + size]


def turns(labels: Sequence[RunLabel], block: int) -> list[RunLabel]:
    """The order in which the agents take a block: each comes first equally often."""
    first = block % len(labels)
    return [*labels[first:], *labels[:first]]


def _position(salt: str, case: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{salt}\0{case}".encode("utf-8", "surrogatepass")).digest()[:8])
