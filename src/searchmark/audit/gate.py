"""What a gate sees and what it misses: losses, missing cases, rules that flap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import combinations
from math import isfinite, sqrt

import numpy as np

from searchmark.audit.check import AuditTable, Subject, check, once_per_subject
from searchmark.gates.baselines import FixtureRule, UnknownMetricRule, row_of
from searchmark.gates.bounds import NumberRule, RelativeRule
from searchmark.gates.pins import EachCaseRule, KnownFailureRule, PinRule
from searchmark.gates.quantities import EVERYTHING, AtOwnK, MeanOf, Rows, is_within, rows_of
from searchmark.gates.rules import AttainableValues, Rule, with_rule_names
from searchmark.measures.grammar import AnyMeasure
from searchmark.records.columns import Floats
from searchmark.records.finding import GATE, Finding, FindingKind, finding
from searchmark.records.sentences import list_first, plain_count
from searchmark.records.suite import Suite
from searchmark.scoring.comparability import is_proven_repeat
from searchmark.scoring.comparison import measure_span
from searchmark.scoring.match import match_hits
from searchmark.scoring.power import GateQuestion, losable_column, more_cases_to_see
from searchmark.scoring.scores import Scores, clusters_of, score, segment_names, segment_rows
from searchmark.scoring.statistics import (
    NORMAL,
    SHOWN_LEVEL,
    Observations,
    difference_intervals,
    observations,
    randomisation_p,
    t_quantile,
)
from searchmark.scoring.verdicts import POWER

# Bounds that are out of reach, met by every ranking, or met by a random one.


@check(
    "unattainable-threshold",
    "threshold-always-met",
    "threshold-below-random",
    "pin-outside-corpus",
    theme=GATE,
)  # fmt: skip
def bound_findings(subject: Subject) -> list[Finding]:
    """What is found of every rule by the suite and the corpus alone."""
    limits = AttainableValues(subject.expanded, subject.ids)
    return with_rule_names((rule.name, rule.own_findings(limits)) for rule in subject.rules)


# Rules about cases that the suite does not have: no run can be checked against them.


@check(FindingKind(
    "rule-without-cases", "error", "A rule about a segment, a case, a fixture or a metric that the suite does not have.",
    "No run can be held against it: the gate is untrusted whatever the search does.",
    "Correct the name in the rule, or remove the rule.",
), theme=GATE)  # fmt: skip
def absent_cases(subject: Subject) -> list[Finding]:
    reasons = [(rule.name, _lacks(subject.suite, rule)) for rule in subject.rules]
    return with_rule_names((name, [finding("rule-without-cases", reason)]) for name, reason in reasons if reason is not None)


def _lacks(suite: Suite, rule: Rule) -> str | None:
    if isinstance(rule, NumberRule | RelativeRule):
        by, value = rule.segment.by or "", rule.segment.value
        if rows_of(suite, rule.segment) is not None:
            return None
        names = [*segment_names(suite), "tags"]
        values = list(segment_rows(suite, by)) if by in names else []
        return f"no case of the suite has {by} {value!r}{_near(value, values) if values else _near(by, names)}"
    if isinstance(rule, PinRule | KnownFailureRule):
        case = rule.pin.case if isinstance(rule, PinRule) else rule.failure.case
        return None if case in suite.table.index else f"the suite has no case {case!r}{_near(case, suite.table.ids)}"
    if isinstance(rule, FixtureRule):
        missing = row_of(suite, rule.fixture) is None
        return f"the suite has no fixture {rule.fixture.name!r}{_near(rule.fixture.name, suite.table.ids)}" if missing else None
    return f"there is no metric {rule.metric!r} of fixtures" if isinstance(rule, UnknownMetricRule) else None


def _near(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


# How much two runs differ case by case: of one agent, which is noise, or of two agents, which is how builds may differ.

TWO = 2


@dataclass(frozen=True, eq=False)
class PairedNoise:
    """How much two runs differ in one mean; sums and sizes are those of origins, as shares of ``span``."""

    runs: tuple[str, str]  # their names
    means: tuple[float, float]  # of each run
    differ: Observations  # by how much, case by case
    has: Observations  # what the first run has, and so can lose
    span: float  # how far apart two values can be
    repeat: bool  # one agent asked the same twice: all that differs is noise

    @property
    def error(self) -> float:
        """The standard error of the difference, which is truly 0."""
        return sqrt(float((self.differ.sums**2).sum())) / float(self.differ.sizes.sum()) * self.span

    @property
    def deviation(self) -> float:
        """The standard deviation of the mean of one run."""
        return self.error / sqrt(2)


def paired_noise(subject: Subject, quantity: MeanOf | AtOwnK, rows: Rows) -> PairedNoise | None:
    """Of two runs of one agent, or else of the first two; None if there are none, or if they have no values.

    Two agents that are alike do not show how builds differ: None. One agent that answers the same twice has no noise.
    """
    runs = {name: scores.matched.run for name, scores in subject.scores.items()}
    # The first two runs of one agent that are proven to have been asked the same.
    pair = next((pair for pair in combinations(runs, 2) if is_proven_repeat(runs[pair[0]], runs[pair[1]])), None)
    names = pair or tuple(runs)[:TWO]
    if len(names) < TWO:
        return None
    one, other = (_values(subject.scores[name], quantity, rows) for name in names)
    defined = ~np.isnan(one) & ~np.isnan(other)
    if defined.sum() < TWO or (pair is None and (one == other)[defined].all()):
        return None
    one, other = one[defined], other[defined]
    low = quantity.low if np.isfinite(quantity.low) else float(min(one.min(), other.min()))
    span = 1.0 if isinstance(quantity, AtOwnK) else measure_span(quantity.measure, one, other)
    clusters = clusters_of(subject.scores[names[0]].matched.suite, rows[defined])
    differ, has = (observations(column[:, None] / span, clusters) for column in (one - other, one - low))
    means = float(one.mean()), float(other.mean())
    return PairedNoise((names[0], names[1]), means, differ, has, span, pair is not None)


def _values(scores: Scores, quantity: MeanOf | AtOwnK, rows: Rows) -> Floats:
    if isinstance(quantity, AtOwnK):
        return np.array([np.nan if (value := quantity.value_of(scores, row)) is None else value for row in rows.tolist()])
    name = scores.known_as(quantity.measure)
    return np.full(len(rows), np.nan) if name is None else scores.values[rows, scores.names.index(name)]


# The smallest loss that a rule that compares sees with 80 % power, by builds that are drawn and judged as every build is.
#
# Builds of an agent that was run twice have its noise, with the sign of each difference at random, and cases drawn at random
# lose all that they have: what breaks, breaks for some queries. Builds of two agents differ as these two do, and lose as much
# everywhere.

BUILDS = 200
FEWEST_BUILDS = 60
MOST_DIFFERENCES = 100_000  # in all builds together
MOST_ORIGINS = 1 << 13
STEPS = 8  # halvings: a loss is found to a 256th of all that can be lost
FINE = 1.05  # how exactly a number of cases is found


@dataclass(frozen=True, eq=False)
class SimulatedLosses:
    """Builds with the noise of two runs, for one question."""

    noise: PairedNoise
    question: GateQuestion

    def smallest_seen(self) -> float | None:
        """The smallest loss that is seen in 80 % of the builds; None if not even the largest is."""
        low, high = 0.0, self._most
        if not self._seen(high):
            return None
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._seen(middle) else (middle, high)
        return high * self.noise.span

    def more_cases(self, goal: float) -> int | None:
        """How many more independent cases like these it takes to see a loss, to 5 %; None if thousands are too few."""
        here, loss = len(self.noise.differ), goal / self.noise.span
        if goal <= self.question.min_effect or loss > self._most:
            return None
        low, high = here, here
        while not self._of(high)._seen(loss):
            if high >= MOST_ORIGINS:
                return None
            low, high = high, 2 * high
        while high > low * FINE and high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._of(middle)._seen(loss) else (middle, high)
        return high - here

    @property
    def _most(self) -> float:
        return float(self.noise.has.means[0])

    def _of(self, origins: int) -> SimulatedLosses:
        """The same with more origins that are like these."""
        differ, has = (
            Observations(np.resize(each.sums, (origins, 1)), np.resize(each.sizes, origins))
            for each in (self.noise.differ, self.noise.has)
        )
        return replace(self, noise=replace(self.noise, differ=differ, has=has))

    def _seen(self, loss: float) -> bool:
        builds = Observations(self._builds(loss), self.noise.differ.sizes)
        _, high = difference_intervals(builds, self.question.rigour.interval)
        p = randomisation_p(builds.sums, mid=self.question.rigour.mid_p)
        large = -builds.means * self.noise.span >= self.question.min_effect
        return float(((p < self.question.level) & (high < 0) & large).mean()) >= POWER

    def _builds(self, loss: float) -> Floats:
        """The sums of differences of every origin, a column per build."""
        generator = np.random.default_rng(0)
        differ, has = self.noise.differ, self.noise.has
        shape = len(differ), max(FEWEST_BUILDS, min(BUILDS, MOST_DIFFERENCES // len(differ)))
        signs = np.where(generator.random(shape) < 0.5, -1.0, 1.0)  # noqa: PLR2004  # either sign
        if not self.noise.repeat:
            sums = (differ.sums - differ.means * differ.sizes[:, None]) * signs - loss * differ.sizes[:, None]
            return np.clip(sums, -differ.sizes[:, None], differ.sizes[:, None])
        broken = generator.random(shape) < loss / max(self._most, 1e-12)
        has_by_build = np.stack([generator.permutation(has.sums[:, 0]) for _ in range(shape[1])], axis=1)
        return differ.sums * signs - np.where(broken, has_by_build, 0.0)


# The smallest loss that each rule of a gate sees with 80 % power, and what it would take to see a smaller one.
#
# A rule that compares sees what its test shows: by the noise of two runs where there are some, else by the largest possible
# one. A bound on a mean sees what is larger than the room between the run and the bound.

LARGE_LOSS = 0.1  # what a gate is asked for where no other loss is named


@dataclass(frozen=True)
class RuleSight:
    """What a rule sees."""

    name: str  # the rule
    loss: float | None  # the smallest one that it sees with 80 % power; None if it sees none for sure
    basis: str  # what that rests on
    everywhere: bool  # it is about all cases
    compares: bool  # with a baseline
    failing: bool = False  # the run fails it already, so that it is red whatever is lost
    independent: float | None = None  # how many independent cases all cases amount to
    can_lose: int | None = None  # origins that can lose something, where a test decides
    smallest_p: float | None = None  # the smallest p that they can give
    blind: str | None = None  # why its verdict is settled before any run
    more: int | None = None  # independent cases needed for the wanted loss; None if no number is enough
    advice: str = ""  # what would help

    def sees(self, loss: float) -> bool:
        return self.failing or (self.loss is not None and self.loss <= loss)


def wanted_loss(subject: Subject) -> float:
    return LARGE_LOSS if subject.foresight is None else subject.foresight


@once_per_subject
def rule_sights(subject: Subject) -> tuple[RuleSight, ...]:
    """What every rule about a mean sees, as far as it is known."""
    relative = [rule for rule in subject.rules if isinstance(rule, RelativeRule)]
    family = len({(rule.quantity.measure.name, rule.segment) for rule in relative})
    baseline, sights = _baseline(subject, [rule.quantity.measure for rule in relative]), list[RuleSight | None]()
    for rule in subject.rules:
        rows = rows_of(subject.suite, rule.segment) if isinstance(rule, RelativeRule | NumberRule) else None
        if rows is not None and isinstance(rule, RelativeRule):
            sights.append(_of_comparison(subject, rule, rows, baseline, rule.question(subject.options.min_effect, family)))
        elif rows is not None and isinstance(rule, NumberRule) and rule.bound in ("at_least", "above"):
            sights.append(_of_bound(subject, rule, rows))
    return tuple(filter(None, sights))


def _baseline(subject: Subject, measures: Sequence[AnyMeasure]) -> Scores | None:
    """The scores that others are compared with: those of the baseline, or else of the first run."""
    run = subject.baseline.run
    if not measures:
        return None
    if run is not None:
        folder = None if subject.survey is None else subject.survey.folder
        return score(match_hits(subject.expanded, run, subject.ids, folder), measures)
    first = next(iter(subject.scores.values()), None)
    return first if first is not None and all(first.known_as(measure) for measure in measures) else None


def _of_comparison(subject: Subject, rule: RelativeRule, rows: Rows, baseline: Scores | None, question: GateQuestion) -> RuleSight:
    suite = subject.suite if baseline is None else baseline.matched.suite
    foresight = rule.foresight(suite, baseline, question.min_effect, question.family)
    goal, by_interval = wanted_loss(subject), rule.policy == "non-inferior"  # which decides there, and no test
    noise = None if by_interval or not foresight.resolvable else paired_noise(subject, rule.quantity, rows)
    loss, basis = foresight.detectable, "its margin" if by_interval else "the largest possible noise"
    if noise is None:
        column = losable_column(suite, rule.quantity.measure, question, baseline, rows_of(suite, rule.segment))
        more = more_cases_to_see(column, question, goal)
    else:
        builds, (one, other) = SimulatedLosses(noise, question), noise.runs
        loss, basis = builds.smallest_seen(), f"the spread between {one} and {other}"
        if noise.repeat:
            basis = f"the noise of {one}, run twice" if noise.error else f"{one}, run twice without any difference"
        more = 0 if loss is not None and loss <= goal else builds.more_cases(goal)
    if by_interval:
        advice = f"a margin of {goal:g} would with {more or 0} more independent cases"
    elif more is not None:
        advice = f"{more} more independent {'case' if more == 1 else 'cases'} would"
    elif goal <= question.min_effect:
        advice = f"no number of cases would: only a loss of {question.min_effect:g} counts (min_effect)"
    else:
        advice = "thousands of cases more would not"
    return RuleSight(
        rule.name,
        loss,
        basis,
        rule.segment == EVERYTHING,
        compares=True,
        independent=foresight.effective_size,
        can_lose=None if by_interval else foresight.independent,
        smallest_p=None if by_interval else foresight.smallest_p,
        blind=None if foresight.resolvable else foresight.reason,
        more=more,
        advice=advice,
    )


def _of_bound(subject: Subject, rule: NumberRule, rows: Rows) -> RuleSight | None:
    """What a lowest value sees of the first run: a loss that is larger than the room above it."""
    name, scores = next(iter(subject.scores.items()), (None, None))
    value = rule.quantity.value(scores, rows) if scores is not None and isinstance(rule.quantity, MeanOf | AtOwnK) else None
    if value is None or not isinstance(rule.quantity, MeanOf | AtOwnK):
        return None
    basis, everywhere = f"{name} has {value:.4g}", rule.segment == EVERYTHING
    if not is_within(rule.bound, value, rule.expected):
        return RuleSight(rule.name, None, f"already below: {basis}", everywhere, compares=False, failing=True)
    noise, goal = paired_noise(subject, rule.quantity, rows), wanted_loss(subject)
    spare = NORMAL.inv_cdf(POWER) * noise.deviation if noise is not None and noise.repeat else 0.0
    advice = "no bound would: the noise is larger" if spare >= goal else f"a bound of {value - goal + spare:.4g} would"
    return RuleSight(rule.name, value - rule.expected + spare, basis, everywhere, compares=False, advice=advice)


def sight_table(subject: Subject) -> AuditTable | None:
    """What each rule about a mean sees: the smallest p, the smallest loss, and how many more cases the wanted loss needs."""
    rows = tuple(
        (each.name, each.independent, each.can_lose, each.smallest_p, each.loss, each.basis, each.more)
        for each in rule_sights(subject)
    )
    columns = ("rule", "independent", "can lose", "smallest p", "loss seen", "based on", "more cases")
    goal = f"more cases: for a loss of {wanted_loss(subject):g}, and not only for a verdict"
    return AuditTable("gate_sight", f"What the rules of the gate see with 80 % power ({goal})", columns, rows) if rows else None


# Losses that a gate does not see.

MOST_NAMED = 3
MOST_ADVISED = 5
_WITHOUT_RUN = "name a run (--run) for bounds on means, or add a rule against a baseline"
_OF_CASES = (FixtureRule, PinRule, EachCaseRule, KnownFailureRule)


@check(FindingKind("unresolvable-rule", "error", "A rule that compares and that no run could fail, or pass, with these cases.",
    "Its verdict is settled before anything is searched.",
    "Add as many independent cases as the message says.",
    table="gate_sight",
), FindingKind("large-loss-unseen", "warning", "No rule of a gate is sure to see a mean that is lower by 0.1, with 80 % power.",
    "A search that has become much worse may pass.",
    "Add independent cases, set bounds closer to what is reached, or add a rule that compares.",
    table="gate_sight",
), FindingKind("wanted-loss-unseen", "error", "Rules that do not see a loss of the size that --sees names, with 80 % power.",
    "A loss that matters would pass.",
    "Add cases, lower margins or raise bounds as the message says for each rule, or ask --sees for a larger loss.",
    table="gate_sight",
), theme=GATE)  # fmt: skip
def blindness(subject: Subject) -> Iterator[Finding]:
    sights, goal = list(rule_sights(subject)), subject.foresight
    yield from with_rule_names((each.name, [finding("unresolvable-rule", each.blind)]) for each in sights if each.blind is not None)
    open_sights = [each for each in sights if each.blind is None]
    if goal is not None:
        if subject.rules and not sights:
            yield finding("wanted-loss-unseen", f"no rule is known to see a loss of {goal:g}: {_WITHOUT_RUN}")
        weak = [each for each in open_sights if not each.sees(goal)]
        if weak:  # one finding for all rules: what each of them sees, and what it would take
            sentences = [f"{each.name}: {_sight_text(each)}; {each.advice}" for each in weak[:MOST_ADVISED]]
            rest = [f"{len(weak) - MOST_ADVISED} more are in the table"] if len(weak) > MOST_ADVISED else []
            many = f"{len(weak)} of {plain_count(len(open_sights), 'rule')} on means would often not see a loss of {goal:g}"
            yield finding("wanted-loss-unseen", f"{many}. {'. '.join([*sentences, *rest])}")
        return
    # Only of gates that look at means of all cases: what others see depends on which cases lose.
    of_cases = any(isinstance(rule, _OF_CASES) for rule in subject.rules)
    if (
        sights
        and not of_cases
        and not any(each.blind is not None or not each.everywhere or each.sees(LARGE_LOSS) for each in sights)
    ):
        sentences = [f"{each.name}: {_sight_text(each)}" for each in sights]
        unseen = f"no rule is sure to see a loss of {LARGE_LOSS:g}"
        yield finding("large-loss-unseen", f"{unseen}; {list_first(sentences, MOST_NAMED)}")


def _sight_text(sight: RuleSight) -> str:
    loss = "no loss is sure to be seen" if sight.loss is None else f"the smallest loss that is seen is {sight.loss:.3g}"
    return f"{loss} (based on {sight.basis})" if sight.compares else f"{loss} ({sight.basis})"


# Rules that flap: an unchanged search meets them in one run and misses them in the next.

OFTEN = 0.05  # of the runs of an unchanged search end otherwise: the usual level of false alarms


@check(FindingKind("flapping-rule", "warning", "A rule that an unchanged search meets in one run and misses in the next.",
    "A red gate then says nothing of the change, and is run again until it is green.",
    "Fix the seeds of the agent, move the bound away from what is reached, or add cases.",
), theme=GATE)  # fmt: skip
def flapping(subject: Subject) -> list[Finding]:
    """By two runs of one agent: a rule flaps if more than 5 % of its verdicts on that agent come out otherwise."""
    return with_rule_names((rule.name, _flapping_findings(subject, rule)) for rule in subject.rules)


def _flapping_findings(subject: Subject, rule: Rule) -> Iterator[Finding]:
    if not isinstance(rule, NumberRule | RelativeRule) or not isinstance(rule.quantity, MeanOf | AtOwnK):
        return
    rows = rows_of(subject.suite, rule.segment)
    noise = None if rows is None else paired_noise(subject, rule.quantity, rows)
    if noise is None or not noise.repeat or not noise.error:
        return
    one, (first, second) = noise.runs[0], noise.means
    if isinstance(rule, NumberRule):
        below = NORMAL.cdf((rule.expected - (first + second) / 2) / noise.deviation)
        if OFTEN < below < 1 - OFTEN:
            twice = f"{one} has {first:.4g} and, asked again, {second:.4g}"
            yield finding("flapping-rule", f"{twice}: its noise puts {below:.0%} of unchanged runs below the bound")
    elif rule.policy == "non-inferior" and len(noise.differ) > 1:  # an unchanged build passes if its interval ends above the margin
        half_width = t_quantile(1 - SHOWN_LEVEL.tail, len(noise.differ) - 1) * noise.error
        miss_rate = 1 - NORMAL.cdf((rule.margin - half_width) / noise.error)
        if isfinite(half_width) and miss_rate > OFTEN:
            reaches = f"the interval of an unchanged search reaches {half_width:.3g} below, by the noise of {one}, asked twice"
            yield finding("flapping-rule", f"{reaches}: {miss_rate:.0%} of its builds do not show a loss below {rule.margin:g}")
