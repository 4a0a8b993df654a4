"""How hits are read out of what a tool says: JSON, JSON lines, a regular expression, or plain lines.

Whatever does not read as an answer is an error of the case: an answer in another shape would look like one without hits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

from searchmark.agents.agent import RetrievalResult, Usage
from searchmark.agents.hits import FoundHit, NotAHit, read_hit
from searchmark.agents.outside.paths import PathFailed
from searchmark.agents.outside.result_format import IN_HIT, PATHS, Format, ResultFormat
from searchmark.errors import UsageError
from searchmark.services.excerpts import excerpt_of

_SHOWN = 200
_OPENED = ("{", "[", '{"', "[{")  # how JSON of several lines begins; a path may begin with a single bracket


class UnreadableAnswer(UsageError):
    """What a tool said is not what its config says that answers look like; ``said`` is that, as it is."""

    def __init__(self, sentence: str, said: str | None = None) -> None:
        super().__init__(sentence)
        self.said = said
        self.excerpt = None if said is None else repr(excerpt_of(said.strip(), _SHOWN))


@dataclass(frozen=True)
class ReadAnswer:
    """The hits of an answer, best first, and what it says of its price."""

    hits: Sequence[FoundHit]
    cost: float | None = None
    tokens: int | None = None

    def result(self, usage: Usage = Usage(), **metadata: Any) -> RetrievalResult:  # noqa: B008  # frozen
        """As an agent returns it."""
        scores = [hit.score for hit in self.hits]
        lines = [hit.lines for hit in self.hits]
        return RetrievalResult(
            [hit.id for hit in self.hits],
            None if all(score is None for score in scores) else [float("nan") if score is None else score for score in scores],
            metadata,
            None if all(each is None for each in lines) else lines,
            self.cost,
            usage,
        )


class ResultReader:
    """Reads answers of one format. ``default`` is the format where the config suggests none."""

    def __init__(self, wanted: ResultFormat, default: Format) -> None:
        self.format = wanted.format_or(default)
        self._lines_by_default = wanted.format is None and self.format == "lines"
        self._wanted = wanted
        self._paths = {name: wanted.path(name) for name in PATHS}
        self._has_paths = any(self._paths[name] is not None for name in IN_HIT)
        self._pattern = None if wanted.pattern is None else re.compile(wanted.pattern)
        self._nothing = None if wanted.nothing is None else re.compile(wanted.nothing)

    def read(self, text: str) -> ReadAnswer:
        """The answer in a text."""
        if self.format == "json":
            return ReadAnswer(()) if self.says_nothing(text) else self.read_data(_parsed(text))
        if self._lines_by_default:
            _refuse_json(text)
        return ReadAnswer(list(self.read_lines(text.split("\n"))))

    def says_nothing(self, text: str) -> bool:
        """Whether a text, be it an answer or a line, is as a whole what the tool says if it finds nothing."""
        return self._nothing is not None and self._nothing.fullmatch(text.strip()) is not None

    def read_lines(self, lines: Iterable[str]) -> Iterator[FoundHit]:
        """The hits in lines, as these come. Lines end where the tool ended them: a path may hold whatever else breaks a line."""
        first, nothing, found = None, None, False
        for line in (each.removesuffix("\r") for each in lines if each.strip()):
            first = first or line
            if self.says_nothing(line):
                nothing = line
            elif (hit := self.read_line(line)) is not None:
                found = True
                yield hit
        if nothing is not None and found:
            raise UnreadableAnswer(
                f"the answer has hits, and says that it found nothing (nothing: {self._wanted.nothing})", nothing
            )
        if first is not None and nothing is None and not found:
            raise UnreadableAnswer(f"no line of the answer fits the pattern {self._wanted.pattern!r}; it begins", first)

    def read_line(self, line: str) -> FoundHit | None:
        """The hit in a line; None if the pattern finds none there. Not for JSON, of which a line is a piece."""
        if self.format == "lines":
            if self._lines_by_default:
                _refuse_json(line, _OPENED)
            return self._of_line(line.strip())
        if self.format == "jsonl":
            return self.read_entry(self._without_error(_parsed(line)))
        match = None if self._pattern is None else self._pattern.search(line)
        return None if match is None else _of_groups(match)

    def _of_line(self, line: str) -> FoundHit:
        """An id is whatever a line is, unless a part of it is what the tool says if it finds nothing."""
        if self._nothing is not None and self._nothing.search(line):
            advice = f"let nothing fit the whole line, such as {self._wanted.nothing}.*"
            raise UnreadableAnswer(f"a part of a line is what the tool says if it finds nothing: {advice}; it is", line)
        return FoundHit(line)

    def _without_error(self, data: Any) -> Any:
        said = self._error(data)
        if said:
            raise UnreadableAnswer(f"the answer is an error: {said}")
        return data

    def read_data(self, data: Any) -> ReadAnswer:
        """The answer in data that was JSON."""
        self._without_error(data)
        found = self._at("hits", data) if self._paths["hits"] is not None else data
        if not isinstance(found, list):
            raise UnreadableAnswer(self._no_list(data), json.dumps(data))
        if not found and self._paths["error"] is None:
            _check_no_error_beside(data)
        rows = _rows(found) if self._wanted.columns else found
        entries = rows if self._paths["header"] is None else _named(self._at("header", data), rows)
        return ReadAnswer(self._rated([self.read_entry(entry) for entry in entries]), *self.price(data))

    def _no_list(self, data: Any) -> str:
        if self._wanted.hits is not None:
            return f"the answer has no list at {self._wanted.hits!r} (results.hits)"
        found = f", such as results: {_format_of(data)}" if isinstance(data, dict) and _list_in(data) else ""
        return f"the answer is not a list: say where its hits are with results.hits{found}"

    def price(self, data: Any) -> tuple[float | None, int | None]:
        """What data of an answer says that it has cost, and of how many tokens it is."""
        cost, tokens = (self._figure(name, data) for name in ("cost", "tokens"))
        return cost, None if tokens is None else int(tokens)

    def _figure(self, name: str, data: Any) -> float | None:
        said = self._at(name, data)
        amount = _amount(said)
        if amount is not None and not isfinite(amount):
            raise UnreadableAnswer(f"{name} is not a finite number: {excerpt_of(str(said), _SHOWN)}")
        return amount

    def error_in(self, text: str) -> str | None:
        """What a text says of its error, if it is where the config says that errors are."""
        try:
            return self._error(json.loads(text))
        except (ValueError, RecursionError, UnreadableAnswer):
            return None

    def _error(self, data: Any) -> str | None:
        said = self._at("error", data)
        return excerpt_of(said if isinstance(said, str) else json.dumps(said), _SHOWN) if said else None

    def read_entry(self, entry: Any) -> FoundHit:
        """One hit; without JMESPaths it is read as hits usually are."""
        try:
            return self._by_paths(entry) if self._has_paths else read_hit(entry)
        except NotAHit as error:
            raise UnreadableAnswer(f"a hit cannot be read: {error.of_any}", json.dumps(entry)) from error

    def _by_paths(self, entry: Any) -> FoundHit:
        hit = read_hit(entry if self._paths["id"] is None else self._at("id", entry))
        score = self._score(hit.id, entry)
        return FoundHit(hit.id, hit.score if score is None else score, self._lines(entry) or hit.lines)

    def _rated(self, hits: list[FoundHit]) -> list[FoundHit]:
        """Scores that may be distances, by the order that the tool has put its hits in: the best one is the first."""
        rated = [hit.score for hit in hits if hit.score is not None]
        if self._wanted.score is None or self._wanted.distance is None or not rated or rated[0] >= rated[-1]:
            return hits
        return [replace(hit, score=None if hit.score is None else 0.0 - hit.score) for hit in hits]

    def _score(self, hit: str, entry: Any) -> float | None:
        name = "distance" if self._wanted.score is None else "score"
        rating = read_hit((hit, self._at(name, entry))).score
        return rating if rating is None or name == "score" else 0.0 - rating

    def _lines(self, entry: Any) -> Any:
        first, last = self._at("first_line", entry), self._at("last_line", entry)
        return _range(first, first if last is None else last)

    def _at(self, name: str, data: Any) -> Any:
        path = self._paths[name]
        try:
            return None if path is None else path.find(data)
        except PathFailed as error:
            raise UnreadableAnswer(str(error)) from error


def _check_no_error_beside(data: Any) -> None:
    """An empty list beside an error is what is left of a search that failed."""
    said = next((data[key] for key in ("error", "errors") if data.get(key)), None) if isinstance(data, Mapping) else None
    if said is not None:
        raise UnreadableAnswer("the answer has no hits, and an error", json.dumps(said))


def _rows(columns: list[Any]) -> list[list[Any]]:
    if not all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
        raise UnreadableAnswer("its columns are not lists of the same length", json.dumps(columns))
    return [list(row) for row in zip(*columns, strict=True)]


def _named(header: Any, rows: list[Any]) -> list[dict[str, Any]]:
    """Rows by the names of their columns: a service may leave out a column that it does not know, and the others move up."""
    if not isinstance(header, list) or not all(isinstance(row, list) and len(row) == len(header) for row in rows):
        raise UnreadableAnswer(f"its rows are not lists with a value for each column of {excerpt_of(json.dumps(header), _SHOWN)}")
    return [{str(name): value for name, value in zip(header, row, strict=True)} for row in rows]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableAnswer(f"the answer is not JSON ({error})", text) from error


def _refuse_json(text: str, opened: Sequence[str] = ()) -> None:
    """Refuse JSON where nothing says that a line is a name: all of it would be taken for one. ``opened`` may begin such."""
    text = text.strip()
    if not text.startswith(("{", "[")):
        return
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        if not any(text == each or (len(each) > 1 and text.startswith(each)) for each in opened):
            return
        data = [] if text.startswith("[") else {"results": []}
    advice = f"write results: {_format_of(data)}, or results: {{format: lines}} if it is a name"
    raise UnreadableAnswer(f"the answer is JSON and not a name per line: {advice}", text)


def _format_of(data: dict[str, Any] | list[Any]) -> str:
    """What a config would say of JSON that looks like this."""
    if isinstance(data, list):
        return "{format: json}"
    hits = _list_in(data)
    return "{format: jsonl}" if hits is None else f"{{hits: {hits}}}"


def _list_in(data: dict[str, Any]) -> str | None:
    return next((key for key, value in data.items() if isinstance(value, list)), None)


def _of_groups(match: re.Match[str]) -> FoundHit:
    found = match.groupdict()
    if not (found["id"] or "").strip():
        raise UnreadableAnswer("the pattern finds a line without an id", match.string)
    first = found.get("first")
    return FoundHit(found["id"], _amount(found.get("score")), _range(first, found.get("last") or first))


def _range(first: Any, last: Any) -> Any:
    """Lines as numbers where they are such; the others stay as they are, and are counted as of no use."""
    if first is None:
        return None
    try:
        return (int(first), int(last))
    except (TypeError, ValueError, OverflowError):
        return (first, last)


def _amount(value: Any) -> float | None:
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except OverflowError:
        return inf
    except (TypeError, ValueError):
        return None
