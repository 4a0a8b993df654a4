"""Documents that a suite excludes by a field, ``exclude: {deprecated: true}``: globs and symbols of a case never mean them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from searchmark.corpora.corpus import Survey
from searchmark.corpora.document_fields import FieldTable
from searchmark.records import FieldValues, Suite, field_texts


def with_exclusions(suite: Suite, survey: Survey | None) -> Suite:
    """The suite, its cases knowing the ids of the documents that they exclude; as it is where the corpus is not known.

    No digest of the suite is changed by that. Nothing is read where no case excludes anything.
    """
    table = excluded_fields(suite, survey)
    if table is None or suite.table.excludes is None:
        return suite
    known: dict[str, frozenset[str]] = {}
    ids = tuple(known.setdefault(repr(exclude), _ids(exclude, table)) for exclude in suite.table.excludes)
    return replace(suite, table=replace(suite.table, excluded_ids=ids))


def excluded_fields(suite: Suite, survey: Survey | None) -> FieldTable | None:
    """Who has which value of the fields that cases exclude by; None where there are none, or no documents to ask."""
    names = {name for exclude in suite.table.excludes or () for name in exclude}
    if not names or survey is None or survey.fields is None:
        return None
    return survey.fields.table(names)


def _ids(exclude: Mapping[str, FieldValues], table: FieldTable) -> frozenset[str]:
    return frozenset().union(*(table.having(name, field_texts(values)) for name, values in exclude.items()))
