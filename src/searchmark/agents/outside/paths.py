"""JMESPaths of a config: checked when it is read, and looked up such that what is not found is never passed over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from searchmark.errors import UsageError, shortened

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult

_SHOWN = 300


class PathFailed(Exception):
    """A path cannot be followed in an answer: says of which field."""


class FieldPath:
    """The path of one field. ``whole``: it picks from every entry of a list, and one without what it picks is an error."""

    def __init__(self, field: str, path: str, *, whole: bool = False) -> None:
        self._field, self._path, self._whole = field, path, whole
        self._parsed = _parsed(field, path)

    def find(self, data: Any) -> Any:
        """What is there in data, None if there is nothing."""
        from jmespath.exceptions import JMESPathError

        try:
            return self._found(data)
        except (JMESPathError, TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
            said = shortened(" ".join(str(error).split()), _SHOWN)
            raise PathFailed(f"{self._field} ({self._path}) does not fit the answer: {said}") from error

    def _found(self, data: Any) -> Any:
        if not self._whole:
            return self._parsed.search(data)
        from searchmark.agents.outside.whole_projections import EntryLost, WholeProjections

        try:
            return WholeProjections().visit(self._parsed.parsed, data)
        except EntryLost as error:
            raise PathFailed(f"an entry of the answer has nothing where {self._field} ({self._path}) looks: {error}") from error


def _parsed(field: str, path: str) -> ParsedResult:
    import jmespath

    try:
        parsed = jmespath.compile(path)
    except jmespath.exceptions.JMESPathError as error:
        raise UsageError(f"{field} is not a JMESPath: {' '.join(str(error).split())}") from error
    unknown = next(_unknown_functions(parsed.parsed), None)
    if unknown is not None:
        raise UsageError(f"{field} is not a JMESPath: there is no function {unknown}() in {path!r}")
    return parsed


def _unknown_functions(node: Any) -> Iterator[str]:
    from jmespath.functions import Functions

    if node["type"] == "function_expression" and node["value"] not in Functions.FUNCTION_TABLE:
        yield node["value"]
    for child in node["children"]:
        if isinstance(child, dict):  # a slice has numbers below it
            yield from _unknown_functions(child)
