"""trec_eval's own test files: its inputs must give its outputs, to the four digits it prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from searchmark import Run, load_run, load_suite, match_hits, score

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
PLAIN = {
    "map": "AP(rel={rel})",
    "Rprec": "Rprec(rel={rel})",
    "bpref": "Bpref(rel={rel})",
    "recip_rank": "RR(rel={rel})",
    "ndcg": "nDCG",  # trec_eval's nDCG knows no relevance level
    "set_P": "P(rel={rel})",
    "set_recall": "R(rel={rel})",
    "set_F": "F1(rel={rel})",
    "set_map": "SetAP(rel={rel})",
    "infAP": "infAP(rel={rel})",
    "num_ret": "NumRet",
    "num_rel": "NumRel(rel={rel})",
    "num_rel_ret": "NumRelRet(rel={rel})",
    **{f"iprec_at_recall_{tenth / 10:.2f}": f"IPrec(rel={{rel}})@{tenth / 10:g}" for tenth in range(11)},
}
SUMS = ("num_ret", "num_rel", "num_rel_ret")  # over the queries, where we have the mean
AT_K = {
    "P": "P(rel={rel})@{k}",
    "recall": "R(rel={rel})@{k}",
    "ndcg_cut": "nDCG@{k}",
    "map_cut": "AP(rel={rel})@{k}",
    "success": "Success(rel={rel})@{k}",
}


def expected_values(path: Path) -> dict[tuple[str, str], float]:
    """Measure and query (or "all") to value, without the lines that hold no number."""
    values = {}
    for line in path.read_text().splitlines():
        measure, query, value = line.split()
        if measure != "runid" and not measure.startswith("relstring"):
            values[measure, query] = float(value)
    return values


def our_name(theirs: str, rel: int) -> str | None:
    if theirs in PLAIN:
        return PLAIN[theirs].format(rel=rel)
    base, _, k = theirs.rpartition("_")
    return AT_K[base].format(rel=rel, k=k) if base in AT_K and k.isdecimal() else None


def cut(run: Run, depth: int) -> Run:
    """The run as trec_eval -M sees it: only the first hits of every answer."""
    return Run.from_answers(run.agent, [run.answer(row, depth) for row in range(len(run))])


@pytest.mark.parametrize(
    ("output", "qrels", "results", "rel", "depth"),
    [
        ("out.test.aq", "qrels.test", "results.test", 1, None),
        ("out.test.aq", "qrels.test.with-comments", "results.test", 1, None),
        ("out.test.aqc", "qrels.test", "results.trunc", 1, None),
        ("out.test.aqcM", "qrels.test", "results.trunc", 1, 100),
        ("out.test.aql", "qrels.rel_level", "results.test", 2, None),
        ("out.test.meas_params", "qrels.test", "results.test", 1, None),
        ("out.test.a", "qrels.test", "results.test", 1, None),
        ("out.test", "qrels.test", "results.test", 1, None),
    ],
    ids=["per query", "comments", "missing topic", "truncation", "graded levels", "parameters", "means", "defaults"],
)
def test_reproduces_the_official_output(
    shared_data: Path, output: str, qrels: str, results: str, rel: int, depth: int | None
) -> None:
    folder = shared_data / "trec_eval_tests"
    expected = expected_values(folder / output)
    names = {theirs: name for theirs, _ in expected if (name := our_name(theirs, rel))}
    suite, run = load_suite(folder / qrels), load_run(folder / results)
    scores = score(match_hits(suite, cut(run, depth) if depth else run), [*names.values(), f"GMAP(rel={rel})"])
    plain = {theirs: list(names.values()).index(name) for theirs, name in names.items()}

    compared = 0
    for (theirs, query), value in expected.items():
        if theirs in names and (query == "all" or query in suite.table.index):
            column = scores.values[:, plain[theirs]]
            whole = np.sum if theirs in SUMS else np.mean
            ours = whole(column) if query == "all" else column[suite.table.index[query]]
            assert ours == pytest.approx(value, abs=5.0001e-5), (theirs, query)
            compared += 1
    if output != "out.test.meas_params":  # which was made without gm_map
        assert scores.mean(f"GMAP(rel={rel})") == pytest.approx(expected["gm_map", "all"], abs=5.0001e-5)
    assert compared >= 27  # out.test, the shortest, shares 27 lines with us


def test_every_shared_measure_was_compared(shared_data: Path) -> None:
    """The official per-query output names every measure that we share with trec_eval."""
    theirs = {measure for measure, _ in expected_values(shared_data / "trec_eval_tests" / "out.test.aq")}
    assert theirs >= set(PLAIN) | {f"{base}_{k}" for base in AT_K for k in CUTOFFS if base != "success"}
