"""Metrics that suites of other tools name as their own, as measures of this one.

What each computes is taken from the source of its tool: the package ``rankeval`` of Elasticsearch, ``db/scorers`` of Quepid.
Where numbers can differ, the note says when.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from searchmark.records import Gain, Suite
from searchmark.records.shown import quoted
from searchmark.suites.source import Entry, as_whole

WINDOW = 10  # how many hits Elasticsearch looks at where a metric does not say so
HIGHEST_CUTOFF = 10**6
QUEPID_TOP_RATING = 3  # of the scale that Quepid's own ERR@10 comes with; an export leaves the scale out
_EXPONENTIAL = "exponential gain (a grade g pays 2^g - 1)"
_SCORER = re.compile(r"(nDCG|DCG|CG|P|AP|RR|ERR)@(\d{1,6})", re.IGNORECASE)


@dataclass(frozen=True)
class OwnMetric:
    """One metric: the measure that equals it, ``unlike`` it where it says so, or the reason why there is none."""

    measure: str | None = None
    rel: int = 1
    gain: Gain = "linear"
    unlike: str | None = None
    why_none: str | None = None


def with_own_metric(suite: Suite, called: str, metric: OwnMetric) -> Suite:
    """The suite with this metric as its default, and a note that says so."""
    told = f"the suite names a metric of its own, {called}"
    if metric.measure is None:
        note = f"{told}, which is not computed: {metric.why_none}; the usual measures are"
        return replace(suite, notes=(*suite.notes, note))
    by = f", with {_EXPONENTIAL}" if metric.gain == "exp" else ""
    more = f"; {metric.unlike}" if metric.unlike else ""
    note = f"{told}: the default measure is {metric.measure}{by}{more}"
    defaults = replace(suite.defaults, rel=metric.rel, gain=metric.gain, measures=(metric.measure,))
    return replace(suite, defaults=defaults, notes=(*suite.notes, note))


def rank_eval_measures(metric: Any, suite: Suite) -> Suite:
    """What the ``metric`` of a request to ``_rank_eval`` asks for."""
    if not isinstance(metric, dict) or len(metric) != 1:
        return with_own_metric(suite, "in 'metric'", OwnMetric(why_none="it is not a mapping with one metric"))
    (name, options), called = next(iter(metric.items())), f"Elasticsearch's {quoted(str(next(iter(metric))))}"
    translate = _RANK_EVAL.get(str(name))
    if translate is None:
        return with_own_metric(suite, called, OwnMetric(why_none=f"the ones that are known are {', '.join(_RANK_EVAL)}"))
    options = {} if options is None else options
    if not isinstance(options, dict):
        return with_own_metric(suite, called, OwnMetric(why_none="its options are not a mapping"))
    unknown = next((each for each in options if each not in _OPTIONS[str(name)]), None)
    if unknown is not None:
        return with_own_metric(suite, called, OwnMetric(why_none=f"its option {quoted(str(unknown))} is not known"))
    k = _option(options, "k", WINDOW)
    if k is None or not 1 <= k <= HIGHEST_CUTOFF:
        return with_own_metric(suite, called, OwnMetric(why_none="its k is not a number of hits"))
    return with_own_metric(suite, called, translate(options, k))


def _option(options: dict[str, Any], name: str, default: int) -> int | None:
    return default if options.get(name) is None else as_whole(options[name])


def _on(options: dict[str, Any], name: str) -> bool:
    return str(options.get(name, False)).lower() == "true"


def _thresholded(measure: str, unlike: str | None = None) -> Callable[[dict[str, Any], int], OwnMetric]:
    def translated(options: dict[str, Any], k: int) -> OwnMetric:
        rel = _option(options, "relevant_rating_threshold", 1)
        if rel is None or rel < 1:
            return OwnMetric(why_none="its relevant_rating_threshold is not a grade from 1")
        if _on(options, "ignore_unlabeled"):
            return OwnMetric(why_none="with ignore_unlabeled it divides by the rated hits among the first k alone")
        return OwnMetric(f"{measure}@{k}", rel, unlike=None if unlike is None else unlike.format(k=k))

    return translated


def _gained(options: dict[str, Any], k: int) -> OwnMetric:
    if _option(options, "unknown_doc_rating", 0) != 0:
        return OwnMetric(why_none="with unknown_doc_rating a hit without a rating has a gain")
    if not _on(options, "normalize"):
        return OwnMetric(f"DCG@{k}", gain="exp")
    unlike = f"where fewer than {k} hits come, Elasticsearch's ideal list is as short as the answer, that of nDCG@{k} is not"
    return OwnMetric(f"nDCG@{k}", gain="exp", unlike=unlike)


def _expected_rank(options: dict[str, Any], k: int) -> OwnMetric:
    highest = _option(options, "maximum_relevance", 0)
    if _option(options, "unknown_doc_rating", 0) != 0:
        return OwnMetric(why_none="with unknown_doc_rating a hit without a rating has a gain")
    if not highest or not 1 <= highest <= 60:  # noqa: PLR2004  # as ERR has it
        return OwnMetric(why_none="its maximum_relevance is not a grade from 1 to 60")
    return OwnMetric(f"ERR(max={highest})@{k}")


_FEWER = "where fewer than {k} hits come, it divides by their number, P@{k} by {k}"
_RANK_EVAL: dict[str, Callable[[dict[str, Any], int], OwnMetric]] = {
    "precision": _thresholded("P", _FEWER),
    "recall": _thresholded("R"),
    "mean_reciprocal_rank": _thresholded("RR"),
    "dcg": _gained,
    "expected_reciprocal_rank": _expected_rank,
}
_OPTIONS = {
    "precision": ("k", "relevant_rating_threshold", "ignore_unlabeled"),
    "recall": ("k", "relevant_rating_threshold"),
    "mean_reciprocal_rank": ("k", "relevant_rating_threshold"),
    "dcg": ("k", "normalize", "unknown_doc_rating"),
    "expected_reciprocal_rank": ("k", "maximum_relevance", "unknown_doc_rating"),
}


def quepid_measures(scorer: Entry, suite: Suite) -> Suite:
    """What the scorer of a Quepid case computes, by its name: an export has no more of it."""
    name = scorer.maybe_text("name") or ""
    found = _SCORER.fullmatch(name.strip())
    called = f"Quepid's scorer {quoted(name)}"
    if found is None:
        return with_own_metric(suite, called, OwnMetric(why_none="it is not one of those that Quepid comes with"))
    kind, k = found[1].lower(), int(found[2])
    if not k:
        return with_own_metric(suite, called, OwnMetric(why_none="it looks at no hits"))
    return with_own_metric(suite, called, _quepid_metric(kind, k, scorer, suite))


def _quepid_metric(kind: str, k: int, scorer: Entry, suite: Suite) -> OwnMetric:
    if kind == "ndcg":
        deep = int((np.add.reduceat(suite.judgments.grades > 0, suite.judgments.starts[:-1]) > k).sum())
        unlike = f"Quepid's ideal list has all rated documents, that of nDCG@{k} the first {k}: cases with more than that: {deep}"
        return OwnMetric(f"nDCG@{k}", gain="exp", unlike=unlike if deep else None)
    if kind == "dcg":
        return OwnMetric(f"DCG@{k}", gain="exp")
    if kind == "p":
        return OwnMetric(f"P@{k}", unlike=_FEWER.format(k=k))
    if kind == "err":
        return _quepid_err(k, scorer, suite)
    if kind == "cg":
        return OwnMetric(why_none="no measure adds up ratings without regard to rank")
    return OwnMetric(f"{kind.upper()}@{k}")


def _quepid_err(k: int, scorer: Entry, suite: Suite) -> OwnMetric:
    scale = [each for each in map(as_whole, scorer.listed("scale") if scorer.has("scale") else ()) if each is not None]
    highest = max(scale, default=QUEPID_TOP_RATING)
    if int(suite.judgments.grades.max()) > highest:
        return OwnMetric(why_none=f"there are ratings above {highest}, the highest of its scale")
    return OwnMetric(f"ERR(max={highest})@{k}")
