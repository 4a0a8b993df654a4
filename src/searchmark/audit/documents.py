"""Checks that read the documents: copies, duplicate ids, deprecation, files of the benchmark among them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import ceil
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.analyser import identifier_tokens, raw_words
from searchmark.audit.check import Subject, check, ids_of, once_per_subject
from searchmark.config.run import OUR_FOLDER
from searchmark.formats.corpora.corpus import Corpus
from searchmark.records.columns import distinct
from searchmark.records.document import Document, field_texts
from searchmark.records.finding import CORPUS, GOLD, Finding, FindingKind, finding
from searchmark.records.matching import nfc, normal_path
from searchmark.records.sentences import list_first, plain_count, quote_name
from searchmark.records.suite import Suite
from searchmark.scoring.matches import PATH

# Texts as sets of numbers, one for every three words in a row: near copies have nearly the same set (Broder, 1997).

Shingles = NDArray[np.uint64]
LENGTH = 3
# Candidates that a text is compared with at most. Which ones come first rotates, so that equal candidates take turns.
MOST_COMPARED = 20
_EAST_ASIAN = "぀-ヿ㐀-鿿가-힯"  # written without spaces: every sign is taken for a word
_WORD = re.compile(rf"[{_EAST_ASIAN}]|[^\W{_EAST_ASIAN}]+")


def shingles(document: Document) -> Shingles:
    """The set of a document, sorted; empty if it has fewer words than one shingle."""
    words = _WORD.findall(f"{document.title or ''}\n{document.text}".casefold())
    if len(words) < LENGTH:
        return np.zeros(0, np.uint64)
    # Python's own hash of a text is another one in every process.
    each = "\n".join(words).encode("utf-8", "surrogatepass").split(b"\n")
    hashes = np.fromiter(map(crc32, each), np.uint64, len(each))
    rows = len(hashes) - LENGTH + 1
    numbers = np.zeros(rows, np.uint64)
    for place in range(LENGTH):  # the order of the words counts
        numbers = (numbers ^ hashes[place : place + rows]) * np.uint64(0x9E3779B97F4A7C15)
        numbers ^= numbers >> np.uint64(29)
    return distinct(numbers)


def similarity(one: Shingles, other: Shingles) -> float:
    """The share of common numbers among all of both (Jaccard)."""
    if not len(one) or not len(other):
        return 0.0
    common = np.count_nonzero(one.take(np.searchsorted(one, other), mode="clip") == other)
    return float(common / (len(one) + len(other) - common))


class NearCopies:
    """An index of some texts that finds those which share at least such a part of their numbers with another.

    A text lacks few of the numbers of its near copy. So it has one of any few more than these, and the index needs only as many
    of each text: the rarest, which boilerplate is not among.
    """

    def __init__(self, texts: Mapping[str, Shingles], at_least: float) -> None:
        self._names, self._texts, self._at_least = list(texts), list(texts.values()), at_least
        numbers, counts = np.unique(np.concatenate([np.zeros(0, np.uint64), *self._texts]), return_counts=True)
        rarest = []
        for text in self._texts:  # one number more than a text of this similarity can lack
            lacking = len(text) - ceil(at_least * len(text) - 1e-9)
            rarest.append(text[np.argsort(counts[np.searchsorted(numbers, text)], kind="stable")[: lacking + 1]])
        keys = np.concatenate([np.zeros(0, np.uint64), *rarest])
        order = np.argsort(keys, kind="stable")
        self._keys, self._owners = keys[order], np.repeat(np.arange(len(rarest)), list(map(len, rarest)))[order]
        self._turn = 0
        self.cut = False  # whether a text had more candidates than were compared

    def __len__(self) -> int:
        return len(self._names)

    def of(self, text: Shingles) -> Iterator[str]:
        """The names of the texts that are as similar as that, in the order of the index."""
        for at in sorted(self._candidates(text)):
            if similarity(self._texts[at], text) >= self._at_least:
                yield self._names[at]

    def _candidates(self, text: Shingles) -> list[int]:
        """The texts that share an indexed number with this one: those that share most, if there are too many."""
        starts, ends = (np.searchsorted(self._keys, text, side).tolist() for side in ("left", "right"))
        rows = [self._owners[start:end] for start, end in zip(starts, ends, strict=True) if end > start]
        overlaps = np.bincount(np.concatenate(rows)) if rows else np.zeros(0, np.int64)
        owners = np.flatnonzero(overlaps)
        if len(owners) > MOST_COMPARED:
            self.cut = True
            self._turn += MOST_COMPARED
            owners = owners[np.lexsort(((owners - self._turn) % len(self._names), -overlaps[owners]))[:MOST_COMPARED]]
        return [int(at) for at in owners]


# What documents say about themselves: that they are deprecated, what they are called now, or used to be called.

FIRST_LINES, FIRST_CHARACTERS = 10, 2000  # of a document, where such a mark is about all of it

_FLAGS = frozenset(
    {"deprecated", "is_deprecated", "x-deprecated", "obsolete", "is_obsolete", "archived", "is_archived", "removed", "internal",
     "is_internal"}
)  # fmt: skip

_STATES = frozenset({"status", "state", "stage", "lifecycle", "stability", "availability", "visibility", "tags", "labels"})

_ENDED = frozenset(
    {"deprecated", "archived", "obsolete", "removed", "internal", "retired", "superseded", "withdrawn", "discontinued", "eol",
     "end-of-life"}
)  # fmt: skip

_NOT_SO = frozenset({"", "false", "no", "none", "null", "0", "n", "never"})

_NEW_NAMES = frozenset(
    {"renamed_to", "replaced_by", "moved_to", "superseded_by", "redirect_to", "use_instead", "replacement", "new_id"}
)

_OLD_NAMES = frozenset(
    {"renamed_from", "previous_id", "previous_ids", "old_id", "old_ids", "moved_from", "aliases", "former_names",
     "redirect_from", "replaces"}
)  # fmt: skip
# Marks of programming languages and of documentation, each at the start of a line or unmistakable wherever it is.
_IN_TEXT = re.compile(
    r"@deprecated\b|\.\. deprecated::|#\[deprecated\b|\[\[deprecated\b|\[Obsolete\b|[(\[]deprecated[)\]]"
    r"|^\W{0,8}(?:deprecated|obsolete)\b(?=[\s:.,!;(-])(?! ?(?:apis?|features?|methods?|functions?|fields?|options?)\b)",
    re.IGNORECASE | re.MULTILINE,
)


def deprecation(document: Document) -> str | None:
    """How a document says that it should not be used any more, as it is written; None if it does not."""
    for name, value in document.fields.items():
        texts, key = field_texts(value), str(name).casefold()
        if key in _FLAGS and any(text.casefold() not in _NOT_SO for text in texts):
            return f"{name}: {texts[0]}"
        end_states = [text for text in texts if text.casefold() in _ENDED] if key in _STATES else []
        if end_states:
            return f"{name}: {end_states[0]}"
    lines = f"{document.title or ''}\n{document.text[:FIRST_CHARACTERS]}".split("\n", FIRST_LINES)
    match = _IN_TEXT.search("\n".join(lines[:FIRST_LINES]))
    return f"its text says {match.group().strip()!r}" if match else None


def names_in_fields(document: Document, fields: frozenset[str]) -> Iterator[str]:
    """What a document says to use instead, or under which other names it is, or was, known."""
    for name, value in document.fields.items():
        if str(name).casefold() in fields:
            yield from field_texts(value)


# Files of a benchmark among the documents that are searched: the suite, reports, runs, and folders that no search should see.

FEWEST_QUERIES, FEWEST_WORDS = 5, 3  # five queries of three words in one document are no accident
PROBES = 8  # queries that a document is asked for before all are
HELD_QUERIES = 0.5  # share of the queries that make a document a list of them
SHOWN = 3
ITSELF = "the suite itself"
# Our own files say what they are in their first line.
_OUR_FILE = re.compile(r'\s*\{\s*"schema_version":\s*\d+,\s*"(?:record|kind|name)":|\s*schema_version:\s*\d+\s*$', re.MULTILINE)

_NEVER_SOURCES = frozenset(
    {".git", ".hg", ".svn", OUR_FOLDER, "node_modules", "bower_components", ".venv", "venv", "site-packages", "__pycache__",
     ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".gradle", ".idea", ".next", ".cache", ".terraform"}
)  # fmt: skip

_PERHAPS_OUTPUT = frozenset({"build", "dist", "target", "out", "bin", "obj"})  # if Git ignores them: sources may be called so


class OwnFiles:
    """Tells which documents are the suite, or hold its queries."""

    def __init__(self, subject: Subject) -> None:
        queries = dict.fromkeys(query.strip() for query in subject.suite.table.queries or () if query)
        self._queries = [each for each in queries if len(each.split()) >= FEWEST_WORDS]
        self._probes = self._queries[:: max(len(self._queries) // PROBES, 1)][:PROBES]
        self._suite: str | None = None  # its file as the corpus would call it
        if subject.suite_file is not None and subject.survey is not None and subject.survey.folder is not None:
            path, folder = subject.suite_file.resolve(), subject.survey.folder.resolve()
            self._suite = path.relative_to(folder).as_posix() if path.is_relative_to(folder) and path.is_file() else None

    def reason(self, document: Document) -> str | None:
        """Why a document should not be searched; None for nearly all."""
        if document.id == self._suite:
            return ITSELF
        if len(self._queries) >= FEWEST_QUERIES and sum(each in document.text for each in self._probes) * 2 >= len(self._probes):
            count = sum(each in document.text for each in self._queries)
            if count >= max(HELD_QUERIES * len(self._queries), FEWEST_QUERIES):
                return f"holds {count} of {len(self._queries)} queries word for word"
        return "a suite, run or report of this program" if _OUR_FILE.match(document.text[:200]) else None


@check(FindingKind(
    "ignored-folders-among-documents", "warning", "Installed packages, build outputs or folders of tools among the documents.",
    "Copies of other projects and generated files take ranks from what is really searched.",
    "Leave these folders out of the corpus.",
), theme=CORPUS, after="suite-among-documents")  # fmt: skip
def ignored_folders(subject: Subject) -> Iterator[Finding]:
    if subject.survey is None:
        return
    folder = subject.survey.folder
    try:
        lines = [] if folder is None else (folder / ".gitignore").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    outputs = _PERHAPS_OUTPUT & {line.strip().strip("/") for line in lines}
    folders: Counter[str] = Counter()
    for each in subject.survey.ids:
        parents = each.split("/")[:-1]
        own = [name for name in parents if name in _NEVER_SOURCES] or [name for name in parents[:1] if name in outputs]
        folders.update(own[:1])
    if folders:
        ranked = sorted(folders.items(), key=lambda each: (-each[1], each[0]))
        examples = ", ".join(f"{count} in {name!r}" for name, count in ranked[:SHOWN])
        many = f"{folders.total()} of {plain_count(len(subject.survey.ids), 'document')}"
        message = f"{many} are in folders of tools, packages or build outputs: {examples}"
        yield finding("ignored-folders-among-documents", message)


# One pass over the documents of a corpus, for all checks.

FEWEST_CHARACTERS = 20  # of a content that is worth calling the same: shorter ones are the same by chance
MOST_CHARACTERS = 20_000  # of a document, whose words are compared with those of queries
# Fields that differ between copies: who they are, where they are, when they were made.
_IDENTITIES = frozenset(
    {"id", "_id", "uid", "uuid", "guid", "key", "sku", "asin", "url", "uri", "href", "link", "path", "file", "filename", "slug",
     "created", "created_at", "updated", "updated_at", "modified", "timestamp", "date", "version", "position", "index", "order"}
)  # fmt: skip


@dataclass(frozen=True)
class DocumentFacts:
    """What one pass over the documents found out; all but ``own_files`` is about relevant targets."""

    deprecated: dict[str, str] = field(default_factory=dict)  # why they should not be used any more
    renamed: dict[str, str] = field(default_factory=dict)  # what they are called now
    twins: dict[str, list[str]] = field(default_factory=dict)  # other ids with the same content
    ambiguous: dict[str, int] = field(default_factory=dict)  # ids with several contents, and how many
    words: dict[str, frozenset[str]] = field(default_factory=dict)  # of their texts
    own_files: dict[str, str] = field(default_factory=dict)  # documents that are files of a benchmark, and why


@once_per_subject
def document_facts(subject: Subject) -> DocumentFacts | None:
    """Read once for all checks; None where there are no documents to read."""
    return None if subject.corpus is None else _Reader(subject).facts(subject.corpus)


def relevant_targets(subject: Subject) -> Iterator[tuple[int, str]]:
    """The row of the case and the id of every relevant target, as far as they are ids."""
    judgments = subject.expanded.judgments
    cases = judgments.case
    return ((int(cases[row]), judgments.targets[row]) for row in np.flatnonzero(judgments.named).tolist())


class _Reader:
    """What is known after some documents."""

    def __init__(self, subject: Subject) -> None:
        self._targets = {target for _, target in relevant_targets(subject)}
        self._facts = DocumentFacts()
        self._own_files = OwnFiles(subject)
        self._pieces: dict[bytes, tuple[str, ...]] = {}  # of every distinct word
        self._ids: Sequence[str] | frozenset[str] = frozenset(subject.ids or ())
        self._first: dict[str, int] = {}
        self._same: dict[int, list[str]] = {}

    def facts(self, corpus: Corpus) -> DocumentFacts:
        for document in filter(None, corpus.source.stream()):
            self._take(document)
        for same in self._same.values():
            for each in self._targets.intersection(same) if len(same) > 1 else ():
                self._facts.twins[each] = [other for other in same if other != each]
        return self._facts

    def _take(self, document: Document) -> None:
        # What copies have in common: title, text, and fields that do not tell copies apart by nature.
        fields = {name: value for name, value in document.fields.items() if str(name).casefold() not in _IDENTITIES}
        fields_text = json.dumps(fields, sort_keys=True, default=str) if fields else ""
        content = hash((document.title or "", " ".join(document.text.split()), fields_text))
        if document.id in self._first:
            if self._first[document.id] != content and document.id in self._targets:
                self._facts.ambiguous[document.id] = self._facts.ambiguous.get(document.id, 1) + 1
            return
        self._first[document.id] = content
        if len(document.text.strip()) >= FEWEST_CHARACTERS:
            self._same.setdefault(content, []).append(document.id)
        for old in names_in_fields(document, _OLD_NAMES):
            if old in self._targets and old not in self._ids:
                self._facts.renamed.setdefault(old, document.id)
        reason = self._own_files.reason(document)
        if reason is not None:
            self._facts.own_files[document.id] = reason
        if document.id in self._targets:
            self._take_target(document)

    def _take_target(self, document: Document) -> None:
        why = deprecation(document)
        if why is not None:
            self._facts.deprecated[document.id] = why
        new = next((each for each in names_in_fields(document, _NEW_NAMES) if each in self._ids and each != document.id), None)
        if new is not None:
            self._facts.renamed[document.id] = new
        words = set(raw_words(f"{document.id} {document.title or ''} {document.text[:MOST_CHARACTERS]}"))
        self._pieces.update([(word, identifier_tokens(word)) for word in words if word not in self._pieces])
        self._facts.words[document.id] = frozenset(piece for word in words for piece in self._pieces[word])


# Relevant documents with a near copy that does not count.

# Texts that share so many of their sequences of three words are copies to a reader; shorter ones are templates and names.
NEAR, FEWEST_SHINGLES = 0.9, 8
EXAMPLES = 3
MOST_DOCUMENTS = 200_000  # that are compared at most
Grades = dict[str, dict[int, int]]  # by document and case


@check(FindingKind(
    "near-duplicate-targets", "warning", "Relevant documents with a near copy that is not relevant for the same case.",
    "A search that returns the copy is counted as wrong, although a reader sees the same text.",
    "Give the copy the grade of the document, or remove one of them from the corpus.",
), theme=GOLD, after="near-duplicate-queries")  # fmt: skip
def near_duplicate_targets(subject: Subject) -> Iterator[Finding]:
    if subject.corpus is None or subject.suite.table.documents is not None:
        return
    suite, ids, rel = subject.expanded, subject.expanded.table.ids, subject.expanded.defaults.rel
    grades = _grades(suite)
    texts = {
        each.id: shingles(each)
        for each in subject.corpus.read([name for name, by_case in grades.items() if max(by_case.values()) >= rel])
    }
    index = NearCopies({name: text for name, text in texts.items() if len(text) >= FEWEST_SHINGLES}, NEAR)
    exact = (document_facts(subject) or DocumentFacts()).twins  # which are said elsewhere
    copies = sorted(
        (row, name, document.id)
        for document in (islice(subject.corpus, MOST_DOCUMENTS) if index else ())
        for name in index.of(shingles(document))
        if name != document.id and document.id not in exact.get(name, ())
        for row, grade in grades[name].items()
        if grade >= rel > grades.get(document.id, {}).get(row, 0)
    )
    if copies:
        pairs = []
        for row, name, copy in copies:
            grade = grades.get(copy, {}).get(row, -1)
            judged = "not judged" if grade < 0 else f"graded {grade}"
            pairs.append(f"{quote_name(name)} and {quote_name(copy)} in {quote_name(ids[row])}, {judged}")
        partly = len(subject.survey.ids if subject.survey else ()) > MOST_DOCUMENTS
        part = f" (of {MOST_DOCUMENTS:,} documents that were looked at)" if partly else ""
        have = plain_count(len({name for _, name, _ in copies}), "relevant document has", "relevant documents have")
        message = f"{'at least ' if index.cut else ''}{have} a near copy that does not count{part}: {list_first(pairs, EXAMPLES)}"
        yield finding("near-duplicate-targets", message, dict.fromkeys(ids[row] for row, _, _ in copies))


def _grades(suite: Suite) -> Grades:
    judgments, grades = suite.judgments, Grades()
    match = np.zeros(len(judgments), np.uint8) if judgments.match is None else judgments.match
    columns = (judgments.targets, match.tolist(), judgments.case.tolist(), judgments.grades.tolist())
    for target, how, case, grade in zip(*columns, strict=True):
        if how <= PATH:
            grades.setdefault(normal_path(target) if how == PATH else nfc(target), {})[case] = grade
    return grades


# Findings from that pass: copies, duplicate ids, marks of deprecation, files of the benchmark.


@check(FindingKind("duplicated-targets", "warning", "Targets whose content another document has too, which is not judged relevant.",
    "A search that returns the other one is as right and gets nothing for it.",
    "Judge both, or keep one of the documents in the corpus.",
), theme=CORPUS)  # fmt: skip
def duplicated_targets(subject: Subject) -> Iterator[Finding]:
    twins = (document_facts(subject) or DocumentFacts()).twins
    relevant: dict[int, set[str]] = {}
    for case, target in relevant_targets(subject) if twins else ():
        relevant.setdefault(case, set()).add(target)
    copies, cases = dict[str, str](), dict[int, None]()
    for case, targets in relevant.items():
        for target in sorted(targets & twins.keys()):
            unjudged = [each for each in twins[target] if each not in targets]
            if unjudged:
                copies.setdefault(target, unjudged[0])
                cases[case] = None
    if copies:
        examples = ", ".join(f"{target!r} is also {other!r}" for target, other in list(copies.items())[:SHOWN])
        many = f"{len(copies)} of {plain_count(len(set().union(*relevant.values())), 'target')}"
        message = f"{many} have a copy under another id that is not judged relevant: {examples}"
        yield finding("duplicated-targets", message, ids_of(subject.suite, sorted(cases)))


@check(FindingKind("ambiguous-targets", "warning", "Targets whose id several documents with different contents have.",
    "Only the first document counts, and the judgment may be about another one.",
    "Give every document an id of its own.",
), theme=CORPUS)  # fmt: skip
def ambiguous_targets(subject: Subject) -> Iterator[Finding]:
    """Relevant targets whose id several contents have; cases with documents of their own may use one name for several."""
    facts = document_facts(subject) if subject.suite.table.documents is None else None
    contents = {each: f"{count} contents" for each, count in (facts or DocumentFacts()).ambiguous.items()}
    yield from _about(subject, "ambiguous-targets", "are ids of several documents with different contents", contents)


@check(FindingKind(
    "deprecated-targets", "warning", "Relevant targets that the corpus marks as deprecated, archived, removed or internal.",
    "A search is rewarded for what should not be used any more, and punished for what replaced it.",
    "Judge what replaced them: in qrels with grades of their own and 0 for these; a symbol suite can leave them out with "
    "exclude, as in exclude: {deprecated: true}.",
), theme=CORPUS)  # fmt: skip
def deprecated_targets(subject: Subject) -> Iterator[Finding]:
    facts = document_facts(subject) or DocumentFacts()
    yield from _about(subject, "deprecated-targets", "are marked as deprecated, removed or internal", facts.deprecated)


@check(FindingKind("suite-among-documents", "warning", "The suite, a report or a run is among the documents that are searched.",
    "It holds the queries word for word, so that it takes the first ranks, and an agent that reads it knows the answers.",
    "Keep these files outside of what is searched, or exclude them.",
), theme=CORPUS)  # fmt: skip
def suite_among_documents(subject: Subject) -> Iterator[Finding]:
    facts = document_facts(subject)
    if facts is not None and facts.own_files:
        files = sorted(facts.own_files.items(), key=lambda each: each[1] != ITSELF)
        examples = ", ".join(f"{each!r} ({why})" for each, why in files[:SHOWN])
        message = f"documents of the corpus that belong to a benchmark: {len(facts.own_files)}, {examples}"
        yield finding("suite-among-documents", message)


def _about(subject: Subject, code: str, words: str, reasons: Mapping[str, str]) -> Iterator[Finding]:
    """A finding on some targets, each with the reason."""
    if reasons:
        examples = ", ".join(f"{each!r} ({why})" for each, why in list(reasons.items())[:SHOWN])
        targets = list(relevant_targets(subject))
        of = plain_count(len({target for _, target in targets}), "target")
        rows = sorted({case for case, target in targets if target in reasons})
        yield finding(code, f"{len(reasons)} of {of} {words}: {examples}", ids_of(subject.suite, rows))
