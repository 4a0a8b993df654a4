"""Lexical traps: documents that have more of the query's words than every relevant one, and are not relevant."""

from __future__ import annotations

import math

import pytest

from searchmark import Case, Corpus, Defaults, Document, Judgment, NothingEvaluated, Suite
from searchmark.agents.lexical.bm25 import Bm25Agent
from searchmark.judgments.perturb import lexical_traps

DOCUMENTS = [
    Document("right", "remove a person who has left"),
    Document("wrong", "user login page and user account page"),
    Document("half", "login only"),
    Document("other", "something else entirely, about boards"),
    Document("more", "boards again"),
]
CORPUS = Corpus.of("corpus", DOCUMENTS)


def suite_of(*cases: Case, **rest: object) -> Suite:
    return Suite.from_cases("s", cases, **rest)


def test_a_trap_names_what_draws_a_search_for_words() -> None:
    found = lexical_traps(suite_of(Case("a", "login account person", (Judgment("right"),))), CORPUS)
    trap = found.traps["a"]
    # login is in two documents of five, account and person in one each.
    login, single = (math.log(1 + (5 - count + 0.5) / (count + 0.5)) for count in (2, 1))
    assert trap.distractors == ("wrong",)
    assert trap.share == pytest.approx((login + single) / (login + 2 * single))
    assert trap.relevant_share == pytest.approx(single / (login + 2 * single))
    assert (trap.more, found.cases_checked, found.skipped) == (1, 1, {})


def test_the_written_cases_are_tagged_and_keep_their_judgments() -> None:
    judged = (Judgment("right", grade=2), Judgment("half", grade=0))
    suite = suite_of(Case("a", "login account", judged, tags=("x",), fields={"k": 1}), Case("b", "boards", (Judgment("more"),)))
    (case,) = lexical_traps(suite, CORPUS).trapped().cases
    assert (case.id, case.query, case.judgments, case.tags) == ("a", "login account", judged, ("x", "lexical-trap"))
    assert case.fields == {"k": 1, "distractor": "wrong", "distractors": ["wrong", "half"]}


def test_as_many_words_are_no_trap() -> None:
    assert lexical_traps(suite_of(Case("a", "boards", (Judgment("other"),))), CORPUS).traps == {}


def test_a_document_of_any_grade_above_0_is_not_the_wrong_one() -> None:
    """With rel 2 a document of grade 1 is not what is looked for, and no distractor either."""
    case = Case("a", "login account", (Judgment("right", grade=2), Judgment("wrong", grade=1)))
    found = lexical_traps(suite_of(case), CORPUS)
    assert found.traps == {}
    strict = lexical_traps(suite_of(case, defaults=Defaults(rel=2)), CORPUS)
    assert strict.traps["a"].distractors == ("half",)


@pytest.mark.parametrize(
    "judgment",
    [Judgment("wro*", "glob"), Judgment("./wrong", "path"), Judgment("wrong#L1-L2", "lines")],
    ids=lambda each: each.match,
)
def test_targets_are_found_however_they_are_named(judgment: Judgment) -> None:
    found = lexical_traps(suite_of(Case("a", "login account", (judgment,))), CORPUS)
    assert (found.traps, found.cases_checked) == ({}, 1)


def test_cases_that_say_nothing_are_counted() -> None:
    suite = suite_of(
        Case("a", "login", unanswerable=True),
        Case("b", "login", (Judgment("gone"),)),
        Case("c", "...", (Judgment("right"),)),
        Case("d", None, (Judgment("right"),)),
        Case("e", "person", (Judgment("right"),)),
    )
    found = lexical_traps(suite, CORPUS)
    assert found.cases_checked == 1
    assert found.skipped == {
        "unanswerable": 1, "without a relevant document in the corpus": 1, "without words to search for": 2,
    }  # fmt: skip


def test_cases_that_bring_documents_are_looked_at_in_their_own() -> None:
    own = (Document("p", "alpha"), Document("q", "beta beta gamma"), Document("r", "delta"))
    suite = suite_of(
        Case("a", "beta", (Judgment("p"),), documents=own),
        Case("b", "alpha", (Judgment("p"),), documents=own),
        Case("c", "beta", (Judgment("q"),), documents=(Document("p", "beta"), Document("q", "beta"))),
    )
    found = lexical_traps(suite, None)
    assert {name: trap.distractors for name, trap in found.traps.items()} == {"a": ("q",)}
    assert found.cases_checked == 3


def test_bm25_ranks_a_distractor_first() -> None:
    """What is found is what a search for words runs into."""
    suite = suite_of(Case("a", "login account person", (Judgment("right"),)))
    agent = Bm25Agent()
    agent.initialize(CORPUS)
    assert agent.retrieve("login account person", 5).files[0] == lexical_traps(suite, CORPUS).traps["a"].distractors[0]


def test_nothing_is_written_without_a_trap() -> None:
    found = lexical_traps(suite_of(Case("a", "person", (Judgment("right"),))), CORPUS)
    with pytest.raises(NothingEvaluated, match="no case of the suite 's' is a lexical trap"):
        found.trapped()
