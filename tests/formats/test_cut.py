"""Runs whose answers are cut to their first hits."""

from __future__ import annotations

from pathlib import Path

from searchmark import Answer, Hit, Run, load_run
from searchmark.records.merge import cut_run


def test_the_first_hits_are_kept_with_all_that_belongs_to_them() -> None:
    hits = tuple(Hit(name, rank, 9.0 - rank, name != "b", (rank, rank + 1)) for rank, name in enumerate("abc", 1))
    run = Run.from_answers("r", [Answer("c1", "ok", hits), Answer("c2", "error"), Answer("c3", "ok", hits[:1])])
    cut = cut_run(run, 2)
    assert [answer.hits for answer in cut.answers] == [hits[:2], (), hits[:1]]
    assert (cut.status.tolist(), cut.longest, cut.dropped) == (run.status.tolist(), 2, {"below_same_depth": 1})


def test_hits_of_a_trec_file_are_cut_by_their_rank_and_not_by_their_line(tmp_path: Path) -> None:
    lines = [f"q{query} Q0 d{hit} 0 {hit % 7} t\n" for query in range(50) for hit in range(7)]
    (tmp_path / "run.txt").write_text("".join(lines))
    cut = cut_run(load_run(tmp_path / "run.txt"), 3)
    assert {tuple(cut.ids_of(row)) for row in range(len(cut))} == {("d6", "d5", "d4")}
    assert cut.dropped == {"below_same_depth": 200}


def test_a_run_without_longer_answers_is_left_as_it_is() -> None:
    run = Run.from_answers("r", [Answer("c1", "ok", (Hit("a", 1),)), Answer("c2", "empty")])
    assert cut_run(run, 1) is run
    assert Run.from_answers("r", []).longest == 0
