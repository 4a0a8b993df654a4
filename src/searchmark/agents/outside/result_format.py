"""How an answer is described: in which format it is, and where in it the hits are."""

from __future__ import annotations

import re
from typing import Literal

from searchmark.agents.outside.paths import FieldPath
from searchmark.errors import UsageError
from searchmark.options.strict import strict_record

Format = Literal["json", "jsonl", "lines", "regex"]
IN_HIT = ("id", "score", "distance", "first_line", "last_line")
PATHS = ("hits", "header", *IN_HIT, "error", "cost", "tokens")


@strict_record
class ResultFormat:
    """How hits are read out of what a tool says.

    ``format``: ``json``, ``jsonl`` (a hit per line), ``lines`` (an id or path per line) or ``regex``; by default what the other
    fields suggest. ``hits``: a JMESPath to the list of hits. ``id``, ``score``, ``first_line``, ``last_line``: JMESPaths inside of
    a hit, which may also be an id alone. ``distance``: a JMESPath to what is smaller for better hits; it becomes the score with
    its sign changed; if ``score`` is given too, hits are rated by whichever gets worse from the first to the last. ``columns``: at
    ``hits`` is a list of columns, such as ids and distances, and not of hits. ``header``: a JMESPath in the whole answer to the
    names of the columns, where hits are lists: the other JMESPaths then find values by these names. ``error``: a JMESPath in the
    whole answer; what is there is an error, even if the rest reads as an answer. ``pattern``: a regular expression with the groups
    ``id``, ``score``, ``first`` and ``last``, looked for in every line. ``nothing``: a regular expression for what the tool says
    if it finds nothing; it fits whole lines, of JSON the whole answer. ``cost`` and ``tokens``: JMESPaths in the whole answer.
    """

    format: Format | None = None
    hits: str | None = None
    id: str | None = None
    score: str | None = None
    distance: str | None = None
    first_line: str | None = None
    last_line: str | None = None
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

    def format_or(self, default: Format) -> Format:
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
