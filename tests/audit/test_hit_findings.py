"""What is said of hits that do not exist, or that no judgment is about."""

from __future__ import annotations

import pytest

from searchmark import Case, Corpus, Document, Finding, Judgment, Run, Suite, evaluate_run
from searchmark.reports.report import outcome_of
from tests.audit.clean import clean
from tests.audit.mutations.runs import asked_about

PAGES = ("gates.md", "runs.md", "suites.md", "agents.md", "audit.md")


def found(hits: dict[str, tuple[str, ...]], *, corpus: bool, gold: tuple[str, ...] = PAGES[:3]) -> tuple[dict[str, Finding], str]:
    """What is said of a run with one target for each case, and how its report ends."""
    suite = Suite.from_cases("s", [Case(f"c{row}", f"query {row}", (Judgment(each),)) for row, each in enumerate(gold)])
    run = Run.from_scores({case: {hit: 1 / rank for rank, hit in enumerate(some, 1)} for case, some in hits.items()})
    survey = Corpus.of("pages", [Document(each, f"the page {each}") for each in PAGES]).survey if corpus else None
    report = evaluate_run(suite, [run], ["RR"], corpus=survey)
    return {each.code: each for each in report.audit}, outcome_of(report)


def under(prefix: str) -> dict[str, tuple[str, ...]]:
    return {f"c{row}": tuple(prefix + page for page in PAGES) for row in range(3)}


def test_a_run_whose_hits_all_lack_in_the_corpus_was_not_measured() -> None:
    said, outcome = found(under("docs/"), corpus=True)
    assert outcome == "untrusted"
    assert said["all-hits-invalid"].message == (
        "none of 15 hits is in the corpus: 'docs/gates.md' (the corpus has 'gates.md'); "
        "with the prefix 'docs/' left out, 15 of them would be found"
    )
    assert "invalid-hits" not in said


def test_hits_that_no_change_makes_fit_are_told_without_a_hint() -> None:
    said, outcome = found({f"c{row}": tuple(f"{row}:{n}" for n in range(5)) for row in range(3)}, corpus=True)
    assert (said["all-hits-invalid"].message, outcome) == (
        "none of 15 hits is in the corpus: '0:0'; ids there are like 'agents.md'",
        "untrusted",
    )


def test_few_hits_may_all_be_made_up() -> None:
    said, outcome = found({"c0": ("nothing",), "c1": ("none",), "c2": ("no",)}, corpus=True)
    assert (said["invalid-hits"].message, outcome) == (
        "hits that do not exist in the corpus: 3 of 3 (100 %), like 'nothing'; ids there are like 'agents.md'",
        "measured",
    )


def test_some_hits_that_do_not_exist_are_told_with_their_share() -> None:
    said, outcome = found(under("") | {"c2": ("docs/gates.md", "docs/runs.md", "docs/suites.md")}, corpus=True)
    assert outcome == "measured"
    assert said["invalid-hits"].cases == ("c2",)
    assert said["invalid-hits"].message == (
        "hits that do not exist in the corpus: 3 of 13 (23 %), like 'docs/gates.md' (the corpus has 'gates.md'); "
        "with the prefix 'docs/' left out, 3 of them would be found"
    )


@pytest.mark.parametrize(
    ("hit", "words"),
    [("docs/{}", "the prefix 'docs/' left out"), ("x{}", None), ("./docs/{}", "the prefix './docs/' left out")],
)
def test_without_a_corpus_a_change_by_which_hits_are_judged_is_told(hit: str, words: str | None) -> None:
    said, outcome = found({f"c{row}": tuple(map(hit.format, PAGES)) for row in range(3)}, corpus=False)
    codes = {"hits-in-other-spelling", "no-hit-judged"} & said.keys()
    assert (codes, outcome) == (({"no-hit-judged"}, "untrusted") if words is None else ({"hits-in-other-spelling"}, "untrusted"))
    assert words is None or f"with {words}, 3 of them would be found" in said["hits-in-other-spelling"].message


def test_a_change_by_which_hits_fit_other_cases_alone_is_no_reason() -> None:
    hits = {"c0": ("docs/runs.md",), "c1": ("docs/suites.md",), "c2": ("docs/gates.md", "docs/a", "docs/b")}
    said, outcome = found(hits, corpus=False)
    assert ("no-hit-judged" in said, outcome) == (True, "untrusted")


def test_one_judged_hit_is_enough_to_know_that_names_are_alike() -> None:
    said, _ = found(under("docs/") | {"c2": ("suites.md",)}, corpus=False)
    assert not {"no-hit-judged", "hits-in-other-spelling"} & said.keys()


def test_a_clean_run_without_a_corpus_has_nothing_of_the_kind() -> None:
    one = asked_about(clean())
    report = evaluate_run(one.suite, [Run.from_answers("r", one.answers)], ["RR"])
    assert not {"no-hit-judged", "hits-in-other-spelling"} & {each.code for each in report.audit}


def of_lines(hits: dict[str, tuple[str, ...]]) -> tuple[dict[str, Finding], str]:
    """What is said of a saved run of passages, where line 50 of a page is judged for each case."""
    cases = [Case(f"c{row}", f"query {row}", (Judgment(f"{page}#L50", "lines"),)) for row, page in enumerate(PAGES)]
    run = Run.from_scores({case: {hit: 1 / rank for rank, hit in enumerate(some, 1)} for case, some in hits.items()})
    report = evaluate_run(Suite.from_cases("s", cases), [run], ["RR", "LineR(lines=9)"])
    return {each.code: each for each in report.audit}, outcome_of(report)


@pytest.mark.parametrize("judged", [False, True])
def test_other_lines_of_the_right_documents_are_not_another_spelling(judged: bool) -> None:
    hits = {f"c{row}": tuple(f"{page}#L{first}-L{first + 5}" for first in (1, 9, 20)) for row, page in enumerate(PAGES)}
    said, outcome = of_lines(hits | ({"c0": ("gates.md#L48-L52",)} if judged else {}))
    assert not {"no-hit-judged", "hits-in-other-spelling", "some-hits-in-other-spelling"} & said.keys()
    assert outcome != "untrusted"


def test_a_saved_run_that_counts_no_lines_says_why_there_is_no_value() -> None:
    said, _ = of_lines({"c0": ("gates.md#L48-L52",)})
    message = said["undefined-values"].message
    assert message.startswith(
        "cases for which LineR(lines=9) is undefined, not in its mean: 5 ("
    )  # cases without an answer too: they would be a mean of 0
    assert "the run does not say how long the lines of its hits are" in message
