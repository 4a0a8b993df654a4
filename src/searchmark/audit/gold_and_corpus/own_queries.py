"""Whether judgments belong to the queries that they were joined with: by the words of gold documents, and by what runs find.

Own pairs of query and judgments are held against pairs of a query and the judgments of another case. If own pairs are not
better than the others at the level of 5 %, the join is no better than chance. A shift is claimed only where the judgments of
neighbouring cases fit beyond doubt better than the own ones: neighbours are often alike, so that a shifted join may well be
better than chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from searchmark.agents.lexical.tokens import tokens
from searchmark.audit.gold_and_corpus.documents import document_facts, relevant_targets
from searchmark.audit.gold_and_corpus.shifts import SHIFTS, Shift, best_shift
from searchmark.audit.numbers.once import once
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.judging.judge import judge
from searchmark.measures.formulas import Floats
from searchmark.records import JudgmentTable, Run, Suite
from searchmark.records.columns import starts_of
from searchmark.runs.cut import cut_to

FEWEST_CASES = 20  # below, chance alone explains too much
MOST_CASES = 600  # whose queries are held against all of their judgments: of more, the first and the last
MOST_JUDGED = 300  # cases that runs are judged on again and again
LEVEL = 0.05
DRAWS = 1999
ROTATIONS = 19  # better than all of them is better than chance at 5 %
DEPTH = 10
FEWEST_KNOWN = 0.5  # share of queries that have a word with any gold document in common
MORE_FOUND, TIMES_FOUND = 10, 2  # how much more a run must find with shifted judgments
SEED = 7


@dataclass(frozen=True, eq=False)
class Fits:
    """How well every query (a row) fits the judgments of every case (a column)."""

    values: Floats

    @property
    def own(self) -> float:
        return float(np.diagonal(self.values).mean())

    @cached_property
    def drawn(self) -> Floats:
        """The mean where judgments are dealt to queries at random, many times over."""
        chance, count = np.random.default_rng(SEED), len(self.values)
        rows = np.arange(count)
        return np.array([self.values[rows, chance.permutation(count)].mean() for _ in range(DRAWS)])

    def p_of(self, mean: float) -> float:
        """How often chance does as well."""
        return (1 + int((self.drawn >= mean - 1e-12).sum())) / (1 + DRAWS)

    def fit(self, shift: int) -> Floats:
        """How well each query fits the judgments of the case so many later."""
        fits, count = np.full(len(self.values), np.nan), len(self.values)
        rows = np.arange(max(-shift, 0), min(count - shift, count))
        fits[rows] = self.values[rows, rows + shift]
        return fits

    @cached_property
    def best_shift(self) -> Shift | None:
        """The shift that makes judgments fit, if one does beyond doubt."""
        return best_shift(len(self.values), self.fit)


@once
def judgments_of_other_queries(subject: Subject) -> list[Finding]:
    """What is wrong with the join, looked for once."""
    return list(_found_wrong(subject))


def _found_wrong(subject: Subject) -> Iterator[Finding]:
    """What words and runs say together: where one of them shows that the join is right, it is."""
    rows = _rows(subject)
    if len(rows) < FEWEST_CASES:
        return
    usable, by_words = _word_fits(subject, rows)
    shift = None if by_words is None else by_words.best_shift
    if shift is None and by_words is not None and by_words.p_of(by_words.own) <= LEVEL:
        return
    by_runs = _RunFits.of(subject) if shift is None else None
    step = by_runs.best_shift if by_runs is not None else None
    if shift is not None or step is not None:
        yield finding("shifted-judgments", _sentence(_part(subject, usable, shift), shift.step if shift is not None else step or 0))
    elif by_runs is not None and by_runs.any_better:
        return
    elif by_words is not None or (by_runs is not None and len(by_runs.runs) > 1):
        yield finding("judgments-at-chance", "; ".join(_reasons(by_words, by_runs)))


def _sentence(part: str, step: int) -> str:
    return f"queries{part} fit the judgments of the case that comes {later(step)}, and not their own"


def _part(subject: Subject, rows: Sequence[int], shift: Shift | None) -> str:
    ids = subject.suite.table.ids
    return "" if shift is None or shift.whole else f" from case {ids[rows[shift.first]]} to {ids[rows[shift.end - 1]]}"


def later(step: int) -> str:
    """Which case is meant, in words."""
    return f"{counted(abs(step), 'case')} {'later' if step > 0 else 'earlier'}"


def _reasons(by_words: Fits | None, by_runs: _RunFits | None) -> Iterator[str]:
    if by_words is not None:
        p = by_words.p_of(by_words.own)
        yield f"relevant documents have no more words in common with their own query than with queries of other cases (p = {p:.2g})"
    if by_runs is not None:
        yield f"{counted(len(by_runs.runs), 'run')}: the first {DEPTH} hits fit the judgments of other cases as well as their own"


def _rows(subject: Subject) -> list[int]:
    """Cases with relevant targets, if there are enough different sets of them."""
    gold: dict[int, list[str]] = {}
    for case, target in relevant_targets(subject):
        gold.setdefault(case, []).append(target)
    distinct = {tuple(sorted(targets)) for targets in gold.values()}
    return sorted(gold) if len(distinct) >= FEWEST_CASES else []


def _word_fits(subject: Subject, rows: Sequence[int]) -> tuple[Sequence[int], Fits | None]:
    """Cases that were looked at, and how much of every query is in the gold documents of every case, rare words counting more.

    None where that says nothing.
    """
    facts, queries = document_facts(subject), subject.suite.table.queries
    if facts is None or queries is None:
        return rows, None
    words: dict[int, frozenset[str]] = {}
    for case, target in relevant_targets(subject):
        words[case] = words.get(case, frozenset()) | facts.words.get(target, frozenset())
    usable = [row for row in rows if queries[row] and words.get(row)]
    if len(usable) > MOST_CASES:  # neighbours stay neighbours, and what is shifted from some case on is among the last
        usable = [*usable[: MOST_CASES // 2], *usable[-MOST_CASES // 2 :]]
    if len(usable) < FEWEST_CASES:
        return usable, None
    fits = _overlaps([list(dict.fromkeys(tokens(queries[row] or ""))) for row in usable], [words[row] for row in usable])
    known = float((fits.values.max(axis=1) > 0).mean())
    return usable, fits if known >= FEWEST_KNOWN else None


def _overlaps(queries: Sequence[Sequence[str]], golds: Sequence[frozenset[str]]) -> Fits:
    holders: dict[str, list[int]] = {}
    wanted = {word for query in queries for word in query}
    for column, gold in enumerate(golds):
        for word in gold & wanted:
            holders.setdefault(word, []).append(column)
    weights = {word: float(np.log(len(golds) / len(columns))) for word, columns in holders.items()}
    values = np.zeros((len(queries), len(golds)))
    for row, query in enumerate(queries):
        total = sum(weights.get(word, 0.0) for word in query)
        for word in query if total > 0 else ():
            values[row, holders.get(word, [])] += weights.get(word, 0.0) / total
    return Fits(values)


@dataclass(frozen=True, eq=False)
class _RunFits:
    """What runs find among their first hits, with their own judgments and with those of other cases."""

    suite: Suite
    runs: tuple[Run, ...]

    @classmethod
    def of(cls, subject: Subject) -> _RunFits | None:
        """None where no run finds anything, whatever the judgments."""
        runs = tuple(cut_to(each.judged.run, DEPTH) for each in subject.scores.values())
        suite = subject.expanded
        fits = cls(suite.only(set(suite.table.ids[:MOST_JUDGED])), tuple(run for run in runs if len(run.ids)))
        return fits if any(fits.own) or any(map(max, fits.others)) else None

    @cached_property
    def own(self) -> list[int]:
        """What each run finds with its own judgments."""
        return [self.found(0, run) for run in self.runs]

    @cached_property
    def others(self) -> list[list[int]]:
        """What each run finds with the judgments of cases that are further away."""
        far = np.arange(max(SHIFTS) + 1, len(self.suite) - max(SHIFTS))
        offsets = np.random.default_rng(SEED).permutation(far)[:ROTATIONS].tolist()
        suites = [replace(self.suite, judgments=rolled(self.suite.judgments, each)) for each in offsets]
        return [[_found(suite, run) for suite in suites] for run in self.runs]

    def found(self, shift: int, run: Run) -> int:
        """Relevant documents among the first hits, with the judgments of the case that comes so many later."""
        return _found(self.suite if not shift else replace(self.suite, judgments=rolled(self.suite.judgments, shift)), run)

    @property
    def any_better(self) -> bool:
        """Whether own judgments fit some run better than all others do."""
        return any(own > max(others) for own, others in zip(self.own, self.others, strict=True))

    @property
    def best_shift(self) -> int | None:
        """A shift by which most runs find far more than with their own judgments, and more than with any other."""
        steps = [each for each in self.shifts if each is not None]
        step = max(steps, key=steps.count, default=0)
        return step if steps.count(step) > len(self.runs) / 2 else None

    @cached_property
    def shifts(self) -> list[int | None]:
        """Of each run, the shift by which it finds so."""
        return [self._shift(*each) for each in zip(self.runs, self.own, self.others, strict=True)]

    def _shift(self, run: Run, own: int, others: Sequence[int]) -> int | None:
        found = {shift: self.found(shift, run) for shift in SHIFTS}
        best = max(found, key=found.__getitem__)
        return best if found[best] >= max(TIMES_FOUND * own, own + MORE_FOUND, max(others) + 1) else None


def _found(suite: Suite, run: Run) -> int:
    """Relevant documents among the first hits of all answers."""
    hits = judge(suite, run).hits
    return int(((hits.rank <= DEPTH) & (hits.grade > 0)).sum())


def rolled(judgments: JudgmentTable, shift: int) -> JudgmentTable:
    """The judgments of every case given to the one that comes so many before it; ranks and ranges have no meaning there."""
    sizes = np.roll(np.diff(judgments.starts), -shift)
    order = np.argsort(np.roll(np.arange(len(sizes)), shift)[judgments.case], kind="stable")
    targets = list(judgments.targets)
    match = None if judgments.match is None else judgments.match[order]
    return JudgmentTable(
        starts_of(sizes.tolist(), len(sizes)), [targets[row] for row in order.tolist()], judgments.grades[order], match
    )
