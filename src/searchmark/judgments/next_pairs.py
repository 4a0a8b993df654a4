"""Which pairs to judge next: those whose grades are expected to change the difference of two runs most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress, pairwise

import numpy as np

from searchmark.analysis.comparison import compare, primary_column
from searchmark.analysis.scores import Scores
from searchmark.analysis.verdicts import Difference
from searchmark.audit.judged_pools import is_pooled
from searchmark.audit.next_pairs.effects import effects, joint_effect
from searchmark.audit.next_pairs.pooling import PooledDocument, pooled
from searchmark.audit.next_pairs.priors import RelevancePrior, relevance_prior
from searchmark.audit.result import AuditTable, JudgingPlan, PairToJudge
from searchmark.audit.subject import Subject
from searchmark.corpora.corpus import Corpus
from searchmark.errors import UsageError
from searchmark.labelling.additions import highest_grade
from searchmark.measures.formulas import Floats
from searchmark.measures.grammar import AnyMeasure
from searchmark.records.document import Document

TOLD_APART = ("IMPROVED", "REGRESSED")
NO_CHANGE = 1e-12
# Worlds that are drawn: few where many judgments are scored again in each of them.
WORLDS, FEWEST_WORLDS, MOST_JUDGMENTS = 200, 40, 10_000_000


def plan_judging(subject: Subject, count: int, between: tuple[str, str] | None = None) -> JudgingPlan:
    """The unjudged pairs that are expected to settle the comparison between two runs soonest, the first ones first."""
    names, why, difference = _comparison(subject, between)
    first, second = (subject.scores[name] for name in names)
    column = first.names.index(difference.measure)
    pool = pooled(first, second, column)
    unjudged = [each for each in pool if each.grade is None]
    grades = subject.suite.judgments.grades.tolist()
    prior = relevance_prior(pool, _lowest(first.measures[column]), grades, known=is_pooled(subject.suite))
    chance = prior.chances(unjudged)
    effect = effects(first, second, column, unjudged, prior.grade) / max(1, difference.cases)
    order = _ordered(subject, unjudged, chance, effect)
    pairs = [_pair(subject, unjudged[at], chance[at], effect[at]) for at in order[:count]]
    now = difference.difference or 0.0

    def after(relevant: Sequence[bool]) -> float:
        chosen = list(compress(unjudged, relevant))
        return now + joint_effect(first, second, column, chosen, prior.grade) / max(1, difference.cases)

    ends = (now, after((effect < 0).tolist()), after((effect > 0).tolist()))
    worlds = _worlds(prior, unjudged, after, len(first.judged.hits.target_case)) if prior.known else None
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
        pairs=tuple(_with_documents(subject.corpus, pairs)),
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


def _ordered(subject: Subject, unjudged: Sequence[PooledDocument], chance: Floats, effect: Floats) -> list[int]:
    """Those that change anything, by what they are expected to change; of equal ones, by case and item."""
    ids = subject.suite.table.ids
    expected = np.round(chance * np.abs(effect), 12).tolist()
    moving = [at for at in range(len(unjudged)) if abs(effect[at]) > NO_CHANGE]
    return sorted(moving, key=lambda at: (-expected[at], ids[unjudged[at].case], unjudged[at].item))


def _pair(subject: Subject, document: PooledDocument, chance: float, effect: float) -> PairToJudge:
    table = subject.suite.table
    query = (table.queries[document.case] if table.queries is not None else None) or ""
    return PairToJudge(table.ids[document.case], query, document.item, document.ranks, float(chance), float(effect))


def _with_documents(corpus: Corpus | None, pairs: list[PairToJudge]) -> list[PairToJudge]:
    if corpus is None or not pairs:
        return pairs
    known: dict[str, Document] = {each.id: each for each in corpus.read(sorted({pair.item for pair in pairs}))}
    return [replace(pair, document=known.get(pair.item)) for pair in pairs]


def _comparison(subject: Subject, between: tuple[str, str] | None) -> tuple[tuple[str, str], str, Difference]:
    """Which two runs, why these, and how they differ."""
    if between is not None:
        return between, "as asked", _difference(subject, *_known(subject, between))
    if len(subject.scores) < 2:  # noqa: PLR2004  # a comparison has two sides
        raise UsageError("--next needs two runs, whose comparison the grades would settle; name them with --run")
    ranked = _by_mean(subject)
    if len(ranked) == 2:  # noqa: PLR2004  # as above
        names = (ranked[1], ranked[0])
        return names, "the two runs", _difference(subject, *names)
    neighbours = [((worse, better), _difference(subject, worse, better)) for better, worse in pairwise(ranked)]
    undecided = [each for each in neighbours if each[1].verdict not in TOLD_APART]
    if undecided:
        return undecided[0][0], "the best neighbours that are not told apart", undecided[0][1]
    closest = min(neighbours, key=lambda each: abs(each[1].difference or 0.0))
    return closest[0], "the closest neighbours; all are told apart", closest[1]


def _known(subject: Subject, between: tuple[str, str]) -> tuple[str, str]:
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
