"""Cases that are judged by id or path, matched many at once: their hits are distinct names, met by equal ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from searchmark.judging.credit import PairRow, directories_above, pairs_of_case
from searchmark.judging.duplicates import distinct_ranks
from searchmark.judging.exact_ids import (
    BatchNames,
    CaseBatch,
    batches,
    by_id_or_path,
    by_join,
    by_lookup,
    text_column,
)
from searchmark.judging.matches import Matching, Part
from searchmark.judging.names import CaseKinds, composed, judged_by_path, normal_paths, target_names
from searchmark.measures.formulas import Ints
from searchmark.records import Run
from searchmark.records.id_columns import Texts

if TYPE_CHECKING:
    import polars as pl


def match_in_batches(matching: Matching, cases: Ints, kinds: CaseKinds) -> Iterator[Part]:
    """All matches of these cases, with the least work that each of them allows."""
    paths, ids = kinds.paths[cases], kinds.ids[cases]
    targets = target_names(matching.suite)
    yield from _by_id(matching, cases[~paths], targets)
    if paths.any():
        yield from _by_path(matching, cases[paths & ~ids], list(targets), mixed=False)
        yield from _by_path(matching, cases[paths & ids], list(targets), mixed=True)


def _by_id(matching: Matching, cases: Ints, targets: Texts) -> Iterator[Part]:
    """Ids as they are, except that accents may be encoded in two ways."""
    suite, run, clean = matching.suite, matching.run, matching.spelling.composed
    column = text_column(targets) if clean and not isinstance(run.ids, list) else None
    texts = list(targets) if column is None else []
    for batch in batches(run, matching.rows, cases):
        ids = None if column is None else batch.ids(run)
        if column is None or ids is None or isinstance(ids, list):
            names = _names(batch, run, None if clean else composed)
            yield _part(matching, batch, by_lookup(suite, texts, batch, names), _ranks(run, batch, names, clean=clean))
        else:
            yield _part(matching, batch, by_join(suite, column, batch, ids), _ranks(run, batch, ids, clean=clean))


def _by_path(matching: Matching, cases: Ints, targets: list[str], *, mixed: bool) -> Iterator[Part]:
    """Paths in their normal form; ``mixed`` if every case judges ids as well."""
    suite, run, clean = matching.suite, matching.run, matching.spelling.normal
    directories = directories_above(compress(targets, judged_by_path(suite)))
    for batch in batches(run, matching.rows, cases):
        names = _names(batch, run, None if clean else normal_paths)
        if mixed:
            found = by_id_or_path(suite, targets, batch, _names(batch, run, None if clean else composed), names)
        else:
            found = by_lookup(suite, targets, batch, names)
        ranks = _ranks(run, batch, names, clean=clean)
        pairs = list(_directory_pairs(matching, batch, targets, directories, names, ranks))
        yield _part(matching, batch, found, ranks, pairs)


def _names(batch: CaseBatch, run: Run, cleaned: Callable[[list[str]], list[str]] | None) -> BatchNames:
    """The ids of a batch as names: those of the run itself where nothing has to be cleaned."""
    if cleaned is None and isinstance(run.ids, list):
        return BatchNames(run.ids, batch.begins)
    ids = list(batch.ids(run))
    return BatchNames(ids if cleaned is None else cleaned(ids), batch.starts[:-1])


def _ranks(run: Run, batch: CaseBatch, names: BatchNames | pl.Series, *, clean: bool) -> Ints | None:
    """Ranks among distinct hits; None where all are, as a run may promise for ids that are their own names."""
    return None if run.unique and clean else distinct_ranks(run, batch, names)


def _part(
    matching: Matching, batch: CaseBatch, found: tuple[Ints, Ints], ranks: Ints | None, pairs: Sequence[PairRow] = ()
) -> Part:
    """The matches of a batch without those of duplicates."""
    hit, judgment = found
    rank = batch.ranks_of(matching.run, hit) if ranks is None else ranks[hit]
    hit, judgment, rank = hit[rank > 0], judgment[rank > 0], rank[rank > 0]
    case = batch.cases[batch.answers_of(hit)]
    repeats = np.zeros(0, np.int64) if ranks is None else np.flatnonzero(ranks == 0)
    return Part(
        hits=np.stack([case, rank, batch.rows_of(hit), judgment, matching.suite.judgments.grades[judgment]]),
        met=np.stack([judgment, np.arange(len(hit))]),
        repeats=batch.cases[batch.answers_of(repeats)],
        pairs=pairs,
    )


def _directory_pairs(
    matching: Matching, batch: CaseBatch, targets: list[str], directories: set[str], names: BatchNames, ranks: Ints | None
) -> Iterator[PairRow]:
    """The hits above targets. Few answers have any, and only these are looked into."""
    judgments, by_path = matching.suite.judgments, judged_by_path(matching.suite)
    for number, (case, hits) in enumerate(names.answers(batch)):
        if directories.isdisjoint(hits):
            continue
        places = np.arange(*batch.starts[number : number + 2])
        rank = (batch.ranks_of(matching.run, places) if ranks is None else ranks[places]).tolist()
        exists = [matching.exists(row) for row in batch.rows_of(places).tolist()]
        rows = range(*judgments.starts[case : case + 2].tolist())
        wanted = {targets[row]: (row, int(judgments.grades[row])) for row in rows if by_path[row]}
        yield from pairs_of_case(case, wanted, {hits[n]: rank[n] for n in range(len(hits)) if rank[n] and exists[n]})
