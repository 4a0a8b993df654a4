"""What gates claim, by simulation: false alarms over thirty looks, losses that are seen, what could not be seen at all.

A look is one more build against the same baseline, on the same cases. Every table is Markdown, every figure has a bar, and
is off by two standard errors at most, nineteen times of twenty. `--trials N` makes it shorter, `--only NAME` runs one part.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import pi

import numpy as np

from searchmark import Answer, Case, Hit, Judgment, Run, Scores, Suite, match_hits, score
from searchmark.scoring.comparison import USUAL_LEVEL, EvidenceLevel
from searchmark.scoring.planned_tests import evidence_level_of, level_of
from searchmark.scoring.power import Foresight, GateQuestion, foresee
from searchmark.scoring.statistics import SHOWN_LEVEL, Observations, difference_intervals, observations, randomisation_p

LOOKS, SEED, MIN_EFFECT = 30, 20_261_116, 0.01
SIZES = (30, 200)
MOST_BASELINES = 500
# No p below 0.05 without a sum of so many root sums of squares: the others need not be worked out.
WORTH_A_LOOK = 1.4
Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Search:
    """How the score of a case comes about: ``draw`` makes one from the difficulty of each case (cases x trials)."""

    name: str
    draw: Draw
    per_origin: int = 1

    def difficulty(self, random: np.random.Generator, cases: int, trials: int) -> np.ndarray:
        return random.random((cases, trials))

    def origins(self, cases: int) -> list[str] | None:
        """Origins of 1, 2, ... up to ``per_origin`` cases in turn."""
        if self.per_origin == 1:
            return None
        sizes = np.resize(np.arange(1, self.per_origin + 1), cases)
        return [f"origin {number}" for number in np.repeat(np.arange(cases), sizes)[:cases]]


def _binary(random: np.random.Generator, difficulty: np.ndarray) -> np.ndarray:
    return (random.random(difficulty.shape) < difficulty).astype(float)


def _dense(random: np.random.Generator, difficulty: np.ndarray) -> np.ndarray:
    return np.clip(difficulty + 0.2 * random.standard_normal(difficulty.shape), 0, 1)


def _fifths(random: np.random.Generator, difficulty: np.ndarray) -> np.ndarray:
    """As P@5 has them."""
    return random.binomial(5, difficulty) / 5


def _alike(random: np.random.Generator, difficulty: np.ndarray) -> np.ndarray:
    """Cases of one origin change alike."""
    sizes = np.resize(np.arange(1, 5), len(difficulty))
    origin = np.repeat(np.arange(len(difficulty)), sizes)[: len(difficulty)]
    common = random.standard_normal((origin[-1] + 1, difficulty.shape[1]))[origin]
    return np.clip(difficulty + 0.15 * common + 0.1 * random.standard_normal(difficulty.shape), 0, 1)


SEARCHES = (Search("binary", _binary), Search("dense", _dense), Search("steps of 0.2", _fifths), Search("clustered", _alike, 4))


def walk(search: Search, cases: int, trials: int, share: float, loss_from: int = LOOKS + 1, loss: float = 0.0) -> Iterator:
    """Baseline and build of every look. Each build changes a share of the cases of the one before, 1 being all of them.

    What changes is drawn again as the baseline was, so that no build differs in expectation; from look ``loss_from`` on, a share
    ``loss`` of all scores is lost for good.
    """
    random = np.random.default_rng([SEED, cases, round(1000 * share), loss_from])
    difficulty = search.difficulty(random, cases, trials)
    baseline = search.draw(random, difficulty)
    build, lost = baseline.copy(), random.random((cases, trials)) < loss
    for number in range(1, LOOKS + 1):
        changed = _changed(random, search, cases, trials, share)
        build = np.where(changed, search.draw(random, difficulty), build)
        yield baseline, np.where(lost, 0.0, build) if number >= loss_from else build


def _changed(random: np.random.Generator, search: Search, cases: int, trials: int, share: float) -> np.ndarray:
    """Origins change as a whole."""
    origins = search.origins(cases)
    if origins is None:
        return random.random((cases, trials)) < share
    _, origin = np.unique(origins, return_inverse=True)
    return (random.random((origin.max() + 1, trials)) < share)[origin]


def verdicts(found: Observations, level: float, rigour: EvidenceLevel, min_effect: float = 1e-6) -> np.ndarray:
    """-1 where a column is REGRESSED, 1 where it is IMPROVED, else 0; p and interval where a verdict could rest on them."""
    sides = np.zeros(found.sums.shape[1], int)
    sums, squares = found.sums.sum(axis=0), (found.sums**2).sum(axis=0)
    near = np.flatnonzero((sums**2 > WORTH_A_LOOK**2 * squares) & (np.abs(found.means) >= min_effect))
    if not found.enough or not len(near):
        return sides
    low, high = difference_intervals(Observations(found.sums[:, near], found.sizes), rigour.interval)
    outside = np.where(low > 0, 1, np.where(high < 0, -1, 0))
    near, outside = near[outside != 0], outside[outside != 0]
    if len(near):
        p = randomisation_p(found.sums[:, near], mid=rigour.mid_p)
        sides[near] = np.where(p < level, outside, 0)
    return sides


def of_look(found: Observations, number: int, min_effect: float = 1e-6) -> dict[str, np.ndarray]:
    """The verdicts of each policy at one look."""
    level = level_of(number)
    return {
        "repeated": verdicts(found, 0.05, USUAL_LEVEL, min_effect),
        "sequential": verdicts(found, level, evidence_level_of(level), min_effect),
    }


def slack(share: float, trials: int) -> float:
    return 2 * float(np.sqrt(share * (1 - share) / trials))


def heading(title: str, *columns: str) -> None:
    print(f"{title}\n")
    row(*columns)
    row(*["---"] * len(columns))


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def percent(share: float, bad: bool = False) -> str:
    return f"{100 * share:.1f} %{' (!)' if bad else ''}"


def false_alarms(trials: int) -> bool:
    """Builds that differ from the baseline by chance alone: how often one of 30 looks gives a verdict."""
    bar, good = 0.05 + slack(0.05, trials), True
    heading(
        f"A false verdict in {LOOKS} looks; {trials:,} trials, bar for `sequential` {percent(bar)}",
        *(
            "scores",
            "cases",
            "changed by each build",
            "`sequential`",
            "of these red",
            "`no-evidence-of-harm` at each look",
            "of these red",
        ),
    )
    for search, cases, (kind, share) in product(SEARCHES, SIZES, (("5 % of the cases", 0.05), ("all cases", 1.0))):
        ever = {"repeated": np.zeros(trials, bool), "sequential": np.zeros(trials, bool)}
        reds = {name: each.copy() for name, each in ever.items()}
        for number, (baseline, build) in enumerate(walk(search, cases, trials, share), 1):
            for name, sides in of_look(observations(build - baseline, search.origins(cases)), number).items():
                ever[name] |= sides != 0
                reds[name] |= sides < 0
        rate = float(ever["sequential"].mean())
        good &= rate <= bar
        rest = (percent(float(each.mean())) for each in (reds["sequential"], ever["repeated"], reds["repeated"]))
        row(search.name, cases, kind, percent(rate, rate > bar), *rest)
    return good


PLANTED_AT = 10


def planted_loss(trials: int) -> bool:
    """A build loses a share of its hits for good: how often the policies see it at once, and up to look 30."""
    names = [f"{name}{when}" for name in ("`sequential`", "levels by 1/t²", "each at 5 %") for when in ("", f", by {LOOKS}")]
    title = f"A loss planted at look {PLANTED_AT}, seen at that look and up to look {LOOKS}; {trials:,} trials"
    heading(title, "scores", "cases", "true loss", *names)
    for search, cases, loss in product(SEARCHES[:2], SIZES, (0.1, 0.2, 0.4)):
        at_once, late = {}, {}
        for number, (baseline, build) in enumerate(walk(search, cases, trials, 0.05, PLANTED_AT, loss), 1):
            if number < PLANTED_AT:
                continue
            found = observations(build - baseline, None)
            spent = 0.05 * 6 / pi**2 / number**2
            sides = of_look(found, number, MIN_EFFECT) | {"1/t²": verdicts(found, spent, evidence_level_of(spent), MIN_EFFECT)}
            for name, each in sides.items():
                at_once.setdefault(name, each < 0)
                late[name] = late.get(name, False) | (each < 0)
        shares = [percent(float(when[name].mean())) for name in ("sequential", "1/t²", "repeated") for when in (at_once, late)]
        row(search.name, cases, f"{loss * 0.5:.2f}", *shares)
    return True


def suite_of(cases: int, origins: list[str] | None = None) -> Suite:
    rest = origins or [None] * cases
    return Suite.from_cases("gates", [Case(f"q{n}", "", (Judgment("yes"),), origin=rest[n]) for n in range(cases)])


@cache
def perfect(cases: int) -> Scores:
    """A baseline that finds everything."""
    suite = suite_of(cases)
    answers = [Answer(case, "ok", (Hit("yes", 1),)) for case in suite.table.ids]
    return score(match_hits(suite, Run.from_answers("baseline", answers)), ["RR"])


def ahead_of(question: GateQuestion, values: np.ndarray) -> Foresight:
    """What is said before the run if the baseline has these values."""
    found = perfect(len(values))
    return foresee(found.matched.suite, "RR", question, Scores(found.matched, found.measures, values[:, None]))


@dataclass(frozen=True)
class Baseline:
    """Where the scores of a baseline come from."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
    mean: float


BASELINES = (
    Baseline("perfect", lambda _, shape: np.ones(shape), 1.0),
    Baseline("binary, 90 %", lambda random, shape: (random.random(shape) < 0.9).astype(float), 0.9),
    Baseline("binary, 50 %", lambda random, shape: (random.random(shape) < 0.5).astype(float), 0.5),
    Baseline("dense, mean 0.8", lambda random, shape: random.beta(8, 2, shape), 0.8),
    Baseline("dense, mean 0.5", lambda random, shape: random.beta(2, 2, shape), 0.5),
)


def _everywhere(_: np.random.Generator, before: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Every case loses the same share."""
    return before * left


def _all_of_few(random: np.random.Generator, before: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Some cases lose everything, the others nothing."""
    return np.where(random.random(before.shape) < left, before, 0.0)


def _another_search(mean: float) -> Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]:
    """A different search: found or not, whatever the baseline has. No candidate with that mean varies more."""

    def draw(random: np.random.Generator, before: np.ndarray, left: np.ndarray) -> np.ndarray:
        return (random.random(before.shape) < mean * left).astype(float)

    return draw


def foreseen_power(trials: int) -> bool:
    """A loss as large as is said before the run to be seen with 80 % power at the latest: how often it is."""
    bar, good = 0.8 - slack(0.8, trials), True
    heading(
        f"A loss that is said to be seen with 80 % power at the latest, and how often it is; {trials:,} trials, bar {percent(bar)}",
        *("baseline", "cases", "policy", "loss (median)", "lost a little everywhere", "all of few cases", "another search"),
    )
    for baseline, cases, policy in product(BASELINES, (20, *SIZES), ("no-evidence-of-harm", "sequential")):
        question = GateQuestion(policy, min_effect=MIN_EFFECT, look=PLANTED_AT)
        random = np.random.default_rng([SEED, cases])
        drawn = baseline.draw(random, (cases, min(trials, MOST_BASELINES)))
        said = np.array([ahead_of(question, column).detectable or np.nan for column in drawn.T])
        before, said = np.resize(drawn.T, (trials, cases)).T, np.resize(said, trials)
        known = np.flatnonzero(said < baseline.mean)
        if len(known) < trials / 2:
            row(baseline.name, cases, f"`{policy}`", "may miss any", "", "", "")
            continue
        left, rates = 1 - said[known] / baseline.mean, []
        for lose in (_everywhere, _all_of_few, _another_search(baseline.mean)):
            found = observations(lose(random, before[:, known], left) - before[:, known], None)
            rates.append(float((verdicts(found, question.level, question.rigour, MIN_EFFECT) < 0).mean()))
        good &= min(rates) >= bar
        middle = f"{float(np.median(said[known])):.2f}"
        row(baseline.name, cases, f"`{policy}`", middle, *(percent(rate, rate < bar) for rate in rates))
    return good


def every_build(able: int, cases: int) -> np.ndarray:
    """A case that has something keeps it, or loses all of it (or half, where there are not too many); the others gain alike."""
    levels = (0.0, 0.5, 1.0) if able <= 8 else (0.0, 1.0)
    builds = np.array(list(product(levels, repeat=able))).T
    rest = np.tile(levels, builds.shape[1])
    return np.vstack([np.repeat(builds, len(levels), axis=1), np.tile(rest, (cases - able, 1))])


def enumerated(_: int) -> bool:
    """All builds that there could be of small suites: the smallest p, and whether what is called unresolvable never fires."""
    good, cases = True, 12
    columns = ("policy", "cases that can lose", "smallest p, foreseen", "found", "foreseen", "any build REGRESSED")
    heading(f"Every build of a suite of {cases} cases tried", *columns)
    for policy, able in [*product(("no-evidence-of-harm",), range(1, 9)), *product(("sequential",), range(8, 13))]:
        question, column = GateQuestion(policy, min_effect=MIN_EFFECT), np.where(np.arange(cases) < able, 1.0, 0.0)
        ahead = ahead_of(question, column)
        found = observations(every_build(able, cases) - column[:, None], [f"case {n}" for n in range(cases)])
        fires = bool((verdicts(found, question.level, question.rigour, MIN_EFFECT) < 0).any())
        lower = np.flatnonzero(found.means < 0)
        smallest = float(randomisation_p(found.sums[:, lower], mid=question.rigour.mid_p).min())
        right = fires == ahead.resolvable and abs(smallest - ahead.smallest_p) < 1e-12
        good &= right
        words = ("resolvable" if ahead.resolvable else "unresolvable", ("yes" if fires else "no") + ("" if right else " (!)"))
        row(f"`{policy}`", able, f"{ahead.smallest_p:.5f}", f"{smallest:.5f}", *words)
    return good


def unchanged(_: int) -> bool:
    """The fewest ties with which an unchanged build is shown to be not inferior, said and found."""
    good = True
    heading("`non-inferior`: how many ties let an unchanged build pass", "margin", "cases", "lower end with one less", "lower end")
    for margin in (0.01, 0.02, 0.05, 0.1):
        question = GateQuestion("non-inferior", margin=margin)
        said = next(n for n in range(10, 1000) if foresee(suite_of(n), "RR", question).resolvable)
        ties = {n: float(difference_intervals(observations(np.zeros((n, 1)), None), SHOWN_LEVEL)[0][0]) for n in (said - 1, said)}
        right = ties[said - 1] <= -margin < ties[said]
        good &= right
        row(margin, said, f"{ties[said - 1]:.5f}", f"{ties[said]:.5f}{'' if right else ' (!)'}")
    return good


LOSSES = {
    "all of few cases": lambda random, shape, loss: -(random.random(shape) < loss).astype(float),
    "half of few cases": lambda random, shape, loss: -0.5 * (random.random(shape) < 2 * loss),
    "a little everywhere, noise 0.2": lambda random, shape, loss: 0.2 * random.standard_normal(shape) - loss,
    "a little everywhere, noise 0.05": lambda random, shape, loss: 0.05 * random.standard_normal(shape) - loss,
}


def false_passes(trials: int) -> bool:
    """A true loss of the margin: how often `non-inferior` passes it.

    The interval leaves out 2.5 % at its lower end by name, and more than that where few cases lose all: hence the bar of 5 %.
    """
    bar, good = 0.05 + slack(0.05, trials), True
    heading(
        f"`non-inferior` passes a true loss of the margin; {trials:,} trials, bar {percent(bar)}",
        "lost",
        "margin",
        "cases",
        "passed",
    )
    for (name, draw), (margin, cases) in product(LOSSES.items(), ((0.02, 200), (0.02, 500), (0.05, 100), (0.1, 50))):
        low, _ = difference_intervals(
            observations(draw(np.random.default_rng([SEED, cases]), (cases, trials), margin), None), SHOWN_LEVEL
        )
        rate = float((low > -margin).mean())
        good &= rate <= bar
        row(name, margin, cases, percent(rate, rate > bar))
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    parts = {part.__name__: part for part in (enumerated, unchanged, false_passes, false_alarms, planted_loss, foreseen_power)}
    missed = []
    for name, part in parts.items():
        if options.only and name not in options.only:
            continue
        if not part(options.trials):
            missed.append(name)
            print(f"\n{name}: a bar is missed (!)")
        print(flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
