"""Answers as JSON has them: a list of hits, ids with scores, or what a search engine responded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any

import numpy as np

from searchmark.options.column_names import OF_RUNS
from searchmark.records import STATUSES, AnswerDetails, ImportedRun, Provenance, Run, RunLabel, Status
from searchmark.records.answers import NOTHING_KNOWN
from searchmark.records.columns import starts_of
from searchmark.records.id_columns import in_bytes
from searchmark.runs.parts import id_of, refuse_two_rankings, score_of
from searchmark.runs.source import RunFile, named

LONGEST_FAILURE = 500
BY_RANK = "answers whose hits were not in the order of their ranks, sorted by rank"
SAME_TWICE = "answers that came twice with the same hits, of which one is kept"
SHARDS_FAILED = "responses without the hits of shards that failed (_shards.failed), taken as they are"
TIMED_OUT = "responses that the engine cut short since its time was up (timed_out), taken as they are"


@dataclass(frozen=True, eq=False)
class ImportedAnswer:
    """One answer of a file: the hits best first, a score being NaN where there is none, and why it failed if it did."""

    case: str
    ids: Sequence[str] = ()
    scores: Sequence[float] = ()
    query: str | None = None
    failure: str | None = None

    @property
    def status(self) -> Status:
        return "error" if self.failure is not None else "ok" if self.ids else "empty"


@dataclass(eq=False)
class ImportedAnswers:
    """Reads the answers of one file, and counts what must be said of them."""

    file: RunFile
    counts: dict[str, int] = field(default_factory=dict)

    def answer(self, case: str, place: str, value: Any, query: str | None = None, scores: Any = None) -> ImportedAnswer:
        """What a file has for one case; ``scores`` are beside the ids where it has two lists."""
        response = _response(value)
        if response is not None:
            failure = _failure(response)
            if failure is not None:
                return ImportedAnswer(case, query=query, failure=failure)
            if response.get("timed_out") is True:
                self.count(TIMED_OUT)
            shards = response.get("_shards")
            if isinstance(shards, dict) and shards.get("failed"):
                self.count(SHARDS_FAILED)
            value, place = _hits_of(response), f"{place}.hits"
        if isinstance(value, dict):
            return ImportedAnswer(case, *self._by_score(place, value), query)
        if not isinstance(value, list):
            raise self.file.error(place, f"is {type(value).__name__}, not a list of hits")
        if isinstance(scores, list) and len(scores) == len(value) and not any(isinstance(each, dict) for each in value):
            value = [{"id": hit, "score": score} for hit, score in zip(value, scores, strict=True)]
        return ImportedAnswer(case, *self._listed(place, value), query)

    def count(self, what: str, number: int = 1) -> None:
        if number:
            self.counts[what] = self.counts.get(what, 0) + number

    def _by_score(self, place: str, entries: Mapping[str, Any]) -> tuple[list[str], list[float]]:
        """Ids with scores have no order of their own and are sorted as trec_eval does; those without a score come last."""
        pairs = [(id_of(self.file, f"{place}.{hit}", hit), score_of(self.file, f"{place}.{hit}", entries[hit])) for hit in entries]
        pairs.sort(key=lambda pair: (-math.inf if math.isnan(pair[1]) else pair[1], in_bytes(pair[0])), reverse=True)
        return [hit for hit, _ in pairs], [score for _, score in pairs]

    def _listed(self, place: str, entries: Sequence[Any]) -> tuple[list[str], list[float]]:
        """A list keeps its order, unless its hits have ranks that say otherwise."""
        alike = self._alike(entries)
        if alike is not None:
            return alike
        read = [self._hit(f"{place}.{number}", entry) for number, entry in enumerate(entries)]
        ranks = [rank for _, _, rank in read]
        if any(later < earlier for earlier, later in pairwise(ranks)):  # NaN, for none, never is
            refuse_two_rankings(self.file, place, ranks, [hit for hit, _, _ in read])
            self.count(BY_RANK)
            read.sort(key=lambda hit: math.inf if math.isnan(hit[2]) else hit[2])
        return [hit for hit, _, _ in read], [score for _, score, _ in read]

    def _alike(self, entries: Sequence[Any]) -> tuple[list[str], list[float]] | None:
        """Hits that are all of one kind and in order, together; None where they must be looked at one by one."""
        kinds = set(map(type, entries))
        if kinds == {str}:
            return (list(entries), [math.nan] * len(entries)) if "" not in entries else None
        if kinds != {dict} or isinstance(entries[0].get("hit"), dict):
            return None
        names = tuple(entries[0])
        identity, score, rank = (self.file.field_names.get(role) or named(names, OF_RUNS[role]) for role in ("id", "score", "rank"))
        if rank is not None or identity not in names or (score is not None and score not in names):
            return None
        ids = [entry.get(identity) for entry in entries]
        scores = [math.nan] * len(ids) if score is None else [entry.get(score) for entry in entries]
        if set(map(type, ids)) != {str} or "" in ids or (score is not None and set(map(type, scores)) != {float}):
            return None
        return (ids, scores) if score is None or all(map(math.isfinite, scores)) else None

    def _hit(self, place: str, entry: Any) -> tuple[str, float, float]:
        if not isinstance(entry, dict):
            return id_of(self.file, place, entry), math.nan, math.nan
        entry = entry["hit"] if isinstance(entry.get("hit"), dict) else entry  # as the rank evaluation API has it
        names = tuple(entry)
        given = self.file.field_names
        identity = given.get("id") or named(names, OF_RUNS["id"])
        score, rank = (given.get(role) or named(names, OF_RUNS[role]) for role in ("score", "rank"))
        found = None if identity is None else _at(entry, identity)
        if identity is None or (found is None and identity not in entry):
            found_fields = ", ".join(map(repr, names)) or "none"
            how = f"found the fields {found_fields}; name yours with --map run.id=FIELD"
            raise self.file.error(f"{place}.{identity or 'id'}", f"is missing; {how}")
        return (
            id_of(self.file, f"{place}.{identity}", found),
            score_of(self.file, f"{place}.{score}", None if score is None else _at(entry, score)),
            score_of(self.file, f"{place}.{rank}", None if rank is None else _at(entry, rank), "rank"),
        )

    def by_case(self, data: Mapping[str, Any], place: str = "", name: str | None = None) -> Run:
        """A whole run, as a mapping from case to answer."""
        scored = _scored(data)
        if scored is not None:
            return Run.from_scores(scored, name or self.file.name)
        return self.run([self.answer(case, f"{place}{case}", hits) for case, hits in data.items()], name)

    def in_order(self, values: Iterable[tuple[str, Any]]) -> Run:
        """A run of responses that do not say what was asked, one after the other or many in one, each with its place."""
        answers: list[ImportedAnswer] = []
        for place, response in _apart(values):
            if not is_response(response):
                raise self.file.error(place, "is not the response to a search: it has no hits and no error")
            answers.append(self.answer(str(len(answers) + 1), place, response))
        if not answers:
            raise self.file.error("responses", "is empty")
        return self.run(answers, by_position=True)

    def _each_once(self, answers: Iterable[ImportedAnswer]) -> list[ImportedAnswer]:
        """Suites that ask the same in several cases are often answered several times."""
        kept: dict[str, ImportedAnswer] = {}
        for answer in answers:
            first = kept.setdefault(answer.case, answer)
            if first is not answer:
                if list(first.ids) != list(answer.ids) or first.failure != answer.failure or first.query != answer.query:
                    raise self.file.error(answer.case, "is answered twice, and differently")
                self.count(SAME_TWICE)
        return list(kept.values())

    def run(self, answers: Iterable[ImportedAnswer], name: str | None = None, *, by_position: bool = False) -> Run:
        """All answers of the file as one run."""
        answers = self._each_once(answers)
        notes = tuple(f"{what}: {count}" for what, count in self.counts.items())
        failures = any(answer.failure is not None for answer in answers)
        starts = starts_of((len(answer.ids) for answer in answers), len(answers))
        return Run(
            label=RunLabel(name or self.file.name),
            case_ids=tuple(answer.case for answer in answers),
            starts=starts,
            ids=list(chain.from_iterable(answer.ids for answer in answers)),
            scores=np.fromiter(chain.from_iterable(answer.scores for answer in answers), np.float64, int(starts[-1])),
            status=np.array([STATUSES.index(answer.status) for answer in answers], np.uint8),
            details=tuple(_details(answer) for answer in answers) if failures else None,
            queries=tuple(answer.query for answer in answers) if any(answer.query for answer in answers) else None,
            provenance=Provenance(imported=ImportedRun(notes, by_position) if notes or by_position else None),
        )


def _scored(data: Mapping[str, Any]) -> Mapping[str, Mapping[str, float]] | None:
    """The content where it is nothing but ids with scores, which take a shorter way; None where something must be said of them."""
    if not data or not all(isinstance(entries, dict) for entries in data.values()):
        return None
    if any("" in entries or not set(map(type, entries.values())) <= {float, int} for entries in data.values()):
        return None
    try:
        finite = all(np.isfinite(np.fromiter(entries.values(), np.float64)).all() for entries in data.values())
    except OverflowError:
        return None
    return data if finite else None


def _details(answer: ImportedAnswer) -> AnswerDetails:
    return NOTHING_KNOWN if answer.failure is None else AnswerDetails(failure=answer.failure)


def is_response(value: Any) -> bool:
    """Whether this is what Elasticsearch or OpenSearch responds to one search."""
    return _response(value) is not None


def is_msearch(value: Any) -> bool:
    """Whether this is the response to many searches."""
    return isinstance(value, dict) and isinstance(value.get("responses"), list)


def is_nameless(value: Any) -> bool:
    """Whether this is what an engine responds to one search or to many, and nothing beside it says what was asked."""
    is_one = isinstance(value, dict) and "hits" in value and bool(value.keys() & {"took", "_shards", "timed_out"})
    return is_one or is_msearch(value)


def _apart(values: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for place, value in values:
        before = f"{place}." if place else ""
        if is_msearch(value):
            yield from ((f"{before}responses.{number}", response) for number, response in enumerate(value["responses"]))
        else:
            yield place, value


def _response(value: Any) -> dict[str, Any] | None:
    """The response to one search, also where it is wrapped; ids with scores are none."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("response"), dict):
        return _response(value["response"]) or value["response"]
    is_hits, is_failure = isinstance(value.get("hits"), dict | list), isinstance(value.get("error"), dict | str)
    return value if is_hits or is_failure else None


def _hits_of(response: Mapping[str, Any]) -> Any:
    hits = response.get("hits", response.get("docs"))  # docs: as Solr has them
    return hits.get("hits", []) if isinstance(hits, dict) else hits


def _failure(response: Mapping[str, Any]) -> str | None:
    """Why the engine has no answer, in its own words."""
    error = response.get("error")
    if isinstance(error, dict):
        error = ": ".join(str(error[key]) for key in ("type", "reason") if error.get(key))
    if not isinstance(error, str) or response.get("hits") is not None:
        return None
    return (error or "the engine answered with an error")[:LONGEST_FAILURE]


def _at(entry: Mapping[str, Any], name: str) -> Any:
    """A field of a hit; ``_source.sku`` is one inside of another."""
    if name in entry:
        return entry[name]
    value: Any = entry
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
