"""Findings on the ids of hits: whether the corpus has them, and what it has in their stead."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.analysis.distrust import FEWEST_ALIKE, none_exists, other_spelling
from searchmark.audit.left_out import left_out_hits
from searchmark.corpora.corpus import Survey
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import share
from searchmark.judging.judge import Judged
from searchmark.judging.near_ids import NearIds, beside


def hit_findings(judged: Judged, corpus: Survey | None) -> Iterator[Finding]:
    """Hits that do not exist, where that is known: all of them is another thing than some."""
    run, valid = judged.run, judged.valid
    if valid is None:
        yield from _unknown_spelling(judged)
    rows = [] if valid is None else np.flatnonzero(~valid).tolist()
    if not rows:
        return
    hits = [run.ids[row] for row in rows]
    is_all = len(hits) == len(run.ids)
    near = NearIds(() if corpus is None else corpus.ids, hits)
    remedy = near.remedy(1 if is_all else FEWEST_ALIKE)
    with_invalid = np.unique(np.searchsorted(run.starts, rows, "right") - 1).tolist()
    names = {run.case_ids[case] for case in with_invalid}
    cases = [case for case in judged.suite.table.ids if case in names]
    shown = near.shown(hits[0], both_sides=is_all) if remedy is None else remedy.shown(hits)
    shown += left_out_hits(None if corpus is None else corpus.files, hits)
    if is_all and (remedy is not None or none_exists(judged)):
        yield finding("all-hits-invalid", f"none of {len(hits)} hits is in the corpus: {shown}", cases)
    else:
        told = f"hits that do not exist in the corpus: {len(hits)} of {len(run.ids)} ({share(len(hits), len(run.ids))})"
        yield finding("invalid-hits", f"{told}, like {shown}", cases)


def _unknown_spelling(judged: Judged) -> Iterator[Finding]:
    """Hits that would be judged if they were written as others are."""
    remedy = other_spelling(judged)
    if remedy is not None:
        hit, target = next(iter(remedy.found.items()))
        told = f"hits that are not judged for their spelling: {len(remedy.found)}, like {beside(hit, target, 'the suite')}"
        yield finding("some-hits-in-other-spelling", f"{told}; {remedy.words}, they would be")
