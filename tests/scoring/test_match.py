"""Where a hit meets a judgment: order, duplicates, statuses, patterns, paths and partial credit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import (
    Answer,
    Case,
    Hit,
    Judgment,
    NothingEvaluated,
    Run,
    Suite,
    UsageError,
    load_run,
    load_suite,
    match_hits,
    score,
)
from searchmark.records.answers import Status
from searchmark.records.judgments import Match
from searchmark.records.matching import matches_glob
from searchmark.scoring.trust import reasons_for_distrust


def suite_of(*judgments: Judgment, **rest: object) -> Suite:
    return Suite.from_cases("s", [Case("c", judgments=judgments, **rest)])  # type: ignore[arg-type]  # fields of a case


def run_of(hits: list[str], status: Status | None = None, scores: list[float] | None = None) -> Run:
    values = scores or [None] * len(hits)
    entries = tuple(Hit(hit, rank, value) for rank, (hit, value) in enumerate(zip(hits, values, strict=True), 1))
    return Run.from_answers("agent", [Answer("c", status or ("ok" if hits else "empty"), entries)])


def judgments(match: Match, *targets: str, grade: int = 1) -> list[Judgment]:
    return [Judgment(target, match, grade) for target in targets]


def values(suite: Suite, run: Run, *measures: str, corpus: list[str] | None = None) -> list[float]:
    return score(match_hits(suite, run, corpus), measures).values[0].tolist()


class TestOrderAndDuplicates:
    def test_an_answer_keeps_its_order_and_contradicting_scores_are_counted(self) -> None:
        judged = match_hits(suite_of(Judgment("b")), run_of(["a", "b", "d"], scores=[0.1, 0.9, 0.5]))
        assert score(judged, ["RR"]).mean("RR") == 0.5
        assert judged.dropped["scores_out_of_order"] == 1

    def test_a_duplicate_is_dropped_and_counted_and_those_behind_it_move_up(self) -> None:
        judged = match_hits(suite_of(Judgment("b"), Judgment("a")), run_of(["a", "a", "x", "a", "b"]))
        assert judged.dropped["duplicate"] == 2
        assert score(judged, ["P", "AP"]).values[0].tolist() == pytest.approx([2 / 3, (1 + 2 / 3) / 2])

    def test_two_spellings_of_a_path_are_one_hit(self) -> None:
        judged = match_hits(suite_of(*judgments("path", "src/a.py")), run_of(["./src/a.py", "src/a.py", "b.py"]))
        assert judged.dropped["duplicate"] == 1
        assert score(judged, ["P"]).mean("P") == 0.5

    def test_a_hit_outside_the_corpus_keeps_its_rank_and_is_counted(self) -> None:
        judged = match_hits(suite_of(Judgment("b")), run_of(["invented", "b"]), corpus=["a", "b"])
        assert judged.dropped["invalid"] == 1
        assert score(judged, ["RR"]).mean("RR") == 0.5

    def test_hits_are_not_said_to_exist_where_nothing_says_what_exists(self) -> None:
        assert match_hits(suite_of(Judgment("b")), run_of(["invented", "b"])).dropped["invalid"] is None

    def test_a_hit_outside_the_corpus_pays_nothing_even_if_it_was_judged(self) -> None:
        assert values(suite_of(Judgment("gone")), run_of(["gone"]), "RR", corpus=["b"]) == [0.0]
        run = Run.from_answers("agent", [Answer("c", "ok", (Hit("a", 1, valid=False), Hit("b", 2, valid=True)))])
        assert values(suite_of(Judgment("a"), Judgment("b")), run, "RR") == [0.5]

    def test_a_directory_of_the_corpus_is_a_valid_hit(self) -> None:
        judged = match_hits(suite_of(*judgments("path", "src/a/x.py")), run_of(["src/a/", "src", "lib"]), corpus=["src/a/x.py"])
        assert judged.dropped["invalid"] == 1

    def test_targets_outside_the_corpus_are_counted(self) -> None:
        judged = match_hits(suite_of(Judgment("b"), Judgment("gone")), run_of(["b"]), corpus=["b"])
        assert judged.dropped["unreachable_targets"] == 1


class TestStatuses:
    SUITE = Suite.from_cases("s", [Case(f"c{n}", judgments=(Judgment("a"),)) for n in range(5)])

    def scores(self, *statuses: Status):
        answers = [Answer(f"c{n}", status, (Hit("a", 1),) if status == "ok" else ()) for n, status in enumerate(statuses)]
        return score(match_hits(self.SUITE, Run.from_answers("agent", answers)), ["RR"])

    def test_empty_error_and_timeout_score_zero_beside_the_answered_mean(self) -> None:
        scores = self.scores("ok", "ok", "empty", "error", "timeout")
        summary = scores.summaries()["RR"]
        assert (summary.mean, summary.answered_mean, summary.cases) == (0.4, 1.0, 5)
        assert scores.counts == {"ok": 2, "empty": 1, "error": 1, "timeout": 1, "not_run": 0}

    def test_a_case_missing_from_the_run_is_empty(self) -> None:
        scores = self.scores("ok")
        assert scores.counts["empty"] == 4
        assert scores.mean("RR") == 0.2

    def test_not_run_is_left_out_and_makes_the_run_untrusted(self) -> None:
        scores = self.scores("ok", "ok", "ok", "ok", "not_run")
        summary = scores.summaries()["RR"]
        assert (summary.mean, summary.cases, summary.undefined) == (1.0, 4, 0)
        assert scores.reason(4, 0) == "the case was not run"
        assert scores.why_untrusted == "1 of 5 cases were not run"

    def test_errors_above_the_limit_make_the_run_untrusted(self) -> None:
        scores = self.scores("ok", "ok", "ok", "error", "timeout")
        assert scores.why_untrusted == "2 of 5 cases ended in an error or a time-out, more than 5%"
        assert list(reasons_for_distrust(scores.matched, error_limit=0.4)) == []

    def test_an_ok_answer_without_hits_is_empty(self) -> None:
        answers = [Answer(f"c{n}", "ok", ()) for n in range(5)]
        assert score(match_hits(self.SUITE, Run.from_answers("agent", answers)), ["RR"]).counts["empty"] == 5

    def test_hits_of_a_failed_answer_do_not_count(self) -> None:
        run = Run.from_answers("agent", [Answer("c0", "timeout", (Hit("a", 1),))])
        assert score(match_hits(self.SUITE, run), ["RR", "RR@1"]).values.sum() == 0

    def test_a_run_for_another_suite_is_nothing_evaluated(self) -> None:
        with pytest.raises(
            NothingEvaluated, match=r"answers no case of the suite 's': its cases are named like 'x', the suite's like 'c0'"
        ):
            match_hits(self.SUITE, Run.from_answers("agent", [Answer("x", "ok")]))

    def test_a_suite_without_cases_is_nothing_evaluated(self) -> None:
        with pytest.raises(NothingEvaluated, match="has no cases"):
            match_hits(Suite.from_cases("s", []), Run.from_answers("agent", []))


class TestSpellings:
    def test_a_corpus_may_spell_its_paths_with_a_dot(self) -> None:
        judged = match_hits(suite_of(*judgments("path", "a")), run_of(["a"]), corpus=["./a"])
        assert (judged.dropped["invalid"], judged.dropped["unreachable_targets"]) == (0, 0)
        assert score(judged, ["R"]).mean("R") == 1.0

    def test_an_id_beside_a_path_is_found_in_either_spelling(self) -> None:
        assert values(suite_of(Judgment("x"), Judgment("p", "path")), run_of(["./x", "x"]), "R") == [0.5]

    def test_line_judgments_pay_once_even_beside_a_glob(self) -> None:
        suite = suite_of(Judgment("a.py#L1-L50", "lines"), Judgment("*.md", "glob"))
        assert values(suite, run_of(["a.py#L1", "a.py#L2", "a.py#L3"]), "P@3") == [pytest.approx(1 / 3)]

    @pytest.mark.parametrize("corpus", [None, ["src/a.py", "b.py"]])
    @pytest.mark.parametrize("match", ["path", "glob", "lines"])
    @pytest.mark.parametrize(
        "hit", ["src/a.py", "./src/a.py", "src//a.py", "src/./a.py", "x/../src/a.py", "src/a.py/", "src/a.py#L3-L9", "src//a.py#L3"]
    )
    def test_a_saved_path_may_be_spelt_like_a_live_one(self, hit: str, match: Match, corpus: list[str] | None) -> None:
        suite = suite_of(Judgment({"glob": "src/*.py", "lines": "src/a.py#L1-L50"}.get(match, "src/a.py"), match))
        judged = match_hits(suite, run_of(["b.py", hit]), corpus)
        assert score(judged, ["RR"]).mean("RR") == 0.5
        assert judged.dropped["invalid"] == (None if corpus is None else 0)

    @pytest.mark.parametrize("match", ["id", "path", "glob"])
    def test_an_absolute_path_below_the_folder_is_relative_to_it(self, match: Match) -> None:
        suite, run = suite_of(Judgment("src/a.py", match)), run_of(["/repo/b.py", "/repo/src/a.py#L3", "/repository/src/a.py"])
        judged = match_hits(suite, run, ["src/a.py", "b.py"], Path("/repo"))
        assert score(judged, ["RR"]).mean("RR") == 0.5
        assert judged.dropped["invalid"] == 1

    @pytest.mark.parametrize("match", ["path", "glob"])
    def test_two_spellings_are_duplicates(self, match: Match) -> None:
        judged = match_hits(suite_of(Judgment("src/a.py", match)), run_of(["src/a.py", "src//a.py", "x/../src/a.py"]))
        assert (judged.dropped["duplicate"], score(judged, ["P"]).mean("P")) == (2, 1.0)


class TestGlobs:
    @pytest.mark.parametrize(
        ("glob", "hit", "matches"),
        [
            ("*.py", "src/a.py", True),
            ("src/*.py", "src/a.py", True),
            ("src/*.py", "src/b/a.py", False),
            ("src/**/*.py", "src/a.py", True),
            ("src/**/*.py", "src/b/c/a.py", True),
            ("src/**", "src/b/c", True),
            ("src/**", "src", False),
            ("**/a.py", "a.py", True),
            ("*Mail*", "TMail.Send", True),
            ("[!a]x", "bx", True),
            ("[a-c]?", "bz", True),
            ("a[&&b]", "a&", True),
            ("*mail*", "TMail", False),
            ("src/*.py", "./src/a.py", True),
            ("src/*.py", "x/../src//a.py", True),
            ("./*.py", "a.py", True),
            ("./*.py", "src/a.py", False),
            ("https://x/*", "https://x/y", True),
            ("*.{py,js}", "src/a.js", True),
            ("*.{py,js}", "src/a.ts", False),
            ("{src,lib/x}/*.py", "lib/x/a.py", True),
            ("{src,lib/x}/*.py", "lib/a.py", False),
            ("{a,b{c,d}}.py", "bd.py", True),
            ("{a,b{c,d}}.py", "b.py", False),
            ("a{,.min}.js", "a.js", True),
            ("[{,}]x", ",x", True),
            ("{{name}}/*.py", "{{name}}/a.py", True),  # without a comma braces are characters
            ("{a,b", "{a,b", True),  # and so are those that never close
        ],
    )
    def test_stars_stay_within_segments(self, glob: str, hit: str, matches: bool) -> None:
        assert matches_glob(glob, hit) is matches

    @pytest.mark.parametrize(
        ("glob", "complaint"),
        [("f{1..3}.py", "ranges in braces are not supported"), ("{a,b}" * 20, "mean more than 1000 patterns")],
    )
    def test_braces_that_cannot_be_read_are_refused(self, glob: str, complaint: str) -> None:
        with pytest.raises(UsageError, match=complaint):
            matches_glob(glob, "x")

    def test_no_pattern_takes_for_ever(self) -> None:
        assert not matches_glob("*a" * 12 + "b", "a" * 40)
        assert not matches_glob("**/" * 12 + "x", "a/" * 40 + "y")


class TestUnicode:
    """One spelling of an accent is as good as the other: composed in the suite, decomposed in the run."""

    COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"

    @pytest.mark.parametrize("match", ["id", "path", "symbol", "glob", "lines"])
    def test_ids_are_compared_in_nfc(self, match: Match) -> None:
        suite = suite_of(Judgment(self.COMPOSED, match))
        assert values(suite, run_of(["x", self.DECOMPOSED]), "RR") == [0.5]

    def test_arrow_columns_too(self) -> None:
        run = run_of(["x", self.DECOMPOSED])
        columnar = Run(**{**run.__dict__, "ids": pl.Series(run.ids, dtype=pl.String)})
        assert values(suite_of(Judgment(self.COMPOSED)), columnar, "RR") == [0.5]

    def test_two_spellings_are_duplicates(self) -> None:
        judged = match_hits(suite_of(Judgment(self.COMPOSED)), run_of([self.COMPOSED, self.DECOMPOSED, "x"]))
        assert judged.dropped["duplicate"] == 1

    def test_the_corpus_is_compared_in_nfc(self) -> None:
        judged = match_hits(suite_of(Judgment(self.COMPOSED)), run_of([self.DECOMPOSED]), corpus=[self.COMPOSED])
        assert (judged.dropped["invalid"], judged.dropped["unreachable_targets"]) == (0, 0)


class TestDescriptions:
    MAIL = [Judgment("SendMail", "symbol", 2), Judgment("*Mail*", "glob", 1), Judgment("*Test*", "glob", 0)]
    CORPUS = ["TModule.SendMail", "MailBox", "TestMail", "Other"]

    def test_without_a_corpus_hits_are_matched_one_by_one(self) -> None:
        assert values(suite_of(*self.MAIL), run_of(["Other", "MailBox"]), "RR", "P@2", "Success@2") == [0.5, 0.5, 1.0]

    def test_without_a_corpus_recall_and_ndcg_are_undefined_with_the_reason(self) -> None:
        scores = score(match_hits(suite_of(*self.MAIL), run_of(["MailBox"])), ["R@10", "nDCG@10", "AP", "RR"])
        assert np.isnan(scores.values[0]).tolist() == [True, True, True, False]
        assert scores.reason(0, 0) == "glob and symbol judgments name no targets until they are expanded against a corpus"

    def test_with_a_corpus_every_matching_id_is_a_target(self) -> None:
        recall, ndcg = values(suite_of(*self.MAIL), run_of(["MailBox"]), "R", "nDCG", corpus=self.CORPUS)
        assert recall == 0.5  # TModule.SendMail and MailBox; TestMail is excluded
        assert ndcg == pytest.approx(1 / (2 + 1 / np.log2(3)))

    def test_a_path_in_another_spelling_is_one_target(self) -> None:
        judged = [Judgment("./a.py", "path"), Judgment("*.md", "glob")]
        assert values(suite_of(*judged), run_of(["a.py"]), "R", corpus=["a.py", "b.md"]) == [0.5]

    def test_lines_beside_a_glob_still_match_by_overlap(self) -> None:
        judged = [Judgment("a.py#L10-L20", "lines"), Judgment("z/**", "glob")]
        assert values(suite_of(*judged), run_of(["a.py#L15"]), "P@1") == [1.0]
        assert match_hits(suite_of(*judged), run_of(["a.py#L15"]), corpus=["a.py", "z/b"]).dropped["invalid"] == 0

    def test_the_highest_grade_wins_and_an_exclusion_beats_only_patterns(self) -> None:
        judged = [Judgment("TestMail", "symbol", 2), *self.MAIL[1:]]
        assert values(suite_of(*judged), run_of(["TestMail"]), "DCG") == [2.0]

    @pytest.mark.parametrize("others", [(2, -1), (-1, 2), (-1,), (2,)])
    def test_an_exclusion_holds_whatever_grades_other_globs_have(self, others: tuple[int, ...]) -> None:
        judged = [Judgment("*Test*", "glob", 0), *(Judgment(f"*Mail{'*' * n}", "glob", grade) for n, grade in enumerate(others))]
        assert values(suite_of(*judged), run_of(["TestMail"]), "DCG", "Judged@1") == [0.0, 1.0]
        assert values(suite_of(*judged), run_of(["TestMail"]), "DCG", "Judged@1", corpus=["TestMail"]) == [0.0, 1.0]

    def test_an_excluded_hit_is_judged_and_not_relevant(self) -> None:
        assert values(suite_of(*self.MAIL), run_of(["TestMail"]), "Judged@1", "P@1") == [1.0, 0.0]


class TestLines:
    RANGES = judgments("lines", "src/a.py#L10-L20", "src/a.py#L40-L50")

    @pytest.mark.parametrize(
        ("hits", "recall"),
        [
            (["src/a.py#L20-L25"], 0.5),
            (["src/a.py#L21-L39"], 0.0),
            (["src/a.py#L12", "./src/a.py#L45"], 1.0),
            (["src/a.py#L1-L100"], 0.5),  # one hit pays one judgment
            (["src/a.py", "src/a.py#L50"], 1.0),  # the file as a whole overlaps everything
            (["src/b.py#L10-L20"], 0.0),
            (["src/a.py", "src/a.py#L41"], 1.0),
            (["src/a.py", "src/a.py#L11"], 1.0),
        ],
    )
    def test_an_overlap_finds_one_target_per_hit(self, hits: list[str], recall: float) -> None:
        assert values(suite_of(*self.RANGES), run_of(hits), "R") == [recall]

    def test_every_target_is_found_that_can_be_told_from_the_others(self) -> None:
        overlapping = suite_of(*judgments("lines", "a.py#L1-L10", "a.py#L8-L20"))
        assert values(overlapping, run_of(["a.py#L9", "a.py#L5"]), "R", "P") == [1.0, 1.0]
        assert values(overlapping, run_of(["a.py#L5", "a.py#L9", "a.py"]), "R", "P") == [1.0, 2 / 3]

    @pytest.mark.parametrize("hits", [["a.py"], ["a.py", "a.py#L5"], ["a.py", "a.py#L5", "a.py#L1-L3"]])
    def test_a_hit_further_down_takes_nothing_from_those_above(self, hits: list[str]) -> None:
        assert values(suite_of(*judgments("lines", "a.py#L1-L10")), run_of(hits), "P@1", "RR") == [1.0, 1.0]

    def test_the_highest_grade_is_found_first(self) -> None:
        graded = suite_of(Judgment("a.py#L1-L10", "lines", 1), Judgment("a.py#L8-L20", "lines", 3), Judgment("a.py", "path", 2))
        assert values(graded, run_of(["a.py#L9"]), "DCG") == [3.0]
        assert values(graded, run_of(["a.py#L9", "a.py#L15"]), "DCG", "DCG@1") == [3 + 2 / np.log2(3), 3.0]


class TestDirectoryCredit:
    @pytest.mark.parametrize(
        ("targets", "hits", "credit"),
        [
            (["src/auth/login.py"], ["src/auth/"], 0.5),
            (["src/auth/login.py"], ["src/auth/login.py", "src/auth"], 1.0),  # paid once, in full
            (["src/authz/x.py"], ["src/auth"], 0.0),  # by path segment
            (["src/auth/a.py", "src/auth/b.py"], ["src/auth"], 0.5),  # a hit pays one judgment
            (["src/auth/a.py", "src/auth/b.py"], ["src/auth/a.py", "src/auth"], 1.5),  # exact first, then the directory
            (["src/auth/a.py", "src/b.py"], ["src", "src/auth"], 0.5),  # in path order src pays src/auth/a.py
            (["a.py"], ["."], 0.0),
        ],
    )
    def test_pays_half_for_a_directory(self, targets: list[str], hits: list[str], credit: float) -> None:
        suite = suite_of(*judgments("path", *targets))
        precision, recall = credit / len(hits), credit / len(targets)
        f1 = 2 * precision * recall / (precision + recall) if credit else 0.0
        names = ["P(credit=dir)", "R(credit=dir)", "F1(credit=dir)", f"P(credit=dir)@{len(hits)}"]
        assert values(suite, run_of(hits), *names) == pytest.approx([precision, recall, f1, precision])

    def test_other_targets_count_where_they_were_found_exactly(self) -> None:
        suite = suite_of(Judgment("x"), Judgment("src/a.py", "path"))
        assert values(suite, run_of(["x", "src"]), "R(credit=dir)", "R(credit=dir)@1", "R") == [0.75, 0.5, 0.5]

    def test_a_hit_outside_the_corpus_earns_nothing(self) -> None:
        assert values(suite_of(*judgments("path", "src/x.py")), run_of(["src/x.py"]), "R(credit=dir)", corpus=["y"]) == [0.0]

    def test_plain_names_give_no_credit(self) -> None:
        assert values(suite_of(*judgments("path", "src/auth/login.py")), run_of(["src/auth"]), "P", "R", "F1") == [0.0, 0.0, 0.0]

    def test_a_cutoff_looks_at_the_first_hits_only(self) -> None:
        suite = suite_of(*judgments("path", "a/x.py"))
        assert values(suite, run_of(["a", "a/x.py"]), "R(credit=dir)@1", "R(credit=dir)@2") == [0.5, 1.0]

    def test_is_undefined_without_paths(self) -> None:
        scores = score(match_hits(suite_of(Judgment("x")), run_of(["x"])), ["F1(credit=dir)"])
        assert scores.reason(0, 0) == "credit=dir needs judgments that match by path"


ids = st.sampled_from(["a", "b", "ä", "long identifier that is not stored inline", "doc1", "doc2", "doc3"])
grades = st.dictionaries(st.sampled_from("qrstu"), st.dictionaries(ids, st.integers(0, 3), min_size=1), min_size=1)
hit_lists = st.dictionaries(st.sampled_from("qrstuvw"), st.lists(ids, max_size=8), min_size=1)


@given(grades, hit_lists)
def test_lists_and_arrow_columns_are_judged_alike(grades: dict[str, dict[str, int]], hits: dict[str, list[str]]) -> None:
    """Duplicates, unknown cases and another order of cases included."""
    suite = Suite.from_grades(grades)
    answers = [Answer(case, "ok", tuple(Hit(hit, rank) for rank, hit in enumerate(found, 1))) for case, found in hits.items()]
    listed = Run.from_answers("agent", answers)
    columnar = Run(**{**listed.__dict__, "ids": pl.Series(list(listed.ids), dtype=pl.String)})
    if not grades.keys() & hits.keys():
        return
    names = ["nDCG", "AP", "P", "Bpref", "Judged"]
    first, second = match_hits(suite, listed), match_hits(suite, columnar)
    np.testing.assert_array_equal(score(first, names).values, score(second, names).values)
    assert first.dropped == second.dropped


def test_a_file_whose_queries_stand_in_another_order_is_scored_the_same(file, monkeypatch) -> None:
    """First and last in place, the middle swapped: the rows are as many as if they stood together."""
    monkeypatch.setattr("searchmark.formats.trec.FAST_FROM", 0)
    suite = load_suite(file("qrels.txt", "A 0 Ad 1\nB 0 Bd 1\nC 0 Cd 1\nD 0 Dd 1\n"))
    run = load_run(file("run.txt", "".join(f"{query} Q0 {query}d 1 1 t\n" for query in "ACBD")))
    assert not isinstance(run.ids, list)
    assert score(match_hits(suite, run), ["RR"]).mean("RR") == 1.0


def test_targets_that_are_not_utf8_meet_a_clean_run(file, monkeypatch) -> None:
    monkeypatch.setattr("searchmark.formats.trec.FAST_FROM", 0)
    suite = load_suite(file("qrels.txt", b"q1 0 d1 1\nq2 0 d\xff 1\n"))
    run = load_run(file("run.txt", "q1 Q0 d1 1 1 t\nq2 Q0 d2 1 1 t\n"))
    assert score(match_hits(suite, run), ["RR"]).values[:, 0].tolist() == [1.0, 0.0]


def test_large_answers_are_matched_in_chunks(monkeypatch) -> None:
    monkeypatch.setattr("searchmark.scoring.match_ids.BATCH", 7)
    grades = {f"q{n}": {f"d{n}": 1, "x": 0} for n in range(20)}
    scores = {f"q{n}": {f"d{m}": float(-abs(m - n)) for m in range(n % 5 + 1)} | {f"d{n}": 9.0} for n in range(20)}
    run = Run.from_scores(scores)
    for each in (replace(run), replace(run, ids=pl.Series(run.ids))):
        assert score(match_hits(Suite.from_grades(grades), each), ["RR"]).mean("RR") == 1.0
