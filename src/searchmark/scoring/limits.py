"""What a random ranking of all documents scores on average, case by case.

Every order of the documents is as likely as every other, so that how many relevant ones are among the first k is
hypergeometric and each document is at each rank with the same probability. Most measures are sums over ranks or documents,
whose expectation needs no more than that. Where none is known (ERR, aspects, several expected orders), rankings are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from searchmark.analysis.attainable import BY_SCORE, best_answers
from searchmark.analysis.pools import Pool
from searchmark.measures.formulas import Floats, Ints
from searchmark.measures.gains import ideal_dcg, paid_by_judgments
from searchmark.measures.grammar import AnyMeasure, Formula, Measure

DRAWS = 200
MOST_DRAWN = 4_000_000  # targets, in all draws together
LONGEST_SUM = 4096  # ranks that are added up one by one
_DEPEND_ON_LENGTH = {
    "R",
    "F1",
    "SetF",
    "SetAP",
    "NumRet",
    "NumRelRet",
}  # without a cutoff, a random answer has as much of them as it is long


@dataclass(frozen=True, eq=False)
class _Population:
    """Per case: all ``documents``, how many of the ``first`` are looked at, and how many are relevant: of them, and in ``all``."""

    documents: Floats
    first: Floats
    relevant: Floats
    all: Floats
    k: float | None

    def share(self, numerator: Floats, denominator: Floats | float) -> Floats:
        below = np.broadcast_to(np.asarray(denominator, np.float64), numerator.shape)
        return np.divide(numerator, below, out=np.zeros(len(numerator)), where=below > 0)

    @property
    def found(self) -> Floats:
        """The relevant documents among the first ones."""
        return self.first * self.relevant / self.documents


def by_chance(measure: AnyMeasure, pool: Pool) -> Floats | None:
    """The expectation of every case, NaN where it is undefined; None if there is no formula, or if what is ranked is not known."""
    undefined = pool.undefined(measure)
    if not can_be_drawn(measure, pool):
        return None
    values = np.zeros(len(pool.suite))
    for weight, part in measure.terms if isinstance(measure, Formula) else ((1.0, measure),):
        # Without the unjudged documents it is another ranking: that of the judged ones alone, which is drawn.
        expected = None if part.judged_only else _EXPECTED.get(part.definition.name)
        values_of_part = None if expected is None else expected(part, pool, _counts(part, pool))
        if values_of_part is None:
            return None
        values += weight * values_of_part
    values[undefined] = np.nan
    return values


def can_be_drawn(measure: AnyMeasure, pool: Pool) -> bool:
    """Whether what a random ranking of the documents scores follows from their number and that of the targets."""
    complete = pool.traits[0]
    clear = pool.documents is not None and bool((complete & ~pool.parts | pool.undefined(measure)).all())
    return clear and not any(_depends_on_more(part) for part in measure.parts)


def _depends_on_more(part: Measure) -> bool:
    by_length = part.cutoff is None and part.definition.name in _DEPEND_ON_LENGTH
    return by_length or not part.per_case or part.definition.name == BY_SCORE or part.options.get("credit") == "dir"


def _counts(measure: Measure, pool: Pool) -> _Population:
    grades, lowest = pool.suite.judgments.grades, int(measure.options.get("rel", 1))
    documents = np.asarray(pool.documents, np.float64)
    first = documents if measure.cutoff is None else np.minimum(documents, measure.cutoff)
    relevant, total = pool.count(pool.drawn & (grades >= lowest)), pool.relevant(lowest)
    return _Population(documents, first, relevant.astype(np.float64), total.astype(np.float64), measure.cutoff)


def _precision(_: Measure, __: Pool, counts: _Population) -> Floats:
    return counts.share(counts.found, counts.k or counts.documents)


def _recall(_: Measure, __: Pool, counts: _Population) -> Floats:
    return counts.share(counts.found, counts.all)


def _f1(_: Measure, __: Pool, counts: _Population) -> Floats:
    """Linear in what is found: P is found / k and R found / all, so that F1 is 2 * found / (k + all)."""
    return counts.share(2 * counts.found, (counts.k or counts.documents) + counts.all)


def _found(_: Measure, __: Pool, counts: _Population) -> Floats:
    return counts.found


def _to_find(_: Measure, __: Pool, counts: _Population) -> Floats:
    return counts.all


def _r_precision(_: Measure, __: Pool, counts: _Population) -> Floats:
    return counts.share(np.minimum(counts.all, counts.documents) * counts.relevant / counts.documents, counts.all)


def _average_precision(_: Measure, __: Pool, counts: _Population) -> Floats:
    """At rank j: the document is relevant with r / N, and each of those before it then with (r - 1) / (N - 1)."""
    one = counts.relevant / counts.documents
    two = one * counts.share(counts.relevant - 1, counts.documents - 1)
    harmonic = _sums(1 / np.arange(1, int(counts.first.max(initial=1)) + 1), counts.first)
    return counts.share(one * harmonic + two * (counts.first - harmonic), counts.all)


def _sums(terms: Floats, sizes: Floats) -> Floats:
    """The sum of the first terms, as many as each case has."""
    return np.asarray(np.r_[0.0, np.cumsum(terms)][sizes.astype(np.int64)], np.float64)


def _discounted_gain(measure: Measure, pool: Pool, counts: _Population) -> Floats:
    judgments, said = pool.suite.judgments, (str(measure.options["gain"]), str(measure.options["gains"]))
    paid, own = pool.drawn & (judgments.grades >= (0 if measure.options["gains"] else 1)), judgments.gains
    pays = paid_by_judgments(judgments.grades[paid], None if own is None else own[paid], *said)
    gains = np.bincount(judgments.case[paid], pays, minlength=len(pool.suite))
    discounts = _sums(1 / np.log2(np.arange(1, int(counts.first.max(initial=1)) + 1) + 1.0), counts.first)
    return np.asarray(gains / counts.documents * discounts, np.float64)


def _normalised_gain(measure: Measure, pool: Pool, counts: _Population) -> Floats:
    said = {name: str(measure.options[name]) for name in ("gain", "gains")}
    ideal = ideal_dcg(best_answers(pool, 1), k=measure.cutoff, gain=said["gain"], gains=said["gains"])
    return np.where(np.isnan(ideal), np.nan, counts.share(_discounted_gain(measure, pool, counts), ideal))


def _rank_biased(measure: Measure, _: Pool, counts: _Population) -> Floats:
    persistence = float(measure.options["p"])
    return np.asarray(counts.relevant / counts.documents * (1 - persistence**counts.first), np.float64)


def _judged(_: Measure, pool: Pool, counts: _Population) -> Floats:
    known = pool.drawn & (pool.suite.judgments.grades >= 0)
    return np.asarray(pool.count(known) / counts.documents, np.float64)


def _abstention(_: Measure, __: Pool, counts: _Population) -> Floats:
    return np.asarray(counts.documents == 0, np.float64)


def _success(_: Measure, __: Pool, counts: _Population) -> Floats:
    return np.asarray(1 - _each(_none_among, counts.documents, counts.relevant, counts.first), np.float64)


def _all_found(_: Measure, __: Pool, counts: _Population) -> Floats:
    """C(N - R, k - R) / C(N, k): the relevant ones are all among the first k."""
    every = _each(lambda n, r, k: prod((k - i) / (n - i) for i in range(r)), counts.documents, counts.relevant, counts.first)
    return np.where((counts.relevant == counts.all) & (counts.all > 0), every, 0.0)


def _reciprocal_rank(_: Measure, __: Pool, counts: _Population) -> Floats:
    return _each(_first_relevant, counts.documents, counts.relevant, counts.first)


def _each(expectation: Callable[[int, int, int], float], *columns: Floats) -> Floats:
    """The same for cases with the same numbers, worked out once."""
    distinct, number = np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0, return_inverse=True)
    return np.array([expectation(*row) for row in distinct.tolist()], np.float64)[number.reshape(-1)]


def _none_among(documents: int, relevant: int, first: int) -> float:
    """C(N - r, k) / C(N, k), as a product over the fewer of r and k."""
    few, many = sorted((relevant, first))
    return prod(max(0, documents - many - i) / (documents - i) for i in range(few))


def _first_relevant(documents: int, relevant: int, first: int) -> float:
    """The mean of 1 / rank of the first relevant document, if it is among the first ones.

    Over all ranks it follows from that of one relevant document less: E(r) = r / ((r - 1)(N - r + 1)) * ((N - r + 2) E(r - 1) - 1),
    which is used where there are many ranks and few relevant documents, where it loses no digits.
    """
    if not relevant:
        return 0.0
    if first == documents > LONGEST_SUM and 2 * relevant < documents:
        expected = float(np.sum(1 / np.arange(documents, 0, -1))) / documents
        for r in range(2, relevant + 1):
            expected = r / ((r - 1) * (documents - r + 1)) * ((documents - r + 2) * expected - 1)
        return expected
    ranks = np.arange(1, min(first, documents - relevant + 1) + 1)
    none_before = np.r_[1.0, np.cumprod((documents - relevant - ranks[:-1] + 1) / (documents - ranks[:-1] + 1))]
    return float(np.sum(none_before * relevant / (documents - ranks + 1) / ranks))


def _bpref(measure: Measure, pool: Pool, counts: _Population) -> Floats:
    """How many of n judged against a relevant one rank above it is each of 0 to n with the same probability."""
    grades = pool.suite.judgments.grades
    wrong = (grades >= 0) & (grades < int(measure.options["rel"]))
    against, drawn = (pool.count(mask).astype(np.float64) for mask in (wrong, wrong & pool.drawn))
    most = np.minimum(drawn, counts.all)
    above = (most * (most + 1) / 2 + (drawn - most) * counts.all) / (drawn + 1)
    missed = counts.share(above, np.minimum(against, counts.all))
    return counts.share(counts.relevant * (1 - missed), counts.all)


def _agreement(_: Measure, pool: Pool, counts: _Population) -> Floats | None:
    """Either order of two documents is as likely; a target that is no document ranks below those that are looked at."""
    if any(pool.suite.table.other_orders or ()):
        return None
    orders, values = pool.orders, np.full(len(pool.suite), np.nan)
    for case in np.unique(orders.order).tolist():
        rows = orders.order == case
        expected, drawn = orders.rank[rows], pool.drawn[orders.judgment[rows]]
        wanted = np.sign(expected[None, :] - expected[:, None])
        pairs = np.abs(wanted).sum() / 2
        seen = counts.first[case] / counts.documents[case]
        values[case] = seen * wanted[drawn][:, ~drawn].sum() / pairs if pairs else np.nan
    return values


_EXPECTED: dict[str, Callable[[Measure, Pool, _Population], Floats | None]] = {
    "P": _precision,
    "R": _recall,
    "F1": _f1,
    "RR": _reciprocal_rank,
    "AP": _average_precision,
    "nDCG": _normalised_gain,
    "DCG": _discounted_gain,
    "Success": _success,
    "Rprec": _r_precision,
    "Bpref": _bpref,
    "RBP": _rank_biased,
    "Judged": _judged,
    "Acc": _all_found,
    "Abstain": _abstention,
    "Tau": _agreement,
    "NumRel": _to_find,
    "NumRelRet": _found,
}


@dataclass(frozen=True, eq=False)
class Drawn:
    """The mean of a measure over random rankings, case by case, and the standard error of its mean over the cases."""

    values: Floats
    error: float


def simulated(measure: AnyMeasure, pool: Pool) -> Drawn | None:
    """The same by drawing rankings, always the same ones; None if what is ranked is not known."""
    if not can_be_drawn(measure, pool):
        return None
    tables = np.array([table[:, 0] for table in drawn_values([measure], pool, DRAWS)])
    defined = ~np.isnan(tables[0])
    means = tables[:, defined].mean(axis=1) if defined.any() else np.full(len(tables), np.nan)
    return Drawn(tables.mean(axis=0), float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else np.nan)


def drawn_values(measures: Sequence[AnyMeasure], pool: Pool, draws: int) -> Iterator[Floats]:
    """The values of random rankings, a row per case and a column per measure; fewer of them where there are very many targets."""
    if pool.documents is None or not all(can_be_drawn(measure, pool) for measure in measures):
        return
    generator = np.random.default_rng(0)
    undefined = [pool.undefined(measure) for measure in measures]
    for _ in range(max(2, min(draws, MOST_DRAWN // max(1, int(pool.drawn.sum()))))):
        hits = pool.ranked(_drawn_ranks(pool, pool.documents, generator), pool.documents)
        columns = [np.where(none, np.nan, each.compute(hits)) for each, none in zip(measures, undefined, strict=True)]
        yield np.stack(columns, axis=1)


def _drawn_ranks(pool: Pool, documents: Ints, generator: np.random.Generator) -> Ints:
    """A rank for every target that is a document, no two of one case having the same."""
    rows = np.flatnonzero(pool.drawn)
    case = pool.suite.judgments.case[rows]
    rank = np.zeros(len(pool.drawn), np.int64)
    rank[rows] = generator.integers(1, documents[case] + 1)
    key = np.sort(case * (int(documents.max(initial=0)) + 1) + rank[rows])
    for again in np.unique(key[1:][key[1:] == key[:-1]] // (int(documents.max(initial=0)) + 1)).tolist():
        here = rows[slice(*np.searchsorted(case, [again, again + 1]))]
        rank[here] = generator.choice(int(documents[again]), len(here), replace=False) + 1
    return rank
