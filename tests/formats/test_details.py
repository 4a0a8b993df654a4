"""What is known of an answer survives being saved, zeros included."""

from __future__ import annotations

from pathlib import Path

from searchmark import Answer, AnswerDetails, Run, load_run, save_run


def test_a_cost_of_0_is_kept_apart_from_one_that_is_not_known(tmp_path: Path) -> None:
    answers = [Answer("free", "empty", details=AnswerDetails(cost=0.0, first_hit_ms=0.0)), Answer("unknown", "empty")]
    save_run(Run.from_answers("agent", answers), tmp_path / "run.jsonl")
    free, unknown = load_run(tmp_path / "run.jsonl").answers
    assert (free.details.cost, free.details.first_hit_ms) == (0.0, 0.0)
    assert unknown.details.cost is None
