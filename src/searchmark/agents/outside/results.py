"""How hits are read from what a tool returns: JSON by paths, JSON lines, regular expressions, plain lines.

Anything that does not read as an answer is an error of the case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Literal

from searchmark.agents.answers import InvalidHit, RawHit, read_hit
from searchmark.agents.protocol import RetrievalResult, Usage
from searchmark.config.strict import strict_record
from searchmark.errors import UsageError, shortened
from searchmark.io.secrets import excerpt_of

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult


# JMESPaths of a config: checked when it is read, and looked up such that what is not found is never passed over.

_DATA_EXCERPT_LENGTH = 300


class PathNotFound(Exception):
    """A path cannot be followed in an answer: says of which field."""


class FieldPath:
    """The path of one field. ``whole``: it picks from every entry of a list, and one without what it picks is an error."""

    def __init__(self, field: str, path: str, *, whole: bool = False) -> None:
        self._field, self._path, self._whole = field, path, whole
        self._parsed = _compile_path(field, path)

    def find(self, data: Any) -> Any:
        """What is there in data, None if there is nothing."""
        from jmespath.exceptions import JMESPathError

        try:
            return self._search(data)
        except (JMESPathError, TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
            message = shortened(" ".join(str(error).split()), _DATA_EXCERPT_LENGTH)
            raise PathNotFound(f"{self._field} ({self._path}) does not fit the answer: {message}") from error

    def _search(self, data: Any) -> Any:
        if not self._whole:
            return self._parsed.search(data)
        from searchmark.agents.outside.projections import LosslessProjections, ProjectionDropsEntry

        try:
            return LosslessProjections().visit(self._parsed.parsed, data)
        except ProjectionDropsEntry as error:
            raise PathNotFound(f"an entry of the answer has nothing where {self._field} ({self._path}) looks: {error}") from error


def _compile_path(field: str, path: str) -> ParsedResult:
    import jmespath

    try:
        expression = jmespath.compile(path)
    except jmespath.exceptions.JMESPathError as error:
        raise UsageError(f"{field} is not a JMESPath: {' '.join(str(error).split())}") from error
    unknown = next(_unknown_functions(expression.parsed), None)
    if unknown is not None:
        raise UsageError(f"{field} is not a JMESPath: there is no function {unknown}() in {path!r}")
    return expression


def _unknown_functions(node: Any) -> Iterator[str]:
    from jmespath.functions import Functions

    if node["type"] == "function_expression" and node["value"] not in Functions.FUNCTION_TABLE:
        yield node["value"]
    for child in node["children"]:
        if isinstance(child, dict):  # a slice has numbers below it
            yield from _unknown_functions(child)


# How an answer is described: in which format it is, and where in it the hits are.

ResultFormatName = Literal["json", "jsonl", "lines", "regex"]

IN_HIT = ("id", "score", "distance", "first_line", "last_line", "text")

PATHS = ("hits", "header", *IN_HIT, "error", "cost", "tokens")


@strict_record
class ResultFormat:
    """How hits are read out of what a tool says.

    ``format``: ``json``, ``jsonl`` (a hit per line), ``lines`` (an id or path per line) or ``regex``; by default what the other
    fields suggest. ``hits``: a JMESPath to the list of hits. ``id``, ``score``, ``first_line``, ``last_line``, ``text``:
    JMESPaths inside of a hit, which may also be an id alone. ``distance``: a JMESPath to what is smaller for better hits; it
    becomes the score with its sign changed; if ``score`` is given too, hits are rated by whichever gets worse from the first to
    the last. ``columns``: at ``hits`` is a list of columns, such as ids and distances, and not of hits. ``header``: a JMESPath
    in the whole answer to the names of the columns, where hits are lists: the other JMESPaths then find values by these names.
    ``error``: a JMESPath in the whole answer; what is there is an error, even if the rest reads as an answer. ``pattern``: a
    regular expression with the groups ``id``, ``score``, ``first`` and ``last``, looked for in every line. ``nothing``: a
    regular expression for what the tool says if it finds nothing; it fits whole lines, of JSON the whole answer. ``cost`` and
    ``tokens``: JMESPaths in the whole answer.
    """

    format: ResultFormatName | None = None
    hits: str | None = None
    id: str | None = None
    score: str | None = None
    distance: str | None = None
    first_line: str | None = None
    last_line: str | None = None
    text: str | None = None
    columns: bool = False
    header: str | None = None
    error: str | None = None
    pattern: str | None = None
    nothing: str | None = None
    cost: str | None = None
    tokens: str | None = None

    def __post_init__(self) -> None:
        for name in PATHS:
            self.path(name)
        for name in ("pattern", "nothing"):
            _check_pattern(name, getattr(self, name))
        if self.pattern is not None and "id" not in re.compile(self.pattern).groupindex:
            raise UsageError(
                f"the pattern has no group named id: write (?P<id>...) around what names the document; it is {self.pattern!r}"
            )
        if self.format == "regex" and self.pattern is None:
            raise UsageError("the format regex needs a pattern")

    def path(self, name: str) -> FieldPath | None:
        """The JMESPath in a field, ready to be used; None if there is none."""
        path: str | None = getattr(self, name)
        return None if path is None else FieldPath(name, path, whole=name == "hits")

    def format_or(self, default: ResultFormatName) -> ResultFormatName:
        """The format that is meant."""
        if self.format is not None:
            return self.format
        if self.pattern is not None:
            return "regex"
        return "json" if self.hits is not None or self.id is not None else default


def _check_pattern(name: str, pattern: str | None) -> None:
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise UsageError(f"{name} is not a regular expression: {error}") from error


# How hits are read out of what a tool says: JSON, JSON lines, a regular expression, or plain lines.
#
# Whatever does not read as an answer is an error of the case: an answer in another shape would look like one without hits.

_ANSWER_EXCERPT_LENGTH = 200

_JSON_OPENINGS = ("{", "[", '{"', "[{")  # how JSON of several lines begins; a path may begin with a single bracket


class UnreadableAnswer(UsageError):
    """What a tool said is not what its config says that answers look like; ``said`` is that, as it is."""

    def __init__(self, sentence: str, answer: str | None = None) -> None:
        super().__init__(sentence)
        self.answer = answer
        self.excerpt = None if answer is None else repr(excerpt_of(answer.strip(), _ANSWER_EXCERPT_LENGTH))


@dataclass(frozen=True)
class ParsedAnswer:
    """The hits of an answer, best first, and what it says of its price."""

    hits: Sequence[RawHit]
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

    def __init__(self, layout: ResultFormat, default: ResultFormatName) -> None:
        self.format = layout.format_or(default)
        self._lines_by_default = layout.format is None and self.format == "lines"
        self._layout = layout
        self._paths = {name: layout.path(name) for name in PATHS}
        self._has_paths = any(self._paths[name] is not None for name in IN_HIT)
        self._pattern = None if layout.pattern is None else re.compile(layout.pattern)
        self._nothing = None if layout.nothing is None else re.compile(layout.nothing)

    def read(self, text: str) -> ParsedAnswer:
        """The answer in a text."""
        if self.format == "json":
            return ParsedAnswer(()) if self.says_nothing(text) else self.read_data(_parse_json_answer(text))
        if self._lines_by_default:
            _refuse_json(text)
        return ParsedAnswer(list(self.read_lines(text.split("\n"))))

    def says_nothing(self, text: str) -> bool:
        """Whether a text, be it an answer or a line, is as a whole what the tool says if it finds nothing."""
        return self._nothing is not None and self._nothing.fullmatch(text.strip()) is not None

    def read_lines(self, lines: Iterable[str]) -> Iterator[RawHit]:
        """The hits in lines, as these come. Lines end where the tool ended them: a path may hold whatever else breaks a line."""
        first, empty_line, any_hit = None, None, False
        for line in (each.removesuffix("\r") for each in lines if each.strip()):
            first = first or line
            if self.says_nothing(line):
                empty_line = line
            elif (hit := self.read_line(line)) is not None:
                any_hit = True
                yield hit
        if empty_line is not None and any_hit:
            raise UnreadableAnswer(
                f"the answer has hits, and says that it found nothing (nothing: {self._layout.nothing})", empty_line
            )
        if first is not None and empty_line is None and not any_hit:
            raise UnreadableAnswer(f"no line of the answer fits the pattern {self._layout.pattern!r}; it begins", first)

    def read_line(self, line: str) -> RawHit | None:
        """The hit in a line; None if the pattern finds none there. Not for JSON, of which a line is a piece."""
        if self.format == "lines":
            if self._lines_by_default:
                _refuse_json(line, _JSON_OPENINGS)
            return self._of_line(line.strip())
        if self.format == "jsonl":
            return self.read_entry(self._without_error(_parse_json_answer(line)))
        match = None if self._pattern is None else self._pattern.search(line)
        return None if match is None else _hit_of_match(match)

    def _of_line(self, line: str) -> RawHit:
        """An id is whatever a line is, unless a part of it is what the tool says if it finds nothing."""
        if self._nothing is not None and self._nothing.search(line):
            advice = f"let nothing fit the whole line, such as {self._layout.nothing}.*"
            raise UnreadableAnswer(f"a part of a line is what the tool says if it finds nothing: {advice}; it is", line)
        return RawHit(line)

    def _without_error(self, data: Any) -> Any:
        error = self._error(data)
        if error:
            raise UnreadableAnswer(f"the answer is an error: {error}")
        return data

    def read_data(self, data: Any) -> ParsedAnswer:
        """The answer in data that was JSON."""
        self._without_error(data)
        entries = self._at("hits", data) if self._paths["hits"] is not None else data
        if not isinstance(entries, list):
            raise UnreadableAnswer(self._no_list(data), json.dumps(data))
        if not entries and self._paths["error"] is None:
            _refuse_error_beside_hits(data)
        if self._layout.columns:
            entries = _columns_to_rows(entries)
        if self._paths["header"] is not None:
            entries = _name_columns(self._at("header", data), entries)
        return ParsedAnswer(self._with_signed_scores([self.read_entry(entry) for entry in entries]), *self.price(data))

    def _no_list(self, data: Any) -> str:
        if self._layout.hits is not None:
            return f"the answer has no list at {self._layout.hits!r} (results.hits)"
        suggestion = f", such as results: {_suggested_format(data)}" if isinstance(data, dict) and _lists_in(data) else ""
        return f"the answer is not a list: say where its hits are with results.hits{suggestion}"

    def price(self, data: Any) -> tuple[float | None, int | None]:
        """What data of an answer says that it has cost, and of how many tokens it is."""
        cost, tokens = (self._figure(name, data) for name in ("cost", "tokens"))
        return cost, None if tokens is None else int(tokens)

    def _figure(self, name: str, data: Any) -> float | None:
        value = self._at(name, data)
        amount = _parse_amount(value)
        if amount is not None and not isfinite(amount):
            raise UnreadableAnswer(f"{name} is not a finite number: {excerpt_of(str(value), _ANSWER_EXCERPT_LENGTH)}")
        return amount

    def error_in(self, text: str) -> str | None:
        """What a text says of its error, if it is where the config says that errors are."""
        try:
            return self._error(json.loads(text))
        except (ValueError, RecursionError, UnreadableAnswer):
            return None

    def _error(self, data: Any) -> str | None:
        error = self._at("error", data)
        return excerpt_of(error if isinstance(error, str) else json.dumps(error), _ANSWER_EXCERPT_LENGTH) if error else None

    def read_entry(self, entry: Any) -> RawHit:
        """One hit; without JMESPaths it is read as hits usually are."""
        try:
            return self._by_paths(entry) if self._has_paths else read_hit(entry)
        except InvalidHit as error:
            raise UnreadableAnswer(f"a hit cannot be read: {error.of_any}", json.dumps(entry)) from error

    def _by_paths(self, entry: Any) -> RawHit:
        hit = read_hit(entry if self._paths["id"] is None else self._at("id", entry))
        score = self._score(hit.id, entry)
        text = self._at("text", entry)
        return replace(
            hit,
            score=hit.score if score is None else score,
            lines=self._lines(entry) or hit.lines,
            text=text if isinstance(text, str) else hit.text,
        )

    def _with_signed_scores(self, hits: list[RawHit]) -> list[RawHit]:
        """Scores that may be distances, by the order that the tool has put its hits in: the best one is the first."""
        scores = [hit.score for hit in hits if hit.score is not None]
        if self._layout.score is None or self._layout.distance is None or not scores or scores[0] >= scores[-1]:
            return hits
        return [replace(hit, score=None if hit.score is None else 0.0 - hit.score) for hit in hits]

    def _score(self, hit: str, entry: Any) -> float | None:
        name = "distance" if self._layout.score is None else "score"
        rating = read_hit((hit, self._at(name, entry))).score
        return rating if rating is None or name == "score" else 0.0 - rating

    def _lines(self, entry: Any) -> Any:
        first, last = self._at("first_line", entry), self._at("last_line", entry)
        return _line_range(first, first if last is None else last)

    def _at(self, name: str, data: Any) -> Any:
        path = self._paths[name]
        try:
            return None if path is None else path.find(data)
        except PathNotFound as error:
            raise UnreadableAnswer(str(error)) from error


def _refuse_error_beside_hits(data: Any) -> None:
    """An empty list beside an error is what is left of a search that failed."""
    error = next((data[key] for key in ("error", "errors") if data.get(key)), None) if isinstance(data, Mapping) else None
    if error is not None:
        raise UnreadableAnswer("the answer has no hits, and an error", json.dumps(error))


def _columns_to_rows(columns: list[Any]) -> list[list[Any]]:
    if not all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
        raise UnreadableAnswer("its columns are not lists of the same length", json.dumps(columns))
    return [list(row) for row in zip(*columns, strict=True)]


def _name_columns(header: Any, rows: list[Any]) -> list[dict[str, Any]]:
    """Rows by the names of their columns: a service may leave out a column that it does not know, and the others move up."""
    if not isinstance(header, list) or not all(isinstance(row, list) and len(row) == len(header) for row in rows):
        raise UnreadableAnswer(
            f"its rows are not lists with a value for each column of {excerpt_of(json.dumps(header), _ANSWER_EXCERPT_LENGTH)}"
        )
    return [{str(name): value for name, value in zip(header, row, strict=True)} for row in rows]


def _parse_json_answer(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableAnswer(f"the answer is not JSON ({error})", text) from error


def _refuse_json(text: str, openings: Sequence[str] = ()) -> None:
    """Refuse JSON where nothing says that a line is a name: all of it would be taken for one. ``openings`` may begin such."""
    text = text.strip()
    if not text.startswith(("{", "[")):
        return
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        if not any(text == each or (len(each) > 1 and text.startswith(each)) for each in openings):
            return
        data = [] if text.startswith("[") else {"results": []}
    advice = f"write results: {_suggested_format(data)}, or results: {{format: lines}} if it is a name"
    raise UnreadableAnswer(f"the answer is JSON and not a name per line: {advice}", text)


def _suggested_format(data: dict[str, Any] | list[Any]) -> str:
    """What a config would say of JSON that looks like this."""
    if isinstance(data, list):
        return "{format: json}"
    hits = _lists_in(data)
    return "{format: jsonl}" if hits is None else f"{{hits: {hits}}}"


def _lists_in(data: dict[str, Any]) -> str | None:
    return next((key for key, value in data.items() if isinstance(value, list)), None)


def _hit_of_match(match: re.Match[str]) -> RawHit:
    groups = match.groupdict()
    if not (groups["id"] or "").strip():
        raise UnreadableAnswer("the pattern finds a line without an id", match.string)
    first = groups.get("first")
    return RawHit(groups["id"], _parse_amount(groups.get("score")), _line_range(first, groups.get("last") or first))


def _line_range(first: Any, last: Any) -> Any:
    """Lines as numbers where they are such; the others stay as they are, and are counted as of no use."""
    if first is None:
        return None
    try:
        return (int(first), int(last))
    except (TypeError, ValueError, OverflowError):
        return (first, last)


def _parse_amount(value: Any) -> float | None:
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except OverflowError:
        return inf
    except (TypeError, ValueError):
        return None
