"""What a measure can be on a suite: the highest value, and what a random ranking gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.grammar import AnyMeasure, Measure, Traits, undefined_cases
from searchmark.measures.hits import Pool
from searchmark.records.columns import Bools, Floats, Ints, Texts, distinct, text_list
from searchmark.records.matching import names_lines
from searchmark.records.suite import Suite
from searchmark.scoring.match import cases_about_lines, coverage_of_targets, expand_suite
from searchmark.scoring.matches import LINES, TEXT, CaseKinds
from searchmark.scoring.targets import ExistingIds

# What there is to rank for every case of a suite: how many documents, and which of its targets are among them.


def pool_of(suite: Suite, ids: Set[str] | None = None) -> Pool:
    """The documents of the cases themselves, else those of a corpus; what is not known to be missing can be found."""
    suite = suite if ids is None else expand_suite(suite, ids)
    findable, drawn = _known_targets(suite, ids)
    own = [len({each.id for each in documents}) for documents in suite.table.documents or ()] or [0] * len(suite)
    documents = np.where(np.array(own, np.int64) > 0, own, len(ids or ()))
    known_documents = documents if len(suite) and documents.all() else None
    parts = _has_parts(suite, drawn, documents)
    return Pool(suite, known_documents, parts, findable, drawn, _traits_of(suite), coverage_of_targets(suite))


def regraded(pool: Pool, suite: Suite) -> Pool:
    """The same documents and targets with the grades of another suite."""
    return replace(pool, suite=suite, traits=_traits_of(suite))


def _traits_of(suite: Suite) -> Traits:
    kinds, table = CaseKinds.of(suite), suite.table
    answerable, graded = (
        np.ones(len(suite), bool) if marks is None else ~marks for marks in (table.unanswerable, table.order_only)
    )
    unread = np.zeros(len(suite), bool)  # nobody has given these answers, so no line of them was read
    return ~kinds.described, answerable, kinds.paths, graded, cases_about_lines(suite), unread


def _known_targets(suite: Suite, ids: Set[str] | None) -> tuple[Bools, Bools]:
    """Which targets can be found, and which are documents."""
    judgments = suite.judgments
    masks = np.ones((2, len(judgments)), bool) if ids is None else _find_targets(judgments.targets, ids)
    if suite.table.documents is not None:
        targets, starts = text_list(judgments.targets), judgments.starts.tolist()
        for case, documents in enumerate(suite.table.documents):
            if documents:
                rows = slice(*starts[case : case + 2])
                masks[:, rows] = _find_targets(targets[rows], frozenset(each.id for each in documents))
    return masks[0] | judgments.of_text, masks[1] & ~judgments.of_text  # which documents hold a passage is not looked up


def _find_targets(targets: Texts, ids: Set[str]) -> Bools:
    """Which targets can be found, and which are documents; a text that many rows have is looked up once."""
    distinct = set(text_list(targets)) if isinstance(targets, list) else set(targets.unique().to_list())
    existing = ExistingIds(ids)
    others = {text: existing.resolve(text) for text in distinct if text not in ids}
    masks = np.ones((2, len(targets)), bool)
    if others:
        rows = [others.get(text) for text in text_list(targets)]
        masks[0] = [each is None or each[1] for each in rows]
        masks[1] = [each is None or (each[1] and each[0] in ids) for each in rows]
    return masks


def _has_parts(suite: Suite, drawn: Bools, documents: Ints) -> Bools:
    """Cases in which a document may meet several judgments, or a part of one."""
    judgments = suite.judgments
    marked = np.zeros(len(judgments), bool) if judgments.match is None else np.isin(judgments.match, (LINES, TEXT))
    for row in np.flatnonzero(~drawn & ~marked).tolist():
        marked[row] = names_lines(judgments.targets[row])
    of_lines, targets = (np.diff(np.searchsorted(np.flatnonzero(rows), judgments.starts)) for rows in (marked, drawn))
    return (of_lines > 0) | (targets > documents)


# The highest value of a measure that any ranking could have, case by case, and the range of those that leave nothing out.
#
# No ranking is tried: what is best comes first, and the formula itself says what that is worth. That is the highest value of
# each measure here, as exchanging two neighbours shows for all of them; expected orders are worked out by pairs.


def attainable(measure: AnyMeasure, pool: Pool) -> Floats | None:
    """The highest possible value of every case, NaN where it is undefined; None if it is not known for one of them."""
    undefined = undefined_cases(measure, pool.traits)
    if not _is_known(measure, pool, ~undefined):
        return None
    values = np.zeros(len(pool.suite))
    for weight, part in measure.terms:
        values += weight * _highest(part, pool)
    values[undefined] = np.nan
    return values


def _is_known(measure: AnyMeasure, pool: Pool, cases: Bools) -> bool:
    parts = measure.parts
    if (
        not all(part.definition.ideal or (part.definition.highest and len(parts) == 1) for part in parts)
        or any(part.options.get("gains") for part in parts)
        or not _is_best_together(parts)
    ):
        return False
    by_directory = any(part.options.get("credit") == "dir" for part in parts)
    # A directory may pay for a target that is missing from it, and which of them are returned as hits is not known.
    return bool((pool.traits[0] | ~cases).all() and not (by_directory and (~pool.findable).any()))


def _is_best_together(parts: Sequence[Measure]) -> bool:
    """Whether one ranking is best for all parts: none of them needs what spoils another."""
    grades = [_lowest_grade(part) for part in parts]
    share_grades = [_lowest_grade(part) for part in parts if part.cutoff is None and part.definition.diluted]
    return all(max(share_grades, default=0) <= each for each in grades)


def _lowest_grade(measure: Measure) -> int:
    """The lowest grade that a measure gains from."""
    return int(measure.options.get("rel", measure.definition.lowest_grade))


def _highest(measure: Measure, pool: Pool) -> Floats:
    if measure.definition.highest is not None:
        return measure.definition.highest(measure.on(pool))
    return measure.compute(pool.best_answers(_lowest_grade(measure)))


def range_of_full_rankings(measure: Measure, pool: Pool) -> tuple[Floats, Floats] | None:
    """The lowest and the highest value of answers that leave out no document, case by case; None if they are not known."""
    undefined = undefined_cases(measure, pool.traits)
    no_formula = measure.definition.ideal != "ranking" or measure.options.get("gains") or measure.options.get("credit") == "dir"
    if pool.documents is None or no_formula or not (pool.traits[0] & ~pool.parts | undefined).all():
        return None
    first = pool.best_first(pool.drawn & (pool.suite.judgments.grades >= 0))
    last = np.where(first > 0, pool.documents[pool.suite.judgments.case] + 1 - first, 0)
    low, high = (np.where(undefined, np.nan, measure.compute(pool.ranked(rank, pool.documents))) for rank in (last, first))
    return low, high


# What a random ranking of all documents scores on average, case by case. Where no formula is known, rankings are drawn.

DRAWS = 200

MOST_DRAWN = 4_000_000  # targets, in all draws together


def expected_by_chance(measure: AnyMeasure, pool: Pool) -> Floats | None:
    """The expectation of every case, NaN where it is undefined; None if there is no formula, or if what is ranked is not known."""
    if not can_be_drawn(measure, pool):
        return None
    values = np.zeros(len(pool.suite))
    for weight, part in measure.terms:
        # Without the unjudged documents it is another ranking: that of the judged ones alone, which is drawn.
        chance = None if part.judged_only else part.definition.chance
        values_of_part = None if chance is None else chance(part.on(pool))
        if values_of_part is None:
            return None
        values += weight * values_of_part
    values[undefined_cases(measure, pool.traits)] = np.nan
    return values


def can_be_drawn(measure: AnyMeasure, pool: Pool) -> bool:
    """Whether what a random ranking of the documents scores follows from their number and that of the targets."""
    complete = pool.traits[0]
    clear = pool.documents is not None and bool((complete & ~pool.parts | undefined_cases(measure, pool.traits)).all())
    return clear and not any(_depends_on_more(part) for part in measure.parts)


def _depends_on_more(part: Measure) -> bool:
    by_length = part.cutoff is None and part.definition.grows
    return by_length or not part.per_case or part.definition.by_scores or part.options.get("credit") == "dir"


@dataclass(frozen=True, eq=False)
class SimulatedMean:
    """The mean of a measure over random rankings, case by case, and the standard error of its mean over the cases."""

    values: Floats
    error: float


def simulate_mean(measure: AnyMeasure, pool: Pool) -> SimulatedMean | None:
    """The same by drawing rankings, always the same ones; None if what is ranked is not known."""
    if not can_be_drawn(measure, pool):
        return None
    tables = np.array([table[:, 0] for table in drawn_values([measure], pool, DRAWS)])
    defined = ~np.isnan(tables[0])
    means = tables[:, defined].mean(axis=1) if defined.any() else np.full(len(tables), np.nan)
    return SimulatedMean(tables.mean(axis=0), float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else np.nan)


def drawn_values(measures: Sequence[AnyMeasure], pool: Pool, draws: int) -> Iterator[Floats]:
    """The values of random rankings, a row per case and a column per measure; fewer of them where there are very many targets."""
    if pool.documents is None or not all(can_be_drawn(measure, pool) for measure in measures):
        return
    generator = np.random.default_rng(0)
    undefined = [undefined_cases(measure, pool.traits) for measure in measures]
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
    for again in distinct(key[1:][key[1:] == key[:-1]] // (int(documents.max(initial=0)) + 1)).tolist():
        here = rows[slice(*np.searchsorted(case, [again, again + 1]))]
        rank[here] = generator.choice(int(documents[again]), len(here), replace=False) + 1
    return rank


# What a measure can be on a suite, case by case: the attainable, and what a random order gets on average.


@dataclass(frozen=True, eq=False)
class MeasureLimits:
    """Per case: the highest value of a measure and the expectation of a random order, None where they are not known."""

    measure: AnyMeasure
    attainable: Floats | None
    random: Floats | None

    @property
    def tells_of_rankings(self) -> bool:
        return self.measure.decides and not any(part.definition.unanswerable for part in self.measure.parts)


def measure_limits(measures: Iterable[AnyMeasure], pool: Pool) -> tuple[MeasureLimits, ...]:
    return tuple(MeasureLimits(each, attainable(each, pool), expected_by_chance(each, pool)) for each in measures)


def mean_of(values: Floats | None, rows: NDArray[np.intp] | None = None) -> float | None:
    """The mean over cases where a value is defined; None if there is none."""
    defined_values = np.zeros(0) if values is None else values if rows is None else values[rows]
    defined_values = defined_values[~np.isnan(defined_values)]
    return float(defined_values.mean()) if len(defined_values) else None
