"""Which cases a measure can speak about, and why not about the others."""

from __future__ import annotations

from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from searchmark.judging.judge import Judged
from searchmark.judging.score_ranges import no_range_because
from searchmark.measures.formulas import scores_in_range
from searchmark.measures.grammar import AnyMeasure
from searchmark.measures.undefined import CaseTraits, undefined_reason
from searchmark.records import NOT_RUN

# For every case its CaseTraits, in their order.
Traits: TypeAlias = tuple[NDArray[np.bool_], ...]


def traits_of(judged: Judged) -> Traits:
    return (
        judged.complete,
        judged.answerable,
        judged.has_paths,
        judged.graded,
        judged.about_lines,
        judged.lines_counted,
    )


def undefined_cases(measure: AnyMeasure, columns: Traits) -> NDArray[np.bool_]:
    """Cases that this measure cannot speak about; the columns are the fields of `CaseTraits`."""
    undefined = np.zeros(len(columns[0]), bool)
    for traits in product((True, False), repeat=len(columns)):
        if undefined_reason(measure, CaseTraits(*traits)):
            undefined |= np.all([column == trait for column, trait in zip(columns, traits, strict=True)], axis=0)
    return undefined


def case_reason(judged: Judged, measure: AnyMeasure, row: int) -> str | None:
    if judged.status[row] == NOT_RUN:
        return "the case was not run"
    return undefined_reason(measure, CaseTraits(*(bool(column[row]) for column in traits_of(judged))))


def range_reason(judged: Judged, measure: AnyMeasure, row: int) -> str | None:
    return no_range_because(judged.suite, judged.run, row) if by_score(measure) else None


def by_score(measure: AnyMeasure) -> bool:
    """Whether the scores of hits decide on it, and not their order alone."""
    return any(part.definition.compute is scores_in_range for part in measure.parts)


def kinds_of_cases(judged: Judged) -> NDArray[np.int64]:
    """A number for every case: what decides on whether a measure can speak about it, so cases that are alike share it."""
    columns = (judged.status == NOT_RUN, *traits_of(judged))
    weights = 1 << np.arange(len(columns))
    return np.asarray(np.column_stack(columns) @ weights)
