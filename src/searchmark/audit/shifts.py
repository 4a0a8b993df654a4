"""Whether judgments belong to the queries that they were joined with: by the words of gold documents, and by what runs find.

Own pairs of query and judgments are held against pairs of a query and the judgments of another case. If own pairs are not
better than the others at the level of 5 %, the join is no better than chance. Words can say that only where queries and
documents speak alike: of queries in another language than the documents, the few words that both know are in right and wrong
documents by chance. So gold documents of any case must hold the words of a query together more than words of different
queries. A shift is claimed only where the judgments of neighbouring cases fit beyond doubt better than the own ones:
neighbours are often alike, so that a shifted join may well be better than chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from searchmark.agents.lexical.tokens import tokens
from searchmark.audit.gold_and_corpus.documents import document_facts, relevant_targets
from searchmark.audit.gold_and_corpus.shifts import SHIFTS, Shift, best_shift
from searchmark.audit.once import once
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
    """How well every query (a row) fits the judgments of every case (a column); ``rows`` are those of the suite."""

    values: Floats
    rows: tuple[int, ...] = ()

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
    words = JoinedWords.of(subject, rows)
    by_words = None if words is None else words.fits
    shift = None if by_words is None else by_words.best_shift
    if shift is None and by_words is not None and by_words.p_of(by_words.own) <= LEVEL:
        return
    by_runs = _RunFits.of(subject) if shift is None else None
    step = by_runs.best_shift if by_runs is not None else None
    if shift is not None or step is not None:
        moved = shift.step if shift is not None else step or 0
        part = "" if words is None else _part(subject, words.rows, shift)
        yield finding("shifted-judgments", f"{_sentence(part, moved)}{_example(subject, by_words, rows, moved)}")
    elif by_runs is not None and by_runs.any_better:
        return
    elif words is not None and words.speak_alike:
        yield finding("judgments-at-chance", "; ".join(_reasons(by_words, by_runs)))
    elif by_runs is not None and len(by_runs.runs) > 1:
        yield finding("judgments-at-chance", "; ".join(_reasons(None, by_runs)))


def _example(subject: Subject, by_words: Fits | None, rows: Sequence[int], shift: int) -> str:
    """One case, its target and the one that fits its query: by words the clearest, else the first that has both."""
    gold = dict(reversed(list(relevant_targets(subject))))
    pairs = [(row, row + shift) for row in rows if row in gold and row + shift in gold]
    if by_words is not None and by_words.rows:
        at = {row: number for number, row in enumerate(by_words.rows)}
        known = [each for each in pairs if each[0] in at and each[1] in at]
        pairs = sorted(known, key=lambda each: -by_words.values[at[each[0]], at[each[1]]])
    if not pairs:
        return ""
    (row, other), table = pairs[0], subject.suite.table
    query = "" if table.queries is None else f" ({table.queries[row]})"
    return f": {table.ids[row]!r}{query} has the target {gold[row]!r}, and {gold[other]!r} of {table.ids[other]!r} fits"


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


@dataclass(frozen=True, eq=False)
class JoinedWords:
    """The words of every query, and those of the gold documents of every case."""

    rows: tuple[int, ...]
    queries: list[list[str]]
    golds: list[frozenset[str]]

    @classmethod
    def of(cls, subject: Subject, rows: Sequence[int]) -> JoinedWords | None:
        """None where they say nothing."""
        facts, queries = document_facts(subject), subject.suite.table.queries
        if facts is None or queries is None:
            return None
        words: dict[int, frozenset[str]] = {}
        for case, target in relevant_targets(subject):
            words[case] = words.get(case, frozenset()) | facts.words.get(target, frozenset())
        usable = [row for row in rows if queries[row] and words.get(row)]
        if len(usable) > MOST_CASES:  # neighbours stay neighbours, and what is shifted from some case on is among the last
            usable = [*usable[: MOST_CASES // 2], *usable[-MOST_CASES // 2 :]]
        if len(usable) < FEWEST_CASES:
            return None
        asked = [list(dict.fromkeys(tokens(queries[row] or ""))) for row in usable]
        joined = cls(tuple(usable), asked, [words[row] for row in usable])
        known = float((joined.fits.values.max(axis=1) > 0).mean())
        return joined if known >= FEWEST_KNOWN else None

    @cached_property
    def fits(self) -> Fits:
        """How much of every query is in the gold documents of every case, rare words counting more."""
        return replace(_overlaps(self.queries, self.golds), rows=self.rows)

    @property
    def speak_alike(self) -> bool:
        """Whether gold documents, of whichever case, hold the words of a query together more than words of different queries do.

        Only words that some of these documents have are dealt to other queries, and each query keeps the number of its own.
        """
        all_golds = frozenset[str]().union(*self.golds)
        queries = [[word for word in query if word in all_golds] for query in self.queries]
        chance, words = np.random.default_rng(SEED), np.array([word for query in queries for word in query], dtype=object)
        ends = np.cumsum([len(query) for query in queries])[:-1]
        dealt = ([list(dict.fromkeys(part)) for part in np.split(chance.permutation(words), ends)] for _ in range(ROTATIONS))
        best = _best_fit(queries, self.golds)
        return all(best > _best_fit(each, self.golds) for each in dealt)


def _best_fit(queries: Sequence[Sequence[str]], golds: Sequence[frozenset[str]]) -> float:
    """How much of a query is in the gold documents that fit it best, on the mean."""
    return float(_overlaps(queries, golds).values.max(axis=1).mean())


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
    """The judgments of every case given to the one that comes so many before it; the rest of what they say is left out."""
    sizes = np.roll(np.diff(judgments.starts), -shift)
    order = np.argsort(np.roll(np.arange(len(sizes)), shift)[judgments.case], kind="stable")
    targets = list(judgments.targets)
    match = None if judgments.match is None else judgments.match[order]
    return JudgmentTable(
        starts_of(sizes.tolist(), len(sizes)), [targets[row] for row in order.tolist()], judgments.grades[order], match
    )
