"""What a bound is worth on a suite: whether any ranking can meet it, and whether a random one does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain
from math import fsum, isfinite, isnan

import numpy as np

from searchmark.analysis.scores import Scores, score
from searchmark.errors import UsageError
from searchmark.findings import Finding, finding
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.quantities import MeanOf
from searchmark.gates.segments import Rows
from searchmark.gates.sentences import within
from searchmark.judging.judge import judge
from searchmark.measures.grammar import AnyMeasure
from searchmark.options.gate_options import KnownFailure, NumberBound
from searchmark.records import Answer, Hit, Run, Suite

_NAMED = {"id", "path"}
_BY_SCORE = "InRange"  # tells of scores, which an ideal or a random order does not have
DEEPEST = 100
MOST_DRAWS = 50
MOST_HITS = 200_000
FEWEST_PER_CENT = 2


class Reach:
    """The best and the random ranking of a suite, each worked out when something first asks for it."""

    def __init__(self, suite: Suite, measures: Sequence[AnyMeasure], corpus: Collection[str] | None = None) -> None:
        self._suite, self._corpus = suite, corpus
        self._measures = [each for each in measures if all(part.definition.name != _BY_SCORE for part in each.parts)]

    @property
    def suite(self) -> Suite:
        """What rankings are of."""
        return self._suite

    def findings(self, quantity: MeanOf | AtOwnK, bound: NumberBound, expected: float, rows: Rows) -> Iterator[Finding]:
        """What has to be known about a bound before it is relied on."""
        name = quantity.subject(None)
        settled = _settled_by_range(name, quantity.low, quantity.high, bound, expected)
        if settled is not None:
            yield settled
        if settled is not None or bound in ("at_most", "below"):
            return
        best = self._highest(quantity, rows)
        if best is not None and _misses(bound, best, expected):
            message = f"the highest possible {name} on these cases is {best:.4g}: no ranking can meet this bound"
            yield finding("unattainable-threshold", message)
        random = self._by_chance(quantity, rows)
        if random is not None and not _misses(bound, random, expected):
            message = f"a random ranking gets {random:.4g} on average and meets this bound, so it says nothing about quality"
            yield finding("threshold-below-random", message)

    def findings_of_each(self, measure: AnyMeasure, expected: float, spared: Collection[str] = ()) -> Iterator[Finding]:
        """The same about a lowest value of every case but those that are spared."""
        settled = _settled_by_range(measure.name, measure.low, measure.high, "at_least", expected)
        if settled is not None:
            yield settled
            return
        for case, value in list(self._values(self._best, measure, spared)):
            if _misses("at_least", value, expected):
                message = f"the highest possible {measure.name} of case {case} is {value:.4g}: no ranking can meet this bound"
                yield finding("unattainable-threshold", message, [case])
                break
        drawn = [[value for _, value in self._values(scores, measure, spared)] for scores in self._drawn]
        met = sum(bool(values) and not any(_misses("at_least", each, expected) for each in values) for values in drawn)
        if 2 * met > len(drawn):
            message = f"{met} of {len(drawn)} random rankings meet this bound in every case, so it says nothing about quality"
            yield finding("threshold-below-random", message)

    def _values(self, scores: Scores | None, measure: AnyMeasure, spared: Collection[str]) -> Iterator[tuple[str, float]]:
        """The cases for which a measure is defined, and its values."""
        name = None if scores is None else scores.known_as(measure)
        if scores is not None and name is not None:
            values = zip(self._suite.table.ids, scores.values[:, scores.names.index(name)].tolist(), strict=True)
            yield from ((case, value) for case, value in values if case not in spared and not isnan(value))

    def _highest(self, quantity: MeanOf | AtOwnK, rows: Rows) -> float | None:
        if isinstance(quantity, AtOwnK):
            # What is relevant comes first here, which is best for all but the one that goes by the expected order: that reaches 1.
            return None if quantity.metric == "ndcg" or self._best is None else quantity.value(self._best, rows)
        return self._mean(self._best, quantity, rows)

    def _by_chance(self, quantity: MeanOf | AtOwnK, rows: Rows) -> float | None:
        if isinstance(quantity, MeanOf):
            return self._mean(self._random, quantity, rows)
        values = [value for scores in self._drawn if (value := quantity.value(scores, rows)) is not None]
        return fsum(values) / len(values) if values else None

    def lacking(self, ids: Sequence[str]) -> list[str]:
        """Those that are not among the documents, where these are known."""
        return [] if self._corpus is None else [each for each in ids if each not in self._corpus]

    def _mean(self, scores: Scores | None, quantity: MeanOf, rows: Rows) -> float | None:
        return None if scores is None or scores.known_as(quantity.measure) is None else quantity.value(scores, rows)

    @cached_property
    def _best(self) -> Scores | None:
        """The suite answered with its own targets, best first; None if some of them are only described."""
        if any(judgment.match not in _NAMED for case in self._suite.cases for judgment in case.judgments):
            return None
        answers = []
        for case in self._suite.cases:
            ranked = sorted(case.judgments, key=lambda each: (-each.grade, each.rank or 0))
            targets = dict.fromkeys(each.target for each in ranked if each.grade > 0 or each.rank)
            answers.append(_answer(case.id, list(targets)))
        return score(judge(self._suite, Run.from_answers("the best ranking", answers)), self._measures)

    @cached_property
    def _random(self) -> Scores | None:
        """The mean values of random rankings of all documents; None where the documents are not known."""
        tables = self._drawn
        if not self._measures or not tables:
            return None
        return Scores(tables[0].judged, tables[0].measures, np.mean([each.values for each in tables], axis=0))

    @cached_property
    def _drawn(self) -> list[Scores]:
        drawn = _Draws(self._suite, self._corpus)
        return [score(judge(self._suite, run), self._measures) for run in drawn.runs()] if drawn.possible else []


class _Draws:
    """Random orders of the documents of every case; the same ones in every run of the program."""

    def __init__(self, suite: Suite, corpus: Collection[str] | None) -> None:
        self._suite = suite
        self._shared = sorted(corpus or ())
        self._own = suite.table.documents

    @property
    def possible(self) -> bool:
        return bool(self._shared) or (self._own is not None and all(self._own))

    def runs(self) -> Iterator[Run]:
        generator = np.random.default_rng(0)
        hits = max(1, len(self._suite) * min(DEEPEST, len(self._shared) or DEEPEST))
        for _ in range(max(1, min(MOST_DRAWS, MOST_HITS // hits))):
            yield Run.from_answers(
                "a random ranking", [_answer(case, self._drawn(row, generator)) for row, case in enumerate(self._suite.table.ids)]
            )

    def _drawn(self, row: int, generator: np.random.Generator) -> list[str]:
        own = [each.id for each in self._own[row]] if self._own is not None else []
        documents = own or self._shared
        if len(documents) <= 2 * DEEPEST:
            return [documents[place] for place in generator.permutation(len(documents)).tolist()]
        drawn = chain.from_iterable(generator.integers(len(documents), size=2 * DEEPEST).tolist() for _ in range(2))
        return [documents[place] for place in list(dict.fromkeys(drawn))[:DEEPEST]]


def _answer(case: str, ids: Sequence[str]) -> Answer:
    return Answer(case, "ok" if ids else "empty", tuple(Hit(each, rank) for rank, each in enumerate(ids, 1)))


def _misses(bound: NumberBound, value: float, expected: float) -> bool:
    return not within(bound, value, expected)


def _settled_by_range(name: str, low: float, high: float, bound: NumberBound, expected: float) -> Finding | None:
    """What the range of a measure alone says about a bound; None if it says nothing."""
    wants_much = bound in ("at_least", "above")
    if not low <= expected <= high:
        code = "unattainable-threshold" if wants_much is (expected > high) else "threshold-always-met"
        return finding(code, outside(name, low, high, expected))
    worst, best, beyond = (low, high, "lower") if wants_much else (high, low, "higher")
    if not _misses(bound, worst, expected):
        return finding("threshold-always-met", f"every ranking meets this bound: no {name} is {beyond} than {worst:g}")
    if not wants_much and _misses(bound, best, expected):
        return finding("unattainable-threshold", f"no ranking can meet this bound: no {name} is lower than {best:g}")
    return None


def outside(name: str, low: float, high: float, expected: float) -> str:
    """That a bound lies outside of the range of a measure."""
    highest = f"{high:g}" if isfinite(high) else "any number"
    return f"values of {name} lie between {low:g} and {highest}: {expected:.12g} is outside{_percent(expected, high)}"


def _percent(expected: float, high: float) -> str:
    """A hint for those who think in per cent."""
    meant = high == 1 and FEWEST_PER_CENT <= expected <= 100  # noqa: PLR2004  # per cent
    return f"; write {expected / 100:.12g} for {expected:.12g} %" if meant else ""


def known_failure_in_range(failure: KnownFailure, measure: AnyMeasure) -> KnownFailure:
    """A known failure, refused if its bound lies outside of the range of its measure: it would fail for ever."""
    if not measure.low <= failure.at_least <= measure.high:
        reason = outside(measure.name, measure.low, measure.high, failure.at_least)
        raise UsageError(f"at_least of the known failure {failure.case!r}: {reason}")
    return failure


def telling_margin(measure: AnyMeasure, margin: float) -> float:
    """A margin, refused if no loss is larger."""
    span = measure.high - measure.low
    if margin >= span:
        raise UsageError(
            f"a margin of {margin:g} allows every loss, since none of {measure.name} is larger than {span:g}; lower it"
        )
    return margin
