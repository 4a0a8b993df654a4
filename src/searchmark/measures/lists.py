"""Several measures in one text: ``nDCG@10,MRR``, ``P@[5,10]``, or the name of a set."""

from __future__ import annotations

import re

from searchmark.errors import UsageError

_SEVERAL = re.compile(r"(?P<head>[^\[\]]*@\s*)\[(?P<cutoffs>[^\[\]]*)\]\s*")
_OPENING, _CLOSING = "([{", ")]}"
LONGEST_LIST = 5000
MOST_CUTOFFS = 100

_TREC_DEPTHS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_RECALL_LEVELS = tuple(f"{tenth / 10:g}" for tenth in range(11))
_BEIR_DEPTHS = (1, 3, 5, 10, 100, 1000)
_MTEB_DEPTHS = (1, 3, 5, 10, 20, 100, 1000)

# The measures that others print together, without those that count their queries, in their order.
SETS: dict[str, tuple[str, ...]] = {
    # trec_eval 10.0, -m official, which is what it prints by default
    "official": (
        *("NumRet", "NumRel", "NumRelRet", "AP", "GMAP", "Rprec", "Bpref", "RR"),
        *(f"IPrec@{level}" for level in _RECALL_LEVELS),
        *(f"P@{k}" for k in _TREC_DEPTHS),
    ),
    # BEIR, EvaluateRetrieval.evaluate with its k_values
    "beir": tuple(f"{name}@{k}" for name in ("nDCG", "AP", "R", "P") for k in _BEIR_DEPTHS),
    # MTEB, AbsTaskRetrieval with its k_values
    "mteb": tuple(f"{name}@{k}" for name in ("nDCG", "AP", "R", "P", "RR") for k in _MTEB_DEPTHS),
    # ndeval of the TREC Web tracks, as far as we have its measures
    "ndeval": tuple(f"{name}@{k}" for name in ("ERR_IA", "nERR_IA", "alpha_nDCG", "StRecall") for k in (5, 10, 20)),
}
SET_SOURCES = {
    "official": "trec_eval's default output (-m official), without num_q",
    "beir": "BEIR's EvaluateRetrieval: NDCG, MAP, Recall and P at its k_values",
    "mteb": "MTEB's retrieval tasks: NDCG, MAP, Recall, P and MRR at their k_values",
    "ndeval": "ndeval of the TREC Web tracks, for judgments with aspects",
}


def names_in(text: str) -> list[str]:
    """The names of single measures that a text names."""
    if len(text) > LONGEST_LIST:
        raise UsageError(f"measures {text[:40]!r}... are longer than {LONGEST_LIST} characters")
    return [name for item in _split(text) for name in _expanded(item)]


def _split(text: str) -> list[str]:
    """The items between commas; those inside of brackets separate nothing here."""
    items, depth = [""], 0
    for letter in text:
        depth += (letter in _OPENING) - (letter in _CLOSING)
        if letter == "," and depth <= 0:
            items.append("")
        else:
            items[-1] += letter
    named = [item.strip() for item in items if item.strip()]
    return named or [text]  # nothing at all is refused by whoever reads a name


def _expanded(item: str) -> list[str]:
    if item.lower() in SETS:
        return list(SETS[item.lower()])
    several = _SEVERAL.fullmatch(item)
    if several is None:
        return [item]
    cutoffs = [cutoff.strip() for cutoff in several["cutoffs"].split(",")]
    if not all(cutoffs):
        raise UsageError(f"measure {item!r}: an empty place between the brackets; write them like P@[5,10]")
    if len(cutoffs) > MOST_CUTOFFS:
        raise UsageError(f"measure {item[:40]!r}... has more than {MOST_CUTOFFS} cutoffs")
    return [f"{several['head']}{cutoff}" for cutoff in cutoffs]
