"""Weighted kappa, against its definition, and what is said where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from searchmark.judgments.review import Agreement, Stratum, measure_agreement

STRATA = [Stratum("0", 0, 900), Stratum("0, near miss", 0, 60), Stratum("1", 1, 20), Stratum("2", 2, 15), Stratum("3", 3, 5)]
GRADES = {
    "0": [0] * 10,
    "0, near miss": [0] * 8 + [1, 2],
    "1": [0] * 4 + [1] * 6,
    "2": [1] * 3 + [2] * 5 + [3] * 2,
    "3": [2] * 3 + [3] * 7,
}


def kappa_of(table: np.ndarray) -> float:
    """Cohen 1968: one minus the weighted disagreement over that of independent margins."""
    shares = table / table.sum()
    apart = np.subtract.outer(range(4), range(4)) ** 2
    return float(1 - (shares * apart).sum() / (np.outer(shares.sum(1), shares.sum(0)) * apart).sum())


def test_kappa_of_the_sample_is_that_of_the_confusion_table() -> None:
    found = measure_agreement(STRATA, GRADES)
    assert found.confusion == ((18, 1, 1, 0), (4, 6, 0, 0), (0, 3, 5, 2), (0, 0, 3, 7))
    assert found.sample.value == pytest.approx(kappa_of(np.array(found.confusion)))
    assert (found.pairs, found.equal, found.within_one) == (50, 36, 49)


def test_kappa_of_all_pairs_weights_each_stratum_by_its_size() -> None:
    weighted = np.array([[0.9 + 0.06 * 0.8, 0.06 * 0.1, 0.06 * 0.1, 0], [0.02 * 0.4, 0.02 * 0.6, 0, 0]])
    rest = np.array([[0, 0.015 * 0.3, 0.015 * 0.5, 0.015 * 0.2], [0, 0, 0.005 * 0.3, 0.005 * 0.7]])
    population = measure_agreement(STRATA, GRADES).population
    assert population is not None
    assert population.value == pytest.approx(kappa_of(np.vstack([weighted, rest])))
    assert measure_agreement(STRATA, GRADES, weighted=False).population is None


def test_kappa_of_all_pairs_is_not_known_where_a_stratum_was_not_judged() -> None:
    found = measure_agreement(STRATA, {name: grades for name, grades in GRADES.items() if name not in ("0", "2")})
    assert found.sample.value is not None
    assert (found.population, [stratum.name for stratum in found.unjudged]) == (None, ["0", "2"])


def test_full_agreement_is_one_with_an_interval_below_it() -> None:
    found = measure_agreement(STRATA, {stratum.name: [stratum.rule] * 12 for stratum in STRATA}).sample
    assert (found.value, found.high) == (1, 1)
    assert found.low is not None
    assert 0.75 < found.low < 0.99


def test_the_interval_narrows_with_more_pairs_and_is_the_same_every_time() -> None:
    few, many = (measure_agreement(STRATA, {name: grades * times for name, grades in GRADES.items()}).sample for times in (1, 9))
    assert many.value == pytest.approx(few.value)
    assert few.low < many.low < many.value < many.high < few.high  # type: ignore[operator]  # there are intervals
    assert measure_agreement(STRATA, GRADES) == measure_agreement(STRATA, GRADES)


@pytest.mark.parametrize(
    ("grades", "who"),
    [({"0": [0, 1, 2]}, "all grades of the rule are 0"), ({"1": [2, 2], "2": [2, 2], "3": [2]}, "all grades of the sample are 2")],
)
def test_kappa_is_not_defined_where_one_side_has_one_grade(grades: dict[str, list[int]], who: str) -> None:
    found: Agreement = measure_agreement(STRATA, grades)
    assert (found.sample.value, found.population) == (None, None)
    assert who in str(found.undefined)


def test_fewer_than_ten_pairs_get_no_interval() -> None:
    found = measure_agreement(STRATA, {"0": [0, 0, 1], "3": [3, 3, 2]}).sample
    assert found.value is not None
    assert (found.low, found.high) == (None, None)
