"""One case to look at: what the judge has made of every hit, and nothing else."""

from __future__ import annotations

import pytest

from searchmark import Answer, Case, Hit, Judgment, Run, Suite, UsageError, score_runs
from searchmark.formats.corpora.corpus import Survey
from searchmark.judgments.cases import answer_ranks, list_cases, view_case
from searchmark.scoring.targets import ExistingIds

CASES = [
    Case("ids", "q", (Judgment("a", grade=2), Judgment("b", grade=0), Judgment("nowhere"))),
    Case("paths", "q", (Judgment("src/a.py", "path"), Judgment("src/b.py", "path"))),
    Case("mixed", "q", (Judgment("src/a.py", "path"), Judgment("a"))),
    Case("globs", "q", (Judgment("src/*.py", "glob", 2), Judgment("a"))),
    Case("lines", "q", (Judgment("src/a.py#L1-L5", "lines"), Judgment("src/b.py", "path"))),
    Case("nothing", "q"),
]
HITS = ["a", "src/b.py", "./src/a.py", "src/a.py", "a", "b", "src/a.py#L2-L3", "src/a.py#L4-L9", "other", "cafe\u0301", "caf\u00e9"]
CORPUS = Survey(frozenset({"a", "b", "src/a.py", "src/b.py", "caf\u00e9"}), 0, 0, 0, "digest")


def run_of(*ids: str, agent: str = "run", cases: tuple[str, ...] = tuple(case.id for case in CASES)) -> Run:
    hits = tuple(Hit(each, rank, 1 / rank) for rank, each in enumerate(ids, 1))
    return Run.from_answers(agent, [Answer(case, "ok", hits) for case in cases])


@pytest.fixture
def suite() -> Suite:
    return Suite.from_cases("suite", CASES)


@pytest.mark.parametrize("corpus", [None, CORPUS], ids=["no corpus", "corpus"])
@pytest.mark.parametrize("hits", [HITS, HITS[:6], HITS[::-1]], ids=["all", "without lines", "backwards"])
def test_ranks_and_duplicates_are_those_of_the_judge(suite: Suite, hits: list[str], corpus: Survey | None) -> None:
    (scores,) = score_runs(suite, [run_of(*hits)], ["RR"], corpus=corpus)
    judged, matches = scores.matched, scores.matched.matches
    for row, case in enumerate(CASES):
        answer = judged.run.index[case.id]
        ranks = answer_ranks(judged, row, answer, None if corpus is None else ExistingIds(corpus.ids))
        assert len([rank for rank in ranks if rank is not None]) == matches.returned[row], case.id
        by_row = dict(zip(judged.run.rows_of(answer).tolist(), ranks, strict=True))
        of_case = matches.case == row
        for hit_row, rank in zip(matches.row[of_case].tolist(), matches.rank[of_case].tolist(), strict=True):
            assert by_row[hit_row] == rank, case.id


def test_a_case_has_its_judgments_and_where_runs_returned_their_targets(suite: Suite) -> None:
    runs = [run_of("other", "a", "a", "b", agent="one"), run_of("b", agent="two")]
    view = view_case(suite, "ids", score_runs(suite, runs, ["RR", "P@1"], corpus=CORPUS), CORPUS)
    assert [(each.target, each.grade, each.exists, dict(each.found)) for each in view.judgments] == [
        ("a", 2, True, {"one": 2, "two": None}),
        ("b", 0, True, {"one": 3, "two": 1}),
        ("nowhere", 1, False, {"one": None, "two": None}),
    ]
    one, two = view.answers
    assert [(hit.place, hit.rank, hit.id, hit.grade, hit.duplicate, hit.missing) for hit in one.hits] == [
        (1, 1, "other", None, False, True),
        (2, 2, "a", 2, False, False),
        (3, None, "a", None, True, False),
        (4, 3, "b", 0, False, False),
    ]
    assert (one.values, two.values) == ({"RR": 0.5, "P@1": 0.0}, {"RR": 0.0, "P@1": 0.0})


def test_a_glob_is_returned_where_the_first_document_is_that_it_means(suite: Suite) -> None:
    for corpus in (None, CORPUS):
        (scores,) = score_runs(suite, [run_of("other", "src/b.py", "src/a.py")], ["RR"], corpus=corpus)
        (glob, _) = view_case(suite, "globs", [scores], corpus).judgments
        assert (glob.target, glob.found, glob.exists) == ("src/*.py", {"run": 2}, None if corpus is None else True)


def test_a_case_that_a_run_does_not_mention_is_empty(suite: Suite) -> None:
    (scores,) = score_runs(suite, [run_of("a", cases=("ids",))], ["RR"])
    (answer,) = view_case(suite, "paths", [scores]).answers
    assert (answer.status, answer.returned, answer.hits) == ("empty", 0, ())


def test_hits_are_bounded_and_the_rest_is_counted(suite: Suite) -> None:
    (scores,) = score_runs(suite, [run_of(*HITS)], ["RR"])
    (answer,) = view_case(suite, "ids", [scores], limit=3).answers
    assert (len(answer.hits), answer.returned) == (3, len(HITS))


def test_an_unknown_case_is_refused_with_those_that_are_near(suite: Suite) -> None:
    with pytest.raises(UsageError, match="the suite 'suite' has no case 'glob'; nearest: 'globs'"):
        view_case(suite, "glob")
    with pytest.raises(UsageError, match="lists them"):
        view_case(suite, "%%%%")


def test_the_list_counts_relevant_targets_and_sorts_the_worst_first(suite: Suite) -> None:
    listed = list_cases(suite, suite)
    assert [(case.id, case.relevant, case.judged) for case in listed.cases][:2] == [("ids", 2, 3), ("paths", 2, 2)]
    (scores,) = score_runs(suite, [run_of("a", "src/a.py")], ["RR"], corpus=CORPUS)
    worst = list_cases(suite, suite, [scores], limit=4, sort="RR")
    values = [case.values["run"]["RR"] for case in worst.cases]
    assert values == sorted(values)
    assert (worst.fitting, len(worst.cases), worst.sorted_run) == (6, 4, "run")
    with pytest.raises(UsageError, match="name the run with --run"):
        list_cases(suite, suite, sort="RR")


def test_undefined_values_come_last(suite: Suite) -> None:
    (scores,) = score_runs(suite, [run_of("other", "src/a.py")], ["nDCG@10"])
    values = [case.values["run"]["nDCG@10"] for case in list_cases(suite, suite, [scores], sort="nDCG@10").cases]
    assert None in values
    assert None not in values[: values.index(None)]
    assert set(values[values.index(None) :]) == {None}
