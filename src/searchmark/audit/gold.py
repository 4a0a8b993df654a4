"""Checks of the gold alone: contradictions, repeats, odd grades, cases that no search can win or lose."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import ceil
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from searchmark.audit.check import Subject, check, ids_of, once_per_subject
from searchmark.records.answers import Answer, Hit
from searchmark.records.columns import Texts, distinct, text_list, texts_at
from searchmark.records.finding import GOLD, Finding, FindingKind, finding
from searchmark.records.matching import LEAST_WORDS, nfc, normal_path
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
from searchmark.scoring.scores import category_name, clusters_of, score, segment_rows
from searchmark.scoring.statistics import FEWEST_CASES, Observations, observations

# Queries that are asked twice, and documents that are graded differently for one query.

EXAMPLES = 3
_SEAM = "\0"  # between queries, none of which has it


def fold_query(query: str) -> str:
    """A query without what does not change its meaning: case, spaces, and how letters are encoded."""
    text = query if query.isascii() else normalize("NFKC", query)
    return " ".join(text.casefold().split())


@check(FindingKind("duplicate-queries", "warning", "Cases that ask the same query, whatever its case, spaces and Unicode form.",
    "Each gets the same answer, so a repeated query counts several times in every mean; where the targets differ, no answer "
    "is right in all of them.",
    "Merge them into one case with all targets, or tell them apart in the query.",
), theme=GOLD, quick=True)  # fmt: skip
def duplicate_queries(subject: Subject) -> Iterator[Finding]:
    suite, groups = subject.suite, repeated_in_subject(subject)
    if not groups:
        return
    queries, examples = suite.table.queries or (), []
    cases = sorted(row for group in groups for row in group)
    for group in groups:
        names = " and ".join(quote_name(each) for each in ids_of(suite, group[:EXAMPLES]))
        examples.append(f"{quote_name(queries[group[0]] or '')} in {names}{' and others' if len(group) > EXAMPLES else ''}")
    unlike = sum(len({int(suite.target_keys[row]) for row in group}) > 1 for group in groups)
    differ = f"; {unlike} of these queries with different targets" if unlike else ""
    many = f"{len(cases)} of {len(suite)} cases repeat {plain_count(len(groups), 'query', 'queries')}"
    yield finding("duplicate-queries", f"{many}: {list_first(examples, EXAMPLES)}{differ}", ids_of(suite, cases))


@once_per_subject
def repeated_in_subject(subject: Subject) -> list[list[int]]:
    return repeated_cases(subject.suite)


def repeated_cases(suite: Suite) -> list[list[int]]:
    """The cases of each query that is asked more than once in the same surroundings."""
    queries = suite.table.queries or ()
    rows = [row for row, query in enumerate(queries) if query]
    # All of them in one text are folded several times as fast as one by one.
    text = f" {_SEAM} ".join(queries[row] or "" for row in rows)
    whole = text.count(_SEAM) == len(rows) - 1
    texts = [each.strip() for each in fold_query(text).split(_SEAM)] if whole else [fold_query(queries[row] or "") for row in rows]
    if len(set(texts)) == len(texts):
        return []
    groups = _group_rows(zip(rows, texts, strict=True))
    # A variant in other letters is meant to be the same query, and one observation with its original.
    if original := {link.row: link.original for link in variant_links(suite.table)}:
        groups = [[row for row in group if original.get(row) not in group] for group in groups]
    return [alike for group in groups for alike in _group_rows((row, _surroundings(suite, row)) for row in group)]


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


@check(FindingKind("contradictory-grades", "error", "One document with two grades for one query.",
    "No ranking can be right in both: one of the two judgments is wrong, and what it scores depends on which one is met.",
    "Decide on one grade; where queries are duplicates, keep one case.",
), theme=GOLD, quick=True)  # fmt: skip
def contradictory_grades(subject: Subject) -> Iterator[Finding]:
    suite, judgments = subject.suite, subject.suite.judgments
    grades = judgments.grades[judgments.grades >= 0]
    if not len(grades) or grades.min() == grades.max():
        return
    examples, cases = list[str](), set[int]()
    for rows in _judged_twice(suite, repeated_in_subject(subject)):
        if len({int(judgments.grades[row]) for row in rows}) > 1:
            cases.update(judgments.case[rows].tolist())
            names = ids_of(suite, judgments.case[rows[:EXAMPLES]])
            some = " and ".join(f"{judgments.grades[row]} in {quote_name(name)}" for row, name in zip(rows, names, strict=False))
            examples.append(f"{quote_name(judgments.targets[rows[0]])} has {some}")
    if examples:
        what = plain_count(len(examples), "document has", "documents have")
        message = f"{what} several grades for one query: {list_first(examples, EXAMPLES)}"
        yield finding("contradictory-grades", message, ids_of(suite, sorted(cases)))


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
        if isinstance(targets, list):
            is_ascii = "".join(targets).isascii()
        else:
            is_ascii = bool(targets.str.len_bytes().sum() == targets.str.len_chars().sum())
        return targets if is_ascii else list(map(nfc, text_list(targets)))
    return [
        (normal_path(target) if how == PATH else nfc(target)) if how <= PATH else ""
        for target, how in zip(text_list(targets), match.tolist(), strict=True)
    ]


def _cases_with_equals(hashes: NDArray[np.uint64], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Cases with two judgments of one hash; those of one length are sorted side by side, which is far faster than all in one."""
    lengths, with_equals = np.diff(starts), np.zeros(len(starts) - 1, bool)
    for length in distinct(lengths[lengths > 1]).tolist():
        cases = np.flatnonzero(lengths == length)
        sorted_hashes = np.sort(hashes[starts[cases][:, None] + np.arange(length)], axis=1)
        with_equals[cases] = (sorted_hashes[:, 1:] == sorted_hashes[:, :-1]).any(axis=1)
    return with_equals


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
    suite, ids = subject.suite, subject.suite.table.ids
    queries, origins = suite.table.queries or (), suite.table.origins or (None,) * len(suite)
    texts = {row: fold_query(query) for row, query in enumerate(queries) if query}
    words = {row: frozenset(_WORD.findall(text)) for row, text in texts.items()}
    candidates = _candidates([(row, own) for row, own in words.items() if len(own) >= FEWEST_WORDS])
    pairs = [
        (one, two)
        for one, two in islice(candidates, MOST_PAIRS)
        if _is_near(words[one], words[two]) and texts[one] != texts[two] and (origins[one] is None or origins[one] != origins[two])
    ]
    if pairs:
        partly = next(candidates, None) is not None
        part = f" (the first {MOST_PAIRS:,} pairs with a rare word in common were compared)" if partly else ""
        cases = sorted({row for pair in pairs for row in pair})
        examples = [" and ".join(f"{quote_name(queries[row] or '')} ({ids[row]})" for row in pair) for pair in pairs]
        many = f"{plain_count(len(pairs), 'pair')} of nearly equal queries, of {len(cases)} cases"
        yield finding("near-duplicate-queries", f"{many}: {list_first(examples, EXAMPLES)}{part}", ids_of(suite, cases))


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


# Many queries with the same targets.

SHOWN = 3


@check(FindingKind("shared-targets", "note", "Cases without an origin that have the same relevant targets as another.",
    "They stand or fall with the same documents, so intervals, tests and gates count them as one observation.",
    "Nothing has to be done; for narrower intervals add cases with other targets. Name an origin for each case to group them "
    "differently.",
), theme=GOLD, quick=True)  # fmt: skip
def shared_targets(subject: Subject) -> Iterator[Finding]:
    suite = subject.suite
    sharing_rows = shared_rows(suite.target_keys, suite.table.origins)
    groups = sorted(rows_by_key(suite.target_keys, sharing_rows), key=len, reverse=True)
    if not groups:
        return
    cases = sorted(row for group in groups for row in group)
    worth = three_digits(observations(np.zeros((len(suite), 1)), suite.clusters).effective_size)
    largest = list_first([quote_name(each) for each in ids_of(suite, groups[0])], SHOWN)
    common = f"{len(cases)} of {len(suite)} cases share their relevant targets with another, in {plain_count(len(groups), 'group')}"
    message = f"{common}, the largest of {len(groups[0])} cases ({largest}); all cases are worth {worth} observations"
    yield finding("shared-targets", message, ids_of(suite, cases))


# Cases that no search can win, and cases that none can lose.

Marks = NDArray[np.bool_]


@check(FindingKind("nothing-judged", "error", "No case has a judgment, and none is marked as unanswerable.",
    "Nothing was measured: a score of 0 says nothing of the search.",
    "Judge the cases, or name the judgments that belong to these queries.",
    spoils=True,
), FindingKind("cases-without-judgments", "warning", "Cases without any judgment that are not marked as unanswerable.",
    "They can only score 0, as if every search failed on them.",
    "Judge them, remove them, or mark them as unanswerable.",
), theme=GOLD, quick=True)  # fmt: skip
def without_judgments(subject: Subject) -> Iterator[Finding]:
    suite = subject.suite
    bare = _answerable(suite) & (np.diff(suite.judgments.starts) == 0)
    if len(suite) and bare.all():
        yield finding("nothing-judged", f"none of {plain_count(len(suite), 'case')} has a judgment", ids_of(suite, bare))
    elif bare.any():
        message = f"cases without any judgment: {int(bare.sum())} of {len(suite)}"
        yield finding("cases-without-judgments", message, ids_of(suite, bare))


@check(FindingKind("cases-without-target", "warning", "Cases that are judged, without any relevant target.",
    "Nothing is right in P, R, RR, Success and other measures with a lowest relevant grade, which lowers their means.",
    "Judge more of their documents, remove them, or mark them as unanswerable.",
), theme=GOLD, quick=True)  # fmt: skip
def without_target(subject: Subject) -> Iterator[Finding]:
    """Cases whose judgments hold nothing relevant; lower grades still pay in measures that go by no lowest relevant grade."""
    suite, written, count = subject.expanded, subject.suite.judgments, len(subject.suite)
    measures = {each.name: each for scores in subject.scores.values() for each in scores.measures}
    # Those in which no lower grade pays.
    rel = suite.defaults.rel
    by_grade = [name for name, each in measures.items() if all(int(part.options.get("rel", 0)) >= rel for part in each.parts)]
    lowest = rel if by_grade or not subject.scores else 1
    hollow = _answerable(suite) & (np.diff(written.starts) > 0) & (_relevant(suite, lowest) == 0)
    if suite.judgments.match is not None:  # what a pattern matches is not known
        hollow &= np.bincount(suite.judgments.case[np.isin(suite.judgments.match, DESCRIPTIONS)], minlength=count) == 0
    # Patterns that fit nothing have a finding of their own; they may as well fit what is excluded, or graded 0 by another one.
    # Those that mean any document have added judgments.
    named = np.bincount(written.case[~written.described], minlength=count)
    hollow &= (_relevant(subject.suite, lowest) == 0) | np.asarray(np.diff(suite.judgments.starts) > named)
    if suite.table.order_only is not None:
        hollow &= ~suite.table.order_only  # such cases say nothing of what is relevant
    if hollow.any():
        lower_grades = _relevant(suite, 1)[hollow].any()
        names = ", ".join(by_grade) or "measures that count from this grade"
        zero = f", which can only score 0 in {names}" if lower_grades else ""
        message = f"cases without a target of grade {lowest} or higher{zero}: {int(hollow.sum())} of {len(suite)}"
        yield finding("cases-without-target", message, ids_of(suite, hollow))


@check(FindingKind("all-documents-relevant", "warning", "Cases with documents of their own, all of which are relevant.",
    "Any order of them is right: such a case cannot fail, and only raises the mean.",
    "Add documents that should not be found.",
), theme=GOLD, quick=True)  # fmt: skip
def all_documents_relevant(subject: Subject) -> Iterator[Finding]:
    suite, own = subject.suite, subject.suite.table.documents or ()
    flat = [row for row, some in enumerate(own) if some and _any_order_is_right(suite, row, {each.id for each in some})]
    if flat:
        of = f"{plain_count(len(flat), 'case')} of {sum(map(bool, own))} with documents of their own"
        yield finding("all-documents-relevant", f"{of}: every document is relevant", ids_of(suite, flat))


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


# Grades that do not belong to the scale of the others.

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
    suite, odd = subject.suite, list(_odd_grades(subject.suite))
    if odd:
        rows = distinct(np.concatenate([suite.judgments.case[marks] for marks, _ in odd])).tolist()
        yield finding("grades-outside-scale", "; ".join(sentence for _, sentence in odd), ids_of(suite, rows))


def _odd_grades(suite: Suite) -> Iterator[tuple[Marks, str]]:
    """Judgments below the scale of TREC or above that of labels or of exponential gains, with the sentence about them."""
    grades = suite.judgments.grades
    highest, below = int(grades.max(initial=0)), grades < LOWEST_OF_TREC
    if below.any():
        many = plain_count(int(below.sum()), "judgment has", "judgments have")
        yield below, f"{many} a grade below {LOWEST_OF_TREC} (down to {grades.min()}), which counts as not judged"
    if suite.kind == "labels" and highest > HIGHEST_LABEL:
        above = grades > HIGHEST_LABEL
        many = plain_count(int(above.sum()), "label has", "labels have")
        yield above, f"{many} a grade above {HIGHEST_LABEL} (up to {highest}), the highest of their scale"
    elif suite.defaults.gain == "exp" and highest > HIGHEST_EXPONENT:
        above = grades > HIGHEST_EXPONENT
        many = plain_count(int(above.sum()), "grade is", "grades are")
        yield above, f"{many} above {HIGHEST_EXPONENT} (up to {highest}), and the gain doubles with each"
    else:  # a grade that is rare and far beyond all others was probably mistyped
        relevant, counts = np.unique(grades[grades > 0], return_counts=True)
        *others, far = relevant.tolist() or [0]
        if others and counts[-1] <= max(1, FAR_SHARE * counts.sum()) and far >= FAR_TIMES * others[-1] and far > HIGHEST_LABEL:
            times = "once" if counts[-1] == 1 else f"{counts[-1]} times"
            rest = f"all other relevant grades are {', '.join(map(str, others))}"
            yield grades == far, f"the grade {far} is given {times}, and {rest}"


@check(FindingKind("fractional-gains", "note", "Ratings that are not whole numbers.",
    "nDCG and DCG pay what they say; every other measure looks at the grade, which is the rating rounded up.",
    "Nothing, where everything above 0 is relevant; else give rel, or ratings in whole numbers.",
), theme=GOLD, quick=True)  # fmt: skip
def fractional_gains(subject: Subject) -> Iterator[Finding]:
    judgments = subject.suite.judgments
    if judgments.gains is not None:
        own = judgments.gains != judgments.grades
        many = plain_count(int(own.sum()), "judgment has", "judgments have")
        message = f"{many} a fractional gain: nDCG and DCG pay it, other measures see it rounded up"
        yield finding("fractional-gains", message, ids_of(subject.suite, distinct(judgments.case[own]).tolist()))


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
    suite, targets, rows = subject.expanded, subject.expanded.judgments.targets, _relevant_rows(subject.expanded)
    cases = int((np.diff(np.searchsorted(rows, suite.judgments.starts)) > 0).sum())
    fewest = max(FEWEST_CASES_OF_TARGET, LARGEST_SHARE * cases)
    if len(rows) < fewest or subject.primary is None:
        return
    # A column is counted without making texts of it.
    counts = Counter(texts_at(targets, rows)).values() if isinstance(targets, list) else targets[rows].value_counts()["count"]
    if max(counts) < fewest:
        return
    # A path of the same name in another repository is another target.
    repositories = list(map(repository_of_case, suite.table.fields or ({},) * len(suite)))
    of_judgments = [repositories[case] for case in suite.judgments.case[rows].tolist()]
    pairs = list(zip(of_judgments, texts_at(targets, rows), strict=True))
    (repository, target), times = Counter(pairs).most_common(1)[0]
    if times < fewest:
        return
    with_target = [row for row, pair in zip(rows.tolist(), pairs, strict=True) if pair == (repository, target)]
    of_target = distinct(suite.judgments.case[with_target])
    asked = [case for case, each in zip(suite.table.ids, repositories, strict=True) if each == repository]
    measure, always = subject.primary.requested, [Answer(case, "ok", (Hit(target, 1),)) for case in asked]
    (mean,) = score(match_hits(suite, Run.from_answers("always", always)), [measure]).means().values()
    if mean >= HIGHEST_MEAN:  # nor where it is undefined
        of = "" if len(asked) == len(suite) else f" of {quote_name(str(repository))}"
        share = f"{quote_name(target)}{of} is relevant in {len(of_target)} of {cases} cases ({len(of_target) / cases:.0%})"
        message = f"{share}: an agent that answers nothing else, whatever the query, gets {measure.name} {mean:.4f}"
        yield finding("dominant-target", message, ids_of(suite, of_target.tolist()))


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


@check(FindingKind("dominant-category", "note", "One category, of three or more, with more than half of the cases.",
    "The mean over all cases is mostly the mean of that category, and hides what becomes of the others.",
    "Read the table by category, or add cases to the others.",
), theme=GOLD)  # fmt: skip
def dominant_categories(subject: Subject) -> Iterator[Finding]:
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
    suite = subject.suite
    if suite.table.categories is None:
        return
    rows, sizes, small = segment_rows(suite, "category"), dict[str, Observations](), dict[str, str]()
    for rule in (rule for table in subject.decisions for rule in table.rules):
        for category in rows if "all" in rule.categories else [category_name(suite, name) for name in rule.categories]:
            if category in rows:
                sizes[category] = observations(np.zeros((len(rows[category]), 1)), clusters_of(suite, rows[category]))
    for category, size in sizes.items():
        if not size.enough:
            cases, worth = len(rows[category]), size.effective_size
            small[category] = f"{quote_name(category)} has {cases}{'' if worth == cases else f', worth {three_digits(worth)}'}"
    if small:
        which = f"{len(small)} of {len(sizes)} categories that a decision table decides by"
        few = f"{which} are worth fewer than {FEWEST_CASES} independent cases"
        in_small = np.sort(np.concatenate([rows[name] for name in small])).tolist()
        yield finding("small-decided-categories", f"{few}: {list_first([*small.values()], EXAMPLES)}", ids_of(suite, in_small))


# Notes of the reader of a suite: how it understood a metric, ratings or columns.


@check(FindingKind(
    "reading-note", "note", "How the file of the suite was understood: its own metric, several judges, columns left out.",
    "What a file of another tool means is not always written in it; numbers of that tool may differ for this reason.",
    "Nothing has to be done; for other measures name them with -m.",
), theme=GOLD, quick=True)  # fmt: skip
def reading_notes(subject: Subject) -> Iterator[Finding]:
    """Each note of the reader, unchanged, and how expected passages are found."""
    yield from (finding("reading-note", note) for note in subject.suite.notes)
    if subject.suite.judgments.of_text.any():
        share = f"{subject.suite.defaults.overlap:.0%}".replace("%", " %")
        rule = f"it has {share} of its words in one piece, and at least {LEAST_WORDS} or all of them"
        yield finding("reading-note", f"a hit meets an expected passage if {rule} (overlap in the suite's defaults)")


# Score ranges of another model than that of the run.


@check(FindingKind("ranges-of-another-model", "warning", "Score ranges of an embedding model that the run did not search with.",
    "Scores of two models are on different scales: InRange is undefined for another one, and says nothing without any.",
    "Give score ranges for the model that is searched with.",
), theme=GOLD, quick=True)  # fmt: skip
def ranges_of_another_model(subject: Subject) -> Iterator[Finding]:
    """For each run that says what it searched with: the cases whose ranges are for another model."""
    for name, scores in subject.scores.items() if subject.suite.judgments.has_ranges else ():
        suite, run, agent = scores.matched.suite, scores.matched.run, scores.matched.run.provenance.agent
        judgments = suite.judgments
        if model_of(run) is not None:
            rows = distinct(judgments.case[ranged_rows(judgments)]).tolist()
            reasons = {row: reason for row in rows if (reason := why_no_range(suite, run, row))}
            if reasons:
                message = f"{name}: {next(iter(reasons.values()))}, in {len(reasons)} of {len(rows)} cases with ranges"
                yield finding("ranges-of-another-model", message, ids_of(suite, reasons))
        elif agent is not None and agent.description and suite.model is not None and judgments.ranges is not None:
            # Without a description a model may be behind it.
            rows = distinct(judgments.case[~np.isnan(judgments.ranges[:, 0])]).tolist()
            of = f"score ranges of {plain_count(len(rows), 'case')} are for {suite.model}"
            yield finding("ranges-of-another-model", f"{name}: {of}, and the agent names no model", ids_of(suite, rows))


# Judgments that were chosen because of what they would change, and not drawn at random.


@check(FindingKind("judgments-not-random", "note",
    "Judgments were chosen by `searchmark audit --next` to settle a comparison, and not drawn at random.",
    "They favour documents on which two runs differ, which shows in Judged@k, Bpref and means over judged documents.",
    "Compare the two runs that they were chosen for, and judge a common pool before others are compared with them.",
), theme=GOLD, quick=True, after="decision-hole")  # fmt: skip
def chosen_judgments(subject: Subject) -> Iterator[Finding]:
    suite, items_by_case = subject.suite, chosen_items(subject.suite)
    if items_by_case:
        cases = [case for case in suite.table.ids if case in items_by_case]
        count = f"{sum(map(len, items_by_case.values()))} of {len(suite.judgments)} judgments"
        message = f"{count}, in {len(cases)} of {len(suite)} cases, were chosen to settle a comparison"
        yield finding("judgments-not-random", message, cases)
