"""The measures of research against those who define them, on generated data.

- infAP, GMAP, IPrec, SetAP, SetF, the counts and judged_only: pytrec_eval-terrier 0.5.11, which is the code of trec_eval 9.
  trec_eval 10 rounds how many relevant targets a recall means, where 9 added 0.9 and cut: left out where that differs, and
  held against the files of trec_eval 10 in `test_trec_eval_official`.
- Compat, tables of gains: ir_measures 0.4.3. It keeps a grade that a table leaves out; we refuse such a table.
- trec_eval's interpolated precision is 0 / 0 where judged_only leaves no hit; ours is 0, as for an empty answer.
- ir_measures hands the gains of one nDCG to others of the same call: asked one by one.
- ir_measures' Compat orders ties by ascending id: compared without ties.
- nERR: no peer has it under that name; ERR is held against gdeval in `test_differential`, and its ideal against the best of
  all orders here.
"""

from __future__ import annotations

import itertools
import math

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from searchmark import Answer, Case, Hit, Judgment, Run, Suite, UsageError, match_hits, parse_measure, score
from tests.measures.test_differential import Grades, Scores, assert_agreement, generated, ours

LEVELS = [tenth / 10 for tenth in range(11)]
BY_TREC_EVAL = {
    "infAP": "infAP",
    "set_map": "SetAP",
    "num_ret": "NumRet",
    "num_rel_ret": "NumRelRet",
    **{f"iprec_at_recall_{level:.2f}": f"IPrec@{level:g}" for level in LEVELS},
}
JUDGED_ONLY = {
    **{f"P_{k}": f"P(judged_only=true)@{k}" for k in (5, 10)},
    **{f"recall_{k}": f"R(judged_only=true)@{k}" for k in (5, 10)},
    **{f"ndcg_cut_{k}": f"nDCG(judged_only=true)@{k}" for k in (5, 10)},
    **{f"map_cut_{k}": f"AP(judged_only=true)@{k}" for k in (5, 10)},
    **{f"success_{k}": f"Success(judged_only=true)@{k}" for k in (1, 5, 10)},
    "map": "AP(judged_only=true)",
    "recip_rank": "RR(judged_only=true)",
    "Rprec": "Rprec(judged_only=true)",
    "set_P": "P(judged_only=true)",
    "set_map": "SetAP(judged_only=true)",
    "set_F": "F1(judged_only=true)",
    "iprec_at_recall_0.10": "IPrec(judged_only=true)@0.1",
}
COLLECTIONS = [(seed, depth, ties) for seed, (depth, ties) in enumerate(itertools.product((3, 15, 40, 300), (True, False)), 41)]


def trec_eval(grades: Grades, scores: Scores, names: list[str], **options: int) -> dict[str, dict[str, float]]:
    return pytrec_eval.RelevanceEvaluator(grades, set(names), **options).evaluate(scores)


def with_rel(name: str, rel: int) -> str:
    base, at, k = name.partition("@")
    return f"{base}(rel={rel}){at}{k}" if rel > 1 and base != "NumRet" else name


def rounded_otherwise(judged: dict[str, int], recall: float, rel: int) -> bool:
    """Whether trec_eval 9 takes another number of relevant targets for this recall than trec_eval 10, and we, do."""
    wanted = recall * sum(grade >= rel for grade in judged.values())
    return math.floor(wanted + 0.9) != math.floor(wanted + 0.5)


@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize(("seed", "depth", "ties"), COLLECTIONS)
def test_agrees_with_trec_eval(seed: int, depth: int, ties: bool, rel: int) -> None:
    grades, scores = generated(seed, depth=depth, ties=ties)
    names = ["infAP", "set_map", "num_ret", "num_rel_ret", "iprec_at_recall"]
    theirs = trec_eval(grades, scores, names, relevance_level=rel)
    values = ours(grades, scores, [with_rel(name, rel) for name in BY_TREC_EVAL.values()])

    assert theirs
    for query, (their_name, our_name) in itertools.product(grades, BY_TREC_EVAL.items()):
        if our_name.startswith("IPrec") and rounded_otherwise(grades[query], float(our_name[6:]), rel):
            continue
        expected = theirs[query][their_name] if query in theirs else 0.0
        assert values[with_rel(our_name, rel)][query] == pytest.approx(expected, abs=1e-12), (their_name, query)


@pytest.mark.parametrize(("seed", "depth", "ties"), COLLECTIONS)
def test_without_unjudged_hits_agrees_with_trec_eval(seed: int, depth: int, ties: bool) -> None:
    grades, scores = generated(seed, depth=depth, ties=ties)
    names = ["P.5,10", "recall.5,10", "ndcg_cut.5,10", "map_cut.5,10", "success.1,5,10", "iprec_at_recall"]
    plain = [name for name in JUDGED_ONLY if not name[-1].isdigit()]
    theirs = trec_eval(grades, scores, [*names, *plain], judged_docs_only_flag=1)
    values = ours(grades, scores, list(JUDGED_ONLY.values()))

    for query, (their_name, our_name) in itertools.product(grades, JUDGED_ONLY.items()):
        if our_name.startswith("IPrec") and rounded_otherwise(grades[query], 0.1, 1):
            continue
        expected = np.nan_to_num(theirs[query][their_name]) if query in theirs else 0.0
        assert values[our_name][query] == pytest.approx(expected, abs=1e-12), (their_name, query)


@pytest.mark.parametrize("beta", [0, 0.25, 2, 4])
@pytest.mark.parametrize("seed", [51, 52])
def test_set_f_has_the_weight_of_trec_eval(seed: int, beta: float) -> None:
    grades, scores = generated(seed)
    theirs = trec_eval(grades, scores, [f"set_F.{float(beta)}"])
    values = ours(grades, scores, [f"SetF(beta={beta})"])[f"SetF(beta={beta})"]
    assert {query: values[query] for query in theirs} == pytest.approx(
        {query: found["set_F"] for query, found in theirs.items()}, abs=1e-12
    )


@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize("seed", [53, 54, 55])
def test_gmap_is_that_of_trec_eval_with_missing_topics_as_the_smallest_value(seed: int, rel: int) -> None:
    grades, scores = generated(seed)
    theirs = trec_eval(grades, scores, ["gm_map"], relevance_level=rel)
    logarithms = [theirs[query]["gm_map"] if query in theirs else math.log(0.00001) for query in grades]
    expected = pytrec_eval.compute_aggregated_measure("gm_map", logarithms)
    scored = score(match_hits(Suite.from_grades(grades), Run.from_scores(scores)), [f"GMAP(rel={rel})"])

    assert scored.mean("GMAP" if rel == 1 else "GMAP(rel=2)") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", [61, 62, 63])
def test_agrees_with_ir_measures(seed: int) -> None:
    grades, scores = generated(seed)
    theirs = {
        "nDCG(gains=0:0,1:1,2:10,3:20,4:3)@10": ir_measures.nDCG(gains={0: 0, 1: 1, 2: 10, 3: 20, 4: 3}) @ 10,
        "nDCG(gains=0:1,1:0,2:2,3:3,4:4)": ir_measures.nDCG(gains={0: 1, 1: 0, 2: 2, 3: 3, 4: 4}),
        "nDCG(judged_only=true)@5": ir_measures.nDCG(judged_only=True) @ 5,
        "SetF(beta=2)": ir_measures.SetF(beta=2.0),
        "SetAP(rel=2)": ir_measures.SetAP(rel=2),
        "IPrec@1": ir_measures.IPrec @ 1.0,
        "infAP(rel=2)": ir_measures.infAP(rel=2),
        "NumRet": ir_measures.NumRet,
        "NumRelRet": ir_measures.NumRelRet,
    }
    for name, measure in theirs.items():
        assert assert_agreement({name: measure}, grades, scores, 1e-12) == len(grades)


def test_num_rel_is_what_the_judgments_say() -> None:
    """pytrec_eval leaves the queries out that the run does not have, and takes no level for num_rel."""
    grades, scores = generated(64)
    values = ours(grades, scores, ["NumRel", "NumRel(rel=2)"])
    for rel, name in ((1, "NumRel"), (2, "NumRel(rel=2)")):
        assert values[name] == {query: sum(grade >= rel for grade in judged.values()) for query, judged in grades.items()}


@pytest.mark.parametrize("p", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(("seed", "depth"), [(71, 3), (72, 15), (73, 40), (74, 1200)])
def test_compatibility_agrees_with_ir_measures(seed: int, depth: int, p: float) -> None:
    grades, scores = generated(seed, ties=False, depth=depth, queries=12)
    positive = {query: {document: score + 1 for document, score in found.items()} for query, found in scores.items()}
    name = "Compat" if p == 0.95 else f"Compat(p={p})"
    assert assert_agreement({name: ir_measures.Compat(p=p)}, grades, positive, 1e-12) == len(grades)


def one(measure: str, judgments: list[Judgment], hits: list[str]) -> float:
    answer = Answer("c", "ok" if hits else "empty", tuple(Hit(hit, rank) for rank, hit in enumerate(hits, 1)))
    suite = Suite.from_cases("s", [Case("c", judgments=tuple(judgments))])
    return float(score(match_hits(suite, Run.from_answers("a", [answer])), [measure]).values[0, 0])


def test_nerr_divides_by_the_best_of_all_orders() -> None:
    judgments = [Judgment("a", grade=4), Judgment("b", grade=1), Judgment("c", grade=2), Judgment("d", grade=2)]
    for k in (1, 2, 3, 4):
        best = max(one(f"ERR@{k}", judgments, list(order)) for order in itertools.permutations("abcd"))
        assert one(f"nERR@{k}", judgments, ["b", "x", "a"]) == pytest.approx(one(f"ERR@{k}", judgments, ["b", "x", "a"]) / best)
    # By hand: grades 1 and 4 of 4 satisfy with 1/16 and 15/16; ideal a, c, d, b.
    ideal = 15 / 16 + 1 / 16 * (3 / 16 / 2 + 13 / 16 * (3 / 16 / 3 + 13 / 16 * (1 / 16 / 4)))
    assert one("nERR", judgments, ["b", "a"]) == pytest.approx((1 / 16 + 15 / 16 * (15 / 16) / 2) / ideal, abs=1e-12)
    assert one("nERR", judgments, []) == one("nERR", [Judgment("z", grade=0)], ["z"]) == 0.0
    assert np.isnan(one("nERR(max=3)", judgments, ["a"]))


FRACTIONS = [Judgment.of_gain("a", 0.5), Judgment.of_gain("b", 1.5), Judgment("c", grade=1), Judgment("z", grade=0)]


def test_fractional_gains_are_what_dcg_and_ndcg_pay() -> None:
    dcg = 0.5 + 1.5 / math.log2(3)
    ideal = 1.5 + 1 / math.log2(3) + 0.5 / 2
    assert one("DCG", FRACTIONS, ["a", "b"]) == pytest.approx(dcg, abs=1e-12)
    assert one("nDCG", FRACTIONS, ["a", "b"]) == pytest.approx(dcg / ideal, abs=1e-12)
    assert one("nDCG@1", FRACTIONS, ["c"]) == pytest.approx(1 / 1.5, abs=1e-12)
    assert one("nDCG", FRACTIONS, ["b", "c", "a"]) == 1.0
    exponential = 2**0.5 - 1 + (2**1.5 - 1) / math.log2(3)
    assert one("DCG(gain=exp)", FRACTIONS, ["a", "b"]) == pytest.approx(exponential, abs=1e-12)


def test_measures_with_a_threshold_take_the_grade_which_is_the_gain_rounded_up() -> None:
    assert one("P@3", FRACTIONS, ["a", "b", "z"]) == pytest.approx(2 / 3)
    assert one("P(rel=2)@3", FRACTIONS, ["a", "b", "z"]) == pytest.approx(1 / 3)


def test_a_table_of_gains_is_refused_beside_gains_of_the_judgments() -> None:
    with pytest.raises(UsageError, match=r"have gains of their own, which nDCG\(gains=0:0,1:1,2:3\) would replace"):
        one("nDCG(gains=0:0,1:1,2:3)", FRACTIONS, ["a"])


def test_a_table_of_gains_that_leaves_out_a_grade_is_refused() -> None:
    with pytest.raises(UsageError, match="says nothing about the grade 3, which the judgments of 's' have; add 3:GAIN"):
        one("DCG(gains=0:0,1:1)@10", [Judgment("a", grade=3)], ["a"])


def test_a_grade_of_zero_pays_what_the_table_says_and_a_negative_one_nothing() -> None:
    judgments = [Judgment("a", grade=1), Judgment("z", grade=0), Judgment("n", grade=-1)]
    assert one("DCG(gains=0:2,1:1)", judgments, ["z", "a", "n"]) == pytest.approx(2 + 1 / math.log2(3))
    assert one("DCG(gains=1:1)", judgments, ["z", "a", "n"]) == pytest.approx(1 / math.log2(3))


def test_the_suites_own_gain_does_not_touch_a_table_of_gains() -> None:
    from searchmark import Defaults
    from searchmark.measures.grammar import parse_measures

    (measure,) = parse_measures(["nDCG(gains=0:0,1:5)@10"], Defaults(gain="exp"))
    assert measure.name == "nDCG(gains=0:0,1:5)@10"


def test_every_case_of_gmap_is_undefined_and_says_what_a_case_has() -> None:
    grades, scores = generated(65)
    scored = score(match_hits(Suite.from_grades(grades), Run.from_scores(scores)), ["AP", "GMAP"])
    assert np.isnan(scored.values[:, 1]).all()
    assert scored.reason(0, 1) == "GMAP is one number for all cases; a case has AP"
    summary = scored.summaries()["GMAP"]
    floored = np.maximum(scored.values[:, 0], 1e-5)
    assert summary.mean == pytest.approx(math.exp(np.log(floored).mean()), rel=1e-12)
    assert (summary.low, summary.high) == (None, None)
    assert (summary.median, summary.std, summary.undefined, summary.cases) == (None, None, 0, len(grades))


def test_a_measure_without_a_highest_value_has_no_interval() -> None:
    """All that came is 20: nothing says how many could have come, so that no limit above 20 holds."""
    cases = {f"q{n}": {f"d{n}": 1} for n in range(12)}  # different targets, or they would be one observation
    hits = {query: {f"d{place}": float(place) for place in range(20)} for query in cases}
    found = score(
        match_hits(Suite.from_grades(cases), Run.from_scores(hits)), ["NumRet", "NumRelRet", "DCG@10", "P@10"]
    ).summaries()
    assert found["NumRet"].mean == 20
    assert [name for name, summary in found.items() if summary.low is not None] == ["P@10"]


@pytest.mark.parametrize("gains", ["0:0,1:0.1234567,2:1234567", "0:0,1:0.000000001,2:123456789012345"])
def test_a_table_of_gains_keeps_every_digit_in_value_and_name(gains: str) -> None:
    measure = parse_measure(f"nDCG(gains={gains})@10")
    assert measure.name == f"nDCG(gains={gains})@10"
    _, low, high = (float(pair.split(":")[1]) for pair in gains.split(","))
    scored = score(match_hits(Suite.from_grades({"q": {"a": 1, "b": 2}}), Run.from_scores({"q": {"a": 2.0, "b": 1.0}})), [measure])
    assert scored.values[0, 0] == pytest.approx((low + high / math.log2(3)) / (high + low / math.log2(3)), rel=1e-12)


@pytest.mark.parametrize("top", [10**6, 2**62, 2**63 - 1])
def test_compatibility_depends_on_the_order_of_grades_however_high(top: int) -> None:
    runs = {f"q{n}": {"c": 3.0, "b": 2.0, "a": 1.0} for n in range(3)}
    values = [ours({query: {"a": high, "b": high - 1, "c": 1, "z": 0} for query in runs}, runs, ["Compat"]) for high in (3, top)]
    assert values[0] == values[1]


def test_gains_of_globs_that_were_not_expanded_are_the_reason_of_no_dcg() -> None:
    judgments = (Judgment("src/*.py", match="glob", grade=1, gain=0.5), Judgment("src/a.py", grade=2, gain=1.5))
    answer = Answer("q", "ok", (Hit("src/b.py", 1), Hit("src/a.py", 2)))
    scored = score(match_hits(Suite.from_cases("s", [Case("q", "x", judgments)]), Run.from_answers("r", [answer])), ["DCG"])
    assert "globs or symbols with gains of their own were not expanded" in (scored.reason(0, 0) or "")
