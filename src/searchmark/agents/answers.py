"""What agents return, read into ids, scores and lines: lists, mappings, data frames, streams, and ids of chunks.

What cannot be read is an error that names the entry.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from io import IOBase
from itertools import islice
from math import isfinite
from typing import Any

from searchmark.config.agents import check_chunk_rule
from searchmark.errors import UsageError, shortened
from searchmark.formats.corpora.source import PathNames
from searchmark.io.secrets import excerpt_of
from searchmark.records.document import is_line_range

# Hits in every form: ids, pairs of id and score, mappings, documents of LangChain and LlamaIndex.

IDS = ("id", "_id", "path", "file", "file_path", "source")

SCORES = ("score", "_score", "similarity")

SOURCES = ("source", "file_path", "path")  # of what a document was cut from, in its metadata

TEXTS = ("text", "page_content", "content", "passage")  # of a chunk

STARTS = ("start_index", "start_char_idx")  # where a chunk begins in its document, in characters from 0

LONGEST_TEXT = 20_000  # characters of a chunk that are kept, where passages are judged

LONGEST_ID = 4096  # characters; what is longer is never cut: the rest could be the id of something else

_LONGEST_ENTRY_TEXT = 80

_PART = (*TEXTS, *STARTS, "lines")

_NO_SOURCE = f"the metadata of {{entry}} has none of {', '.join(SOURCES)}"

_LARGEST_NUMBER = 1 << 63


class InvalidHit(Exception):
    """An entry of an answer is nothing that names a document; ``reason`` says why, with ``{entry}`` where the entry goes."""

    def __init__(self, reason: str, entry: Any) -> None:
        super().__init__(reason.replace("{entry}", _entry_text(entry)))
        self.of_any = reason.replace("{entry}", "it")


@dataclass(frozen=True, slots=True)
class RawHit:
    """One entry of an answer: the id or path, and score, lines, text and the character at which that begins, where they are known.

    A score is as it was given, finite or not, and so are lines: who reads the answer counts those that are of no use.
    """

    id: str
    score: float | None = None
    lines: Any = None
    text: str | None = None
    start: int | None = None


def read_hit(entry: Any) -> RawHit:
    """What an entry names, in whichever of the usual forms it is."""
    hit = entry if isinstance(entry, RawHit) else _read_entry(entry)
    if not hit.id:
        raise InvalidHit("the id of {entry} is empty", entry)
    if len(hit.id) > LONGEST_ID:
        raise InvalidHit(f"an id has {len(hit.id)} characters, more than {LONGEST_ID}", entry)
    return hit


def _read_entry(entry: Any) -> RawHit:
    text = id_of(entry)
    if text is not None:
        return RawHit(text)
    if isinstance(entry, Mapping) or _is_row(entry):
        return _read_mapping(entry if isinstance(entry, Mapping) else dict(entry))
    if hasattr(entry, "dtype") and hasattr(entry, "tolist"):  # a row of an array
        entry = entry.tolist()
    if isinstance(entry, tuple | list) and len(entry) == 2:  # noqa: PLR2004  # id and score, or a document and its score
        hit = read_hit(entry[0])
        return replace(hit, score=_score_of(entry[1], entry))
    if isinstance(entry, Awaitable):
        raise InvalidHit("{entry} was not awaited: await it inside retrieve, which may be an async def", entry)
    document = getattr(entry, "node", entry)  # LlamaIndex: a node with its score
    metadata = getattr(document, "metadata", None)
    if isinstance(metadata, Mapping):
        score = _score_of(getattr(entry, "score", None), entry)
        fields = {name: getattr(document, name, None) for name in _PART}
        return RawHit(_source_of_metadata(metadata, entry), score, **_part_of(fields, metadata))
    raise InvalidHit("{entry} is not a hit: give an id, (id, score), a mapping with an id, or a document", entry)


def _is_row(entry: Any) -> bool:
    """Whether this is a row whose values have names: one of sqlite3, or of a table of pandas."""
    return callable(getattr(entry, "keys", None)) and hasattr(entry, "__getitem__")


def _read_mapping(entry: Mapping[Any, Any]) -> RawHit:
    """A mapping whose metadata name a source is a document: its own id, if it has one, is that of a chunk or of a record."""
    metadata = entry.get("metadata")
    hit_id = _first_field(metadata, SOURCES) if isinstance(metadata, Mapping) else None
    hit_id = _first_field(entry, IDS) if hit_id is None else hit_id
    if hit_id is None and isinstance(metadata, Mapping):
        raise InvalidHit(_NO_SOURCE, entry)
    if hit_id is None:
        raise InvalidHit(f"{{entry}} has none of {', '.join(IDS)}", entry)
    score = next((entry[key] for key in SCORES if entry.get(key) is not None), None)
    return RawHit(hit_id, _score_of(score, entry), **_part_of(entry, metadata if isinstance(metadata, Mapping) else {}))


def _part_of(chunk: Mapping[Any, Any], metadata: Mapping[Any, Any]) -> dict[str, Any]:
    """Which part of its document a chunk is, as far as it or its metadata say so."""
    text = next((chunk[name] for name in TEXTS if isinstance(chunk.get(name), str)), None)
    starts = (fields.get(name) for fields in (chunk, metadata) for name in STARTS)
    start = next((each for each in starts if type(each) is int and each >= 0), None)
    span = chunk.get("lines") or metadata.get("lines")
    if span is None and metadata.get("start_line") is not None:
        span = (metadata["start_line"], metadata.get("end_line", metadata["start_line"]))
    return {"lines": tuple(span) if isinstance(span, list) else span, "text": text, "start": start}


def _source_of_metadata(metadata: Mapping[Any, Any], entry: Any) -> str:
    source = _first_field(metadata, SOURCES)
    if source is None:
        raise InvalidHit(_NO_SOURCE, entry)
    return source


def _first_field(fields: Mapping[Any, Any], names: tuple[str, ...]) -> str | None:
    return next((text for key in names if (text := id_of(fields.get(key))) is not None), None)


def id_of(value: Any) -> str | None:
    """An id as text: text itself, a path, or a whole number."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes | os.PathLike):
        return os.fsdecode(value)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a scalar of NumPy, or an array of nothing else
        return id_of(value.item())
    if isinstance(value, bool) or not hasattr(value, "__index__") or hasattr(value, "shape"):
        return None
    number = operator.index(value)
    return str(number) if abs(number) < _LARGEST_NUMBER else None


def _score_of(value: Any, entry: Any) -> float | None:
    """A score, finite or not; what is no number at all makes the entry none."""
    if value is None:
        return None
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        raise InvalidHit("the score of {entry} is not a number", entry)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidHit("the score of {entry} is not a number", entry) from error


def _entry_text(entry: Any) -> str:
    try:
        return excerpt_of(repr(entry), _LONGEST_ENTRY_TEXT)
    except Exception:  # noqa: BLE001  # whatever it is, its own words about itself are not needed
        return f"<{type(entry).__name__}>"


# Ids of chunks, taken apart by a rule such as ``{file}#chunk-{n}``: which file a chunk is of, and which lines.
#
# What is right of ``{file}`` is read from the end of an id and what is left of it from the beginning, every placeholder as
# short as it can be; ``{file}`` is the rest. So a file may hold whatever separates it from its chunks, and no id takes longer
# than another.

NUMERIC_PLACEHOLDERS = ("n", "first", "last")  # placeholders that are whole numbers; all others are any text

_LONGEST_NUMBER = 9


@dataclass(frozen=True)
class ChunkRule:
    """How ids of chunks are made of those of files."""

    start: str
    # The placeholders on either side of the file, from the outside in, each with the text next to it towards the file.
    before: Sequence[tuple[str, str]]
    after: Sequence[tuple[str, str]]
    end: str

    def file_of(self, hit: RawHit) -> RawHit | None:
        """The hit as one on its file, with the lines that its id says; None if the id does not fit."""
        rest = hit.id
        if len(rest) < len(self.start) + len(self.end) or not (rest.startswith(self.start) and rest.endswith(self.end)):
            return None
        rest = rest[len(self.start) : len(rest) - len(self.end)]
        values: dict[str, str] = {}
        for name, text in self.before:
            values[name], separator, rest = rest.partition(text)
            if not separator or not _placeholder_fits(name, values[name]):
                return None
        for name, text in self.after:
            rest, separator, values[name] = rest.rpartition(text)
            if not separator or not _placeholder_fits(name, values[name]):
                return None
        return replace(hit, id=rest, lines=hit.lines or _lines_from_placeholders(values)) if rest else None


@cache
def parse_chunk_rule(text: str) -> ChunkRule:
    """The rule that a text is; refused is what could not tell a file from the rest."""
    texts, names = check_chunk_rule(text)
    place = names.index("file")
    before = list(zip(names[:place], texts[1 : place + 1], strict=True))
    after = list(zip(names[place + 1 :], texts[place + 1 : -1], strict=True))
    return ChunkRule(texts[0], before, after[::-1], texts[-1])


def _placeholder_fits(name: str, value: str) -> bool:
    if name in NUMERIC_PLACEHOLDERS:
        return value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER
    return bool(value)


def _lines_from_placeholders(values: dict[str, str]) -> tuple[int, int] | None:
    if "first" not in values:
        return None
    lines = (int(values["first"]), int(values.get("last", values["first"])))
    return lines if is_line_range(lines) else None


# Tables as answers: a data frame of pandas or polars has a hit per row, best first.
#
# Neither is imported for that: they are known by what they can do.


def is_table(result: Any) -> bool:
    """Whether this is a data frame; iterated, it would give the names of its columns."""
    return hasattr(result, "columns") and (_has_method(result, "to_dicts") or _has_method(result, "to_dict"))


def data_frame_rows(result: Any, most: int) -> list[Any] | None:
    """The first rows of a data frame as mappings; None for what is none."""
    if not is_table(result):
        return None
    first = result.head(most)
    return list(first.to_dicts() if _has_method(first, "to_dicts") else first.to_dict("records"))


def _has_method(result: Any, method: str) -> bool:
    return callable(getattr(result, method, None)) and callable(getattr(result, "head", None))


# What agents return, read in one way: lists, lazy rows, streams and scores by id become ids, scores and lines.
#
# Whatever cannot be read is an error that names the entry and its position: an answer in another shape would look like one that
# found nothing relevant.

CHUNKS_PER_HIT = 100  # of one file in a row; a stream that repeats a file for ever would have no end

_EXCERPT_LENGTH = 100


class InvalidAnswer(UsageError):
    """What an agent returned is no answer."""


class HitStream:
    """Hits that come one after the other. ``searches_meanwhile``: a program of its own does, and nothing stops it while we read."""

    searches_meanwhile = False

    def feed(self, take: Callable[[Any], bool]) -> None:
        """Give every hit to ``take`` as it comes, until there are no more or it says that it has enough."""
        raise NotImplementedError


class IteratedStream(HitStream):
    """The hits of a generator, or of any other iterator."""

    def __init__(self, hits: Iterator[Any]) -> None:
        self._hits = hits

    def feed(self, take: Callable[[Any], bool]) -> None:
        try:
            for hit in self._hits:
                if not take(hit):
                    return
        finally:
            getattr(self._hits, "close", lambda: None)()


def as_stream(result: Any) -> HitStream | None:
    """What an agent returned as a stream, if it is one; what is only read late (a query set, a list of a kind) is none."""
    if isinstance(result, HitStream):
        return result
    if isinstance(result, IOBase):
        return IteratedStream(_lines_of(result))
    return IteratedStream(result) if isinstance(result, Iterator) else None


def _lines_of(file: IOBase) -> Iterator[bytes]:
    """The lines of an open file, or of what a program prints, without what ends them."""
    with file:
        yield from filter(None, (line.strip() for line in file))


@dataclass(frozen=True)
class AnswerParts:
    """What an agent returned, with all its parts as they were read: lazy ones have been drained."""

    kind: str
    entries: Any
    scores: Any
    lines: Any

    @classmethod
    def of(cls, result: Any, depth: int, rule: ChunkRule | None = None) -> AnswerParts:
        most = depth + 1 if rule is None else depth * CHUNKS_PER_HIT + 1
        rows = data_frame_rows(result, most)
        if rows is not None:  # and not what its columns are called
            return cls(type(result).__name__, rows, None, None)
        entries = read_entries(getattr(result, "files", result), most)
        scores, lines = (read_entries(getattr(result, name, None), most) for name in ("scores", "lines"))
        return cls(type(result).__name__, entries, scores, lines)


def read_entries(entries: Any, most: int) -> Any:
    """The entries of a list, or the first ones of anything else that can be read in order; what has no order stays as it is.

    Who calls this while a clock runs has measured the search, even if it takes place only when its hits are read.
    """
    if type(entries) in (list, tuple) or isinstance(entries, str | bytes | Mapping | Set) or not hasattr(entries, "__iter__"):
        return entries
    if getattr(entries, "shape", None) == ():  # an array of one value can be iterated only in name
        return entries
    return list(entries if isinstance(entries, list | tuple) else islice(entries, most))


@dataclass
class HitReader:
    """Reads the entries of one answer in order; what is dropped is counted.

    Chunks of one file are one hit, unless passages are judged: then they are several, with their texts.
    """

    depth: int  # hits that are read at most
    rule: ChunkRule | None = None
    names: PathNames | None = None  # of paths in the corpus: each path is replaced before anything is done with it
    passages: bool = False
    ids: list[str] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    lines: list[tuple[int, int] | None] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)  # as the column below, only where passages are judged
    starts: list[int | None] = field(default_factory=list)
    position: int = 0
    _dropped: dict[str, int] = field(default_factory=dict)
    _scored: bool = False
    _seen: set[str] = field(default_factory=set)

    def dropped(self) -> dict[str, int]:
        """What was left out, by kind: scores too, unless there are none at all."""
        unusable = self.scores.count(None) if self._scored else 0
        return self._dropped | ({"scores_unusable": unusable} if unusable else {})

    def take(self, entry: Any) -> bool:
        """Read the next entry of a stream; whether another one is wanted."""
        if len(self.ids) >= self.depth:
            self._drop("beyond_depth")
            return False
        self._read(entry)
        return self.rule is None or self.position < self.depth * CHUNKS_PER_HIT

    def read_all(self, parts: AnswerParts) -> None:
        """Read an answer that is there; of what is beyond the depth only the number is known."""
        entries = _entries_best_first(parts)
        if self.rule is None and all(type(entry) is str and 0 < len(entry) <= LONGEST_ID for entry in entries[: self.depth]):
            self._take_texts(entries[: self.depth], parts)  # nearly always, and worth its own way: this is done for every search
        else:
            self._take_columns(entries, parts)
        if len(entries) > self.position:
            self._drop("beyond_depth", len(entries) - self.position)

    def _take_texts(self, ids: Sequence[str], parts: AnswerParts) -> None:
        size = self.position = len(ids)
        self.ids = list(ids) if self.names is None else [self.names.name(each) for each in ids]
        self.lines = [None] * size if parts.lines is None else [self._range(span) for span in _column(parts.lines, size)]
        self.scores = [None] * size if parts.scores is None else [self._number(score) for score in _column(parts.scores, size)]

    def _take_columns(self, entries: Sequence[Any], parts: AnswerParts) -> None:
        """Scores and lines that are given apart count for more than those of the entries."""
        scores = None if parts.scores is None else _column(parts.scores, len(entries))
        lines = None if parts.lines is None else _column(parts.lines, len(entries))
        for place, entry in enumerate(entries):
            if len(self.ids) >= self.depth:
                break
            if self._read(entry):
                self.scores[-1] = self.scores[-1] if scores is None else self._number(scores[place])
                self.lines[-1] = self.lines[-1] if lines is None else self._range(lines[place]) or self.lines[-1]

    def _read(self, entry: Any) -> bool:
        """Read the next entry; whether it is a hit of its own, and not a chunk of a file that was there already."""
        self.position += 1
        try:
            hit = read_hit(entry)
        except InvalidHit as error:
            raise InvalidAnswer(f"hit {self.position} of the answer cannot be read: {error}") from error
        if self.rule is not None:
            hit = self._of_file(self.rule, hit)
        name = hit.id if self.names is None else self.names.name(hit.id)
        if self.rule is not None and not self.passages:
            if name in self._seen:
                self._drop("merged_chunks")
                return False
            self._seen.add(name)
        self.ids.append(name)
        self.scores.append(self._number(hit.score))
        self.lines.append(self._range(hit.lines))
        if self.passages:
            self.texts.append(None if hit.text is None else hit.text[:LONGEST_TEXT])
            self.starts.append(hit.start)
            if hit.text is not None and len(hit.text) > LONGEST_TEXT:
                self._drop("texts_cut")
        return True

    def _of_file(self, rule: ChunkRule, hit: RawHit) -> RawHit:
        file_hit = rule.file_of(hit)
        if file_hit is None:
            self._drop("not_chunks")
        return file_hit or hit

    def _number(self, score: Any) -> float | None:
        self._scored = self._scored or score is not None
        return float(score) if is_finite_number(score) else None

    def _range(self, span: Any) -> tuple[int, int] | None:
        if is_line_range(span):
            return (span[0], span[1])
        if span is not None:
            self._drop("lines_unusable")
        return None

    def _drop(self, kind: str, count: int = 1) -> None:
        self._dropped[kind] = self._dropped.get(kind, 0) + count


def is_finite_number(value: Any) -> bool:
    """Whether this is a number that JSON can hold; numpy's are among them."""
    if type(value) is float:
        return isfinite(value)
    if isinstance(value, bool | str | bytes) or value is None or not hasattr(value, "__float__"):
        return False
    try:
        return isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _entries_best_first(parts: AnswerParts) -> Sequence[Any]:
    """The entries, best first."""
    entries = parts.entries
    if isinstance(entries, list | tuple):
        return entries
    if isinstance(entries, Mapping):
        return _sort_by_score(entries)
    if entries is None:
        raise InvalidAnswer("retrieve returned None; an answer without hits is an empty list")
    if isinstance(entries, Set):
        raise InvalidAnswer(f"retrieve returned a {parts.kind}, which has no order; return a list, best first")
    raise InvalidAnswer(f"retrieve returned {parts.kind}, not a list of hits, best first, nor a RetrievalResult with one")


def _sort_by_score(scores: Mapping[Any, Any]) -> Sequence[Any]:
    """Scores by id have no order of their own: as in all such mappings it is by score, then id, both descending."""
    if any(name in scores for name in IDS) and any(name in scores for name in SCORES):
        raise InvalidAnswer(
            f"retrieve returned one hit, {shortened(repr(scores), _EXCERPT_LENGTH)}; return a list of hits, best first"
        )
    pairs = [(id_of(name), score) for name, score in scores.items()]
    for (text, score), original in zip(pairs, scores, strict=True):
        if text is None or not is_finite_number(score):
            entry = shortened(f"{original!r}: {score!r}", _EXCERPT_LENGTH)
            raise InvalidAnswer(f"retrieve returned a mapping, which is read as scores by id, and {entry} is none")
    return sorted(pairs, key=lambda pair: (float(pair[1]), str(pair[0])), reverse=True)


def _column(values: Any, size: int) -> list[Any]:
    """One value for each hit; what is no list gives none that is of use, and too few are followed by such."""
    entries = list(values[:size]) if isinstance(values, list | tuple) else []
    return entries + [_MISSING] * (size - len(entries)) if entries or not isinstance(values, list | tuple) else [None] * size


_MISSING = object()
