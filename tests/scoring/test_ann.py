"""ANN recall of a run: means over the searches that know their true neighbours, those of different k apart."""

from __future__ import annotations

from searchmark import Answer, AnswerDetails, Run
from searchmark.scoring.costs import AnnRecall, ann_recall_of


def run_of(*details: AnswerDetails) -> Run:
    return Run.from_answers("a", [Answer(f"c{i}", "ok", details=each) for i, each in enumerate(details)])


def test_recall_and_overlap_are_means_over_the_searches_that_have_them() -> None:
    found = ann_recall_of(
        run_of(
            AnswerDetails(ann_k=10, ann_recall=1.0, ann_overlap=0.9),
            AnswerDetails(ann_k=10, ann_recall=0.5, ann_overlap=0.4),
            AnswerDetails(),
        )
    )
    assert found == {"10": AnnRecall(10, recall=0.75, overlap=0.65, lowest=0.5, incomplete=1, searches=2, of=3)}


def test_different_k_are_never_averaged_together() -> None:
    small, large = AnswerDetails(ann_k=5, ann_recall=1.0), AnswerDetails(ann_k=10, ann_recall=0.2)
    found = ann_recall_of(run_of(small, large, small))
    assert [(k, each.recall, each.searches) for k, each in found.items()] == [("10", 0.2, 1), ("5", 1.0, 2)]


def test_what_is_not_stated_is_absent() -> None:
    assert ann_recall_of(run_of(AnswerDetails(cold_ms=(1.0,)))) == {}
    assert ann_recall_of(Run.from_scores({"q": {"a": 1.0}})) == {}


def test_a_case_that_was_not_run_is_no_search() -> None:
    answers = [Answer("c1", "ok", details=AnswerDetails(ann_k=10, ann_recall=1.0)), Answer("c2", "not_run")]
    assert ann_recall_of(Run.from_answers("a", answers))["10"].of == 1
