"""What must not be told: controls that were not pooled, ties that decide nothing, labels that no one could give at once."""

from __future__ import annotations

import random
from dataclasses import replace

from searchmark import Answer, Case, Hit
from searchmark.audit.agents import judged_table, pool_bias
from searchmark.audit.numbers import MOST_LABELS, _is_easy, about_ties
from searchmark.records.sentences import LONGEST_QUOTED_NAME, quote_name
from searchmark.scoring.unjudged import Flip
from tests.audit.clean import Clean, clean


def _shuffled(name: str) -> Clean:
    chance, ids = random.Random(3), [each.id for each in clean().documents]
    hits = (tuple(Hit(each, rank) for rank, each in enumerate(chance.sample(ids, 20), 1)) for _ in clean().cases)
    return clean().with_answers(name, [Answer(case.id, "ok", some) for case, some in zip(clean().cases, hits, strict=True)])


def test_a_control_may_return_what_was_not_judged() -> None:
    subject = _shuffled("random").subject()
    assert list(pool_bias(subject)) == []
    table = judged_table(subject)
    assert table is not None
    assert [row[0] for row in table.rows] == ["strong", "weak", "random"]


def test_another_agent_with_the_same_hits_is_judged_unevenly() -> None:
    assert [each.code for each in pool_bias(_shuffled("other").subject())] == ["judged-unevenly"]


def _with_one_tie() -> Clean:
    """A run like the strong one whose second and third hit of one case have the same score, and the strong one with these turned."""
    strong = list(clean().answers["strong"])
    row = next(row for row, case in enumerate(clean().cases) if _grades(case, strong[row]) in ([1, 0], [2, 0]))
    one, two, three, *rest = strong[row].hits
    tied = replace(strong[row], hits=(one, two, replace(three, score=two.score), *rest))
    return clean().with_answers("tied", [*strong[:row], tied, *strong[row + 1 :]])


def _grades(case: Case, answer: Answer) -> list[int]:
    grades = {each.target: each.grade for each in case.judgments}
    return [grades[hit.id] for hit in answer.hits[1:3]]


def test_a_range_below_what_matters_says_nothing_though_another_mean_lies_in_it() -> None:
    tied = _with_one_tie()
    subject = replace(tied.subject(), options=replace(tied.subject().options, min_effect=0.01))
    assert list(about_ties(subject)) == []


def _flip(enough: int) -> Flip:
    return Flip(difference=0.01, labelled=-0.1, bound=-0.1, enough=enough, unjudged=5000, cases=2000)


def test_an_order_is_easy_to_turn_round_with_as_many_labels_as_can_be_judged_at_once() -> None:
    assert _is_easy(_flip(MOST_LABELS))
    assert not _is_easy(_flip(MOST_LABELS + 1))


def test_long_names_keep_their_ends_by_which_they_differ() -> None:
    first, second = (quote_name(f"https://example.org/a/very/long/path/to/the/document/{end}") for end in ("one.py", "two.py"))
    assert first.endswith("one.py'")
    assert second.endswith("two.py'")
    assert len(first) == len(second) == LONGEST_QUOTED_NAME + 2
