"""Documents that a suite wants to exclude by a field, and whether that can be done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from searchmark.audit.subject import Subject
from searchmark.corpora.exclusions import excluded_fields
from searchmark.findings import Finding, finding
from searchmark.records import field_texts


def exclusion_findings(subject: Subject) -> Iterator[Finding]:
    """Fields that are not known, because the corpus is not or has none of them; and values that no document has."""
    wanted = dict[tuple[str, str], list[str]]()
    for case, exclude in zip(subject.suite.table.ids, subject.suite.table.excludes or (), strict=False):
        for name, values in exclude.items():
            for value in field_texts(values):
                wanted.setdefault((name, value), []).append(case)
    if not wanted:
        return
    table = excluded_fields(subject.suite, subject.survey)
    unknown = dict.fromkeys(name for name, _ in wanted if table is None or name not in table.ids)
    if unknown:
        why = "the corpus is not known" if table is None else "no document of the corpus has such a field"
        message = f"documents were to be excluded by {', '.join(unknown)} and were not: {why}"
        yield finding(
            "exclusions-not-applied",
            message,
            _in_order(subject, (case for each, of in wanted.items() if each[0] in unknown for case in of)),
        )
    idle = [each for each in wanted if table is not None and each[0] in table.ids and not table.having(each[0], each[1:])]
    if idle:
        shown = ", ".join(f"{name}: {value}" for name, value in idle)
        cases = _in_order(subject, (case for each in idle for case in wanted[each]))
        yield finding("exclusions-without-effect", f"no document has a value that is excluded: {shown}", cases)


def _in_order(subject: Subject, some: Iterable[str]) -> list[str]:
    cases = set(some)
    return [case for case in subject.suite.table.ids if case in cases]
