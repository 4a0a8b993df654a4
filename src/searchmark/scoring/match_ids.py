"""The fast way to match: by id or path, many cases at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from searchmark.records.columns import Floats, Ints, Texts, distinct, order_by_score, pair_keys, text_list, texts_at
from searchmark.records.run import Run, ScoredRun
from searchmark.records.suite import Suite
from searchmark.scoring.matches import (
    NO_JUDGMENT,
    CaseKinds,
    CaseMatchColumns,
    Matching,
    PairRow,
    compose_ids,
    directories_above,
    is_clean,
    judged_by_path,
    normal_paths,
    pairs_of_case,
    target_names,
)

if TYPE_CHECKING:
    import polars as pl


# Matching by name, many cases at once, in batches that bound the memory it takes.
#
# There are two ways, with one result. A dictionary per case is fastest where names are Python strings already. A join of
# Arrow columns is fastest where no id is a Python string yet: making a million of them would cost more than all the rest.

# Hits that are matched at once: bounds the memory that it takes, whatever the size of the run.
BATCH = 1 << 18


@dataclass(frozen=True, eq=False)
class CaseBatch:
    """The answers to some cases: that to ``cases[i]`` is the hits ``starts[i]:starts[i + 1]`` of the batch.

    In the run it begins at the row ``begins[i]``.
    """

    cases: Ints
    starts: Ints
    begins: Ints

    @classmethod
    def of(cls, run: Run, rows: Ints, cases: Ints) -> CaseBatch:
        begins = run.starts[rows[cases]]
        return cls(cases, np.r_[0, np.cumsum(run.starts[rows[cases] + 1] - begins)], begins)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def answers_of(self, hits: Ints) -> Ints:
        """The answers, by number, that some hits belong to."""
        return np.searchsorted(self.starts, hits, side="right") - 1

    def rows_of(self, hits: Ints) -> Ints:
        """The rows that some hits have in the run."""
        return hits + (self.begins - self.starts[:-1])[self.answers_of(hits)]

    def ranks_of(self, run: Run, hits: Ints) -> Ints:
        """The ranks of some hits in their answers, duplicates counted."""
        if run.rank is None:
            return hits - self.starts[self.answers_of(hits)] + 1
        return run.rank[self.rows_of(hits)].astype(np.int64)

    def ids(self, run: Run) -> Texts:
        """The ids of these hits, one after the other; of an Arrow column no copy where they are so in the run."""
        if bool((self.begins - self.starts[:-1] == self.begins[0]).all()):
            return run.ids[int(self.begins[0]) : int(self.begins[0]) + len(self)]
        rows = self.rows_of(np.arange(len(self)))
        return texts_at(run.ids, rows) if isinstance(run.ids, list) else run.ids[rows]


@dataclass(frozen=True, eq=False)
class BatchNames:
    """The names of the hits of a batch: answer ``i`` has those from ``begins[i]`` on.

    They may be a new list, or the ids of the whole run: a copy would cost as much as the lookup.
    """

    texts: list[str]
    begins: Ints

    def answers(self, batch: CaseBatch) -> Iterator[tuple[int, list[str]]]:
        """Every case with the names of its hits."""
        ends = self.begins + np.diff(batch.starts)
        for case, begin, end in zip(batch.cases.tolist(), self.begins.tolist(), ends.tolist(), strict=True):
            yield case, self.texts[begin:end]


def batches(run: Run, rows: Ints, cases: Ints) -> Iterator[CaseBatch]:
    """The cases in groups with answers of about BATCH hits in all."""
    lengths = run.starts[rows[cases] + 1] - run.starts[rows[cases]]
    groups = np.cumsum(lengths) // BATCH
    for group in np.split(cases, np.flatnonzero(np.diff(groups)) + 1):
        if len(group):
            yield CaseBatch.of(run, rows, group)


def match_by_lookup(suite: Suite, targets: list[str], batch: CaseBatch, names: BatchNames) -> tuple[Ints, Ints]:
    """Hits of a batch and the judgments that they meet, through one dictionary per case."""
    starts = suite.judgments.starts.tolist()

    def judgments() -> Iterator[Iterator[int]]:
        for case, hits in names.answers(batch):
            first, last = starts[case], starts[case + 1]
            rows_by_target = dict(zip(targets[first:last], range(first, last), strict=True))
            yield map(rows_by_target.get, hits, repeat(NO_JUDGMENT))

    return _judged_rows(judgments(), batch)


def match_by_id_or_path(
    suite: Suite, targets: list[str], batch: CaseBatch, ids: BatchNames, paths: BatchNames
) -> tuple[Ints, Ints]:
    """The same where a case has both: the id of a hit is looked up among the ids first, then its path among both."""
    starts, by_path = suite.judgments.starts.tolist(), judged_by_path(suite).tolist()

    def judgments() -> Iterator[Iterator[int]]:
        for (case, hits), (_, hit_paths) in zip(ids.answers(batch), paths.answers(batch), strict=True):
            rows = range(starts[case], starts[case + 1])
            rows_by_id = {targets[row]: row for row in rows if not by_path[row]}
            rows_by_name = rows_by_id | {targets[row]: row for row in rows if by_path[row]}
            yield map(rows_by_id.get, hits, map(rows_by_name.get, hit_paths, repeat(NO_JUDGMENT)))

    return _judged_rows(judgments(), batch)


def _judged_rows(judgments: Iterator[Iterator[int]], batch: CaseBatch) -> tuple[Ints, Ints]:
    judgment = np.fromiter(chain.from_iterable(judgments), np.int64, len(batch))
    hit = np.flatnonzero(judgment != NO_JUDGMENT)
    return hit, judgment[hit]


def text_column(texts: Texts) -> pl.Series | None:
    """Texts as an Arrow column; None where they cannot be one."""
    import polars as pl

    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:  # bytes that are not UTF-8
        return None


def match_by_join(suite: Suite, column: pl.Series, batch: CaseBatch, ids: pl.Series) -> tuple[Ints, Ints]:
    """The same through a join of Arrow columns, by a key for case and id; of equal keys the texts are compared as well."""
    import polars as pl

    judgments = suite.judgments
    first, last = int(judgments.starts[batch.cases[0]]), int(judgments.starts[batch.cases[-1] + 1])
    targets = column[first:last]
    judgment_keys = pl.DataFrame({"key": pair_keys(judgments.case[first:last], targets)}).with_row_index("judgment")
    hit_keys = pl.DataFrame({"key": pair_keys(np.repeat(batch.cases, np.diff(batch.starts)), ids)}).with_row_index("hit")
    pairs = judgment_keys.join(hit_keys, on="key")
    hit, judgment = pairs["hit"].to_numpy().astype(np.int64), pairs["judgment"].to_numpy().astype(np.int64)
    same = (ids[hit] == targets[judgment]).to_numpy() & (batch.cases[batch.answers_of(hit)] == judgments.case[first + judgment])
    return hit[same], first + judgment[same]


# Hits that name something again: found in all answers of a batch, dropped, and those behind them moved up.


def distinct_ranks(run: Run, batch: CaseBatch, names: BatchNames | pl.Series) -> Ints | None:
    """The rank of every hit among the distinct hits of its answer, 0 for one that repeats a name; None if none does."""
    texts, begins = (names.texts, names.begins) if isinstance(names, BatchNames) else (names, batch.starts)
    repetitive = _repetitive_lists(batch, names) if isinstance(names, BatchNames) else _repetitive_columns(batch, names)
    if not repetitive:
        return None
    ranks = batch.ranks_of(run, np.arange(len(batch)))
    for number in repetitive:
        start, end = batch.starts[number : number + 2].tolist()
        best_first = np.argsort(ranks[start:end])
        ranked_names = [texts[place] for place in (begins[number] + best_first).tolist()]
        # Written from behind, a dictionary keeps the first place of every name.
        firsts = sorted(dict(zip(reversed(ranked_names), range(end - start - 1, -1, -1), strict=True)).values())
        ranks[start:end] = 0
        ranks[start + best_first[firsts]] = np.arange(1, len(firsts) + 1)
    return ranks


def _repetitive_lists(batch: CaseBatch, names: BatchNames) -> list[int]:
    """The answers, by number, that name something twice."""
    return [number for number, (_, hits) in enumerate(names.answers(batch)) if len(set(hits)) < len(hits)]


def _repetitive_columns(batch: CaseBatch, ids: pl.Series) -> list[int]:
    """The same of an Arrow column, by hashes: answers of one length are sorted together, each by itself."""
    hashes, lengths = ids.hash().to_numpy(), np.diff(batch.starts)
    repetitive: list[int] = []
    for length in distinct(lengths).tolist():
        numbers = np.flatnonzero(lengths == length)
        sorted_hashes = np.sort(hashes[batch.starts[numbers][:, None] + np.arange(length)], axis=1)
        # Two ids may have one hash, if hardly ever.
        candidates = numbers[(sorted_hashes[:, 1:] == sorted_hashes[:, :-1]).any(axis=1)]
        repetitive += [n for n in candidates.tolist() if ids[batch.starts[n] : batch.starts[n + 1]].n_unique() < length]
    return repetitive


# Cases that are judged by id or path, matched many at once: their hits are distinct names, met by equal ones.


def match_in_batches(matching: Matching, cases: Ints, kinds: CaseKinds) -> Iterator[CaseMatchColumns]:
    """All matches of these cases, with the least work that each of them allows."""
    paths, ids = kinds.paths[cases], kinds.ids[cases]
    targets = target_names(matching.suite)
    yield from _match_ids(matching, cases[~paths], targets)
    if paths.any():
        yield from _match_paths(matching, cases[paths & ~ids], list(targets), mixed=False)
        yield from _match_paths(matching, cases[paths & ids], list(targets), mixed=True)


def _match_ids(matching: Matching, cases: Ints, targets: Texts) -> Iterator[CaseMatchColumns]:
    """Ids as they are, except that accents may be encoded in two ways."""
    suite, run, clean = matching.suite, matching.run, matching.spelling.composed
    column = text_column(targets) if clean and not isinstance(run.ids, list) else None
    texts = list(targets) if column is None else []
    for batch in batches(run, matching.rows, cases):
        ids = None if column is None else batch.ids(run)
        if column is None or ids is None or isinstance(ids, list):
            names = _names(batch, run, None if clean else compose_ids)
            yield _batch_columns(
                matching, batch, match_by_lookup(suite, texts, batch, names), _ranks(run, batch, names, clean=clean)
            )
        else:
            yield _batch_columns(matching, batch, match_by_join(suite, column, batch, ids), _ranks(run, batch, ids, clean=clean))


def _match_paths(matching: Matching, cases: Ints, targets: list[str], *, mixed: bool) -> Iterator[CaseMatchColumns]:
    """Paths in their normal form; ``mixed`` if every case judges ids as well."""
    suite, run, clean = matching.suite, matching.run, matching.spelling.normal
    directories = directories_above(compress(targets, judged_by_path(suite)))
    for batch in batches(run, matching.rows, cases):
        names = _names(batch, run, None if clean else normal_paths)
        if mixed:
            matches = match_by_id_or_path(suite, targets, batch, _names(batch, run, None if clean else compose_ids), names)
        else:
            matches = match_by_lookup(suite, targets, batch, names)
        ranks = _ranks(run, batch, names, clean=clean)
        pairs = list(_directory_pairs(matching, batch, targets, directories, names, ranks))
        yield _batch_columns(matching, batch, matches, ranks, pairs)


def _names(batch: CaseBatch, run: Run, normalise: Callable[[list[str]], list[str]] | None) -> BatchNames:
    """The ids of a batch as names: those of the run itself where nothing has to be cleaned."""
    if normalise is None and isinstance(run.ids, list):
        return BatchNames(run.ids, batch.begins)
    ids = list(batch.ids(run))
    return BatchNames(ids if normalise is None else normalise(ids), batch.starts[:-1])


def _ranks(run: Run, batch: CaseBatch, names: BatchNames | pl.Series, *, clean: bool) -> Ints | None:
    """Ranks among distinct hits; None where all are, as a run may promise for ids that are their own names."""
    return None if run.unique and clean else distinct_ranks(run, batch, names)


def _batch_columns(
    matching: Matching, batch: CaseBatch, matches: tuple[Ints, Ints], ranks: Ints | None, pairs: Sequence[PairRow] = ()
) -> CaseMatchColumns:
    """The matches of a batch without those of duplicates."""
    hit, judgment = matches
    rank = batch.ranks_of(matching.run, hit) if ranks is None else ranks[hit]
    hit, judgment, rank = hit[rank > 0], judgment[rank > 0], rank[rank > 0]
    case = batch.cases[batch.answers_of(hit)]
    repeats = np.zeros(0, np.int64) if ranks is None else np.flatnonzero(ranks == 0)
    return CaseMatchColumns(
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
        judged_paths = {targets[row]: (row, int(judgments.grades[row])) for row in rows if by_path[row]}
        yield from pairs_of_case(case, judged_paths, {hits[n]: rank[n] for n in range(len(hits)) if rank[n] and exists[n]})


# Matching by id where a run has the scores of every answer by id: the judged ids are looked up, and no other.
#
# A run returns many more ids than are judged. So nothing is listed, and no hit but a judged one gets a rank: its rank is found
# by its score, in the sorted scores of its answer. Where others have the same score, ids decide, as in every other run.


def match_scored(suite: Suite, run: Run, rows: Ints) -> CaseMatchColumns | None:
    """All matches, by case and rank; None where more than scores by id is needed, because an id may be spelt in two ways.

    ``rows`` says where in the run the answer to each case is, -1 for none.
    """
    if not isinstance(run, ScoredRun) or run.by_id is None or suite.judgments.match is not None or run.first_line is not None:
        return None
    targets = text_list(target_names(suite))
    scores = _scores_of(targets, suite, [run.by_id[row] if row >= 0 else {} for row in rows.tolist()])
    if scores is None:
        return None
    judgment = np.flatnonzero(~np.isnan(scores))
    case = suite.judgments.case[judgment]
    rank, row, ties = _rank_by_score(run, rows[case], scores[judgment])
    if len(ties):
        names = [targets[number] for number in judgment[ties].tolist()]
        rank[ties], row[ties] = _rank_by_id(run, run.by_id, rows[case[ties]], names)
    return _scored_columns(np.stack([case, rank, row, judgment, suite.judgments.grades[judgment]]), run.longest)


def _scores_of(targets: list[str], suite: Suite, answers: list[dict[str, float]]) -> Floats | None:
    """The score of every target in the answer to its case, NaN without any; None if an id that was returned is not clean."""
    starts = suite.judgments.starts.tolist()
    clean = True

    def case_scores() -> Iterator[Iterator[float]]:
        nonlocal clean
        for by_id, first, last in zip(answers, starts, starts[1:], strict=False):
            # Right before the lookup: what is read in one go here is in the cache of the processor there.
            many = "".join(by_id)
            if not many.isascii() or "#" in many:  # few have either, and only these are worth a closer look
                clean = clean and is_clean("\n".join(by_id))
            yield map(by_id.get, targets[first:last], repeat(nan))

    found_scores = chain.from_iterable(case_scores())
    scores = np.fromiter(found_scores, np.float64, len(targets))
    next(found_scores, None)  # to the last answer, also where the last cases have no judgment
    return scores if clean else None


def _rank_by_score(run: Run, answer: Ints, score: Floats) -> tuple[Ints, Ints, Ints]:
    """The ranks and rows of hits of some answers, by their scores, and which of these have the score of another hit."""
    order = order_by_score(run.scores, run.starts)
    sorted_scores = run.scores if order is None else run.scores[order]
    place = _first_not_above(score, sorted_scores, run.starts[answer], run.starts[answer + 1], run.longest)
    below = np.minimum(place + 1, run.starts[answer + 1] - 1)
    ties = np.flatnonzero((below > place) & (sorted_scores[below] == score))
    return place - run.starts[answer] + 1, place if order is None else order[place], ties


def _first_not_above(score: Floats, sorted_scores: Floats, begins: Ints, ends: Ints, longest: int) -> Ints:
    """For each score the first row from ``begins`` to ``ends`` with no higher one, all searched at once, in steps that halve."""
    above, last, step = begins - 1, ends - 1, 1 << longest.bit_length()
    while step := step >> 1:
        further = np.minimum(above + step, last)
        above += (further - above) * (sorted_scores[further] > score)
    return above + 1


def _rank_by_id(run: Run, by_id: tuple[dict[str, float], ...], answer: Ints, names: list[str]) -> tuple[Ints, Ints]:
    """The ranks and rows of some hits, among all hits of their answers, in the one order that runs have."""
    answers, number = np.unique(answer, return_inverse=True)
    whole = Run.from_scores({str(row): by_id[row] for row in answers.tolist()})
    places = [dict(zip(by_id[row], range(len(by_id[row])), strict=True)) for row in answers.tolist()]
    place = np.array([places[n][name] for n, name in zip(number.tolist(), names, strict=True)], np.int64)
    return place + 1 if whole.rank is None else whole.rank[whole.starts[number] + place], run.starts[answer] + place


def _scored_columns(hits: Ints, longest: int) -> CaseMatchColumns:
    """The hits in their order; of two judgments of one id the last counts."""
    key = hits[0] * (longest + 1) + hits[1]
    order = np.argsort(key, kind="stable")
    order = order[np.diff(key[order], append=-1) != 0]
    hits = hits[:, order]
    return CaseMatchColumns(hits=hits, met=np.stack([hits[3], np.arange(len(order))]), repeats=np.zeros(0, np.int64), pairs=())
