"""Measures of aspects: the numbers of ndeval, and what judgments with aspects come from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from searchmark import Case, FormatError, Judgment, Run, Suite, load_run, load_suite, match_hits, score

REFERENCE = json.loads((Path(__file__).parent / "ndeval_values.json").read_text())["collections"]
OURS = {"alpha-nDCG": "alpha_nDCG(rel={rel},alpha={alpha})", "ERR-IA": "ERR_IA(rel={rel},alpha={alpha})"}
OURS |= {"nERR-IA": "nERR_IA(rel={rel},alpha={alpha})", "strec": "StRecall(rel={rel})"}


def written(folder: Path, collection: dict) -> tuple[Suite, Run]:
    qrels, run = folder / "web.qrels", folder / "web.run"
    qrels.write_text("\n".join(collection["qrels"]) + "\n")
    lines = (line.split() for line in collection["run"])
    run.write_text("".join(f"{query} Q0 {document} 0 {score} them\n" for query, document, score in lines))
    return load_suite(qrels, format="diversity-qrels"), load_run(run)


@pytest.mark.parametrize("number", range(len(REFERENCE)))
def test_agrees_with_ndeval(number: int, tmp_path: Path) -> None:
    """ndeval leaves ERR-IA@1 unnormalised, an oversight in its loop: it is divided by the number of aspects here."""
    collection = REFERENCE[number]
    suite, run = written(tmp_path, collection)
    theirs = sorted({name for values in collection["values"].values() for name in values})
    names = {name: OURS[name.split("@")[0]].format(**collection) + "@" + name.split("@")[1] for name in theirs}
    found = score(match_hits(suite, run), list(names.values()))
    compared = 0
    for query, values in collection["values"].items():
        lines = (line.split() for line in collection["qrels"])
        aspects = {aspect for topic, aspect, _, grade in lines if topic == query and int(grade) >= collection["rel"]}
        for column, name in enumerate(theirs):
            expected = values[name] / max(1, len(aspects)) if name == "ERR-IA@1" else values[name]
            ours = found.values[suite.table.index[query], column]
            assert ours == pytest.approx(expected, abs=1e-12), (name, query)
            compared += 1
    assert compared >= 16 * 5


WEB = "1 1 d1 1\n1 2 d1 1\n1 1 d2 1\n1 3 d3 2\n1 1 d4 0\n"


def test_repeated_documents_with_different_second_columns_are_aspects(tmp_path: Path) -> None:
    path = tmp_path / "web.qrels"
    path.write_text(WEB)
    suite = load_suite(path)
    assert [judgment.aspects for judgment in suite.cases[0].judgments] == [{"1": 1, "2": 1}, {"1": 1}, {"3": 2}, {"1": 0}]
    assert [judgment.grade for judgment in suite.cases[0].judgments] == [1, 1, 2, 0]


def test_a_second_column_that_varies_is_an_aspect_only_where_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "rounds.qrels"
    path.write_text("1 0 d1 1\n1 1 d2 1\n")
    assert load_suite(path).judgments.aspects is None
    assert load_suite(path, format="diversity-qrels").judgments.aspects == [{"0": 1}, {"1": 1}]


def test_a_document_judged_twice_for_one_aspect_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "web.qrels"
    path.write_text(WEB + "1 3 d3 1\n")
    with pytest.raises(FormatError, match="line 6: document 'd3' is judged a second time for query '1' and aspect '3'"):
        load_suite(path, format="diversity-qrels")
    with pytest.raises(FormatError, match="line 2: document 'd1' is judged a second time for query '1'"):
        load_suite(path, format="qrels")


def test_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "web.qrels"
    path.write_text(WEB)
    run = Run.from_scores({"1": {"d2": 4.0, "d9": 3.0, "d1": 2.0, "d3": 1.0}})
    values = score(match_hits(load_suite(path), run), ["alpha_nDCG@3", "StRecall@3", "StRecall", "alpha_nDCG(rel=2)"]).values[0]
    # d2 brings aspect 1; d1 brings aspect 2 and, at half, 1 again. Ideal: d1 (2), d3 (1), d2 (1/2).
    ideal = 2 + 1 / np.log2(3) + 0.5 / 2
    assert values == pytest.approx([(1 + 1.5 / 2) / ideal, 2 / 3, 1.0, 1 / np.log2(5)], abs=1e-12)


def test_without_aspects_they_are_undefined_and_say_so() -> None:
    scored = score(match_hits(Suite.from_grades({"1": {"d1": 1}}), Run.from_scores({"1": {"d1": 1.0}})), ["alpha_nDCG@10"])
    assert np.isnan(scored.values).all()
    assert scored.reason(0, 0) == "the judgments of the case name no aspects; of qrels, --format diversity-qrels reads them"


def test_an_answer_that_beats_the_greedy_list_has_1() -> None:
    """Of three that cover two aspects each, the greedy list takes the last by name first; m and b together cover all four."""
    covers = {"z": ("1", "2"), "m": ("1", "3"), "b": ("2", "4")}
    judgments = tuple(Judgment(name, aspects=dict.fromkeys(aspects, 1)) for name, aspects in covers.items())
    suite = Suite.from_cases("s", [Case("1", judgments=judgments)])
    found = [
        score(match_hits(suite, Run.from_scores({"1": dict(zip(order, (2.0, 1.0), strict=True))})), ["alpha_nDCG(alpha=1)@2"])
        for order in ("zm", "mb", "mz")
    ]
    assert [each.values[0, 0] for each in found] == [1.0, 1.0, 1.0]
