"""Expected symbols and glob patterns (``benchmark-dataset.json``): what a search over code should come up with.

A symbol is worth 2, what only a pattern fits 1, what an exclusion pattern fits 0. ``TModule.Method`` is met
by any id that holds these dotted parts one after the other; case is heeded.
"""

from __future__ import annotations

from collections.abc import Mapping

from searchmark.errors import shortened
from searchmark.files.store import check_shape
from searchmark.records import Case, Defaults, Judgment, Suite, field_texts
from searchmark.suites.checks import check_cases, check_defaults
from searchmark.suites.source import LISTS, Entry, Source, as_text

_EXCLUSIONS = ("exclusion_patterns", "excluded_patterns", "exclude_patterns")
_READ = ("id", "query", "exclude", "category", "category_name", "expected_symbols", "expected_patterns", *_EXCLUSIONS)


def read_symbols(source: Source) -> Suite:
    """Cases with symbol and glob judgments; a category that is a number keeps it and takes its name from the file."""
    top = source.top()
    entries = list(source.entries())
    names = _category_names(top, entries)
    exclude = _exclude(top)
    cases = [_case(entry, number, names, exclude) for number, entry in enumerate(entries, 1)]
    check_cases(source.path, cases, "queries")
    metadata = top.rest(*LISTS, "defaults", "exclude")
    return Suite.from_cases(source.name, cases, kind="symbols", defaults=_defaults(top), metadata=metadata)


def _defaults(top: Entry) -> Defaults:
    """As in native suites: ``rel``, ``gain`` and ``ignore_case``."""
    from pydantic import TypeAdapter

    given = top.values.get("defaults")
    defaults = Defaults() if given is None else check_shape(top.path, TypeAdapter(Defaults), given, "defaults")
    check_defaults(top.path, defaults)
    return defaults


def _exclude(entry: Entry) -> dict[str, tuple[str, ...]]:
    """Fields of documents, and the values of each that make a document irrelevant."""
    given = entry.values.get("exclude")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise entry.error("exclude", "is not a mapping from a field of documents to its values")
    exclude = {str(name): tuple(field_texts(values)) for name, values in given.items()}
    for name, values in exclude.items():
        count = len(given[name]) if isinstance(given[name], list) else 1
        if not values or len(values) < count or not all(values):
            raise entry.error(f"exclude.{name}", "is not a value or a list of different values: text, a number, true or false")
    return exclude


def _merged(exclude: Mapping[str, tuple[str, ...]], own: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """What the file excludes for all cases and what a case excludes besides."""
    return {name: tuple(field_texts((*exclude.get(name, ()), *own.get(name, ())))) for name in dict.fromkeys((*exclude, *own))}


def _category_names(top: Entry, entries: list[Entry]) -> dict[str, str]:
    """What the top of the file calls its categories, and what queries call theirs by ``category_name``."""
    names = _listed_names(top)
    for entry in entries:
        number, name = entry.maybe_text("category"), entry.maybe_text("category_name")
        if number is not None and name is not None and (known := names.setdefault(number, name)) != name:
            called = f"the category {shortened(number, 60)} was called {shortened(known, 60)!r} before; use one name"
            raise entry.error("category_name", f"is {shortened(name, 60)!r}, and {called}")
    return names


def _listed_names(top: Entry) -> dict[str, str]:
    """``categories`` as a mapping from number to name, or a list of entries with ``id`` and ``name``."""
    if not top.has("categories"):
        return {}
    if isinstance(top.values["categories"], list):
        return {entry.text("id", "number"): entry.text("name") for entry in top.entries("categories")}
    categories = top.mapping("categories")
    return {number: categories.text(number) for number in categories}


def _case(entry: Entry, number: int, names: dict[str, str], exclude: Mapping[str, tuple[str, ...]]) -> Case:
    fields = entry.rest(*_READ)
    category = entry.maybe_text("category", "category_name")
    if category is not None and as_text(category) in names:
        fields["category_number"] = category
    symbols = entry.texts("expected_symbols")
    patterns = list(dict.fromkeys(entry.texts("expected_patterns")))
    excluded = list(dict.fromkeys(entry.texts(*_EXCLUSIONS)))
    return Case(
        id=entry.maybe_text("id") or str(number),
        query=entry.text("query"),
        judgments=(
            *(Judgment(symbol, "symbol", 2) for symbol in dict.fromkeys(symbols)),
            *(Judgment(pattern, "glob", 1) for pattern in patterns if pattern not in excluded),
            *(Judgment(pattern, "glob", 0) for pattern in excluded),
        ),
        category=None if category is None else names.get(category, category),
        exclude=_merged(exclude, _exclude(entry)),
        fields=fields,
    )
