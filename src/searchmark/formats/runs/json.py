"""Runs in JSON: results that people dump, responses of Elasticsearch and OpenSearch, files of Quepid, MTEB and ranx."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any

import numpy as np

from searchmark.formats import RUN_FORMATS
from searchmark.formats.runs.source import RunFile, first_named, id_of, refuse_two_rankings, score_of
from searchmark.formats.runs.tables import read_csv, read_csv_header, read_hit_rows, read_json_lines
from searchmark.io.data import CborError, parse_json, read_cbor
from searchmark.io.store import read_bytes, read_text
from searchmark.records.answers import NOTHING_KNOWN, STATUSES, AnswerDetails, Status
from searchmark.records.columns import original_bytes, starts_of
from searchmark.records.dataframes import RUN_COLUMN_NAMES, normalize_name
from searchmark.records.provenance import ImportedRun, Provenance, RunLabel
from searchmark.records.run import Run

# Answers as JSON has them: a list of hits, ids with scores, or what a search engine responded.

LONGEST_FAILURE = 500

SORTED_BY_RANK = "answers whose hits were not in the order of their ranks, sorted by rank"

REPEATED_ANSWERS = "answers that came twice with the same hits, of which one is kept"

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

    @property
    def details(self) -> AnswerDetails:
        return NOTHING_KNOWN if self.failure is None else AnswerDetails(failure=self.failure)


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
            value, place = response.get("hits", response.get("docs")), f"{place}.hits"  # docs: as Solr has them
            value = value.get("hits", []) if isinstance(value, dict) else value
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
        """Ids with scores have no order and are sorted as by trec_eval; those without a score come last."""
        pairs = [(id_of(self.file, f"{place}.{hit}", hit), score_of(self.file, f"{place}.{hit}", entries[hit])) for hit in entries]
        pairs.sort(key=lambda pair: (-math.inf if math.isnan(pair[1]) else pair[1], original_bytes(pair[0])), reverse=True)
        return [hit for hit, _ in pairs], [score for _, score in pairs]

    def _listed(self, place: str, entries: Sequence[Any]) -> tuple[list[str], list[float]]:
        """A list keeps its order, unless its hits have ranks that say otherwise."""
        alike = self._alike(entries)
        if alike is not None:
            return alike
        hits = [self._hit(f"{place}.{number}", entry) for number, entry in enumerate(entries)]
        ranks = [rank for _, _, rank in hits]
        if any(later < earlier for earlier, later in pairwise(ranks)):  # NaN, for none, never is
            refuse_two_rankings(self.file, place, ranks, [hit for hit, _, _ in hits])
            self.count(SORTED_BY_RANK)
            hits.sort(key=lambda hit: math.inf if math.isnan(hit[2]) else hit[2])
        return [hit for hit, _, _ in hits], [score for _, score, _ in hits]

    def _alike(self, entries: Sequence[Any]) -> tuple[list[str], list[float]] | None:
        """Hits that are all of one kind and in order, together; None where they must be looked at one by one."""
        kinds = set(map(type, entries))
        if kinds == {str}:
            return (list(entries), [math.nan] * len(entries)) if "" not in entries else None
        if kinds != {dict} or isinstance(entries[0].get("hit"), dict):
            return None
        names = tuple(entries[0])
        identity, score, rank = (
            self.file.field_names.get(role) or first_named(names, RUN_COLUMN_NAMES[role]) for role in ("id", "score", "rank")
        )
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
        field_names = self.file.field_names
        identity = field_names.get("id") or first_named(names, RUN_COLUMN_NAMES["id"])
        score, rank = (field_names.get(role) or first_named(names, RUN_COLUMN_NAMES[role]) for role in ("score", "rank"))
        hit_id = None if identity is None else _field_at(entry, identity)
        if identity is None or (hit_id is None and identity not in entry):
            found_fields = ", ".join(map(repr, names)) or "none"
            how = f"found the fields {found_fields}; name yours with --map run.id=FIELD"
            raise self.file.error(f"{place}.{identity or 'id'}", f"is missing; {how}")
        return (
            id_of(self.file, f"{place}.{identity}", hit_id),
            score_of(self.file, f"{place}.{score}", None if score is None else _field_at(entry, score)),
            score_of(self.file, f"{place}.{rank}", None if rank is None else _field_at(entry, rank), "rank"),
        )

    def by_case(self, data: Mapping[str, Any], place: str = "", name: str | None = None) -> Run:
        """A whole run, as a mapping from case to answer."""
        scores = _id_scores(data)
        if scores is not None:
            return Run.from_scores(scores, name or self.file.name)
        return self.run([self.answer(case, f"{place}{case}", hits) for case, hits in data.items()], name)

    def in_order(self, values: Iterable[tuple[str, Any]]) -> Run:
        """A run of responses that do not say what was asked, one after the other or many in one, each with its place."""
        answers: list[ImportedAnswer] = []
        for place, response in _without_repeats(values):
            if _response(response) is None:
                raise self.file.error(place, "is not the response to a search: it has no hits and no error")
            answers.append(self.answer(str(len(answers) + 1), place, response))
        if not answers:
            raise self.file.error("responses", "is empty")
        return self.run(answers, by_position=True)

    def _each_once(self, answers: Iterable[ImportedAnswer]) -> list[ImportedAnswer]:
        """Suites that ask the same in several cases are often answered several times."""
        by_case: dict[str, ImportedAnswer] = {}
        for answer in answers:
            first = by_case.setdefault(answer.case, answer)
            if first is not answer:
                if list(first.ids) != list(answer.ids) or first.failure != answer.failure or first.query != answer.query:
                    raise self.file.error(answer.case, "is answered twice, and differently")
                self.count(REPEATED_ANSWERS)
        return list(by_case.values())

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
            details=tuple(each.details for each in answers) if failures else None,
            queries=tuple(answer.query for answer in answers) if any(answer.query for answer in answers) else None,
            provenance=Provenance(imported=ImportedRun(notes, by_position) if notes or by_position else None),
        )


def _id_scores(data: Mapping[str, Any]) -> Mapping[str, Mapping[str, float]] | None:
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


def is_msearch(value: Any) -> bool:
    """Whether this is the response to many searches."""
    return isinstance(value, dict) and isinstance(value.get("responses"), list)


def is_unnamed_response(value: Any) -> bool:
    """Whether this is what an engine responds to one search or to many, and nothing beside it says what was asked."""
    is_one = isinstance(value, dict) and "hits" in value and bool(value.keys() & {"took", "_shards", "timed_out"})
    return is_one or is_msearch(value)


def _without_repeats(values: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
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


def _failure(response: Mapping[str, Any]) -> str | None:
    """Why the engine has no answer, in its own words."""
    error = response.get("error")
    if isinstance(error, dict):
        error = ": ".join(str(error[key]) for key in ("type", "reason") if error.get(key))
    if not isinstance(error, str) or response.get("hits") is not None:
        return None
    return (error or "the engine answered with an error")[:LONGEST_FAILURE]


def _field_at(entry: Mapping[str, Any], name: str) -> Any:
    """A field of a hit; ``_source.sku`` is one inside of another."""
    if name in entry:
        return entry[name]
    value: Any = entry
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


# JSON runs: what people get when they dump their results, and what their search engine responded, case by case.
#
# ``{case: [{"id": ..., "score": ...}, ...]}``, ``{case: [id, ...]}`` and ``{case: response}`` keep their order;
# ``{case: {id: score}}`` has no order and is sorted as trec_eval sorts. Lists and lines of objects, one per case
# or one per hit, say the case themselves.

# What an object with the hits of one case calls that case: here an id is not that of a hit.
_CASE_NAMES = (*RUN_COLUMN_NAMES["case"], "id", "name")


ONE_RESPONSE = (
    "is the response to one search, and a run has one for every query: write a JSON object {query: response}, lines of "
    '{"query": ..., "response": ...}, or a folder with a file per case'
)


def read_json_run(file: RunFile) -> list[Run]:
    data = file.data
    if isinstance(data, list) and data and isinstance(data[0], dict):
        return _read_rows(file, ((str(number), row) for number, row in enumerate(data)), data[0])
    if not isinstance(data, dict):
        raise file.error(None, "is not a mapping from case to hits, nor a list of objects")
    if is_unnamed_response(data) and not is_msearch(data):
        raise file.error(None, ONE_RESPONSE)
    return [ImportedAnswers(file).by_case(data)]


def read_jsonl_run(file: RunFile) -> list[Run]:
    """JSON lines: an object per case, or one per hit."""
    first = next(read_json_lines(file), None)
    if first is None:
        raise file.error(None, "is empty")
    place, row = first
    if not isinstance(row, dict):
        raise file.error(place, "is not an object")
    return _read_rows(file, read_json_lines(file), row)


def _read_rows(file: RunFile, rows: Iterator[tuple[str, Any]], first: Mapping[str, Any]) -> list[Run]:
    hits = hits_field(file, first)
    if is_unnamed_response(first) and _case_of(file, first) is None:
        return [ImportedAnswers(file).in_order(rows)]
    return read_hit_rows(file, rows, first) if hits is None else _read_cases(file, rows, hits)


def hits_field(file: RunFile, row: Mapping[str, Any]) -> str | None:
    """The field in which an object has the hits of a case; None where it is a single hit."""
    several = tuple(name for name, value in row.items() if isinstance(value, list | dict))
    failed = "error" if isinstance(row.get("error"), dict | str) else None
    if "hits" in file.field_names:
        return failed if failed and file.field_names["hits"] not in row else file.column("hits", tuple(row))
    return first_named(several, RUN_COLUMN_NAMES["hits"]) or failed


def _read_cases(file: RunFile, rows: Iterator[tuple[str, Any]], hits: str) -> list[Run]:
    reader, by_agent = ImportedAnswers(file), dict[str, list[ImportedAnswer]]()
    for place, row in rows:
        if not isinstance(row, dict):
            raise file.error(place, "is not an object")
        agent, answer = _case_answer(reader, place, row, hits if hits in row else hits_field(file, row) or hits)
        by_agent.setdefault(agent, []).append(answer)
    return [reader.run(answers, agent) for agent, answers in by_agent.items()]


def _case_answer(reader: ImportedAnswers, place: str, row: Mapping[str, Any], hits: str) -> tuple[str, ImportedAnswer]:
    file, names = reader.file, _single_field(row)
    query, agent = (_find_field(file, role, names) for role in ("query", "agent"))
    key = _case_of(file, row)
    if key is None:
        fields = ", ".join(map(repr, row))
        how = "name yours with --map run.query=FIELD"
        raise file.error(place, f"has no query and no id of a case; found the fields {fields}; {how}")
    query_text = None if query is None else str(row[query])
    value = {"error": row["error"]} if hits == "error" else row.get(hits)
    scores = row.get(first_named(tuple(row), ("scores", "similarities")) or "")
    label = str(row[agent]) if agent is not None else file.name
    identity = id_of(file, f"{place}.{key}", row[key])
    return label, reader.answer(identity, f"{place}.{hits}", value, query_text, scores)


def _single_field(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(name for name, value in row.items() if isinstance(value, str | int))


def _case_of(file: RunFile, row: Mapping[str, Any]) -> str | None:
    """The field that names a case: by its id, or else by its query."""
    return _find_field(file, "case", _single_field(row)) or _find_field(file, "query", _single_field(row))


def _find_field(file: RunFile, role: str, names: tuple[str, ...]) -> str | None:
    field_name = file.field_names.get(role)
    if field_name is not None:
        return field_name if field_name in names else None
    return first_named(names, _CASE_NAMES if role == "case" else RUN_COLUMN_NAMES[role])


# Responses of Elasticsearch and OpenSearch: many searches in one (``_msearch``), a folder of responses, ``_rank_eval``.
#
# The response to several searches does not repeat what was asked: its answers are those to the cases of the suite, in their
# order.

OTHER_FILES_NOTE = "files of the folder that are not .json, left out"


def read_responses(file: RunFile) -> list[Run]:
    """Responses in a folder, of ``_msearch``, or by query."""
    if file.path.is_dir():
        return [_read_folder(file)]
    if file.by_line:
        return read_jsonl_run(file)
    data = file.data
    return [ImportedAnswers(file).in_order([("", data)])] if is_msearch(data) else read_json_run(file)


def is_unnamed_response_list(file: RunFile) -> bool:
    """Whether this is a response of ``_msearch``, or a list of responses that do not say what was asked."""
    data = file.data
    return is_msearch(data) or (isinstance(data, list) and bool(data) and is_unnamed_response(data[0]))


def _read_folder(file: RunFile) -> Run:
    """A file per case, which is called like the case, or like its query."""
    reader, answers = ImportedAnswers(file), []
    for path in sorted(each for each in file.path.iterdir() if each.is_file() and not each.name.startswith(".")):
        one = RunFile(path, file.field_names)
        if one.extension != ".json":
            reader.count(OTHER_FILES_NOTE)
            continue
        answers.append(reader.answer(one.name, path.name, parse_json(path, read_text(path), constants=True)))
    if not answers:
        raise file.error(None, "is a folder without responses: a run has a file CASE.json for every case")
    return reader.run(answers)


def is_rank_eval(file: RunFile) -> bool:
    data = file.data
    return isinstance(data, dict) and isinstance(data.get("details"), dict) and "metric_score" in data


def read_rank_eval(file: RunFile) -> list[Run]:
    """What ``_rank_eval`` found for each of its requests, rated or not; a request that failed is an error."""
    data = file.data
    if not is_rank_eval(file):
        raise file.error(None, "is not a response of _rank_eval: it has no metric_score and details")
    reader = ImportedAnswers(file)
    answers = [reader.answer(case, f"details.{case}", detail) for case, detail in data["details"].items()]
    failures = data.get("failures")
    for case, failure in failures.items() if isinstance(failures, dict) else ():
        response = failure if isinstance(failure, dict) and "error" in failure else {"error": failure}
        answers.append(reader.answer(case, f"failures.{case}", response))
    return [reader.run(answers)]


# Predictions of MTEB: ``{subset: {split: {query: {id: score}}}}`` beside the name of the model.

MTEB_META = "mteb_model_meta"


def is_mteb_predictions(file: RunFile) -> bool:
    data = file.data
    return isinstance(data, dict) and isinstance(data.get(MTEB_META), dict)


def read_mteb(file: RunFile) -> list[Run]:
    data = file.data
    if not is_mteb_predictions(file):
        raise file.error(None, f"is not a file of predictions of MTEB: it has no {MTEB_META}")
    place, answers = _choose_split(file, _prediction_splits(file, data))
    model = data[MTEB_META].get("model_name")
    return [ImportedAnswers(file).by_case(answers, f"{place}.", model if isinstance(model, str) and model else None)]


def _prediction_splits(file: RunFile, data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The predictions by ``subset/split``."""
    predictions: dict[str, Mapping[str, Any]] = {}
    for subset, splits in data.items():
        if subset == MTEB_META:
            continue
        for split, answers in splits.items() if isinstance(splits, dict) else ():
            if not isinstance(answers, dict):
                raise file.error(f"{subset}.{split}", "is not a mapping from query to hits, as retrieval tasks have it")
            predictions[f"{subset}/{split}"] = answers
    if not predictions:
        raise file.error(None, "holds no predictions")
    return predictions


def _choose_split(file: RunFile, splits: Mapping[str, Mapping[str, Any]]) -> tuple[str, Mapping[str, Any]]:
    """The only split, or the one that --map names: by its name, or with its subset before it."""
    split_name = file.field_names.get("split")
    fitting = [
        name for name in splits if split_name is None or split_name in (name, name.partition("/")[2], name.partition("/")[0])
    ]
    if len(fitting) == 1:
        return fitting[0], splits[fitting[0]]
    names = ", ".join(splits)
    if not fitting:
        raise file.error(None, f"has no predictions for {split_name!r}, which --map run.split names; it has those for {names}")
    choice = f"choose one with --map run.split={fitting[0]}"
    raise file.error(None, f"has the predictions of {len(fitting)} splits: {', '.join(fitting)}; {choice}")


# Snapshots of Quepid, as JSON and as CSV.
#
# The JSON has the hits by the number of a query, whose text is beside them; documents that are there only since they were rated
# (``rated_only``) were not found. The CSV does not tell these apart, and its case is the whole set of queries.

QUEPID_COLUMNS = {"agent": "Snapshot Name", "query": "Query Text", "id": "Doc ID", "rank": "Doc Position"}

RATED_ONLY_NOTE = "documents that the snapshot has only since they were rated, left out"


def is_quepid_snapshot(file: RunFile) -> bool:
    data = file.data
    return isinstance(data, dict) and isinstance(data.get("docs"), dict) and isinstance(data.get("queries"), list)


def is_quepid_header(file: RunFile) -> bool:
    return set(QUEPID_COLUMNS.values()) <= set(read_csv_header(file)[1])


def read_quepid(file: RunFile) -> list[Run]:
    if file.head[:1] != b"{":
        return read_csv(file, QUEPID_COLUMNS)
    data = file.data
    if not is_quepid_snapshot(file):
        raise file.error(None, "is not a snapshot of Quepid: it has no docs and queries; export it with its documents")
    texts = {str(query.get("query_id")): query.get("query_text") for query in data["queries"] if isinstance(query, dict)}
    reader, answers = ImportedAnswers(file), []
    for number, docs in data["docs"].items():
        hits = [doc for doc in docs if not (isinstance(doc, dict) and doc.get("rated_only"))] if isinstance(docs, list) else docs
        reader.count(RATED_ONLY_NOTE, len(docs) - len(hits) if isinstance(docs, list) else 0)
        text = texts.get(number)
        answers.append(reader.answer(number, f"docs.{number}", hits, text if isinstance(text, str) else None))
    name = data.get("name")
    return [reader.run(answers, name if isinstance(name, str) and normalize_name(name) else None)]


# Runs that ranx has packed: ``{query: {id: score}}`` in CBOR, in LZ4, in LZ4 again. Its JSON and Parquet need no reader.

LZ4_MAGIC = RUN_FORMATS["ranx"].magic

_LAYERS = 2


# Bytes that no doubt is cast on, and those per packed byte beyond: scores are packed to a half, a bomb to a 255th.
UNPACKED_FREE, UNPACKED_MOST_TIMES = 1 << 28, 50


def read_ranx(file: RunFile) -> list[Run]:
    content = read_bytes(file.path)
    for _ in range(_LAYERS):
        content = _unpack_lz4(file, content) if content.startswith(LZ4_MAGIC) else content
    try:
        data = read_cbor(content)
    except CborError as error:
        raise file.error(None, f"is not a run of ranx: {error}") from error
    if isinstance(data, dict) and isinstance(data.get("run"), dict) and isinstance(data.get("metadata"), dict):
        data = data["run"]  # as ranxhub wraps it
    if not isinstance(data, dict) or not all(_is_answer(*each) for each in data.items()):
        raise file.error(None, "is not a run of ranx: it is not {query: {id: score}}")
    return [ImportedAnswers(file).by_case(data)]


def _is_answer(case: Any, hits: Any) -> bool:
    return isinstance(case, str) and isinstance(hits, dict) and set(map(type, hits)) <= {str}


def _unpack_lz4(file: RunFile, frame: bytes) -> bytes:
    from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]

    bound = max(UNPACKED_FREE, UNPACKED_MOST_TIMES * len(frame))
    unpacker = LZ4FrameDecompressor()
    try:
        content = unpacker.decompress(frame, max_length=bound + 1)
    except RuntimeError as error:
        raise file.error(None, f"cannot be unpacked: {error}") from error
    if len(content) > bound:
        raise file.error(None, f"unpacks to more than {bound} bytes, which is more than a run of its size can hold")
    if not unpacker.eof:
        raise file.error(None, "cannot be unpacked: it was cut short")
    return bytes(content)
