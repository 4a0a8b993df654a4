"""Gold within the first hits of one run: chosen from them, or found by all."""

from __future__ import annotations

from math import comb

from searchmark.audit.agents import FEWEST_CASES_WITH_SEVERAL, WITHIN, gold_within_first_hits
from tests.audit.clean import clean
from tests.audit.mutations.agents import circular_gold, gold_from_first_hits


def test_gold_within_the_first_hits_of_one_run_is_told_with_what_another_has() -> None:
    (found,) = gold_within_first_hits(gold_from_first_hits(clean()))
    assert found.message.startswith("strong: 100% of the targets are among its first hits, 2 for each target; of another run ")


def test_an_easy_suite_in_which_all_runs_find_everything_is_not_told() -> None:
    subject = clean().subject()
    assert list(gold_within_first_hits(subject)) == []
    easy = clean().with_answers("weak", clean().answers["strong"]).subject()
    assert list(gold_within_first_hits(easy)) == []


def test_circular_gold_is_not_told_twice() -> None:
    assert list(gold_within_first_hits(circular_gold(clean()))) == []


def test_an_honest_agent_that_finds_nine_of_ten_targets_is_told_in_few_suites() -> None:
    targets = 3 * FEWEST_CASES_WITH_SEVERAL
    enough = range(round(WITHIN * targets), targets + 1)
    assert sum(comb(targets, n) * 0.9**n * 0.1 ** (targets - n) for n in enough) < 1 / 70
