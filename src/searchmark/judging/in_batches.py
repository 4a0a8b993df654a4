"""Cases that are judged by id or path, matched many at once: their hits are distinct names, met by equal ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from searchmark.judging.credit import PairRow, directories_above, pairs_of_case
from searchmark.judging.exact_ids import (
    CaseBatch,
    batches,
    by_id_or_path,
    by_join,
    by_lookup,
    distinct_ranks,
    repetitive_answers,
    text_column,
)
from searchmark.judging.matches import Matching, Part
from searchmark.judging.names import CaseKinds, composed, judged_by_path, normal_paths, target_names
from searchmark.measures.formulas import Ints
from searchmark.records.id_columns import Texts


def match_in_batches(matching: Matching, cases: Ints, kinds: CaseKinds) -> Iterator[Part]:
    """All matches of these cases, with the least work that each of them allows."""
    paths, ids = kinds.paths[cases], kinds.ids[cases]
    targets = target_names(matching.suite)
    yield from _by_id(matching, cases[~paths], targets)
    yield from _by_path(matching, cases[paths & ~ids], list(targets), mixed=False)
    yield from _by_path(matching, cases[paths & ids], list(targets), mixed=True)


def _by_id(matching: Matching, cases: Ints, targets: Texts) -> Iterator[Part]:
    """Ids as they are, except that accents may be encoded in two ways."""
    suite, run = matching.suite, matching.run
    column = text_column(targets) if matching.composed and not isinstance(run.ids, list) else None
    texts = list(targets) if column is None else []
    for batch in batches(run, matching.rows, cases):
        ids = batch.ids(run)
        if column is not None and not isinstance(ids, list):
            found = by_join(suite, column, batch, ids)
        else:
            ids = list(ids) if matching.composed else composed(list(ids))
            found = by_lookup(suite, texts, batch, ids)
        ranks = distinct_ranks(run, batch, ids, [] if run.unique and matching.composed else repetitive_answers(batch, ids))
        yield _part(matching, batch, ranks, *found)


def _by_path(matching: Matching, cases: Ints, targets: list[str], *, mixed: bool) -> Iterator[Part]:
    """Paths in their normal form; ``mixed`` if every case judges ids as well."""
    suite, run = matching.suite, matching.run
    for batch in batches(run, matching.rows, cases):
        ids = list(batch.ids(run))
        names = normal_paths(ids)
        ranks = distinct_ranks(run, batch, names, repetitive_answers(batch, names))
        found = by_id_or_path(suite, targets, batch, composed(ids), names) if mixed else by_lookup(suite, targets, batch, names)
        yield _part(matching, batch, ranks, *found, list(_directory_pairs(matching, batch, targets, names, ranks)))


def _part(matching: Matching, batch: CaseBatch, ranks: Ints, hit: Ints, judgment: Ints, pairs: Sequence[PairRow] = ()) -> Part:
    """The matches of a batch without those of duplicates."""
    distinct = ranks[hit] > 0
    hit, judgment = hit[distinct], judgment[distinct]
    grades = matching.suite.judgments.grades[judgment]
    return Part(
        hits=np.stack([batch.case[hit], ranks[hit], batch.row[hit], judgment, grades]),
        met=np.stack([judgment, np.arange(len(hit))]),
        repeats=batch.case[ranks == 0],
        pairs=pairs,
    )


def _directory_pairs(matching: Matching, batch: CaseBatch, targets: list[str], names: list[str], ranks: Ints) -> Iterator[PairRow]:
    """The hits above targets; few cases have any, and only these are looked into."""
    judgments = matching.suite.judgments
    starts, by_path = judgments.starts.tolist(), judged_by_path(matching.suite).tolist()
    for case, start, end in batch.answers():
        wanted = [row for row in range(starts[case], starts[case + 1]) if by_path[row]]
        if directories_above(targets[row] for row in wanted).isdisjoint(names[start:end]):
            continue
        graded = {targets[row]: (row, int(judgments.grades[row])) for row in wanted}
        places = (place for place in range(start, end) if ranks[place] and matching.exists(int(batch.row[place])))
        yield from pairs_of_case(case, graded, {names[place]: int(ranks[place]) for place in places})
