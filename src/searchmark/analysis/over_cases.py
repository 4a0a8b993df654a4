"""Measures that are one number for all cases: the geometric mean of what each case has of another measure."""

from __future__ import annotations

import numpy as np

from searchmark.analysis.case_traits import traits_of, undefined_cases
from searchmark.judging.judge import Judged
from searchmark.measures.formulas import Floats
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.records import NOT_RUN, OK

LEAST = 1e-5  # what trec_eval counts a smaller value as, since one 0 would make 0 of all


def values_behind(measure: AnyMeasure, judged: Judged) -> Floats:
    """What goes into it, case by case; NaN where a case has no value of that."""
    (part,) = measure.parts
    values = np.where(judged.status == OK, measure.compute(judged.hits), 0.0)
    undefined = undefined_cases(parse_measure(part.definition.over_cases), traits_of(judged)) | (judged.status == NOT_RUN)
    return np.where(undefined, np.nan, values)


def geometric_mean(values: Floats) -> float:
    """Of the values that are defined; NaN without any."""
    kept = values[~np.isnan(values)]
    return float(np.exp(np.mean(np.log(np.maximum(kept, LEAST))))) if len(kept) else float("nan")
