"""Makes suites with variants of queries, and finds cases in which words point to the wrong document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nsmallest
from itertools import chain, islice
from math import log
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.analyser import Analyser, AnalyserSelector, AnalyserSettings, raw_words
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.formats.corpora.case_locations import with_exclusions
from searchmark.formats.corpora.corpus import Corpus
from searchmark.judgments import variants
from searchmark.judgments.variants import Draws, PhraseTable, read_phrases, replaced_once, replaced_throughout
from searchmark.records.document import Document
from searchmark.records.matching import names_lines, path_of_lines
from searchmark.records.sentences import count_of, quote_name
from searchmark.records.suite import LANGUAGE_FIELDS, PERTURBATION, PERTURBED_FROM, Case, Suite, is_variant
from searchmark.scoring.match import expand_suite
from searchmark.scoring.targets import ExistingIds

# A query and numbers to choose by become variants, the ones to take first.
Edit = Callable[[str, Draws], Iterator[str]]

SYNONYM, TRANSLATION = "synonym", "translation"


VARIANT_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "typo": "a letter of a key beside the right one, on a US keyboard",
        "transposition": "two neighbouring letters have changed places",
        "dropped-letter": "a letter is missing",
        "case": "small letters, capitals, or capitals at the beginning of words",
        "word-order": "the words in another order",
        "plural": "a noun in the other number (English)",
        "identifier-split": "getUser and get_user become get user",
        "identifier-join": "get user becomes getUser or get_user; getUser becomes get_user",
        "accents": "Latin letters without accents",
        SYNONYM: "a phrase by one that --synonyms names",
        "stop-words-removed": "without function words",
        "stop-words-added": "one function word more",
        "truncation": "the last word not finished",
        TRANSLATION: "every phrase that --glossary names by its translation",
    }
)

_FILE_OF = {SYNONYM: "--synonyms", TRANSLATION: "--glossary"}

LANGUAGES = tuple(variants.ADDED)

OF_A_LANGUAGE = frozenset({"plural", "stop-words-removed", "stop-words-added"})


# What the field of a case may call each of them.
_CODES = {"english": "en", "dutch": "nl", "french": "fr", "german": "de", "italian": "it", "portuguese": "pt", "spanish": "es"}


@dataclass(frozen=True)
class WordFiles:
    """The files that some kinds need."""

    synonyms: Path | None = None
    glossary: Path | None = None

    def table_of(self, kind: str) -> PhraseTable | None:
        path = {SYNONYM: self.synonyms, TRANSLATION: self.glossary}.get(kind)
        return None if path is None else read_phrases(path, one_way=kind == TRANSLATION)


@dataclass(frozen=True)
class ChosenKinds:
    """What is done to queries, by kind; ``skipped_lines`` counts the lines of each file of words that say something else."""

    edits: Mapping[str, Edit]
    language: str = variants.ENGLISH
    skipped_lines: Mapping[str, int] = field(default_factory=dict)

    def suits(self, kind: str, language: str | None) -> bool:
        """Whether a kind works for a query in this language, given by name or code; None if the language is not known."""
        if kind not in OF_A_LANGUAGE or language is None:
            return True
        return language.lower() == self.language or re.split("[-_]", language.lower())[0] == _CODES[self.language]


def choose_kinds(names: Sequence[str], files: WordFiles, language: str) -> ChosenKinds:
    """The kinds that were named, or else all that are possible: some need a file of words."""
    tables = {kind: files.table_of(kind) for kind in _FILE_OF}
    for kind, flag in _FILE_OF.items():
        if kind in names and tables[kind] is None:
            raise UsageError(f"--kind {kind} needs a file of words; name it with {flag} FILE")
        if names and kind not in names and tables[kind] is not None:
            raise UsageError(f"{flag} is used by --kind {kind} alone; add that, or leave out {flag}")
    if "plural" in names and language != variants.ENGLISH:
        raise UsageError(f"--kind plural knows English alone; leave it out, or leave out --language {language}")
    simple: dict[str, Edit] = {
        "typo": variants.typos,
        "transposition": variants.transpositions,
        "dropped-letter": variants.dropped_letters,
        "case": variants.letter_cases,
        "word-order": partial(variants.word_orders, language=language),
        **({"plural": variants.other_numbers} if language == variants.ENGLISH else {}),
        "identifier-split": variants.split_identifiers,
        "identifier-join": variants.joined_identifiers,
        "accents": variants.without_accents,
        "stop-words-removed": partial(variants.without_stop_words, language=language),
        "stop-words-added": partial(variants.with_stop_words, language=language),
        "truncation": variants.truncations,
    }
    with_files: dict[str, Edit] = {
        kind: partial(replaced_once, table=table)
        if kind == SYNONYM
        else partial(replaced_throughout, table=table, language=language)
        for kind, table in tables.items()
        if table is not None
    }
    every = simple | with_files
    edits = {kind: every[kind] for kind in VARIANT_KINDS if kind in every and (not names or kind in names)}
    skipped_lines = {
        _FILE_OF[kind]: table.skipped_lines for kind, table in tables.items() if table is not None and table.skipped_lines
    }
    return ChosenKinds(edits, language, skipped_lines)


# A suite with variants of its queries: each is a case of its own, judged as its original is, and one observation with it.

VARIANT_TAG = "perturbed-"  # and the kind: a suite may have other tags that are named like a kind

MOST_TRIED = 100  # variants of one kind and case, of which some may be there already


# Why a variant was left out.
SAME_AS_QUERY, SAME_AS_VARIANT, SAME_AS_CASE = "equal to the query", "equal to another variant", "the query of another case"

OTHER_LANGUAGE = "cases in another language"


# Why a case has no variant at all.
NO_QUERY, OWN_REQUEST = "without a query", "with a request of their own, which agents send in place of the query"


@dataclass(frozen=True)
class KindCounts:
    """What became of one kind."""

    kind: str
    variants: int
    cases: int  # that have such variants
    left_out: Mapping[str, int]  # variants by reason
    unchanged: int  # cases with nothing to change


@dataclass(frozen=True)
class SuiteWithVariants:
    """Originals and variants in one suite, and what was counted on the way."""

    suite: Suite
    originals: int  # how many
    kinds: tuple[KindCounts, ...]
    skipped: Mapping[str, int]  # originals by reason


def perturb(suite: Suite, kinds: ChosenKinds, *, per_case: int = 1, seed: int = 0) -> SuiteWithVariants:
    """The suite with up to ``per_case`` variants of every kind behind each of its cases."""
    variant_count = sum(map(is_variant, suite.table.fields or ()))
    if variant_count:
        raise UsageError(
            f"the suite {suite.name!r} holds {count_of(variant_count, 'variant')} already; perturb the suite they were made of"
        )
    making = _VariantMaker(suite, kinds, per_case, seed)
    cases = list(making.cases())
    if len(cases) == len(suite):
        raise NothingEvaluated(f"no query of {suite.name!r} can be varied by {', '.join(kinds.edits)}; nothing was written")
    about = {"of": suite.name, "kinds": list(kinds.edits), "per_case": per_case, "seed": seed}
    new_suite = Suite.from_cases(
        f"{suite.name}-perturbed",
        cases,
        defaults=suite.defaults,
        description=suite.description,
        model=suite.model,
        metadata={**suite.metadata, "perturbed": about},
        kind=suite.kind,
    )
    return SuiteWithVariants(new_suite, len(suite), tuple(map(making.counts_of, kinds.edits)), dict(making.skipped))


class _VariantMaker:
    """Makes variants case by case, and counts."""

    def __init__(self, suite: Suite, kinds: ChosenKinds, per_case: int, seed: int) -> None:
        self._suite, self._kinds, self._per_case, self._seed = suite, kinds, per_case, seed
        self._queries = {case.query for case in suite.cases}
        self._ids = set(suite.table.ids)
        self._variants, self._cases, self._unchanged = Counter[str](), Counter[str](), Counter[str]()
        self._left_out = {kind: Counter[str]() for kind in kinds.edits}
        self.skipped = Counter[str]()

    def counts_of(self, kind: str) -> KindCounts:
        return KindCounts(kind, self._variants[kind], self._cases[kind], dict(self._left_out[kind]), self._unchanged[kind])

    def cases(self) -> Iterator[Case]:
        """Every original, and its variants behind it."""
        for case, origin in zip(self._suite.cases, origins_of(self._suite), strict=True):
            original = replace(case, origin=origin)
            yield original
            if case.query is None or not case.query.strip():
                self.skipped[NO_QUERY] += 1
            elif case.request is not None:
                self.skipped[OWN_REQUEST] += 1
            else:
                yield from self._variants_of(original, case.query)

    def _variants_of(self, original: Case, query: str) -> Iterator[Case]:
        known_texts = {query}
        language = next((str(original.fields[name]) for name in LANGUAGE_FIELDS if name in original.fields), None)
        for kind, edit in self._kinds.edits.items():
            if not self._kinds.suits(kind, language):
                self._left_out[kind][OTHER_LANGUAGE] += 1
                continue
            texts = list(self._texts(kind, edit(query, Draws(self._seed, original.id, kind)), query, known_texts))
            self._variants[kind] += len(texts)
            self._cases[kind] += bool(texts)
            yield from (self._variant(original, kind, number, text) for number, text in enumerate(texts, 1))

    def _texts(self, kind: str, texts: Iterable[str], query: str, known_texts: set[str]) -> Iterator[str]:
        """Up to ``per_case`` new texts; repeats are counted."""
        missing, has_texts = self._per_case, False
        for text in islice(texts, MOST_TRIED):
            has_texts = True
            reason = self._why_not(text, query, known_texts)
            if reason is not None:
                self._left_out[kind][reason] += 1
                continue
            known_texts.add(text)
            yield text
            missing -= 1
            if not missing:
                return
        self._unchanged[kind] += not has_texts

    def _why_not(self, text: str, query: str, known_texts: set[str]) -> str | None:
        if not text.strip() or text == query:
            return SAME_AS_QUERY
        if text in known_texts:
            return SAME_AS_VARIANT
        return SAME_AS_CASE if text in self._queries else None

    def _variant(self, original: Case, kind: str, number: int, text: str) -> Case:
        fields = {
            name: value for name, value in original.fields.items() if kind != TRANSLATION or name not in LANGUAGE_FIELDS
        }  # which language it is in now, the glossary does not say
        return replace(
            original,
            id=self._new_id(f"{original.id}~{kind}-{number}"),
            query=text,
            tags=(*original.tags, f"{VARIANT_TAG}{kind}"),
            fields={**fields, PERTURBATION: kind, PERTURBED_FROM: original.id},
        )

    def _new_id(self, name: str) -> str:
        while name in self._ids:
            name += "~"
        self._ids.add(name)
        return name


def origins_of(suite: Suite) -> list[str]:
    """The origin of every case: its own, or else the first of the cases that it is one observation with.

    Variants share their original's targets, so without an origin cases that were apart would be joined, or joined ones parted.
    """
    clusters = range(len(suite)) if suite.clusters is None else suite.clusters.tolist()
    first: dict[int, str] = {}
    own = suite.table.origins or (None,) * len(suite)
    return [first.setdefault(cluster, origin or case) for cluster, origin, case in zip(clusters, own, suite.table.ids, strict=True)]


# Cases in which words point to the wrong document: one that is not relevant has more of the query's words than any that is.
#
# Words weigh by their inverse document frequency, and are cut and reduced as bm25 does it. How often a word is in a document,
# and how long that is, do not count.

TRAP_TAG = "lexical-trap"

DISTRACTOR, DISTRACTORS = "distractor", "distractors"

MOST_NAMED = 3  # distractors of one case

_MOST_KNOWN = 300_000  # distinct words that are remembered as being in no query

SAME = 1e-9  # weights that differ by less are equal


# Why a case was not checked.
UNANSWERABLE, NO_WORDS = "unanswerable", "without words to search for"

NOTHING_RELEVANT = "without a relevant document in the corpus"

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Trap:
    """One case in which words point to the wrong document."""

    case: str  # its id
    distractors: tuple[str, ...]  # ids of wrong documents, the strongest first
    share: float  # of the query's weight that the first distractor has
    relevant_share: float  # what the best relevant document has
    more: int  # documents that have more than that


@dataclass(frozen=True)
class LexicalTraps:
    """The traps of a suite."""

    suite: Suite
    traps: Mapping[str, Trap]  # by case
    cases_checked: int
    skipped: Mapping[str, int]  # cases that were not checked, by reason

    def trapped(self) -> Suite:
        """The suite of these cases alone, each tagged, its distractors named."""
        if not self.traps:
            raise NothingEvaluated(f"no case of the suite {self.suite.name!r} is a lexical trap; nothing was written")
        cases = [_tag_case(case, self.traps[case.id]) for case in self.suite.cases if case.id in self.traps]
        same = {name: getattr(self.suite, name) for name in ("defaults", "description", "model", "metadata", "kind")}
        return Suite.from_cases(f"{self.suite.name}-traps", cases, **same)


def _tag_case(case: Case, trap: Trap) -> Case:
    fields = {**case.fields, DISTRACTOR: trap.distractors[0], DISTRACTORS: list(trap.distractors)}
    return replace(case, tags=tuple(dict.fromkeys((*case.tags, TRAP_TAG))), fields=fields)


def lexical_traps(suite: Suite, corpus: Corpus | None) -> LexicalTraps:
    """The traps of a suite in one corpus; without one, each case is checked in its own documents."""
    traps, skips, checked = dict[str, Trap](), Counter[str](), 0
    parts = [(suite, corpus)] if corpus is not None else _cases_by_documents(suite)
    for part, part_corpus in parts:
        answerable = part.only([case.id for case in part.cases if not case.unanswerable])
        skips[UNANSWERABLE] += len(part) - len(answerable)
        if not len(answerable):
            continue
        search = _TrapSearch(answerable, part_corpus)
        for case, trap in search.cases():
            if isinstance(trap, str):
                skips[trap] += 1
                continue
            checked += 1
            traps |= {} if trap is None else {case: trap}
    return LexicalTraps(suite, traps, checked, {reason: count for reason, count in skips.items() if count})


def _cases_by_documents(suite: Suite) -> Iterator[tuple[Suite, Corpus]]:
    """Cases with the same documents together."""
    together: dict[tuple[Document, ...] | tuple[tuple[str, str], ...], list[Case]] = {}
    for case in suite.cases:
        together.setdefault(tuple((each.id, each.text) for each in case.documents), []).append(case)
    for cases in together.values():
        documents = cases[0].documents
        if documents:
            yield Suite.from_cases(suite.name, cases, defaults=suite.defaults), Corpus.of(suite.name, documents)


class _TrapSearch:
    """The queries of a suite against one corpus, which is read once."""

    def __init__(self, suite: Suite, corpus: Corpus) -> None:
        self._suite = expand_suite(with_exclusions(suite, corpus.survey), corpus.survey.ids)
        self._existing = ExistingIds(corpus.survey.ids, corpus.survey.folder)
        self._analyser = AnalyserSelector(AnalyserSettings()).of(corpus)
        self._terms = {case.id: sorted(set(self._analyser.query_terms(case.query or ""))) for case in suite.cases}
        self._postings = _TermDocuments(self._analyser, set(chain.from_iterable(self._terms.values())))
        for document in corpus:
            self._postings.take(document)
        self._names = list(self._postings.rows)

    def cases(self) -> Iterator[tuple[str, Trap | str | None]]:
        """Every case with its trap, None where there is none, or the reason why it was not checked."""
        for case in self._suite.cases:
            yield case.id, self._look_at(case)

    def _look_at(self, case: Case) -> Trap | str | None:
        terms = self._terms[case.id]
        if not terms:
            return NO_WORDS
        relevant = self._rows(case, self._suite.defaults.rel)
        if not relevant:
            return NOTHING_RELEVANT
        weights, whole = self._postings.weights(terms)
        best = float(weights[relevant].max())
        weights[self._rows(case, 1)] = -1.0  # what is relevant to a lower degree is no wrong document
        more = np.flatnonzero(weights > best + SAME)
        if not len(more):
            return None
        names, heavy = self._names, weights.tolist()
        strongest = nsmallest(MOST_NAMED, more.tolist(), key=lambda row: (-heavy[row], names[row]))
        return Trap(
            case.id,
            tuple(names[row] for row in strongest),
            float(weights[strongest[0]]) / whole,
            best / whole,
            len(more),
        )

    def _rows(self, case: Case, lowest: int) -> list[int]:
        """The documents that are judged to be of at least this grade."""
        names = (judgment.target for judgment in case.judgments if judgment.grade >= lowest)
        resolved_names = (self._existing.resolve(path_of_lines(name) if names_lines(name) else name) for name in names)
        rows = self._postings.rows
        return sorted({rows[name] for name, exists in resolved_names if exists and name in rows})


class _TermDocuments:
    """Which documents have which of some terms; other words are not stored."""

    def __init__(self, analyser: Analyser, terms: Iterable[str]) -> None:
        self._analyser = analyser
        self._having: dict[str, list[int]] = {term: [] for term in sorted(terms)}
        self._terms_by_word: dict[bytes, tuple[str, ...]] = {}
        self._other_words: set[bytes] = set()
        self.rows: dict[str, int] = {}

    def take(self, document: Document) -> None:
        row = self.rows.setdefault(document.id, len(self.rows))
        words = {*raw_words(document.title or ""), *raw_words(document.text)} - self._other_words
        for term in {term for word in words for term in self._terms_in(word)}:
            self._having[term].append(row)

    def _terms_in(self, word: bytes) -> tuple[str, ...]:
        if word not in self._terms_by_word:
            terms = map(self._analyser.term, self._analyser.tokeniser.pieces(word))
            corpus_terms = tuple(term for term in terms if term is not None and term in self._having)
            if corpus_terms:
                self._terms_by_word[word] = corpus_terms
            elif len(self._other_words) < _MOST_KNOWN:
                self._other_words.add(word)
            return corpus_terms
        return self._terms_by_word[word]

    def weights(self, terms: Sequence[str]) -> tuple[Weights, float]:
        """What every document has of the weight of a query, and all that there is to have."""
        weights, whole = np.zeros(len(self.rows)), 0.0
        for term in terms:
            having = self._having[term]
            weight = log(1 + (len(self.rows) - len(having) + 0.5) / (len(having) + 0.5))  # as bm25 has it
            weights[having] += weight
            whole += weight
        return weights, whole


# Summaries of variants and traps for the terminal.

TRAPS_SHOWN = 10


def variant_lines(perturbed_suite: SuiteWithVariants) -> Iterator[str]:
    """One line per kind, then what had no variants at all."""
    width = max(len(each.kind) for each in perturbed_suite.kinds)
    for each in perturbed_suite.kinds:
        reasons = [f"{reason}: {count}" for reason, count in sorted(each.left_out.items())]
        reasons += [f"cases with nothing to change: {each.unchanged}"] if each.unchanged else []
        left_out = f" (left out: {', '.join(reasons)})" if reasons else ""
        yield f"{each.kind:<{width}}  {count_of(each.variants, 'variant')} of {count_of(each.cases, 'case')}{left_out}"
    for reason, count in sorted(perturbed_suite.skipped.items()):
        yield f"cases not varied, {reason}: {count}"


def trap_lines(summary: LexicalTraps) -> Iterator[str]:
    """How many cases are traps, the first of them, and which cases were not checked."""
    share = f" ({len(summary.traps) / summary.cases_checked:.0%})" if summary.cases_checked else ""
    traps = f"{len(summary.traps)} of {count_of(summary.cases_checked, 'case')}{share}"
    yield (
        f"lexical traps: {traps}: a document that is not judged relevant has more of the query's words, "
        "by their idf, than every relevant one"
    )
    queries = {case.id: case.query or "" for case in summary.suite.cases if case.id in summary.traps}
    for trap in list(summary.traps.values())[:TRAPS_SHOWN]:
        yield f"  {trap_sentence(trap, queries[trap.case])}"
    if len(summary.traps) > TRAPS_SHOWN:
        yield f"  and {len(summary.traps) - TRAPS_SHOWN} more"
    for reason, count in sorted(summary.skipped.items()):
        yield f"cases not looked at, {reason}: {count}"


def trap_sentence(trap: Trap, query: str) -> str:
    return (
        f"{trap.case} {quote_name(query)}: {trap.distractors[0]} has {trap.share:.0%} of the words' weight, "
        f"the best relevant document "
        f"{trap.relevant_share:.0%}; documents with more than that: {trap.more}"
    )
