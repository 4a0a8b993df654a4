"""Each code about runs is in the report of a run with one thing wrong, and in none of the clean ones."""

from __future__ import annotations

import pytest

from searchmark.audit.check import all_kinds
from searchmark.records.finding import RUNS
from tests.audit.mutations.runs import FOUND, agent, asked, codes, compared

RUN_CODES = {kind.code for kind in all_kinds().values() if kind.theme == RUNS}


@pytest.mark.parametrize("code", sorted(RUN_CODES))
def test_each_code_is_in_the_report_of_a_run_with_one_thing_wrong(code: str) -> None:
    assert code in codes(FOUND[code]())


def test_every_mutation_has_a_code() -> None:
    assert FOUND.keys() == RUN_CODES


def test_a_clean_run_has_none() -> None:
    assert codes(asked().report().audit) == set()


def test_two_clean_runs_have_none() -> None:
    assert codes(compared(agent(), agent("weak")).audit) == set()
