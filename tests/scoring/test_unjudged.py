"""What labels of unjudged hits could make of runs, held against all labels of small answers."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from searchmark import Answer, Case, Hit, Judgment, Run, Scores, Suite, match_hits, score
from searchmark.scoring.unjudged import label_range, possible_flip, unjudged_hits

TOP = 2
MEASURES = (
    "P@3",
    "DCG@3",
    "RBP@4",
    "R@3",
    "F1@3",
    "RR",
    "RR@2",
    "AP",
    "nDCG@3",
    "nDCG",
    "Success@2",
    "0.5*P@3 + 0.5*RR@3",
    "ERR@3",
)
ADDITIVE = ("P@3", "DCG@3", "RBP@4")


def suite_of(labels: dict[str, int]) -> Suite:
    known = (Judgment("a", grade=TOP), Judgment("b", grade=1), Judgment("c", grade=0))
    return Suite.from_cases("s", [Case("q", "q", (*known, *(Judgment(each, grade=grade) for each, grade in labels.items())))])


def run_of(name: str, ids: str) -> Run:
    return Run.from_answers(name, [Answer("q", "ok", tuple(Hit(each, rank) for rank, each in enumerate(ids, 1)))])


def scored(ids: str, labels: dict[str, int]) -> Scores:
    return score(match_hits(suite_of(labels), run_of(ids, ids)), MEASURES)


def shuffled(seed: int) -> tuple[str, str]:
    chance = Random(seed)
    return "".join(chance.sample("abcuvwx", 5)), "".join(chance.sample("abcuvwx", 5))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_no_labels_give_more_than_the_bound_and_some_give_what_is_said(seed: int) -> None:
    one, other = shuffled(seed)
    before = {each: scored(each, {}) for each in (one, other)}
    unjudged = unjudged_hits(before, suite_of({}))
    labellings = [dict(zip("uvwx", grades, strict=True)) for grades in product((0, TOP), repeat=4)]
    tables = [(scored(one, labels).values[0], scored(other, labels).values[0]) for labels in labellings]
    for column, name in enumerate(MEASURES):
        found = possible_flip(before[one], before[other], column, unjudged[one], unjudged[other])
        leads = [float(second[column] - first[column]) for first, second in tables]
        assert found is not None
        assert min(abs(found.labelled - lead) for lead in leads) < 1e-9, name
        assert max(leads) <= found.bound + 1e-9, name
        assert name not in ADDITIVE or found.labelled == pytest.approx(max(leads), abs=1e-9)


def test_the_values_with_no_label_with_all_and_without_unjudged_hits_are_those_of_such_answers() -> None:
    before = scored("ubvca", {})
    found = {
        name: label_range(before, column, unjudged_hits({"run": before}, suite_of({}))["run"])
        for column, name in enumerate(MEASURES)
    }
    every, without = scored("ubvca", {"u": TOP, "v": TOP}), scored("bca", {})
    for column, name in enumerate(MEASURES):
        assert found[name].none[0] == before.values[0, column]
        assert found[name].condensed[0] == pytest.approx(without.values[0, column])
        within = scored("ubvca", {"u": TOP}) if name.endswith("@2") else every
        assert found[name].all[0] == pytest.approx(within.values[0, column]), name


def test_documents_that_do_not_exist_and_cases_that_describe_their_targets_leave_nothing_open() -> None:
    described = Suite.from_cases("s", [Case("q", "q", (Judgment("*.py", "glob"),)), Case("r", "r", (Judgment("a.py"),))])
    answers = [Answer(case, "ok", (Hit("b.txt", 1), Hit("gone.py", 2), Hit("b.txt", 3), Hit("a.py", 4))) for case in "qr"]
    scores = score(match_hits(described, Run.from_answers("run", answers), {"a.py", "b.txt"}), ["RR"])
    found = unjudged_hits({"run": scores}, described)["run"]
    assert (found.case.tolist(), found.rank.tolist()) == ([1], [1])


def test_a_run_that_needs_one_label_is_told_so() -> None:
    before = {each: scored(each, {}) for each in ("abc", "uva")}
    unjudged = unjudged_hits(before, suite_of({}))
    found = possible_flip(before["abc"], before["uva"], MEASURES.index("DCG@3"), unjudged["abc"], unjudged["uva"])
    assert found is not None
    assert (found.enough, found.unjudged, found.cases, found.possible) == (1, 2, 1, True)
    np.testing.assert_allclose(found.difference, (2 + 1 / np.log2(3)) - 1)
