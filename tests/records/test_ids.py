"""Ids as people have them in Python: whole numbers become their digits, everything else is refused with a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from searchmark import Answer, Case, Document, Hit, Judgment, Run, Suite, UsageError, match_hits, score
from searchmark.testing import precision_at_k

WRONG = [7.0, None, b"7", True, np.float64(7.0), np.bool_(True), float("nan"), ["7"]]


@pytest.mark.parametrize("seven", [7, np.int64(7), np.uint8(7), np.str_("7"), "7"])
def test_a_whole_number_is_the_id_of_its_digits(seven: Any) -> None:
    found = (Judgment(seven).target, Hit(seven, 1).id, Case(seven).id, Document(seven, "x").id, Answer(seven, "empty").case)
    assert found == ("7",) * 5
    assert {type(each) for each in found} == {str}


@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_anything_else_is_refused_with_its_value(value: Any) -> None:
    for made in (Judgment, Case, lambda each: Hit(each, 1), lambda each: Document(each, "x"), lambda each: Answer(each, "empty")):
        with pytest.raises(UsageError, match="an id is text or a whole number") as refused:
            made(value)
        assert repr(value)[:20] in str(refused.value)


def test_grades_and_scores_of_numbers_meet() -> None:
    suite, run = Suite.from_grades({1: {7: 1, 8: 0}}), Run.from_scores({1: {8: 0.5, np.int64(7): 0.9}})
    assert score(match_hits(suite, run), ["RR"]).values.tolist() == [[1.0]]
    assert suite.table.ids == run.case_ids == ("1",)


def test_a_wrong_id_among_grades_or_scores_is_named_with_its_case() -> None:
    with pytest.raises(UsageError, match=r"case '1': a target is 7\.0 \(float\).*write 7"):
        Suite.from_grades({1: {7.0: 1}})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match=r"case '1': the id of a hit is None"):
        Run.from_scores({1: {None: 1.0}})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match=r"the id of a case is 1\.5"):
        Run.from_scores({1.5: {"a": 1.0}})  # type: ignore[dict-item]


def test_a_number_and_its_digits_are_not_two_ids() -> None:
    with pytest.raises(UsageError, match="'1' is there twice"):
        Suite.from_grades({1: {"a": 1}, "1": {"a": 1}})  # type: ignore[dict-item]


def test_lists_of_numbers_are_measured() -> None:
    assert precision_at_k([3, 1], {1}, k=2) == 0.5  # type: ignore[list-item, arg-type]
