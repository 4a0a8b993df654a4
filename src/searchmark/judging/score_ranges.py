"""Whose score ranges count: those for all models, and those for the embedding model that was searched with.

A range that is given for all models belongs to the model of the suite, if that names one. What is known of another model says
nothing about this one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.measures.formulas import Floats, Ints
from searchmark.records import JudgmentTable, Run, Suite
from searchmark.records.model_names import same_model

_ALL = slice(None)


def ranged_rows(judgments: JudgmentTable, part: slice = _ALL) -> Ints:
    """The judgments, of some rows, that have a score range for any model."""
    if not judgments.has_ranges:
        return np.zeros(0, np.int64)
    columns = [column for column in (judgments.ranges, *(judgments.model_ranges or {}).values()) if column is not None]
    return np.flatnonzero(np.any([~np.isnan(column[part, 0]) for column in columns], axis=0))


def inside(suite: Suite, run: Run, ranged: Ints, row: Ints) -> Floats:
    """1 where the score of a hit lies in the range of its judgment, 0 outside or without a hit.

    NaN without a score, or where the judgment has no range for the model that was searched with.
    """
    bounds = _bounds(suite, run)
    if bounds is None:
        return np.full(len(ranged), np.nan)
    low, high = bounds[ranged].T
    share = np.zeros(len(ranged))
    returned = row >= 0
    score = run.scores[row[returned]]
    within = (low[returned] <= score) & (score <= high[returned])
    share[returned] = np.where(np.isnan(score), np.nan, within)
    share[np.isnan(low)] = np.nan
    return share


def no_range_because(suite: Suite, run: Run, case: int) -> str | None:
    """Why the ranges of a case say nothing about a run; None if they do, or if there are none."""
    part = slice(*suite.judgments.starts[case : case + 2].tolist())
    bounds = _bounds(suite, run, part)
    lacking = [row for row in ranged_rows(suite.judgments, part).tolist() if bounds is None or np.isnan(bounds[row, 0])]
    if not lacking:
        return None
    ran = model_of(run)
    told = f"the run searched with {ran}" if ran else "the run does not say which one it searched with"
    return f"score ranges are known for {', '.join(_models(suite, part.start + lacking[0]))}, and {told}"


def model_of(run: Run) -> str | None:
    """The embedding model of a run, if it is known."""
    agent = run.provenance.agent
    return None if agent is None else agent.model


def _bounds(suite: Suite, run: Run, part: slice = _ALL) -> Floats | None:
    """The ranges of judgments, of all or of some rows, for this run, NaN where there is none; None if no judgment has any."""
    judgments, ran = suite.judgments, model_of(run)
    plain = judgments.ranges
    if plain is not None and suite.model is not None and ran is not None and not same_model(suite.model, ran):
        plain = None
    own = [column for model, column in (judgments.model_ranges or {}).items() if ran is not None and same_model(model, ran)]
    known = [column[part] for column in (own if plain is None else [plain, *own])]
    if not known:
        return None
    bounds = known[0]
    for column in known[1:]:
        bounds = np.where(np.isnan(bounds), column, bounds)
    return bounds


def _models(suite: Suite, row: int) -> Iterator[str]:
    judgments = suite.judgments
    if judgments.ranges is not None and not np.isnan(judgments.ranges[row, 0]):
        yield suite.model or "every model"
    yield from (model for model, column in sorted((judgments.model_ranges or {}).items()) if not np.isnan(column[row, 0]))
