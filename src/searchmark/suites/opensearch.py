"""Judgment lists of OpenSearch's Search Relevance Workbench: as its API returns or takes them, or their ratings alone."""

from __future__ import annotations

from searchmark.errors import FormatError
from searchmark.records import Case, Judgment, Suite
from searchmark.records.shown import listed, quoted
from searchmark.suites.checks import check_cases
from searchmark.suites.gradings import Gradings
from searchmark.suites.source import Entry, Source

RATINGS = "judgment_ratings"
BY_MODEL = "LLM_JUDGMENT"
REFERENCE = "#"  # behind it, in lists that a model judged, is the reference answer of a query
SHOWN = 5


def read_opensearch(source: Source) -> Suite:
    """A query is a case, named by its text; where it is listed again, the first list counts, as in OpenSearch."""
    top = _judgment_list(source)
    by_model = top.values.get("type") == BY_MODEL
    gradings = Gradings(source)
    cases: dict[str, Case] = {}
    again = 0
    for entry in top.entries(RATINGS):
        case = _case(entry, gradings, by_model=by_model)
        again += case.id in cases
        cases.setdefault(case.id, case)
    gradings.check()
    judged = [case for case in cases.values() if case.judgments]
    if not judged:
        raise FormatError(source.path, RATINGS, "holds no ratings")
    check_cases(source.path, judged)
    unjudged = tuple(case.id for case in cases.values() if not case.judgments)
    return Suite.from_cases(
        top.maybe_text("name") or source.name,
        judged,
        description=top.maybe_text("description"),
        metadata=top.rest(RATINGS, "name", "description"),
        dropped={"queries_without_judgments": len(unjudged)} if unjudged else {},
        unjudged=unjudged,
        notes=(f"queries that are listed again, of which the first list counts: {again}",) if again else (),
    )


def _judgment_list(source: Source) -> Entry:
    """The list itself, or the only one among the hits of a response."""
    if isinstance(source.data, list):
        return Entry(source.path, "", {RATINGS: source.data})
    top = source.top()
    if top.has(RATINGS):
        return top
    found = [hit.mapping("_source") for hit in top.mapping("hits").entries("hits")]
    if len(found) != 1:
        names = listed([quoted(each.maybe_text("name") or "") for each in found], SHOWN) or "none"
        raise FormatError(source.path, "hits.hits", f"has {len(found)} judgment lists ({names}); save one of them, by its id")
    return found[0]


def _case(entry: Entry, gradings: Gradings, *, by_model: bool) -> Case:
    written = entry.text("query").strip()
    query, mark, reference = written.partition(REFERENCE) if by_model else (written, "", "")
    judgments: dict[str, Judgment] = {}
    for rating in entry.entries("ratings"):
        document = rating.text("doc_id")
        judgment = gradings.judgment(rating, document, "rating")
        if judgments.setdefault(document, judgment) != judgment:
            raise rating.error("doc_id", f"{document!r} is rated a second time, and otherwise")
    fields = {"reference": reference.strip()} if mark and reference.strip() else {}
    return Case(written, query.strip() or written, tuple(judgments.values()), fields=fields)
