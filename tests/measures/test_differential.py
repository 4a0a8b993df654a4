"""Our numbers against those of other implementations, on generated data.

Named exceptions, each the other side's fault (measured with pytrec-eval-terrier 0.5.11, ir-measures 0.4.3):
- pytrec_eval squeezes scores to float32: scores here are multiples of 1/1024, which float32 holds exactly.
- pytrec_eval leaves out queries that the run does not have; we score them 0, as trec_eval -c does.
- ir_measures takes RR@k from a provider that breaks ties by ascending id; RR@k is compared with RR where it can differ.
- ir_measures' Judged orders ties by ascending id and counts negative grades as judged: compared without ties and negatives.
- gdeval (ir_measures' ERR and exponential nDCG) prints five digits and wants numeric queries and grades up to 4.
- trec_eval 10.0's RBP reads uninitialised memory and ranx's exceeds 1: RBP has a golden test by hand instead.
"""

from __future__ import annotations

import random
import shutil

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from searchmark import Run, Suite, match_hits, score

Grades = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]

KS = (1, 3, 10, 100, 1000)


def generated(seed: int, *, ties: bool = True, depth: int = 40, lowest: int = -1, queries: int = 30) -> tuple[Grades, Scores]:
    """Queries with grades and scores: ties, unjudged hits, all-zero judgments, queries missing on either side."""
    rng = random.Random(seed)
    grades: Grades = {}
    scores: Scores = {}
    documents = [f"d{n}" for n in range(depth * 2)]
    for number in range(1, queries + 1):
        query = str(number)
        judged = rng.sample(documents, rng.randint(1, depth))
        highest = rng.choice([0, 1, 4])
        if rng.random() < 0.9:
            grades[query] = {document: rng.randint(lowest, highest) for document in judged}
        if rng.random() < 0.9:
            returned = rng.sample(documents, rng.randint(1, depth))
            levels = 8 if ties else 10**6
            scores[query] = dict(zip(returned, (rng.randrange(levels) / 1024 for _ in returned), strict=True))
            if not ties:
                scores[query] = {document: place / 1024 for place, document in enumerate(returned)}
    return grades, scores


def ours(grades: Grades, scores: Scores, measures: list[str]) -> dict[str, dict[str, float]]:
    result = score(match_hits(Suite.from_grades(grades), Run.from_scores(scores)), measures)
    return {
        name: dict(zip(grades, column.tolist(), strict=True)) for name, column in zip(result.names, result.values.T, strict=True)
    }


PYTREC = {
    **{f"P_{k}": f"P@{k}" for k in KS},
    **{f"recall_{k}": f"R@{k}" for k in KS},
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in KS},
    **{f"map_cut_{k}": f"AP@{k}" for k in KS},
    **{f"success_{k}": f"Success@{k}" for k in KS},
    "map": "AP",
    "recip_rank": "RR",
    "ndcg": "nDCG",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "set_P": "P",
    "set_recall": "R",
    "set_F": "F1",
}


def with_level(name: str, rel: int) -> str:
    """The same measure at another relevance level; nDCG has none."""
    if rel == 1 or name.startswith("nDCG"):
        return name
    base, at, k = name.partition("@")
    return f"{base}(rel={rel}){at}{k}"


@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize(
    ("seed", "depth", "ties"), [(1, 40, True), (2, 40, False), (3, 1000, True), (4, 15, True), (5, 16, True), (6, 3, True)]
)
def test_agrees_with_pytrec_eval(seed: int, depth: int, ties: bool, rel: int) -> None:
    grades, scores = generated(seed, depth=depth, ties=ties)
    theirs = pytrec_eval.RelevanceEvaluator(
        grades, {name.rsplit("_", 1)[0] if name[-1].isdigit() else name for name in PYTREC} | {f"{m}.{','.join(map(str, KS))}"
        for m in ("P", "recall", "ndcg_cut", "map_cut", "success")}, relevance_level=rel,
    ).evaluate(scores)  # fmt: skip
    values = ours(grades, scores, [with_level(name, rel) for name in PYTREC.values()])

    assert theirs
    for query in grades:
        for their_name, our_name in PYTREC.items():
            expected = theirs[query][their_name] if query in theirs else 0.0
            assert values[with_level(our_name, rel)][query] == pytest.approx(expected, abs=1e-9), (their_name, query)


# Their measures by our names, made without ir_measures' parser, which Python 3.14 has left behind.
IR = {
    "P@5": ir_measures.P @ 5,
    "P(rel=2)@5": ir_measures.P(rel=2) @ 5,
    "R@10": ir_measures.R @ 10,
    "AP": ir_measures.AP,
    "AP(rel=2)@10": ir_measures.AP(rel=2) @ 10,
    "nDCG": ir_measures.nDCG,
    "nDCG@10": ir_measures.nDCG @ 10,
    "RR": ir_measures.RR,
    "RR(rel=2)": ir_measures.RR(rel=2),
    "Rprec": ir_measures.Rprec,
    "Bpref": ir_measures.Bpref,
    "Success@5": ir_measures.Success @ 5,
    "P": ir_measures.SetP,
    "R": ir_measures.SetR,
    "F1": ir_measures.SetF,
    "P(rel=2)": ir_measures.SetP(rel=2),
}
IR_ON_CLEAN_DATA = {
    "RR@3": ir_measures.RR @ 3,
    "RR(rel=2)@10": ir_measures.RR(rel=2) @ 10,
    "Judged@5": ir_measures.Judged @ 5,
    "Judged@10": ir_measures.Judged @ 10,
    "Judged@100": ir_measures.Judged @ 100,
}
GDEVAL = {
    "nDCG(gain=exp)@10": ir_measures.nDCG(dcg="exp-log2") @ 10,
    "ERR@10": ir_measures.ERR @ 10,
    "ERR@20": ir_measures.ERR @ 20,
}


def assert_agreement(theirs: dict[str, object], grades: Grades, scores: Scores, tolerance: float) -> int:
    """Compare every value that ir_measures gives for an answered query; return how many there were."""
    values = ours(grades, scores, list(theirs))
    names = {str(measure): name for name, measure in theirs.items()}
    compared = 0
    for metric in ir_measures.iter_calc(list(theirs.values()), grades, scores):
        name = names[str(metric.measure)]
        assert values[name][metric.query_id] == pytest.approx(metric.value, abs=tolerance), (name, metric.query_id)
        compared += 1
    return compared


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_agrees_with_ir_measures(seed: int) -> None:
    grades, scores = generated(seed)
    assert assert_agreement(IR, grades, scores, 1e-9) == len(IR) * len(grades)


@pytest.mark.parametrize("seed", [21, 22])
def test_agrees_with_ir_measures_on_measures_that_need_clean_data(seed: int) -> None:
    grades, scores = generated(seed, ties=False, lowest=0)
    assert assert_agreement(IR_ON_CLEAN_DATA, grades, scores, 1e-9) == len(IR_ON_CLEAN_DATA) * len(grades)


@pytest.mark.skipif(shutil.which("perl") is None, reason="ir_measures computes ERR and exponential nDCG in Perl")
@pytest.mark.parametrize("seed", [31, 32])
def test_agrees_with_gdeval_to_its_five_digits(seed: int) -> None:
    grades, scores = generated(seed, ties=False, lowest=0)
    assert assert_agreement(GDEVAL, grades, scores, 5.1e-6) == len(GDEVAL) * len(grades)


def test_rr_at_k_breaks_ties_like_rr() -> None:
    """The exception for ir_measures' RR@k, stated as a fact: both of ours see the same order."""
    values = ours({"q": {"d1": 1}}, {"q": {"d1": 1.0, "d2": 1.0, "d3": 1.0}}, ["RR", "RR@10"])
    assert values["RR"]["q"] == values["RR@10"]["q"] == pytest.approx(1 / 3)


def test_scores_that_differ_only_beyond_float32_are_not_ties() -> None:
    """pytrec_eval sees a tie here and gives RR 0.5."""
    values = ours({"q": {"a": 1}}, {"q": {"a": 0.900000001, "b": 0.9}}, ["RR"])
    assert values["RR"]["q"] == 1.0


def test_real_run_of_another_project_gives_the_same_means(shared_data) -> None:
    folder = shared_data / "ir_measures_tests"
    from searchmark import load_run, load_suite

    names = ["nDCG@10", "P@5", "AP", "RR", "R@10", "Bpref"]
    scores = score(match_hits(load_suite(folder / "compat.qrels"), load_run(folder / "compat.run")), names)
    qrels = list(ir_measures.read_trec_qrels(str(folder / "compat.qrels")))
    run = list(ir_measures.read_trec_run(str(folder / "compat.run")))
    theirs = ir_measures.calc_aggregate([IR[name] for name in names], qrels, run)

    assert scores.means() == pytest.approx({str(name): value for name, value in theirs.items()}, abs=1e-9)
    assert not np.isnan(scores.values).any()
