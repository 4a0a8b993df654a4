"""What verdicts claim, by simulation: coverage, false verdicts, power, families of comparisons, decision tables.

Every figure has a bar, and is printed with the two standard errors that it may be off by. `--trials N` makes it shorter.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.simulation import EFFECTS, NULLS, Population, at_the_line, dense

from searchmark import Case, Judgment, Run, Suite, compare, match_hits, score
from searchmark.scoring.decisions import gain_of
from searchmark.scoring.statistics import (
    EQUIVALENCE_LEVEL,
    SHOWN_LEVEL,
    difference_intervals,
    observations,
    one_sided_size,
    randomisation_p,
    score_interval,
    standard_errors,
    statistic_variance,
)
from searchmark.scoring.verdicts import PairedEvidence, VerdictRule, cases_needed, decide_difference, detectable_difference

SIZES = (10, 20, 50, 100, 200, 500)
MIN_EFFECT = 0.01
SEED = 20_261_115


def evidence_of(population: Population, cases: int, trials: int, seed: int = SEED) -> list[PairedEvidence]:
    """The evidence of every trial, as `compare` would have it; p is worked out where a verdict could rest on it."""
    first, second = population.sample(cases, trials, seed)
    found = observations(second - first, population.clusters(cases))
    if not found.enough:  # no interval is shown, and no verdict given
        return [
            PairedEvidence(cases, mean, observations=len(found), effective_size=found.effective_size)
            for mean in found.means.tolist()
        ]
    low, high = difference_intervals(found, SHOWN_LEVEL)
    equal_low, equal_high = difference_intervals(found, EQUIVALENCE_LEVEL)
    p = np.ones(trials)
    excluded = np.flatnonzero((low > 0) | (high < 0))
    if len(excluded):
        p[excluded] = randomisation_p(found.sums[:, excluded])
    columns = (found.means, low, high, equal_low, equal_high, p)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [PairedEvidence(cases, *row, observations=len(found), effective_size=found.effective_size, wins=1) for row in rows]


def verdicts_of(evidence: list[PairedEvidence], min_effect: float = MIN_EFFECT) -> np.ndarray:
    return np.array([decide_difference(each, each.p, min_effect).verdict for each in evidence])


def slack(share: float, trials: int) -> float:
    return 2 * float(np.sqrt(share * (1 - share) / trials))


def line(name: str, values: list[float], bad: list[bool]) -> None:
    print(f"  {name:<20}" + "".join(f"{value:>8.3f}{'!' if wrong else ' '}" for value, wrong in zip(values, bad, strict=True)))


def heading(text: str) -> None:
    print(f"{text}\n  {'cases':<20}" + "".join(f"{size:>8} " for size in SIZES))


def false_verdicts(trials: int) -> bool:
    heading(
        f"false IMPROVED or REGRESSED, true difference 0 (bar 0.050 + {slack(0.05, trials):.4f}); {trials:,} trials, seed {SEED}"
    )
    worst = 0.0
    for population in NULLS:
        rates = [
            float(np.isin(verdicts_of(evidence_of(population, n, trials), 1e-6), ("IMPROVED", "REGRESSED")).mean()) for n in SIZES
        ]
        line(population.name, rates, [rate > 0.05 + slack(0.05, trials) for rate in rates])
        worst = max(worst, *rates)
    return worst <= 0.05 + slack(0.05, trials)


def false_noise(trials: int) -> bool:
    bar = 0.05 + slack(0.05, trials)
    heading(f"false WITHIN NOISE, true difference at least min_effect = {MIN_EFFECT} (bar {bar:.4f})")
    worst = 0.0
    for population in at_the_line(MIN_EFFECT):
        rates = [float((verdicts_of(evidence_of(population, n, trials)) == "WITHIN NOISE").mean()) for n in SIZES]
        line(population.name, rates, [rate > bar for rate in rates])
        worst = max(worst, *rates)
    return worst <= bar


def _true_mean(population: Population) -> float:
    """The mean of the candidate, from two million cases."""
    return float(np.mean([np.clip(population.sample(200_000, 1, seed)[1], 0, 1).mean() for seed in range(1, 11)]))


def _mean_coverage(population: Population, cases: int, trials: int, true: float) -> float:
    """How often the interval of `evaluate` covers the mean of the candidate."""
    scores = np.clip(population.sample(cases, trials, SEED)[1], 0, 1)
    found = observations(scores, population.clusters(cases))
    if not found.enough:
        return float("nan")
    low, high = score_interval(found)
    return float(((low <= true) & (true <= high)).mean())


def coverage(trials: int) -> bool:
    lowest, highest = 0.93 - slack(0.93, trials), 0.97 + slack(0.97, trials)
    good = True
    for title, rates_of in (("compare", _difference_coverage), ("evaluate", _mean_coverage)):
        heading(
            f"coverage of the 95 % intervals of {title} (bar {lowest:.4f}; dense data, 30 cases or more, at most {highest:.4f})"
        )
        for population in (*NULLS, *EFFECTS):
            true = _true_mean(population)
            rates = [rates_of(population, n, trials, true) for n in SIZES]
            bad = [rate < lowest or (population.dense and n >= 30 and rate > highest) for n, rate in zip(SIZES, rates, strict=True)]
            line(population.name, rates, bad)
            good &= not any(bad)
    return good


def _difference_coverage(population: Population, cases: int, trials: int, _: float) -> float:
    evidence = evidence_of(population, cases, trials)
    shown = [each.low <= population.difference <= each.high for each in evidence if each.low is not None and each.high is not None]
    return float(np.mean(shown)) if shown else float("nan")


def power_beside_t(trials: int) -> bool:
    heading("power on dense data: ours, and less that of the paired t-test (bar -0.050 from 50 cases on)")
    good = True
    for population in EFFECTS:
        if not population.dense:
            continue
        ours, behind = [], []
        for n in SIZES:
            first, second = population.sample(n, trials, SEED)
            theirs = float((stats.ttest_rel(second, first, axis=0).pvalue < 0.05).mean())
            ours.append(float((verdicts_of(evidence_of(population, n, trials), 1e-6) == "IMPROVED").mean()))
            behind.append(ours[-1] - theirs)
        bad = [gap < -0.05 and n >= 50 for n, gap in zip(SIZES, behind, strict=True)]
        line(population.name, ours, [False] * len(SIZES))
        line("  less the t-test's", behind, bad)
        good &= not any(bad)
    return good


def _planned(population: Population, rule: VerdictRule) -> int:
    """How many cases we say are needed, from a large sample."""
    cases = 50_000
    first, second = population.sample(cases, 1, 5)
    found = observations(second - first, population.clusters(cases))
    evidence = PairedEvidence(
        mean=population.difference,
        error=float(standard_errors(found)[0]),
        observations=len(found),
        statistic_variance=float(statistic_variance(found)[0]),
        unseen=float(one_sided_size(found)[0]),
    )
    return round((cases_needed(evidence, rule) or 0) * cases / len(found))


def promised_power(trials: int) -> bool:
    print(f"P(verdict) with the number of cases that we say is needed for 0.80 (bar 0.75 to 0.85), min_effect {MIN_EFFECT}")
    good = True
    for population in EFFECTS:
        for family in (1, 10):
            cases = _planned(population, VerdictRule(MIN_EFFECT, family))
            if not VerdictRule(MIN_EFFECT, family).fewest < cases <= 5000:  # as few as a verdict takes at all, or too many to try
                continue
            evidence = evidence_of(population, cases, min(trials, 40_000_000 // cases))
            adjusted = [decide_difference(e, min(1.0, (e.p or 0.0) * family), MIN_EFFECT, family).verdict for e in evidence]
            wanted = "IMPROVED" if population.difference > 0 else "REGRESSED"
            rate = float((np.array(adjusted) == wanted).mean())
            bad = not 0.75 <= rate <= 0.85
            good &= not bad
            print(f"  {population.name:<20} family of {family:>2}: {cases:>5} cases, {rate:.3f}{'!' if bad else ''}")
    return good


def detectable(trials: int) -> bool:
    heading("P(verdict) at the difference that is called detectable (bar 0.75 to 0.85 from 20 cases on)")
    good = True
    for deviation in (0.05, 0.2):
        rates = []
        for cases in SIZES:
            true = detectable_difference(deviation / cases**0.5, cases, VerdictRule(MIN_EFFECT))
            rates.append(float((verdicts_of(evidence_of(dense(true, deviation), cases, trials)) == "IMPROVED").mean()))
        bad = [n >= 20 and not 0.75 <= rate <= 0.85 for n, rate in zip(SIZES, rates, strict=True)]
        line(f"dense, sd {deviation:g}", rates, bad)
        good &= not any(bad)
    return good


def family_suite(cases: int) -> Suite:
    """Five categories and eight tags."""
    judgments = (Judgment("d0", grade=2), Judgment("d1"), Judgment("d2"))
    return Suite.from_cases(
        "families",
        [Case(f"q{n}", f"query {n}", judgments, category=f"c{n % 5}", tags=(f"t{n % 4}", f"u{n % 7 % 4}")) for n in range(cases)],
    )


def families(trials: int) -> bool:
    """Reports on two runs that do not differ, with five measures, five categories and eight tags."""
    reports, suite, random = trials // 5, family_suite(100), np.random.default_rng(SEED)
    names, alarms = [f"d{n}" for n in range(12)], 0
    for _ in range(reports):
        runs = [
            Run.from_scores(
                {case: dict(zip(names, random.random(len(names)).tolist(), strict=True)) for case in suite.table.ids}, name
            )
            for name in "ab"
        ]
        scores = [score(match_hits(suite, run), ["nDCG@10", "RR", "R@5", "P@5", "Success@1"]) for run in runs]
        (pair,) = compare(scores, ["category", "tag"])
        looks = [*pair.differences, *(found for values in pair.segments.values() for each in values.values() for found in each)]
        alarms += any(found.verdict in ("IMPROVED", "REGRESSED") for found in looks)
    print(f"a false verdict anywhere in {reports:,} reports with 5 measures and 13 segments: {alarms / reports:.3f} (bar 0.060)")
    return alarms / reports <= 0.06


def decisions(trials: int) -> bool:
    """How often a relative gain is covered, and how often a rule is met or refuted by mistake."""
    good = True
    print(
        f"relative gains, 95 % interval; a rule 'above: 0.10', met where the true gain is 8 %, refuted where it is 15 % ({trials // 20:,} trials)"
    )
    for cases in (30, 50, 100, 200):
        random, covered, met, refuted = np.random.default_rng([SEED, cases]), [], [], []
        for _ in range(trials // 20):
            base, true = random.beta(2, 3, cases), random.choice([0.08, 0.15])
            after = np.clip(base * (1 + true) + 0.15 * random.standard_normal(cases) * base, 0, None)
            gain = gain_of(base, after, None, max(1.0, float(after.max())))
            covered.append(gain.low <= true <= gain.high)
            (met if true < 0.1 else refuted).append(gain.low > 0.1 if true < 0.1 else gain.high <= 0.1)
        rates = [float(np.mean(each)) for each in (covered, met, refuted)]
        bad = rates[0] < 0.93 - slack(0.93, trials // 20) or max(rates[1:]) > 0.05
        good &= not bad
        print(
            f"  {cases:>4} cases: covered {rates[0]:.3f}, met by mistake {rates[1]:.3f}, refuted by mistake {rates[2]:.3f}{'!' if bad else ''}"
        )
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    parts = {
        part.__name__: part
        for part in (false_verdicts, false_noise, coverage, power_beside_t, promised_power, detectable, families, decisions)
    }
    missed = []
    for name, part in parts.items():
        if (not options.only or name in options.only) and not part(options.trials):
            missed.append(name)
            print(f"  {name}: a bar is missed (!)", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
