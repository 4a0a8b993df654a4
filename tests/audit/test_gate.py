"""What the gate can see: shares of rankings against counting and simulation, losses, noise, tables with holes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from searchmark import (
    Answer,
    Case,
    CompareSettings,
    Corpus,
    Document,
    Evaluation,
    GateRule,
    GateSettings,
    Hit,
    Judgment,
    KnownFailure,
    Pin,
    Run,
    Scores,
    Suite,
    audit_suite,
    compare,
    evaluate_run,
    load_baseline,
    load_suite,
    rules_of,
)
from searchmark.audit.check import Subject, all_kinds
from searchmark.audit.full import CHECKS
from searchmark.audit.gate import absent_cases, blindness, flapping, rule_sights, sight_table
from searchmark.audit.gate_chance import OFTEN_PASSED, PassShare, gate_chances, gate_table, passed_by_chance, reaches
from searchmark.audit.numbers import decision_holes, holes
from searchmark.config.gates import DecisionRule, DecisionTable
from searchmark.experiments.audit import build_subject
from searchmark.formats.suites.fixtures import BaselineCase, BaselineMetrics
from searchmark.gates.baselines import fixture_rules
from searchmark.gates.rules import Rule
from searchmark.records.finding import GATE
from searchmark.scoring.decisions import PRESETS
from searchmark.scoring.power import GateQuestion, foresee, losable_column, more_cases_to_see
from tests.audit.clean import clean
from tests.audit.mutations.gates import asked_twice, with_gates
from tests.conftest import ROOT

FIXTURES = ROOT / "examples" / "baselines" / "fixtures.json"
METRICS = ROOT / "examples" / "baselines" / "baseline_metrics.json"


def fixture(name: str, ranking: Sequence[str], relevant: Sequence[str]) -> dict[str, object]:
    documents = [{"id": each, "content": each} for each in ranking]
    return {"name": name, "query": name, "documents": documents, "expected_ranking": list(ranking), "relevant": list(relevant)}


def small_suite(*sizes: int) -> Suite:
    """Cases with so many documents each, the first two of them relevant, the first more than the second."""
    cases = [
        Case(
            f"c{number}",
            f"q{number}",
            tuple(Judgment(f"{each}{number}", grade=grade) for each, grade in (("a", 2), ("b", 1))),
            documents=_documents(size, number),
        )
        for number, size in enumerate(sizes)
    ]
    return Suite.from_cases("small", cases)


def _documents(size: int, case: int) -> tuple[Document, ...]:
    return tuple(Document(f"{each}{case}", each) for each in "abcdefghijklmnop"[:size])


def gates(**given: object) -> list[Rule]:
    return rules_of(GateSettings(**given))  # type: ignore[arg-type]  # as in a config


def counted(suite: Suite, rules: list[Rule]) -> Fraction:
    """The share of suites of rankings that pass, by asking the gate itself about each of them."""
    orders = [list(permutations([each.id for each in case.documents])) for case in suite.cases]
    passed = total = 0
    for ranking in product(*orders):
        passed += passes(suite, rules, ranking)
        total += 1
    return Fraction(passed, total)


def passes(suite: Suite, rules: list[Rule], rankings: Sequence[Sequence[str]]) -> bool:
    answers = [
        Answer(case, "ok", tuple(Hit(each, rank) for rank, each in enumerate(ids, 1)))
        for case, ids in zip(suite.table.ids, rankings, strict=True)
    ]
    _, gate = Evaluation(suite, ["RR"], rules=rules).gate([Run.from_answers("agent", answers)])
    assert gate is not None
    return gate.verdict == "passed"


class TestSharesOfRankings:
    def test_published_fixtures_are_counted(self) -> None:
        """3 of 6 and 50 of 120, as was counted by hand before."""
        subject = Subject(load_suite(FIXTURES), rules=load_baseline(METRICS).rules)
        found = gate_chances(subject)
        assert [(each.count, each.of) for each in found.fixtures.values()] == [(3, 6), (50, 120)]
        assert found.all is not None
        assert (found.all.share, found.all.interval) == (pytest.approx(0.5 * 50 / 120), None)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("ranking", "relevant", "k", "metrics", "share"),
        [
            ("abc", "ab", 3, {"ndcg": 0.95, "mrr": 1.0, "precision_at_k": 0.667}, (3, 6)),
            ("abcd", "ab", 3, {"ndcg": 0.92, "mrr": 1.0, "precision_at_k": 0.667}, (6, 24)),
            ("abcd", "ab", 3, {"ndcg": 0.88, "mrr": 1.0, "precision_at_k": 0.667}, (7, 24)),
            ("abcde", "abc", 5, {"ndcg": 0.93, "mrr": 1.0, "precision_at_k": 0.6}, (50, 120)),
        ],
    )
    def test_a_fixture_is_counted_as_its_gate_decides(
        self, tmp_path: Path, ranking: str, relevant: str, k: int, metrics: dict[str, float], share: tuple[int, int]
    ) -> None:
        (tmp_path / "fixtures.json").write_text(json.dumps({"fixtures": [fixture("one", list(ranking), list(relevant))]}))
        (tmp_path / "baseline.json").write_text(json.dumps({"test_cases": [{"name": "one", "k": k, "metrics": metrics}]}))
        suite, rules = load_suite(tmp_path / "fixtures.json"), list(load_baseline(tmp_path / "baseline.json").rules)
        (found,) = gate_chances(Subject(suite, rules=rules)).fixtures.values()
        assert (found.count, found.of) == share
        assert counted(suite, rules) == Fraction(*share)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "rules",
        [
            gates(thresholds={"RR": 0.6}),
            gates(thresholds={"nDCG@2": 0.5, "P@2": 0.5}),
            gates(rules=(GateRule(measure="RR", at_most=0.75), GateRule(measure="RR", above=0.5))),
            gates(each_case={"RR": 0.4}),
            gates(pins=(Pin("c0", must_be_first="a0"), Pin("c1", before=("a1", "c1")))),
            gates(pins=(Pin("c0", must_contain="b0", k=2), Pin("c1", must_not_contain="c1", k=1)), thresholds={"RR": 0.4}),
            gates(known_failures=(KnownFailure("c0", "RR", 0.9),)),
        ],
        ids=lambda rules: " and ".join(rule.name for rule in rules),
    )
    def test_few_rankings_are_counted_exactly(self, rules: list[Rule]) -> None:
        suite = small_suite(3, 3)
        found = gate_chances(Subject(suite, rules=rules)).all
        assert found is not None
        assert (found.share, found.interval) == (pytest.approx(float(counted(suite, rules))), None)

    def test_means_of_many_small_cases_are_added_up_exactly(self) -> None:
        """RR of three documents is 1, 1/2 or 1/3: of twelve cases by all their sums, here against their distribution by hand."""
        rules = gates(thresholds={"RR": 0.9})
        found = gate_chances(Subject(small_suite(*[3] * 12), rules=rules)).rules[0]
        values = {Fraction(1): Fraction(4, 6), Fraction(1, 2): Fraction(2, 6)}  # two of three are relevant
        sums = {Fraction(0): Fraction(1)}
        for _ in range(12):
            sums = _added(sums, values)
        assert found.interval is None
        assert found.share == pytest.approx(float(sum(share for total, share in sums.items() if total >= Fraction(108, 10))))

    def test_many_rankings_are_drawn_with_an_interval(self) -> None:
        """Of ten documents two are relevant: the first hit is one of them in a fifth of all rankings."""
        found = gate_chances(Subject(small_suite(10), rules=gates(each_case={"P@1": 1.0}))).all
        assert found is not None
        assert (found.count, found.of) == (18, 90)  # the ranks of two documents among ten, all of them
        drawn = gate_chances(Subject(small_suite(16, 16, 16), rules=gates(thresholds={"nDCG@10": 0.5}))).all
        assert drawn is not None
        assert 0 < drawn.share < 1
        assert drawn.interval is None or drawn.interval[0] < drawn.share < drawn.interval[1] < drawn.share + 0.06

    def test_of_no_drawn_ranking_that_passes_the_share_may_be_small_and_is_not_known_to_be_none(self) -> None:
        found = gate_chances(Subject(small_suite(*[16] * 40), rules=gates(thresholds={"nDCG@10": 0.9}))).all
        assert found is not None
        assert found.of is not None
        assert found.interval == (0.0, pytest.approx(3.69 / found.of, rel=0.02))

    def test_a_bound_that_no_ranking_can_meet_is_known_without_drawing(self) -> None:
        found = gate_chances(Subject(small_suite(*[16] * 40), rules=gates(thresholds={"P@5": 0.85, "RR": 0.1})))
        assert found.rules[0] == found.all == PassShare(0.0)
        assert found.rules[1].share > 0

    @pytest.mark.parametrize(
        ("count", "of", "told"), [(1, 20, False), (3, 20, False), (4, 20, True), (27, 400, False), (28, 400, True)]
    )
    def test_a_share_that_was_drawn_is_told_only_beyond_the_luck_of_draws(self, count: int, of: int, told: bool) -> None:
        """One of 20 is drawn in 18 % of all audits of a gate that 1 % of rankings pass."""
        assert reaches(PassShare(count / of, count, of, (0.0, 1.0)), OFTEN_PASSED) is told
        assert reaches(PassShare(count / of, count, of), OFTEN_PASSED)  # counted, and not drawn

    def test_a_gate_on_times_alone_and_documents_that_are_not_known_say_nothing(self) -> None:
        times = gates(rules=(GateRule(latency="warm.p95", at_most=10),))
        assert gate_chances(Subject(small_suite(3), rules=times)).all is None
        unknown = Suite.from_cases("s", [Case("c", "q", (Judgment("a"),))])
        assert gate_chances(Subject(unknown, rules=gates(thresholds={"RR": 0.5}))).all is None

    def test_a_strict_gate_on_many_documents_is_silent(self) -> None:
        subject = Subject(small_suite(*[12] * 8), rules=gates(thresholds={"RR": 0.9}))
        assert list(passed_by_chance(subject)) == []

    @pytest.mark.slow
    @pytest.mark.parametrize(("minimum", "cases", "size"), [(0.35, 3, 40), (0.3, 8, 30), (0.2, 20, 60)])
    def test_drawn_shares_agree_with_the_gate_on_random_runs(self, minimum: float, cases: int, size: int) -> None:
        documents = [f"d{number}" for number in range(size)]
        judged = tuple(Judgment(each, grade=1 + number % 2) for number, each in enumerate(documents[:8]))
        suite = Suite.from_cases("s", [Case(f"c{number}", f"q{number}", judged) for number in range(cases)])
        rules = gates(thresholds={"nDCG@10": minimum, "P@5": minimum / 2})
        corpus = Corpus.of("documents", [Document(each, each) for each in documents])
        found = gate_chances(Subject(suite, corpus.survey, rules=rules)).all
        assert found is not None
        assert found.interval is not None
        error = (found.interval[1] - found.interval[0]) / 4
        generator = np.random.default_rng(3)
        trials = 600
        passed = sum(passes(suite, rules, [generator.permutation(documents).tolist() for _ in range(cases)]) for _ in range(trials))
        assert found.share == pytest.approx(passed / trials, abs=4 * (error**2 + 0.25 / trials) ** 0.5)


def _added(sums: dict[Fraction, Fraction], values: dict[Fraction, Fraction]) -> dict[Fraction, Fraction]:
    found: dict[Fraction, Fraction] = {}
    for (total, share), (value, own) in product(sums.items(), values.items()):
        found[total + value] = found.get(total + value, Fraction(0)) + share * own
    return found


class TestLosses:
    COMPARING = (GateRule(measure="nDCG@10", against="baseline"),)

    def test_a_bound_sees_what_is_larger_than_the_room_above_it(self) -> None:
        (found,) = rule_sights(with_gates(clean(), thresholds={"nDCG@10": 0.6}).subject())
        assert found.loss == pytest.approx(0.6424 - 0.6, abs=1e-4)
        assert list(blindness(with_gates(clean(), thresholds={"nDCG@10": 0.6}).subject())) == []

    def test_a_rule_that_sees_enough_makes_up_for_one_that_does_not(self) -> None:
        loose, both = {"nDCG@10": 0.2}, {"nDCG@10": 0.2, "RR": 0.7}
        found = [{each.code for each in blindness(with_gates(clean(), thresholds=each).subject())} for each in (loose, both)]
        assert found == [{"large-loss-unseen"}, set()]

    def test_without_runs_a_bound_is_not_said_to_see_anything(self) -> None:
        subject = replace(with_gates(clean(), thresholds={"nDCG@10": 0.2}), answers={}).subject()
        assert (list(rule_sights(subject)), list(blindness(subject))) == ([], [])

    def test_without_a_run_a_rule_that_compares_is_held_against_the_largest_noise(self) -> None:
        subject = replace(with_gates(clean(), rules=self.COMPARING), answers={}).subject()
        (found,) = rule_sights(subject)
        assert (found.independent, found.basis) == (60, "the largest possible noise")
        assert found.smallest_p == pytest.approx(2.0**-60)
        (unseen,) = blindness(subject)
        assert unseen.message.startswith("no rule is sure to see a loss of 0.1; nDCG@10 against baseline (no evidence of harm): ")

    @pytest.mark.parametrize("wanted", [0.05, 0.1, 0.2])
    def test_as_many_more_cases_as_are_named_show_the_wanted_loss_and_one_fewer_do_not(self, wanted: float) -> None:
        question, suite = GateQuestion("no-evidence-of-harm"), small_suite(*[3] * 40)
        more = more_cases_to_see(losable_column(suite, "RR", question, None, None), question, wanted)
        assert more is not None
        enough, too_few = (foresee(small_suite(*[3] * (40 + count)), "RR", question).detectable for count in (more, more - 1))
        assert (enough or 1) <= wanted < (too_few or 1)

    def test_no_number_of_cases_shows_a_loss_that_does_not_count(self) -> None:
        question = GateQuestion("no-evidence-of-harm", min_effect=0.05)
        assert more_cases_to_see(losable_column(small_suite(3, 3), "RR", question, None, None), question, 0.05) is None

    @pytest.mark.slow
    def test_a_wanted_loss_is_told_with_what_it_takes(self) -> None:
        rules = (*self.COMPARING, GateRule(measure="RR", against="baseline", policy="non-inferior", margin=0.1))
        subject = with_gates(clean(), rules=rules, thresholds={"P@5": 0.2}).subject(foresight=0.02)
        (found,) = (each.message for each in blindness(subject) if each.code == "wanted-loss-unseen")
        assert found.startswith(
            "3 of 3 rules on means would often not see a loss of 0.02. P@5 >= 0.2: the smallest loss that is seen is "
        )
        assert re.search(
            r"\(strong has [0-9.]+\); a bound of [0-9.]+ would. nDCG@10 against baseline \(no evidence of harm\): ", found
        )
        assert re.search("[0-9]+ more independent cases would. RR against baseline", found)
        assert found.endswith("(based on its margin); a margin of 0.02 would with 123 more independent cases")

    def test_a_rule_that_the_run_fails_already_is_said_to_be_below_and_not_to_see_all(self) -> None:
        subject = with_gates(clean(), thresholds={"P@5": 0.99}).subject(foresight=0.02)
        (found,) = rule_sights(subject)
        assert (found.loss, found.failing) == (None, True)
        assert found.basis.startswith("already below: strong has 0.")
        assert list(blindness(subject)) == []

    def test_a_wanted_loss_with_bounds_alone_and_no_run_says_what_is_missing(self) -> None:
        subject = replace(with_gates(clean(), thresholds={"RR": 0.5}), answers={}).subject(foresight=0.02)
        assert [each.message.partition(":")[0] for each in blindness(subject)] == ["no rule is known to see a loss of 0.02"]

    def test_finding_and_table_say_the_same_number_of_cases_for_a_margin(self) -> None:
        rules = (GateRule(measure="RR", against="baseline", policy="non-inferior"),)
        subject = with_gates(clean(), rules=rules).subject()
        (found,), (sight,) = blindness(subject), rule_sights(subject)
        assert (sight.more, sight.can_lose) == (123, None)
        assert "; 123 more independent cases are needed to show that less than 0.02 is lost" in found.message

    def test_a_suite_is_worth_as_many_cases_as_it_is_said_to_be_and_fewer_can_lose(self) -> None:
        cases = [replace(each, origin=f"o{row // 2}") if row < 20 else each for row, each in enumerate(clean().cases)]
        (found,) = rule_sights(with_gates(clean().with_cases(cases), rules=self.COMPARING).subject())
        assert found.independent == pytest.approx(60**2 / (10 * 4 + 40))
        assert found.can_lose is not None
        assert found.can_lose <= 50

    @pytest.mark.slow
    def test_the_tables_have_a_row_for_every_rule(self) -> None:
        subject = with_gates(clean(), rules=self.COMPARING, thresholds={"P@5": 0.2}).subject()
        table, sights = gate_table(subject), sight_table(subject)
        assert table is not None
        assert sights is not None
        assert [row[0] for row in table.rows] == ["P@5 >= 0.2", "nDCG@10 against baseline (no evidence of harm)", "the whole gate"]
        assert [row[0] for row in sights.rows] == ["P@5 >= 0.2", "nDCG@10 against baseline (no evidence of harm)"]
        assert gate_table(clean().subject()) is sight_table(clean().subject()) is None

    @pytest.mark.slow
    @pytest.mark.parametrize(("repeat", "noisy"), [(True, True), (True, False), (False, True)])
    def test_the_loss_that_is_seen_is_called_regressed_in_four_of_five_builds(self, repeat: bool, noisy: bool) -> None:
        """Builds as they are described, each compared with the run by the verdicts that every comparison gets."""
        subject = (
            asked_twice(clean(), noisy=noisy, rules=self.COMPARING)
            if repeat
            else with_gates(clean(), rules=self.COMPARING).subject()
        )
        (found,) = rule_sights(subject)
        assert found.loss is not None
        assert _share_seen(subject, found.loss, repeat) == pytest.approx(0.8, abs=0.08)


def _share_seen(subject: Subject, loss: float, repeat: bool, builds: int = 250) -> float:
    """How often a build is REGRESSED: by cases that lose all that they have, or by as much everywhere, and by noise."""
    one, two = subject.scores.values()
    column = one.names.index("nDCG@10")
    before, noise = one.values[:, column], (one.values - two.values)[:, column]
    noise = noise if repeat else noise - noise.mean()
    generator, seen = np.random.default_rng(5), 0
    for _ in range(builds):
        lost = (
            np.where(generator.random(len(before)) < loss / before.mean(), generator.permutation(before), 0.0) if repeat else loss
        )
        values = one.values.copy()
        values[:, column] += noise * generator.choice([-1, 1], len(noise)) - lost
        (pair,) = compare([one, Scores(two.matched, two.measures, values)], (), CompareSettings(primary="nDCG@10"))
        seen += pair.differences[column].verdict == "REGRESSED"
    return seen / builds


class TestNoise:
    def test_a_bound_within_the_noise_flaps_and_one_outside_does_not(self) -> None:
        near, far = (asked_twice(clean(), thresholds={"nDCG@10": bound}) for bound in (0.645, 0.5))
        assert [each.code for each in flapping(near)] == ["flapping-rule"]
        assert flapping(far) == []

    def test_a_margin_within_the_noise_flaps(self) -> None:
        rules = [(GateRule(measure="nDCG@10", against="baseline", policy="non-inferior", margin=margin),) for margin in (0.01, 0.2)]
        assert [len(flapping(asked_twice(clean(), rules=each))) for each in rules] == [1, 0]

    def test_one_observation_has_no_interval_that_could_flap(self) -> None:
        one = clean().with_cases(replace(case, origin="the same") for case in clean().cases)
        rules = (GateRule(measure="nDCG@10", against="baseline", policy="non-inferior", margin=0.01),)
        assert flapping(asked_twice(one, rules=rules)) == []

    @pytest.mark.slow
    def test_one_agent_that_answers_the_same_twice_has_no_noise(self) -> None:
        comparing = (GateRule(measure="nDCG@10", against="baseline"),)
        same, noisy = (asked_twice(clean(), noisy=each, rules=comparing) for each in (False, True))
        once = replace(with_gates(clean(), rules=comparing), answers={"strong": clean().answers["strong"]}).subject()
        ((found,), (other,), (unknown,)) = map(rule_sights, (same, noisy, once))
        assert (found.basis, other.basis) == ("strong, run twice without any difference", "the noise of strong, run twice")
        assert unknown.basis == "the largest possible noise"
        assert 0 < (found.loss or 0) < (unknown.loss or 0)
        assert flapping(asked_twice(clean(), noisy=False, thresholds={"nDCG@10": 0.6424})) == []

    def test_two_agents_are_no_noise(self) -> None:
        assert flapping(with_gates(clean(), thresholds={"nDCG@10": 0.645}).subject()) == []


class TestDecisionTables:
    @pytest.mark.parametrize(
        ("rules", "found"),
        [
            ([(0.1, None), (None, 0.05)], [(0.05, 0.1)]),
            ([(0.1, None), (None, 0.1)], []),
            ([(0.1, None)], []),
            ([(0.2, None), (0.05, 0.1), (None, 0.0)], [(0.0, 0.05), (0.1, 0.2)]),
            ([(0.2, None), (None, 0.3)], []),
        ],
    )
    def test_gains_between_two_lines_have_no_rule(
        self, rules: list[tuple[float | None, float | None]], found: list[object]
    ) -> None:
        table = DecisionTable("a", "b", tuple(DecisionRule("do it", above, below) for above, below in rules))
        assert list(holes(table)) == found

    def test_an_otherwise_of_ones_own_is_a_rule_for_them(self) -> None:
        rules = (DecisionRule("keep", above=0.1), DecisionRule("drop", below=0.05))
        tables = (DecisionTable("a", "b", rules), DecisionTable("a", "b", rules, otherwise="look again in a month"))
        (found,) = decision_holes(clean().subject(decisions=tables))
        assert found.message == "a against b: no rule is about gains from 0.05 to 0.1: 'no clear gain' is decided"

    def test_our_own_tables_have_none(self) -> None:
        tables = [table for preset in PRESETS.values() for table in preset]
        assert list(decision_holes(clean().subject(decisions=tables))) == []


class TestAbsentCases:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"pins": (Pin("c0", must_be_first="d0001"),)}, "the suite has no case 'c0'; did you mean 'c"),
            ({"known_failures": (KnownFailure("nowhere"),)}, "the suite has no case 'nowhere'"),
            ({"rules": (GateRule(measure="RR", at_least=0.1, where={"tag": "exact"}),)}, "no case of the suite has tag 'exact'"),
            ({"rules": (GateRule(measure="RR", against="baseline", where={"rank": "1"}),)}, "no case of the suite has rank '1'"),
        ],
    )
    def test_a_rule_about_cases_that_there_are_not_is_told(self, given: dict[str, object], message: str) -> None:
        (found,) = absent_cases(replace(with_gates(clean(), **given), answers={}).subject())
        assert (found.code, message in found.message) == ("rule-without-cases", True)

    def test_a_fixture_and_a_metric_that_there_are_not_are_told(self) -> None:
        known = BaselineMetrics((BaselineCase("pair", {"mrr": 1.0}, 3), BaselineCase("c0", {"loudness": 1.0}, 3)))
        found = absent_cases(Subject(small_suite(3), rules=fixture_rules(known)))
        assert [each.message.partition(": ")[2] for each in found] == [
            "the suite has no fixture 'pair'",
            "there is no metric 'loudness' of fixtures",
        ]


@pytest.mark.slow
def test_an_audit_without_a_run_says_of_rules_what_a_report_says() -> None:
    made = with_gates(clean(), thresholds={"P@10": 0.85, "RR": 0.0}, pins=(Pin("c00", must_contain="nowhere"),))
    subject = made.subject()
    run = Run.from_answers("strong", made.answers["strong"])
    report = evaluate_run(subject.suite, [run], made.measures, rules=made.rules, corpus=subject.survey)
    codes = {"unattainable-threshold", "threshold-always-met", "pin-outside-corpus"}
    without = audit_suite(subject.suite, subject.corpus, rules=made.rules)
    told = [[each for each in found if each.code in codes] for found in (report.audit, without.findings)]
    assert told[0] == told[1]
    assert {each.code for each in told[0]} == codes


def test_what_rules_say_of_a_run_is_not_said_by_an_audit() -> None:
    """They are said where a gate is checked; every one of them is tried with the rules that make them."""
    of_gates = {kind.code for kind in all_kinds().values() if kind.theme == GATE}
    assert of_gates - {code for check in CHECKS for code in check.codes} == {
        "warning-level", "baseline-of-another-model", "baseline-left-behind", "small-losses-unseen",
    }  # fmt: skip


def test_measures_of_rules_are_scored_beside_those_of_the_suite() -> None:
    made = with_gates(clean(), thresholds={"R@7": 0.1})
    runs = [Run.from_answers("strong", made.answers["strong"])]
    (scores,) = build_subject(made.subject().suite, None, runs, rules=made.rules).scores.values()
    assert "R@7" in scores.names
    assert "nDCG@10" in scores.names
