"""Quepid's JSON: a whole case (``case_name``), its ratings alone, and a book of judgments (``query_doc_pairs``)."""

from __future__ import annotations

from typing import Any

from searchmark.records import Judgment, Suite
from searchmark.suites.gradings import Gradings
from searchmark.suites.own_metrics import quepid_measures
from searchmark.suites.quepid_ratings import Rated, combined_rating, several_judges
from searchmark.suites.source import Entry, Source

KEPT = ("information_need", "notes", "options")  # of a query, where there is something in them


def read_quepid_json(source: Source) -> Suite:
    """Ratings with the scorer of their case, where it names one."""
    top = source.top()
    if top.has("query_doc_pairs"):
        return _read_book(source, top)
    rated, gradings = Rated(), Gradings(source)
    for entry in source.entries("queries"):
        query = entry.text("query_text", "query").strip()
        rated.judged.setdefault(query, {})
        rated.fields[query] = _kept(entry)
        for rating, document, value in _ratings(entry):
            if value is None:
                rated.unrated += 1
            else:
                rated.add(rating, query, Judgment.of_gain(document, gradings.worth(rating, "rating", value)))
    gradings.check()
    suite = rated.suite(source, top.maybe_text("case_name") or source.name)
    scorer = top.mapping("scorer") if isinstance(top.values.get("scorer"), dict) else None
    return suite if scorer is None else quepid_measures(scorer, suite)


def _ratings(query: Entry) -> list[tuple[Entry, str, Any]]:
    """``[{"doc_id": …, "rating": …}]`` in a case, ``{doc_id: rating}`` in an export of ratings."""
    if not query.has("ratings"):
        return []
    if isinstance(query.values["ratings"], dict):
        by_document = query.raw_mapping("ratings")
        return [(by_document, document, value) for document, value in by_document.values.items()]
    return [(entry, entry.text("doc_id"), entry.values.get("rating")) for entry in query.entries("ratings")]


def _kept(entry: Entry) -> dict[str, object]:
    return {name: entry.values[name] for name in KEPT if entry.values.get(name) not in (None, "", {}, "{}")}


def _read_book(source: Source, top: Entry) -> Suite:
    """What judges can rate and will not rate later, one rating per document; whole unless the book has implicit judgments."""
    rated, gradings, several = Rated(), Gradings(source), 0
    whole = top.values.get("support_implicit_judgements") is not True
    for pair in top.entries("query_doc_pairs"):
        query = pair.text("query_text").strip()
        rated.judged.setdefault(query, {})
        rated.fields.setdefault(query, _kept(pair))
        given = [each for each in (pair.entries("judgements") if pair.has("judgements") else ()) if _is_rating(each)]
        if not given:
            rated.unrated += 1
            continue
        several += len(given) > 1
        rating = combined_rating([gradings.value(each, "rating") for each in given], whole=whole)
        rated.add(pair, query, Judgment.of_gain(pair.text("doc_id"), rating))
    gradings.check()
    return rated.suite(source, top.maybe_text("name") or source.name, notes=several_judges(several))


def _is_rating(judgement: Entry) -> bool:
    later = judgement.values.get("unrateable") is True or judgement.values.get("judge_later") is True
    return judgement.has("rating") and not later
