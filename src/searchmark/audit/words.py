"""Whether queries name or copy what they look for, so that any search for words finds it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property
from itertools import accumulate, chain, pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.analyser import Analyser, AnalyserSelector, AnalyserSettings, raw_words
from searchmark.agents.lexical.words import stemmed_words
from searchmark.audit.check import AuditTable, Subject, check, once_per_subject
from searchmark.records.columns import Floats, Ints, text_list
from searchmark.records.document import Document
from searchmark.records.file_kinds import classify
from searchmark.records.finding import AGENTS, Finding, FindingKind, finding
from searchmark.records.matching import is_pattern, names_lines, path_of_lines
from searchmark.records.sentences import plain_count, quote_name
from searchmark.records.suite import Case, Suite
from searchmark.scoring.scores import Scores
from searchmark.scoring.targets import ExistingIds

# Queries that name what they look for: its id, path or symbol, in one word or several, singular or plural.

Naming = Literal["the id", "the name", "all words of the name", "half of the words", "nothing of it"]

NAMINGS: tuple[Naming, ...] = get_args(Naming)

_NAMING_LEVELS = NAMINGS[:3]

FEWEST_CASES = 10

HALF_OF_TARGETS = 0.5

NAMED_SHARE = 0.5  # share of the cases from which on a search for names decides on the mean

_SHORTEST = 3  # letters of a name: a shorter one may be part of a word by chance

_NUMBERED = re.compile(r"[a-z]*[\W_]*\d+|(?=.*\d)[a-f0-9-]{8,}", re.IGNORECASE)  # doc12, a digest

_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class CompoundWord:
    """Words written as one, and where each of them begins and ends."""

    text: str
    edges: frozenset[int]

    @classmethod
    def of(cls, parts: Sequence[str]) -> CompoundWord:
        return cls("".join(parts), frozenset(accumulate(map(len, parts), initial=0)))

    def has(self, parts: Sequence[str]) -> bool:
        """Whether these words are there, from the beginning of a word to the end of one."""
        name = "".join(parts)
        start = self.text.find(name)
        while start >= 0 and not (start in self.edges and start + len(name) in self.edges):
            start = self.text.find(name, start + 1)
        return start >= 0 and bool(name)


@dataclass(frozen=True)
class WordForms:
    """The words of a text or a name, once in the singular and once as stems."""

    singulars: tuple[str, ...]
    stems: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> WordForms:
        from searchmark.git.mining.leakage import words_of_name  # every report would wait for it

        words = words_of_name(text)
        return cls(tuple(map(_singular, words)), tuple(stemmed_words(" ".join(words))))

    def says(self, name: WordForms) -> bool:
        """Whether the words of a name follow each other, whichever of them are written as one: "issue types" is ``issuetype``."""
        return self._singular.has(name.singulars) or self._stems.has(name.stems)

    def share_of(self, name: WordForms) -> float:
        """The share of the words of a name that occur anywhere."""
        matches = [
            self._singular.has([one]) or self._stems.has([two]) for one, two in zip(name.singulars, name.stems, strict=False)
        ]
        return sum(matches) / len(matches) if matches else 0.0

    @cached_property
    def _singular(self) -> CompoundWord:
        return CompoundWord.of(self.singulars)

    @cached_property
    def _stems(self) -> CompoundWord:
        return CompoundWord.of(self.stems)


@cache
def _singular(word: str) -> str:
    """An English word without the ending of its plural; stems alone do not see that "issue types" is ``issuetypes``."""
    if word.endswith("ies") and len(word) > len("ties"):
        return f"{word[:-3]}y"
    if re.search(r"(?:[sxz]|ch|sh)es$", word):
        return word[:-2]
    return word[:-1] if len(word) > _SHORTEST and re.search(r"[^suio]s$", word) else word


def naming_of(query: str, targets: Iterable[str]) -> Naming | None:
    """How much the query names of at least half of the targets that have a name; None if none of them has.

    One of twenty targets that is called like a word of the query does not give the answer away.
    """
    named_targets = [(target, names) for target in targets if (names := list(_names(target))) or "/" in target]
    if not named_targets:
        return None
    words, query_text = WordForms.of(query), f" {query.lower()} "
    levels = sorted(NAMINGS.index(_naming(words, query_text, target, names)) for target, names in named_targets)
    return NAMINGS[levels[(len(levels) - 1) // 2]]


def _naming(words: WordForms, query_text: str, target: str, names: list[WordForms]) -> Naming:
    if re.search(rf"(?<!\w){re.escape(target.lower())}(?!\w)", query_text):
        return "the id"
    if any(map(words.says, names)):
        return "the name"
    share = max(map(words.share_of, names), default=0.0)
    return "all words of the name" if share == 1 else "half of the words" if share >= HALF_OF_TARGETS else "nothing of it"


def _names(target: str) -> Iterator[WordForms]:
    """What a target is called: a path by its file, a symbol with its module and without. A number is no name."""
    from searchmark.git.mining.leakage import stem_of, words_of_name  # as above

    path = path_of_lines(target) if names_lines(target) else target
    last = path.rstrip("/").rpartition("/")[2]
    is_file = last != path or classify(last) != "other"
    symbol = re.split(r"[.:#]+", path)[-1]
    own = [symbol] if len(words_of_name(symbol)) > 1 else []  # the last word of issue.create alone is that of many
    for name in dict.fromkeys([stem_of(last)] if is_file else [path, *own]):
        if len(_LETTER.findall(name)) >= _SHORTEST and not _NUMBERED.fullmatch(name):
            yield WordForms.of(name)


@once_per_subject
def _strata(subject: Subject) -> dict[Naming, list[int]]:
    """The cases by how much of a target their query names; those whose targets have no names are left out."""
    strata: dict[Naming, list[int]] = {naming: [] for naming in NAMINGS}
    for row, case in enumerate(subject.expanded.cases if subject.suite.table.queries is not None else ()):
        naming = naming_of(case.query, _targets(case, subject.suite.defaults.rel)) if case.query else None
        if naming is not None:
            strata[naming].append(row)
    return strata


def _targets(case: Case, rel: int) -> Iterator[str]:
    """The best targets of a case, which decide on most measures."""
    best = max((each.grade for each in case.judgments), default=0)
    return (each.target for each in case.judgments if each.grade == best >= rel and not is_pattern(each))


@check(FindingKind(
    "queries-name-targets", "warning", "At least half of the queries name a target: its id, path or symbol.",
    "A search for names finds these, so the mean says little about the other cases.",
    "Report both groups of cases apart, as the table of the audit does, and add queries that describe what they look for.",
    table="named_targets",
), theme=AGENTS, after="query-source-not-relevant")  # fmt: skip
def queries_name_targets(subject: Subject) -> Iterator[Finding]:
    """That a large share of the queries names a target."""
    strata = _strata(subject)
    rows, total = sorted(row for naming in _NAMING_LEVELS for row in strata[naming]), sum(map(len, strata.values()))
    if total < FEWEST_CASES or len(rows) < NAMED_SHARE * total:
        return
    ids = subject.suite.table.ids
    others = [row for naming in NAMINGS if naming not in _NAMING_LEVELS for row in strata[naming]]
    means = [text for name, scores in subject.scores.items() if (text := _difference_text(name, scores, rows, others))]
    examples = f"; {', '.join(means[:3])}" if means else ""
    yield finding("queries-name-targets", f"{len(rows)} of {total} queries name a target{examples}", [ids[row] for row in rows])


def _difference_text(name: str, scores: Scores, rows: Sequence[int], others: Sequence[int]) -> str | None:
    there, elsewhere = _mean(scores, rows), _mean(scores, others)
    if there is None or elsewhere is None:
        return None
    return f"{name} has {scores.names[0]} {there:.3f} on these and {elsewhere:.3f} on the others"


def _mean(scores: Scores, rows: Sequence[int]) -> float | None:
    """The mean of the first measure over some cases; None where it is undefined in all of them."""
    values = scores.values[np.array(rows, np.int64), 0] if scores.measures else np.zeros(0)
    defined_values = values[~np.isnan(values)]
    return float(defined_values.mean()) if len(defined_values) else None


def naming_table(subject: Subject) -> AuditTable | None:
    """How many queries name how much of a target, and the mean of each run in each of these groups."""
    strata = {naming: cases for naming, cases in _strata(subject).items() if cases}
    if not strata:
        return None
    total = sum(map(len, strata.values()))
    runs: list[tuple[str, Scores]] = [(name, scores) for name, scores in subject.scores.items() if scores.measures]
    groups = [(naming, len(cases), len(cases) / total) for naming, cases in strata.items()]
    title, columns = "Queries that name what they look for", ("the query names", "cases", "share")
    if not runs:
        return AuditTable("named_targets", title, columns, tuple(groups))
    rows = tuple((*group, name, _mean(scores, strata[group[0]])) for group in groups for name, scores in runs)
    return AuditTable("named_targets", title, (*columns, "run", runs[0][1].names[0]), rows)


# One pass over the documents of a corpus: which words of the queries they have, and which of them say what a query says.
#
# Of a document nothing is kept but counts, and of relevant documents the share of the query's words that they have: a corpus
# may be of any size. Words are cut and reduced as the lexical agents do it.

MOST_CASES = 1000  # that are checked, evenly spread over the suite: more would say the same

_MOST_KNOWN = 300_000  # distinct words that are remembered as being in no query

_FEWEST_WORDS = 4  # of a query that can be a copy: "create issue" is many a title by chance

_LIKENESS = 0.8  # common words among all words of both from which on one is a copy of the other

_MOST_COPIES = 3  # of one query that are kept


@dataclass(frozen=True)
class CopiedQuery:
    """A document that says what a query says, nearly word for word."""

    case: str  # id of the case
    document: str  # id of the document
    relevant: bool  # judged so for this case


@dataclass(frozen=True, eq=False)
class QueryWords:
    """What documents have of the words of queries, one value per query."""

    rows: Ints  # the cases that were looked at
    available: int  # cases that could have been
    documents: int  # in the corpus
    terms: Ints  # words of the query
    gold: Ints  # its relevant documents in the corpus
    gold_shares: Floats  # sum of the shares of the query's words that relevant documents have
    gold_complete: Ints  # relevant documents with all of its words
    shares: Floats  # the same sum over all documents
    complete: Ints  # documents with all of its words
    copies: tuple[CopiedQuery, ...]

    @property
    def partly(self) -> str:
        """How many cases were checked, where that is not all; in the words of a finding."""
        return "" if len(self.rows) == self.available else f" (looked at: {len(self.rows)} of {self.available} cases)"


@once_per_subject
def query_words(subject: Subject) -> QueryWords | None:
    """What the corpus has of the queries' words; None where texts, queries or targets are not known."""
    suite, corpus = subject.expanded, subject.corpus
    if corpus is None or suite.table.queries is None or suite.table.documents is not None:
        return None
    existing, analyser = ExistingIds(corpus.survey.ids, corpus.survey.folder), AnalyserSelector(AnalyserSettings()).of(corpus)
    queries = _CheckedQueries.in_suite(suite, existing, analyser)
    if not len(queries.rows):
        return None
    counting = _WordCounter(queries)
    for document in corpus:
        counting.take(document)
    return counting.result if counting.has_texts else None


@dataclass(frozen=True, eq=False)
class _CheckedQueries:
    """The queries that are checked, with their terms and targets."""

    suite: Suite
    analyser: Analyser
    rows: Ints
    available: int
    terms: Sequence[frozenset[str]]
    targets: Mapping[str, list[int]]  # queries that each document is relevant to

    @classmethod
    def in_suite(cls, suite: Suite, existing: ExistingIds, analyser: Analyser) -> _CheckedQueries:
        queries = suite.table.queries or ()
        relevant = list(_relevant(suite, existing))
        terms = {row: frozenset(analyser.query_terms(queries[row] or "")) for row in range(len(suite)) if relevant[row]}
        all_rows = np.array([row for row, row_terms in terms.items() if row_terms], np.int64)
        rows = all_rows[np.linspace(0, len(all_rows) - 1, min(MOST_CASES, len(all_rows))).astype(np.int64)]
        targets: dict[str, list[int]] = {}
        for number, row in enumerate(rows.tolist()):
            for target in relevant[row]:
                targets.setdefault(target, []).append(number)
        return cls(suite, analyser, rows, len(all_rows), [terms[row] for row in rows.tolist()], targets)

    def query(self, number: int) -> str:
        return (self.suite.table.queries or ())[int(self.rows[number])] or ""

    @cached_property
    def numbers(self) -> dict[str, int]:
        """A number for each term of the queries."""
        return {term: number for number, term in enumerate(dict.fromkeys(term for terms in self.terms for term in terms))}

    @cached_property
    def postings(self) -> list[Ints]:
        """The queries that ask for each term."""
        asking: list[list[int]] = [[] for _ in self.numbers]
        for query, terms in enumerate(self.terms):
            for term in terms:
                asking[self.numbers[term]].append(query)
        return [np.array(queries, np.int64) for queries in asking]

    @cached_property
    def long_queries(self) -> dict[int, list[str]]:
        """All words, in order, of the queries that are long enough to be a copy."""
        word_lists = ((number, stemmed_words(self.query(number))) for number in range(len(self.rows)))
        return {number: words for number, words in word_lists if len(set(words)) >= _FEWEST_WORDS}

    @cached_property
    def may_be_copies(self) -> NDArray[np.bool_]:
        marks = np.zeros(len(self.rows), bool)
        marks[list(self.long_queries)] = True
        return marks

    @cached_property
    def longest(self) -> int:
        """Letters that a text may have and still be the copy of a query."""
        return round(max((len(self.query(number)) for number in self.long_queries), default=0) / _LIKENESS) + 20


def _relevant(suite: Suite, existing: ExistingIds) -> Iterator[set[str]]:
    """The relevant documents of each case, as the corpus calls them; what does not exist is left out."""
    judgments, targets = suite.judgments, text_list(suite.judgments.targets)
    starts, good = judgments.starts.tolist(), (judgments.grades >= suite.defaults.rel).tolist()
    for start, end in pairwise(starts):
        names = (targets[row] for row in range(start, end) if good[row])
        documents = (existing.resolve(path_of_lines(name) if names_lines(name) else name) for name in names)
        yield {name for name, exists in documents if exists}


class _WordCounter:
    """Counts document by document."""

    def __init__(self, queries: _CheckedQueries) -> None:
        count = len(queries.rows)
        self._queries = queries
        self._sizes = np.array([len(terms) for terms in queries.terms], np.int64)
        self._shares, self._gold_shares = np.zeros(count), np.zeros(count)
        self._complete, self._gold, self._gold_complete = (np.zeros(count, np.int64) for _ in range(3))
        self._copies: dict[int, list[CopiedQuery]] = {}
        self._documents = 0
        self.has_texts = False
        self._terms_by_word: dict[bytes, tuple[int, ...]] = {}  # words and the terms of queries that are in them
        self._other_words: set[bytes] = set()

    def take(self, document: Document) -> None:
        """Count one more document."""
        self._documents += 1
        self.has_texts = self.has_texts or bool(document.text or document.title)
        relevant = self._queries.targets.get(document.id, [])
        self._gold[relevant] += 1
        terms = self._terms(document)
        if not terms:
            return
        counts = np.bincount(np.concatenate([self._queries.postings[term] for term in terms]), minlength=len(self._sizes))
        share, whole = counts / self._sizes, counts == self._sizes
        self._shares += share
        self._complete += whole
        self._gold_shares[relevant] += share[relevant]
        self._gold_complete[relevant] += whole[relevant]
        near = np.flatnonzero(self._queries.may_be_copies & (share >= _LIKENESS))
        if len(near):
            self._look_for_copies(document, near.tolist(), relevant)

    def _terms(self, document: Document) -> set[int]:
        """The terms of the queries that a document has; every distinct word is taken apart once."""
        words = {*raw_words(document.title or ""), *raw_words(document.text)}
        others = words - self._other_words  # sets throughout: only between two of them does Python go through the smaller one
        known_words = {word for word in others if word in self._terms_by_word}
        numbers = set(chain.from_iterable(map(self._terms_by_word.__getitem__, known_words)))
        for word in others - known_words:
            terms = self._terms_in(word)
            numbers.update(terms)
            if terms:
                self._terms_by_word[word] = terms
            elif len(self._other_words) < _MOST_KNOWN:  # what is frequent comes early
                self._other_words.add(word)
        return numbers

    def _terms_in(self, word: bytes) -> tuple[int, ...]:
        analyser, numbers = self._queries.analyser, self._queries.numbers
        terms = map(analyser.term, analyser.tokeniser.pieces(word))
        return tuple(numbers[term] for term in terms if term is not None and term in numbers)

    def _look_for_copies(self, document: Document, near: Iterable[int], relevant: Sequence[int]) -> None:
        texts = [stemmed_words(text) for text in _possible_queries(document, self._queries.longest)]
        for query in near:
            query_words, copies = self._queries.long_queries[query], self._copies.setdefault(query, [])
            if len(copies) < _MOST_COPIES and any(_is_copy(query_words, each) for each in texts):
                case = self._queries.suite.table.ids[int(self._queries.rows[query])]
                copies.append(CopiedQuery(case, document.id, query in relevant))

    @property
    def result(self) -> QueryWords:
        copies = tuple(each for query in sorted(self._copies) for each in self._copies[query])
        queries = self._queries
        return QueryWords(
            rows=queries.rows,
            available=queries.available,
            documents=self._documents,
            terms=self._sizes,
            gold=self._gold,
            gold_shares=self._gold_shares,
            gold_complete=self._gold_complete,
            shares=self._shares,
            complete=self._complete,
            copies=copies,
        )


def _is_copy(query_words: Sequence[str], text_words: Sequence[str]) -> bool:
    """Whether two texts have nearly the same words, and those in the same order."""
    one, two = set(query_words), set(text_words)
    alike = len(one & two) >= _LIKENESS * len(one | two)
    return alike and SequenceMatcher(None, query_words, text_words, autojunk=False).ratio() >= _LIKENESS


def _possible_queries(document: Document, longest: int) -> Iterator[str]:
    """What of a document may be a query: its title, a field, its text, the first line or sentence of it."""
    line = document.text.lstrip()[: longest + 1].partition("\n")[0]
    sentences = (line[: line.find(end) + 1] for end in "?.!" if end in line)
    fields = (value for value in document.fields.values() if isinstance(value, str))
    for text in (document.title or "", document.text, line, *sentences, *fields):
        if text and len(text) <= longest:
            yield text


# Gold that follows the words of the query: documents that any search for words finds.

FEWEST_TERMS = 2  # words of a query that count: one alone is in most of what is relevant to it


# Cases in which all relevant documents have all words. A query word is missing from 30 to 40 % of the relevant documents
# (Zhao and Callan, 2010), so with two words and one target such cases are fewer than half where people have judged what they mean.
NEARLY_ALL = 0.9

FEWEST_COPIES, COPIED = 3, 0.1  # relevant copies: some queries are titles, and a tenth of the cases moves a mean by a tenth at most


@check(FindingKind(
    "gold-by-words", "warning", "In nearly all cases every relevant document has all the words of the query.",
    "Elsewhere a query word is missing from 30 to 40 % of the relevant documents. Where none is, gold was chosen by its "
    "words: agents that match words are favoured, and what others find beyond them cannot be seen.",
    "Add queries in other words than the documents have, and judge what agents find that do not go by words.",
    table="query_words",
), theme=AGENTS)  # fmt: skip
def words_in_gold(subject: Subject) -> Iterator[Finding]:
    """Whether relevant documents are those that have the words of the query."""
    words = query_words(subject)
    if words is None:
        return
    usable = np.flatnonzero((words.terms >= FEWEST_TERMS) & (words.gold > 0))
    whole = usable[words.gold_complete[usable] == words.gold[usable]]
    if len(usable) < FEWEST_CASES or len(whole) < NEARLY_ALL * len(usable):
        return
    ids = subject.suite.table.ids
    relevant = words.gold_complete[usable].sum() / max(1, words.complete[usable].sum())
    message = (
        f"in {len(whole)} of {len(usable)} cases every relevant document has all words of the query{words.partly}; "
        f"of all documents that have them {relevant:.0%} are relevant"
    )
    yield finding("gold-by-words", message, [ids[row] for row in words.rows[whole]])


def words_table(subject: Subject) -> AuditTable | None:
    """How many of the words of a query are in its relevant documents, and in others."""
    words = query_words(subject)
    if words is None or not words.gold.any():
        return None
    columns = ("documents", "pairs with a query", "query words that they have", "pairs with all words")
    return AuditTable("query_words", "Words of the queries in the documents", columns, tuple(_word_rows(words)))


def _word_rows(words: QueryWords) -> Iterator[tuple[str, int, float, float]]:
    pairs, gold = words.documents * len(words.rows), int(words.gold.sum())
    yield "relevant", gold, float(words.gold_shares.sum() / gold), float(words.gold_complete.sum() / gold)
    if pairs > gold:
        shares, whole = (words.shares - words.gold_shares).sum(), (words.complete - words.gold_complete).sum()
        yield "others", pairs - gold, float(shares / (pairs - gold)), float(whole / (pairs - gold))


@check(FindingKind(
    "query-copied-from-target", "warning", "Queries that are, nearly word for word, the title or text of a relevant document.",
    "Any search finds a text by its own words, so that these cases flatter all agents and hide how they differ.",
    "Ask these questions in other words, or leave the copied field out of what is searched.",
), FindingKind(
    "query-source-not-relevant", "warning", "Documents that are not relevant and say the query nearly word for word.",
    "Most searches return them first, and are charged for a wrong hit that a user would not mind.",
    "If a query was taken from this document, remove the document from what is searched for it; if it answers the query, "
    "judge it as relevant.",
), theme=AGENTS)  # fmt: skip
def copied_queries(subject: Subject) -> Iterator[Finding]:
    """Queries that a document says word for word: the source that they were taken from."""
    words = query_words(subject)
    if words is None:
        return
    targets = [each for each in words.copies if each.relevant]
    good = list(dict.fromkeys(each.case for each in targets))
    others = [each for each in words.copies if not each.relevant and each.case not in good]
    if len(good) >= max(FEWEST_COPIES, COPIED * len(words.rows)):
        yield finding(
            "query-copied-from-target",
            f"{_copied_sentence(good, words, 'a relevant document')}{_first_ranks_text(targets, subject)}",
            good,
        )
    if others:
        cases = list(dict.fromkeys(each.case for each in others))
        sentence = _copied_sentence(cases, words, "a document that is not judged relevant")
        examples = ", ".join(quote_name(each.document) for each in others[:3])
        yield finding("query-source-not-relevant", f"{sentence}, such as {examples}{_first_ranks_text(others, subject)}", cases)


def _copied_sentence(cases: list[str], words: QueryWords, what: str) -> str:
    return f"{plain_count(len(cases), 'query', 'queries')} of {len(words.rows)} nearly word for word in {what}{words.partly}"


def _first_ranks_text(copies: list[CopiedQuery], subject: Subject) -> str:
    """How often each run returns such a document first."""
    sources: dict[str, set[str]] = {}
    for each in copies:
        sources.setdefault(each.case, set()).add(each.document)
    counts = []
    for name, scores in subject.scores.items():
        run = scores.matched.run
        cases = [case for case in sources if case in run.index]
        first = sum(bool(sources[case].intersection(run.ids_of(run.index[case])[:1])) for case in cases)
        counts.append(f"{name} {first}")
    return f"; first hit in so many of these cases: {', '.join(counts)}" if counts else ""
