"""Ways in which search gets worse, case by case: what a gate should notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from searchmark.judging.judge import Judged, target_ranks
from searchmark.records import Answer, Hit

MOST_CATEGORIES = 10  # that are emptied, each on its own
Change = Callable[[Answer, frozenset[int], np.random.Generator], Answer]


@dataclass(frozen=True)
class Mutation:
    """A way to get worse: what happens to an answer, given the ranks of its relevant hits, and to which cases it can happen.

    ``exchanged``: what is exchanged case by case to see what chance alone does.
    """

    name: str
    change: Change
    rows: tuple[int, ...]
    exchanged: bool = False


def mutations_of(judged: Judged) -> Iterator[Mutation]:
    """Every mutation that this run can undergo."""
    answered = tuple(row for row, case in enumerate(judged.suite.table.ids) if case in judged.run.index)
    yield Mutation("relevant hits dropped", _without_relevant, answered)
    yield Mutation("first two results swapped", _first_two_swapped, answered)
    yield Mutation("order of the results shuffled", _shuffled, answered, exchanged=True)
    yield Mutation("agent dead", _dead, answered)
    categories = judged.suite.table.categories or ()
    for category in sorted(_by_size(judged)[:MOST_CATEGORIES]):
        yield Mutation(f"category {category} emptied", _emptied, tuple(row for row in answered if categories[row] == category))


def categories_left_out(judged: Judged) -> int:
    """How many categories are too many to be emptied one by one."""
    return max(0, len(_by_size(judged)) - MOST_CATEGORIES)


def _by_size(judged: Judged) -> list[str]:
    """The categories, the largest first."""
    counts = Counter(each for each in judged.suite.table.categories or () if each)
    return sorted(counts, key=lambda category: (-counts[category], category))


def mutated_answers(judged: Judged, mutation: Mutation, generator: np.random.Generator) -> dict[int, Answer]:
    """The answers to all cases that the mutation can happen to, after it has happened, by the row of the case."""
    run, ids = judged.run, judged.suite.table.ids
    changed = {}
    for row in mutation.rows:
        relevant = frozenset(rank for rank in target_ranks(judged, row).values() if rank is not None)
        changed[row] = mutation.change(run.answer(run.index[ids[row]]), relevant, generator)
    return changed


def _without_relevant(answer: Answer, relevant: frozenset[int], _: np.random.Generator) -> Answer:
    return _with_hits(answer, [hit for hit in answer.hits if hit.rank not in relevant])


def _first_two_swapped(answer: Answer, _: frozenset[int], __: np.random.Generator) -> Answer:
    return _with_hits(answer, [*answer.hits[1:2], *answer.hits[:1], *answer.hits[2:]])


def _shuffled(answer: Answer, _: frozenset[int], generator: np.random.Generator) -> Answer:
    return _with_hits(answer, [answer.hits[place] for place in generator.permutation(len(answer.hits)).tolist()])


def _emptied(answer: Answer, _: frozenset[int], __: np.random.Generator) -> Answer:
    return _with_hits(answer, [])


def _dead(answer: Answer, _: frozenset[int], __: np.random.Generator) -> Answer:
    return replace(answer, status="error", hits=())


def _with_hits(answer: Answer, hits: Sequence[Hit]) -> Answer:
    """The answer with other hits, renumbered; scores would contradict a new order, and stay with their ranks."""
    scores = [hit.score for hit in answer.hits]
    kept = tuple(replace(hit, rank=rank, score=scores[rank - 1]) for rank, hit in enumerate(hits, 1))
    return replace(answer, hits=kept, status=answer.status if kept or answer.status != "ok" else "empty")
