"""Whether queries name or copy what they look for, so that any search for words finds it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property
from itertools import accumulate, chain, pairwise
from typing import Literal, get_args

import numpy as np

from searchmark.agents.lexical.analyser import Analyser, AnalyserSelector, AnalyserSettings, raw_words
from searchmark.agents.lexical.words import stemmed_words
from searchmark.audit.check import AuditTable, Subject, check, ids_of, once_per_subject
from searchmark.records.columns import text_list
from searchmark.records.document import Document
from searchmark.records.file_kinds import classify
from searchmark.records.finding import AGENTS, Finding, FindingKind, finding
from searchmark.records.matching import is_pattern, names_lines, path_of_lines
from searchmark.records.sentences import plain_count, quote_name
from searchmark.records.suite import Suite
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

    parts: Sequence[str]

    @cached_property
    def edges(self) -> frozenset[int]:
        return frozenset(accumulate(map(len, self.parts), initial=0))

    def has(self, parts: Sequence[str]) -> bool:
        """Whether these words are there, from the beginning of a word to the end of one."""
        text, name = "".join(self.parts), "".join(parts)
        start = text.find(name)
        while start >= 0 and not (start in self.edges and start + len(name) in self.edges):
            start = text.find(name, start + 1)
        return start >= 0 and bool(name)


@dataclass(frozen=True)
class WordForms:
    """The words of a text or a name, once in the singular and once as stems."""

    forms: tuple[CompoundWord, CompoundWord]

    @classmethod
    def of(cls, text: str) -> WordForms:
        from searchmark.git.mining.leakage import words_of_name  # every report would wait for it

        words = words_of_name(text)
        return cls((CompoundWord([*map(_singular, words)]), CompoundWord(stemmed_words(" ".join(words)))))

    def says(self, name: WordForms) -> bool:
        """Whether the words of a name follow each other, whichever of them are written as one: "issue types" is ``issuetype``."""
        return any(own.has(other.parts) for own, other in zip(self.forms, name.forms, strict=True))

    def share_of(self, name: WordForms) -> float:
        """The share of the words of a name that occur anywhere."""
        words = list(zip(*(form.parts for form in name.forms), strict=False))
        found = sum(any(own.has([part]) for own, part in zip(self.forms, each, strict=True)) for each in words)
        return found / len(words) if words else 0.0


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
        # The best targets of a case decide on most measures.
        best = max((each.grade for each in case.judgments), default=0)
        relevant = case.judgments if best >= subject.suite.defaults.rel else ()
        targets = [each.target for each in relevant if each.grade == best and not is_pattern(each)]
        naming = naming_of(case.query, targets) if case.query else None
        if naming is not None:
            strata[naming].append(row)
    return strata


@check(FindingKind("queries-name-targets", "warning", "At least half of the queries name a target: its id, path or symbol.",
    "A search for names finds these, so the mean says little about the other cases.",
    "Report both groups of cases apart, as the table of the audit does, and add queries that describe what they look for.",
    table="named_targets",
), theme=AGENTS, after="query-source-not-relevant")  # fmt: skip
def queries_name_targets(subject: Subject) -> Iterator[Finding]:
    strata = _strata(subject)
    rows, total = sorted(row for naming in _NAMING_LEVELS for row in strata[naming]), sum(map(len, strata.values()))
    if total < FEWEST_CASES or len(rows) < NAMED_SHARE * total:
        return
    others, means = [row for naming in NAMINGS if naming not in _NAMING_LEVELS for row in strata[naming]], []
    for name, scores in subject.scores.items():
        there, elsewhere = _mean(scores, rows), _mean(scores, others)
        if there is not None and elsewhere is not None:
            means.append(f"{name} has {scores.names[0]} {there:.3f} on these and {elsewhere:.3f} on the others")
    examples = f"; {', '.join(means[:3])}" if means else ""
    yield finding("queries-name-targets", f"{len(rows)} of {total} queries name a target{examples}", ids_of(subject.suite, rows))


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


class QueryWords:
    """What documents have of the words of queries, one value per query."""

    def __init__(self, suite: Suite, existing: ExistingIds, analyser: Analyser) -> None:
        queries, relevant = suite.table.queries or (), list(_relevant(suite, existing))
        terms = {row: frozenset(analyser.query_terms(queries[row] or "")) for row in range(len(suite)) if relevant[row]}
        all_rows = np.array([row for row, own in terms.items() if own], np.int64)
        self.available = len(all_rows)  # cases that could have been looked at
        self.rows = all_rows[np.linspace(0, len(all_rows) - 1, min(MOST_CASES, len(all_rows))).astype(np.int64)]
        rows, count = self.rows.tolist(), len(self.rows)
        self.terms = np.array([len(terms[row]) for row in rows], np.int64)  # words of the query
        self.documents = 0  # in the corpus
        self.has_texts = False
        self.gold = np.zeros(count, np.int64)  # its relevant documents in the corpus
        self.shares, self.gold_shares = np.zeros(count), np.zeros(count)  # sums of the shares of its words that documents have
        self.complete, self.gold_complete = np.zeros(count, np.int64), np.zeros(count, np.int64)  # documents with all of its words
        self._ids, self._analyser = list(ids_of(suite, rows)), analyser
        self._targets: dict[str, list[int]] = {}  # queries that each document is relevant to
        asking: dict[str, list[int]] = {}  # queries with each term
        for query, row in enumerate(rows):
            for target in relevant[row]:
                self._targets.setdefault(target, []).append(query)
            for term in terms[row]:
                asking.setdefault(term, []).append(query)
        self._numbers = {term: number for number, term in enumerate(asking)}
        self._postings = [np.array(some, np.int64) for some in asking.values()]
        words = {query: stemmed_words(queries[row] or "") for query, row in enumerate(rows)}
        # All words, in order, of the queries that are long enough to be a copy.
        self._long_queries = {query: each for query, each in words.items() if len(set(each)) >= _FEWEST_WORDS}
        self._may_be_copies = np.isin(np.arange(count), list(self._long_queries))
        # Letters that a text may have and still be the copy of a query.
        self._longest = round(max((len(queries[rows[each]] or "") for each in self._long_queries), default=0) / _LIKENESS) + 20
        self._copies: dict[int, list[CopiedQuery]] = {}
        self._terms_by_word: dict[bytes, tuple[int, ...]] = {}  # words and the terms of queries that are in them
        self._other_words: set[bytes] = set()

    @property
    def copies(self) -> list[CopiedQuery]:
        return [each for query in sorted(self._copies) for each in self._copies[query]]

    @property
    def partly(self) -> str:
        """How many cases were checked, where that is not all; in the words of a finding."""
        return "" if len(self.rows) == self.available else f" (looked at: {len(self.rows)} of {self.available} cases)"

    def count(self, document: Document) -> None:
        """Count one more document."""
        self.documents += 1
        self.has_texts = self.has_texts or bool(document.text or document.title)
        relevant = self._targets.get(document.id, [])
        self.gold[relevant] += 1
        terms = self._terms_of(document)
        if not terms:
            return
        counts = np.bincount(np.concatenate([self._postings[term] for term in terms]), minlength=len(self.terms))
        share, whole = counts / self.terms, counts == self.terms
        self.shares += share
        self.complete += whole
        self.gold_shares[relevant] += share[relevant]
        self.gold_complete[relevant] += whole[relevant]
        near = np.flatnonzero(self._may_be_copies & (share >= _LIKENESS)).tolist()
        texts = [stemmed_words(text) for text in _possible_queries(document, self._longest)] if near else []
        for query in near:
            copies = self._copies.setdefault(query, [])
            if len(copies) < _MOST_COPIES and any(_is_copy(self._long_queries[query], each) for each in texts):
                copies.append(CopiedQuery(self._ids[query], document.id, query in relevant))

    def _terms_of(self, document: Document) -> set[int]:
        """The terms of the queries that a document has; every distinct word is taken apart once."""
        words = {*raw_words(document.title or ""), *raw_words(document.text)}
        others = words - self._other_words  # sets throughout: only between two of them does Python go through the smaller one
        known_words = {word for word in others if word in self._terms_by_word}
        numbers = set(chain.from_iterable(map(self._terms_by_word.__getitem__, known_words)))
        for word in others - known_words:
            terms = map(self._analyser.term, self._analyser.tokeniser.pieces(word))
            found = tuple(self._numbers[term] for term in terms if term is not None and term in self._numbers)
            numbers.update(found)
            if found:
                self._terms_by_word[word] = found
            elif len(self._other_words) < _MOST_KNOWN:  # what is frequent comes early
                self._other_words.add(word)
        return numbers


@once_per_subject
def query_words(subject: Subject) -> QueryWords | None:
    """What the corpus has of the queries' words; None where texts, queries or targets are not known."""
    suite, corpus = subject.expanded, subject.corpus
    if corpus is None or suite.table.queries is None or suite.table.documents is not None:
        return None
    existing, analyser = ExistingIds(corpus.survey.ids, corpus.survey.folder), AnalyserSelector(AnalyserSettings()).of(corpus)
    words = QueryWords(suite, existing, analyser)
    for document in corpus if len(words.rows) else ():
        words.count(document)
    return words if words.has_texts else None


def _relevant(suite: Suite, existing: ExistingIds) -> Iterator[set[str]]:
    """The relevant documents of each case, as the corpus calls them; what does not exist is left out."""
    judgments, targets = suite.judgments, text_list(suite.judgments.targets)
    starts, good = judgments.starts.tolist(), (judgments.grades >= suite.defaults.rel).tolist()
    for start, end in pairwise(starts):
        names = (targets[row] for row in range(start, end) if good[row])
        documents = (existing.resolve(path_of_lines(name) if names_lines(name) else name) for name in names)
        yield {name for name, exists in documents if exists}


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


@check(FindingKind("gold-by-words", "warning", "In nearly all cases every relevant document has all the words of the query.",
    "Elsewhere a query word is missing from 30 to 40 % of the relevant documents. Where none is, gold was chosen by its "
    "words: agents that match words are favoured, and what others find beyond them cannot be seen.",
    "Add queries in other words than the documents have, and judge what agents find that do not go by words.",
    table="query_words",
), theme=AGENTS)  # fmt: skip
def words_in_gold(subject: Subject) -> Iterator[Finding]:
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
    pairs, gold = words.documents * len(words.rows), int(words.gold.sum())
    rows = [("relevant", gold, float(words.gold_shares.sum() / gold), float(words.gold_complete.sum() / gold))]
    if (rest := pairs - gold) > 0:
        shares, whole = (words.shares - words.gold_shares).sum(), (words.complete - words.gold_complete).sum()
        rows.append(("others", rest, float(shares / rest), float(whole / rest)))
    columns = ("documents", "pairs with a query", "query words that they have", "pairs with all words")
    return AuditTable("query_words", "Words of the queries in the documents", columns, tuple(rows))


@check(FindingKind(
    "query-copied-from-target", "warning", "Queries that are, nearly word for word, the title or text of a relevant document.",
    "Any search finds a text by its own words, so that these cases flatter all agents and hide how they differ.",
    "Ask these questions in other words, or leave the copied field out of what is searched.",
), FindingKind("query-source-not-relevant", "warning", "Documents that are not relevant and say the query nearly word for word.",
    "Most searches return them first, and are charged for a wrong hit that a user would not mind.",
    "If a query was taken from this document, remove the document from what is searched for it; if it answers the query, "
    "judge it as relevant.",
), theme=AGENTS)  # fmt: skip
def copied_queries(subject: Subject) -> Iterator[Finding]:
    words = query_words(subject)
    if words is None:
        return
    targets = [each for each in words.copies if each.relevant]
    good = list(dict.fromkeys(each.case for each in targets))
    others = [each for each in words.copies if not each.relevant and each.case not in good]
    if len(good) >= max(FEWEST_COPIES, COPIED * len(words.rows)):
        sentence = f"{_copied_sentence(good, words, 'a relevant document')}{_first_ranks_text(targets, subject)}"
        yield finding("query-copied-from-target", sentence, good)
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
