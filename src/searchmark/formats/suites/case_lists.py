"""Lists of cases: gold sets mined from Git, SWE-bench, and curated ones with expected ids, symbols or glob patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError, shortened
from searchmark.formats.suites.checks import check_cases, check_defaults, lost_fields
from searchmark.formats.suites.source import Entry, Source, as_text
from searchmark.io.data import check_shape, row_text, write_rows
from searchmark.io.store import atomic_write
from searchmark.records.dataframes import PASSAGE_COLUMN_NAMES
from searchmark.records.document import field_texts
from searchmark.records.judgments import Judgment
from searchmark.records.matching import split_line_range
from searchmark.records.suite import Case, Defaults, Suite

# Curated case lists: ``query``, ``expectedIds`` in the order that is wanted, and a category.

_CASE_LIST_FIELDS = ("id", "query", "expected_ids", "category", "tags", *PASSAGE_COLUMN_NAMES)


def read_case_list(source: Source) -> Suite:
    """Expected ids are targets of grade 1 with their position as rank; a case without id is named by its number from 1.

    Where a case has expected passages, these are its targets, and the ids are not.
    """
    entries = source.entries()
    cases = [_case_of_list(entry, number) for number, entry in enumerate(entries, 1)]
    check_cases(source.path, cases)
    source.name_unread_keys(entries, _CASE_LIST_FIELDS)
    return Suite.from_cases(source.name, cases, kind="case-list", metadata=source.rest())


def _case_of_list(entry: Entry, number: int) -> Case:
    orders, passages = _orders(entry), entry.texts(*PASSAGE_COLUMN_NAMES)
    ranks = {target: rank for rank, target in enumerate(orders[0], 1)}
    targets = dict.fromkeys(target for order in orders for target in order)
    return Case(
        id=entry.maybe_text("id") or str(number),
        query=entry.text("query"),
        judgments=tuple(Judgment(each, "text") for each in dict.fromkeys(passages))
        or tuple(Judgment(target, rank=ranks.get(target)) for target in targets),
        category=entry.maybe_text("category"),
        tags=tuple(entry.texts("tags")),
        other_orders=() if passages else tuple(map(tuple, orders[1:])),
        fields=entry.rest(*_CASE_LIST_FIELDS),
    )


def _orders(entry: Entry) -> list[list[str]]:
    """One expected order, or several that are equally right; the first one gives the ranks."""
    items = entry.listed("expected_ids")
    nested = [isinstance(item, list) for item in items]
    if any(nested) and not all(nested):
        raise FormatError(entry.path, f"{entry.place}.expected_ids", "mixes ids with whole orders")
    if not any(nested):
        orders = [entry.texts("expected_ids")]
    else:
        orders = [Entry(entry.path, entry.place, {"expected_ids": order}).texts("expected_ids") for order in items]
    for order in orders:
        if len(set(order)) < len(order):
            twice = next(target for place, target in enumerate(order) if target in order[:place])
            raise entry.error("expected_ids", f"duplicate id {twice!r}")
    return orders


# Expected symbols and glob patterns (``benchmark-dataset.json``): what a search over code should come up with.
#
# A symbol is worth 2, what only a pattern fits 1, what an exclusion pattern fits 0. ``TModule.Method`` is met
# by any id that holds these dotted parts one after the other; case is heeded.

_EXCLUSIONS = ("exclusion_patterns", "excluded_patterns", "exclude_patterns")

_SYMBOL_FIELDS = ("id", "query", "exclude", "category", "category_name", "expected_symbols", "expected_patterns", *_EXCLUSIONS)


def read_symbols(source: Source) -> Suite:
    """Cases with symbol and glob judgments; a category that is a number keeps it and takes its name from the file."""
    top = source.top()
    entries = list(source.entries())
    names = _category_names(top, entries)
    exclude = _exclude(top)
    cases = [_symbol_case(entry, number, names, exclude) for number, entry in enumerate(entries, 1)]
    check_cases(source.path, cases, "queries")
    source.name_unread_keys(entries, _SYMBOL_FIELDS, "defaults", "exclude", "categories")
    metadata = source.rest("defaults", "exclude")
    return Suite.from_cases(source.name, cases, kind="symbols", defaults=_defaults(top), metadata=metadata)


def _defaults(top: Entry) -> Defaults:
    """As in native suites: ``rel``, ``gain`` and ``ignore_case``."""
    from pydantic import TypeAdapter

    settings = top.values.get("defaults")
    defaults = Defaults() if settings is None else check_shape(top.path, TypeAdapter(Defaults), settings, "defaults")
    check_defaults(top.path, defaults)
    return defaults


def _exclude(entry: Entry) -> dict[str, tuple[str, ...]]:
    """Fields of documents, and the values of each that make a document irrelevant."""
    values_by_field = entry.values.get("exclude")
    if values_by_field is None:
        return {}
    if not isinstance(values_by_field, dict):
        raise entry.error("exclude", "is not a mapping from a field of documents to its values")
    exclude = {str(name): tuple(field_texts(values)) for name, values in values_by_field.items()}
    for name, values in exclude.items():
        count = len(values_by_field[name]) if isinstance(values_by_field[name], list) else 1
        if not values or len(values) < count or not all(values):
            raise entry.error(f"exclude.{name}", "is not a value or a list of different values: text, a number, true or false")
    return exclude


def _category_names(top: Entry, entries: list[Entry]) -> dict[str, str]:
    """What the top of the file calls its categories, and what queries call theirs by ``category_name``."""
    names = _listed_names(top)
    for entry in entries:
        number, name = entry.maybe_text("category"), entry.maybe_text("category_name")
        if number is not None and name is not None and (earlier := names.setdefault(number, name)) != name:
            conflict = f"the category {shortened(number, 60)} was called {shortened(earlier, 60)!r} before; use one name"
            raise entry.error("category_name", f"is {shortened(name, 60)!r}, and {conflict}")
    return names


def _listed_names(top: Entry) -> dict[str, str]:
    """``categories`` as a mapping from number to name, or a list of entries with ``id`` and ``name``."""
    if not top.has("categories"):
        return {}
    if isinstance(top.values["categories"], list):
        return {entry.text("id", "number"): entry.text("name") for entry in top.entries("categories")}
    categories = top.mapping("categories")
    return {number: categories.text(number) for number in categories}


def _symbol_case(entry: Entry, number: int, names: dict[str, str], exclude: dict[str, tuple[str, ...]]) -> Case:
    fields = entry.rest(*_SYMBOL_FIELDS)
    category = entry.maybe_text("category", "category_name")
    if category is not None and as_text(category) in names:
        fields["category_number"] = category
    own = _exclude(entry)  # besides what the file excludes for all cases
    symbols = entry.texts("expected_symbols")
    patterns = list(dict.fromkeys(entry.texts("expected_patterns")))
    excluded_patterns = list(dict.fromkeys(entry.texts(*_EXCLUSIONS)))
    return Case(
        id=entry.maybe_text("id") or str(number),
        query=entry.text("query"),
        judgments=(
            *(Judgment(symbol, "symbol", 2) for symbol in dict.fromkeys(symbols)),
            *(Judgment(pattern, "glob", 1) for pattern in patterns if pattern not in excluded_patterns),
            *(Judgment(pattern, "glob", 0) for pattern in excluded_patterns),
        ),
        category=None if category is None else names.get(category, category),
        exclude={name: tuple(field_texts((*exclude.get(name, ()), *own.get(name, ())))) for name in (exclude | own)},
        fields=fields,
    )


# Gold sets mined from Git history: ``test_cases`` with ``ground_truth_files``, and ``metadata`` that names the repository.

_GOLD_SET_FIELDS = ("id", "query", "ground_truth_files", "ground_truth_lines", "category", "tags", "origin")


def read_gold_set(source: Source) -> Suite:
    """Every changed file is a target of grade 1, matched by path, or every range of lines where a case has ``ground_truth_lines``.

    The origin is the commit unless one is named.
    """
    entries, top = source.entries(), source.top()
    if top.has("metadata"):
        top.mapping("metadata")  # refuses anything else
    source.name_unread_keys(entries, _GOLD_SET_FIELDS)
    metadata = source.rest("metadata") | (top.values.get("metadata") or {})
    return _suite(source.name, source.path, entries, metadata)


def suite_of_rows(name: str, rows: Iterable[Mapping[str, Any]], metadata: Mapping[str, Any]) -> Suite:
    """The suite that a gold set with these rows and this metadata would be read as."""
    path = Path(name)  # what an error would name
    return _suite(name, path, [Entry.of(path, f"test_cases.{number}", row) for number, row in enumerate(rows)], metadata)


def _suite(name: str, path: Path, entries: Iterable[Entry], metadata: Mapping[str, Any]) -> Suite:
    cases = [_gold_set_case(entry) for entry in entries]
    check_cases(path, cases, "test_cases")
    return Suite.from_cases(name, cases, kind="gold-set", metadata=metadata)


def _gold_set_case(entry: Entry) -> Case:
    return Case(
        id=entry.text("id"),
        query=entry.known_text("query"),
        judgments=_judgments(entry),
        category=entry.maybe_text("category"),
        tags=tuple(entry.texts("tags")),
        origin=entry.maybe_text("origin") or entry.maybe_text("commit_hash"),
        fields=entry.rest(*_GOLD_SET_FIELDS),
    )


def _judgments(entry: Entry) -> tuple[Judgment, ...]:
    files, lines = entry.texts("ground_truth_files"), entry.texts("ground_truth_lines")
    return tuple(Judgment(place, "lines") for place in lines) if lines else tuple(Judgment(path, "path") for path in files)


def write_gold_set(suite: Suite, path: str | PathLike[str]) -> Iterator[str]:
    """Write a gold set; yields what it could not hold."""
    with atomic_write(path) as file:
        write_rows(file, "test_cases", (row_text(_row(case)) for case in suite.cases), suite.metadata)
    match = "lines" if all(_has_lines(case) for case in suite.cases) else "path"
    return lost_fields(suite, "cases", "queries", "groups", "fields", "metadata", "origins", match=match, kind="gold-set")


def _has_lines(case: Case) -> bool:
    return bool(case.judgments) and all(judgment.match == "lines" for judgment in case.judgments)


def _row(case: Case) -> dict[str, Any]:
    id_and_query = {"id": case.id, "query": case.query or ""}
    row: dict[str, Any] = id_and_query | dict(case.fields) | id_and_query  # in front, and never overwritten
    targets = [judgment.target for judgment in case.judgments if judgment.grade > 0]
    row["ground_truth_files"] = (
        list(dict.fromkeys(split_line_range(target)[0] for target in targets)) if _has_lines(case) else targets
    )
    if _has_lines(case):
        row["ground_truth_lines"] = targets
    if case.category:
        row["category"] = case.category
    if case.tags:
        row["tags"] = list(case.tags)
    if case.origin and case.origin != row.get("commit_hash"):
        row["origin"] = case.origin
    return row


# SWE-bench and Loc-Bench: an issue, the commit it was fixed on top of, and the patch, whose files are the targets.

_HUNK = re.compile(r"@@ -\d+(?:,(\d{1,9}))? \+\d+(?:,(\d{1,9}))? @@")

_OCTAL = re.compile(r"\\([0-7]{3})")

_ESCAPES = {"\\t": "\t", "\\n": "\n", '\\"': '"', "\\\\": "\\"}

NO_FILE = "/dev/null"

_SWE_BENCH_FIELDS = ("instance_id", "problem_statement")


def read_swe_bench(source: Source) -> Suite:
    """Files that the patch changes are targets; files that it creates cannot be found and are only listed."""
    cases = [_swe_bench_case(entry) for entry in source.entries()]
    if not cases:
        raise FormatError(source.path, None, "holds no instances")
    check_cases(source.path, cases)
    return Suite.from_cases(source.name, cases)


def _swe_bench_case(entry: Entry) -> Case:
    changed_files, created_files = files_of_patch(entry.text("patch"))
    if not changed_files and not created_files:
        raise entry.error("patch", "names no file (a unified diff has lines of '--- a/path')")
    fields = entry.rest(*_SWE_BENCH_FIELDS)
    fields["commit_hash"] = entry.text("base_commit")
    if created_files:
        fields["created_files"] = created_files
    return Case(
        id=entry.text("instance_id"),
        query=entry.text("problem_statement"),
        judgments=tuple(Judgment(path, "path") for path in changed_files),
        category=entry.maybe_text("category", "repo"),
        fields=fields,
    )


def files_of_patch(patch: str) -> tuple[list[str], list[str]]:
    """The files that a unified diff changes, deletes or moves away, and those that it creates."""
    changed_files: dict[str, None] = {}
    created_files: dict[str, None] = {}
    for old, new in _file_sections(re.split(r"\r?\n", patch)):
        if old == NO_FILE and new:
            created_files[new] = None
        elif old:
            changed_files[old] = None
    return list(changed_files), list(created_files)


def _file_sections(lines: list[str]) -> Iterator[tuple[str | None, str | None]]:
    """Old and new name of every file. Lines of a hunk are counted and passed over: they may look like headers."""
    old = new = None
    lines_left = [0, 0]
    for line in lines:
        if line.startswith("diff --git "):  # no line of a hunk begins so, whatever the hunk counts
            yield old, new
            old = new = _name_in_header(line.removeprefix("diff --git "))
            lines_left = [0, 0]
        elif hunk := _HUNK.match(line):
            lines_left = [int(hunk[1] or 1), int(hunk[2] or 1)]
        elif lines_left[0] > 0 or lines_left[1] > 0:
            lines_left[0] -= line[:1] in ("-", " ", "")
            lines_left[1] -= line[:1] in ("+", " ", "")
        elif line.startswith("new file mode"):
            old = NO_FILE
        elif line.startswith("rename from "):
            old = _unquote_name(line.removeprefix("rename from "))
        elif line.startswith("--- "):
            name = _unquote_name(line.removeprefix("--- "))
            if old not in (None, name, NO_FILE):
                yield old, new
            old, new = name, None
        elif line.startswith("+++ "):
            new = _unquote_name(line.removeprefix("+++ "))
    yield old, new


def _name_in_header(names: str) -> str | None:
    """The name in ``a/x b/x``, which occurs twice; None where it changes, which other lines tell."""
    half = len(names) // 2
    first, second = _unquote_name(names[:half]), _unquote_name(names[half + 1 :])
    return first if first == second else None


def _unquote_name(name: str) -> str:
    """A name without the marks of a diff: a time behind a tab, quotes with escapes, ``a/`` or ``b/`` in front."""
    name = name.split("\t", maxsplit=1)[0]
    if name.startswith('"') and name.endswith('"'):
        for escape, char in _ESCAPES.items():
            name = name.replace(escape, char)
        raw = _OCTAL.sub(lambda match: chr(int(match[1], 8)), name[1:-1])
        name = raw.encode("latin-1", "replace").decode("utf-8", "surrogateescape") if _OCTAL.search(name) else raw
    return name[2:] if name.startswith(("a/", "b/")) else name
