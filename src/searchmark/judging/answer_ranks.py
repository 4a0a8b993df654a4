"""The rank of every hit of one answer, and which of them repeat another: what the judge counts, hit by hit."""

from __future__ import annotations

from searchmark.judging.existence import Existing
from searchmark.judging.judge import Judged, settled_hits
from searchmark.judging.names import CaseKinds, Spelling, lines_apart
from searchmark.judging.one_by_one import distinct_hits


def answer_ranks(judged: Judged, case: int, answer: int, existing: Existing | None = None) -> list[int | None]:
    """For every hit of an answer, best first, its rank among the distinct ones; None for one that repeats another.

    ``case`` and ``answer`` are rows of suite and run. ``existing`` is what the run was judged with, if the corpus was known.
    """
    run = judged.run if existing is None else settled_hits(judged.run, existing)[0]
    if Spelling.of(run.ids).lines:
        run = lines_apart(run)
    kinds = CaseKinds.of(judged.suite).for_run(judged.suite, run)
    by_path = bool(kinds.paths[case] or kinds.described[case])
    distinct = distinct_hits(run, answer, paths=by_path, lines=bool(kinds.lines[case]))
    ranks = {hit.row: rank for rank, hit in enumerate(distinct, 1)}
    return [ranks.get(row) for row in run.rows_of(answer).tolist()]
