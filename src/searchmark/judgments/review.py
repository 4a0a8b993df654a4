"""Files that people grade: samples, what they wrote back, and how far people and rules agree."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchmark.agents.lexical.words import LONGEST_PHRASE, stemmed_words
from searchmark.errors import FormatError, UsageError, shortened
from searchmark.formats.corpora.source import searchable_text
from searchmark.formats.suites.source import Entry, Source, as_whole
from searchmark.io.rows import csv_rows
from searchmark.io.secrets import REMOVED_MARK
from searchmark.io.store import read_utf8
from searchmark.judgments.label import (
    BRAND,
    CATEGORY,
    ENOUGH_ATTRIBUTES,
    GRADES,
    RULES,
    SHIPPED,
    Catalogue,
    Labels,
    Pair,
    count_phrases,
    rules_fired,
)
from searchmark.records.answers import Answer, Hit
from searchmark.records.judgments import Judgment, Match
from searchmark.records.run import Run
from searchmark.records.suite import CHOSEN_JUDGMENTS_FIELD, Case, Suite, chosen_items
from searchmark.scoring.match import match_hits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Untrusted texts in the cells of a CSV: no formulas, no terminal codes, and ids that read back unchanged.

# What makes a spreadsheet compute a cell, and the quote that prevents it.
_QUOTED = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]|'")

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def text_cell(text: str) -> str:
    """A text for people: what is unseen is written out."""
    return _quote(_visible_text(text))


def id_cell(name: str) -> str:
    """An id, which must read back; one with control characters is refused."""
    if _UNSEEN.search(name):
        raise UsageError(f"id {name!r} has control characters, which a CSV for people cannot hold; write .jsonl instead")
    return _quote(name)


def read_cell(cell: str) -> str:
    """What was written as this cell."""
    return cell[1:] if cell.startswith("'") and _QUOTED.match(cell[1:]) else cell


def same_text(text: str, whole: str) -> bool:
    """Whether a text is the known one, as far as it was written: secrets are removed, what is unseen is written out."""
    if text.strip() in (whole.strip(), _visible_text(whole).strip()):
        return True
    pieces = text.strip().split(REMOVED_MARK)
    return (
        len(pieces) > 1 and _visible_text(whole).strip().startswith(pieces[0]) and _visible_text(whole).strip().endswith(pieces[-1])
    )


def _quote(text: str) -> str:
    return f"'{text}" if _QUOTED.match(text) else text


def _visible_text(text: str) -> str:
    return _UNSEEN.sub(lambda match: ascii(match[0])[1:-1], text.replace("\r\n", "\n"))


# The file that people grade: pairs of a query and an item with all that is known of both, and an empty grade.

COLUMNS = ("query_id", "query", "item_id", "grade", "title", "text", "fields", "drawn_from")

CHOSEN = "chosen, not drawn at random"  # instead of what a sample was drawn from

LONGEST = 2000  # letters of a text: what people read before they give a grade

EXTENSIONS = (".csv", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class ReviewRow:
    """One pair for people to grade."""

    query_id: str
    query: str
    item_id: str
    title: str = ""
    text: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    drawn_from: str = CHOSEN  # digest of the strata of a random sample, or CHOSEN
    grade: None = None


def rows_text(rows: Iterable[ReviewRow], path: Path, clean: Callable[[str], str] = str) -> str:
    """The file for people, CSV or JSONL by its extension; ``clean`` sees texts before they are cut."""
    by_column = [{name: asdict(row)[name] for name in COLUMNS} | _shown_fields(row, clean) for row in rows]
    extension = path.suffix.lower()
    if extension not in EXTENSIONS:
        raise UsageError(f"{path}: a review is written as .csv or .jsonl; name the file accordingly")
    if extension != ".csv":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in by_column)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(row, column) for column in COLUMNS] for row in by_column)
    return file.getvalue()


def _shown_fields(row: ReviewRow, clean: Callable[[str], str]) -> dict[str, Any]:
    """What people read, cut where it is long."""
    fields = {
        name: excerpt if (excerpt := _cut(clean(searchable_text(value)))) != searchable_text(value) else value
        for name, value in row.fields.items()
    }
    return {"title": _cut(clean(row.title)), "text": _cut(clean(row.text)), "fields": fields}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... (cut: {LONGEST} of {len(text)} characters)"


def _cell(row: Mapping[str, Any], column: str) -> str:
    value = row[column]
    if column == "fields":
        value = _cut("; ".join(f"{name}: {searchable_text(inner)}" for name, inner in value.items()))
    text = "" if value is None else str(value)
    return id_cell(text) if column in ("query_id", "item_id") else text_cell(text)


def is_chosen(entry: Entry) -> bool:
    """Whether a pair was chosen, and is not part of a sample."""
    return entry.maybe_text("drawn_from") == CHOSEN


def graded_entries(path: Path, may_be_empty: Callable[[Entry], bool]) -> tuple[list[Entry], int]:
    """The pairs of a file that people have graded, and how many they have not; who asks says which may be left so."""
    entries = list(_entries(path))
    if not entries:
        raise FormatError(path, None, "holds no pairs")
    empty = [entry for entry in entries if entry.first("grade") is None]
    incomplete = [entry for entry in empty if not may_be_empty(entry)]
    if incomplete:
        more = f" ({len(incomplete)} of {len(entries)} pairs have none)" if len(incomplete) > 1 else ""
        why = "a sample without those that are hard to grade agrees too well"
        raise FormatError(path, incomplete[0].place, f"has no grade{more}; grade every pair: {why}")
    if len(empty) == len(entries):
        raise FormatError(path, empty[0].place, "no pair has a grade; fill in the column grade")
    return [entry for entry in entries if entry.first("grade") is not None], len(empty)


def _entries(path: Path) -> Iterator[Entry]:
    if path.suffix.lower() != ".csv":
        yield from Source(path).entries()
        return
    rows = csv_rows(path, io.StringIO(read_utf8(path), newline=""))
    _, header = next(rows, (0, list[str]()))
    if missing := [name for name in ("query_id", "item_id", "grade") if name not in header]:
        raise FormatError(path, "line 1", f"has no column {missing[0]!r}")
    if twice := [name for name in COLUMNS if header.count(name) > 1]:
        raise FormatError(path, "line 1", f"has two columns {twice[0]!r}; remove one of them")
    for line, row in rows:
        if not any(row):
            continue
        if len(row) != len(header):
            raise FormatError(path, f"line {line}", f"has {len(row)} columns, the header {len(header)}")
        values = {name: read_cell(cell) for name, cell in zip(header, row, strict=True) if cell.strip()}
        yield Entry.of(path, f"line {line}", values)


# Grades that people gave to pairs of a suite, added to its judgments.


@dataclass(frozen=True)
class _NewGrade:
    """One line of the file."""

    entry: Entry
    case: str
    item: str
    grade: int

    @property
    def chosen(self) -> bool:
        """Whether the pair was chosen, or nothing says what it was drawn from."""
        return (self.entry.maybe_text("drawn_from") or CHOSEN) == CHOSEN


@dataclass(frozen=True)
class GradedSuite:
    """A suite with new grades."""

    suite: Suite
    added: int  # grades
    known: int  # grades that it had already
    empty: int  # pairs without a grade


def add_grades(suite: Suite, path: Path) -> GradedSuite:
    """The suite with the grades of a file; what contradicts it is refused."""
    grades, empty = _read_grades(suite, path)
    existing = _existing_grades(suite, grades)
    contradictions = [each for each in grades if existing.get((each.case, each.item), each.grade) != each.grade]
    if contradictions:
        raise _contradiction_error(path, contradictions, existing)
    new = [each for each in grades if (each.case, each.item) not in existing]
    return GradedSuite(_add_to_suite(suite, new), len(new), len(grades) - len(new), empty)


def highest_grade(suite: Suite) -> int:
    """The highest grade that people may give to pairs of a suite: the highest that it has."""
    return max(int(suite.judgments.grades.max(initial=1)), GRADES[-1] if suite.kind == "labels" else 1)


def _read_grades(suite: Suite, path: Path) -> tuple[list[_NewGrade], int]:
    highest = highest_grade(suite)
    grades: dict[tuple[str, str], _NewGrade] = {}
    entries, empty = graded_entries(path, lambda _: True)  # they are not compared with a rule, so some may be missing
    for entry in entries:
        case, item = _case(suite, entry), entry.text("item_id")
        if (case, item) in grades:
            raise FormatError(path, entry.place, f"item {item!r} is graded a second time for query {case!r}")
        grades[case, item] = _NewGrade(entry, case, item, _parse_grade(entry, highest))
    return list(grades.values()), empty


def _case(suite: Suite, entry: Entry) -> str:
    case, table = entry.text("query_id"), suite.table
    if case not in table.index:
        raise FormatError(entry.path, entry.place, f"the suite has no case {case!r}; name the one that the pairs are of")
    if REMOVED_MARK in entry.text("item_id"):
        raise FormatError(entry.path, entry.place, "the item's id held a secret, which was removed; remove the line")
    text, whole = entry.maybe_text("query"), None if table.queries is None else table.queries[table.index[case]]
    if text is not None and whole is not None and not same_text(text, whole):
        raise FormatError(
            entry.path, entry.place, f"query {case!r} is {shortened(text, 80)!r} here and {shortened(whole, 80)!r} in the suite"
        )
    return case


def _parse_grade(entry: Entry, highest: int) -> int:
    raw_grade = entry.first("grade")
    grade = as_whole(raw_grade)
    if grade is None or not 0 <= grade <= highest:
        raise FormatError(
            entry.path, entry.place, f"grade {shortened(str(raw_grade), 40)!r} is not a whole number from 0 to {highest}"
        )
    return grade


def _existing_grades(suite: Suite, new_grades: Iterable[_NewGrade]) -> dict[tuple[str, str], int]:
    """What the suite says of these items already, globs and paths included: they are matched as if a run had returned them."""
    items: dict[str, list[str]] = {}
    for each in new_grades:
        items.setdefault(each.case, []).append(each.item)
    answers = [Answer(case, "ok", tuple(Hit(item, rank) for rank, item in enumerate(of, 1))) for case, of in items.items()]
    run = Run.from_answers("graded", answers)
    matches, ids = match_hits(suite, run).matches, suite.table.ids
    rows = zip(matches.case.tolist(), matches.row.tolist(), matches.grade.tolist(), strict=True)
    return {(ids[case], run.ids[row]): grade for case, row, grade in rows}


def _contradiction_error(path: Path, grades: list[_NewGrade], existing: Mapping[tuple[str, str], int]) -> FormatError:
    examples = [
        f"{each.item!r} for {each.case!r} is {each.grade} here and {existing[each.case, each.item]} there" for each in grades[:3]
    ]
    more = f" and {len(grades) - len(examples)} more" if len(grades) > len(examples) else ""
    return FormatError(path, grades[0].entry.place, f"contradicts grades of the suite: {'; '.join(examples)}{more}")


def _add_to_suite(suite: Suite, new: list[_NewGrade]) -> Suite:
    by_case: dict[str, list[_NewGrade]] = {}
    for each in new:
        by_case.setdefault(each.case, []).append(each)
    match = _match(suite)
    cases = [_add_to_case(case, by_case.get(case.id, ()), match) for case in suite.cases]
    chosen_by_case = {case: list(items) for case, items in chosen_items(suite).items()}
    for each in new:
        if each.chosen:
            chosen_by_case.setdefault(each.case, []).append(each.item)
    metadata = {**suite.metadata, **({CHOSEN_JUDGMENTS_FIELD: chosen_by_case} if chosen_by_case else {})}
    return replace(suite, judgments=Suite.from_cases(suite.name, cases).judgments, metadata=metadata)


def _add_to_case(case: Case, new: Iterable[_NewGrade], match: Match) -> Case:
    return replace(case, judgments=(*case.judgments, *(Judgment(each.item, match, each.grade) for each in new)))


def _match(suite: Suite) -> Match:
    """How new targets are matched: as paths where the suite's are."""
    kinds = {judgment.match for case in suite.cases for judgment in case.judgments}
    return "path" if kinds & {"path", "glob", "lines"} and "id" not in kinds else "id"


# How far people and the rule agree: quadratic-weighted kappa (Cohen 1968) of a sample, stratified by the rule's grade.
#
# The rare grades are drawn as often as the common ones, so the sample is not the population. Kappa is therefore given twice:
# for pairs of which every stratum is as frequent as in the sample, and for all pairs, with each stratum weighted by its size.
#
# The interval is the middle 95 % of the posterior of a Dirichlet model per stratum. A few equal grades do not prove that all
# are equal, so every stratum begins with one pair that was not seen. Which grade that had decides a lot in small samples:
# where it is near the rule's, the interval is too high for people who agree badly, and where it may be any, too low for those
# who agree well. So both are computed, and the interval holds both. Draws have a fixed seed; a test simulates what such
# intervals cover.

GRADE_COUNT = 4

CONFIDENCE = 0.95

FEWEST = 10  # pairs, for an interval

FALL = 4.0  # how much less likely a grade becomes with every step away from the rule's, before any is seen

DRAWS, SEED = 20_000, 0


@dataclass(frozen=True)
class Stratum:
    """Pairs that are alike to the rule: its grade, and how many such pairs there are. Near misses are a stratum of grade 0."""

    name: str
    rule: int
    size: int


@dataclass(frozen=True)
class Kappa:
    """An estimate with its interval; None where it is not defined, or where too few pairs were judged for one."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Agreement:
    """What comparing both says: ``confusion[rule][human]`` counts pairs of the sample."""

    confusion: tuple[tuple[int, ...], ...]
    sample: Kappa
    population: Kappa | None  # None where the sample was not drawn from these strata, or not from all of them
    undefined: str | None = None
    unjudged: tuple[Stratum, ...] = ()  # that hold pairs, of which none was judged

    @property
    def pairs(self) -> int:
        return sum(map(sum, self.confusion))

    @property
    def equal(self) -> int:
        return sum(self.confusion[grade][grade] for grade in range(GRADE_COUNT))

    @property
    def within_one(self) -> int:
        return sum(count for rule, row in enumerate(self.confusion) for human, count in enumerate(row) if abs(rule - human) <= 1)


def measure_agreement(strata: Sequence[Stratum], grades: Mapping[str, Sequence[int]], *, weighted: bool = True) -> Agreement:
    """Compare the grades that people gave to pairs of each stratum with the rule's.

    ``weighted`` also says what all pairs would show: it needs a sample that was drawn from these strata, and from each of them.
    """
    import numpy as np

    sampled_strata = [stratum for stratum in strata if grades.get(stratum.name)]
    counts = np.array([np.bincount(grades[stratum.name], minlength=GRADE_COUNT) for stratum in sampled_strata], float)
    rules = np.array([stratum.rule for stratum in sampled_strata])
    confusion = np.zeros((GRADE_COUNT, GRADE_COUNT), np.int64)
    np.add.at(confusion, rules, counts.astype(np.int64))
    table = tuple(tuple(map(int, row)) for row in confusion)
    if (undefined := _undefined(confusion)) is not None:
        return Agreement(table, Kappa(None), None, undefined)
    in_sample = counts.sum(axis=1) / counts.sum()
    sizes = np.array([stratum.size for stratum in sampled_strata], float)
    unjudged = tuple(stratum for stratum in strata if stratum not in sampled_strata) if weighted else ()
    population = kappa(counts, rules, sizes / sizes.sum()) if weighted and not unjudged else None
    return Agreement(table, kappa(counts, rules, in_sample), population, unjudged=unjudged)


def _undefined(confusion: NDArray[np.int64]) -> str | None:
    for who, margin in (("the rule", confusion.sum(axis=1)), ("the sample", confusion.sum(axis=0))):
        if (margin > 0).sum() == 1:
            return f"kappa is not defined: all grades of {who} are {int(margin.argmax())}"
    return None


def kappa(counts: NDArray[np.float64], rules: NDArray[np.int64], shares: NDArray[np.float64]) -> Kappa:
    """Kappa where each row of counts (people's grades in a stratum, of which the rule's is known) has this share of all pairs."""

    value = float(_kappas(counts / counts.sum(axis=1, keepdims=True), rules, shares))
    if counts.sum() < FEWEST:
        return Kappa(value)
    ends = [value, *(end for prior in _unseen_priors() for end in _posterior(counts + prior[rules], rules, shares))]
    return Kappa(value, min(ends), max(ends))


def _posterior(counts: NDArray[np.float64], rules: NDArray[np.int64], shares: NDArray[np.float64]) -> list[float]:
    """The ends of the middle of all kappas that these counts leave likely."""
    import numpy as np

    draws = np.random.default_rng(SEED).standard_gamma(counts, size=(DRAWS, *counts.shape))
    kappas = _kappas(draws / draws.sum(axis=-1, keepdims=True), rules, shares)
    ends: list[float] = np.quantile(kappas, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist()
    return ends


def _kappas(grade_shares: NDArray[np.float64], rules: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """One kappa for each set of shares of grades, which are the last two dimensions: by stratum, then by people's grade."""
    import numpy as np

    apart = _steps() ** 2
    by_chance = np.bincount(rules, shares, minlength=GRADE_COUNT) @ apart  # what each grade costs if the rule's is drawn by chance
    observed = (grade_shares * apart[rules]).sum(axis=-1) @ shares
    kappas: NDArray[np.float64] = 1 - observed / ((grade_shares @ by_chance) @ shares)
    return kappas


def _unseen_priors() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each grade of the rule, how likely people give each grade to a pair that was not seen: near the rule's, or any."""
    import numpy as np

    likely = FALL ** -_steps()
    return likely / likely.sum(axis=1, keepdims=True), np.full((GRADE_COUNT, GRADE_COUNT), 1 / GRADE_COUNT)


def _steps() -> NDArray[np.float64]:
    import numpy as np

    grades = np.arange(GRADE_COUNT, dtype=float)
    return np.abs(grades[:, None] - grades[None, :])


# A sample of pairs for people, without the rule's grades, and what they wrote back.
#
# The sample is stratified: as many pairs of every grade, and of grade 0 as many near misses (an item with a word of the query
# in its title or text) as others. Which pairs were drawn is known from the file, and how many there are of each kind from the
# catalogue, so no grade of the rule has to be in the file. A digest tells whether the kinds are still those that the sample
# was drawn from.

NEAR_MISS = "0, near miss"


@dataclass(frozen=True, eq=False)
class Strata:
    """All pairs of a catalogue, by kind."""

    labels: Labels

    @cached_property
    def by_query(self) -> dict[str, dict[str, NDArray[np.int64]]]:
        """For every query the rows of the catalogue in each stratum."""
        return {query: dict(self._of(query)) for query in self.labels.queries}

    @cached_property
    def all(self) -> list[Stratum]:
        """The strata that hold pairs."""
        names = {str(grade): grade for grade in GRADES} | {NEAR_MISS: 0}
        sizes = {name: sum(len(rows[name]) for rows in self.by_query.values()) for name in names}
        return [Stratum(name, names[name], sizes[name]) for name in sorted(names) if sizes[name]]

    @cached_property
    def digest(self) -> str:
        """A digest of which pairs are in which strata."""
        ids, whole = self.labels.catalogue.ids, hashlib.sha256()
        whole.update(repr(ids).encode("utf-8", "surrogatepass"))
        for query, rows in self.by_query.items():
            whole.update(repr((query, self.labels.queries[query].text)).encode("utf-8", "surrogatepass"))
            for name in sorted(rows):
                whole.update(name.encode() + rows[name].astype("<i8").tobytes())
        return whole.hexdigest()[:12]

    def find(self, pair: Pair) -> str:
        query, item = pair
        row = self.labels.catalogue.rows[item]
        return next(name for name, rows in self.by_query[query].items() if row in rows)

    def _of(self, query: str) -> Iterator[tuple[str, NDArray[np.int64]]]:
        import numpy as np

        grading, total = self.labels.all[query], len(self.labels.catalogue.items)
        grades = np.zeros(total, np.int64)
        grades[grading.rows] = np.array([verdict.grade for verdict in grading.verdicts], np.int64)[grading.verdict_of]
        near = np.zeros(total, bool)
        for word in stemmed_words(self.labels.queries[query].text):
            near[self._holding.get(word, [])] = True
        yield from ((str(grade), np.flatnonzero(grades == grade)) for grade in GRADES[1:])
        yield "0", np.flatnonzero((grades == 0) & ~near)
        yield NEAR_MISS, np.flatnonzero((grades == 0) & near)

    @cached_property
    def _holding(self) -> dict[str, list[int]]:
        """For each word of the queries the items that hold it."""
        holding: dict[str, list[int]] = {word: [] for query in self.labels.queries.values() for word in stemmed_words(query.text)}
        for row, item in enumerate(self.labels.catalogue.items):
            for word in holding.keys() & set(stemmed_words(f"{item.title or ''}\n{item.text}")):
                holding[word].append(row)
        return holding


def draw_sample(strata: Strata, count: int, seed: int) -> list[Pair]:
    """So many pairs, evenly from every stratum and in an order that tells nothing; all pairs of a stratum that has too few."""
    chance = random.Random(f"review {seed}")  # noqa: S311  # a sample, no secret
    shares = _shares([stratum.size for stratum in strata.all], count)
    pairs = [
        pair
        for stratum, share in zip(strata.all, shares, strict=True)
        for pair in _draw_from_stratum(strata, stratum, share, chance)
    ]
    chance.shuffle(pairs)
    return pairs


def _shares(sizes: Sequence[int], count: int) -> list[int]:
    """An even share for each, and what small ones leave to the others, the rarest kind first."""
    shares = [0] * len(sizes)
    while sum(shares) < min(count, sum(sizes)):
        row = min((row for row, size in enumerate(sizes) if shares[row] < size), key=lambda row: (shares[row], sizes[row]))
        shares[row] += 1
    return shares


def _draw_from_stratum(strata: Strata, stratum: Stratum, share: int, chance: random.Random) -> Iterator[Pair]:
    queries = list(strata.by_query)
    ends = list(accumulate(len(strata.by_query[query][stratum.name]) for query in queries))
    for number in chance.sample(range(stratum.size), share):
        at = bisect_right(ends, number)
        rows = strata.by_query[queries[at]][stratum.name]
        yield queries[at], strata.labels.catalogue.ids[rows[number - ends[at]]]


def review_text(strata: Strata, pairs: Iterable[Pair], path: Path) -> str:
    """The file for people: the query, all that the item says, and an empty grade."""
    return rows_text([_row(strata, pair) for pair in pairs], path)


def _row(strata: Strata, pair: Pair) -> ReviewRow:
    labels = strata.labels
    item = labels.catalogue.items[labels.catalogue.rows[pair[1]]]
    about = (pair[0], labels.queries[pair[0]].text, item.id, item.title or "", item.text, dict(item.fields))
    return ReviewRow(*about, drawn_from=strata.digest)


@dataclass(frozen=True)
class GradedReview:
    """The grades that people gave, and the digests of the strata that their pairs were drawn from.

    ``sampled`` are the pairs that were drawn at random: only those tell how far the rule agrees with people.
    """

    grades: Mapping[Pair, int]
    sampled: frozenset[Pair]
    drawn_from: frozenset[str]


def read_review(path: Path, labels: Labels) -> GradedReview:
    """The grades that people wrote; every pair of a sample needs one."""
    grades: dict[Pair, int] = {}
    drawn_from: dict[Pair, str] = {}
    for entry in graded_entries(path, is_chosen)[0]:
        pair = _pair(entry, labels)
        if pair in grades:
            raise FormatError(path, entry.place, f"item {pair[1]!r} is graded a second time for query {pair[0]!r}")
        grades[pair], drawn_from[pair] = _review_grade(entry), entry.maybe_text("drawn_from") or ""
    sample_digests = {pair: digest for pair, digest in drawn_from.items() if digest != CHOSEN}
    return GradedReview(grades, frozenset(sample_digests), frozenset(sample_digests.values()))


def _pair(entry: Entry, labels: Labels) -> Pair:
    query, item = entry.text("query_id"), entry.text("item_id")
    if query not in labels.queries:
        raise FormatError(entry.path, entry.place, f"there is no query {query!r}; name the queries that the review was drawn from")
    if item not in labels.catalogue.rows:
        raise FormatError(
            entry.path, entry.place, f"the catalogue has no item {item!r}; name the one that the review was drawn from"
        )
    text, whole = entry.maybe_text("query"), labels.queries[query].text
    if text is not None and not same_text(text, whole):
        raise FormatError(
            entry.path, entry.place, f"query {query!r} is {shortened(text, 80)!r} here and {shortened(whole, 80)!r} in the queries"
        )
    return query, item


def _review_grade(entry: Entry) -> int:
    raw_grade = entry.first("grade")
    grade = as_whole(raw_grade)
    if grade not in GRADES:
        raise FormatError(entry.path, entry.place, f"grade {shortened(str(raw_grade), 40)!r} is none of 0, 1, 2, 3")
    return grade


# Summary of labels: which fields were used, what is missing, which rules cannot fire, and how grades are spread.

FAR_APART = 2

_SHOWN = 5


def label_summary(labels: Labels, synonyms: Path | None) -> Iterator[str]:
    """Sentences for the user, the data first."""
    catalogue, queries = labels.catalogue, labels.queries
    own = "" if synonyms is None else f", and {count_phrases(synonyms)} of {synonyms.name}"
    yield f"{len(catalogue.items):,} items, {len(queries)} queries"
    yield f"words: {count_phrases(SHIPPED)} phrases of the shipped list for fashion ({SHIPPED.name}){own}"
    yield from (field_sentence(catalogue, role) for role in catalogue.roles.fields)
    yield from _grades(labels)
    yield from impossible_rules(labels)
    yield from _unknown_words(labels)


def field_sentence(catalogue: Catalogue, role: str) -> str:
    """Where the values of a role come from, and in how many items it is missing."""
    total, field, origins = len(catalogue.items), catalogue.roles.fields[role], catalogue.origins[role]
    source = "no field" if field is None else f"field {field}"
    unusable = catalogue.unusable[role]
    lacking = total - origins["field"] - unusable
    reasons = f"nested, longer than {LONGEST_PHRASE} letters, or no {role}"
    parts = [f"{role}: {source}", *([f"not usable in {unusable:,} of {total:,} ({reasons})"] if unusable else [])]
    if not lacking:
        return ", ".join(parts if unusable else [*parts, "in every item"])
    unknown = lacking - origins["title"] - origins["description"]
    return (
        f"{', '.join(parts)}, missing in {lacking:,} of {total:,}; found in the title of {origins['title']:,}, in the description "
        f"of {origins['description']:,}, unknown in {unknown:,}"
    )


def _grades(labels: Labels) -> Iterator[str]:
    totals = [sum(counts[grade] for counts in labels.counts.values()) for grade in GRADES]
    yield "pairs by grade: " + ", ".join(f"{grade}: {totals[grade]:,}" for grade in reversed(GRADES))
    counts_by_rule = rules_fired(labels)
    yield "rules that fired: " + ", ".join(f"{rule} ({grade}): {counts_by_rule[rule]:,}" for rule, grade in RULES.items())
    lacking = [labels.queries[query].text for query, counts in labels.counts.items() if not counts[2] + counts[3]]
    if lacking:
        yield f"no item has grade 2 or 3 for {len(lacking)} of {len(labels.queries)} queries: {_listed(lacking)}"
    texts = [labels.queries[query].text for query, counts in labels.counts.items() if not any(counts[1:])]
    if texts:
        yield (
            f"of these, all items have grade 0 for {len(texts)}; each has one line of grade 0, and is a case that scores 0: "
            f"{_listed(texts)}"
        )


def impossible_rules(labels: Labels) -> Iterator[str]:
    """Rules that cannot fire for any item."""
    catalogue = labels.catalogue
    if not any(value.role == BRAND for value in catalogue.postings):
        yield "the rule 'brand' can never fire: no item has a known brand (--fields brand=FIELD names the field)"
    if not any(_meets_category(labels, query) for query in labels.queries):
        values = _listed(catalogue.values_of(CATEGORY)) or "none is known"
        yield (
            "the rules 'category' and 'category and attributes' can never fire: no query names a category of the catalogue "
            f"({values}); --fields category=FIELD names another field, --synonyms relates words to categories"
        )
    short = [
        listed_query.text
        for query, listed_query in labels.queries.items()
        if len(_spans(labels, query)) < ENOUGH_ATTRIBUTES + 1 or not _meets_category(labels, query)
    ]
    if short:
        share = f"{len(short)} of {len(labels.queries)} queries"
        yield f"grade 3 is out of reach for {share}, which do not name two attributes beside a category: {_listed(short)}"


def _meets_category(labels: Labels, query: str) -> bool:
    """Whether any item is of a category that the query names."""
    return any(match.role == CATEGORY for verdict in labels.all[query].verdicts for match in verdict.matches)


def _spans(labels: Labels, query: str) -> list[str]:
    """The different phrases of a query that may count, one that can be both category and kind counted twice."""
    parsed_query, lexicon = labels.parsed[query], labels.catalogue.lexicon
    roles_by_name = {lexicon.name(span.key): roles for span, roles in zip(parsed_query.spans, parsed_query.roles, strict=True)}
    both = [name for name, roles in roles_by_name.items() if CATEGORY in roles and lexicon.broader(name)]
    return [name for name, roles in roles_by_name.items() if roles and roles != {BRAND}] + both


def _unknown_words(labels: Labels) -> Iterator[str]:
    unknown = sorted({word for parsed_query in labels.parsed.values() for word in parsed_query.unknown})
    negations = sorted({text for parsed_query in labels.parsed.values() for text in parsed_query.negated})
    if negations:
        yield f"negated in queries, so that no item meets it there: {_listed(negations, 20)}"
    if unknown:
        yield f"words of queries that no field and no list knows ({len(unknown)}): {_listed(unknown, 20)}"


def _listed(texts: list[str], most: int = _SHOWN) -> str:
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def grades_by_stratum(strata: Strata, human: Mapping[Pair, int]) -> dict[str, list[int]]:
    """People's grades, by the stratum of their pair."""
    by_stratum: dict[str, list[int]] = {}
    for pair, grade in human.items():
        by_stratum.setdefault(strata.find(pair), []).append(grade)
    return by_stratum


def agreement_lines(agreement: Agreement, strata: Strata, human: Mapping[Pair, int]) -> Iterator[str]:
    """How far the graded sample and the rule agree, in lines for a terminal."""
    yield (
        f"{agreement.pairs} pairs graded in the sample and by the rule: {agreement.equal} equal, "
        f"{agreement.within_one} at most one apart"
    )
    if agreement.undefined is not None:
        yield agreement.undefined
    else:
        yield f"weighted kappa of the sample, all its strata alike: {_kappa_text(agreement.sample)}"
        if agreement.population is not None:
            yield f"weighted kappa of all pairs, each stratum weighted by its size: {_kappa_text(agreement.population)}"
        elif agreement.unjudged:
            which = "; ".join(f"{stratum.name} ({stratum.size:,} pairs)" for stratum in agreement.unjudged)
            yield f"weighted kappa of all pairs: not known; none was judged of grade {which}"
        else:
            yield "weighted kappa of all pairs: not known; the sample is of another catalogue, other queries or another rule"
    yield ""
    yield "rule \\ sample" + "".join(f"{grade:>6}" for grade in GRADES)
    yield from (f"{grade:>13}" + "".join(f"{count:>6}" for count in agreement.confusion[grade]) for grade in GRADES)
    yield ""
    sizes = {stratum.name: stratum.size for stratum in strata.all}
    sample_sizes = {name: len(grades) for name, grades in grades_by_stratum(strata, human).items()}
    yield "drawn by grade of the rule: " + "; ".join(
        f"{name}: {sample_sizes.get(name, 0)} of {size:,}" for name, size in sizes.items()
    )
    yield from _far_apart_lines(strata, human)


def _kappa_text(kappa: Kappa) -> str:
    if kappa.value is None:
        return "not defined"
    interval = ", too few pairs for an interval" if kappa.low is None else f", 95% interval {kappa.low:.2f} to {kappa.high:.2f}"
    return f"{kappa.value:.2f}{interval}"


def _far_apart_lines(strata: Strata, human: Mapping[Pair, int]) -> Iterator[str]:
    """The pairs where both are far apart, and why the rule decided as it did."""
    for (query, item), grade in human.items():
        verdict = strata.labels.verdict((query, item))
        if abs(grade - verdict.grade) >= FAR_APART:
            title = strata.labels.catalogue.items[strata.labels.catalogue.rows[item]].title or item
            reasons = ", ".join(f"{match.role} {match.value} ({match.origin})" for match in verdict.matches) or "nothing"
            text = strata.labels.queries[query].text
            yield f"far apart: {text!r} and {title!r}: sample {grade}, rule {verdict.grade} ({verdict.rule}: {reasons})"
