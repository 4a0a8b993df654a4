"""What a change of the query costs: variants of queries against the originals they were made of, kind by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
            yield from _drops(run, kind, of_run, links)


def _drops(run: str, kind: str, scores: Scores, links: Sequence[VariantLink]) -> Iterator[PerturbationDrop]:
    """One kind by every measure; those that are defined for the same variants are worked out together."""
    pairs = np.array([(each.row, each.original) for each in links if each.original is not None], np.intp).reshape(-1, 2)
    columns = [column for column, measure in enumerate(scores.measures) if measure.per_case]
    defined = {column: ~np.isnan(scores.values[pairs, column]).any(axis=1) for column in columns}
    groups: dict[bytes, list[int]] = {}
    for column in columns:
        groups.setdefault(defined[column].tobytes(), []).append(column)
    found: dict[int, PerturbationDrop] = {}
    for members in groups.values():
        kept = pairs[defined[members[0]]]
        found |= dict(zip(members, _group(run, kind, scores, kept, members, len(links) - len(kept)), strict=True))
    yield from (found[column] for column in columns)


def _group(
    run: str, kind: str, scores: Scores, pairs: NDArray[np.intp], columns: Sequence[int], left_out: int
) -> Iterator[PerturbationDrop]:
    rows = np.unique(pairs[:, 1])
    before = scores.values[rows][:, columns]
    after = np.column_stack([_means_by_original(scores.values[:, column], pairs) for column in columns])
    measures = [scores.measures[column] for column in columns]
    spans = np.array([measure.high - measure.low for measure in measures])
    bounded = np.isfinite(spans) & (spans > 0)
    origins, limits = drop_limits((before - after) / np.where(bounded, spans, 1.0), clusters_of(scores.judged.suite, rows))
    for place, measure in enumerate(measures):
        mean_before, mean_after = exact_mean(before[:, place]), exact_mean(after[:, place])
        low, high = (limits[:, place] * spans[place]).tolist() if limits is not None and bounded[place] else (None, None)
        yield PerturbationDrop(
            run=run,
            kind=kind,
            measure=measure.name,
            cases=len(pairs),
            originals=len(rows),
            origins=origins,
            original_mean=mean_before,
            variant_mean=mean_after,
            drop=None if mean_before is None or mean_after is None else mean_before - mean_after,
            low=low,
            high=high,
            left_out=left_out,
        )


def _means_by_original(values: Floats, pairs: NDArray[np.intp]) -> Floats:
    """The mean of each original's variants, in the order of the originals."""
    # Sorted, since the order in which numbers are added shows in their last digit.
    ordered = pairs[np.lexsort((values[pairs[:, 0]], pairs[:, 1]))]
    rows, which, counts = np.unique(ordered[:, 1], return_inverse=True, return_counts=True)
    return np.asarray(np.bincount(which, values[ordered[:, 0]], len(rows)) / counts, np.float64)


def drop_limits(losses: Floats, clusters: Clusters) -> tuple[int, Floats | None]:
    """How many observations the originals are, and the 95 % limits of the mean of every column of their losses.

    Losses lie between -1 and 1. The limits are two rows, or None where the observations are worth fewer than ten.
    """
    if not len(losses):
        return 0, None
    found = observations(losses, clusters)
    return len(found), np.vstack(difference_intervals(found, SHOWN)) if found.enough else None
