"""What agents return, read in one way: lists, lazy rows, streams and scores by id become ids, scores and lines.

Whatever cannot be read is an error that names the entry and its position: an answer in another shape would look like one that
found nothing relevant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from io import IOBase
from itertools import islice
from math import isfinite
from typing import Any

from searchmark.agents.chunk_ids import ChunkRule
from searchmark.agents.hits import IDS, LONGEST_ID, SCORES, FoundHit, NotAHit, id_of, read_hit
from searchmark.agents.tables import rows_of
from searchmark.corpora.path_names import PathNames
from searchmark.errors import UsageError, shortened
from searchmark.records import is_line_range

CHUNKS_PER_HIT = 100  # of one file in a row; a stream that repeats a file for ever would have no end
_SHOWN = 100


class BadAnswer(UsageError):
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


def stream_of(result: Any) -> HitStream | None:
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
class Parts:
    """What an agent returned, with all its parts as they were read: lazy ones have been drained."""

    kind: str
    entries: Any
    scores: Any
    lines: Any

    @classmethod
    def of(cls, result: Any, depth: int, rule: ChunkRule | None = None) -> Parts:
        most = depth + 1 if rule is None else depth * CHUNKS_PER_HIT + 1
        rows = rows_of(result, most)
        if rows is not None:  # and not what its columns are called
            return cls(type(result).__name__, rows, None, None)
        entries = read_now(getattr(result, "files", result), most)
        scores, lines = (read_now(getattr(result, name, None), most) for name in ("scores", "lines"))
        return cls(type(result).__name__, entries, scores, lines)


def read_now(entries: Any, most: int) -> Any:
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
    """Reads the entries of one answer in order: at most ``depth`` hits, chunks of one file as one; what is dropped is counted.

    With ``names``, paths are under the names of the corpus before anything is done with them.
    """

    depth: int
    rule: ChunkRule | None = None
    names: PathNames | None = None
    ids: list[str] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    lines: list[tuple[int, int] | None] = field(default_factory=list)
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

    def read_all(self, parts: Parts) -> None:
        """Read an answer that is there; of what is beyond the depth only the number is known."""
        entries = _ordered(parts)
        if self.rule is None and all(type(entry) is str and 0 < len(entry) <= LONGEST_ID for entry in entries[: self.depth]):
            self._take_texts(entries[: self.depth], parts)  # nearly always, and worth its own way: this is done for every search
        else:
            self._take_columns(entries, parts)
        if len(entries) > self.position:
            self._drop("beyond_depth", len(entries) - self.position)

    def _take_texts(self, ids: Sequence[str], parts: Parts) -> None:
        size = self.position = len(ids)
        self.ids = list(ids) if self.names is None else [self.names.name(each) for each in ids]
        self.lines = [None] * size if parts.lines is None else [self._range(span) for span in _column(parts.lines, size)]
        self.scores = [None] * size if parts.scores is None else [self._number(score) for score in _column(parts.scores, size)]

    def _take_columns(self, entries: Sequence[Any], parts: Parts) -> None:
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
        except NotAHit as error:
            raise BadAnswer(f"hit {self.position} of the answer cannot be read: {error}") from error
        if self.rule is not None:
            hit = self._of_file(self.rule, hit)
        name = hit.id if self.names is None else self.names.name(hit.id)
        if self.rule is not None:
            if name in self._seen:
                self._drop("merged_chunks")
                return False
            self._seen.add(name)
        self.ids.append(name)
        self.scores.append(self._number(hit.score))
        self.lines.append(self._range(hit.lines))
        return True

    def _of_file(self, rule: ChunkRule, hit: FoundHit) -> FoundHit:
        found = rule.file_of(hit)
        if found is None:
            self._drop("not_chunks")
        return found or hit

    def _number(self, score: Any) -> float | None:
        self._scored = self._scored or score is not None
        return float(score) if finite(score) else None

    def _range(self, span: Any) -> tuple[int, int] | None:
        if is_line_range(span):
            return (span[0], span[1])
        if span is not None:
            self._drop("lines_unusable")
        return None

    def _drop(self, kind: str, count: int = 1) -> None:
        self._dropped[kind] = self._dropped.get(kind, 0) + count


def finite(value: Any) -> bool:
    """Whether this is a number that JSON can hold; numpy's are among them."""
    if type(value) is float:
        return isfinite(value)
    if isinstance(value, bool | str | bytes) or value is None or not hasattr(value, "__float__"):
        return False
    try:
        return isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _ordered(parts: Parts) -> Sequence[Any]:
    """The entries, best first."""
    entries = parts.entries
    if isinstance(entries, list | tuple):
        return entries
    if isinstance(entries, Mapping):
        return _by_score(entries)
    if entries is None:
        raise BadAnswer("retrieve returned None; an answer without hits is an empty list")
    if isinstance(entries, Set):
        raise BadAnswer(f"retrieve returned a {parts.kind}, which has no order; return a list, best first")
    raise BadAnswer(f"retrieve returned {parts.kind}, not a list of hits, best first, nor a RetrievalResult with one")


def _by_score(scores: Mapping[Any, Any]) -> Sequence[Any]:
    """Scores by id have no order of their own: as in all such mappings it is by score, then id, both descending."""
    if any(name in scores for name in IDS) and any(name in scores for name in SCORES):
        raise BadAnswer(f"retrieve returned one hit, {shortened(repr(scores), _SHOWN)}; return a list of hits, best first")
    named = [(id_of(name), score) for name, score in scores.items()]
    for (text, score), given in zip(named, scores, strict=True):
        if text is None or not finite(score):
            entry = shortened(f"{given!r}: {score!r}", _SHOWN)
            raise BadAnswer(f"retrieve returned a mapping, which is read as scores by id, and {entry} is none")
    return sorted(named, key=lambda pair: (float(pair[1]), str(pair[0])), reverse=True)


def _column(values: Any, size: int) -> list[Any]:
    """One value for each hit; what is no list gives none that is of use, and too few are followed by such."""
    given = list(values[:size]) if isinstance(values, list | tuple) else []
    return given + [_MISSING] * (size - len(given)) if given or not isinstance(values, list | tuple) else [None] * size


_MISSING = object()
