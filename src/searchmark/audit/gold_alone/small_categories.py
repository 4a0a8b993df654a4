"""Categories that a decision table decides by, although they are too small."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.analysis.intervals import FEWEST_CASES, observations
from searchmark.analysis.scores import category_name, clusters_of, segment_rows
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import three_digits
from searchmark.records import Suite
from searchmark.records.shown import listed, quoted

EXAMPLES = 3


def small_decided_categories(subject: Subject) -> Iterator[Finding]:
    """Those categories of decision tables that are worth too few independent cases for an interval."""
    suite = subject.suite
    if suite.table.categories is None:
        return
    rows = segment_rows(suite, "category")
    decided = list(dict.fromkeys(_decided(subject, list(rows))))
    worth = {name: observations(np.zeros((len(rows[name]), 1)), clusters_of(suite, rows[name])) for name in decided if name in rows}
    small = [name for name, found in worth.items() if not found.enough]
    if small:
        told = listed([f"{quoted(name)} {_size(len(rows[name]), worth[name].worth)}" for name in small], EXAMPLES)
        which = f"{len(small)} of {len(worth)} categories that a decision table decides by"
        message = f"{which} are worth fewer than {FEWEST_CASES} independent cases: {told}"
        cases = np.sort(np.concatenate([rows[name] for name in small]))
        yield finding("small-decided-categories", message, (suite.table.ids[row] for row in cases.tolist()))


def _decided(subject: Subject, categories: list[str]) -> Iterator[str]:
    """The categories that rules are about."""
    for table in subject.decisions:
        for rule in table.rules:
            yield from categories if "all" in rule.categories else _named(subject.suite, rule.categories)


def _named(suite: Suite, categories: tuple[str | int, ...]) -> Iterator[str]:
    return (category_name(suite, name) for name in categories)


def _size(cases: int, worth: float) -> str:
    return f"has {cases}" if worth == cases else f"has {cases}, worth {three_digits(worth)}"
