"""The catalogue of measures: what each name means, its options, its range, and its rules for the odd cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from searchmark.measures import formulas
from searchmark.measures.formulas import Floats

Value: TypeAlias = int | float | str

HIGHEST_ERR_GRADE = 60

_RANKED = "the run's order decides; equal scores in TREC files are ordered by id, descending"
_NOT_FOUND = "a target that was not returned is not found; no relevant target: 0, as in trec_eval"
_PAYS_NOTHING = "only what was returned pays"


@dataclass(frozen=True)
class Parameter:
    """One option of a measure: its plain value, which values it takes, and what it does."""

    name: str
    default: Value
    accepts: Callable[[Value], bool]
    wanted: str
    summary: str


def _whole(value: Value, low: int, high: float = np.inf) -> bool:
    return isinstance(value, int) and low <= value <= high


def _share(value: Value) -> bool:
    return isinstance(value, int | float) and 0 < value < 1


PARAMETERS = {
    parameter.name: parameter
    for parameter in (
        Parameter("rel", 1, lambda value: _whole(value, 1), "a whole number from 1", "lowest relevant grade"),
        Parameter("gain", "linear", ("linear", "exp").__contains__, "linear or exp", "what a grade g pays: g, or 2^g - 1"),
        Parameter("p", 0.8, _share, "a number between 0 and 1", "persistence of the reader"),
        Parameter(
            name="max",
            default=4,
            accepts=lambda value: _whole(value, 1, HIGHEST_ERR_GRADE),
            wanted=f"a whole number from 1 to {HIGHEST_ERR_GRADE}",
            summary="highest grade of the scale",
        ),
        Parameter("credit", "exact", ("exact", "dir").__contains__, "exact or dir", "dir: a directory of a target pays half"),
    )
}


@dataclass(frozen=True)
class Definition:
    """What a name means.

    ``of_sets``: looks at an answer as a set, so that a cutoff makes another measure of it. ``needs_targets``: meaningless
    unless every target is known by id. ``unanswerable``: looks at the cases
    without an answer, and only at those. ``undefined``: why the formula itself can come out undefined.
    ``tells_quality``: whether more of it is better, so that it can be the reason of a verdict.
    """

    name: str
    compute: Callable[..., Floats]
    summary: str
    missing: str
    parameters: tuple[str, ...] = ()
    cutoff: bool = True
    of_sets: bool = False
    ties: str = _RANKED
    empty: str = "0"
    low: float = 0.0
    high: float = 1.0
    needs_targets: bool = True
    unanswerable: bool = False
    tells_quality: bool = True
    undefined: str = "a grade is too high for exponential gain"


DEFINITIONS = {
    definition.name: definition
    for definition in (
        Definition(
            "P",
            formulas.precision,
            "precision: relevant hits among the first k, over k; without @k over all hits returned",
            missing="fewer than k hits still divide by k",
            parameters=("rel", "credit"),
            of_sets=True,
            needs_targets=False,
        ),
        Definition(
            "R",
            formulas.recall,
            "recall: relevant targets among the first k hits, over all relevant targets",
            missing=_NOT_FOUND,
            parameters=("rel", "credit"),
            of_sets=True,
        ),
        Definition(
            "F1",
            formulas.f1,
            "harmonic mean of P and R, both at k, or both over the whole answer",
            missing=_NOT_FOUND,
            parameters=("rel", "credit"),
            of_sets=True,
        ),
        Definition(
            "RR",
            formulas.reciprocal_rank,
            "reciprocal rank of the first relevant hit",
            missing="no relevant hit among the first k: 0",
            parameters=("rel",),
            needs_targets=False,
        ),
        Definition(
            "AP",
            formulas.average_precision,
            "average precision: precision at each relevant hit, over all relevant targets",
            missing=_NOT_FOUND,
            parameters=("rel",),
        ),
        Definition(
            "nDCG",
            formulas.ndcg,
            "discounted gain (log2 of rank + 1) over that of the ideal list, both cut at k",
            missing=_NOT_FOUND,
            parameters=("gain",),
        ),
        Definition(
            "DCG",
            formulas.dcg,
            "discounted gain (log2 of rank + 1), not normalised",
            missing=_PAYS_NOTHING,
            parameters=("gain",),
            high=np.inf,
            needs_targets=False,
        ),
        Definition(
            "Success",
            formulas.success,
            "1 if any of the first k hits is relevant",
            missing="no relevant hit: 0",
            parameters=("rel",),
            needs_targets=False,
        ),
        Definition(
            "Rprec",
            formulas.r_precision,
            "precision after as many hits as there are relevant targets",
            missing=_NOT_FOUND,
            parameters=("rel",),
            cutoff=False,
        ),
        Definition(
            "Bpref",
            formulas.bpref,
            "how rarely hits judged not relevant rank above relevant ones; unjudged hits are skipped",
            missing=_NOT_FOUND,
            parameters=("rel",),
            cutoff=False,
        ),
        Definition(
            "RBP",
            formulas.rank_biased_precision,
            "rank-biased precision: (1 - p) * sum of p^(rank - 1) over relevant hits",
            missing=_PAYS_NOTHING,
            parameters=("rel", "p"),
            needs_targets=False,
        ),
        Definition(
            "ERR",
            formulas.expected_reciprocal_rank,
            "expected reciprocal rank: a reader stops at a hit of grade g with (2^g - 1) / 2^max",
            missing=f"{_PAYS_NOTHING}; a grade above max: undefined",
            parameters=("max",),
            needs_targets=False,
            undefined="a grade lies above the measure's max",
        ),
        Definition(
            "Judged",
            formulas.judged,
            "share of the first k hits that have a judgment; of all hits where fewer came",
            missing="depends on hits only",
            needs_targets=False,
            tells_quality=False,
        ),
        Definition(
            "Acc",
            formulas.all_found,
            "1 if every relevant target is among the first k hits",
            missing="one target missing: 0; no relevant target: 0",
            parameters=("rel",),
        ),
        Definition(
            "Abstain",
            formulas.abstention,
            "1 if a case marked unanswerable got no hit; defined for those cases only",
            missing="an unanswerable case has no target",
            cutoff=False,
            ties="the order has no effect",
            empty="1; an error or a time-out: 0",
            needs_targets=False,
            unanswerable=True,
        ),
        Definition(
            "Tau",
            formulas.rank_agreement,
            "Kendall's tau between the expected order of the targets, the best of several, and the order returned",
            missing="ranks below all that were returned; no two targets with different expected ranks: undefined",
            ties="equal expected ranks: the order of the two does not count (tau-b's correction, for the expected order)",
            low=-1.0,
            undefined="no two targets have different expected ranks",
        ),
        Definition(
            "InRange",
            formulas.scores_in_range,
            "share of the targets with a score range whose hit scored inside it",
            missing="outside; no range in the case, or a hit without a score: undefined",
            cutoff=False,
            ties="the order has no effect",
            undefined="no target has a score range, or a hit came without a score",
        ),
    )
}

FORMULAS = {"Relevance": "0.4*P@5 + 0.3*R@5 + 0.3*RR@5"}

# The words of other tools and documents, in lower case.
ALIASES = {
    "precision": "P",
    "recall": "R",
    "mrr": "RR",
    "map": "AP",
    "hitrate": "Success",
    "hit_rate": "Success",
    "hit rate": "Success",
    "kendalltau": "Tau",
    "relevancescore": "Relevance",
    "overall relevance": "Relevance",
    # ir_measures
    "setp": "P",
    "setr": "R",
    "setf": "F1",
    # trec_eval
    "set_p": "P",
    "set_recall": "R",
    "set_f": "F1",
    "recip_rank": "RR",
    "map_cut": "AP",
    "ndcg_cut": "nDCG",
}
# What ir_measures calls the gains of nDCG.
FOREIGN_GAINS = {"log2": "linear", "exp-log2": "exp"}
