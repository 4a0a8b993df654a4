"""Comparisons: verdicts with evidence, and the third answer."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from searchmark import (
    Answer,
    Case,
    CompareSettings,
    FormatError,
    Hit,
    Incomparable,
    Judgment,
    Run,
    Suite,
    UsageError,
    build_comparison,
    compare,
    load_config,
    match_hits,
    read_report,
    render,
    score,
)
from searchmark.cli.main import main
from searchmark.records.answers import Status
from searchmark.reports.render import write_report
from searchmark.scoring.comparison import Pair
from searchmark.scoring.verdicts import Difference
from tests.conftest import ROOT


def suite_of(count: int, **column: object) -> Suite:
    return Suite.from_cases(
        "s",
        [
            Case(
                f"c{n:04}",
                f"query {n}",
                (Judgment(f"a{n}"), Judgment(f"no{n}", grade=0)),
                **{name: value(n) for name, value in column.items()},
            )  # type: ignore[operator]  # functions
            for n in range(count)
        ],
    )


def run_of(name: str, ranks: list[int], statuses: dict[int, Status] | None = None) -> Run:
    """Answers in which the target stands at a given rank, or not at all for 0."""
    answers = []
    for n, rank in enumerate(ranks):
        status = (statuses or {}).get(n, "ok")
        ids = [f"x{i}" for i in range(1, rank)] + [f"a{n}"] if rank else [f"no{n}"]
        hits = tuple(Hit(hit, place) for place, hit in enumerate(ids, 1)) if status == "ok" else ()
        answers.append(Answer(f"c{n:04}", status, hits))
    return Run.from_answers(name, answers)


def differences(suite: Suite, *runs: Run, measures: tuple[str, ...] = ("RR",), **options: float | str) -> list[Difference]:
    pairs = compare([score(match_hits(suite, run), measures) for run in runs], options=CompareSettings(**options))
    return [found for pair in pairs for found in pair.differences]


RANDOM = np.random.default_rng(11)
BASE = RANDOM.integers(1, 6, 200).tolist()


class TestVerdicts:
    def test_improved_and_regressed_mirror_each_other(self) -> None:
        better = [max(1, rank - 1) for rank in BASE]
        (up,) = differences(suite_of(200), run_of("old", BASE), run_of("new", better))
        (down,) = differences(suite_of(200), run_of("new", better), run_of("old", BASE))
        assert (up.verdict, down.verdict) == ("IMPROVED", "REGRESSED")
        assert up.difference == -down.difference
        assert up.p == down.p < 0.001
        assert (up.wins, up.ties, up.losses) == (down.losses, down.ties, down.wins)
        assert up.effect_size > 0 > down.effect_size

    @pytest.mark.parametrize(("cases", "verdict"), [(10, "INCONCLUSIVE"), (298, "INCONCLUSIVE"), (299, "WITHIN NOISE")])
    def test_ties_are_within_noise_once_a_changed_share_of_one_percent_would_have_shown(self, cases: int, verdict: str) -> None:
        (found,) = differences(suite_of(cases), run_of("a", [2] * cases), run_of("b", [2] * cases))
        assert (found.verdict, found.difference, found.p) == (verdict, 0.0, 1.0)
        assert found.low == -found.high == pytest.approx(0.025 ** (1 / cases) - 1)

    @pytest.mark.parametrize("wins", [4, 5])
    def test_few_wins_among_many_ties_are_no_improvement_unless_the_test_says_so(self, wins: int) -> None:
        """Four equal wins have a mid-p of 1/16, five unequal ones a p of 2/32, whatever an interval says."""
        ranks = [0] * 4 + [2] * 96
        (found,) = differences(suite_of(100), run_of("a", ranks), run_of("b", [1] * wins + ranks[wins:]))
        assert (found.verdict, found.p) == ("INCONCLUSIVE", pytest.approx(0.0625))

    def test_equal_values_get_equal_lines_whatever_the_measure_is_called(self) -> None:
        runs = run_of("a", [2] * 12 + [1] * 88), run_of("b", [1] * 10 + [2] * 4 + [1] * 86)
        lines = [replace(found, measure="") for found in differences(suite_of(100), *runs, measures=("P@1", "Success@1", "RR@1"))]
        numbers = [(found.low, found.high, found.p, found.detectable is None) for found in lines]
        assert numbers[0] == numbers[1] == numbers[2]

    def test_too_little_evidence_is_inconclusive_and_says_how_many_cases_it_takes(self) -> None:
        (found,) = differences(suite_of(12), run_of("a", [1, 3] * 6), run_of("b", [2, 1] * 6))
        assert found.verdict == "INCONCLUSIVE"
        assert found.cases_needed > 12
        assert found.detectable > 0.01

    def test_fewer_than_ten_cases_get_no_interval(self) -> None:
        (found,) = differences(suite_of(9), run_of("a", [2] * 9), run_of("b", [1] * 9))
        assert (found.verdict, found.low, found.reason) == ("INCONCLUSIVE", None, "worth fewer than 10 independent cases")

    def test_a_clear_difference_below_the_smallest_effect_is_no_improvement(self) -> None:
        better = [max(1, rank - 1) for rank in BASE]
        (found,) = differences(suite_of(200), run_of("a", BASE), run_of("b", better), min_effect=0.9)
        assert found.verdict == "WITHIN NOISE"
        assert found.cases_needed is None, "a true difference below what counts is shown by no number of cases"

    def test_an_untrusted_run_is_invalid_and_never_significantly_worse(self) -> None:
        never_ran = run_of("dead", BASE, dict.fromkeys(range(200), "not_run"))
        (found,) = differences(suite_of(200), run_of("a", BASE), never_ran)
        assert (found.verdict, found.reason) == ("INVALID", "untrusted: dead (200 of 200 cases were not run)")

    def test_a_verdict_that_rests_on_failures_is_inconclusive(self) -> None:
        """The candidate is a little better where it answers, and lost 9 of 200 cases to time-outs."""
        ranks = [1] * 200
        candidate = run_of("b", ranks, dict.fromkeys(range(9), "timeout"))
        (found,) = differences(suite_of(200), run_of("a", ranks), candidate)
        assert found.verdict == "INCONCLUSIVE"
        assert found.reason == "the verdict would be a different one without the cases that failed"

    def test_not_inferior_is_a_matter_of_the_margin(self) -> None:
        worse = [rank + 1 if n % 40 == 0 else rank for n, rank in enumerate(BASE)]
        runs = run_of("a", BASE), run_of("b", worse)
        assert differences(suite_of(200), *runs, margin=0.1)[0].non_inferior is True
        assert differences(suite_of(200), *runs, margin=0.0)[0].non_inferior is False

    def test_copies_of_cases_add_no_evidence(self) -> None:
        ranks_a, ranks_b = [1, 3] * 10, [2, 1] * 10
        once = differences(suite_of(20), run_of("a", ranks_a), run_of("b", ranks_b))[0]
        copied = suite_of(200, origin=lambda n: f"origin {n % 20:02}")
        many = differences(copied, run_of("a", ranks_a * 10), run_of("b", ranks_b * 10))[0]
        assert (many.low, many.high, many.p) == pytest.approx((once.low, once.high, once.p))


class TestFamilies:
    def test_a_clear_difference_stays_clear_among_many_runs(self) -> None:
        runs = [run_of("best", [1] * 60), *(run_of(f"r{i}", [0] * 30 + [5] * 30) for i in range(39))]
        assert differences(suite_of(60), *runs)[0].verdict == "REGRESSED"

    def test_a_run_that_cannot_be_trusted_weighs_on_nobody_else(self) -> None:
        first, second = run_of("a", [0] * 6 + [1] * 54), run_of("b", [1] * 60)
        broken = run_of("z", [1] * 60, {0: "not_run"})
        alone = differences(suite_of(60), first, second)[0]
        among = differences(suite_of(60), first, second, broken)[0]
        assert (alone.verdict, alone.p_holm) == (among.verdict, among.p_holm)

    def test_a_segment_that_is_the_whole_suite_is_none(self) -> None:
        suite = suite_of(60, category=lambda n: "only", tags=lambda n: ("all", "odd") if n % 2 else ("all",))
        scores = [score(match_hits(suite, run_of(name, [1] * 60)), ["RR"]) for name in "ab"]
        (pair,) = compare(scores, ["category", "tag"])
        assert {name: list(values) for name, values in pair.segments.items()} == {"category": [], "tag": ["odd"]}

    SUITE = suite_of(200, category=lambda n: f"g{n % 2}")
    BETTER = [max(1, rank - 1) for rank in BASE]

    def pair(self, *ranks: list[int], measures: tuple[str, ...] = ("RR", "Success@1", "Judged@5"), **options: str) -> Pair:
        runs = [run_of(name, each) for name, each in zip("ab", ranks, strict=True)]
        scores = [score(match_hits(self.SUITE, run), measures) for run in runs]
        return compare(scores, ["category"], CompareSettings(**options))[0]

    def test_without_a_significant_primary_measure_all_else_is_exploratory(self) -> None:
        pair = self.pair(BASE, BASE[::-1])
        assert [found.verdict for found in pair.differences] == ["INCONCLUSIVE", "EXPLORATORY", "EXPLORATORY"]
        assert pair.differences[1].reason == "the primary measure, RR, is neither IMPROVED nor REGRESSED"
        assert {found.verdict for value in pair.segments["category"].values() for found in value} == {"EXPLORATORY"}
        assert (pair.differences[1].p_holm, pair.differences[1].family) == (None, 0)

    def test_a_significant_primary_measure_opens_one_family_of_the_others_and_its_segments(self) -> None:
        pair = self.pair(BASE, self.BETTER)
        assert [found.verdict for found in pair.differences] == ["IMPROVED", "IMPROVED", "EXPLORATORY"]
        segments = pair.segments["category"]
        assert [segments[name][0].verdict for name in ("g0", "g1")] == ["IMPROVED", "IMPROVED"]
        assert [segments[name][1].verdict for name in ("g0", "g1")] == ["EXPLORATORY", "EXPLORATORY"]
        assert segments["g0"][1].reason == "segments are tested by the primary measure, RR"
        assert [pair.differences[0].family, pair.differences[1].family, segments["g0"][0].family] == [1, 3, 3]

    def test_what_was_judged_is_no_verdict_and_never_the_primary_measure(self) -> None:
        pair = self.pair(BASE, self.BETTER, measures=("Judged@5", "RR"))
        assert (pair.primary, pair.differences[0].verdict) == ("RR", "EXPLORATORY")

    def test_a_primary_measure_that_cannot_be_compared_is_named(self) -> None:
        pair = self.pair(BASE, self.BETTER, measures=("Tau", "RR"))
        assert pair.differences[1].reason == "the primary measure, Tau, cannot be compared; --primary names another one"

    def test_a_primary_measure_that_is_too_small_to_count_opens_no_family(self) -> None:
        suite = suite_of(400)
        runs = run_of("a", [2] * 400), run_of("b", [0] * 8 + [1] * 392)
        scores = [score(match_hits(suite, run), ["P@5", "RR"]) for run in runs]
        (pair,) = compare(scores, options=CompareSettings(min_effect=0.02))
        assert [found.verdict for found in pair.differences] == ["WITHIN NOISE", "EXPLORATORY"]

    def test_the_primary_measure_can_be_declared(self) -> None:
        assert self.pair(BASE, self.BETTER, primary="hit_rate@1").primary == "Success@1"
        with pytest.raises(UsageError, match="the primary measure 'AP' is not among those that are computed: RR, Success@1"):
            self.pair(BASE, self.BETTER, primary="MAP")


def test_binary_measures_with_unequal_origins_keep_their_level() -> None:
    """One origin of 40 cases and 20 single ones, both runs drawn alike: few false alarms."""
    suite = suite_of(60, origin=lambda n: "big" if n < 40 else f"o{n}")
    random = np.random.default_rng(5)
    alarms = 0
    for _ in range(60):
        draws = [random.integers(0, 2, 21) for _ in range(2)]
        runs = [run_of(name, [int(draw[0])] * 40 + draw[1:].tolist()) for name, draw in zip("ab", draws, strict=True)]
        alarms += differences(suite, *runs, measures=("Success@5",))[0].verdict in ("IMPROVED", "REGRESSED")
    assert alarms <= 8


def test_a_verdict_on_failures_alone_is_inconclusive_even_if_few_cases_are_left() -> None:
    suite = suite_of(120, category=lambda n: "x" if n < 12 else "y")
    failing = run_of("a", [1] * 120, dict.fromkeys(range(6), "error"))
    (pair,) = compare([score(match_hits(suite, run), ["RR"]) for run in (failing, run_of("b", [1] * 120))], ["category"])
    assert pair.differences[0].verdict == "INCONCLUSIVE"


def test_the_failed_pairs_of_a_binary_measure_are_judged_as_it_is() -> None:
    before, after = [0] * 12 + [1] * 4 + [0] * 14, [1] * 12 + [0] * 4 + [0] * 14
    found = differences(
        suite_of(30), run_of("a", before, {29: "error"}), run_of("b", after, {29: "error"}), measures=("Success@5",)
    )[0]
    assert "without the cases that failed" not in found.reason


def test_an_invalid_difference_is_not_called_not_inferior() -> None:
    found = differences(suite_of(60), run_of("a", [2] * 60), run_of("b", [1] * 60, {0: "not_run"}))[0]
    assert (found.verdict, found.non_inferior) == ("INVALID", None)


def test_equal_runs_have_no_power_to_speak_of_and_constant_gains_no_effect_size() -> None:
    equal = differences(suite_of(40), run_of("a", [1] * 40), run_of("b", [1] * 40), measures=("Success@5",))[0]
    constant = differences(suite_of(40), run_of("a", [3] * 40), run_of("b", [2] * 40))[0]
    assert (equal.detectable, equal.cases_needed, constant.effect_size) == (None, None, None)


def test_rank_moves_of_a_glob_follow_the_first_hit_that_fits() -> None:
    suite = Suite.from_cases("s", [Case("c", "q", (Judgment("src/*.py", "glob"),))])
    runs = [
        Run.from_answers(name, [Answer("c", "ok", tuple(Hit(h, r) for r, h in enumerate(ids, 1)))])
        for name, ids in (("a", ["z", "src/a.py", "src/c.py"]), ("b", ["src/a.py", "x", "src/c.py"]))
    ]
    (pair,) = compare([score(match_hits(suite, run), ["RR"]) for run in runs])
    assert [(m.target, m.before, m.after) for m in pair.telling[0].moves] == [("src/*.py", 2, 1)]


def test_churn_drops_duplicates_and_covers_only_what_both_runs_have() -> None:
    suite = suite_of(2)
    first = Run.from_answers("a", [Answer("c0000", "ok", (Hit("a0", 1), Hit("a0", 2), Hit("b", 3)))])
    second = Run.from_answers("b", [Answer("c0000", "ok", (Hit("a0", 1), Hit("b", 2)))])
    (pair,) = compare([score(match_hits(suite, run), ["RR"]) for run in (first, second)])
    assert (pair.churn.cases, pair.churn.overlap, pair.churn.parting_depth) == (1, 1.0, None)


def test_churn_knows_a_file_however_it_is_spelt() -> None:
    suite = Suite.from_cases("s", [Case("c1", "q", (Judgment("src/a.py", "path"),))])
    plain = Run.from_answers("plain", [Answer("c1", "ok", (Hit("src/a.py", 1), Hit("src/b.py", 2)))])
    spelt = Run.from_answers("spelt", [Answer("c1", "ok", (Hit("./src/a.py#L3-L9", 1), Hit("src/a.py", 2), Hit("src/b.py", 3)))])
    (pair,) = compare([score(match_hits(suite, run), ["RR"]) for run in (plain, spelt)])
    assert (pair.churn.first_changed, pair.churn.overlap, pair.churn.parting_depth) == (0, 1.0, None)


def test_several_pairs_are_adjusted_by_holm_and_a_weak_one_falls() -> None:
    runs = [run_of(f"r{i}", np.random.default_rng(i).integers(1, 6, 60).tolist()) for i in range(6)]
    found = differences(suite_of(60), *runs)
    assert len(found) == 15
    assert all(each.p_holm >= each.p for each in found)
    assert all(each.verdict == "INCONCLUSIVE" for each in found if each.p_holm >= 0.05 and each.low > 0)


def test_a_baseline_for_all_leaves_out_other_pairs_and_adjusts_for_fewer_comparisons() -> None:
    runs = [run_of(f"r{i}", np.random.default_rng(i).integers(1, 6, 60).tolist()) for i in range(6)]
    every, few = differences(suite_of(60), *runs), differences(suite_of(60), *runs, baseline="r2")
    assert [(each.baseline, each.candidate) for each in few] == [("r2", f"r{i}") for i in (0, 1, 3, 4, 5)]
    assert sorted(each.p for each in few) == pytest.approx(
        sorted(each.p for each in every if "r2" in (each.baseline, each.candidate)), rel=1e-12
    )
    smallest = min(few, key=lambda each: each.p)
    assert smallest.p_holm == pytest.approx(5 * smallest.p)


def test_a_difference_that_is_lost_among_many_comparisons_says_so() -> None:
    """Nine of sixty cases are better: clear for one pair, not for the 28 pairs of eight runs."""
    ranks = [2] * 60
    better = [1] * 9 + [2] * 51
    runs = [run_of("better", better), *(run_of(f"r{i}", ranks) for i in range(7))]
    (alone,) = differences(suite_of(60), run_of("r0", ranks), run_of("better", better))
    found = differences(suite_of(60), *runs)[0]
    assert (alone.verdict, found.verdict) == ("IMPROVED", "INCONCLUSIVE")
    assert found.reason == "not significant after Holm correction for 28 comparisons"


def test_a_measure_without_a_highest_value_is_never_within_noise() -> None:
    (found,) = differences(suite_of(400), run_of("a", [2] * 400), run_of("b", [2] * 400), measures=("DCG@10",))
    assert found.verdict == "INCONCLUSIVE"


def test_equal_gains_in_all_cases_are_not_called_too_small_to_count() -> None:
    suite = suite_of(30)
    scores = [score(match_hits(suite, run_of(name, [rank] * 30)), ["RR"]) for name, rank in (("a", 5), ("b", 4))]
    assert "too small to count" not in render(build_comparison(scores, compare(scores)))


def test_the_order_of_cases_changes_no_number() -> None:
    ranks_a, ranks_b = BASE, BASE[::-1]
    order = np.random.default_rng(1).permutation(200).tolist()
    suite = suite_of(200)
    shuffled = Suite.from_cases("s", [suite.cases[i] for i in order])
    assert differences(suite, run_of("a", ranks_a), run_of("b", ranks_b)) == differences(
        shuffled, run_of("a", ranks_a), run_of("b", ranks_b)
    )


def test_the_order_of_runs_changes_only_the_sign() -> None:
    runs = [run_of(f"r{i}", np.random.default_rng(i).integers(1, 6, 60).tolist()) for i in range(3)]
    forward = {frozenset((f.baseline, f.candidate)): f for f in differences(suite_of(60), *runs)}
    for found in differences(suite_of(60), *reversed(runs)):
        other = forward[frozenset((found.baseline, found.candidate))]
        assert (found.difference, found.p, found.p_holm) == pytest.approx((-other.difference, other.p, other.p_holm))


def test_segments_are_compared_with_the_same_care() -> None:
    suite = suite_of(200, category=lambda n: "big" if n < 190 else "small", tags=lambda n: ("t",) if n % 2 else ())
    better = [max(1, rank - 1) for rank in BASE]
    (pair,) = compare(
        [score(match_hits(suite, run), ["RR"]) for run in (run_of("a", BASE), run_of("b", better))], ["category", "tag"]
    )
    assert pair.segments["category"]["big"][0].verdict == "IMPROVED"
    assert pair.segments["category"]["small"][0].cases == 10
    assert set(pair.segments["tag"]) == {"t"}


def test_telling_cases_show_where_targets_went() -> None:
    (pair,) = compare(
        [score(match_hits(suite_of(12), run), ["RR"]) for run in (run_of("a", [1] * 11 + [4]), run_of("b", [1] * 10 + [0, 1]))]
    )
    lost, gained = pair.telling
    assert (lost.case, lost.before, lost.after) == ("c0010", 1.0, 0.0)
    assert (lost.moves[0].target, lost.moves[0].before, lost.moves[0].after) == ("a10", 1, None)
    assert (gained.case, gained.moves[0].before, gained.moves[0].after) == ("c0011", 4, 1)


def test_churn_needs_no_judgment() -> None:
    (pair,) = compare(
        [score(match_hits(suite_of(12), run), ["RR"]) for run in (run_of("a", [2] * 12), run_of("b", [2] * 6 + [1] * 6))]
    )
    assert (pair.churn.cases, pair.churn.first_changed, pair.churn.parting_depth) == (12, 6, 1.0)
    assert 0 < pair.churn.overlap < 1


def test_runs_of_one_name_are_told_apart() -> None:
    pairs = compare([score(match_hits(suite_of(12), run_of("same", [1] * 12)), ["RR"]) for _ in range(3)])
    assert [(pair.baseline, pair.candidate) for pair in pairs] == [("same", "same#2"), ("same", "same#3"), ("same#2", "same#3")]


def test_what_cannot_be_compared_is_refused() -> None:
    scores = score(match_hits(suite_of(12), run_of("a", [1] * 12)), ["RR"])
    with pytest.raises(UsageError, match="at least two runs"):
        compare([scores])
    with pytest.raises(Incomparable, match="same suite and by the same measures"):
        compare([scores, score(match_hits(suite_of(11), run_of("b", [1] * 11)), ["RR"])])
    with pytest.raises(UsageError, match="min_effect must be a number of at least 1e-06 and at most 1, not 0"):
        CompareSettings(min_effect=0)


class TestReport:
    def report(self):
        better = [max(1, rank - 1) for rank in BASE]
        suite = suite_of(200, category=lambda n: f"g{n % 2}")
        scores = [
            score(match_hits(suite, run), ["RR", "Success@1"]) for run in (run_of("old_run", BASE), run_of("new|run", better))
        ]
        return build_comparison(scores, compare(scores, ["category"]), ["category"])

    def test_json_has_the_agreed_shape_and_is_read_back_identical(self, tmp_path: Path) -> None:
        report = self.report()
        write_report(report, tmp_path / "r.json")
        first = json.loads((tmp_path / "r.json").read_text())["comparisons"][0]
        agreed = {
            "baseline",
            "candidate",
            "measure",
            "difference",
            "low",
            "high",
            "p",
            "verdict",
            "detectable",
            "wins",
            "ties",
            "losses",
        }
        assert agreed <= set(first)
        assert read_report(tmp_path / "r.json") == report

    def test_markdown_latex_and_text_show_the_letters(self) -> None:
        assert "<sup>a</sup>" in render(self.report(), "markdown")
        assert "^{a}$" in render(self.report(), "latex")
        assert r"old\_run" in render(self.report(), "latex")
        assert "new|run against old_run" in render(self.report())


class TestConfig:
    def test_yaml_toml_and_pyproject_say_the_same(self, file) -> None:
        yaml = "compare: {min_effect: 0.03, decisions: [{candidate: b, baseline: a, rules: [{decision: go, above: 0.1, categories: [1]}]}]}"
        toml = "[compare]\nmin_effect = 0.03\n[[compare.decisions]]\ncandidate = 'b'\nbaseline = 'a'\nrules = [{decision = 'go', above = 0.1, categories = [1]}]"
        project = toml.replace("[compare]", "[tool.searchmark.compare]").replace("[[compare.", "[[tool.searchmark.compare.")
        configs = [
            load_config(file(name, text)) for name, text in [("a.yaml", yaml), ("a.toml", toml), ("pyproject.toml", project)]
        ]
        assert configs[0].compare == configs[1].compare == configs[2].compare
        assert configs[0].compare.min_effect == 0.03

    def test_a_project_file_counts_only_if_it_has_our_table(self, tmp_path: Path, monkeypatch) -> None:
        (tmp_path / "inner").mkdir()
        (tmp_path / ".git").mkdir()
        (tmp_path / "searchmark.yaml").write_text("compare: {margin: 0.5}")
        monkeypatch.chdir(tmp_path / "inner")
        for content in ("# see [tool.searchmark]", "[tool.searchmarket]\na = 1", "tool = 3", "broken = ["):
            (tmp_path / "inner" / "pyproject.toml").write_text(content)
            assert load_config().compare.margin == 0.5
        (tmp_path / "inner" / "pyproject.toml").write_text("[tool]\nsearchmark.compare.margin = 0.25")
        assert load_config().compare.margin == 0.25

    @pytest.mark.parametrize(
        ("name", "content", "complaint"),
        [
            ("a.yaml", "compare: {min_efect: 1}", "compare.min_efect: is not a known field"),
            ("a.yaml", "compare: {min_effect: much}", "compare.min_effect: input should be a valid number"),
            ("a.yaml", "colour: red", "colour: is not a known field"),
            ("a.toml", "compare = [", "not valid TOML"),
            ("a.yaml", "[]", "should be a mapping with fields such as "),
        ],
    )
    def test_refuses_with_file_field_and_reason(self, file, name: str, content: str, complaint: str) -> None:
        with pytest.raises(FormatError) as caught:
            load_config(file(name, content))
        assert complaint in str(caught.value)


class TestCommand:
    EXAMPLE = ["--gold-set", str(ROOT / "examples/quickstart/suite.yaml")]
    RUNS = ["--run", str(ROOT / "examples/quickstart/bm25.json"), "--run", str(ROOT / "examples/quickstart/semantic.json")]

    def test_compares_saved_runs(self, tmp_path: Path, capsys) -> None:
        outputs = [tmp_path / name for name in ("a.json", "a.md", "a.tex")]
        arguments = [part for path in outputs for part in ("-o", str(path))]
        assert main(["compare", *self.EXAMPLE, *self.RUNS, "-m", "nDCG@10", *arguments]) == 0
        assert "semantic against bm25" in capsys.readouterr().out
        assert json.loads(outputs[0].read_text())["comparisons"][0]["verdict"] == "IMPROVED"
        assert outputs[2].read_text().count(r"\begin{tabular}") == 1

    def test_a_brief_answer_has_one_table_for_all_pairs(self, tmp_path: Path, capsys) -> None:
        runs = [*self.RUNS, *self.RUNS[:2]]
        arguments = ["compare", *self.EXAMPLE, *runs, "-m", "nDCG@10", "-m", "RR", "-o", str(tmp_path / "a.md")]
        assert main([*arguments, "--brief"]) == 0
        brief = capsys.readouterr().out
        verdicts = [
            line.split()[:3] for line in brief.splitlines() if re.search("IMPROVED|REGRESSED|NOISE|INCONCLUSIVE|EXPLORATORY", line)
        ]
        pairs = [("semantic", "bm25"), ("bm25#2", "bm25"), ("bm25#2", "semantic")]
        assert verdicts == [[*pair, measure] for pair in pairs for measure in ("nDCG@10", "RR")]
        assert "most telling" not in brief
        assert "most telling" in (tmp_path / "a.md").read_text().lower()

    def test_a_baseline_leaves_decisions_about_others_out(self, file, capsys) -> None:
        table = "{candidate: CANDIDATE, baseline: bm25, rules: [{decision: take it, above: 0.1}]}"
        tables = ", ".join(table.replace("CANDIDATE", name) for name in ("semantic", "'bm25#2'"))
        config = ["--config", str(file("c.yaml", f"compare: {{decisions: [{tables}]}}"))]
        arguments = ["compare", *self.EXAMPLE, *self.RUNS, *self.RUNS[:2], "-m", "nDCG@10", *config]
        assert main([*arguments, "--baseline", "semantic"]) == 0
        out = capsys.readouterr().out
        assert "semantic against bm25 by nDCG@10: take it" in out
        assert "bm25#2 against bm25" not in out

    @pytest.mark.parametrize(
        "searched", [RUNS, ["--agents", "bm25", "fts5", "--corpus", str(ROOT / "examples/quickstart/corpus.jsonl")]]
    )
    def test_a_baseline_that_nobody_has_is_a_usage_error(self, searched: list[str], monkeypatch, capsys) -> None:
        monkeypatch.setattr("searchmark.cli.verbs.compare.run_with_progress", lambda *_: pytest.fail("it was run all the same"))
        assert main(["compare", *self.EXAMPLE, *searched, "--baseline", "bm52"]) == 4
        assert "the baseline 'bm52' is not among the runs: bm25, " in capsys.readouterr().err

    def test_one_run_is_a_usage_error(self, capsys) -> None:
        assert main(["compare", *self.EXAMPLE, *self.RUNS[:2]]) == 4
        assert "needs two runs" in capsys.readouterr().err

    @pytest.mark.slow
    def test_a_config_sets_the_smallest_effect_and_decides(self, file, capsys) -> None:
        config = file(
            "c.yaml",
            "compare: {min_effect: 0.9, decisions: [{candidate: semantic, baseline: bm25, rules: [{decision: ship it, above: 0.1}]}]}",
        )
        assert main(["compare", *self.EXAMPLE, *self.RUNS, "-m", "nDCG@10", "--config", str(config)]) == 0
        out = capsys.readouterr().out
        assert "nDCG@10: WITHIN NOISE" in out
        assert "semantic against bm25 by nDCG@10: ship it" in out
        assert main(["compare", *self.EXAMPLE, *self.RUNS, "-m", "nDCG@10", "--config", str(config), "--min-effect", "0.05"]) == 0
        assert "nDCG@10: IMPROVED" in capsys.readouterr().out

    def test_a_preset_for_other_arms_is_a_usage_error(self, capsys) -> None:
        assert main(["compare", *self.EXAMPLE, *self.RUNS, "--decide", "vector-search"]) == 4
        assert "the runs are bm25, semantic" in capsys.readouterr().err

    def test_a_run_over_other_topics_is_compared_on_all_cases_or_on_the_common_ones(self, file, capsys) -> None:
        qrels = file("q.txt", "".join(f"q{n} 0 a 1\n" for n in range(20)))
        full = file("full.txt", "".join(f"q{n} Q0 a 1 1 t\n" for n in range(20)))
        part = file("part.txt", "".join(f"{'q' if n < 12 else 'z'}{n} Q0 a 1 1 t\n" for n in range(20)))
        arguments = ["compare", "--gold-set", str(qrels), "--run", str(full), "--run", str(part), "-m", "RR", "-o", "-"]
        assert main(arguments) == 2
        assert json.loads(capsys.readouterr().out)["comparisons"][0]["verdict"] == "INVALID"
        assert main([*arguments, "--missing", "zero"]) == 0
        assert json.loads(capsys.readouterr().out)["comparisons"][0]["cases"] == 20
        assert main([*arguments, "--intersect"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["comparisons"][0]["cases"] == 12
        assert "all runs: cases of the suite that not all runs answer, left out: 8" in [note["message"] for note in report["audit"]]

    def test_an_untrusted_run_exits_with_2(self, file, tmp_path: Path) -> None:
        from searchmark import save_run

        save_run(
            Run.from_answers("dead", [Answer("crud-create", "error"), Answer("crud-bulk", "timeout")]), tmp_path / "dead.jsonl"
        )
        assert main(["compare", *self.EXAMPLE, *self.RUNS[:2], "--run", str(tmp_path / "dead.jsonl"), "-m", "RR"]) == 2


@pytest.mark.slow
def test_fifty_runs_fit_into_one_table() -> None:
    scores = [score(match_hits(suite_of(12), run_of(f"run {i}", [1 + i % 3] * 12)), ["RR"]) for i in range(50)]
    report = build_comparison(scores, compare(scores))
    assert len(report.pairs) == 1225
    assert render(report, "latex").count(r"\\") == 51


def test_all_pairs_are_there() -> None:
    pairs: list[Pair] = compare([score(match_hits(suite_of(12), run_of(f"r{i}", [1] * 12)), ["RR"]) for i in range(5)])
    assert len(pairs) == 10
