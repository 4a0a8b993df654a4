"""Values of measures as a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from searchmark.analysis.distributions import Floats
from searchmark.records import CaseTable
from searchmark.records.frames import constant_columns, null_column, number_column, text_column
from searchmark.records.id_columns import Texts

if TYPE_CHECKING:
    import polars as pl


def score_frame(
    run: Mapping[str, str | None],
    cases: CaseTable,
    status: Texts,
    measures: Texts,
    values: Floats,
    reasons: Sequence[Sequence[str | None]],
) -> pl.DataFrame:
    """One row per case and measure, case by case; ``reasons`` has a column for each measure."""
    import polars as pl

    count, width = values.shape
    case, measure = np.repeat(np.arange(count), width), np.tile(np.arange(width), count)
    category = null_column(str, count) if cases.categories is None else text_column(cases.categories)
    flat = values.ravel()
    return pl.DataFrame(
        {
            **constant_columns(run, len(flat)),
            "case": text_column(cases.ids).gather(case),
            "category": category.gather(case),
            "status": text_column(status).gather(case),
            "measure": text_column(measures).gather(measure),
            "value": number_column(flat, np.isnan(flat)),
            "reason": text_column(list(chain.from_iterable(zip(*reasons, strict=True)))),
        }
    )
