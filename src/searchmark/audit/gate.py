"""The smallest loss that each rule of a gate sees with 80 % power, and what it would take to see a smaller one.

A rule that compares sees what its test shows: by the noise of two runs where there are some, else by the largest possible one. A
bound on a mean sees what is larger than the room between the run and the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from searchmark.analysis.distributions import NORMAL
from searchmark.analysis.foresight import GateQuestion, losable_column
from searchmark.analysis.power import POWER
from searchmark.analysis.scores import Scores, score
from searchmark.analysis.wanted_sensitivity import more_cases_to_see
from searchmark.audit.gate.noise import PairedNoise, paired_noise
from searchmark.audit.gate.simulated_losses import SimulatedLosses
from searchmark.audit.subject import Subject
from searchmark.gates.bounds import NumberRule
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.quantities import MeanOf
from searchmark.gates.relative import RelativeRule
from searchmark.gates.segments import EVERYTHING, Rows, rows_of
from searchmark.gates.sentences import within
from searchmark.judging.judge import judge

LARGE_LOSS = 0.1  # what a gate is asked for where no other loss is named
_SPARE = NORMAL.inv_cdf(POWER)


@dataclass(frozen=True)
class RuleSight:
    """What a rule sees. ``loss`` is the smallest one that it sees with 80 % power, None if it sees none for sure, and ``basis``
    what that rests on. One that the run fails already (``failing``) is red whatever is lost.

    ``compares``, and then all cases are worth so many ``independent`` ones. Where a test decides, so many origins ``can_lose``
    something, and ``smallest_p`` is the smallest p that they can give. ``blind`` is why its verdict is settled before any run.
    ``more`` independent cases are needed to see the wanted loss, None if no number does.
    """

    name: str
    loss: float | None
    basis: str
    everywhere: bool
    compares: bool
    failing: bool = False
    independent: float | None = None
    can_lose: int | None = None
    smallest_p: float | None = None
    blind: str | None = None
    more: int | None = None
    advice: str = ""

    def sees(self, loss: float) -> bool:
        return self.failing or (self.loss is not None and self.loss <= loss)


def wanted_loss(subject: Subject) -> float:
    return LARGE_LOSS if subject.foresight is None else subject.foresight


_KNOWN: WeakKeyDictionary[Subject, tuple[RuleSight, ...]] = WeakKeyDictionary()  # for the table and the findings of one audit


def rule_sights(subject: Subject) -> tuple[RuleSight, ...]:
    """What every rule about a mean sees, as far as it is known; worked out once for each audit."""
    if subject not in _KNOWN:
        _KNOWN[subject] = tuple(_sights(subject))
    return _KNOWN[subject]


def _sights(subject: Subject) -> Iterator[RuleSight]:
    relative = [rule for rule in subject.rules if isinstance(rule, RelativeRule)]
    family = len({(rule.quantity.measure.name, rule.segment) for rule in relative})
    baseline = _baseline(subject, relative)
    for rule in subject.rules:
        rows = rows_of(subject.suite, rule.segment) if isinstance(rule, RelativeRule | NumberRule) else None
        if rows is None:
            continue
        if isinstance(rule, RelativeRule):
            yield _of_comparison(subject, rule, rows, baseline, rule.question(subject.options.min_effect, family))
        elif isinstance(rule, NumberRule) and rule.bound in ("at_least", "above"):
            yield from _of_bound(subject, rule, rows)


def _baseline(subject: Subject, rules: Sequence[RelativeRule]) -> Scores | None:
    """The scores that others are held against: of the baseline, or else of the first run."""
    measures = [rule.quantity.measure for rule in rules]
    run = subject.baseline.run
    if not measures:
        return None
    if run is not None:
        folder = None if subject.survey is None else subject.survey.folder
        return score(judge(subject.expanded, run, subject.ids, folder), measures)
    first = next(iter(subject.scores.values()), None)
    return first if first is not None and all(first.known_as(measure) for measure in measures) else None


def _of_comparison(subject: Subject, rule: RelativeRule, rows: Rows, baseline: Scores | None, question: GateQuestion) -> RuleSight:
    suite = subject.suite if baseline is None else baseline.judged.suite
    found = rule.foresight(suite, baseline, question.min_effect, question.family)
    wanted = wanted_loss(subject)
    noise = None if rule.policy == "non-inferior" or not found.resolvable else paired_noise(subject, rule.quantity, rows)
    loss, basis = found.detectable, "its margin" if rule.policy == "non-inferior" else "the largest possible noise"
    if noise is None:
        column = losable_column(suite, rule.quantity.measure, question, baseline, rows_of(suite, rule.segment))
        more = more_cases_to_see(column, question, wanted)
    else:
        builds = SimulatedLosses(noise, question)
        loss, basis = builds.smallest_seen(), _basis(noise)
        more = 0 if loss is not None and loss <= wanted else builds.more_cases(wanted)
    return RuleSight(
        rule.name,
        loss,
        basis,
        rule.segment == EVERYTHING,
        compares=True,
        independent=found.worth,
        can_lose=None if rule.policy == "non-inferior" else found.independent,
        smallest_p=None if rule.policy == "non-inferior" else found.smallest_p,  # an interval decides, and no test
        blind=None if found.resolvable else found.reason,
        more=more,
        advice=_advice(question, wanted, more),
    )


def _basis(noise: PairedNoise) -> str:
    one, other = noise.runs
    if not noise.repeat:
        return f"the spread between {one} and {other}"
    return f"the noise of {one}, run twice" if noise.error else f"{one}, run twice without any difference"


def _advice(question: GateQuestion, wanted: float, more: int | None) -> str:
    if question.policy == "non-inferior":
        return f"a margin of {wanted:g} would with {more or 0} more independent cases"
    if more is None:
        counts = f"only a loss of {question.min_effect:g} counts (min_effect)"
        return f"no number of cases would: {counts}" if wanted <= question.min_effect else "thousands of cases more would not"
    return f"{more} more independent {'case' if more == 1 else 'cases'} would"


def _of_bound(subject: Subject, rule: NumberRule, rows: Rows) -> Iterator[RuleSight]:
    """What a lowest value sees of the first run: a loss that is larger than the room above it."""
    name, scores = next(iter(subject.scores.items()), (None, None))
    if scores is None or not isinstance(rule.quantity, MeanOf | AtOwnK):
        return
    value = rule.quantity.value(scores, rows)
    if value is None:
        return
    noise = paired_noise(subject, rule.quantity, rows)
    spare = _SPARE * noise.deviation if noise is not None and noise.repeat else 0.0
    wanted, everywhere = wanted_loss(subject), rule.segment == EVERYTHING
    if not within(rule.bound, value, rule.expected):
        yield RuleSight(rule.name, None, f"already below: {name} has {value:.4g}", everywhere, compares=False, failing=True)
        return
    advice = "no bound would: the noise is larger" if spare >= wanted else f"a bound of {value - wanted + spare:.4g} would"
    room = value - rule.expected
    yield RuleSight(rule.name, room + spare, f"{name} has {value:.4g}", everywhere, compares=False, advice=advice)
