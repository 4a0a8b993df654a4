"""Expected symbols and glob patterns (``benchmark-dataset.json``): what a search over code should come up with.

A symbol is worth 2, what only a pattern fits 1, what an exclusion pattern fits 0. ``TModule.Method`` is met
by any id that holds these dotted parts one after the other; case is heeded.
"""

from __future__ import annotations

from searchmark.records import Case, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.source import LISTS, Entry, Source, as_text

_EXCLUSIONS = ("exclusion_patterns", "excluded_patterns", "exclude_patterns")
_READ = ("id", "query", "category", "expected_symbols", "expected_patterns", *_EXCLUSIONS)


def read_symbols(source: Source) -> Suite:
    """Cases with symbol and glob judgments; a category that is a number keeps it and takes its name from the file."""
    top = source.top()
    names = _category_names(top)
    cases = [_case(entry, number, names) for number, entry in enumerate(source.entries(), 1)]
    check_cases(source.path, cases, "queries")
    return Suite.from_cases(source.path.stem, cases, kind="symbols", metadata=top.rest(*LISTS))


def _category_names(top: Entry) -> dict[str, str]:
    """``categories`` as a mapping from number to name, or a list of entries with ``id`` and ``name``."""
    if not top.has("categories"):
        return {}
    if isinstance(top.values["categories"], list):
        return {entry.text("id", "number"): entry.text("name") for entry in top.entries("categories")}
    categories = top.mapping("categories")
    return {number: categories.text(number) for number in categories}


def _case(entry: Entry, number: int, names: dict[str, str]) -> Case:
    fields = entry.rest(*_READ)
    category = entry.maybe_text("category")
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
        fields=fields,
    )
