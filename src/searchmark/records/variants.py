"""Which fields of a case say that its query was varied, and of which case it is a variant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from searchmark.records.case_table import CaseTable

# What the fields are called that say in which language a case is, and how its query was varied.
LANGUAGE_FIELDS = ("language", "lang", "locale")
PERTURBATION = "perturbation"
PERTURBED_FROM = "perturbed_from"
VARIATION_FIELDS = ("variation", "variant", PERTURBATION)


class VariantLink(NamedTuple):
    """The row of a variant, the row of the case that it was made of (None if the suite lacks that), and the kind of change."""

    row: int
    original: int | None
    kind: str


def variant_links(table: CaseTable) -> Iterator[VariantLink]:
    """Every case that is a variant of another one and says of which kind."""
    for row, fields in enumerate(table.fields or ()):
        if is_variant(fields):
            yield VariantLink(row, table.index.get(str(fields[PERTURBED_FROM])), str(fields[PERTURBATION]))


def is_variant(fields: Mapping[str, Any]) -> bool:
    return PERTURBATION in fields and PERTURBED_FROM in fields
