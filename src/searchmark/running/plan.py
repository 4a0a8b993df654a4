"""Which cases are asked, and in which order: a pure function of suite, seed and filters.

A digest of the seed and its own id decides where a case comes in the order, so that leaving out some cases does not
reorder the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from searchmark.corpora.locations import Location
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.records import Case, Suite


@dataclass(frozen=True)
class Filters:
    """Which cases of a suite to run; all of them unless something is said. ``shard`` is (i, n), i from 1."""

    text: str | None = None
    categories: tuple[str, ...] = ()
    sample: int | None = None
    shard: tuple[int, int] | None = None
    only: frozenset[str] | None = None


@dataclass(frozen=True)
class Step:
    """One case, to be asked at one location."""

    case: str
    query: str
    location: Location


def parse_shard(text: str) -> tuple[int, int]:
    """Read ``2/5``: the second of five parts."""
    first, _, second = text.partition("/")
    if not (first.isascii() and first.isdigit() and second.isascii() and second.isdigit()) or not 1 <= int(first) <= int(second):
        raise UsageError(f"shard {text!r} cannot be read; write it like 1/4, the first of four")
    return int(first), int(second)


def filtered(suite: Suite, filters: Filters, seed: int) -> Suite:
    """The suite without the cases that are not wanted; at least one is left."""
    cases = [case for case in suite.cases if _wanted(case, filters)]
    if filters.categories:
        _refuse_unknown_categories(suite, filters.categories)
    if filters.sample is not None:
        drawn = sorted(cases, key=lambda case: _position(f"sample {seed}", case.id))[: filters.sample]
        chosen = {case.id for case in drawn}
        cases = [case for case in cases if case.id in chosen]
    if filters.shard is not None:
        number, parts = filters.shard
        dealt = sorted(cases, key=lambda case: _position("shard", case.id))[number - 1 :: parts]
        chosen = {case.id for case in dealt}
        cases = [case for case in cases if case.id in chosen]
    if not cases:
        raise NothingEvaluated(f"no case of the suite {suite.name!r} is left after filtering")
    if len(cases) == len(suite):
        return suite
    left_out = {"cases_filtered_out": len(suite) - len(cases)}
    return replace(suite.only({case.id for case in cases}), dropped={**suite.dropped, **left_out})


def _wanted(case: Case, filters: Filters) -> bool:
    if filters.only is not None and case.id not in filters.only:
        return False
    if filters.text is not None and filters.text.lower() not in f"{case.id}\n{case.query or ''}".lower():
        return False
    return not filters.categories or _is_in(case, filters.categories)


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
    groups: dict[Location, list[Case]] = {location: [] for location in locations.values()}
    for case in suite.cases:
        if case.query is None:
            raise UsageError(
                f"the case {case.id!r} has no query, so it cannot be asked; for TREC qrels and labels name them by --topics"
            )
        groups[locations[case.id]].append(case)
    return [
        Step(case.id, case.query or "", location)
        for location, cases in groups.items()
        for case in (sorted(cases, key=lambda case: _position(f"order {seed}", case.id)) if shuffled else cases)
    ]


def blocks(steps: Sequence[Step], size: int) -> Iterator[Sequence[Step]]:
    for start in range(0, len(steps), size):
        yield steps[start : start + size]


def turns(agents: Sequence[str], block: int) -> list[str]:
    """The order in which the agents take a block: each comes first equally often."""
    first = block % len(agents)
    return [*agents[first:], *agents[:first]]


def _position(salt: str, case: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{salt}\0{case}".encode("utf-8", "surrogatepass")).digest()[:8])
