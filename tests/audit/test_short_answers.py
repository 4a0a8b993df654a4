"""Runs that end above the cutoff of a measure, and those that only find little."""

from __future__ import annotations

from dataclasses import replace

from searchmark import Run, Suite, compare_runs
from searchmark.audit.numbers import short_answers
from tests.audit.clean import Clean, clean


def _cut(*lengths: int) -> Clean:
    """The strong run with so many hits per case, these lengths in turn."""
    strong = enumerate(clean().answers["strong"])
    return clean().with_answers("strong", [replace(each, hits=each.hits[: lengths[row % len(lengths)]]) for row, each in strong])


def test_a_cut_run_is_told_with_the_measures_that_do_not_see_more() -> None:
    (found,) = short_answers(_cut(3).subject())
    assert found.message == "strong: answers have at most 3 hits, those of other runs up to 20: nDCG@10, P@5 see no more"


def test_a_cut_run_alone_is_told_beside_a_larger_corpus() -> None:
    cut = _cut(3)
    (found,) = short_answers(replace(cut, answers={"strong": cut.answers["strong"]}).subject())
    assert found.message == "answers have at most 3 hits, of 1200 documents: nDCG@10, P@5 see no more"


def test_a_search_that_finds_little_is_not_cut() -> None:
    assert list(short_answers(_cut(1, 2, 3, 4).subject())) == []


def test_a_run_as_deep_as_all_cutoffs_is_not_short() -> None:
    assert list(short_answers(_cut(10).subject())) == []


def test_a_comparison_says_so_and_not_that_the_cut_run_reached_the_depth_of_the_others() -> None:
    cut = _cut(3)
    weak, strong = (Run.from_answers(name, cut.answers[name]) for name in ("weak", "strong"))
    weak = replace(weak, provenance=replace(weak.provenance, options={"depth": 20}))
    found = compare_runs(Suite.from_cases("clean", cut.cases), [weak, strong], ["nDCG@10", "AP"]).audit
    assert "short-answers" in {each.code for each in found}
    assert [each.message[:5] for each in found if each.code == "cut-answers"] == ["weak:"]
