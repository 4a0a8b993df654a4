"""Looks at build after build: all levels add up to 5 %, and each test keeps its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from searchmark import Answer, Case, Hit, Judgment, Run, Scores, Suite, match_hits, score
from searchmark.scoring.planned_tests import Look, decide_look, evidence_level_of, level_of, sequential_verdict, take_look
from searchmark.scoring.statistics import Observations, difference_intervals, observations, randomisation_p
from searchmark.scoring.verdicts import PairedEvidence

CLEAR = PairedEvidence(cases=50, mean=-0.2, low=-0.3, high=-0.1, p=1e-5, observations=50, effective_size=50)


def scores_of(values: list[float], failed: int = 0) -> Scores:
    suite = Suite.from_cases("suite", [Case(f"q{n}", "", (Judgment(f"yes{n}"),)) for n in range(len(values))])
    ok = [Answer(case, "ok", (Hit(f"yes{n}", 1),)) for n, case in enumerate(suite.table.ids)][failed:]
    answers = [*(Answer(case, "error") for case in suite.table.ids[:failed]), *ok]
    found = score(match_hits(suite, Run.from_answers("run", answers)), ["RR"])
    return replace(found, values=np.array(values)[:, None])


class TestLevels:
    def test_those_of_all_looks_add_up_to_5_percent(self) -> None:
        spent = np.cumsum([level_of(number) for number in range(1, 100_001)])
        assert spent[29] == pytest.approx(0.025)
        assert 0.0499 < spent[-1] < 0.05

    def test_they_fall_with_every_look(self) -> None:
        assert [level_of(1), level_of(30)] == pytest.approx([0.05 / 31, 0.05 / 118])

    def test_a_family_shares_a_look(self) -> None:
        assert level_of(3, family=4) == level_of(3) / 4

    def test_looks_are_counted_from_1(self) -> None:
        with pytest.raises(ValueError, match="counted from 1"):
            level_of(0)


class TestVerdicts:
    @pytest.mark.parametrize(
        ("evidence", "verdict"),
        [
            (CLEAR, "REGRESSED"),
            (replace(CLEAR, mean=0.2, low=0.1, high=0.3), "IMPROVED"),
            (replace(CLEAR, p=0.01), "INCONCLUSIVE"),
            (replace(CLEAR, high=0.01), "INCONCLUSIVE"),
            (replace(CLEAR, mean=-0.005, low=-0.008, high=-0.002), "INCONCLUSIVE"),
            (replace(CLEAR, low=None, high=None, p=None), "INCONCLUSIVE"),
            (PairedEvidence(), "INCONCLUSIVE"),
        ],
        ids=["clear", "gain", "p", "interval", "too small", "too few", "nothing"],
    )
    def test_test_interval_and_effect_must_agree(self, evidence: PairedEvidence, verdict: str) -> None:
        assert decide_look(Look(1, level_of(1), evidence), 0.01).verdict == verdict

    def test_the_reason_names_level_and_look(self) -> None:
        assert (
            decide_look(Look(30, level_of(30), CLEAR), 0.01).reason == "the interval lies below 0, and p is below 0.00042 (look 30)"
        )

    def test_eleven_losses_suffice_at_the_first_look_and_not_at_the_thirtieth(self) -> None:
        before, after = scores_of([1.0] * 30), scores_of([0.0] * 11 + [1.0] * 19)
        verdicts = [sequential_verdict(before, after, 0, number, 0.01)[1].verdict for number in (1, 30)]
        assert verdicts == ["REGRESSED", "INCONCLUSIVE"]

    def test_the_interval_is_that_of_the_level(self) -> None:
        before, after = scores_of([1.0] * 40), scores_of([0.0] * 20 + [1.0] * 20)
        looks = [take_look(before, after, 0, number).evidence for number in (1, 100)]
        assert (looks[1].low or 0) < (looks[0].low or 0) < (looks[0].high or 0) < (looks[1].high or 0)

    def test_a_verdict_must_not_rest_on_cases_that_failed(self) -> None:
        before, after = scores_of([1.0] * 40), scores_of([0.0] * 20 + [1.0] * 20, failed=20)
        look, judgement = sequential_verdict(before, after, 0, 1, 0.01)
        assert decide_look(look, 0.01).verdict == "REGRESSED"
        assert judgement.reason == "the verdict would be a different one without the cases that failed"

    def test_some_of_the_cases(self) -> None:
        before, after = scores_of([1.0] * 40), scores_of([0.0] * 20 + [1.0] * 20)
        assert take_look(before, after, 0, 1, np.arange(20, 40)).evidence.losses == 0


class TestExactP:
    """Without mid-p no p is smaller than that of all sign patterns."""

    @pytest.mark.parametrize("changes", [1, 5, 12, 40])
    def test_equal_losses_alone(self, changes: int) -> None:
        losses = np.full((changes, 1), -0.5)
        assert randomisation_p(losses, mid=False)[0] == pytest.approx(2.0 ** (1 - changes))
        assert randomisation_p(losses)[0] == pytest.approx(2.0**-changes)

    @pytest.mark.parametrize("step", [0.2, 1 / 3])
    def test_steps_as_precision_has_them(self, step: float) -> None:
        """Held against the distribution of the sum, added up change by change."""
        random = np.random.default_rng(3)
        for _ in range(40):
            steps = random.integers(1, 4, 30)
            signs = np.where(random.random(30) < 0.8, -1, 1)
            exact = exact_p(steps, abs(int((steps * signs).sum())))
            assert 0.99 * exact <= randomisation_p((step * steps * signs)[:, None], mid=False)[0] <= 1.25 * exact + 1e-9

    def test_values_without_a_common_step_are_as_before(self) -> None:
        values = np.random.default_rng(4).normal(0.1, 0.2, (60, 5))
        assert randomisation_p(values, mid=False) == pytest.approx(randomisation_p(values))


def exact_p(steps: np.ndarray, limit: int) -> float:
    shares = np.ones(1)
    for step in steps.tolist():
        shares = np.concatenate([shares, np.zeros(2 * step)]) / 2 + np.concatenate([np.zeros(2 * step), shares]) / 2
    sums = np.arange(len(shares)) - int(steps.sum())
    return float(shares[np.abs(sums) >= limit].sum())


def fired(found: Observations, level: float) -> np.ndarray:
    low, high = difference_intervals(found, evidence_level_of(level).interval)
    return np.asarray((randomisation_p(found.sums, mid=False) < level) & ((low > 0) | (high < 0)))


@pytest.mark.parametrize(("cases", "binary"), [*product((30, 100), (True, False))])
def test_thirty_looks_at_builds_that_do_not_differ_seldom_give_a_verdict(cases: int, binary: bool) -> None:
    trials, random = 200, np.random.default_rng([15, cases])
    difficulty = random.random((cases, trials))

    def drawn() -> np.ndarray:
        noise = random.random((cases, trials))
        return (noise < difficulty).astype(float) if binary else (noise + difficulty) / 2

    baseline, ever = drawn(), np.zeros(trials, bool)
    for number in range(1, 31):
        ever |= fired(observations(drawn() - baseline, None), level_of(number))
    assert ever.mean() <= 0.05
