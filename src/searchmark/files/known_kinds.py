"""Kinds of files and the names by which they are known: one table for whoever reads them and for whoever is given the wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

SUITE, RUN, CORPUS, TOPICS, REPORT, CONFIG, BASELINE, NONE = "suite", "run", "corpus", "topics", "report", "config", "baseline", ""
# What to do with a file that was given as something else.
_ADVICE = {
    SUITE: "name it with --suite",
    RUN: "name it with --run",
    CORPUS: "name it with --corpus",
    TOPICS: "name it with --topics, beside the judgments",
    REPORT: "show it with 'searchmark report', or name the run that it is about",
    CONFIG: "name it with --config",
    BASELINE: "name it with --against",
    NONE: "name a file that holds text, JSON, CSV or Parquet",
}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(maxsize=4096)
def snake(name: str) -> str:
    """``expectedIds``, ``ExpectedIDs`` and ``Expected Ids`` as ``expected_ids``."""
    return re.sub(r"[\s-]+", "_", _HUMP.sub("_", name.strip())).lower()


@dataclass(frozen=True)
class TriedFormat:
    """A format that does not fit, and what it missed in the file."""

    name: str
    missed: str


@dataclass(frozen=True)
class FileKind:
    """A kind of file: what to call it, and what it can be given as; the first is what it is mostly meant for."""

    name: str
    roles: tuple[str, ...]

    @property
    def advice(self) -> str:
        return _ADVICE[self.roles[0]]


@dataclass(frozen=True)
class KnownBy:
    """Names in snake_case by which a kind of file is known, and the format of suites that it is, if any."""

    names: frozenset[str]
    kind: FileKind
    format: str | None = None


def _suite(names: str, name: str, suite_format: str) -> KnownBy:
    return KnownBy(frozenset(names.split()), FileKind(name, (SUITE,)), suite_format)


def _other(names: str, name: str, *roles: str) -> KnownBy:
    return KnownBy(frozenset(names.split()), FileKind(name, roles))


RECORDS = {
    "run": FileKind("a saved run of Searchmark", (RUN, BASELINE)),
    "report": FileKind("a report of Searchmark", (REPORT,)),
    "audit": FileKind("an audit of Searchmark", (REPORT,)),
    "sweep": FileKind("a sweep of Searchmark", (REPORT,)),
    "journal": FileKind("a journal of answers of Searchmark", (NONE,)),
    "suite": FileKind("a suite of Searchmark", (SUITE,)),
}

# By the keys of the mapping at the top of a file, the most telling first.
BY_TOP = (
    KnownBy(frozenset({"schema_version", "suite", "agents"}), RECORDS["report"]),
    KnownBy(frozenset({"schema_version"}), RECORDS["suite"], "native"),
    _suite("topics", "ratings of Rated Ranking Evaluator", "rre"),
    _suite("query_groups", "ratings of Rated Ranking Evaluator", "rre"),
    _suite("judgment_ratings", "a judgment list of OpenSearch", "opensearch"),
    _suite("query_doc_pairs", "a book of Quepid", "quepid"),
    _other("docs queries time", "a snapshot of Quepid", RUN),
    _other("metric_score details", "a response of _rank_eval", RUN),
    _other("mteb_model_meta", "predictions of MTEB", RUN),
    _other("responses", "a response of _msearch", RUN),
)

# By the fields of the entries of a file, the most telling first.
BY_ENTRY = (
    _suite("ground_truth_files", "a gold set", "gold-set"),
    _suite("documents query", "fixtures", "fixtures"),
    _suite("expected_ids", "a list of cases with expectedIds", "case-list"),
    _suite("expected_symbols", "a suite of symbols", "symbols"),
    _suite("expected_patterns", "a suite of symbols", "symbols"),
    _suite("instance_id patch", "a SWE-bench file", "swe-bench"),
    _suite("query_id item_id grade", "graded labels", "labels"),
    _suite("query_text ratings", "a case of Quepid", "quepid"),
    _suite("query ratings", "ratings of documents by query", "opensearch"),
    _suite("ratings", "a request to _rank_eval", "rank-eval"),
    _suite("relevant_documents", "ratings of Rated Ranking Evaluator", "rre"),
    _suite("judgments", "a suite of Searchmark", "native"),
)
_BASELINE = _other("metrics", "a baseline of fixtures", BASELINE)
_SNAPSHOT = _other("snapshot_name query_text doc_id doc_position", "a snapshot of Quepid", RUN)
_BEIR_QRELS = _other("query_id corpus_id score", "BEIR qrels", SUITE)
_DOCUMENTS = (
    _other("_id title text", "a BEIR corpus", CORPUS),
    _other("_id text", "documents or queries as BEIR has them", CORPUS, TOPICS),
    _other("id title", "a corpus of documents", CORPUS),
    _other("id text", "a corpus of documents", CORPUS, TOPICS),
)
_QUERIES = {"query", "question", "query_text", "query_id", "question_id", "qid", "q_id"}
_HITS = {"docid", "doc_id", "document_id", "docno", "product_id", "item_id", "corpus_id", "asin", "sku"}
_GRADES = {"rating", "grade", "relevance", "judgment", "judgement", "esci_label"}
_PLACES, _SCORES = {"rank", "position", "doc_position"}, {"score"}
_CASES, _LISTED = {"id", "case", "case_id"}, {"hits", "results", "retrieved", "ranking"}
_TEXTS = {"title", "text", "body", "content", "description", "abstract", "name", "answer"}
_WANTED = re.compile(r"(expected|relevant|gold|target|ground_truth)(_|$)|answer_files?$")
_ONLY_QUERIES = {"id", "_id", "qid", "query_id", "query", "category", "tags", "origin", "unanswerable"}


# Names that documents have too.
_COMMON = {"ratings", "judgments"}
_ANSWERS = {"hits", "results", "response", "responses", "retrieved", "ranking", "candidates", "matches", "rank", "position"}


def kind_by_names(written: Iterable[str]) -> FileKind | None:
    """What a table or a list with these columns or fields is, if they tell."""
    names = {snake(name) for name in written}
    kind = _known(names) or _by_roles(names) or next((each.kind for each in _DOCUMENTS if each.names <= names), None)
    if kind is None or RUN in kind.roles or not names & _ANSWERS:
        return kind
    return FileKind(kind.name, (*kind.roles, RUN))  # what was expected and what was found, in one file


def _known(names: set[str]) -> FileKind | None:
    telling = (each for each in (*BY_ENTRY, _BASELINE, _SNAPSHOT, _BEIR_QRELS) if each.names <= names)
    return next((each.kind for each in telling if not (each.names <= _COMMON and names & _TEXTS)), None)


def _by_roles(names: set[str]) -> FileKind | None:
    """Queries with grades, with ranks, with what should be found, or alone; with texts beside them it may be a corpus too."""
    also, wanted = (CORPUS,) if names & _TEXTS else (), any(map(_WANTED.match, names))
    if names & (_QUERIES | _CASES) and names & _LISTED and not wanted:
        return FileKind("a list of answers", (RUN, *also))
    if not names & _QUERIES:
        return None
    if names & _HITS and names & _GRADES and not names & _PLACES:
        return FileKind("a table of ratings", (SUITE, *also))
    if names & _HITS and names & (_PLACES | _SCORES) and not names & _GRADES:
        return FileKind("a table of hits", (RUN, *also))
    if wanted and not names & (_PLACES | _SCORES):
        return FileKind("a table of queries and what should be found", (SUITE, *also))
    is_list = "query" in names and names <= _ONLY_QUERIES and len(names) > 1
    return FileKind("a list of queries", (TOPICS,)) if is_list else None
