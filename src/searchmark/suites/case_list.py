"""Curated case lists: ``query``, ``expectedIds`` in the order that is wanted, and a category."""

from __future__ import annotations

from searchmark.errors import FormatError
from searchmark.records import Case, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.source import LISTS, Entry, Source

_READ = ("id", "query", "expected_ids", "category", "tags")


def read_case_list(source: Source) -> Suite:
    """Expected ids are targets of grade 1 with their position as rank; a case without id is named by its number from 1."""
    entries = source.entries()
    cases = [_case(entry, number) for number, entry in enumerate(entries, 1)]
    check_cases(source.path, cases)
    return Suite.from_cases(source.name, cases, kind="case-list", metadata=source.top().rest(*LISTS))


def _case(entry: Entry, number: int) -> Case:
    orders = _orders(entry)
    ranks = {target: rank for rank, target in enumerate(orders[0], 1)}
    targets = dict.fromkeys(target for order in orders for target in order)
    return Case(
        id=entry.maybe_text("id") or str(number),
        query=entry.text("query"),
        judgments=tuple(Judgment(target, rank=ranks.get(target)) for target in targets),
        category=entry.maybe_text("category"),
        tags=tuple(entry.texts("tags")),
        other_orders=tuple(map(tuple, orders[1:])),
        fields=entry.rest(*_READ),
    )


def _orders(entry: Entry) -> list[list[str]]:
    """One expected order, or several that are equally right; the first one gives the ranks."""
    listed = entry.listed("expected_ids")
    nested = [isinstance(item, list) for item in listed]
    if any(nested) and not all(nested):
        raise FormatError(entry.path, f"{entry.place}.expected_ids", "mixes ids with whole orders")
    if not any(nested):
        orders = [entry.texts("expected_ids")]
    else:
        orders = [Entry(entry.path, entry.place, {"expected_ids": order}).texts("expected_ids") for order in listed]
    for order in orders:
        if len(set(order)) < len(order):
            twice = next(target for place, target in enumerate(order) if target in order[:place])
            raise entry.error("expected_ids", f"duplicate id {twice!r}")
    return orders
