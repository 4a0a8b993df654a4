"""Fields that cases have from the documents they look for: ``target.category`` is the category of what is right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from searchmark.corpora.corpus import Corpus, corpus_of
from searchmark.corpora.document_fields import value_of
from searchmark.errors import UsageError
from searchmark.records import MATCHES, Suite

PREFIX = "target."


def fields_of_targets(names: Iterable[str]) -> list[str]:
    """Those of some names of fields that are about targets, without what says so."""
    return list(dict.fromkeys(name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)))


def with_target_fields(suite: Suite, names: Iterable[str], corpus: Corpus | None) -> Suite:
    """The suite, its cases with the values that their relevant targets have of fields like ``target.category``.

    A case has every value that any of these targets has. No digest of the suite is changed by that. Without such names nothing
    is read.
    """
    fields = fields_of_targets(names)
    if not fields:
        return suite
    if corpus is None and suite.table.documents is None:
        raise UsageError(f"{PREFIX}{fields[0]} is a field of the documents that are looked for; name these with --corpus")
    values = _values(corpus or corpus_of(suite), _wanted(suite), fields)
    before: Sequence[Mapping[str, Any]] = suite.table.fields or ({},) * len(suite)
    after = tuple(
        {**known, **_of_case(targets, values, fields)} for known, targets in zip(before, _relevant_targets(suite), strict=True)
    )
    return replace(suite, table=replace(suite.table, fields=after))


def _relevant_targets(suite: Suite) -> list[list[str]]:
    """The targets of every case that are named by id or path and are relevant as the suite means it."""
    judgments, named = suite.judgments, {MATCHES.index(how) for how in ("id", "path")}
    relevant = (judgments.grades >= max(suite.defaults.rel, 1)).tolist()
    match = None if judgments.match is None else judgments.match.tolist()
    starts = judgments.starts.tolist()
    return [
        [judgments.targets[row] for row in range(start, end) if relevant[row] and (match is None or match[row] in named)]
        for start, end in pairwise(starts)
    ]


def _wanted(suite: Suite) -> set[str]:
    return {target for targets in _relevant_targets(suite) for target in targets}


def _values(corpus: Corpus, wanted: set[str], fields: Sequence[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Of every wanted document the values of each field. A field that no document has is a mistake in typing."""
    values: dict[str, dict[str, tuple[str, ...]]] = {}
    known: dict[str, None] = {}
    for document in corpus:
        known.update(dict.fromkeys(document.fields))
        if document.id in wanted:
            values[document.id] = {field: _as_texts(value_of(document, field)) for field in fields}
    unknown = next((field for field in fields if field not in known and field != "title"), None)
    if unknown is not None:
        there = ", ".join(sorted(known)) or "none"
        raise UsageError(f"no document of {corpus.name!r} has a field {unknown!r}; there are: {there}")
    return values


def _as_texts(value: Any) -> tuple[str, ...]:
    """The values of a field, each as text; what is blank or nested says nothing to split by."""
    each = value if isinstance(value, list | tuple) else (value,)
    texts = (str(part).strip() for part in each if isinstance(part, str | int | float | bool))
    return tuple(dict.fromkeys(filter(None, texts)))


def _of_case(
    targets: Sequence[str], values: Mapping[str, Mapping[str, tuple[str, ...]]], fields: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    known = [values[target] for target in targets if target in values]
    found = {field: tuple(dict.fromkeys(value for each in known for value in each[field])) for field in fields}
    return {f"{PREFIX}{field}": each for field, each in found.items() if each}
