"""Whether judgments or answers belong to the neighbouring case: rows that are shifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from searchmark.agents.lexical.analyser import tokenize
from searchmark.audit.check import Subject, check, once_per_subject
from searchmark.audit.documents import document_facts, relevant_targets
from searchmark.records.columns import Floats, Ints, starts_of
from searchmark.records.finding import AGENTS, CORPUS, Finding, FindingKind, finding
from searchmark.records.judgments import JudgmentTable
from searchmark.records.merge import cut_run
from searchmark.records.run import Run
from searchmark.records.sentences import plain_count
from searchmark.records.suite import Suite
from searchmark.scoring.match import match_hits

# Where rows fit their neighbours better than themselves: in all rows, or in a part of them from some row on.
#
# One row too many in a table shifts all that comes after it, and none before. Parts are one to three quarters of the cases
# that follow each other, so that a shift that is found begins in about the first three quarters or ends in the last three.
# With 4 shifts there are 40 windows; if own pairs were no better than those of neighbours, 4.5 standard errors in any of them
# would come by chance about once in 1,000 suites. Own pairs of an honest suite are better, which makes it far rarer.

SHIFTS = (1, -1, 2, -2)
SURELY, SURELY_IN_PART = 4.0, 4.5  # standard errors by which neighbours must fit better: by chance once in 30,000, and see above
FEWEST_ROWS = 20
PARTS = 4


@dataclass(frozen=True)
class Shift:
    """Rows that fit the other side better some rows later than in their own row."""

    step: int  # how many rows later
    first: int  # the first row
    end: int  # the row after the last
    gain: float  # by how much better, in standard errors
    whole: bool  # all rows do


def best_shift(count: int, fit: Callable[[int], Floats]) -> Shift | None:
    """The shift that fits beyond doubt, if there is one; ``fit`` is that of every row by shift, NaN beyond the ends."""
    gains = {step: fit(step) - fit(0) for step in SHIFTS}
    # All rows, and parts of them that are large enough.
    ends = combinations([count * part // PARTS for part in range(PARTS + 1)], 2)
    windows = [rows for rows in ends if rows[1] - rows[0] >= FEWEST_ROWS or rows == (0, count)]
    shifts = [Shift(step, *rows, _gain(gain[slice(*rows)]), rows == (0, count)) for step, gain in gains.items() for rows in windows]
    sure = [each for each in shifts if each.gain >= (SURELY if each.whole else SURELY_IN_PART)]
    everywhere = [
        each for each in sure if each.whole and all(np.nansum(part) > 0 for part in np.array_split(gains[each.step], PARTS))
    ]
    return max(everywhere or sure, key=lambda each: each.gain, default=None)


def _gain(differences: Floats) -> float:
    """Their mean in standard errors."""
    values = differences[~np.isnan(differences)]
    error = float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()) / error if error > 0 else 0.0


# Whether judgments belong to the queries that they were joined with: by the words of gold documents, and by what runs find.
#
# Queries with their own judgments are compared with queries with the judgments of another case. If own pairs are not better
# than the others at the level of 5 %, the join is no better than chance. Words show that only where queries and documents use
# the same language: otherwise the few words that both know are in right and wrong documents by chance. So gold documents of
# any case must hold the words of a query together more than words of different queries. A shift is claimed only where the
# judgments of neighbouring cases fit beyond doubt better than the own ones: neighbours are often alike, so that a shifted
# join may well be better than chance.

FEWEST_CASES = 20  # below, chance alone explains too much
MOST_CASES = 600  # whose queries are compared with all of their judgments: of more, the first and the last
MOST_JUDGED = 300  # cases that runs are judged on again and again
LEVEL = 0.05
DRAWS = 1999
ROTATIONS = 19  # better than all of them is better than chance at 5 %
DEPTH = 10
FEWEST_KNOWN = 0.5  # share of queries that have a word with any gold document in common
MORE_FOUND, TIMES_FOUND = 10, 2  # how much more a run must find with shifted judgments
SEED = 7


@dataclass(frozen=True, eq=False)
class QueryFitMatrix:
    """How well every query fits the judgments of every case."""

    values: Floats  # a row per query, a column per case
    rows: tuple[int, ...] = ()  # of the suite

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
        """How well each query fits the judgments of the case ``shift`` later."""
        fits, count = np.full(len(self.values), np.nan), len(self.values)
        rows = np.arange(max(-shift, 0), min(count - shift, count))
        fits[rows] = self.values[rows, rows + shift]
        return fits

    @cached_property
    def best_shift(self) -> Shift | None:
        """The shift that makes judgments fit, if one does beyond doubt."""
        return best_shift(len(self.values), self.fit)


@check(FindingKind(
    "shifted-judgments", "error", "Judgments that fit the queries of neighbouring cases, and not those of their own.",
    "Every score is about the wrong query: the ids of queries and judgments are shifted against each other.",
    "Number queries and judgments alike (often one of both counts from 0 and the other from 1).",
), FindingKind("judgments-at-chance", "warning", "Judgments that fit their own queries no better than those of other cases.",
    "Ids of queries and judgments may not belong together; every score is then noise. Or queries say in other words, or in "
    "another language, what their targets are about: that looks the same.",
    "Read a few cases with their targets; if they do not belong together, join queries and judgments again.",
), theme=CORPUS, after="symbols-outside-patterns")  # fmt: skip
@once_per_subject
@once_per_subject
def judgments_of_other_queries(subject: Subject) -> list[Finding]:
    return [finding(code, message) for code, message in _join_problems(subject)]


def _join_problems(subject: Subject) -> Iterator[tuple[str, str]]:
    """What words and runs say together: where one of them shows that the join is right, it is."""
    rows = _rows(subject)
    if len(rows) < FEWEST_CASES:
        return
    words = JoinedWords.of(subject, rows)
    by_words = None if words is None else words.fits
    shift = None if by_words is None else by_words.best_shift
    p = by_words.p_of(by_words.own) if by_words is not None and shift is None else None
    if shift is None and p is not None and p <= LEVEL:
        return
    by_runs = _RunFits.of(subject) if shift is None else None
    step = by_runs.best_shift if by_runs is not None else None
    if shift is not None or step is not None:
        distance, part, ids = shift.step if shift is not None else step or 0, "", subject.suite.table.ids
        if shift is not None and words is not None and not shift.whole:
            part = f" from case {ids[words.rows[shift.first]]} to {ids[words.rows[shift.end - 1]]}"
        sentence = f"queries{part} fit the judgments of the case that comes {step_text(distance)}, and not their own"
        yield "shifted-judgments", f"{sentence}{_example(subject, by_words, rows, distance)}"
    elif by_runs is None or not by_runs.any_better:
        words_alike, several = words is not None and words.speak_alike, by_runs is not None and len(by_runs.runs) > 1
        alike = "relevant documents have no more words in common with their own query than with queries of other cases"
        runs = "" if by_runs is None else plain_count(len(by_runs.runs), "run")
        reasons = (
            f"{alike} (p = {p:.2g})" if words_alike else "",
            f"{runs}: the first {DEPTH} hits fit the judgments of other cases as well as their own" if runs else "",
        )
        if words_alike or several:
            yield "judgments-at-chance", "; ".join(filter(None, reasons))


def _example(subject: Subject, by_words: QueryFitMatrix | None, rows: Sequence[int], shift: int) -> str:
    """One case, its target and the one that fits its query: by words the clearest, else the first that has both."""
    gold = dict(reversed(list(relevant_targets(subject))))
    pairs = [(row, row + shift) for row in rows if row in gold and row + shift in gold]
    if by_words is not None and by_words.rows:
        at = {row: number for number, row in enumerate(by_words.rows)}
        pairs_in_matrix = [each for each in pairs if each[0] in at and each[1] in at]
        pairs = sorted(pairs_in_matrix, key=lambda each: -by_words.values[at[each[0]], at[each[1]]])
    if not pairs:
        return ""
    (row, other), table = pairs[0], subject.suite.table
    query = "" if table.queries is None else f" ({table.queries[row]})"
    return f": {table.ids[row]!r}{query} has the target {gold[row]!r}, and {gold[other]!r} of {table.ids[other]!r} fits"


def step_text(step: int) -> str:
    """Which case is meant, in words."""
    return f"{plain_count(abs(step), 'case')} {'later' if step > 0 else 'earlier'}"


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
        query_words = [list(dict.fromkeys(tokenize(queries[row] or ""))) for row in usable]
        joined_words = cls(tuple(usable), query_words, [words[row] for row in usable])
        known_share = float((joined_words.fits.values.max(axis=1) > 0).mean())
        return joined_words if known_share >= FEWEST_KNOWN else None

    @cached_property
    def fits(self) -> QueryFitMatrix:
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
        shuffles = ([list(dict.fromkeys(part)) for part in np.split(chance.permutation(words), ends)] for _ in range(ROTATIONS))
        best = _best_fit(queries, self.golds)
        return all(best > _best_fit(each, self.golds) for each in shuffles)


def _best_fit(queries: Sequence[Sequence[str]], golds: Sequence[frozenset[str]]) -> float:
    """How much of a query is in the gold documents that fit it best, on the mean."""
    return float(_overlaps(queries, golds).values.max(axis=1).mean())


def _overlaps(queries: Sequence[Sequence[str]], golds: Sequence[frozenset[str]]) -> QueryFitMatrix:
    holders: dict[str, list[int]] = {}
    query_words = {word for query in queries for word in query}
    for column, gold in enumerate(golds):
        for word in gold & query_words:
            holders.setdefault(word, []).append(column)
    weights = {word: float(np.log(len(golds) / len(columns))) for word, columns in holders.items()}
    values = np.zeros((len(queries), len(golds)))
    for row, query in enumerate(queries):
        total = sum(weights.get(word, 0.0) for word in query)
        for word in query if total > 0 else ():
            values[row, holders.get(word, [])] += weights.get(word, 0.0) / total
    return QueryFitMatrix(values)


@dataclass(frozen=True, eq=False)
class _RunFits:
    """What runs find among their first hits, with their own judgments and with those of other cases."""

    suite: Suite
    runs: tuple[Run, ...]

    @classmethod
    def of(cls, subject: Subject) -> _RunFits | None:
        """None where no run finds anything, whatever the judgments."""
        runs = tuple(cut_run(each.matched.run, DEPTH) for each in subject.scores.values())
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
        return [[self.found(each, run) for each in offsets] for run in self.runs]

    def found(self, shift: int, run: Run) -> int:
        """Relevant documents among the first hits, with the judgments of the case ``shift`` later."""
        return len(_cases_found(self.suite, run, shift))

    @property
    def any_better(self) -> bool:
        """Whether own judgments fit some run better than all others do."""
        return any(own > max(others) for own, others in zip(self.own, self.others, strict=True))

    @property
    def best_shift(self) -> int | None:
        """A shift by which most runs find far more than with their own judgments, and more than with any other."""
        steps = []
        for run, own, others in zip(self.runs, self.own, self.others, strict=True):
            counts = {shift: self.found(shift, run) for shift in SHIFTS}
            best = max(counts, key=counts.__getitem__)
            if counts[best] >= max(TIMES_FOUND * own, own + MORE_FOUND, max(others) + 1):
                steps.append(best)
        step = max(steps, key=steps.count, default=0)
        return step if steps.count(step) > len(self.runs) / 2 else None


def _cases_found(suite: Suite, run: Run, shift: int) -> Ints:
    """The case of every relevant document among the first hits, with the judgments of the case ``shift`` later."""
    suite = replace(suite, judgments=shift_judgments(suite.judgments, shift)) if shift else suite
    hits = match_hits(suite, run).hits
    return hits.case[(hits.rank <= DEPTH) & (hits.grade > 0)]


def shift_judgments(judgments: JudgmentTable, shift: int) -> JudgmentTable:
    """The judgments, each given to the case ``shift`` before its own; only targets, grades and kinds of match are kept."""
    sizes = np.roll(np.diff(judgments.starts), -shift)
    order = np.argsort(np.roll(np.arange(len(sizes)), shift)[judgments.case], kind="stable")
    targets = list(judgments.targets)
    match = None if judgments.match is None else judgments.match[order]
    return JudgmentTable(
        starts_of(sizes.tolist(), len(sizes)), [targets[row] for row in order.tolist()], judgments.grades[order], match
    )


# Runs whose answers belong to the cases before or after them, while the judgments belong to their queries.

CERTAINLY = 6.0  # standard errors from which on a run need not find twice as much: neighbours may share most of their targets


@check(
    FindingKind(
        "shifted-run", "error", "A run whose answers fit the judgments of neighbouring cases, and not those of their own.",
        "Answers were written beside the wrong cases: its score says nothing of the agent.",
        "Join answers with cases by their ids, not by their position, and score the run again.",
    ),
    "shifted-judgments",
    theme=AGENTS,
)  # fmt: skip
def shifted_runs(subject: Subject) -> Iterator[Finding]:
    """Runs that find far more with the judgments of a neighbouring case; if others do as well, the judgments are shifted."""
    suite, ids, half = subject.expanded, subject.expanded.table.ids, MOST_CASES // 2
    if len(suite) < FEWEST_CASES or not subject.scores:
        return
    if len(suite) > MOST_CASES:  # the first and the last
        suite = suite.only({*ids[:half], *ids[-half:]})
        ids = suite.table.ids
    fits = {name: _FoundByShift(suite, cut_run(scores.matched.run, DEPTH)) for name, scores in subject.scores.items()}
    shifts = {name: shift for name, fit in fits.items() if (shift := fit.shift) is not None}
    if not shifts or any(each.code == "shifted-judgments" for each in judgments_of_other_queries(subject)):
        return
    for name, shift in shifts.items():
        part = "answers" if shift.whole else f"answers from case {ids[shift.first]} to {ids[shift.end - 1]}"
        found = f"{fits[name].sum(shift, shift.step)} relevant documents are among the first {DEPTH} hits that way"
        counts = f"{found}, otherwise {fits[name].sum(shift, 0)}"
        sentence = f"{name}: {part} fit the judgments of the case that comes {step_text(shift.step)}: {counts}"
        if sum(fit.gained(shift) for other, fit in fits.items() if other != name) > 0:
            yield finding("shifted-judgments", f"{sentence}; the other runs find more that way too")
            return
        yield finding("shifted-run", sentence, ids[shift.first : shift.end])


class _FoundByShift:
    """Relevant documents among the first hits of each case, with the judgments of the case ``step`` later."""

    def __init__(self, suite: Suite, run: Run) -> None:
        self._suite, self._run = suite, run
        self._counts: dict[int, Floats] = {}

    def __call__(self, step: int) -> Floats:
        if step not in self._counts:
            cases = _cases_found(self._suite, self._run, step)
            counts = np.bincount(cases, minlength=len(self._suite)).astype(np.float64)
            counts[len(counts) - step if step > 0 else 0 : None if step > 0 else -step] = np.nan
            self._counts[step] = counts
        return self._counts[step]

    @property
    def shift(self) -> Shift | None:
        """The one by which this run finds far more."""
        shift = best_shift(len(self._suite), self)
        if shift is None or self.gained(shift) < MORE_FOUND:
            return None
        twice = self.sum(shift, shift.step) >= TIMES_FOUND * self.sum(shift, 0)
        return shift if twice or shift.gain >= CERTAINLY else None

    def sum(self, rows: Shift, step: int) -> int:
        return int(np.nansum(self(step)[rows.first : rows.end]))

    def gained(self, shift: Shift) -> int:
        return self.sum(shift, shift.step) - self.sum(shift, 0)
