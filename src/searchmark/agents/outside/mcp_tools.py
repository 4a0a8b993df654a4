"""The tools of an MCP server: which one searches, and whether its arguments are those that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from searchmark.agents.outside.templates import filled_data
from searchmark.errors import UsageError
from searchmark.services.excerpts import excerpt_of

if TYPE_CHECKING:
    from mcp_types import Tool

_SHOWN = 400
_SAMPLE_QUERY = "query"
_SAMPLE_K = 10


@dataclass(frozen=True)
class Argument:
    """A property of a tool's input schema."""

    name: str
    type: str
    required: bool

    def __str__(self) -> str:
        return f"{self.name} ({self.type}{', required' if self.required else ''})"


def arguments_of(schema: Mapping[str, Any]) -> list[Argument]:
    """What a tool takes, the required ones first."""
    properties, required = schema.get("properties"), schema.get("required")
    needed = set(required) if isinstance(required, list) else set()
    known = properties if isinstance(properties, Mapping) else {}
    found = [Argument(str(name), _type(part), name in needed) for name, part in known.items()]
    return sorted(found, key=lambda argument: not argument.required)


def _type(part: Any) -> str:
    if not isinstance(part, Mapping):
        return "anything"
    if isinstance(part.get("enum"), list):
        return "one of " + ", ".join(map(str, part["enum"]))
    kinds = part.get("type", [each.get("type") for each in _alternatives(part)])
    named = [str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind]
    return " or ".join(named) or "anything"


def _alternatives(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in ("anyOf", "oneOf"):
        yield from (each for each in part.get(key) or () if isinstance(each, Mapping))


@dataclass(frozen=True)
class SearchTool:
    """The tool that searches, and the template of what it is given."""

    name: str
    template: Mapping[str, Any]
    schema: Mapping[str, Any]

    def filled(self, query: str, k: int, corpus: str | None) -> dict[str, Any]:
        """The arguments of one search. A number becomes text where the tool wants text."""
        values: dict[str, Any] = {"query": query, "k": k, **({} if corpus is None else {"corpus": corpus})}
        texts = {argument.name for argument in arguments_of(self.schema) if argument.type == "string"}
        data: dict[str, Any] = filled_data(self.template, values)
        return {name: str(value) if name in texts and type(value) is int else value for name, value in data.items()}


def search_tool(tools: Sequence[Tool], name: str | None, template: Mapping[str, Any], corpus: str | None) -> SearchTool:
    """The tool that a config means, checked against what the server offers."""
    tool = _chosen(tools, name)
    _check_schema(tool)
    given = template or _inferred(tool)
    chosen = SearchTool(tool.name, given, tool.input_schema)
    _check(chosen, chosen.filled(_SAMPLE_QUERY, _SAMPLE_K, corpus))
    return chosen


def _check_schema(tool: Tool) -> None:
    from jsonschema import SchemaError  # type: ignore[import-untyped]  # it has no types
    from jsonschema.validators import validator_for  # type: ignore[import-untyped]  # as above

    try:
        validator_for(tool.input_schema).check_schema(tool.input_schema)
    except SchemaError as invalid:
        raise _invalid_schema(tool.name, invalid) from invalid


def _invalid_schema(tool: str, error: Exception) -> UsageError:
    return UsageError(f"the schema of the tool {tool!r} is invalid: {excerpt_of(str(error).partition(chr(10))[0], _SHOWN)}")


def _chosen(tools: Sequence[Tool], name: str | None) -> Tool:
    names = ", ".join(tool.name for tool in tools)
    if not tools:
        raise UsageError("the MCP server offers no tools")
    if name is None and len(tools) == 1:
        return tools[0]
    if name is None:
        raise UsageError(f"the MCP server offers several tools: say with tool which one searches: {excerpt_of(names, _SHOWN)}")
    found = next((tool for tool in tools if tool.name == name), None)
    if found is None:
        raise UsageError(f"the MCP server has no tool {name!r}; it offers {excerpt_of(names, _SHOWN)}")
    return found


def _inferred(tool: Tool) -> Mapping[str, str]:
    """The query goes to the one text that a tool cannot do without."""
    texts = [each.name for each in arguments_of(tool.input_schema) if each.required and each.type == "string"]
    if len(texts) != 1:
        raise UsageError(
            f"say with arguments what the tool {tool.name!r} is given, as {{query}} and {{k}}; {_takes(tool.input_schema)}"
        )
    return {texts[0]: "{query}"}


def _takes(schema: Mapping[str, Any]) -> str:
    listed = ", ".join(map(str, arguments_of(schema)))
    return excerpt_of(f"it takes {listed}" if listed else "it takes no arguments", _SHOWN)


def _check(tool: SearchTool, arguments: Mapping[str, Any]) -> None:
    wrong = _unknown(tool.schema, arguments) or _missing(tool.schema, arguments) or _mismatch(tool, arguments)
    if wrong:
        raise UsageError(f"the tool {tool.name!r} cannot be given these arguments: {wrong}; {_takes(tool.schema)}")


def _unknown(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """An argument that no property is named after; most servers ignore one, and so a mistake in typing too."""
    if schema.get("additionalProperties") or schema.get("patternProperties"):
        return None
    known = {argument.name for argument in arguments_of(schema)}
    return next((f"{name!r} is none of its arguments" for name in arguments if name not in known), None)


def _missing(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    return next(
        (f"{each.name!r} is missing" for each in arguments_of(schema) if each.required and each.name not in arguments), None
    )


def _mismatch(tool: SearchTool, arguments: Mapping[str, Any]) -> str | None:
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    checker = validator_for(tool.schema)(tool.schema, registry=Registry())  # an empty one: nothing is fetched
    try:
        error = next(iter(checker.iter_errors(arguments)), None)
    except Unresolvable as invalid:
        raise _invalid_schema(tool.name, invalid) from invalid
    if error is None:
        return None
    where = ".".join(map(str, error.absolute_path))
    return excerpt_of(f"{where}: {error.message}" if where else error.message, _SHOWN)
