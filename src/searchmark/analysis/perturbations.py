"""What a change of the query costs: variants of queries against the originals they were made of, kind by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from searchmark.analysis.distributions import Floats
from searchmark.analysis.intervals import SHOWN, Clusters, observations
from searchmark.analysis.paired_evidence import exact_mean
from searchmark.analysis.paired_statistics import difference_intervals
from searchmark.analysis.scores import Scores, clusters_of
from searchmark.records.variants import VariantLink, variant_links


@dataclass(frozen=True)
class PerturbationDrop:
    """One kind of variants in one run, by one measure: what originals have, what their variants have, and what is lost.

    ``cases`` counts the variants behind it, ``originals`` the cases that they were made of, and ``origins`` how many observations
    those are. Several variants of one original count as their mean, so that every original weighs the same. ``drop`` is the mean
    of originals less that of variants: below 0, variants do better. Its 95 % limits are None below ten origins' worth, and for a
    measure without a highest value. ``left_out`` counts variants that have no value, or whose original has none or is missing.
    """

    run: str
    kind: str
    measure: str
    cases: int
    originals: int
    origins: int
    original_mean: float | None
    variant_mean: float | None
    drop: float | None
    low: float | None
    high: float | None
    left_out: int


def perturbation_drops(scores: Mapping[str, Scores]) -> Iterator[PerturbationDrop]:
    """Every run, kind and measure; nothing for a suite without variants. All runs are on one suite."""
    suite = next(iter(scores.values())).judged.suite
    kinds: dict[str, list[VariantLink]] = {}
    for link in variant_links(suite.table):
        kinds.setdefault(link.kind, []).append(link)
    for run, of_run in scores.items():
        for kind, links in kinds.items():
            for column, measure in enumerate(of_run.measures):
                if measure.per_case:
                    yield _drop(run, of_run, kind, links, column)


def _drop(run: str, scores: Scores, kind: str, links: Sequence[VariantLink], column: int) -> PerturbationDrop:
    values, measure = scores.values[:, column], scores.measures[column]
    pairs = np.array([(each.row, each.original) for each in links if each.original is not None], np.intp).reshape(-1, 2)
    pairs = pairs[~np.isnan(values[pairs]).any(axis=1)]
    rows, which, counts = np.unique(pairs[:, 1], return_inverse=True, return_counts=True)
    before = values[rows]
    after = np.bincount(which, values[pairs[:, 0]], len(rows)) / np.maximum(counts, 1)
    span = measure.high - measure.low
    origins, limits = drop_interval(before, after, clusters_of(scores.judged.suite, rows), span)
    mean_before, mean_after = exact_mean(before), exact_mean(after)
    return PerturbationDrop(
        run=run,
        kind=kind,
        measure=measure.name,
        cases=len(pairs),
        originals=len(rows),
        origins=origins,
        original_mean=mean_before,
        variant_mean=mean_after,
        drop=None if mean_before is None or mean_after is None else mean_before - mean_after,
        low=None if limits is None else limits[0],
        high=None if limits is None else limits[1],
        left_out=len(links) - len(pairs),
    )


def drop_interval(before: Floats, after: Floats, clusters: Clusters, span: float) -> tuple[int, tuple[float, float] | None]:
    """How many observations the originals are, and the 95 % limits of the mean of what each has lost; ``span`` is the most."""
    if not len(before):
        return 0, None
    bounded = bool(np.isfinite(span)) and span > 0
    found = observations(((before - after) / (span if bounded else 1.0))[:, None], clusters)
    if not bounded or not found.enough:
        return len(found), None
    low, high = difference_intervals(found, SHOWN)
    return len(found), (float(low[0] * span), float(high[0] * span))
