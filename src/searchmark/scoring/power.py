"""What a gate could see before a run is made, and how many more cases it would need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, hypot, inf, isfinite, log, log1p, log2, sqrt

import numpy as np

from searchmark.config.gates import GatePolicy
from searchmark.errors import UsageError
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.records.answers import Answer
from searchmark.records.columns import Floats, distinct
from searchmark.records.run import Run
from searchmark.records.suite import Suite
from searchmark.scoring.comparison import USUAL_LEVEL, EvidenceLevel, Rows, measure_span
from searchmark.scoring.match import match_hits
from searchmark.scoring.planned_tests import evidence_level_of, level_of
from searchmark.scoring.scores import Scores, clusters_of, score
from searchmark.scoring.statistics import (
    EQUAL_WITHIN,
    EXACT_UP_TO,
    FEWEST_CASES,
    NORMAL,
    SHOWN_LEVEL,
    Observations,
    difference_intervals,
    observations,
    randomisation_p,
    standard_errors,
    t_quantile,
    unseen_share,
)
from searchmark.scoring.verdicts import AGREEMENT, POWER, SIGNIFICANT, fewest_more

# What a gate could see, said before the run: from the suite, and from the baseline's scores if there are any.
#
# A gate that cannot fire is worse than none, because it is relied on. So the rule of the verdicts is asked about the worst
# build
# that there could be: every case at its lowest value. Where even that would not be called REGRESSED, the gate cannot be
# resolved. A
# case that has nothing to lose (a value of 0 already) cannot count, and a suite may have hundreds of those.
#
# The detectable loss is an upper bound, "at the latest": two builds of one search agree more often than not, so that the
# variance of
# their difference is at most the sum of their variances, and that of the candidate is at most m (1 - m), m being its mean and
# 0 to 1 the range (Bhatia and Davis, 2000). Losses of every kind are covered: small ones everywhere, and large ones in few
# cases.

LARGEST_VARIANCE = 0.25  # of values between 0 and 1

_SPARE = NORMAL.inv_cdf(POWER)

_HALVINGS = 40

MOST_ORIGINS = 1 << 20

_TOO_FEW = f"cases worth fewer than {FEWEST_CASES} independent ones get no interval and no verdict"


@dataclass(frozen=True)
class GateQuestion:
    """What a gate asks of a build: among ``family`` comparisons, and at the ``look``-th build where it is sequential."""

    policy: GatePolicy
    min_effect: float = 0.01
    margin: float = 0.02
    family: int = 1
    look: int = 1

    @property
    def level(self) -> float:
        """What the p of one comparison must be below, were it the smallest of its family."""
        return level_of(self.look, self.family) if self.policy == "sequential" else SIGNIFICANT / self.family

    @property
    def rigour(self) -> EvidenceLevel:
        return evidence_level_of(self.level) if self.policy == "sequential" else USUAL_LEVEL


@dataclass(frozen=True)
class Foresight:
    """What a gate could see."""

    independent: int  # origins that can differ in the way that it asks about
    smallest_p: float  # the smallest p that they can give, adjusted for the family
    detectable: float | None  # a loss that it sees with 80 % power at the latest; None if it may miss any
    resolvable: bool  # whether some build would fail it or, where it is `non-inferior`, an unchanged build would pass
    reason: str
    effective_size: float = 0.0  # how many independent cases all cases together amount to


def foresee(
    suite: Suite, measure: str | AnyMeasure, question: GateQuestion, baseline: Scores | None = None, rows: Rows | None = None
) -> Foresight:
    """What a gate on one measure could see, over all cases or some of them."""
    column = losable_column(suite, measure, question, baseline, rows)
    return _non_inferior(column, question) if question.policy == "non-inferior" else _harm(column, question)


def losable_column(
    suite: Suite, measure: str | AnyMeasure, question: GateQuestion, baseline: Scores | None, rows: Rows | None
) -> LosableColumn:
    """What a gate could be shown of one measure."""
    if baseline is None:
        return LosableColumn.of_suite(suite, measure, rows)
    return LosableColumn.of_baseline(baseline, measure, rows, question.policy == "non-inferior")


@dataclass(frozen=True, eq=False)
class LosableColumn:
    """One measure before the run, in shares of its range."""

    values: Observations  # what the cases of each origin have
    losable: Observations  # what they could lose; without a baseline everything
    span: float  # width of the range, infinite where that is not known
    known: bool

    @classmethod
    def of_suite(cls, suite: Suite, measure: str | AnyMeasure, rows: Rows | None) -> LosableColumn:
        """Of a suite alone: an agent that finds nothing shows for which cases the measure is defined."""
        nothing = score(
            match_hits(suite, Run.from_answers("nothing", [Answer(case, "empty") for case in suite.table.ids])), [measure]
        )
        defined_rows = _defined(nothing, 0, rows)
        whole = _observed(np.ones(len(defined_rows)), suite, defined_rows)
        return cls(whole, whole, nothing.measures[0].high - nothing.measures[0].low, known=False)

    @classmethod
    def of_baseline(cls, baseline: Scores, measure: str | AnyMeasure, rows: Rows | None, unchanged: bool) -> LosableColumn:
        """Of the scores of a baseline, to be compared with an ``unchanged`` build, or else with the worst."""
        name = baseline.known_as(parse_measure(measure))
        if name is None:
            raise UsageError(f"the baseline has no {parse_measure(measure).name}; it has {', '.join(baseline.names)}")
        column = baseline.names.index(name)
        defined_rows, baseline_measure = _defined(baseline, column, rows), baseline.measures[column]
        values = baseline.values[defined_rows, column]
        low = baseline_measure.low if isfinite(baseline_measure.low) else float(values.min(initial=0.0))
        # A measure without a highest value spans what both builds reach, as in the comparison: the worst is at the lowest value.
        span = (
            measure_span(baseline_measure, values, values if unchanged else np.array([low]))
            if len(defined_rows)
            else baseline_measure.high - baseline_measure.low
        )
        shares = (values - low) / span
        losable = np.where(_fixed_cases(baseline, baseline_measure, defined_rows), 0.0, shares)
        suite = baseline.matched.suite
        return cls(_observed(shares, suite, defined_rows), _observed(losable, suite, defined_rows), span, known=True)

    def of_size(self, origins: int) -> LosableColumn:
        """The same with more origins, or fewer, that are like those that there are."""
        values, losable = (
            Observations(np.resize(each.sums, (origins, 1)), np.resize(each.sizes, origins)) for each in (self.values, self.losable)
        )
        return LosableColumn(values, losable, self.span, self.known)

    @property
    def can_fall(self) -> int:
        return int((self.losable.sums > EQUAL_WITHIN).sum())


def _defined(scores: Scores, column: int, rows: Rows | None) -> Rows:
    everything = np.arange(len(scores.matched.suite)) if rows is None else rows
    return np.asarray(everything[~np.isnan(scores.values[everything, column])], np.intp)


def _observed(shares: Floats, suite: Suite, rows: Rows) -> Observations:
    return observations(shares[:, None], clusters_of(suite, rows))


def _fixed_cases(baseline: Scores, measure: AnyMeasure, rows: Rows) -> np.ndarray:
    """Cases whose value is settled: they bring their own documents, all of them were answered, and all count as one set."""
    documents = baseline.matched.suite.table.documents
    if documents is None or not all(part.definition.of_sets for part in measure.parts):
        return np.zeros(len(rows), bool)
    depth = min((part.cutoff or inf for part in measure.parts), default=inf)
    counts = np.array([len(documents[row]) for row in rows], np.int64)
    return np.asarray((counts > 0) & (counts <= depth) & (baseline.matched.hits.returned[rows] >= counts))


def _harm(column: LosableColumn, question: GateQuestion) -> Foresight:
    """Whether a build can be called REGRESSED, and from which loss on it is."""
    smallest = _smallest_p(column.can_fall, question)
    blind = _why_blind(column, question, smallest)
    if blind is not None:
        return Foresight(column.can_fall, smallest, None, False, blind, column.values.effective_size)
    detectable = detectable_loss(column, question)
    clause = "of no loss is it sure that it would be seen with 80 % power"
    if detectable is not None:
        clause = f"a loss of {ceil(1000 * detectable) / 1000:g} is seen with 80 % power at the latest"
    sentence = f"{column.can_fall} of {len(column.values)} independent cases can lose something; {clause}"
    return Foresight(column.can_fall, smallest, detectable, True, sentence, column.values.effective_size)


def _smallest_p(independent: int, question: GateQuestion) -> float:
    """The p of losses alone, adjusted: one sign pattern of all and its mirror image; the mid-p of equal ones is half of that."""
    return min(1.0, question.family * 2.0 ** ((0 if question.rigour.mid_p else 1) - independent))


def _why_blind(column: LosableColumn, question: GateQuestion, smallest: float) -> str | None:
    """Why no build could be called REGRESSED; None if one could."""
    cases_short = fewest_that_differ(question) - column.can_fall
    if not column.values.enough:
        return f"{_TOO_FEW}: {_needed(max(_singles_until(FEWEST_CASES, column.values), cases_short))}"
    if _some_build_fails(column, question):
        return None
    if cases_short > 0:
        which = " in which the baseline finds something" if column.known else ""
        can = f"only {column.can_fall} independent {'case' if column.can_fall == 1 else 'cases'} can lose something"
        return f"{can}, so that p is {smallest:.2g} at best: {_needed(cases_short, which)}"
    most = float(column.losable.means[0]) * column.span
    if most < question.min_effect:
        return f"the baseline can lose {most:.2g} at most, and only a loss of {question.min_effect:g} counts: lower min_effect"
    return f"not even a build that finds nothing would be REGRESSED: {_needed(_more_alike(column, question))}"


def _singles_until(effective_cases: int, sample: Observations) -> int:
    """How many more cases, each of a separate origin, make origins of unequal size worth so many of equal size."""
    cases, squares = float(sample.sizes.sum()), float((sample.sizes**2).sum())
    # The positive root of (cases + k)² = worth * (squares + k).
    half = cases - effective_cases / 2
    return max(1, ceil(sqrt(max(0.0, half**2 - cases**2 + effective_cases * squares)) - half - EQUAL_WITHIN))


def _needed(cases: int | None, which: str = "", goal: str = "for a verdict") -> str:
    if cases is None:
        return f"{MOST_ORIGINS:,} cases like these would not change that"
    return f"{cases} more independent {'case' if cases == 1 else 'cases'}{which} {'is' if cases == 1 else 'are'} needed {goal}"


def fewest_that_differ(question: GateQuestion) -> int:
    """So many losses, whatever their sizes, are significant if there is no gain: p is 2 to the power of 1 - losses."""
    return floor(log2(2 / question.level)) + 1


def _some_build_fails(column: LosableColumn, question: GateQuestion) -> bool:
    """Whether the worst build would be called REGRESSED, or one with losses that are all alike, whose mid-p is smaller."""
    values = column.losable.sums[:, 0]
    heights = distinct(values[values > EQUAL_WITHIN]) if 0 < column.can_fall <= EXACT_UP_TO else ()
    builds = np.column_stack([-values, *(np.where(values >= height - EQUAL_WITHIN, -height, 0.0) for height in heights)])
    sample = Observations(builds, column.losable.sizes)
    _, high = difference_intervals(sample, question.rigour.interval)
    significant = (randomisation_p(builds, mid=question.rigour.mid_p) < question.level) & (high < 0)
    # Of a measure without a highest value, and without a baseline, any loss may be large enough.
    span = column.span if isfinite(column.span) else 1 / EQUAL_WITHIN
    return bool((significant & (-sample.means * span >= question.min_effect)).any())


def _more_alike(column: LosableColumn, question: GateQuestion) -> int | None:
    """How many more origins, like these, would let the worst build fail; None if it takes more than are tried."""
    return fewest_more(lambda origins: _some_build_fails(column.of_size(origins), question), len(column.losable), MOST_ORIGINS)


def detectable_loss(column: LosableColumn, question: GateQuestion) -> float | None:
    """The smallest loss that shows with 80 % power whatever the candidate is like; None if there is not that much to lose.

    None as well where half of the cases would have to lose, and none to gain: there the sums are far from normal.
    """
    if column.values.effective_size < 2 * fewest_that_differ(question):
        return None
    low, high, shows = 0.0, float(column.losable.means[0]), _loss_shows(column, question)
    if not isfinite(column.span) or not shows(high):
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high * column.span


def _loss_shows(column: LosableColumn, question: GateQuestion) -> Callable[[float], bool]:
    """Says of a true loss, a share of the range, whether test and interval show it with 80 % power."""
    sample, effective_cases = column.values, column.values.effective_size
    before, own = float(sample.means[0]), float(standard_errors(sample)[0]) ** 2
    critical = t_quantile(1 - question.level / 2, int(effective_cases + EQUAL_WITHIN) - 1)
    # Where there are losses alone, the interval has room for gains that were never seen.
    unseen = unseen_share(sample, question.rigour.interval)
    # Losses are counted whole: of one too few p is too large. The mid-p goes half the way.
    one_case = (0.5 if question.rigour.mid_p else 1.0) / effective_cases

    def shows(loss: float) -> bool:
        after = min(1.0, max(0.0, before - loss))  # rounding apart it is
        error = sqrt(own + after * (1 - after) / effective_cases) if column.known else sqrt(2 * LARGEST_VARIANCE / effective_cases)
        threshold = max(AGREEMENT * hypot(critical * error, unseen), question.min_effect / column.span)
        return loss >= threshold + one_case + _SPARE * error

    return shows


def _non_inferior(column: LosableColumn, question: GateQuestion) -> Foresight:
    """Whether a build that answers as the baseline does would pass: ties prove only that a share of losses would have shown."""
    independent, why_not = len(column.values), _why_not_shown(column, question.margin)
    smallest = _smallest_p(independent, question)
    if why_not is not None:
        return Foresight(independent, smallest, None, False, why_not, column.values.effective_size)
    sentence = f"{independent} independent cases: an unchanged build passes, and a true loss of {question.margin:g} seldom does"
    return Foresight(independent, smallest, question.margin, True, sentence, column.values.effective_size)


def _why_not_shown(column: LosableColumn, margin: float) -> str | None:
    """Why an unchanged build would not pass; None if it would."""
    if not isfinite(column.span):
        return "the measure has no highest value: only a baseline says how much can be lost"
    if margin <= 0:
        return "an unchanged build would not pass: only a margin above 0 can be shown"
    more_cases = _needed(cases_for_margin(column, margin), goal=f"to show that less than {margin:g} is lost")
    if not column.values.enough:
        return f"{_TOO_FEW}: {more_cases}"
    room = unseen_share(column.values, SHOWN_LEVEL) * column.span
    if room < margin:
        return None
    equal = f"{len(column.values)} independent cases without any change do not rule out a loss of {room:.2g} (95 % interval)"
    return f"an unchanged build would not pass: {equal}; {more_cases}, or a margin above {room:.2g}"


def cases_for_margin(column: LosableColumn, margin: float) -> int:
    """How many more independent cases let an unchanged build show that it loses less than ``margin``."""
    ties = ties_for_margin(margin, column.span)
    return 0 if column.values.effective_size >= ties - EQUAL_WITHIN else _singles_until(ties, column.values)


def ties_for_margin(margin: float, span: float = 1.0) -> int:
    """How many independent ties show, by the 95 % interval, that the mean is lower by less than ``margin``."""
    share = margin / span
    return FEWEST_CASES if share >= 1 else max(FEWEST_CASES, floor(log(SHOWN_LEVEL.tail) / log1p(-share)) + 1)


# How many more independent cases a gate needs to see a loss of a wanted size with 80 % power.


def more_cases_to_see(column: LosableColumn, question: GateQuestion, loss: float) -> int | None:
    """So many more independent cases, like these; None if no number that is tried would do.

    A gate that is non-inferior is asked with its own margin, or with the wanted loss where that is smaller.
    """
    here = len(column.values)
    if not here or not isfinite(column.span) or loss <= 0:
        return None
    if question.policy == "non-inferior":
        return cases_for_margin(column, min(loss, question.margin) if question.margin > 0 else loss)
    if loss <= question.min_effect:
        return None  # a true loss as large as what counts is missed half of the time, however many cases there are

    def sees(origins: int) -> bool:
        detectable = detectable_loss(column.of_size(origins), question)
        return detectable is not None and detectable <= loss

    return fewest_more(sees, here, MOST_ORIGINS)
