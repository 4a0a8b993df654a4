"""A run that did not search, or names documents differently, is untrusted for whoever asks; one that searched badly is not."""

from __future__ import annotations

import pytest

from searchmark import Case, Judgment, Run, Scores, Suite, judge, score
from searchmark.analysis.distrust import broken
from searchmark.pytest_plugin.checking import outcome_of

NAMES = tuple(f"page{n}.md" for n in range(8))
SUITE = Suite.from_cases("s", [Case(f"c{n}", f"query {n}", (Judgment(name),)) for n, name in enumerate(NAMES)])


def scored(*answers: tuple[str, ...], agent: str = "mine", corpus: bool = True) -> Scores:
    """The scores of these answers, the last one for all further cases."""
    hits = {f"c{n}": answers[min(n, len(answers) - 1)] for n in range(len(NAMES))}
    run = Run.from_scores({case: {hit: 1 / rank for rank, hit in enumerate(some, 1)} for case, some in hits.items()}, agent)
    return score(judge(SUITE, run, NAMES if corpus else None), ["RR"])


def kinds(scores: Scores) -> list[str]:
    return [each.kind for each in broken(scores.judged)]


@pytest.mark.parametrize(
    ("answer", "corpus", "kind"),
    [
        ((), True, "all_answers_empty"),
        (("nowhere",), True, "all_hits_invalid"),
        (("docs/page0.md",), False, "no_hit_judged"),
        (("page0.md",), True, "one_document"),
    ],
)
def test_a_search_that_was_none_is_told(answer: tuple[str, ...], corpus: bool, kind: str) -> None:
    found = scored(answer, corpus=corpus)
    assert kind in kinds(found)
    cases = outcome_of(found, (), None, "searchmark evaluate").cases.values()
    assert {(each.verdict, each.message.startswith("untrusted: ")) for each in cases} == {("error", True)}


def test_a_search_that_is_bad_is_no_broken_one() -> None:
    found = scored(*((NAMES[(n + 1) % 8], NAMES[(n + 2) % 8]) for n in range(8)))
    assert kinds(found) == []
    assert {each.verdict for each in outcome_of(found, (), None, "").cases.values()} == {"passed"}


@pytest.mark.parametrize("answer", [(), ("page0.md",)])
def test_a_control_knows_nothing_on_purpose(answer: tuple[str, ...]) -> None:
    assert kinds(scored(answer, agent="popular")) == []
