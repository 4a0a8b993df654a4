"""Rated queries of engines and their tools: Elasticsearch _rank_eval, OpenSearch, RRE, Quepid, and their metrics as ours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor
from typing import Any

import numpy as np

from searchmark.errors import FormatError
from searchmark.formats.suites.checks import GradeReader, check_cases
from searchmark.formats.suites.source import Entry, Source, as_text, as_whole
from searchmark.formats.suites.tables import TableRows, csv_entries, missing_roles, usual_roles
from searchmark.records.judgments import Judgment
from searchmark.records.sentences import list_first, quote_name
from searchmark.records.suite import Case, Gain, Suite

# Judgment lists of OpenSearch's Search Relevance Workbench: as its API returns or takes them, or their ratings alone.

RATINGS_FIELD = "judgment_ratings"

LLM_JUDGMENT_TYPE = "LLM_JUDGMENT"

REFERENCE_MARK = "#"  # behind it, in lists that a model judged, is the reference answer of a query

QUERIES_SHOWN = 5


def read_opensearch(source: Source) -> Suite:
    """A query is a case, named by its text; where it is listed again, the first list counts, as in OpenSearch."""
    top = _judgment_list(source)
    by_model = top.values.get("type") == LLM_JUDGMENT_TYPE
    gradings = GradeReader(source)
    cases: dict[str, Case] = {}
    again = 0
    for entry in top.entries(RATINGS_FIELD):
        case = _opensearch_case(entry, gradings, by_model=by_model)
        again += case.id in cases
        cases.setdefault(case.id, case)
    gradings.check()
    judged = [case for case in cases.values() if case.judgments]
    if not judged:
        raise FormatError(source.path, RATINGS_FIELD, "holds no ratings")
    check_cases(source.path, judged)
    unjudged = tuple(case.id for case in cases.values() if not case.judgments)
    return Suite.from_cases(
        top.maybe_text("name") or source.name,
        judged,
        description=top.maybe_text("description"),
        metadata=top.rest(RATINGS_FIELD, "name", "description"),
        dropped={"queries_without_judgments": len(unjudged)} if unjudged else {},
        unjudged=unjudged,
        notes=(f"queries that are listed again, of which the first list counts: {again}",) if again else (),
    )


def _judgment_list(source: Source) -> Entry:
    """The list itself, or the only one among the hits of a response."""
    if isinstance(source.data, list):
        return Entry(source.path, "", {RATINGS_FIELD: source.data})
    top = source.top()
    if top.has(RATINGS_FIELD):
        return top
    lists = [hit.mapping("_source") for hit in top.mapping("hits").entries("hits")]
    if len(lists) != 1:
        names = list_first([quote_name(each.maybe_text("name") or "") for each in lists], QUERIES_SHOWN) or "none"
        raise FormatError(source.path, "hits.hits", f"has {len(lists)} judgment lists ({names}); save one of them, by its id")
    return lists[0]


def _opensearch_case(entry: Entry, gradings: GradeReader, *, by_model: bool) -> Case:
    whole_text = entry.text("query").strip()
    query, mark, reference = whole_text.partition(REFERENCE_MARK) if by_model else (whole_text, "", "")
    judgments: dict[str, Judgment] = {}
    for rating in entry.entries("ratings"):
        document = rating.text("doc_id")
        judgment = gradings.judgment(rating, document, "rating")
        if judgments.setdefault(document, judgment) != judgment:
            raise rating.error("doc_id", f"{document!r} is rated a second time, and otherwise")
    fields = {"reference": reference.strip()} if mark and reference.strip() else {}
    return Case(whole_text, query.strip() or whole_text, tuple(judgments.values()), fields=fields)


# Metrics that suites of other tools name as their own, as measures of this one.
#
# What each computes is taken from the source of its tool: the package ``rankeval`` of Elasticsearch, ``db/scorers`` of Quepid.
# Where numbers can differ, the note says when.

DEFAULT_CUTOFF = 10  # how many hits Elasticsearch looks at where a metric does not say so

HIGHEST_CUTOFF = 10**6

QUEPID_TOP_RATING = 3  # of the scale that Quepid's own ERR@10 comes with; an export leaves the scale out

_EXPONENTIAL_GAIN = "exponential gain (a grade g pays 2^g - 1)"

_SCORER = re.compile(r"(nDCG|DCG|CG|P|AP|RR|ERR)@(\d{1,6})", re.IGNORECASE)


@dataclass(frozen=True)
class ForeignMetric:
    """A metric of another tool: the measure that equals it, or the reason why there is none."""

    measure: str | None = None
    rel: int = 1
    gain: Gain = "linear"
    unlike: str | None = None  # in what it differs from the measure
    why_none: str | None = None


Translation = Callable[[dict[str, Any], int], ForeignMetric]  # of its options and its k


def with_foreign_metric(suite: Suite, metric_name: str, metric: ForeignMetric) -> Suite:
    """The suite with this metric as its default, and a note that says so."""
    beginning = f"the suite names a metric of its own, {metric_name}"
    if metric.measure is None:
        note = f"{beginning}, which is not computed: {metric.why_none}; the usual measures are"
        return replace(suite, notes=(*suite.notes, note))
    by = f", with {_EXPONENTIAL_GAIN}" if metric.gain == "exp" else ""
    more = f"; {metric.unlike}" if metric.unlike else ""
    note = f"{beginning}: the default measure is {metric.measure}{by}{more}"
    defaults = replace(suite.defaults, rel=metric.rel, gain=metric.gain, measures=(metric.measure,))
    return replace(suite, defaults=defaults, notes=(*suite.notes, note))


def rank_eval_metric(metric: Any) -> tuple[str, ForeignMetric]:
    """What the ``metric`` of a request to ``_rank_eval`` asks for, behind what it is called."""
    if not isinstance(metric, dict) or len(metric) != 1:
        return "in 'metric'", _not_computed("it is not a mapping with one metric")
    name, options = next(iter(metric.items()))
    known = _RANK_EVAL_METRICS.get(str(name))
    if known is None:
        translated = _not_computed(f"the ones that are known are {', '.join(_RANK_EVAL_METRICS)}")
    else:
        translated = _translate(*known, {} if options is None else options)
    return f"Elasticsearch's {quote_name(str(name))}", translated


def _translate(translate: Translation, names: Sequence[str], options: Any) -> ForeignMetric:
    if not isinstance(options, dict):
        return _not_computed("its options are not a mapping")
    unknown = next((each for each in options if each not in ("k", *names)), None)
    if unknown is not None:
        return _not_computed(f"its option {quote_name(str(unknown))} is not known")
    k = _int_option(options, "k", DEFAULT_CUTOFF)
    return translate(options, k) if k is not None and 1 <= k <= HIGHEST_CUTOFF else _not_computed("its k is not a number of hits")


def _not_computed(why: str) -> ForeignMetric:
    return ForeignMetric(why_none=why)


def _int_option(options: dict[str, Any], name: str, default: int) -> int | None:
    return default if options.get(name) is None else as_whole(options[name])


def _bool_option(options: dict[str, Any], name: str) -> bool:
    return str(options.get(name, False)).lower() == "true"


def _threshold_metric(measure: str, unlike: str | None = None) -> Translation:
    def translated(options: dict[str, Any], k: int) -> ForeignMetric:
        rel = _int_option(options, "relevant_rating_threshold", 1)
        if rel is None or rel < 1:
            return _not_computed("its relevant_rating_threshold is not a grade from 1")
        if _bool_option(options, "ignore_unlabeled"):
            return _not_computed("with ignore_unlabeled it divides by the rated hits among the first k alone")
        return ForeignMetric(f"{measure}@{k}", rel, unlike=None if unlike is None else unlike.format(k=k))

    return translated


def _gain_metric(options: dict[str, Any], k: int) -> ForeignMetric:
    if _int_option(options, "unknown_doc_rating", 0) != 0:
        return _not_computed("with unknown_doc_rating a hit without a rating has a gain")
    if not _bool_option(options, "normalize"):
        return ForeignMetric(f"DCG@{k}", gain="exp")
    unlike = f"where fewer than {k} hits come, Elasticsearch's ideal list is as short as the answer, that of nDCG@{k} is not"
    return ForeignMetric(f"nDCG@{k}", gain="exp", unlike=unlike)


def _reciprocal_rank_metric(options: dict[str, Any], k: int) -> ForeignMetric:
    highest = _int_option(options, "maximum_relevance", 0)
    if _int_option(options, "unknown_doc_rating", 0) != 0:
        return _not_computed("with unknown_doc_rating a hit without a rating has a gain")
    if not highest or not 1 <= highest <= 60:  # noqa: PLR2004  # as ERR has it
        return _not_computed("its maximum_relevance is not a grade from 1 to 60")
    return ForeignMetric(f"ERR(max={highest})@{k}")


_FEWER_HITS_NOTE = "where fewer than {k} hits come, it divides by their number, P@{k} by {k}"


# By what Elasticsearch calls them: how they are translated, and their options beside ``k``.
_RANK_EVAL_METRICS: dict[str, tuple[Translation, Sequence[str]]] = {
    "precision": (_threshold_metric("P", _FEWER_HITS_NOTE), ("relevant_rating_threshold", "ignore_unlabeled")),
    "recall": (_threshold_metric("R"), ("relevant_rating_threshold",)),
    "mean_reciprocal_rank": (_threshold_metric("RR"), ("relevant_rating_threshold",)),
    "dcg": (_gain_metric, ("normalize", "unknown_doc_rating")),
    "expected_reciprocal_rank": (_reciprocal_rank_metric, ("maximum_relevance", "unknown_doc_rating")),
}


def quepid_metric(scorer: Entry, suite: Suite) -> tuple[str, ForeignMetric]:
    """What the scorer of a Quepid case computes, by its name: an export has no more of it."""
    name = scorer.maybe_text("name") or ""
    match = _SCORER.fullmatch(name.strip())
    if match is None:
        metric = _not_computed("it is not one of those that Quepid comes with")
    elif not int(match[2]):
        metric = _not_computed("it looks at no hits")
    else:
        metric = _quepid_metric(match[1].lower(), int(match[2]), scorer, suite)
    return f"Quepid's scorer {quote_name(name)}", metric


def _quepid_metric(kind: str, k: int, scorer: Entry, suite: Suite) -> ForeignMetric:
    if kind == "ndcg":
        deep = int((np.add.reduceat(suite.judgments.grades > 0, suite.judgments.starts[:-1]) > k).sum())
        unlike = f"Quepid's ideal list has all rated documents, that of nDCG@{k} the first {k}: cases with more than that: {deep}"
        return ForeignMetric(f"nDCG@{k}", gain="exp", unlike=unlike if deep else None)
    if kind == "dcg":
        return ForeignMetric(f"DCG@{k}", gain="exp")
    if kind == "p":
        return ForeignMetric(f"P@{k}", unlike=_FEWER_HITS_NOTE.format(k=k))
    if kind == "err":
        return _quepid_err(k, scorer, suite)
    if kind == "cg":
        return _not_computed("no measure adds up ratings without regard to rank")
    return ForeignMetric(f"{kind.upper()}@{k}")


def _quepid_err(k: int, scorer: Entry, suite: Suite) -> ForeignMetric:
    scale = [each for each in map(as_whole, scorer.listed("scale") if scorer.has("scale") else ()) if each is not None]
    highest = max(scale, default=QUEPID_TOP_RATING)
    if int(suite.judgments.grades.max()) > highest:
        return _not_computed(f"there are ratings above {highest}, the highest of its scale")
    return ForeignMetric(f"ERR(max={highest})@{k}")


# Requests to Elasticsearch's ``_rank_eval``: searches with rated documents.

DEEPEST_CLAUSE = 50

TEXT_NAMES = ("query", "query_string", "query_text", "q", "text", "search")


TEXT_CLAUSES = {
    "match", "match_phrase", "match_phrase_prefix", "match_bool_prefix", "multi_match", "query_string",
    "simple_query_string", "combined_fields", "more_like_this", "semantic",
}  # fmt: skip

NO_TEXT = {"filter", "must_not", "knn", "sort", "aggs", "aggregations", "highlight", "_source", "rescore"}


def read_rank_eval(source: Source) -> Suite:
    """Every request is a case; its query is the text that is searched for, or the request itself where none is found."""
    exact = source.with_numbers
    templates = _templates(exact.top())
    requests = [_request(entry, templates) for entry in exact.entries()]
    gradings = GradeReader(source)
    cases = [_rank_eval_case(entry, request, gradings) for entry, request in zip(source.entries(), requests, strict=True)]
    gradings.check()
    if not cases:
        raise FormatError(source.path, "requests", "is empty")
    check_cases(source.path, cases, "requests")
    suite = Suite.from_cases(source.name, cases, metadata=source.top().rest("requests"))
    metric = exact.top().values.get("metric")
    return suite if metric is None else with_foreign_metric(suite, *rank_eval_metric(metric))


def _templates(top: Entry) -> dict[str, dict[str, Any]]:
    """The templates that the file defines, as ``_search/template`` takes them; an old name of the source is understood."""
    templates = {}
    for entry in top.entries("templates") if top.has("templates") else ():
        template = dict(entry.raw_mapping("template").values)
        templates[entry.text("id")] = {"source" if key == "inline" else key: value for key, value in template.items()}
    return templates


def _request(entry: Entry, templates: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """What is sent to search: a body, or a template with its parameters; one that the file does not define is a stored one."""
    if isinstance(body := entry.values.get("request"), dict):
        return {"body": body}
    if (name := entry.maybe_text("template_id")) is None:
        return None
    return {"body": {**templates.get(name, {"id": name}), "params": entry.values.get("params")}, "template": True}


def _rank_eval_case(entry: Entry, request: dict[str, Any] | None, gradings: GradeReader) -> Case:
    request_body = entry.values.get("params") or entry.values.get("request")
    if not isinstance(request_body, dict):
        raise entry.error("request", "is missing or not a mapping")
    ratings = entry.entries("ratings")
    several = len({rating.maybe_text("_index") for rating in ratings}) > 1
    judgments = tuple(gradings.judgment(rating, _target(rating, several=several), "rating") for rating in ratings)
    own = {**request, "ids": "index/id"} if request and several else request
    fields = entry.rest("id", "ratings", "request")
    return Case(entry.text("id"), _searched_text(request_body) or json.dumps(request_body), judgments, request=own, fields=fields)


def _target(rating: Entry, *, several: bool) -> str:
    """The document's id; with its index in front where the ratings of a request are spread over several."""
    document = rating.text("_id")
    return f"{rating.text('_index')}/{document}" if several else document


def _searched_text(request: dict[str, Any]) -> str | None:
    """The text that a request searches for: under a name that such texts have, never a filter or a setting."""
    named_text = next((request[name] for name in TEXT_NAMES if isinstance(request.get(name), str) and request[name].strip()), None)
    texts = [value for value in request.values() if isinstance(value, str) and value.strip()]
    return named_text or (texts[0] if len(texts) == 1 == len(request) else None) or _text_of_clause(request)


def _text_of_clause(value: Any, depth: int = 0) -> str | None:
    """The text of the first clause that matches text, looking into everything but filters and settings."""
    if depth > DEEPEST_CLAUSE or not isinstance(value, dict | list):
        return None
    if isinstance(value, list):
        return next((text for item in value if (text := _text_of_clause(item, depth + 1))), None)
    for name, inner in value.items():
        if name in TEXT_CLAUSES and isinstance(inner, dict):
            query = inner.get("query") or next(iter(inner.values()), None)
            query = query.get("query") if isinstance(query, dict) else query
            if isinstance(query, str) and query.strip():
                return query
        elif name not in NO_TEXT and (deeper := _text_of_clause(inner, depth + 1)):
            return deeper
    return None


# Rating files of the Rated Ranking Evaluator: topics, query groups, and queries that share their relevant documents.


def read_rre(source: Source) -> Suite:
    """Queries of one group have the same targets and the same origin; the topic is the category."""
    gradings = GradeReader(source)
    cases = [case for topic, group in _groups(source.top()) for case in _rre_cases(topic, group, gradings)]
    gradings.check()
    cases = [replace(case, id=str(number)) for number, case in enumerate(cases, 1)]
    if not cases:
        raise FormatError(source.path, None, "holds no queries")
    check_cases(source.path, cases)
    return Suite.from_cases(source.name, cases, metadata=source.top().rest("topics", "query_groups", "queries"))


def _groups(top: Entry) -> Iterator[tuple[str | None, Entry]]:
    """Groups with the topic that they belong to, however deep the file nests them."""
    for topic in top.entries("topics") if top.has("topics") else ():
        for group in topic.entries("query_groups"):
            yield topic.maybe_text("description", "name"), group
    for group in top.entries("query_groups") if top.has("query_groups") else ():
        yield None, group
    for query in top.entries("queries") if top.has("queries") else ():
        yield None, query


def _rre_cases(topic: str | None, group: Entry, gradings: GradeReader) -> Iterator[Case]:
    judgments = tuple(_rre_judgments(group, gradings))
    queries = group.entries("queries") if group.has("queries") else [group]
    name = group.maybe_text("name", "description")
    for query in queries:
        placeholders = query.values.get("placeholders")
        words = Entry.of(query.path, f"{query.place}.placeholders", placeholders) if placeholders is not None else query
        text = next((words.text(key) for key in ("$query", "query", "$q", "q") if words.has(key)), None)
        variables = [key for key in words if key.startswith("$")]
        if text is None and len(variables) == 1:
            text = words.text(variables[0])
        if text is None:
            raise query.error("placeholders", "has no $query")
        fields = {"group": name} if name else {}
        yield Case("", text, judgments, category=topic, origin=name if len(queries) > 1 else None, fields=fields)


def _rre_judgments(group: Entry, gradings: GradeReader) -> Iterator[Judgment]:
    """``{id: {"gain": 3}}`` or ``{"3": [id, ...]}``."""
    documents = group.values.get("relevant_documents")
    if not isinstance(documents, dict):
        raise group.error("relevant_documents", "is not a mapping from id to gain or from gain to ids")
    for key, value in documents.items():
        place = f"relevant_documents.{key}"
        if isinstance(value, list):
            gain = gradings.worth(group, place, key)
            for row, document in enumerate(value):
                target = as_text(document)
                if not target:
                    raise group.error(f"{place}.{row}", f"{document!r} is not an id")
                yield Judgment.of_gain(target, gain)
        else:
            inner = Entry.of(group.path, f"{group.place}.{place}", value)
            yield gradings.judgment(inner, str(key), "gain", "rating")


# Rated documents by query, and how Quepid makes one rating of several judges' (`RatingsManager` in its source).

HIGHEST_RATINGS = 3


@dataclass
class RatedDocuments:
    """The rated documents of each query, and what was not rated."""

    judged: dict[str, dict[str, Judgment]] = field(default_factory=dict)
    fields: dict[str, dict[str, object]] = field(default_factory=dict)
    unrated: int = 0

    def add(self, entry: Entry, query: str, judgment: Judgment | None) -> None:
        """A document of a query with its judgment; without one it is only counted."""
        judgments = self.judged.setdefault(query, {})
        if judgment is None:
            self.unrated += 1
            return
        if judgment.target in judgments:
            raise entry.error("document", f"{judgment.target!r} is rated a second time for query {quote_name(query)}")
        judgments[judgment.target] = judgment

    def suite(self, source: Source, name: str, notes: Iterable[str] = ()) -> Suite:
        """All queries with a rating; others are counted."""
        cases = [
            Case(query, query, tuple(judgments.values()), fields=self.fields.get(query, {}))
            for query, judgments in self.judged.items()
            if judgments
        ]
        if not cases:
            raise FormatError(source.path, None, "holds no ratings")
        check_cases(source.path, cases)
        counts = {"hits_without_rating": self.unrated, "queries_without_judgments": len(self.judged) - len(cases)}
        return Suite.from_cases(
            name, cases, dropped={reason: count for reason, count in counts.items() if count}, notes=tuple(notes)
        )


def combine_ratings(ratings: Sequence[float], *, whole: bool) -> float | None:
    """The mean of one or two ratings, of more the lowest of the highest three; rounded where a book has whole ratings only."""
    if not ratings:
        return None
    best = sorted(ratings, reverse=True)[:HIGHEST_RATINGS]
    rating = best[-1] if len(ratings) >= HIGHEST_RATINGS else sum(best) / len(best)
    if not whole:
        return rating
    return float(floor(rating + 0.5) if rating >= 0 else ceil(rating - 0.5))  # halves go away from 0, as in Ruby


def several_judges_note(several: int) -> list[str]:
    """What is said of documents that more than one judge rated."""
    how = "the mean of two, of more the lowest of the highest three"
    return [f"ratings of several judges are combined as Quepid does it ({how}): {several}"] if several else []


# Quepid's JSON: a whole case (``case_name``), its ratings alone, and a book of judgments (``query_doc_pairs``).

KEPT_FIELDS = ("information_need", "notes", "options")  # of a query, where there is something in them


def read_quepid_json(source: Source) -> Suite:
    """Ratings with the scorer of their case, where it names one."""
    top = source.top()
    if top.has("query_doc_pairs"):
        return _read_book(source, top)
    rated_documents, gradings = RatedDocuments(), GradeReader(source)
    for entry in source.entries("queries"):
        query = entry.text("query_text", "query").strip()
        rated_documents.judged.setdefault(query, {})
        rated_documents.fields[query] = _kept_fields(entry)
        for rating, document, value in _ratings(entry):
            worth = None if value is None else gradings.worth(rating, "rating", value)
            rated_documents.add(rating, query, None if worth is None else Judgment.of_gain(document, worth))
    gradings.check()
    suite = rated_documents.suite(source, top.maybe_text("case_name") or source.name)
    scorer = top.mapping("scorer") if isinstance(top.values.get("scorer"), dict) else None
    return suite if scorer is None else with_foreign_metric(suite, *quepid_metric(scorer, suite))


def _ratings(query: Entry) -> list[tuple[Entry, str, Any]]:
    """``[{"doc_id": …, "rating": …}]`` in a case, ``{doc_id: rating}`` in an export of ratings."""
    if not query.has("ratings"):
        return []
    if isinstance(query.values["ratings"], dict):
        by_document = query.raw_mapping("ratings")
        return [(by_document, document, value) for document, value in by_document.values.items()]
    return [(entry, entry.text("doc_id"), entry.values.get("rating")) for entry in query.entries("ratings")]


def _kept_fields(entry: Entry) -> dict[str, object]:
    return {name: entry.values[name] for name in KEPT_FIELDS if entry.values.get(name) not in (None, "", {}, "{}")}


def _read_book(source: Source, top: Entry) -> Suite:
    """What judges can rate and will not rate later, one rating per document; whole unless the book has implicit judgments."""
    rated_documents, gradings, several = RatedDocuments(), GradeReader(source), 0
    whole = top.values.get("support_implicit_judgements") is not True
    for pair in top.entries("query_doc_pairs"):
        query = pair.text("query_text").strip()
        rated_documents.fields.setdefault(query, _kept_fields(pair))
        ratings = [each for each in (pair.entries("judgements") if pair.has("judgements") else ()) if _is_rating(each)]
        several += len(ratings) > 1
        rating = combine_ratings([gradings.value(each, "rating") for each in ratings], whole=whole)
        rated_documents.add(pair, query, None if rating is None else Judgment.of_gain(pair.text("doc_id"), rating))
    gradings.check()
    return rated_documents.suite(source, top.maybe_text("name") or source.name, notes=several_judges_note(several))


def _is_rating(judgement: Entry) -> bool:
    later = judgement.values.get("unrateable") is True or judgement.values.get("judge_later") is True
    return judgement.has("rating") and not later


# Quepid's exports: CSV with a query, a document and a rating per line, books with a column per judge, and its JSON files.
#
# A query is a case, named by its text. Ratings are kept as they are, fractions too.

QUERY_COLUMNS = ("query", "query_text")

DOCUMENT_COLUMNS = ("docid", "doc_id", "document_id", "id")

RATING_COLUMNS = ("rating", "grade", "judgement", "judgment")

BOOK_COLUMNS = ("query", "docid")  # and then the judges, by their names


def read_quepid(source: Source) -> Suite:
    """Any export of Quepid; a line without a rating is not a judgment and is counted."""
    if source.structured:
        return read_quepid_json(source)
    return _read_book_csv(source) if is_quepid_book(TableRows(source)) else _read_csv(source)


def is_quepid_table(source: Source) -> bool:
    """Whether a table is one that Quepid writes, as text: its ratings, or a book."""
    rows, roles = TableRows(source), usual_roles(TableRows(source).columns)
    has_all = all(rows.names & {*names} for names in (QUERY_COLUMNS, DOCUMENT_COLUMNS, RATING_COLUMNS))
    is_ratings = has_all and roles.get("target", "docid") in DOCUMENT_COLUMNS
    return not source.is_parquet and (is_ratings or (not missing_roles(roles) and is_quepid_book(rows)))


def is_quepid_book(rows: TableRows) -> bool:
    """Whether these are the judgments of a book: columns of numbers behind the query and the document."""
    judges = rows.columns[len(BOOK_COLUMNS) :]
    if (
        tuple(name.lower() for name in rows.columns[: len(BOOK_COLUMNS)]) != BOOK_COLUMNS
        or not judges
        or rows.names & {*RATING_COLUMNS}
    ):
        return False
    values = [str(value).strip() for entry in rows.entries() for name, value in entry.values.items() if name not in BOOK_COLUMNS]
    return any(values) and all(_is_number(value) for value in values if value)


def _is_number(value: str) -> bool:
    return value.removeprefix("-").replace(".", "", 1).isascii() and value.removeprefix("-").replace(".", "", 1).isdigit()


def _read_csv(source: Source) -> Suite:
    rated_documents, gradings = RatedDocuments(), GradeReader(source)
    for entry in TableRows(source).entries() if source.is_parquet else csv_entries(source, may_end_early=True):
        query = entry.text(*QUERY_COLUMNS).strip()
        is_rated = bool(str(entry.first(*RATING_COLUMNS) or "").strip())
        judgment = gradings.judgment(entry, entry.text(*DOCUMENT_COLUMNS), *RATING_COLUMNS) if is_rated else None
        rated_documents.add(entry, query, judgment)
    gradings.check()
    return rated_documents.suite(source, source.name)


def _read_book_csv(source: Source) -> Suite:
    """One column per judge; judgments that are all whole numbers are rounded when they are combined, as Quepid does it."""
    rows, gradings = TableRows(source), GradeReader(source)
    rating_rows: list[tuple[Entry, list[float]]] = []
    for entry in rows.entries():
        judges = entry.rest(*BOOK_COLUMNS)
        rating_rows.append((entry, [gradings.worth(entry, judge, value) for judge, value in judges.items() if str(value).strip()]))
    gradings.check()
    whole = all(rating == round(rating) for _, ratings in rating_rows for rating in ratings)
    rated_documents, several = RatedDocuments(), 0
    for entry, ratings in rating_rows:
        several += len(ratings) > 1
        rating, query = combine_ratings(ratings, whole=whole), entry.text("query").strip()
        rated_documents.add(entry, query, None if rating is None else Judgment.of_gain(entry.text("docid"), rating))
    return rated_documents.suite(source, source.name, notes=several_judges_note(several))
