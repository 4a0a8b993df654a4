"""Checks of the gold alone: contradictions, repeats, odd grades, cases that no search can win or lose."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from searchmark.audit.check import Subject, check, once_per_subject
from searchmark.measures.grammar import AnyMeasure
from searchmark.records.answers import Answer, Hit
from searchmark.records.columns import Texts, distinct, text_list, texts_at
from searchmark.records.finding import GOLD, Finding, FindingKind, finding
from searchmark.records.matching import nfc, normal_path
from searchmark.records.run import Run
from searchmark.records.sentences import list_first, plain_count, quote_name, three_digits
from searchmark.records.suite import (
    Suite,
    chosen_items,
    repository_of_case,
    repository_state_of_case,
    rows_by_key,
    shared_rows,
    variant_links,
)
from searchmark.scoring.match import match_hits, model_of, ranged_rows, why_no_range
from searchmark.scoring.matches import DESCRIPTIONS, PATH
from searchmark.scoring.scores import Scores, category_name, clusters_of, score, segment_rows
from searchmark.scoring.statistics import FEWEST_CASES, observations

# Queries that are asked twice, and documents that are graded differently for one query.

EXAMPLES = 3

_SEAM = "\0"  # between queries, none of which has it


def fold_query(query: str) -> str:
    """A query without what does not change its meaning: case, spaces, and how letters are encoded."""
    text = query if query.isascii() else normalize("NFKC", query)
    return " ".join(text.casefold().split())


@check(FindingKind(
    "duplicate-queries", "warning", "Cases that ask the same query, whatever its case, spaces and Unicode form.",
    "Each gets the same answer, so a repeated query counts several times in every mean; where the targets differ, no answer "
    "is right in all of them.",
    "Merge them into one case with all targets, or tell them apart in the query.",
), theme=GOLD, quick=True)  # fmt: skip
def duplicate_queries(subject: Subject) -> Iterator[Finding]:
    """Cases that ask the same of the same documents."""
    suite = subject.suite
    groups = repeated_in_subject(subject)
    if not groups:
        return
    queries = suite.table.queries or ()
    cases = sorted(row for group in groups for row in group)
    unlike = sum(len({int(suite.target_keys[row]) for row in group}) > 1 for group in groups)
    examples = list_first([f"{quote_name(queries[group[0]] or '')} in {_names(suite, group)}" for group in groups], EXAMPLES)
    differ = f"; {unlike} of these queries with different targets" if unlike else ""
    message = f"{len(cases)} of {len(suite)} cases repeat {plain_count(len(groups), 'query', 'queries')}: {examples}{differ}"
    yield finding("duplicate-queries", message, (suite.table.ids[row] for row in cases))


@once_per_subject
def repeated_in_subject(subject: Subject) -> list[list[int]]:
    """The repeated cases of the suite."""
    return repeated_cases(subject.suite)


def repeated_cases(suite: Suite) -> list[list[int]]:
    """The cases of each query that is asked more than once in the same surroundings."""
    queries = suite.table.queries or ()
    rows = [row for row, query in enumerate(queries) if query]
    texts = _fold_all([queries[row] or "" for row in rows])
    if len(set(texts)) == len(texts):
        return []
    by_text = _group_rows(zip(rows, texts, strict=True))
    original = {link.row: link.original for link in variant_links(suite.table)}
    groups = (_without_variants(group, original) for group in by_text)
    return [alike for group in groups for alike in _group_rows((row, _surroundings(suite, row)) for row in group)]


def _without_variants(group: list[int], original: Mapping[int, int | None]) -> list[int]:
    """A variant in other letters is meant to be the same query, and one observation with its original."""
    rows = set(group) if original else set()
    return [row for row in group if original.get(row) not in rows]


def _fold_all(queries: list[str]) -> list[str]:
    """Every query folded: all of them in one text, several times as fast as one by one."""
    text = f" {_SEAM} ".join(queries)
    if text.count(_SEAM) != len(queries) - 1:
        return list(map(fold_query, queries))
    return [each.strip() for each in fold_query(text).split(_SEAM)]


def _group_rows(row_keys: Iterable[tuple[int, object]]) -> list[list[int]]:
    """The rows of each key that has several."""
    groups: dict[object, list[int]] = {}
    for row, key in row_keys:
        groups.setdefault(key, []).append(row)
    return [rows for rows in groups.values() if len(rows) > 1]


def _surroundings(suite: Suite, row: int) -> tuple[object, ...]:
    """What else decides on the answer to a query: its own documents or request, or the state of a repository."""
    table = suite.table
    fields = {} if table.fields is None else table.fields[row]
    documents = () if table.documents is None else tuple((each.id, each.text) for each in table.documents[row])
    request = None if table.requests is None else json.dumps(table.requests[row], sort_keys=True, default=str)
    return documents, request, repository_state_of_case(fields)


@check(FindingKind(
    "contradictory-grades", "error", "One document with two grades for one query.",
    "No ranking can be right in both: one of the two judgments is wrong, and what it scores depends on which one is met.",
    "Decide on one grade; where queries are duplicates, keep one case.",
), theme=GOLD, quick=True)  # fmt: skip
def contradictory_grades(subject: Subject) -> Iterator[Finding]:
    """Documents that one query grades differently, in one case or in several that ask the same."""
    suite = subject.suite
    grades = suite.judgments.grades[suite.judgments.grades >= 0]
    if not len(grades) or grades.min() == grades.max():
        return
    contradictions = [
        rows
        for rows in _judged_twice(suite, repeated_in_subject(subject))
        if len({int(suite.judgments.grades[row]) for row in rows}) > 1
    ]
    if not contradictions:
        return
    cases = sorted({int(suite.judgments.case[row]) for rows in contradictions for row in rows})
    examples = list_first([_contradiction(suite, rows) for rows in contradictions], EXAMPLES)
    what = plain_count(len(contradictions), "document has", "documents have")
    yield finding(
        "contradictory-grades", f"{what} several grades for one query: {examples}", (suite.table.ids[row] for row in cases)
    )


def _judged_twice(suite: Suite, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """The judgments of each document that is judged more than once for a query; a grade below 0 is no judgment."""
    judgments, units = suite.judgments, np.arange(len(suite))
    named = judgments.grades >= 0
    if judgments.match is not None:
        named &= judgments.match <= PATH
    names = _names_of_targets(suite)
    hashes = (
        np.fromiter(map(hash, names), np.int64, len(names)).view(np.uint64) if isinstance(names, list) else names.hash().to_numpy()
    )
    doubtful = _cases_with_equals(hashes, judgments.starts)
    for group in groups:
        units[group] = group[0]
        doubtful[group] = True
    rows = np.flatnonzero(named & doubtful[judgments.case]) if doubtful.any() else np.zeros(0, np.int64)
    unit = units[judgments.case[rows]]
    # One key for unit and target: the multiplier, 2^64 by the golden ratio, spreads small numbers over all bits.
    keys = hashes[rows] + unit.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    sorted_keys = np.sort(keys)
    repeated_keys = sorted_keys[1:][sorted_keys[1:] == sorted_keys[:-1]]  # two documents may have one key, if hardly ever
    again = np.isin(keys, repeated_keys)
    exact_keys = zip(unit[again].tolist(), texts_at(names, rows[again]), strict=True)
    return _group_rows(zip(rows[again].tolist(), exact_keys, strict=True))


def _names_of_targets(suite: Suite) -> Texts:
    """What each judgment is about: an id and a path, however it is spelt, name the same document; patterns name none."""
    targets, match = suite.judgments.targets, suite.judgments.match
    if match is None:
        return targets if _is_ascii(targets) else list(map(nfc, text_list(targets)))
    return [
        (normal_path(target) if how == PATH else nfc(target)) if how <= PATH else ""
        for target, how in zip(text_list(targets), match.tolist(), strict=True)
    ]


def _is_ascii(texts: Texts) -> bool:
    if isinstance(texts, list):
        return "".join(texts).isascii()
    return bool(texts.str.len_bytes().sum() == texts.str.len_chars().sum())


def _cases_with_equals(hashes: NDArray[np.uint64], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Cases with two judgments of one hash; those of one length are sorted side by side, which is far faster than all in one."""
    lengths, with_equals = np.diff(starts), np.zeros(len(starts) - 1, bool)
    for length in distinct(lengths[lengths > 1]).tolist():
        cases = np.flatnonzero(lengths == length)
        sorted_hashes = np.sort(hashes[starts[cases][:, None] + np.arange(length)], axis=1)
        with_equals[cases] = (sorted_hashes[:, 1:] == sorted_hashes[:, :-1]).any(axis=1)
    return with_equals


def _contradiction(suite: Suite, rows: Sequence[int]) -> str:
    judgments, ids = suite.judgments, suite.table.ids
    grades = " and ".join(f"{judgments.grades[row]} in {quote_name(ids[judgments.case[row]])}" for row in rows[:EXAMPLES])
    return f"{quote_name(judgments.targets[rows[0]])} has {grades}"


def _names(suite: Suite, rows: Sequence[int]) -> str:
    return " and ".join(quote_name(suite.table.ids[row]) for row in rows[:EXAMPLES]) + (
        " and others" if len(rows) > EXAMPLES else ""
    )


# Queries that are nearly the same, found by an inverted index over their rarest words.

# Two sets of words are near duplicates from this share of common words on (Jaccard). Queries of fewer words change their
# meaning with each of them.
NEAR, FEWEST_WORDS = 0.9, 4

MOST_PAIRS = 500_000  # compared at most

_WORD = re.compile(r"\w+")


@check(FindingKind(
    "near-duplicate-queries", "note", "Pairs of queries that share nine tenths of their words and have no common origin.",
    "They ask nearly the same and stand or fall together, so they tell less than two queries.",
    "Give them one origin, so that they count as one observation, or drop one of them.",
), theme=GOLD)  # fmt: skip
def near_duplicate_queries(subject: Subject) -> Iterator[Finding]:
    """Pairs of cases without a common origin whose queries have nearly the same words."""
    suite = subject.suite
    texts = {row: fold_query(query) for row, query in enumerate(suite.table.queries or ()) if query}
    words = {row: frozenset(_WORD.findall(text)) for row, text in texts.items()}
    rows = [row for row, own in words.items() if len(own) >= FEWEST_WORDS]
    comparisons, pairs = 0, list[tuple[int, int]]()
    for first, second in _candidates([(row, words[row]) for row in rows]):
        comparisons += 1
        if comparisons > MOST_PAIRS:
            break
        if _is_near(words[first], words[second]) and texts[first] != texts[second] and not _of_one_origin(suite, first, second):
            pairs.append((first, second))
    if pairs:
        yield _near_queries_finding(suite, pairs, partly=comparisons > MOST_PAIRS)


def _near_queries_finding(suite: Suite, pairs: Sequence[tuple[int, int]], *, partly: bool) -> Finding:
    queries, ids = suite.table.queries or (), suite.table.ids
    cases = sorted({row for pair in pairs for row in pair})
    examples = list_first(
        [f"{quote_name(queries[one] or '')} ({ids[one]}) and {quote_name(queries[two] or '')} ({ids[two]})" for one, two in pairs],
        EXAMPLES,
    )
    part = f" (the first {MOST_PAIRS:,} pairs with a rare word in common were compared)" if partly else ""
    message = f"{plain_count(len(pairs), 'pair')} of nearly equal queries, of {len(cases)} cases: {examples}{part}"
    return finding("near-duplicate-queries", message, (ids[row] for row in cases))


def _candidates(queries: Sequence[tuple[int, frozenset[str]]]) -> Iterator[tuple[int, int]]:
    """Every pair that can be near: such sets share one of the rarest words of each (prefix filter: Chaudhuri et al., 2006)."""
    frequency = Counter(word for _, words in queries for word in words)
    index: dict[str, list[tuple[int, int]]] = {}
    for row, words in sorted(queries, key=lambda each: (len(each[1]), each[0])):
        rarest = sorted(words, key=lambda word: (frequency[word], word))[: len(words) - ceil(NEAR * len(words)) + 1]
        # The index holds shorter queries only: those that are too short for this one cannot be near it.
        others = {other for word in rarest for other, size in index.get(word, ()) if size >= NEAR * len(words)}
        yield from ((min(row, other), max(row, other)) for other in sorted(others))
        for word in rarest:
            index.setdefault(word, []).append((row, len(words)))


def _is_near(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two queries share nearly all words; where they differ in a number they ask for different things."""
    common = len(one & other)
    if common < NEAR * (len(one) + len(other) - common):
        return False
    return not any(letter.isdigit() for word in one ^ other for letter in word)


def _of_one_origin(suite: Suite, first: int, second: int) -> bool:
    origins = suite.table.origins
    return origins is not None and origins[first] is not None and origins[first] == origins[second]


# Many queries with the same targets.

SHOWN = 3


@check(FindingKind(
    "shared-targets", "note", "Cases without an origin that have the same relevant targets as another.",
    "They stand or fall with the same documents, so intervals, tests and gates count them as one observation.",
    "Nothing has to be done; for narrower intervals add cases with other targets. Name an origin for each case to group them "
    "differently.",
), theme=GOLD, quick=True)  # fmt: skip
def shared_targets(subject: Subject) -> Iterator[Finding]:
    """Cases that are one observation because they have the same targets, and what is left of their number."""
    suite = subject.suite
    sharing_rows = shared_rows(suite.target_keys, suite.table.origins)
    groups = sorted(rows_by_key(suite.target_keys, sharing_rows), key=len, reverse=True)
    if not groups:
        return
    cases = sorted(row for group in groups for row in group)
    independent = observations(np.zeros((len(suite), 1)), suite.clusters).effective_size
    largest = list_first([quote_name(suite.table.ids[row]) for row in groups[0]], SHOWN)
    common = f"{len(cases)} of {len(suite)} cases share their relevant targets with another, in {plain_count(len(groups), 'group')}"
    message = (
        f"{common}, the largest of {len(groups[0])} cases ({largest}); all cases are worth {three_digits(independent)} observations"
    )
    yield finding("shared-targets", message, (suite.table.ids[row] for row in cases))


# Cases that no search can win, and cases that none can lose.

Marks = NDArray[np.bool_]


@check(FindingKind(
    "nothing-judged", "error", "No case has a judgment, and none is marked as unanswerable.",
    "Nothing was measured: a score of 0 says nothing of the search.",
    "Judge the cases, or name the judgments that belong to these queries.",
    spoils=True,
), FindingKind(
    "cases-without-judgments", "warning", "Cases without any judgment that are not marked as unanswerable.",
    "They can only score 0, as if every search failed on them.",
    "Judge them, remove them, or mark them as unanswerable.",
), theme=GOLD, quick=True)  # fmt: skip
def without_judgments(subject: Subject) -> Iterator[Finding]:
    """Cases without any judgment that are not marked as unanswerable. If all cases are like that, nothing is measured."""
    suite = subject.suite
    bare = _answerable(suite) & (np.diff(suite.judgments.starts) == 0)
    if len(suite) and bare.all():
        yield finding("nothing-judged", f"none of {plain_count(len(suite), 'case')} has a judgment", _ids(suite, bare))
    elif bare.any():
        message = f"cases without any judgment: {int(bare.sum())} of {len(suite)}"
        yield finding("cases-without-judgments", message, _ids(suite, bare))


@check(FindingKind(
    "cases-without-target", "warning", "Cases that are judged, without any relevant target.",
    "Nothing is right in P, R, RR, Success and other measures with a lowest relevant grade, which lowers their means.",
    "Judge more of their documents, remove them, or mark them as unanswerable.",
), theme=GOLD, quick=True)  # fmt: skip
def without_target(subject: Subject) -> Iterator[Finding]:
    """Cases whose judgments hold nothing relevant; lower grades still pay in measures that go by no lowest relevant grade."""
    suite = subject.expanded
    by_grade = _measures_from(subject, suite.defaults.rel)
    lowest = suite.defaults.rel if by_grade or not subject.scores else 1
    judged = np.diff(subject.suite.judgments.starts) > 0
    hollow = _answerable(suite) & judged & (_relevant(suite, lowest) == 0) & ~_described(suite)
    # Patterns that fit nothing have a finding of their own; they may as well fit what is excluded, or graded 0 by another one.
    hollow &= (_relevant(subject.suite, lowest) == 0) | _patterns_fit(subject)
    if suite.table.order_only is not None:
        hollow &= ~suite.table.order_only  # such cases say nothing of what is relevant
    if hollow.any():
        lower_grades = _relevant(suite, 1)[hollow].any()
        names = ", ".join(by_grade) or "measures that count from this grade"
        zero = f", which can only score 0 in {names}" if lower_grades else ""
        message = f"cases without a target of grade {lowest} or higher{zero}: {int(hollow.sum())} of {len(suite)}"
        yield finding("cases-without-target", message, _ids(suite, hollow))


def _patterns_fit(subject: Subject) -> NDArray[np.bool_]:
    """Cases whose patterns mean any document, by judgments that expanding them has added."""
    judgments = subject.suite.judgments
    named_counts = np.bincount(judgments.case[~judgments.described], minlength=len(subject.suite))
    return np.asarray(np.diff(subject.expanded.judgments.starts) > named_counts)


def _measures_from(subject: Subject, grade: int) -> list[str]:
    """The measures of the runs in which no lower grade pays."""
    measures = {each.name: each for scores in subject.scores.values() for each in scores.measures}
    return [name for name, each in measures.items() if all(int(part.options.get("rel", 0)) >= grade for part in each.parts)]


@check(FindingKind(
    "all-documents-relevant", "warning", "Cases with documents of their own, all of which are relevant.",
    "Any order of them is right: such a case cannot fail, and only raises the mean.",
    "Add documents that should not be found.",
), theme=GOLD, quick=True)  # fmt: skip
def all_documents_relevant(subject: Subject) -> Iterator[Finding]:
    """Cases with documents of their own, all relevant and of one grade and rank: any ranking of them is perfect."""
    suite = subject.suite
    if suite.table.documents is None:
        return
    flat = np.zeros(len(suite), bool)
    for row, documents in enumerate(suite.table.documents):
        flat[row] = bool(documents) and _any_order_is_right(suite, row, {each.id for each in documents})
    if flat.any():
        with_own = sum(map(bool, suite.table.documents))
        message = f"{plain_count(int(flat.sum()), 'case')} of {with_own} with documents of their own: every document is relevant"
        yield finding("all-documents-relevant", message, _ids(suite, flat))


def _any_order_is_right(suite: Suite, row: int, documents: set[str]) -> bool:
    start, end = suite.judgments.starts[row : row + 2].tolist()
    judgments = list(suite.judgments.rows(start, end))
    relevant = [each for each in judgments if each.grade >= suite.defaults.rel and each.match in ("id", "path")]
    alike = len({(each.grade, each.rank) for each in relevant}) == 1
    return alike and documents <= {each.target for each in relevant}


def _answerable(suite: Suite) -> Marks:
    unanswerable = suite.table.unanswerable
    return np.ones(len(suite), bool) if unanswerable is None else ~unanswerable


def _relevant(suite: Suite, lowest: int) -> NDArray[np.int64]:
    """How many judgments of each case have at least this grade."""
    return np.bincount(suite.judgments.case[suite.judgments.grades >= lowest], minlength=len(suite))


def _described(suite: Suite) -> Marks:
    """Cases with a pattern: what it matches is not known."""
    match = suite.judgments.match
    if match is None:
        return np.zeros(len(suite), bool)
    return np.bincount(suite.judgments.case[np.isin(match, DESCRIPTIONS)], minlength=len(suite)) > 0


def _ids(suite: Suite, marks: Marks) -> Iterator[str]:
    return (suite.table.ids[row] for row in np.flatnonzero(marks).tolist())


# Grades that do not belong to the scale of the others.

Oddity = tuple[NDArray[np.bool_], str]  # the judgments, and the sentence about them

LOWEST_OF_TREC = -2  # spam in the web tracks; -1 is pooled and not judged

HIGHEST_LABEL = 3  # exact, good, partial, none


# A grade that is as many times the next lower one and given to at most this share of what is relevant is taken for a slip:
# 22 for 2, 10 for 1. No scale in use has such a gap (the widest, 0 1 3 7 of exponential gains, doubles).
FAR_TIMES, FAR_SHARE = 3, 0.01


# With exponential gains one document of grade 11 outweighs a thousand of grade 1.
HIGHEST_EXPONENT = 10


@check(FindingKind(
    "grades-outside-scale", "warning", "Grades that do not belong to the scale of the others, or weigh out all of them.",
    "A mistyped grade rules the ideal ranking of its case, and a grade below 0 counts as not judged, not as irrelevant.",
    "Correct the grades; bring ratings to a scale such as 0 to 3.",
), theme=GOLD, quick=True)  # fmt: skip
def grade_scale(subject: Subject) -> Iterator[Finding]:
    """What is wrong with the grades, in one finding."""
    suite = subject.suite
    odd = [each for each in (_too_low(suite), _too_high(suite)) if each is not None]
    if odd:
        rows = distinct(np.concatenate([suite.judgments.case[marks] for marks, _ in odd]))
        message = "; ".join(sentence for _, sentence in odd)
        yield finding("grades-outside-scale", message, (suite.table.ids[row] for row in rows.tolist()))


@check(FindingKind(
    "fractional-gains", "note", "Ratings that are not whole numbers.",
    "nDCG and DCG pay what they say; every other measure looks at the grade, which is the rating rounded up.",
    "Nothing, where everything above 0 is relevant; else give rel, or ratings in whole numbers.",
), theme=GOLD, quick=True)  # fmt: skip
def fractional_gains(subject: Subject) -> Iterator[Finding]:
    """Ratings that are not whole, which measures of gain and all others see differently."""
    judgments, ids = subject.suite.judgments, subject.suite.table.ids
    if judgments.gains is not None:
        own = judgments.gains != judgments.grades
        many = plain_count(int(own.sum()), "judgment has", "judgments have")
        message = f"{many} a fractional gain: nDCG and DCG pay it, other measures see it rounded up"
        yield finding("fractional-gains", message, (ids[row] for row in distinct(judgments.case[own]).tolist()))


def _too_low(suite: Suite) -> Oddity | None:
    """Grades below those of TREC: a rating of what is bad, which counts as not judged."""
    grades = suite.judgments.grades
    below = grades < LOWEST_OF_TREC
    if not below.any():
        return None
    many = plain_count(int(below.sum()), "judgment has", "judgments have")
    return below, f"{many} a grade below {LOWEST_OF_TREC} (down to {grades.min()}), which counts as not judged"


def _too_high(suite: Suite) -> Oddity | None:
    """Grades above the scale of labels or of exponential gains, or far above all others."""
    grades = suite.judgments.grades
    highest = int(grades.max(initial=0))
    if suite.kind == "labels" and highest > HIGHEST_LABEL:
        above = grades > HIGHEST_LABEL
        many = plain_count(int(above.sum()), "label has", "labels have")
        return above, f"{many} a grade above {HIGHEST_LABEL} (up to {highest}), the highest of their scale"
    if suite.defaults.gain == "exp" and highest > HIGHEST_EXPONENT:
        above = grades > HIGHEST_EXPONENT
        many = plain_count(int(above.sum()), "grade is", "grades are")
        return above, f"{many} above {HIGHEST_EXPONENT} (up to {highest}), and the gain doubles with each"
    return _slip(grades)


def _slip(grades: NDArray[np.int64]) -> Oddity | None:
    """A grade that is rare and far beyond all others, which was probably mistyped."""
    distinct_grades, counts = np.unique(grades[grades > 0], return_counts=True)
    if len(distinct_grades) < 2 or counts[-1] > max(1, FAR_SHARE * counts.sum()):  # noqa: PLR2004  # no other grade
        return None
    *others, far = distinct_grades.tolist()
    if far < FAR_TIMES * others[-1] or far <= HIGHEST_LABEL:
        return None
    times = "once" if counts[-1] == 1 else f"{counts[-1]} times"
    return grades == far, f"the grade {far} is given {times}, and all other relevant grades are {', '.join(map(str, others))}"


# One target or one category that dominates the mean.

# A fifth of the cases, and a tenth of the measure: what one constant answer gets is then what weak searches get. Where each case
# has many targets, one of them pays little, however common it is. Five cases: two of ten may well be chance.
LARGEST_SHARE, HIGHEST_MEAN, FEWEST_CASES_OF_TARGET = 0.2, 0.1, 5

FEWEST_CATEGORIES, MAJORITY = 3, 0.5


@check(FindingKind(
    "dominant-target", "warning", "One target of a fifth of the cases, and of five or more: always answering it gets 0.1.",
    "An agent that always answers it, without reading the query, gets a score that looks like search.",
    "Add cases with other targets, and compare with the agent popular, which always answers the commonest targets.",
), theme=GOLD, quick=True)  # fmt: skip
def dominant_targets(subject: Subject) -> Iterator[Finding]:
    """The commonest target, if many cases share it, with the score of an agent that always answers it."""
    suite = subject.expanded
    rows = _relevant_rows(suite)
    cases = int((np.diff(np.searchsorted(rows, suite.judgments.starts)) > 0).sum())
    fewest = max(FEWEST_CASES_OF_TARGET, LARGEST_SHARE * cases)
    if len(rows) < fewest or _most_often(suite.judgments.targets, rows) < fewest:
        return
    # A path of the same name in another repository is another target.
    repositories = list(map(repository_of_case, suite.table.fields or ({},) * len(suite)))
    of_judgments = [repositories[case] for case in suite.judgments.case[rows].tolist()]
    pairs = list(zip(of_judgments, texts_at(suite.judgments.targets, rows), strict=True))
    (repository, target), times = Counter(pairs).most_common(1)[0]
    if times < fewest:
        return
    with_target = [row for row, pair in zip(rows.tolist(), pairs, strict=True) if pair == (repository, target)]
    of_target = distinct(suite.judgments.case[with_target])
    if subject.primary is None:
        return
    measure = subject.primary.requested
    cases_there = [case for case, each in zip(suite.table.ids, repositories, strict=True) if each == repository]
    mean = _score_of_one_answer(target, cases_there, suite, measure)
    if not mean >= HIGHEST_MEAN:  # nor where it is undefined
        return
    of = "" if len(cases_there) == len(suite) else f" of {quote_name(str(repository))}"
    share = f"{quote_name(target)}{of} is relevant in {len(of_target)} of {cases} cases ({len(of_target) / cases:.0%})"
    message = f"{share}: an agent that answers nothing else, whatever the query, gets {measure.name} {mean:.4f}"
    yield finding("dominant-target", message, (suite.table.ids[row] for row in of_target.tolist()))


def _most_often(targets: Texts, rows: NDArray[np.int64]) -> int:
    """How often the commonest target is there; a column is counted without making texts of it."""
    if isinstance(targets, list):
        return max(Counter(texts_at(targets, rows)).values())
    counts = targets[rows].value_counts()["count"].to_numpy()
    return int(counts.max())


def _relevant_rows(suite: Suite) -> NDArray[np.int64]:
    """The judgments that name something relevant; a case that brings its documents shares none with other cases."""
    judgments = suite.judgments
    relevant = judgments.grades >= suite.defaults.rel
    if judgments.match is not None:
        relevant &= judgments.match <= PATH
    if suite.table.documents is not None:
        own = np.array([bool(documents) for documents in suite.table.documents], bool)
        relevant &= ~own[judgments.case]
    return np.flatnonzero(relevant)


def _score_of_one_answer(target: str, cases: Iterable[str], suite: Suite, measure: AnyMeasure) -> float:
    """The mean over all cases of an agent that answers one target to every query of its repository."""
    answers = [Answer(case, "ok", (Hit(target, 1),)) for case in cases]
    (mean,) = score(match_hits(suite, Run.from_answers("always", answers)), [measure]).means().values()
    return mean


@check(FindingKind(
    "dominant-category", "note", "One category, of three or more, with more than half of the cases.",
    "The mean over all cases is mostly the mean of that category, and hides what becomes of the others.",
    "Read the table by category, or add cases to the others.",
), theme=GOLD)  # fmt: skip
def dominant_categories(subject: Subject) -> Iterator[Finding]:
    """The largest category, if it has more cases than all others together."""
    categories = subject.suite.table.categories or ()
    counts = Counter(category for category in categories if category)
    if len(counts) < FEWEST_CATEGORIES:
        return
    (name, count), *_ = counts.most_common(1)
    if count > MAJORITY * counts.total():
        others = plain_count(len(counts) - 1, "other category", "other categories")
        share = f"{count} of {counts.total()} cases ({count / counts.total():.0%})"
        message = f"{quote_name(name)} has {share}, more than the {others} together"
        ids = subject.suite.table.ids
        yield finding("dominant-category", message, (case for case, each in zip(ids, categories, strict=True) if each == name))


# Categories that a decision table uses although they are too small.


@check(FindingKind(
    "small-decided-categories", "warning", "Categories of a decision table that are worth fewer than ten independent cases.",
    "They get no interval: a rule that needs one stays undecided, and one that goes by the mean decides by a handful of cases.",
    "Add cases to these categories, or let the table decide by the suite as a whole.",
), theme=GOLD, quick=True)  # fmt: skip
def small_decided_categories(subject: Subject) -> Iterator[Finding]:
    """Categories of decision tables with too few independent cases for an interval."""
    suite = subject.suite
    if suite.table.categories is None:
        return
    rows = segment_rows(suite, "category")
    categories = list(dict.fromkeys(_decided_categories(subject, list(rows))))
    sizes = {
        name: observations(np.zeros((len(rows[name]), 1)), clusters_of(suite, rows[name])) for name in categories if name in rows
    }
    small = [name for name, size in sizes.items() if not size.enough]
    if small:
        examples = list_first(
            [f"{quote_name(name)} {_size(len(rows[name]), sizes[name].effective_size)}" for name in small], EXAMPLES
        )
        which = f"{len(small)} of {len(sizes)} categories that a decision table decides by"
        message = f"{which} are worth fewer than {FEWEST_CASES} independent cases: {examples}"
        cases = np.sort(np.concatenate([rows[name] for name in small]))
        yield finding("small-decided-categories", message, (suite.table.ids[row] for row in cases.tolist()))


def _decided_categories(subject: Subject, categories: list[str]) -> Iterator[str]:
    """The categories that rules are about."""
    for table in subject.decisions:
        for rule in table.rules:
            if "all" in rule.categories:
                yield from categories
            else:
                yield from (category_name(subject.suite, name) for name in rule.categories)


def _size(cases: int, independent: float) -> str:
    return f"has {cases}" if independent == cases else f"has {cases}, worth {three_digits(independent)}"


# Notes of the reader of a suite: how it understood a metric, ratings or columns.


@check(FindingKind(
    "reading-note", "note", "How the file of the suite was understood: its own metric, several judges, columns left out.",
    "What a file of another tool means is not always written in it; numbers of that tool may differ for this reason.",
    "Nothing has to be done; for other measures name them with -m.",
), theme=GOLD, quick=True)  # fmt: skip
def reading_notes(subject: Subject) -> Iterator[Finding]:
    """Each note of the reader, unchanged."""
    yield from (finding("reading-note", note) for note in subject.suite.notes)


# Score ranges of another model than that of the run.


@check(FindingKind(
    "ranges-of-another-model", "warning", "Score ranges of an embedding model that the run did not search with.",
    "Scores of two models are on different scales: InRange is undefined for another one, and says nothing without any.",
    "Give score ranges for the model that is searched with.",
), theme=GOLD, quick=True)  # fmt: skip
def ranges_of_another_model(subject: Subject) -> Iterator[Finding]:
    """For each run that says what it searched with: the cases whose ranges are for another model."""
    for name, scores in subject.scores.items() if subject.suite.judgments.has_ranges else ():
        if model_of(scores.matched.run) is not None:
            yield from _of_other_models(name, scores)
        elif (agent := scores.matched.run.provenance.agent) is not None and agent.description:  # else a model may be behind it
            yield from _of_no_model(name, scores)


def _of_other_models(name: str, scores: Scores) -> Iterator[Finding]:
    suite, run = scores.matched.suite, scores.matched.run
    rows = distinct(suite.judgments.case[ranged_rows(suite.judgments)]).tolist()
    reasons = {row: reason for row in rows if (reason := why_no_range(suite, run, row))}
    if reasons:
        message = f"{name}: {next(iter(reasons.values()))}, in {len(reasons)} of {len(rows)} cases with ranges"
        yield finding("ranges-of-another-model", message, (suite.table.ids[row] for row in reasons))


def _of_no_model(name: str, scores: Scores) -> Iterator[Finding]:
    """An agent without any model is still checked against the ranges of the suite."""
    suite = scores.matched.suite
    if suite.model is None or suite.judgments.ranges is None:
        return
    rows = distinct(suite.judgments.case[~np.isnan(suite.judgments.ranges[:, 0])]).tolist()
    message = f"{name}: score ranges of {plain_count(len(rows), 'case')} are for {suite.model}, and the agent names no model"
    yield finding("ranges-of-another-model", message, (suite.table.ids[row] for row in rows))


# Judgments that were chosen because of what they would change, and not drawn at random.


@check(FindingKind(
    "judgments-not-random", "note",
    "Judgments were chosen by `searchmark audit --next` to settle a comparison, and not drawn at random.",
    "They favour documents on which two runs differ, which shows in Judged@k, Bpref and means over judged documents.",
    "Compare the two runs that they were chosen for, and judge a common pool before others are compared with them.",
), theme=GOLD, quick=True, after="decision-hole")  # fmt: skip
def chosen_judgments(subject: Subject) -> Iterator[Finding]:
    """The pairs that the suite has recorded as chosen."""
    items_by_case = chosen_items(subject.suite)
    if items_by_case:
        count, cases = sum(map(len, items_by_case.values())), [case for case in subject.suite.table.ids if case in items_by_case]
        total = len(subject.suite.judgments)
        message = f"{count} of {total} judgments, in {len(cases)} of {len(subject.suite)} cases, were chosen to settle a comparison"
        yield finding("judgments-not-random", message, cases)
