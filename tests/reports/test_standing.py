"""Letters tell which runs a run beats with evidence."""

from __future__ import annotations

import pytest

from searchmark import Answer, Case, Hit, Judgment, Run, Suite, compare, match_hits, score
from searchmark.reports.comparison_tables import beaten_by, letters


@pytest.mark.parametrize("count", [2, 27, 50])
def test_letters_suffice_for_many_runs(count: int) -> None:
    assert len(set(letters(count))) == count


def test_the_standing_names_the_runs_that_each_one_beats() -> None:
    suite = Suite.from_cases("s", [Case(f"c{n}", judgments=(Judgment(f"a{n}"),)) for n in range(50)])
    hits = {"a": ("x", "a{n}"), "b": ("a{n}",), "c": ("x", "a{n}")}
    runs = [
        Run.from_answers(
            name, [Answer(f"c{n}", "ok", tuple(Hit(hit.format(n=n), rank) for rank, hit in enumerate(found, 1))) for n in range(50)]
        )
        for name, found in hits.items()
    ]
    pairs = compare([score(match_hits(suite, run), ["RR"]) for run in runs])
    assert beaten_by(pairs, list(hits), "RR") == {"a": [], "b": ["a", "c"], "c": []}
