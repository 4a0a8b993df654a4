"""Judgments and runs that are shifted, wholly or from some case on, and honest ones that are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from searchmark.audit.shifts import SHIFTS, Shift, best_shift, judgments_of_other_queries, shifted_runs
from searchmark.records.columns import Floats
from tests.audit.clean import CASES, Clean, clean
from tests.audit.mutations.agents import shifted_run

HALF = CASES // 2


def _with_a_row_too_many() -> Clean:
    """From the middle on every case has the judgments of the one before it, the first of them those of the last."""
    cases = clean().cases
    given = [*cases[:HALF], cases[-1], *cases[HALF:-1]]
    return clean().with_cases(replace(case, judgments=other.judgments) for case, other in zip(cases, given, strict=True))


def _answers_shifted_from(first: int) -> Clean:
    strong = clean().answers["strong"]
    given = [*strong[:first], strong[-1], *strong[first:-1]]
    return clean().with_answers("strong", [replace(each, case=case.id) for case, each in zip(clean().cases, given, strict=True)])


def test_judgments_that_are_shifted_from_the_middle_on_are_found_by_words() -> None:
    (found,) = judgments_of_other_queries(replace(_with_a_row_too_many(), answers={}).subject())
    assert found.code == "shifted-judgments"
    expected = "queries from case c30 to c59 fit the judgments of the case that comes 1 case later, and not their own: 'c30' "
    assert found.message.startswith(expected)


def test_judgments_that_are_shifted_from_the_middle_on_are_found_by_runs() -> None:
    subject = replace(_with_a_row_too_many().subject(), corpus=None)
    assert [each.code for each in shifted_runs(subject)] == ["shifted-judgments"]


def test_a_shifted_run_is_told_and_the_judgments_are_not_blamed() -> None:
    subject = shifted_run(clean())
    assert list(judgments_of_other_queries(subject)) == []
    (found,) = shifted_runs(subject)
    assert found.message.startswith("strong: answers fit the judgments of the case that comes 1 case earlier: ")


def test_a_shifted_run_beside_one_that_is_not_says_nothing_of_judgments_without_a_corpus() -> None:
    subject = replace(shifted_run(clean()), corpus=None)
    assert list(judgments_of_other_queries(subject)) == []
    assert [each.code for each in shifted_runs(subject)] == ["shifted-run"]


def test_a_run_that_is_shifted_from_the_middle_on_is_told_with_its_cases() -> None:
    (found,) = shifted_runs(_answers_shifted_from(HALF).subject())
    assert found.code == "shifted-run"
    assert set(found.cases) <= {case.id for case in clean().cases[HALF - 1 :]}


def test_a_run_that_finds_nothing_with_any_judgments_is_not_called_shifted() -> None:
    empty = clean().with_answers("strong", [replace(each, hits=()) for each in clean().answers["strong"]])
    assert list(shifted_runs(empty.subject())) == []


def _shift_of(fits: dict[int, Floats]) -> Shift | None:
    return best_shift(len(fits[0]), fits.__getitem__)


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, 58, 93, 600])
def test_neighbours_that_fit_as_well_as_own_pairs_are_called_shifted_less_than_once_in_200_suites(count: int) -> None:
    """The worst honest case: fits of own pairs and of neighbours are drawn alike, many of them zero."""
    chance = np.random.default_rng(count)

    def drawn() -> dict[int, Floats]:
        return {step: chance.random(count) * (chance.random(count) < 0.4) for step in (0, *SHIFTS)}

    assert sum(_shift_of(drawn()) is not None for _ in range(2000)) < 10
