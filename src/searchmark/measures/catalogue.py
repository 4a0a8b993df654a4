"""The catalogue of measures: every name, and what it means."""

from __future__ import annotations

from searchmark.measures.common import COMMON
from searchmark.measures.research import RESEARCH

DEFINITIONS = {definition.name: definition for definition in (*COMMON, *RESEARCH)}

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
    "α_ndcg": "alpha_nDCG",
    # trec_eval
    "set_p": "P",
    "set_recall": "R",
    "set_f": "SetF",
    "set_map": "SetAP",
    "gm_map": "GMAP",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "iprec_at_recall": "IPrec",
    "recip_rank": "RR",
    "map_cut": "AP",
    "ndcg_cut": "nDCG",
    # ndeval
    "alpha-ndcg": "alpha_nDCG",
    "err-ia": "ERR_IA",
    "nerr-ia": "nERR_IA",
    "strec": "StRecall",
    # elsewhere
    "compatibility": "Compat",
}
# Names that others have for what is not a measure here, and what to say to those who ask for it.
NOT_MEASURES = {"numq": "the number of cases is in every report", "num_q": "the number of cases is in every report"}
NAMES = {name.lower(): name for name in (*DEFINITIONS, *FORMULAS)} | ALIASES
# What ir_measures calls the gains of nDCG.
FOREIGN_GAINS = {"log2": "linear", "exp-log2": "exp"}
