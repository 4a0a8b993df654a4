"""What to judge next: which pairs are listed, what they would change, and how their grades come back."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from searchmark import Case, Corpus, Document, Judgment, Run, Suite, UsageError, load_suite, match_hits, save_suite, score
from searchmark.audit.agents import judged_table, pool_bias
from searchmark.audit.check import JudgingPlan, Subject
from searchmark.cli.main import main
from searchmark.experiments.audit import build_subject
from searchmark.judgments.next_pairs import plan_judging, plan_tables
from tests.audit.labelling_simulation import collection, in_random_order

QUERIES = {"q1": "red shoes", "q2": "blue coat"}


def small_suite() -> Suite:
    cases = [Case(case, query, (Judgment("known", "id", 1), Judgment("wrong", "id", 0))) for case, query in QUERIES.items()]
    return Suite.from_cases("shop", cases)


def run(name: str, **answers: str) -> Run:
    """Ids in their order, separated by blanks."""
    ranked = {case: {item: -float(at) for at, item in enumerate(items.split())} for case, items in answers.items()}
    return Run.from_scores(ranked, name)


A = run("a", q1="new known wrong", q2="known wrong other")
B = run("b", q1="known wrong new", q2="known wrong other")


def subject(*runs: Run, measure: str = "nDCG@10", suite: Suite | None = None) -> Subject:
    corpus = Corpus.of("shop", [Document(item, f"text of {item}", title=item) for item in ("known", "wrong", "new", "other")])
    return build_subject(suite or small_suite(), corpus, runs, [measure])


def listed(plan: JudgingPlan) -> list[tuple[str, str]]:
    return [(pair.case, pair.item) for pair in plan.pairs]


def test_a_pair_that_both_runs_have_at_the_same_rank_changes_nothing_and_is_not_listed() -> None:
    assert listed(plan_judging(subject(A, B), 10)) == [("q1", "new")]


@pytest.mark.parametrize("measure", ["nDCG@10", "RR", "P@2", "R@2", "AP", "0.5*P@1 + 0.5*RR"])
def test_the_stated_change_is_what_the_measure_becomes_once_the_pair_is_judged(measure: str) -> None:
    plan = plan_judging(subject(A, B, measure=measure), 1)
    (pair,) = plan.pairs
    first, second = small_suite().cases
    judged = Suite.from_cases("shop", [Case("q1", "", (*first.judgments, Judgment("new", "id", 1))), second])
    means = [score(match_hits(judged, {"a": A, "b": B}[name]), [measure]).mean(measure) for name in plan.runs]
    assert pair.effect == pytest.approx(means[1] - means[0] - plan.difference)


def test_the_limits_are_those_of_all_pairs_in_favour_of_one_run() -> None:
    plan = plan_judging(subject(A, B, measure="P@1"), 10)
    assert (plan.difference, sorted((plan.least, plan.most))) == (pytest.approx(0.5), [0.0, 0.5])


@pytest.mark.slow
def test_pairs_are_listed_by_what_they_are_expected_to_change_and_the_order_is_always_the_same() -> None:
    some = collection(1)
    plans = [plan_judging(build_subject(some.suite(), None, some.runs, ["nDCG@10"]), 30) for _ in range(2)]
    expected = np.array([pair.chance * abs(pair.effect) for pair in plans[0].pairs])
    assert (np.diff(expected) <= 1e-9).all()
    assert listed(plans[0]) == listed(plans[1])


def test_what_is_relevant_more_often_where_it_is_judged_is_more_likely_to_be() -> None:
    some = collection(2, share=0.6)
    pairs = plan_judging(build_subject(some.suite(), None, some.runs, ["nDCG@10"]), 500).pairs
    both, alone = ([pair.chance for pair in pairs if (None in pair.ranks) == single] for single in (False, True))
    assert np.mean(both) > np.mean(alone)


def test_no_pair_is_listed_where_all_is_judged() -> None:
    some = collection(3, share=1.0)
    plan = plan_judging(build_subject(some.suite(), None, some.runs, ["nDCG@10"]), 20)
    assert (plan.open, plan.pairs, plan.turns, plan.least) == (0, (), 0, plan.difference)
    assert plan_tables(plan)[0].title.startswith("Comparison that is already settled (no unjudged pair changes it): ")


def test_of_many_runs_the_best_neighbours_that_are_not_told_apart_are_settled() -> None:
    third = run("c", q1="wrong", q2="wrong")
    plan = plan_judging(subject(third, A, B), 5)
    assert (set(plan.runs), plan.why) == ({"a", "b"}, "the best neighbours that are not told apart")


def test_two_runs_may_be_named() -> None:
    third = run("c", q1="wrong", q2="wrong")
    plan = plan_judging(subject(third, A, B), 5, ("c", "a"))
    assert (plan.runs, plan.why) == (("c", "a"), "as asked")


def test_named_runs_are_shown_in_the_order_in_which_they_are_named() -> None:
    settle, _ = plan_tables(plan_judging(subject(A, B, measure="RR"), 5, ("b", "a")))
    assert settle.title.endswith(": b and a by RR (as asked); the difference is a less b")
    assert settle.rows[0][0] == pytest.approx(-0.25)


def test_what_is_expected_lies_between_what_is_possible() -> None:
    some = collection(0, 0.4)
    plan = plan_judging(build_subject(some.suite(), None, some.runs, ["nDCG@10"]), 1)
    assert plan.expected is not None
    assert plan.least <= plan.expected <= plan.most


@pytest.mark.slow
def test_the_sign_turns_about_as_often_as_the_plan_says() -> None:
    turned, said = [], []
    for seed in range(40):
        some = collection(seed, 0.4, "P@5")
        plan = plan_judging(build_subject(some.suite(), None, some.runs, ["P@5"]), 1)
        turned.append(some.difference() * some.difference(some.pool) <= 0)
        said.append(plan.turns or 0.0)
    assert abs(np.mean(turned) - np.mean(said)) < 0.15


def test_a_lead_that_no_grade_turns_is_called_settled() -> None:
    ahead, behind = run("a", q1="known", q2="known"), run("b", q1="wrong other known", q2="wrong other known")
    settle, pairs = plan_tables(plan_judging(subject(ahead, behind, measure="RR"), 5))
    assert settle.title.startswith("Comparison that is already settled (no grades of unjudged pairs turn its sign): ")
    assert len(pairs.rows) == 2


def few_judged(*, chosen: bool) -> Suite:
    """Gold that names one relevant document per case, with judgments against another that were chosen, or not."""
    cases = [Case(f"c{row}", "q", (Judgment("known", "id", 1), Judgment("wrong", "id", 0))) for row in range(12)]
    metadata = {"chosen_judgments": {case.id: ["wrong"] for case in cases}}
    return Suite.from_cases("shop", cases, metadata=metadata if chosen else {})


def few_runs() -> tuple[Run, Run]:
    return tuple(
        run(name, **{f"c{row}": hits for row in range(12)}) for name, hits in (("a", "known wrong new"), ("b", "other known"))
    )  # type: ignore[return-value]  # two of them


def test_nothing_is_expected_of_unjudged_documents_where_no_pool_was_judged() -> None:
    plans = [plan_judging(build_subject(few_judged(chosen=chosen), None, few_runs(), ["RR"]), 1) for chosen in (False, True)]
    assert [plan.expected is None for plan in plans] == [False, True]
    assert [plan.turns is None for plan in plans] == [False, True]
    assert [plan.settled for plan in plans] == [None, None]


def test_judgments_that_were_chosen_are_no_pool() -> None:
    found = [build_subject(few_judged(chosen=chosen), None, few_runs(), ["RR"]) for chosen in (False, True)]
    assert [judged_table(each) is None for each in found] == [False, True]
    assert [any(each.code == "hardly-judged" for each in pool_bias(subject)) for subject in found] == [False, False]


def test_hits_are_not_taken_to_be_like_those_that_were_chosen() -> None:
    cases = [Case(f"c{row}", "q", (Judgment("wrong", "id", 0), Judgment("new", "id", 1))) for row in range(12)]
    suite = Suite.from_cases("shop", cases, metadata={"chosen_judgments": {case.id: ["new"] for case in cases}})
    table = judged_table(build_subject(suite, None, few_runs()[:1], ["RR"]))
    assert table is not None
    assert table.rows[0][1:] == (pytest.approx(2 / 3), pytest.approx(1 / 3), pytest.approx(1 / 3))


@pytest.mark.parametrize(
    ("between", "reason"), [(("a", "x"), "--between names 'x', but the runs are a, b"), (("a", "a"), "two different runs")]
)
def test_runs_that_cannot_be_compared_are_refused(between: tuple[str, str], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        plan_judging(subject(A, B), 5, between)


def test_the_tables_say_which_runs_and_how_far_it_is_open() -> None:
    settle, pairs = plan_tables(plan_judging(subject(A, B, measure="RR"), 5))
    assert settle.title == "Comparison to settle: a and b by RR (the two runs); the difference is b less a"
    assert [row[:4] for row in pairs.rows] == [("q1", "new", 1, 3)]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_suite(small_suite(), "suite.jsonl")
    Path("corpus.jsonl").write_text(
        "".join(
            json.dumps({"id": item, "title": item.upper(), "text": f"=text of {item}"}) + "\n"
            for item in ("known", "wrong", "new", "other")
        )
    )
    Path("a.run").write_text(
        "".join(f"{case} Q0 {item} {rank} {9 - rank} a\n" for case in QUERIES for rank, item in enumerate(("new", "known"), 1))
    )
    Path("b.run").write_text(
        "".join(f"{case} Q0 {item} {rank} {9 - rank} b\n" for case in QUERIES for rank, item in enumerate(("known", "other"), 1))
    )
    return tmp_path


def asked_next(output: str) -> int:
    return main(["audit", "suite.jsonl", "--corpus", "corpus.jsonl", "--run", "a.run", "--run", "b.run", "-m", "RR", "--next", "4", "-o", output])  # fmt: skip


def graded(*grades: str) -> None:
    """The pairs of next.csv with these grades."""
    rows = list(csv.DictReader(Path("next.csv").read_text().splitlines()))
    with Path("next.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"grade": grade} for row, grade in zip(rows, grades, strict=True))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == 4
    return capsys.readouterr().err


IMPORT = ("label", "--gold-set", "suite.jsonl", "--import", "next.csv", "-o", "judged.jsonl")


@pytest.mark.usefixtures("shop")
def test_the_file_has_what_people_need_and_says_that_it_was_chosen() -> None:
    assert asked_next("next.csv") == 0
    rows = list(csv.DictReader(Path("next.csv").read_text().splitlines()))
    assert [(row["query_id"], row["item_id"], row["grade"]) for row in rows] == [("q1", "new", ""), ("q2", "new", "")]
    assert rows[0]["query"] == "red shoes"
    assert (rows[0]["title"], rows[0]["text"]) == ("NEW", "'=text of new")
    assert {row["drawn_from"] for row in rows} == {"chosen, not drawn at random"}


@pytest.mark.usefixtures("shop")
def test_graded_pairs_become_judgments_that_the_suite_remembers_as_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    asked_next("next.csv")
    graded("1", "0")
    assert main(list(IMPORT)) == 0
    suite = load_suite("judged.jsonl")
    assert [case.judgments[-1] for case in suite.cases] == [Judgment("new", "id", 1), Judgment("new", "id", 0)]
    assert suite.metadata == {"chosen_judgments": {"q1": ["new"], "q2": ["new"]}}
    capsys.readouterr()
    assert main(["audit", "judged.jsonl"]) == 0
    assert "judgments-not-random: 2 of 6 judgments, in 2 of 2 cases, were chosen" in capsys.readouterr().out


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("option", ["--gold-set", "--suite"])
def test_the_suite_may_be_named_as_other_commands_name_it(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "suite.jsonl"]) == 0
    by_argument = capsys.readouterr().out
    assert main(["audit", option, "suite.jsonl"]) == 0
    assert capsys.readouterr().out == by_argument


@pytest.mark.usefixtures("shop")
def test_json_lines_are_read_back_as_well() -> None:
    assert asked_next("next.jsonl") == 0
    rows = [json.loads(line) | {"grade": 1} for line in Path("next.jsonl").read_text().splitlines()]
    Path("next.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["label", "--gold-set", "suite.jsonl", "--import", "next.jsonl", "-o", "judged.qrels"]) == 0
    assert "q1 0 new 1\n" in Path("judged.qrels").read_text()


@pytest.mark.usefixtures("shop")
def test_grades_that_are_known_already_are_counted_and_added_once(capsys: pytest.CaptureFixture[str]) -> None:
    asked_next("next.csv")
    graded("1", "0")
    main(list(IMPORT))
    assert main(["label", "--gold-set", "judged.jsonl", "--import", "next.csv", "-o", "again.jsonl"]) == 0
    assert "new judgments: 0, known already: 2" in capsys.readouterr().err
    assert load_suite("again.jsonl") == load_suite("judged.jsonl")


@pytest.mark.usefixtures("shop")
def test_pairs_that_have_no_grade_yet_are_left_out_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    asked_next("next.csv")
    graded("1", "")
    assert main(list(IMPORT)) == 0
    assert "new judgments: 1, pairs without a grade, left out: 1" in capsys.readouterr().err
    graded("", "")
    assert "line 2: no pair has a grade; fill in the column grade" in refused(capsys, *IMPORT)


@pytest.mark.usefixtures("shop")
def test_what_is_to_be_filled_in_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    asked_next("next.csv")
    said = capsys.readouterr().err
    assert "fill in the column grade (0, 1) and read it back with `searchmark label --gold-set SUITE --import next.csv" in said
    assert "without a text" not in said


@pytest.mark.usefixtures("shop")
def test_that_texts_are_missing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    main(["audit", "suite.jsonl", "--run", "a.run", "--run", "b.run", "-m", "RR", "--next", "4", "-o", "next.csv"])
    assert "pairs without a text: 2 of 2; name the documents that were searched with --corpus" in capsys.readouterr().err


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("output", ["next.csv", "next.jsonl"])
def test_long_texts_are_cut_for_people_and_marked(output: str) -> None:
    document = {"id": "new", "title": "NEW", "text": "word " * 10_000, "body": "more " * 10_000}
    Path("corpus.jsonl").write_text(json.dumps(document) + "\n" + json.dumps({"id": "known", "text": "x"}) + "\n")
    assert asked_next(output) == 0
    written = Path(output).read_text()
    assert len(written) < 12_000
    assert "... (cut: 2000 of 50000 characters)" in written


@pytest.mark.usefixtures("shop")
def test_a_format_that_no_suite_is_written_in_is_refused_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    asked_next("next.csv")
    graded("1", "0")
    said = refused(capsys, *IMPORT[:-1], "judged.yaml")
    assert "judged.yaml: the extension does not tell the format; label writes .jsonl, .json, .qrels, or a folder (BEIR)" in said


@pytest.mark.usefixtures("shop")
def test_grades_that_contradict_the_suite_are_refused_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    asked_next("next.csv")
    graded("1", "0")
    main(list(IMPORT))
    graded("0", "0")
    said = refused(capsys, "label", "--gold-set", "judged.jsonl", "--import", "next.csv", "-o", "again.jsonl")
    assert "line 2: contradicts grades of the suite: 'new' for 'q1' is 0 here and 1 there" in said
    assert not Path("again.jsonl").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("q1,", "q9,", "the suite has no case 'q9'"),
        ("red shoes", "red hats", "query 'q1' is 'red hats' here and 'red shoes' in the suite"),
        ("new,1,", "new,2,", "grade '2' is not a whole number from 0 to 1"),
        ("new,1,", "new,yes,", "grade 'yes' is not a whole number"),
        ("q2,blue coat,new", "q1,red shoes,new", "item 'new' is graded a second time for query 'q1'"),
    ],
)
def test_a_line_that_does_not_fit_the_suite_is_refused(old: str, new: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked_next("next.csv")
    graded("1", "0")
    Path("next.csv").write_text(Path("next.csv").read_text().replace(old, new, 1))
    assert reason in refused(capsys, *IMPORT)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("audit", "suite.jsonl", "--run", "a.run", "--next", "3"), "--next needs a suite and two runs"),
        (("audit", "suite.jsonl", "--between", "a", "b"), "--between says which runs --next is about"),
        (("audit", "suite.jsonl", "-o", "next.csv"), "next.csv: pairs to judge are written with --next"),
        (("label", "--gold-set", "suite.jsonl", "-o", "x.jsonl"), "--gold-set takes the grades of --import FILE"),
        (("label", "-o", "x.jsonl"), "nothing says what to label"),
        (("audit", "suite.jsonl", "--gold-set", "suite.jsonl"), "the suite is named twice: suite.jsonl and --gold-set suite.jsonl"),
    ],
)
def test_calls_that_lack_something_are_refused(arguments: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert reason in refused(capsys, *arguments)


@pytest.mark.usefixtures("shop")
def test_a_suite_that_says_how_it_is_tested_is_not_overwritten_without_that(capsys: pytest.CaptureFixture[str]) -> None:
    asked_next("next.csv")
    graded("1", "0")
    header, *cases = Path("suite.jsonl").read_text().splitlines()
    Path("suite.jsonl").write_text("\n".join([json.dumps(json.loads(header) | {"agent": "bm25"}), *cases]) + "\n")
    said = refused(capsys, *IMPORT[:-1], "suite.jsonl")
    assert "also says how it is tested (agent, corpus, gates), which would be lost" in said


@pytest.mark.usefixtures("shop")
def test_an_item_that_a_glob_already_grades_is_not_judged_twice() -> None:
    save_suite(Suite.from_cases("paths", [Case("q1", "red shoes", (Judgment("n*", "glob", 1),))]), "suite.jsonl")
    Path("next.csv").write_text("query_id,item_id,grade\nq1,new,1\nq1,other,0\n")
    assert main(list(IMPORT)) == 0
    assert load_suite("judged.jsonl").cases[0].judgments == (Judgment("n*", "glob", 1), Judgment("other", "path", 0))


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["nDCG@10", "RR", "P@5"])
def test_the_listed_pairs_settle_a_comparison_with_fewer_labels_than_random_ones(measure: str) -> None:
    some = [collection(seed, 0.4, measure) for seed in range(4)]
    planned = [each.labels_until_settled(each.planned(), 0.02) for each in some]
    by_chance = [each.labels_until_settled(in_random_order(each.pool, seed), 0.02) for seed, each in enumerate(some)]
    assert sum(planned) < 0.8 * sum(by_chance)
