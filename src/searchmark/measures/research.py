"""The measures that research asks for: those of trec_eval, ndeval and ir_measures that are not common elsewhere."""

from __future__ import annotations

from math import inf

from searchmark.measures import aspects, formulas, gains, line_reading, orders, pooled
from searchmark.measures.definition import NOT_FOUND, PAYS_NOTHING, Definition

_NO_ORDER = "the order has no effect"
_NO_ASPECTS = "no aspect to cover: 0; judgments without aspects: undefined"
_ASPECTS = "the judgments of the case name no aspects; of qrels, --format diversity-qrels reads them"

_NO_LINES = "which lines are read is only known of answers as they were given, in their order"
_BUDGET = "read from the top until a budget of tokens or lines is used up"
_READING = "no line is read twice; a line that no longer fits ends the reading, so the last hit is read up to there"

RESEARCH = (
    Definition(
        "LineR",
        line_reading.line_recall,
        f"line recall: relevant lines among those {_BUDGET}, over all relevant lines",
        missing=f"a line that was not read is not found; {_READING}",
        parameters=("rel", "tokens", "lines"),
        cutoff=False,
        needs_targets=False,
        needs_lines=True,
        budgets=("tokens", "lines"),
        undefined=_NO_LINES,
    ),
    Definition(
        "Efficiency",
        line_reading.line_efficiency,
        f"share of relevant lines among those {_BUDGET}",
        missing=f"nothing read: 0; {_READING}",
        parameters=("rel", "tokens", "lines"),
        cutoff=False,
        needs_targets=False,
        needs_lines=True,
        budgets=("tokens", "lines"),
        undefined=_NO_LINES,
    ),
    Definition(
        "IPrec",
        formulas.interpolated_precision,
        "interpolated precision: the highest precision from where a share of the relevant targets was found",
        missing="that share was never found: 0; no relevant target: 0, as in trec_eval",
        parameters=("rel", "recall", "judged_only"),
        cutoff=False,
        at="recall",
        needs_at=True,
    ),
    Definition(
        "GMAP",
        formulas.average_precision,
        "geometric mean of AP over the cases, an AP below 0.00001 counted as 0.00001; one number for all cases",
        missing="as in AP",
        parameters=("rel",),
        cutoff=False,
        empty="counted as an AP of 0.00001",
        over_cases="AP",
    ),
    Definition(
        "infAP",
        pooled.inferred_average_precision,
        "inferred AP: pooled documents that were not judged (negative grades) are taken to be relevant as often as judged ones",
        missing=NOT_FOUND,
        parameters=("rel",),
        cutoff=False,
    ),
    Definition(
        "SetF",
        formulas.set_f,
        "(beta + 1) P R / (R + beta P), both at k, or both over the whole answer; beta=4 is the F2 of textbooks",
        missing=NOT_FOUND,
        parameters=("rel", "beta", "judged_only"),
        of_sets=True,
    ),
    Definition(
        "SetAP",
        formulas.set_average_precision,
        "precision times recall of the whole answer",
        missing=NOT_FOUND,
        parameters=("rel", "judged_only"),
        cutoff=False,
        ties=_NO_ORDER,
        of_sets=True,
    ),
    Definition(
        "nERR",
        gains.normalised_reciprocal_rank,
        "ERR over that of the ideal list, both cut at k",
        missing=f"{NOT_FOUND}; a grade above max: undefined",
        parameters=("max",),
        undefined="a grade lies above the measure's max",
    ),
    Definition(
        "Compat",
        orders.compatibility,
        "compatibility: rank-biased overlap with the nearest ideal ranking, over that of the ideal with itself",
        missing=NOT_FOUND,
        parameters=("p",),
        cutoff=False,
        own_defaults=(("p", 0.95),),
    ),
    Definition(
        "alpha_nDCG",
        aspects.alpha_ndcg,
        "discounted gain of aspects, which pay less each time they come again, over that of the best list",
        missing=_NO_ASPECTS,
        parameters=("rel", "alpha", "judged_only"),
        undefined=_ASPECTS,
    ),
    Definition(
        "ERR_IA",
        aspects.err_of_aspects,
        "ERR of aspects, which pay less each time they come again, over that of k hits that cover all of them",
        missing=_NO_ASPECTS,
        parameters=("rel", "alpha", "judged_only"),
        needs_at=True,
        undefined=_ASPECTS,
    ),
    Definition(
        "nERR_IA",
        aspects.normalised_err_of_aspects,
        "ERR of aspects over that of the best list",
        missing=_NO_ASPECTS,
        parameters=("rel", "alpha", "judged_only"),
        undefined=_ASPECTS,
    ),
    Definition(
        "StRecall",
        aspects.aspect_recall,
        "subtopic recall: share of the aspects that the first k hits cover",
        missing=_NO_ASPECTS,
        parameters=("rel",),
        undefined=_ASPECTS,
    ),
    Definition(
        "NumRet",
        formulas.returned_count,
        "hits returned; trec_eval prints the sum over the cases, here it is the mean",
        missing="depends on hits only",
        cutoff=False,
        ties=_NO_ORDER,
        high=inf,
        needs_targets=False,
        tells="how many hits came",
    ),
    Definition(
        "NumRel",
        formulas.relevant_count,
        "relevant targets of the case; trec_eval prints the sum over the cases, here it is the mean",
        missing="counted, returned or not",
        parameters=("rel",),
        cutoff=False,
        ties=_NO_ORDER,
        empty="as for any other answer",
        high=inf,
        tells="how much there is to find",
        sees_hits=False,
    ),
    Definition(
        "NumRelRet",
        formulas.found_count,
        "relevant targets among the first k hits; trec_eval prints the sum over the cases, here it is the mean",
        missing=PAYS_NOTHING,
        parameters=("rel",),
        of_sets=True,
        high=inf,
        needs_targets=False,
    ),
)
