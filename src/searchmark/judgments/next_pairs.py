"""Which unjudged pairs to judge next, so that a comparison of two runs is settled soonest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress, pairwise

import numpy as np
from numpy.typing import NDArray

from searchmark.audit.agents import is_pooled
from searchmark.audit.check import AuditTable, JudgingPlan, PairToJudge, Subject
from searchmark.errors import UsageError
from searchmark.formats.corpora.corpus import Corpus
from searchmark.judgments.review import highest_grade
from searchmark.measures.grammar import AnyMeasure
from searchmark.measures.hits import DirectoryPairs, GradedHits
from searchmark.records.answers import OK
from searchmark.records.columns import Floats, Ints, distinct, texts_at
from searchmark.records.document import Document
from searchmark.scoring.comparison import compare, primary_column
from searchmark.scoring.match import MatchedRun
from searchmark.scoring.scores import Scores
from searchmark.scoring.verdicts import Difference

# What two runs returned: the distinct documents of each case, where each run has them, and their grades where they are judged.

DEEPEST = 100  # ranks that count for a measure without a cutoff


@dataclass(frozen=True)
class PooledDocument:
    """A document that one of two runs returned for a case."""

    case: int  # its row
    item: str  # its id
    ranks: tuple[int | None, int | None]  # None for a run that did not return it
    grade: int | None  # None where it is not judged

    @property
    def best_rank(self) -> int:
        return min(rank for rank in self.ranks if rank is not None)

    @property
    def in_both(self) -> bool:
        return None not in self.ranks


def depth_of(measure: AnyMeasure) -> int:
    """How deep a measure looks; without a cutoff, as deep as judging is worthwhile."""
    return max(part.cutoff or DEEPEST for part in measure.parts)


def pool_documents(first: Scores, second: Scores, column: int) -> list[PooledDocument]:
    """Everything that one of two runs returned as deep as a measure looks, for the cases where both have a value of it."""
    depth = depth_of(first.measures[column])
    documents: list[PooledDocument] = []
    for case in np.flatnonzero(~np.isnan(first.values[:, column] + second.values[:, column])).tolist():
        hits_by_run = [dict(_returned(scores.matched, case, depth)) for scores in (first, second)]
        for item in dict.fromkeys([*hits_by_run[0], *hits_by_run[1]]):
            ranks = tuple(each[item][0] if item in each else None for each in hits_by_run)
            grade = next(each[item][1] for each in hits_by_run if item in each)
            documents.append(PooledDocument(case, item, (ranks[0], ranks[1]), grade))
    return documents


def _returned(matched: MatchedRun, case: int, depth: int) -> Iterator[tuple[str, tuple[int, int | None]]]:
    """The distinct hits of a case that exist, with rank and grade."""
    answer = matched.run.index.get(matched.suite.table.ids[case])
    if answer is None or matched.status[case] != OK:
        return
    rows = matched.run.rows_of(answer)
    grades = _grades(matched, case)
    items: set[str] = set()
    for row, item in zip(rows.tolist(), texts_at(matched.run.ids, rows), strict=True):
        if item in items:
            continue
        items.add(item)
        if len(items) > depth:
            return
        if matched.valid is None or matched.valid[row]:
            yield item, (len(items), grades.get(row))


def _grades(matched: MatchedRun, case: int) -> dict[int, int]:
    """The grades of the judged hits of a case, by their rows in the run."""
    matches = matched.matches
    start, end = np.searchsorted(matches.case, [case, case + 1])
    return dict(zip(matches.row[start:end].tolist(), matches.grade[start:end].tolist(), strict=True))


# What a measure would be if one more document of a case were relevant.

MOST_ROWS = 2_000_000  # of judgments that are in memory at a time


def label_effects(first: Scores, second: Scores, column: int, unjudged: Sequence[PooledDocument], grade: int) -> Floats:
    """By how much each document alone, if it had this grade, would change the value of the second run less that of the first."""
    return _changes((first, second), column, unjudged, np.arange(len(unjudged)), grade)


def joint_label_effect(first: Scores, second: Scores, column: int, unjudged: Sequence[PooledDocument], grade: int) -> float:
    """The sum of these changes over all cases if all of the documents had this grade."""
    cases = np.array([each.case for each in unjudged], np.int64)
    _, together = np.unique(cases, return_inverse=True)
    return float(_changes((first, second), column, unjudged, together, grade).sum())


def _changes(
    runs: tuple[Scores, Scores], column: int, unjudged: Sequence[PooledDocument], group: NDArray[np.intp], grade: int
) -> Floats:
    """The change of the difference for each group of documents of one case; groups are numbered from 0."""
    cases = np.array([each.case for each in unjudged], np.int64)
    case_of = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    case_of[group] = cases
    sizes = np.bincount(runs[0].matched.hits.target_case, minlength=runs[0].matched.hits.cases)[case_of] + 1
    changes, parts = np.zeros(len(case_of)), np.cumsum(sizes) // MOST_ROWS
    for part in distinct(parts).tolist():
        groups = np.flatnonzero(parts == part)
        rows = np.flatnonzero(parts[group] == part)
        for run, sign in ((0, -1.0), (1, 1.0)):
            ranks = np.array([unjudged[row].ranks[run] or 0 for row in rows.tolist()], np.int64)
            more = _MoreTargets(case_of[groups], group[rows] - groups[0], ranks, grade)
            with_them = runs[run].measures[column].compute(_with_more(runs[run].matched.hits, more))
            changes[groups] += sign * np.nan_to_num(with_them - runs[run].values[case_of[groups], column])
    return changes


@dataclass(frozen=True, eq=False)
class _MoreTargets:
    """New targets of cases that are scored again."""

    cases: Ints  # rows of the suite
    case: Ints  # of each target, its place in ``cases``
    rank: Ints  # of each target, 0 for none
    grade: int  # of all


def _with_more(hits: GradedHits, more: _MoreTargets) -> GradedHits:
    """The cases again, with their new targets, which are hits where they have a rank."""
    cases, grade = more.cases, more.grade
    hit_rows, of_hit = _rows_of(hits.case, cases)
    target_rows, of_target = _rows_of(hits.target_case, cases)
    returned = more.rank > 0
    case = np.concatenate([of_hit, more.case[returned]])
    rank = np.concatenate([hits.rank[hit_rows], more.rank[returned]])
    grades = np.concatenate([hits.grade[hit_rows], np.full(int(returned.sum()), grade)])
    order = np.lexsort((rank, case))
    new_gains = np.full(len(more.case), float(grade))
    target_case = np.concatenate([of_target, more.case])
    by_case = np.argsort(target_case, kind="stable")
    none = np.zeros(0, np.int64)
    return GradedHits(
        cases=len(cases),
        case=case[order],
        rank=rank[order],
        grade=grades[order],
        returned=hits.returned[cases],
        target_case=target_case[by_case],
        target_grade=np.concatenate([hits.target_grade[target_rows], np.full(len(more.case), grade)])[by_case],
        order=none,
        ordered_case=none,
        ordered_expected=none,
        ordered_rank=none,
        ranged_case=none,
        ranged_inside=np.zeros(0),
        abstained=np.full(len(cases), np.nan),
        directories=DirectoryPairs(none, none, none, none, none, none),
        gain=None if hits.gain is None else np.concatenate([hits.gain[hit_rows], new_gains[returned]])[order],
        target_gain=None if hits.target_gain is None else np.concatenate([hits.target_gain[target_rows], new_gains])[by_case],
    )


def _rows_of(sorted_case: Ints, cases: Ints) -> tuple[Ints, Ints]:
    """The rows of each of these cases in a column that is sorted by case, and the number of the case for each of them."""
    starts, ends = np.searchsorted(sorted_case, cases), np.searchsorted(sorted_case, cases + 1)
    lengths = ends - starts
    number = np.repeat(np.arange(len(cases)), lengths)
    before = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(cases) else np.zeros(0, np.int64)
    return np.arange(len(number)) - before[number] + starts[number], number


# How likely an unjudged document is relevant, by its rank and by how many runs return it, as judged ones are.

_LAST_RANKS = (1, 2, 3, 5, 10, 20, 50)  # of groups of ranks that are taken together

WEIGHT = 4  # of the overall share, in documents: what a group of few is drawn to

SURE = 0.99  # no document is known before it is judged

_Group = tuple[int, bool, bool]


@dataclass(frozen=True)
class RelevancePrior:
    """How likely documents are relevant, by the ranks at which two runs returned them."""

    groups: dict[_Group, tuple[int, int]]  # how many are relevant, and how many are not
    overall: float  # share of relevant ones
    grade: int  # that a relevant one usually has
    known: bool  # False without a pool of judgments: unjudged then counts as not relevant, and chances are too low

    def chances(self, unjudged: Sequence[PooledDocument]) -> Floats:
        return np.array([self._share(_group(each)) for each in unjudged], np.float64)

    def draw(self, unjudged: Sequence[PooledDocument], chance: np.random.Generator) -> NDArray[np.bool_]:
        """Which documents are relevant in a world that the judgments allow.

        What only one run returns has a share of its own there, since one run may be better; the fewer of it are judged, the
        more uncertain that is.
        """
        shares = {group: chance.beta(*self._weights(group)) for group in sorted({_group(each) for each in unjudged})}
        return chance.random(len(unjudged)) < np.array([shares[_group(each)] for each in unjudged])

    def _share(self, group: _Group) -> float:
        """Of both runs together: what one of them returns, whichever it is, or what both do."""
        rank, first, second = group
        counts = [self.groups.get(each, (0, 0)) for each in {group, (rank, second, first)}]
        relevant, other = map(sum, zip(*counts, strict=True))
        share = (relevant + WEIGHT * self.overall) / (relevant + other + WEIGHT)
        return min(max(share, 1 - SURE), SURE)

    def _weights(self, group: _Group) -> tuple[float, float]:
        relevant, other = self.groups.get(group, (0, 0))
        share = self._share(group)
        return relevant + WEIGHT * share, other + WEIGHT * (1 - share)


def relevance_prior(pool: Sequence[PooledDocument], lowest: int, grades: Sequence[int], *, known: bool) -> RelevancePrior:
    """From the judged documents of a pool; if the judgments are none, from all that was returned, unjudged ones counting as 0."""
    documents = [each for each in pool if (each.grade is None and not known) or (each.grade is not None and each.grade >= 0)]
    groups: dict[_Group, tuple[int, int]] = {}
    for each in documents:
        relevant, other = groups.get(_group(each), (0, 0))
        groups[_group(each)] = (relevant + 1, other) if (each.grade or 0) >= lowest else (relevant, other + 1)
    total = sum(relevant for relevant, _ in groups.values())
    overall = total / len(documents) if documents else 0.5
    return RelevancePrior(groups, overall, _usual_grade(lowest, grades), known)


def _group(document: PooledDocument) -> _Group:
    first, second = (rank is not None for rank in document.ranks)
    return bisect_left(_LAST_RANKS, document.best_rank), first, second


def _usual_grade(lowest: int, grades: Sequence[int]) -> int:
    """The commonest grade of what is relevant, the lower of two."""
    values, counts = np.unique([grade for grade in grades if grade >= lowest], return_counts=True)
    return int(values[np.argmax(counts)]) if len(values) else lowest


# Which pairs to judge next: those whose grades are expected to change the difference of two runs most.

DECIDED_VERDICTS = ("IMPROVED", "REGRESSED")

NO_CHANGE = 1e-12


# Worlds that are drawn: few where many judgments are scored again in each of them.
WORLDS, FEWEST_WORLDS, MOST_JUDGMENTS = 200, 40, 10_000_000


def plan_judging(subject: Subject, count: int, between: tuple[str, str] | None = None) -> JudgingPlan:
    """The unjudged pairs that are expected to settle the comparison between two runs soonest, the first ones first."""
    names, why, difference = _comparison(subject, between)
    first, second = (subject.scores[name] for name in names)
    column = first.names.index(difference.measure)
    pool = pool_documents(first, second, column)
    unjudged = [each for each in pool if each.grade is None]
    grades = subject.suite.judgments.grades.tolist()
    prior = relevance_prior(pool, _lowest(first.measures[column]), grades, known=is_pooled(subject.suite))
    chance = prior.chances(unjudged)
    effect = label_effects(first, second, column, unjudged, prior.grade) / max(1, difference.cases)
    order = _order_pairs(subject, unjudged, chance, effect)
    pairs = [_pair(subject, unjudged[at], chance[at], effect[at]) for at in order[:count]]
    now = difference.difference or 0.0

    def after(relevant: Sequence[bool]) -> float:
        relevant_documents = list(compress(unjudged, relevant))
        return now + joint_label_effect(first, second, column, relevant_documents, prior.grade) / max(1, difference.cases)

    ends = (now, after((effect < 0).tolist()), after((effect > 0).tolist()))
    worlds = _worlds(prior, unjudged, after, len(first.matched.hits.target_case)) if prior.known else None
    return JudgingPlan(
        runs=names,
        why=why,
        measure=difference.measure,
        difference=now,
        verdict=difference.verdict,
        open=len(order),
        least=min(*ends, *(() if worlds is None else worlds.tolist())),
        most=max(*ends, *(() if worlds is None else worlds.tolist())),
        expected=None if worlds is None else float(worlds.mean()),
        turns=None if worlds is None else float((np.sign(np.round(worlds, 12)) != np.sign(round(now, 12))).mean()),
        highest_grade=highest_grade(subject.suite),
        pairs=tuple(_with_texts(subject.corpus, pairs)),
    )


def _worlds(
    prior: RelevancePrior, unjudged: Sequence[PooledDocument], after: Callable[[Sequence[bool]], float], judgments: int
) -> Floats:
    """What the difference becomes once all pairs are judged, in worlds that the judgments so far allow."""
    chance = np.random.default_rng(0)
    count = max(FEWEST_WORLDS, min(WORLDS, MOST_JUDGMENTS // max(1, judgments)))
    return np.array([after(prior.draw(unjudged, chance).tolist()) for _ in range(count)])


def _lowest(measure: AnyMeasure) -> int:
    """The lowest grade that pays."""
    return min(int(part.options.get("rel", 1)) for part in measure.parts)


def _order_pairs(subject: Subject, unjudged: Sequence[PooledDocument], chance: Floats, effect: Floats) -> list[int]:
    """Those that change anything, by what they are expected to change; of equal ones, by case and item."""
    ids = subject.suite.table.ids
    expected = np.round(chance * np.abs(effect), 12).tolist()
    moving = [at for at in range(len(unjudged)) if abs(effect[at]) > NO_CHANGE]
    return sorted(moving, key=lambda at: (-expected[at], ids[unjudged[at].case], unjudged[at].item))


def _pair(subject: Subject, document: PooledDocument, chance: float, effect: float) -> PairToJudge:
    table = subject.suite.table
    query = (table.queries[document.case] if table.queries is not None else None) or ""
    return PairToJudge(table.ids[document.case], query, document.item, document.ranks, float(chance), float(effect))


def _with_texts(corpus: Corpus | None, pairs: list[PairToJudge]) -> list[PairToJudge]:
    if corpus is None or not pairs:
        return pairs
    documents_by_id: dict[str, Document] = {each.id: each for each in corpus.read(sorted({pair.item for pair in pairs}))}
    return [replace(pair, document=documents_by_id.get(pair.item)) for pair in pairs]


def _comparison(subject: Subject, between: tuple[str, str] | None) -> tuple[tuple[str, str], str, Difference]:
    """Which two runs, why these, and how they differ."""
    if between is not None:
        return between, "as asked", _difference(subject, *_check_names(subject, between))
    if len(subject.scores) < 2:  # noqa: PLR2004  # a comparison has two sides
        raise UsageError("--next needs two runs, whose comparison the grades would settle; name them with --run")
    ranking = _by_mean(subject)
    if len(ranking) == 2:  # noqa: PLR2004  # as above
        names = (ranking[1], ranking[0])
        return names, "the two runs", _difference(subject, *names)
    neighbours = [((worse, better), _difference(subject, worse, better)) for better, worse in pairwise(ranking)]
    undecided_pairs = [each for each in neighbours if each[1].verdict not in DECIDED_VERDICTS]
    if undecided_pairs:
        return undecided_pairs[0][0], "the best neighbours that are not told apart", undecided_pairs[0][1]
    closest = min(neighbours, key=lambda each: abs(each[1].difference or 0.0))
    return closest[0], "the closest neighbours; all are told apart", closest[1]


def _check_names(subject: Subject, between: tuple[str, str]) -> tuple[str, str]:
    for name in between:
        if name not in subject.scores:
            raise UsageError(f"--between names {name!r}, but the runs are {', '.join(subject.scores) or 'none'}")
    if between[0] == between[1]:
        raise UsageError("--between needs two different runs")
    return between


def _by_mean(subject: Subject) -> list[str]:
    """The names of the runs, the best first."""
    column = primary_column(next(iter(subject.scores.values())), subject.options.primary)
    means = {name: float(np.nan_to_num(np.nanmean(scores.values[:, column]))) for name, scores in subject.scores.items()}
    return sorted(means, key=lambda name: (-means[name], name))


def _difference(subject: Subject, baseline: str, candidate: str) -> Difference:
    sides: list[Scores] = [subject.scores[name] for name in (baseline, candidate)]
    (pair,) = compare(sides, (), replace(subject.options, baseline=None))
    return pair.main


def plan_tables(plan: JudgingPlan) -> tuple[AuditTable, AuditTable]:
    """How far the comparison is open, and what to judge."""
    baseline, candidate = plan.runs
    columns = (
        "difference",
        "verdict",
        "unjudged pairs that change it",
        "at least",
        "at most",
        "expected",
        "rough chance that it turns",
    )
    row = (plan.difference, plan.verdict, plan.open, plan.least, plan.most, plan.expected, plan.turns)
    state = "Comparison to settle" if plan.settled is None else f"Comparison that is already settled ({plan.settled})"
    about = f"{baseline} and {candidate} by {plan.measure} ({plan.why}); the difference is {candidate} less {baseline}"
    title = f"{state}: {about}"
    pairs = tuple((each.case, each.item, *each.ranks, each.chance, each.effect) for each in plan.pairs)
    names = ("case", "item", f"rank in {baseline}", f"rank in {candidate}", "chance of relevance", "change if relevant")
    return (
        AuditTable("comparison_to_settle", title, columns, (row,)),
        AuditTable("next_pairs", "What to judge next: chosen, not drawn at random", names, pairs),
    )
