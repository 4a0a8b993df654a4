"""Findings on the ids of hits: whether the corpus has them, or else whether any of them is judged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from searchmark.audit.gold_and_corpus.nearest import MOST_TARGETS, NearIds, Remedy, beside
from searchmark.audit.left_out import left_out_hits
from searchmark.corpora.corpus import Survey
from searchmark.findings import Finding, finding
from searchmark.judging.judge import Judged
from searchmark.judging.matching import path_of_lines
from searchmark.records import MATCHES

FEWEST_HITS = 5  # none of which is there, or judged: of fewer, a search may have made up all
FEWEST_ALIKE = 3  # hits that one change makes fit, where others are right as they are
DEPTH = 10  # hits of a case that are looked at
GLOB, LINES = MATCHES.index("glob"), MATCHES.index("lines")


def hit_findings(judged: Judged, corpus: Survey | None) -> Iterator[Finding]:
    """Hits that do not exist, where that is known; else that no judgment is about any hit, which may be for their spelling."""
    yield from _unjudged_hits(judged) if judged.valid is None else _invalid_hits(judged, corpus)


def _invalid_hits(judged: Judged, corpus: Survey | None) -> Iterator[Finding]:
    run, valid = judged.run, judged.valid
    rows = [] if valid is None else np.flatnonzero(~valid).tolist()
    if not rows:
        return
    hits = [run.ids[row] for row in rows]
    is_all = len(hits) == len(run.ids)
    near = NearIds(() if corpus is None else corpus.ids, hits)
    remedy = near.remedy(1 if is_all else FEWEST_ALIKE)
    shown = beside(hits[0], near.nearest(hits[0])) if remedy is None else _told(remedy, hits, "the corpus")
    shown += left_out_hits(None if corpus is None else corpus.files, hits)
    with_invalid = np.unique(np.searchsorted(run.starts, rows, "right") - 1).tolist()
    names = {run.case_ids[case] for case in with_invalid}
    cases = [case for case in judged.suite.table.ids if case in names]
    if is_all and (remedy is not None or len(hits) >= FEWEST_HITS):
        yield finding("all-hits-invalid", f"none of {len(hits)} hits is in the corpus: {shown}", cases)
    else:
        yield finding("invalid-hits", f"hits that do not exist in the corpus: {len(hits)} of {len(run.ids)}, like {shown}", cases)


def _unjudged_hits(judged: Judged) -> Iterator[Finding]:
    matches, returned = judged.matches, int(judged.matches.returned.sum())
    if len(matches.case) or len(matches.directories.case) or not returned or not len(judged.suite.judgments):
        return
    own = _own_names(judged)
    remedy = _fitting_own(judged, own)
    if remedy is not None:
        shown = _told(remedy, list(remedy.found), "the suite")
        yield finding("hits-in-other-spelling", f"none of {returned} hits is judged: {shown}")
    elif returned >= FEWEST_HITS:
        (case, hits), judgments = next(iter(own.items())), judged.suite.judgments
        target = judgments.targets[int(judgments.starts[judged.suite.table.index[case]])]
        yield finding("no-hit-judged", f"none of {returned} hits is judged: {hits[0]!r} is returned, and {target!r} judged")


def _own_names(judged: Judged) -> dict[str, list[str]]:
    """The first hits of cases that have judgments, as far as they are looked at."""
    run, sizes, index = judged.run, np.diff(judged.suite.judgments.starts), judged.suite.table.index
    lengths = np.diff(run.starts)
    answered = (case for case in run.index if case in index and sizes[index[case]] and lengths[run.index[case]])
    return {case: _first_hits(judged, case) for case in islice(answered, MOST_TARGETS // DEPTH)}


def _first_hits(judged: Judged, case: str) -> list[str]:
    row = judged.run.index[case]
    start, end = judged.run.starts[row : row + 2].tolist()
    return [path_of_lines(judged.run.ids[hit]) for hit in range(start, min(end, start + DEPTH))]


def _fitting_own(judged: Judged, hits: dict[str, list[str]]) -> Remedy | None:
    """The change by which most hits are judged for their own case, if three are, or one in each of fewer cases."""
    wanted = {case: set(_judged_names(judged, case)) for case in hits}
    near = NearIds(set().union(*wanted.values()), (hit for some in hits.values() for hit in some))
    own = [_of_own(each, hits, wanted) for each in near.remedies]
    best = max(own, key=lambda each: len(each.found), default=None)
    return best if best is not None and len(best.found) >= min(FEWEST_ALIKE, len(hits)) else None


def _of_own(remedy: Remedy, hits: dict[str, list[str]], wanted: dict[str, set[str]]) -> Remedy:
    fitting = {hit for case, some in hits.items() for hit in some if remedy.found.get(hit) in wanted[case]}
    return Remedy(remedy.words, {hit: name for hit, name in remedy.found.items() if hit in fitting})


def _judged_names(judged: Judged, case: str) -> Iterator[str]:
    """What is judged of a case by its name."""
    judgments, row = judged.suite.judgments, judged.suite.table.index[case]
    for at in range(*judgments.starts[row : row + 2].tolist()):
        match = 0 if judgments.match is None else int(judgments.match[at])
        if match < GLOB or match == LINES:
            yield path_of_lines(judgments.targets[at]) if match == LINES else judgments.targets[at]


def _told(remedy: Remedy, names: list[str], there: str) -> str:
    name = next(iter(remedy.found))
    return f"{beside(name, remedy.found[name], there)}; {remedy.told(names)}"
