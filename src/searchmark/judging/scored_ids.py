"""Matching by id where a run has the scores of every answer by id: the judged ids are looked up, and no other.

A run returns many more ids than are judged. So nothing is listed, and no hit but a judged one gets a rank: its rank is found
by its score, in the sorted scores of its answer. Where others have the same score, ids decide, as in every other run.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from math import nan

import numpy as np

from searchmark.judging.matches import Part
from searchmark.judging.names import is_clean, target_names
from searchmark.measures.formulas import Floats, Ints
from searchmark.records import Run, ScoredRun, Suite
from searchmark.records.id_columns import order_by_score, text_list


def match_scored(suite: Suite, run: Run, rows: Ints) -> Part | None:
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
    rank, row, tied = _ranked(run, rows[case], scores[judgment])
    if len(tied):
        names = [targets[number] for number in judgment[tied].tolist()]
        rank[tied], row[tied] = _ranked_by_id(run, run.by_id, rows[case[tied]], names)
    return _part(np.stack([case, rank, row, judgment, suite.judgments.grades[judgment]]), run.longest)


def _scores_of(targets: list[str], suite: Suite, answers: list[dict[str, float]]) -> Floats | None:
    """The score of every target in the answer to its case, NaN without any; None if an id that was returned is not clean."""
    starts = suite.judgments.starts.tolist()
    clean = True

    def found() -> Iterator[Iterator[float]]:
        nonlocal clean
        for by_id, first, last in zip(answers, starts, starts[1:], strict=False):
            # Right before the lookup: what is read in one go here is in the cache of the processor there.
            many = "".join(by_id)
            if not many.isascii() or "#" in many:  # few have either, and only these are worth a closer look
                clean = clean and is_clean("\n".join(by_id))
            yield map(by_id.get, targets[first:last], repeat(nan))

    found_scores = chain.from_iterable(found())
    scores = np.fromiter(found_scores, np.float64, len(targets))
    next(found_scores, None)  # to the last answer, also where the last cases have no judgment
    return scores if clean else None


def _ranked(run: Run, answer: Ints, score: Floats) -> tuple[Ints, Ints, Ints]:
    """The ranks and rows of hits of some answers, by their scores, and which of these have the score of another hit."""
    order = order_by_score(run.scores, run.starts)
    ordered = run.scores if order is None else run.scores[order]
    place = _first_not_above(score, ordered, run.starts[answer], run.starts[answer + 1], run.longest)
    below = np.minimum(place + 1, run.starts[answer + 1] - 1)
    tied = np.flatnonzero((below > place) & (ordered[below] == score))
    return place - run.starts[answer] + 1, place if order is None else order[place], tied


def _first_not_above(score: Floats, ordered: Floats, begins: Ints, ends: Ints, longest: int) -> Ints:
    """For each score the first row from ``begins`` to ``ends`` with no higher one, all searched at once, in steps that halve."""
    above, last, step = begins - 1, ends - 1, 1 << longest.bit_length()
    while step := step >> 1:
        further = np.minimum(above + step, last)
        above += (further - above) * (ordered[further] > score)
    return above + 1


def _ranked_by_id(run: Run, by_id: tuple[dict[str, float], ...], answer: Ints, names: list[str]) -> tuple[Ints, Ints]:
    """The ranks and rows of some hits, among all hits of their answers, in the one order that runs have."""
    answers, number = np.unique(answer, return_inverse=True)
    whole = Run.from_scores({str(row): by_id[row] for row in answers.tolist()})
    places = [dict(zip(by_id[row], range(len(by_id[row])), strict=True)) for row in answers.tolist()]
    place = np.array([places[n][name] for n, name in zip(number.tolist(), names, strict=True)], np.int64)
    return place + 1 if whole.rank is None else whole.rank[whole.starts[number] + place], run.starts[answer] + place


def _part(hits: Ints, longest: int) -> Part:
    """The hits in their order; of two judgments of one id the last counts."""
    key = hits[0] * (longest + 1) + hits[1]
    order = np.argsort(key, kind="stable")
    order = order[np.diff(key[order], append=-1) != 0]
    hits = hits[:, order]
    return Part(hits=hits, met=np.stack([hits[3], np.arange(len(order))]), repeats=np.zeros(0, np.int64), pairs=())
