"""What to do next, as far as the cases of a report support it. Rules and limits: docs/recommendations.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Literal

import numpy as np

from searchmark.agents.lexical.analyser import NO_STEMMING, detect_language
from searchmark.agents.vectors import INDEXES
from searchmark.errors import shortened
from searchmark.measures.common import ABSTENTION, NORMALISED_GAIN, RECALL, RECIPROCAL_RANK
from searchmark.measures.grammar import Measure
from searchmark.records.answers import EMPTY, ERROR, OK, STATUSES
from searchmark.records.columns import Ints, distinct
from searchmark.records.document import Document
from searchmark.records.provenance import AgentIdentity
from searchmark.reports.cases import CaseArrays, CaseFacts, FactColumns, Marks, arrays_of
from searchmark.reports.failed_cases import failed_marks
from searchmark.reports.outranked import MOST_CASES, NEAR, TEXT, OutrankedCase, ReadCase, ReadDocuments, outranked_cases, read_cases
from searchmark.reports.report import (
    AgentSummary,
    Recommendation,
    Report,
    indexes_of,
    is_control,
    is_exact,
    is_fusion,
    is_normalised,
    is_scored_by_vectors,
    known_measure,
    make_recommendation,
    percent_text,
)
from searchmark.scoring.statistics import binomial_tail, hypergeometric_tail

# Groups of cases, by what the suite says of them: typos, languages, categories.

Rows = dict[str, list[int]]

Column = Sequence[str | None] | None

GroupKind = Literal["typos", "language", "category"]

MOST_WORDS = 3  # a longer label is about more than typos

_WORD = re.compile(r"[^\W\d_]+")

_TYPOS = frozenset({"typo", "typos", "misspelling", "misspellings", "misspelled", "misspelt"})

_NAMED_LANGUAGE = re.compile(r"\s*(?:lang|language|locale)\s*[:=/_-]\s*(\S+)\s*", re.IGNORECASE)

_REGION = re.compile(r"([a-z]{2})[-_][a-z]{2}")


# A tag of two letters is taken for a language only if it is hardly ever anything else: not go, is, it, no, cs, id, or, ts.
_LANGUAGE_CODES = frozenset(
    _WORD.findall("ar bg da de el en es et fa fi fr he hi hu ja ko lt lv nl pl pt ro ru sk sl sr sv th tr uk ur vi zh")
)


_LANGUAGES = frozenset(
    _WORD.findall(
        "arabic bulgarian chinese czech danish dutch english estonian finnish french german greek hebrew hindi hungarian "
        "indonesian italian japanese korean latvian lithuanian norwegian persian polish portuguese romanian russian serbian slovak "
        "slovenian spanish swedish thai turkish ukrainian urdu vietnamese"
    )
)


@dataclass(frozen=True, eq=False)
class CaseGroup:
    """Cases that have something in common, as rows."""

    kind: GroupKind
    name: str
    rows: Ints


@dataclass(frozen=True, eq=False)
class FactTable:
    """What the suite says of its cases: for each category, tag, variation and language the rows of its cases."""

    categories: Rows
    tags: Rows
    variations: Rows
    languages: Rows
    origins: Ints  # a number for each case: those of one origin are one observation, and one without an origin is its own

    @classmethod
    def of(cls, facts: Mapping[str, CaseFacts], ids: Sequence[str]) -> FactTable:
        """The facts in the order of these cases."""
        if isinstance(facts, FactColumns) and facts.table.ids == ids:
            table = facts.table
            return cls.of_columns(table.categories, table.tags, facts.variations, facts.languages, table.origins, len(ids))
        rows = [facts.get(case, _NOTHING) for case in ids]
        single = (tuple(getattr(each, name) for each in rows) for name in ("category", "variation", "language", "origin"))
        category, variation, language, origin = single
        return cls.of_columns(category, tuple(each.tags for each in rows), variation, language, origin, len(ids))

    @classmethod
    def of_columns(
        cls, category: Column, tags: Sequence[Iterable[str]] | None, variation: Column, language: Column, origin: Column, size: int
    ) -> FactTable:
        """The facts of so many cases; a column is None where no case has any."""
        rows_by_tag: Rows = {}
        for row, labels in enumerate(tags or ()):
            for tag in labels:
                rows_by_tag.setdefault(tag, []).append(row)
        return cls(_rows(category), rows_by_tag, _rows(variation), _rows(language), _numbered(origin or (None,) * size))

    def groups(self) -> Iterator[CaseGroup]:
        """All groups that something could be said about, those of one kind together."""
        labels = (self.categories, self.tags, self.variations)
        typos = [rows for rows_by_label in labels for label, rows in rows_by_label.items() if _is_typo(label)]
        if typos:
            yield CaseGroup("typos", "typos", distinct(np.concatenate(typos)))
        yield from _groups("language", self._languages())
        yield from _groups("category", {name: [rows] for name, rows in self.categories.items() if not _has_kind(name)})

    def _languages(self) -> dict[str, list[list[int]]]:
        """The cases of each language, by their field; where no case has one by tags and categories."""
        rows_by_language: dict[str, list[list[int]]] = {}
        if self.languages:
            for name, rows in self.languages.items():
                rows_by_language.setdefault(name.lower(), []).append(rows)
            return rows_by_language
        for rows_by_label in (self.categories, self.tags):
            for label, rows in rows_by_label.items():
                if language := _language(label):
                    rows_by_language.setdefault(language, []).append(rows)
        return rows_by_language


_NOTHING = CaseFacts()


def _rows(column: Column) -> Rows:
    rows: Rows = {}
    for row, value in enumerate(column or ()):
        if value:
            rows.setdefault(value, []).append(row)
    return rows


def _groups(kind: GroupKind, rows: Mapping[str, list[list[int]]]) -> Iterator[CaseGroup]:
    return (CaseGroup(kind, name, distinct(np.concatenate(rows[name]))) for name in sorted(rows))


def _numbered(origins: Sequence[str | None]) -> Ints:
    """A number for every origin, that of its first case; a case without one has its own."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(origin, row) if origin else row for row, origin in enumerate(origins)], np.int64)


@lru_cache(maxsize=4096)
def _is_typo(label: str) -> bool:
    words = _WORD.findall(label.lower())
    return len(words) <= MOST_WORDS and not _TYPOS.isdisjoint(words)


@lru_cache(maxsize=4096)
def _language(label: str) -> str | None:
    """The language that a tag or a category names; None if it names none."""
    match = _NAMED_LANGUAGE.fullmatch(label)
    if match:
        return match[1].lower()
    text = label.strip().lower()
    region = _REGION.fullmatch(text)
    return text if text in _LANGUAGE_CODES or text in _LANGUAGES or (region and region[1] in _LANGUAGE_CODES) else None


def _has_kind(category: str) -> bool:
    """Whether a category is looked at as something else."""
    return _is_typo(category) or _language(category) is not None


# Advice about groups of cases: typos, a language, a category that fails more often than the rest of the suite.
#
# That a group fails "as a group" is a claim. It is made where Fisher's exact test finds it unlikely by chance, adjusted for all
# groups of all runs that were looked at, and where the group is worse by a margin that matters. docs/recommendations.md has the
# simulation.

LEVEL = 0.05

FEWEST_CASES = 5

LEAST_GAP = 0.15

SIMILAR_SHARE = 0.8  # the share of the cases of two groups that are in both

_ADVICE_CODES: dict[GroupKind, str] = {"typos": "typos-fail", "language": "language-fails", "category": "category-fails"}


_ADVICE: dict[GroupKind, str] = {
    "typos": "Make the search tolerant of typos: character n-grams, edit distance, or a corrected query.",
    "language": "Check that analyser and embedding model know this language, and that its documents are indexed.",
    "category": "Look at these cases together: what they have in common is not found, or not ranked first.",
}


@dataclass(frozen=True)
class FailureCount:
    """How many failed, of how many."""

    failed: int
    size: int

    @property
    def share(self) -> float:
        return self.failed / self.size if self.size else 0.0


@dataclass(frozen=True, eq=False)
class PerOrigin:
    """How many cases of each of some origins failed, of how many."""

    failed: Ints
    sizes: Ints

    def plus(self, other: PerOrigin) -> PerOrigin:
        return PerOrigin(self.failed + other.failed, self.sizes + other.sizes)


@dataclass(frozen=True, eq=False)
class AnsweredCases:
    """The cases of a run that were answered, also with nothing, and can be judged: which of them failed.

    A case that ended in an error says nothing of what the search does with a typo. Cases of one origin are one observation,
    which failed if more than half of them did.
    """

    run: str
    cases: CaseArrays
    origins: Ints
    measured: Marks
    failed: Marks

    @classmethod
    def of(cls, run: str, cases: CaseArrays, origins: Ints) -> AnsweredCases:
        measured = np.isin(cases.status, (OK, EMPTY)) & (~cases.unanswerable | ~np.isnan(cases.column(ABSTENTION.name)))
        return cls(run, cases, origins, measured, failed_marks(cases) & measured)

    def count(self, rows: Ints) -> tuple[FailureCount, FailureCount]:
        """The cases in some rows, and all others."""
        size, fails = int(self.measured[rows].sum()), int(self.failed[rows].sum())
        return FailureCount(fails, size), FailureCount(int(self.failed.sum()) - fails, int(self.measured.sum()) - size)

    def observed(self, rows: Ints) -> tuple[FailureCount, FailureCount]:
        """The same in observations; an origin with cases on both sides is one on each."""
        inside, beside = self.by_origin(rows)
        whole, within = _observations(self._origins), _observations(inside.plus(beside))
        rest = _observations(beside)
        return _observations(inside), FailureCount(whole.failed - within.failed + rest.failed, whole.size - within.size + rest.size)

    def by_origin(self, rows: Ints) -> tuple[PerOrigin, PerOrigin]:
        """For each origin of some cases how many of these failed, of how many, and the same of its other cases."""
        rows = rows[self.measured[rows]]
        origins, which, sizes = np.unique(self.origins[rows], return_inverse=True, return_counts=True)
        inside = PerOrigin(_bincount(which[self.failed[rows]], len(origins)), sizes.astype(np.int64))
        whole = self._origins
        return inside, PerOrigin(whole.failed[origins] - inside.failed, whole.sizes[origins] - inside.sizes)

    @cached_property
    def _origins(self) -> PerOrigin:
        size = len(self.measured)
        return PerOrigin(_bincount(self.origins[self.failed], size), _bincount(self.origins[self.measured], size))


def _bincount(numbers: Ints, size: int) -> Ints:
    return np.bincount(numbers, minlength=size).astype(np.int64)


def _observations(origins: PerOrigin) -> FailureCount:
    return FailureCount(int((2 * origins.failed > origins.sizes).sum()), int((origins.sizes > 0).sum()))


def group_advice(runs: Sequence[AnsweredCases], facts: FactTable) -> Iterator[Recommendation]:
    """What is said of every group that clearly fails more often than the others; groups of nearly the same cases are one."""
    groups = [group for group in facts.groups() if len(group.rows) >= FEWEST_CASES]
    candidates = [_GroupInRun(run, group, _typo_pairs(run, group)) for run in runs for group in groups if _can_tell(run, group)]
    tests = len(candidates) + sum(each.twins is not None for each in candidates)
    for run in runs:
        failing = (each for each in candidates if each.run is run and each.fails(LEVEL / tests))
        yield from (_recommend_for_group(*alike) for alike in _similar_groups(failing))


@dataclass(frozen=True, eq=False)
class _GroupInRun:
    """A group in one run, and its cases beside those of the same origin where it is one of typos."""

    run: AnsweredCases
    group: CaseGroup
    twins: FailureCount | None

    def fails(self, level: float) -> bool:
        return _fails_as_a_group(self.run, self.group, level) or _fails_beside_its_twins(self.twins, level)

    @cached_property
    def rows(self) -> Ints:
        """Its cases that can be judged."""
        return self.group.rows[self.run.measured[self.group.rows]]

    def common(self, other: _GroupInRun) -> int:
        return len(np.intersect1d(self.rows, other.rows, assume_unique=True))

    def is_like(self, other: _GroupInRun) -> bool:
        """Whether nearly the same cases are in both, so that these do not tell which of the two it is."""
        common = self.common(other)
        return common >= SIMILAR_SHARE * (len(self.rows) + len(other.rows) - common)


def _similar_groups(groups: Iterable[_GroupInRun]) -> list[list[_GroupInRun]]:
    """Groups of nearly the same cases together, under the first of them."""
    alike: list[list[_GroupInRun]] = []
    for group in groups:
        same = next((each for each in alike if each[0].is_like(group)), None)
        if same is None:
            alike.append([group])
        else:
            same.append(group)
    return alike


def _can_tell(run: AnsweredCases, group: CaseGroup) -> bool:
    return all(side.size >= FEWEST_CASES for side in run.observed(group.rows))


def _fails_as_a_group(run: AnsweredCases, group: CaseGroup, level: float) -> bool:
    inside, outside = run.observed(group.rows)
    if inside.share - outside.share < LEAST_GAP:
        return False
    total, failures = inside.size + outside.size, inside.failed + outside.failed
    return hypergeometric_tail(inside.failed, inside.size, failures, total) <= level


def _typo_pairs(run: AnsweredCases, group: CaseGroup) -> FailureCount | None:
    """Cases with a typo beside those of the same origin without: in how many pairs the typo fails more, of how many that differ."""
    if group.kind != "typos":
        return None
    variant, original = run.by_origin(group.rows)
    paired = original.sizes > 0
    gaps = variant.failed[paired] * original.sizes[paired] - original.failed[paired] * variant.sizes[paired]
    return FailureCount(int((gaps > 0).sum()), int((gaps != 0).sum())) if len(gaps) else None


def _fails_beside_its_twins(twins: FailureCount | None, level: float) -> bool:
    return twins is not None and twins.failed >= FEWEST_CASES and binomial_tail(twins.failed, twins.size, 0.5) <= level


def _recommend_for_group(failing: _GroupInRun, *others: _GroupInRun) -> Recommendation:
    """What is said of one group, which has nearly the same cases as some others."""
    run, group, twins = failing.run, failing.group, failing.twins
    inside, outside = run.count(group.rows)
    observation = (
        f"{inside.failed} of {inside.size} cases {_group_name(group)} failed ({percent_text(inside.share)}), "
        f"and {outside.failed} of the {outside.size} others ({percent_text(outside.share)})"
    )
    if twins is not None and twins.size:
        observation += f"; of {twins.size} origins that differ with and without the typo, {twins.failed} fail more often with it"
    if others:
        shares = (f"{failing.common(each)} are {_group_name(each.group)}" for each in others)
        observation += f"; of these {inside.size}, {' and '.join(shares)}"
    marked = np.zeros(len(run.measured), bool)
    marked[group.rows] = True
    marked &= run.failed
    advice = _advice([group.kind, *(each.group.kind for each in others)])
    return make_recommendation(_ADVICE_CODES[group.kind], run.run, observation, advice, run.cases.named(marked), int(marked.sum()))


def _group_name(group: CaseGroup) -> str:
    words = {"typos": "with typos", "language": f"in the language {group.name!r}", "category": f"of the category {group.name!r}"}
    return words[group.kind]


def _advice(kinds: Sequence[GroupKind]) -> str:
    """What to do about a group; where others have the same cases, first to find out which of them it is."""
    if len(kinds) == 1:
        return _ADVICE[kinds[0]]
    causes = dict.fromkeys(_ADVICE[kind] for kind in kinds if kind != "category")
    return " ".join(filter(None, ("Add cases that are only one of these, to tell which of them it is.", " Or: ".join(causes))))


# Advice about what the answers of runs show: targets that never come, a poor order of good hits, scores that hardly differ.

RARE = 0.05  # a share of the cases that is not worth a word

GOOD_RECALL = 0.8

POOR_ORDER = 0.5

NARROW = 0.03

MOSTLY = 0.8

WORD_RULES = 2  # that are tried on the words of a run's cases

FEWEST_FAILURES = 3

LONGEST_REASON = 240


def is_clearly_frequent(count: int, total: int, tests: int = 1, usual: float = RARE) -> bool:
    """Whether a count is more than a rare event, or more than is usual, among so many cases, and not by chance."""
    return count >= FEWEST_CASES and binomial_tail(count, total, max(RARE, usual)) <= LEVEL / tests


def never_found(runs: Sequence[AnsweredCases], rel: int, missing: int) -> Iterator[Recommendation]:
    """Targets that no run returned though it could have, and those that did not exist; ``missing`` are not in the corpus."""
    relevant = _wanted_cases(runs[0].cases, rel)
    nowhere, absent = relevant.copy(), np.zeros(len(relevant), bool)
    for run in runs:
        case = run.cases.case_of_target
        nowhere &= (run.measured & ~_may_be_cut(run))[case] & (run.cases.ranks == 0)
        absent |= run.measured[case] & run.cases.unreachable
    name = runs[0].run if len(runs) == 1 else None
    yield from _unreachable(name, runs[0].cases, relevant & absent)
    yield from _not_returned(name, runs, nowhere & ~absent, missing)


def _wanted_cases(cases: CaseArrays, rel: int) -> Marks:
    return cases.grades >= rel


def _unreachable(name: str | None, cases: CaseArrays, absent: Marks) -> Iterator[Recommendation]:
    affected = _with_targets(cases, absent)
    count = int(affected.sum())
    if count:
        observation = f"{int(absent.sum())} relevant targets of {_cases(count)} did not exist where they were searched"
        advice = "Correct these judgments or search the corpus that they belong to: no search can find these targets."
        yield make_recommendation("targets-unreachable", name, observation, advice, cases.named(affected), count)


def _not_returned(name: str | None, runs: Sequence[AnsweredCases], nowhere: Marks, missing: int) -> Iterator[Recommendation]:
    cases, measured = runs[0].cases, np.logical_and.reduce([run.measured for run in runs])
    affected = _with_targets(cases, nowhere)
    count, total = int(affected.sum()), int((measured & ~cases.unanswerable).sum())
    if not is_clearly_frequent(count, total):
        return
    who = "the answer" if len(runs) == 1 else f"all {len(runs)} answers"
    observation = f"{int(nowhere.sum())} relevant targets in {count} of {total} cases did not come although {who} had room for them"
    if missing:
        observation += f"; {missing} relevant targets of the suite are not in the corpus"
    advice = "Find out what keeps them away: they are not indexed, a filter drops them, or they share no word with the query."
    yield make_recommendation("targets-never-returned", name, observation, advice, cases.named(affected), count)


def _may_be_cut(run: AnsweredCases) -> Marks:
    """The answers of which as many hits are shown as of any: what is missing there may come below, so nothing is known of it."""
    full: Marks = run.cases.shown == run.cases.shown.max(initial=0)
    return full


def _with_targets(cases: CaseArrays, targets: Marks) -> Marks:
    """The cases that have any of these targets."""
    marks: Marks = np.bincount(cases.case_of_target[targets], minlength=len(cases.ids)) > 0
    return marks


def others_succeed(
    runs: Sequence[AnsweredCases], agents: Mapping[str, str], fusing: Collection[str] = ()
) -> Iterator[Recommendation]:
    """Cases in which the agent that succeeds most often fails and another succeeds; ``agents`` names the agent of every run.

    That a better agent succeeds where a worse one fails is no advice: the comparison says so already. ``fusing`` are the runs
    that join the answers of others: they are the result of what would be suggested.
    """
    pairs = [(run, other) for run in runs for other in runs if agents[run.run] != agents[other.run]]
    if pairs:
        best = max(runs, key=lambda run: int((run.measured & ~run.failed).sum()))
        others = [other for one, other in pairs if one is best]
        others = [other for other in others if other.run not in fusing] or others
        other = max(others, key=lambda other: int(_succeeds_alone(other, best).sum()))
        yield from _other_succeeds(best, other, [run for run in runs if run.run in fusing], len(pairs))


def _succeeds_alone(one: AnsweredCases, other: AnsweredCases) -> Marks:
    """Where one succeeds and the other fails."""
    return one.measured & ~one.failed & other.failed


def _other_succeeds(
    run: AnsweredCases, other: AnsweredCases, fusions: Sequence[AnsweredCases], tests: int
) -> Iterator[Recommendation]:
    rescued, both = _succeeds_alone(other, run), run.measured & other.measured
    count, total = int(rescued.sum()), int(both.sum())
    if is_clearly_frequent(count, total, tests):
        reverse = int(_succeeds_alone(run, other).sum())
        failing = int((run.failed & both).sum())
        observation = (
            f"{other.run} succeeds in {count} of the {failing} cases in which {run.run} fails; the other way round it is {reverse}"
        )
        advice = " ".join(_fusion_sentences(run, other, fusions, tests))
        yield make_recommendation("other-agent-succeeds", run.run, observation, advice, run.cases.named(rescued), count)


def _fusion_sentences(run: AnsweredCases, other: AnsweredCases, fusions: Sequence[AnsweredCases], tests: int) -> Iterator[str]:
    """What fusion could give, where both together reach clearly more cases than the better one, and what it gave."""
    both = run.measured & other.measured
    successes = [int((both & ~each.failed).sum()) for each in (run, other)]
    union, total = int((both & ~(run.failed & other.failed)).sum()), int(both.sum())
    fusion = next((each for each in sorted(fusions, key=lambda each: int(each.failed.sum())) if each not in (run, other)), None)
    more = is_clearly_frequent(union - max(successes), total, tests)
    yield "Try to fuse both (agent hybrid)." if more and not fusions else f"See what {other.run} does with these cases."
    if more:
        yield (
            f"At best, knowing in each case which of the two is right, {union} of {total} cases would succeed; "
            f"the better one alone succeeds in {max(successes)}."
        )
    if fusion is not None:
        common = both & fusion.measured
        yield f"{fusion.run}, which fuses, succeeds in {int((common & ~fusion.failed).sum())} of {int(common.sum())}."


def poor_order(run: AnsweredCases, tests: int) -> Iterator[Recommendation]:
    """Cases in which nearly all targets are found, and ranked low."""
    measures = [each for name in run.cases.names if isinstance(each := known_measure(name), Measure)]
    recalls = [each for each in measures if each.definition is RECALL]
    orders = [each for each in measures if each.definition in (NORMALISED_GAIN, RECIPROCAL_RANK)]
    if not recalls or not orders:
        return
    recall = max(recalls, key=lambda each: each.cutoff or np.inf).name
    order = min(orders, key=lambda each: each.definition is not NORMALISED_GAIN).name
    recall_values, order_values = run.cases.column(recall), run.cases.column(order)
    poor = run.measured & (order_values < POOR_ORDER)
    low_ranked = poor & (recall_values >= GOOD_RECALL)
    count, total = int(low_ranked.sum()), int((run.measured & ~np.isnan(recall_values) & ~np.isnan(order_values)).sum())
    if is_clearly_frequent(count, total, tests) and 2 * count >= int(poor.sum()):
        means = f"{recall} {recall_values[low_ranked].mean():.2f}, {order} {order_values[low_ranked].mean():.2f}"
        observation = f"in {count} of {total} cases nearly all targets are found and ranked low (mean {means})"
        advice = "Rerank the first hits (agent rerank), or tune the weights of the ranking: what is right is there."
        yield make_recommendation("rerank", run.run, observation, advice, run.cases.named(low_ranked), count)


def outranked(run: AnsweredCases, evidence: AdviceEvidence) -> Iterator[Recommendation]:
    """What ranks above the targets of failed cases: the same document often, hits that score nearly the same, or more words."""
    agent, rel = evidence.advised[run.run], evidence.report.suite.rel
    failed = list(run.cases.named(run.failed & np.isin(run.cases.status, OK)))[:MOST_CASES]
    cases = list(outranked_cases(agent.cases, failed, rel))
    if len(cases) < FEWEST_CASES:
        return
    yield from _crowding_document(run, cases)
    by_vectors = run.run in evidence.those(is_scored_by_vectors)
    if by_vectors:
        yield from _near_misses(run, cases)
    read = [] if evidence.read is None else list(read_cases(cases, agent, evidence.read))
    other_language = list(_other_language(run, read))
    yield from other_language
    if not by_vectors and not other_language:
        yield from _words_that_decide(run, read)


def _crowding_document(run: AnsweredCases, cases: Sequence[OutrankedCase]) -> Iterator[Recommendation]:
    rows = {case: row for row, case in enumerate(run.cases.ids)}
    origins: dict[str, dict[int, str]] = {}  # cases of one origin are one observation
    for case in cases:
        for hit in case.above:
            origins.setdefault(hit.id, {}).setdefault(int(run.origins[rows[case.id]]), case.id)
    document = max(origins, key=lambda each: len(origins[each]))
    affected, total = list(origins[document].values()), len({int(run.origins[rows[case.id]]) for case in cases})
    count, by_chance = len(affected), sum(map(len, origins.values())) / total / len(origins)  # if all ranked there as often
    if is_clearly_frequent(count, total, len(origins), usual=min(0.99, 2 * by_chance)):
        observation = f"{document!r}, which is not relevant there, ranks above every target in {count} of {total} failed cases"
        advice = "Look at it: it may be too general, too long or repeated (weigh it down, split it), or right and not judged."
        yield make_recommendation("crowding-document", run.run, observation, advice, affected, count)


def _near_misses(run: AnsweredCases, cases: Sequence[OutrankedCase]) -> Iterator[Recommendation]:
    known = [(case, each) for case in cases if (each := case.nearness) is not None]
    near = [case.id for case, each in known if each < NEAR]
    if is_clearly_frequent(len(near), len(known)) and 2 * len(near) >= len(known):
        observation = (
            f"in {len(near)} of {len(known)} failed cases with a relevant document among the hits, its score is nearly that of the "
            f"first (less than {percent_text(NEAR)} of the way down to the last hit shown)"
        )
        advice = "Rerank the first hits (agent rerank), or try another model: this one hardly tells these documents apart."
        yield make_recommendation("near-misses", run.run, observation, advice, near, len(near))


def _other_language(run: AnsweredCases, cases: Sequence[ReadCase]) -> Iterator[Recommendation]:
    asked = detect_language(Document("", each.case.query) for each in cases)
    written = detect_language(each.wanted for each in cases)
    if asked != written and NO_STEMMING not in (asked, written):
        observation = (
            f"the queries of {len(cases)} failed cases are mostly in {asked.title()}, and the wanted documents in {written.title()}"
        )
        advice = "Search by a model that knows both languages, or translate the queries: words of one do not find the other."
        yield make_recommendation("other-language", run.run, observation, advice, (each.case.id for each in cases), len(cases))


def _words_that_decide(run: AnsweredCases, cases: Sequence[ReadCase]) -> Iterator[Recommendation]:
    without = [each for each in cases if not each.target.all]
    if is_clearly_frequent(len(without), len(cases), WORD_RULES):
        observation = (
            f"in {len(without)} of {len(cases)} failed cases the wanted document has no word of the query: {_example(without[0])}"
        )
        advice = "Add synonyms, or search by meaning as well (agent hybrid): no ranking of words can find these."
        yield make_recommendation("no-common-word", run.run, observation, advice, (each.case.id for each in without), len(without))
    fields = Counter(name for each in cases for name in each.deciding_fields)
    field, count = max(fields.items(), key=lambda each: each[1], default=("", 0))
    if is_clearly_frequent(count, len(cases), WORD_RULES) and 3 * count >= len(cases):
        decided = [each for each in cases if field in each.deciding_fields]
        words = Counter(word for each in decided for word in each.words_ahead(field))
        often = ", ".join(word for word, _ in words.most_common(MOST_WORDS))
        observation = (
            f"in {count} of {len(cases)} failed cases the first hit has more words of the query in its {field} than the wanted "
            f"document (most often: {often}): {_example(decided[0])}"
        )
        weigh = f"Compare the weight of {field} with that of the other fields. " if field != TEXT else ""
        advice = f"{weigh}Add these words or synonyms to the wanted documents, or search by meaning as well (agent hybrid)."
        yield make_recommendation("outranked-by-words", run.run, observation, advice, (each.case.id for each in decided), count)


def _example(each: ReadCase) -> str:
    first = each.title or each.case.winner.id
    return f"{shortened(each.case.query, 60)!r} wants {each.case.target!r} and gets {shortened(first, 60)!r}"


def compressed_scores(run: AnsweredCases, *, normalised: bool) -> Iterator[Recommendation]:
    """Answers of an embedding model in which the first ten hits score nearly the same."""
    scored = run.measured & ~np.isnan(run.cases.narrowness)
    narrow = scored & (np.abs(run.cases.narrowness) < NARROW)
    count, total = int(narrow.sum()), int(scored.sum())
    if total >= 2 * FEWEST_CASES and count >= MOSTLY * total:
        typical = 100 * float(np.median(np.abs(run.cases.narrowness[scored])))
        observation = (
            f"in {count} of {total} answers the last of the first ten hits scores less than {percent_text(NARROW)} below the first "
            f"(median {typical:.2g} %)"
        )
        first = "Check" if normalised else "Normalise the vectors, check"
        advice = f"{first} pooling and prefixes of the model, or try another; set no threshold on such scores."
        yield make_recommendation("scores-compressed", run.run, observation, advice, run.cases.named(narrow), count)


def common_failure(run: str, cases: CaseArrays) -> Iterator[Recommendation]:
    """Errors and time-outs that have one reason in common."""
    reasons = {row: (int(cases.status[row]), shortened(reason, LONGEST_REASON)) for row, reason in cases.failures.items()}
    if not reasons:
        return
    ((status, reason), count), *_ = Counter(reasons.values()).most_common(1)
    if count >= FEWEST_FAILURES and 2 * count >= len(reasons):
        observation = f"{count} of {len(reasons)} cases that failed ended with the same {STATUSES[status]}: {reason}"
        slow = "Make these searches faster or raise --timeout" if status != ERROR else "Fix this first"
        which = (cases.ids[row] for row in sorted(reasons) if reasons[row] == (status, reason))
        yield make_recommendation(
            "common-failure", run, observation, f"{slow}, then ask these cases again with --retry-errors.", which, count
        )


def _cases(count: int) -> str:
    return f"{count} case{'' if count == 1 else 's'}"


# Advice about approximate indexes: what they miss of the true nearest vectors, and which parameter finds more of them.

ENOUGH = 0.95  # of the true neighbours


_ADVICE_FOR_ANY = "Let the index look at more candidates (ef_search, probes) or store more precise vectors"


def missed_neighbours(name: str, agent: AgentSummary, cases: CaseArrays) -> Iterator[Recommendation]:
    """Searches that miss more than a twentieth of the true nearest vectors, where the mean over all of them does so too."""
    ann = next(iter(agent.ann.values()), None)  # that of the largest k
    if ann is None or is_exact(agent) or ann.searches < FEWEST_CASES or ann.recall >= ENOUGH:
        return
    low = cases.ann_recall < ENOUGH
    count = int(low.sum())
    if not count:  # a mean of nothing but 0.95 may be below by rounding
        return
    observation = (
        f"the index found {ann.recall:.1%} of the true nearest {ann.k} vectors (mean of {ann.searches} searches), "
        f"and less than {ENOUGH:.0%} in {count} of them".replace("%", " %")
    )
    advice = f"{_advice_for_index(agent.run.agent)}, and compare with index: exact, which tells whether relevance is lost."
    yield make_recommendation("raise-ann-recall", name, observation, advice, cases.named(low), count)


def _advice_for_index(agent: AgentIdentity | None) -> str:
    indexes = [] if agent is None else list(dict.fromkeys(indexes_of(agent)))
    index = INDEXES.ours(indexes[0]) if len(indexes) == 1 else None
    return _ADVICE_FOR_ANY if index is None else index.if_it_misses or _ADVICE_FOR_ANY


# The rules, in order.


@dataclass(frozen=True, eq=False)
class AdviceEvidence:
    """What rules look at: the cases of every run but controls as arrays, and what the suite says of them."""

    report: Report
    read: ReadDocuments | None = None  # None where the documents are not at hand

    @cached_property
    def advised(self) -> dict[str, AgentSummary]:
        return {name: agent for name, agent in self.report.agents.items() if not is_control(agent)}

    @cached_property
    def cases(self) -> dict[str, CaseArrays]:
        return {name: arrays_of(agent.cases) for name, agent in self.advised.items()}

    @cached_property
    def facts(self) -> FactTable:
        return FactTable.of(self.report.cases, next(iter(self.cases.values())).ids)

    @cached_property
    def runs(self) -> list[AnsweredCases]:
        """Those that can be relied on."""
        names = [name for name, agent in self.advised.items() if agent.status == "ok"]
        return [AnsweredCases.of(name, self.cases[name], self.facts.origins) for name in names]

    @property
    def compared(self) -> list[AnsweredCases]:
        """Those of them that can be compared with another."""
        pairs = [{pair.baseline, pair.candidate} for pair in self.report.pairs if pair.why_untrusted is None]
        return [run for run in self.runs if any(run.run in pair for pair in pairs)]

    @property
    def agents(self) -> dict[str, str]:
        return {name: agent.name for name, agent in self.advised.items()}

    def those(self, kind: Callable[[AgentSummary], object]) -> set[str]:
        """The runs whose agents are of a kind."""
        return {name for name, agent in self.advised.items() if kind(agent)}

    @property
    def missing(self) -> int:
        """Relevant targets that are not in the corpus, where only their number is known."""
        return max(agent.dropped.get("unreachable_targets") or 0 for agent in self.advised.values())


def _scores_of_vectors(evidence: AdviceEvidence) -> Iterator[Iterable[Recommendation]]:
    vectors, normalised_runs = evidence.those(is_scored_by_vectors), evidence.those(is_normalised)
    return (compressed_scores(run, normalised=run.run in normalised_runs) for run in evidence.runs if run.run in vectors)


# In the order in which readers get them: first what must be repaired before anything else can be told.
RULES: tuple[Callable[[AdviceEvidence], Iterable[Recommendation]], ...] = (
    lambda evidence: chain.from_iterable(common_failure(name, cases) for name, cases in evidence.cases.items()),
    lambda evidence: group_advice(evidence.runs, evidence.facts),
    lambda evidence: never_found(evidence.runs, evidence.report.suite.rel, evidence.missing) if evidence.runs else (),
    lambda evidence: chain.from_iterable(outranked(run, evidence) for run in evidence.runs),
    lambda evidence: others_succeed(evidence.compared, evidence.agents, evidence.those(is_fusion)),
    lambda evidence: chain.from_iterable(poor_order(run, len(evidence.runs)) for run in evidence.runs),
    lambda evidence: chain.from_iterable(_scores_of_vectors(evidence)),
    lambda evidence: chain.from_iterable(missed_neighbours(run.run, evidence.advised[run.run], run.cases) for run in evidence.runs),
)


def recommend(report: Report, read: ReadDocuments | None = None) -> tuple[Recommendation, ...]:
    """Every piece of advice that the cases of a report support, and the documents if they can be read."""
    evidence = AdviceEvidence(report, read)
    if not any(len(agent.cases) for agent in evidence.advised.values()):
        return ()
    return tuple(each for rule in RULES for each in rule(evidence))
