"""The agent `mcp`: which tool of an MCP server searches, whether it takes our arguments, and how hits are read from its answers."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from searchmark.agents.answers import RawHit
from searchmark.agents.outside.options import McpSettings
from searchmark.agents.outside.process import find_program
from searchmark.agents.outside.results import ParsedAnswer, ResultFormat, ResultReader, UnreadableAnswer
from searchmark.agents.outside.templates import AddressTemplate, fill_data, fill_template, has_placeholder
from searchmark.agents.protocol import NO_USAGE, RetrievalAgent, RetrievalResult, Usage
from searchmark.errors import Missing, UsageError, shortened
from searchmark.io.secrets import environment_with, excerpt_of, without_credentials

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool

    from searchmark.agents.outside.mcp_connection import McpConnection, McpServerAddress, McpServerProgram
    from searchmark.formats.corpora.corpus import Changes, Corpus


# What an MCP tool answers, taken apart: hits from structured content, JSON in text, text, or links to resources.

WRAPPER_FIELD = "result"  # what SDKs call an answer that is no object, since structured content has to be one

_ANSWER_EXCERPT_LENGTH = 300

_LIKE_AN_ID = re.compile(r"(?=.*\w)\S*[^\s:]")  # no blank in it and no colon at its end, as sentences and headings have

_RESULTS_ADVICE = "say with results how hits are read: a pattern, or format: lines if every line is an id"


@dataclass(frozen=True)
class ToolAnswerParts:
    """The parts of a result that say something."""

    texts: Sequence[str]  # of text blocks that hold any
    uris: Sequence[str]  # of links and embedded resources
    read: str  # all text that a model would read
    structured: Any
    meta: Mapping[str, Any]
    others: Sequence[str]  # kinds of blocks that are none of these

    @classmethod
    def of(cls, result: CallToolResult) -> ToolAnswerParts:
        texts: list[str] = []
        uris: list[str] = []
        model_texts: list[str] = []
        others: list[str] = []
        for block in result.content:
            if block.type == "text":
                texts.extend([block.text] if block.text.strip() else [])
                model_texts.append(block.text)
            elif block.type == "resource_link":
                uris.append(str(block.uri))
                model_texts.append(str(block.uri))
            elif block.type == "resource":
                uris.append(str(block.resource.uri))
                model_texts.append(getattr(block.resource, "text", ""))
            else:
                others.append(block.type)
        structured_content = result.structured_content
        if not model_texts and structured_content is not None:  # nothing else is there to be read
            model_texts.append(json.dumps(structured_content, ensure_ascii=False))
        answer = cls(texts, uris, "\n".join(model_texts), structured_content, result.meta or {}, others)
        if result.is_error:
            raise UnreadableAnswer(
                f"the tool reports an error: {excerpt_of(' '.join(answer.read.split()), _ANSWER_EXCERPT_LENGTH) or '(no text)'}"
            )
        return answer


class AnswerReader:
    """Reads the answers of one tool as its config says, or as they are."""

    def __init__(self, layout: ResultFormat) -> None:
        self._format = layout
        self._as_json, self._as_text = ResultReader(layout, "json"), ResultReader(layout, "lines")
        self._free = layout.format is None and layout.pattern is None  # then the answer itself shows what it is

    def read(self, answer: ToolAnswerParts) -> ParsedAnswer:
        """The hits, and what the server says of their price: in the answer, or in its ``_meta``."""
        answer_hits, data = self._hits(answer)
        about = {**(data if isinstance(data, Mapping) else {}), "_meta": answer.meta}
        cost, tokens = self._as_json.price(about)
        return replace(answer_hits, cost=cost, tokens=tokens)

    def _hits(self, answer: ToolAnswerParts) -> tuple[ParsedAnswer, Any]:
        """The hits, and the data that they were in."""
        if answer.texts and self._as_text.says_nothing("\n".join(answer.texts)):
            return ParsedAnswer(()), answer.structured
        if self._as_json.format == "json" and answer.structured is not None:
            data = self._unwrap(answer.structured)
            if isinstance(data, list) or self._format.hits is not None or not answer.texts:
                return self._as_json.read_data(data), answer.structured
        if self._free and self._format.hits is None and self._format.id is None and answer.uris:
            return ParsedAnswer([RawHit(path_of_uri(uri)) for uri in answer.uris]), None
        return self._of_texts(answer)

    def _unwrap(self, data: Any) -> Any:
        alone = isinstance(data, Mapping) and list(data) == [WRAPPER_FIELD]
        return data[WRAPPER_FIELD] if alone and self._format.hits is None else data

    def _of_texts(self, answer: ToolAnswerParts) -> tuple[ParsedAnswer, Any]:
        if not answer.texts and (answer.others or answer.uris or answer.structured is not None):
            kinds = ", ".join(dict.fromkeys(answer.others)) or ("resources" if answer.uris else "structured content")
            raise UnreadableAnswer(f"the answer has no text to read hits from; it has {kinds}")
        if not answer.texts and self._as_text.says_nothing(""):
            return ParsedAnswer(()), None
        if not answer.texts:
            raise UnreadableAnswer("the answer is empty; if that means no hits, say so with results.nothing: ^$")
        if self._as_text.format == "json":
            return self._of_json([_parse_json(text) for text in answer.texts])
        return self._of_free_texts(answer.texts) if self._free else (self._as_text.read("\n".join(answer.texts)), None)

    def _of_free_texts(self, texts: Sequence[str]) -> tuple[ParsedAnswer, Any]:
        """The hits in texts that nothing was said about: JSON, or lines of which each looks like an id."""
        json_like = [text for text in texts if _is_json_like(text)]
        if len(json_like) == len(texts):
            return self._of_json([_parse_list_or_object(text) for text in texts])
        if json_like:
            raise UnreadableAnswer(f"the answer has JSON and other text: {_answer_excerpt(' '.join(texts))}; {_RESULTS_ADVICE}")
        lines = [line for text in texts for line in text.split("\n") if line.strip() and not self._as_text.says_nothing(line)]
        odd = next((line for line in lines if not _LIKE_AN_ID.fullmatch(line.strip())), None)
        if odd is not None:
            raise UnreadableAnswer(f"a line of the answer does not look like an id: {_answer_excerpt(odd)}; {_RESULTS_ADVICE}")
        return self._as_text.read("\n".join(texts)), None

    def _of_json(self, blocks: Sequence[Any]) -> tuple[ParsedAnswer, Any]:
        """The hits in blocks of JSON: one that holds them all, or several that are a hit, or hold some, each."""
        if len(blocks) == 1:
            return self._as_json.read_data(blocks[0]), blocks[0]
        if self._format.hits is not None or all(isinstance(block, list) for block in blocks):
            return ParsedAnswer([hit for block in blocks for hit in self._as_json.read_data(block).hits]), None
        return ParsedAnswer([self._as_json.read_entry(block) for block in blocks]), None


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableAnswer(f"the answer is not JSON ({error})", text) from error


def _is_json_like(text: str) -> bool:
    """Whether a text is JSON, or begins as a list or an object does and may be cut off."""
    return text.lstrip()[:1] in ("[", "{") or _is_json(text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _parse_list_or_object(text: str) -> Any:
    data = _parse_json(text)
    if not isinstance(data, list | dict):
        raise UnreadableAnswer(f"the answer is JSON without hits: {_answer_excerpt(text)}; {_RESULTS_ADVICE}")
    return data


def _answer_excerpt(text: str) -> str:
    return repr(excerpt_of(text.strip(), _ANSWER_EXCERPT_LENGTH))


def path_of_uri(uri: str) -> str:
    """The path in a file's address; any other address is an id as it is."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


# The tools of an MCP server: which one searches, and whether its arguments are those that it takes.

_SCHEMA_EXCERPT_LENGTH = 400

_SAMPLE_QUERY = "query"

_SAMPLE_K = 10


@dataclass(frozen=True)
class ToolArgument:
    """A property of a tool's input schema."""

    name: str
    type: str
    required: bool

    def __str__(self) -> str:
        return f"{self.name} ({self.type}{', required' if self.required else ''})"


def tool_arguments(schema: Mapping[str, Any]) -> list[ToolArgument]:
    """What a tool takes, the required ones first."""
    properties, required = schema.get("properties"), schema.get("required")
    required_names = set(required) if isinstance(required, list) else set()
    property_schemas = properties if isinstance(properties, Mapping) else {}
    arguments = [ToolArgument(str(name), _type(part), name in required_names) for name, part in property_schemas.items()]
    return sorted(arguments, key=lambda argument: not argument.required)


def _type(part: Any) -> str:
    if not isinstance(part, Mapping):
        return "anything"
    if isinstance(part.get("enum"), list):
        return "one of " + ", ".join(map(str, part["enum"]))
    kinds = part.get("type", [each.get("type") for each in _alternatives(part)])
    names = [str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind]
    return " or ".join(names) or "anything"


def _alternatives(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in ("anyOf", "oneOf"):
        yield from (each for each in part.get(key) or () if isinstance(each, Mapping))


@dataclass(frozen=True)
class SearchTool:
    """The tool that searches, and the template of what it is given."""

    name: str
    template: Mapping[str, Any]
    schema: Mapping[str, Any]

    def fill(self, query: str, k: int, corpus: str | None) -> dict[str, Any]:
        """The arguments of one search. A number becomes text where the tool wants text."""
        values: dict[str, Any] = {"query": query, "k": k, **({} if corpus is None else {"corpus": corpus})}
        texts = {argument.name for argument in tool_arguments(self.schema) if argument.type == "string"}
        data: dict[str, Any] = fill_data(self.template, values)
        return {name: str(value) if name in texts and type(value) is int else value for name, value in data.items()}


def search_tool(tools: Sequence[Tool], name: str | None, template: Mapping[str, Any], corpus: str | None) -> SearchTool:
    """The tool that a config means, checked against what the server offers."""
    tool = _choose_tool(tools, name)
    _check_schema(tool)
    arguments = template or _infer_template(tool)
    search = SearchTool(tool.name, arguments, tool.input_schema)
    _check_arguments(search, search.fill(_SAMPLE_QUERY, _SAMPLE_K, corpus))
    return search


def _check_schema(tool: Tool) -> None:
    from jsonschema import SchemaError  # type: ignore[import-untyped]  # it has no types
    from jsonschema.validators import validator_for  # type: ignore[import-untyped]  # as above

    try:
        validator_for(tool.input_schema).check_schema(tool.input_schema)
    except SchemaError as invalid:
        raise _schema_error(tool.name, invalid) from invalid


def _schema_error(tool: str, error: Exception) -> UsageError:
    return UsageError(
        f"the schema of the tool {tool!r} is invalid: {excerpt_of(str(error).partition(chr(10))[0], _SCHEMA_EXCERPT_LENGTH)}"
    )


def _choose_tool(tools: Sequence[Tool], name: str | None) -> Tool:
    names = ", ".join(tool.name for tool in tools)
    if not tools:
        raise UsageError("the MCP server offers no tools")
    if name is None and len(tools) == 1:
        return tools[0]
    if name is None:
        raise UsageError(
            f"the MCP server offers several tools: say with tool which one searches: {excerpt_of(names, _SCHEMA_EXCERPT_LENGTH)}"
        )
    tool = next((each for each in tools if each.name == name), None)
    if tool is None:
        raise UsageError(f"the MCP server has no tool {name!r}; it offers {excerpt_of(names, _SCHEMA_EXCERPT_LENGTH)}")
    return tool


def _infer_template(tool: Tool) -> Mapping[str, str]:
    """The query goes to the one text that a tool cannot do without."""
    texts = [each.name for each in tool_arguments(tool.input_schema) if each.required and each.type == "string"]
    if len(texts) != 1:
        raise UsageError(
            f"say with arguments what the tool {tool.name!r} is given, as {{query}} and {{k}}; "
            f"{_accepted_arguments(tool.input_schema)}"
        )
    return {texts[0]: "{query}"}


def _accepted_arguments(schema: Mapping[str, Any]) -> str:
    arguments = ", ".join(map(str, tool_arguments(schema)))
    return excerpt_of(f"it takes {arguments}" if arguments else "it takes no arguments", _SCHEMA_EXCERPT_LENGTH)


def _check_arguments(tool: SearchTool, arguments: Mapping[str, Any]) -> None:
    wrong = (
        _unknown_argument(tool.schema, arguments) or _missing_argument(tool.schema, arguments) or _type_mismatch(tool, arguments)
    )
    if wrong:
        raise UsageError(f"the tool {tool.name!r} cannot be given these arguments: {wrong}; {_accepted_arguments(tool.schema)}")


def _unknown_argument(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """An argument that no property is named after; most servers ignore one, and so a mistake in typing too."""
    if schema.get("additionalProperties") or schema.get("patternProperties"):
        return None
    known_names = {argument.name for argument in tool_arguments(schema)}
    return next((f"{name!r} is none of its arguments" for name in arguments if name not in known_names), None)


def _missing_argument(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    return next(
        (f"{each.name!r} is missing" for each in tool_arguments(schema) if each.required and each.name not in arguments), None
    )


def _type_mismatch(tool: SearchTool, arguments: Mapping[str, Any]) -> str | None:
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    checker = validator_for(tool.schema)(tool.schema, registry=Registry())  # an empty one: nothing is fetched
    try:
        error = next(iter(checker.iter_errors(arguments)), None)
    except Unresolvable as invalid:
        raise _schema_error(tool.name, invalid) from invalid
    if error is None:
        return None
    where = ".".join(map(str, error.absolute_path))
    return excerpt_of(f"{where}: {error.message}" if where else error.message, _SCHEMA_EXCERPT_LENGTH)


# The ``mcp`` agent: a tool of an MCP server, asked as a coding assistant asks it, through the official SDK.

MOST_RESTARTS = 5  # without an answer between them

_EXCERPT_LENGTH = 160


class McpAgent(RetrievalAgent):
    """A tool of an MCP server, which is started or asked at its address."""

    Config = McpSettings

    def __init__(self, config: McpSettings | None = None) -> None:
        self._config = config or McpSettings()
        if not self._config.argv and self._config.url is None:
            raise UsageError("say which MCP server: argv (a program that is started) or url")
        if self._config.arguments and not has_placeholder(self._config.arguments, "query"):
            raise UsageError("the query goes nowhere: write {query} in arguments")
        self._server_names_corpus = has_placeholder([*self._config.argv, self._config.folder], "corpus")
        self.needs_corpus = self._server_names_corpus or has_placeholder(self._config.arguments, "corpus")
        self._reader = AnswerReader(self._config.results)
        self._folder: str | None = None
        self._connection: McpConnection | None = None
        self._tool: SearchTool | None = None
        self._restarts = 0
        self._last_text: str | None = None  # the last answer, whose tokens are yet to be counted

    @classmethod
    def missing(cls) -> str | None:
        if find_spec("mcp") is None or find_spec("mcp_types") is None:
            return "the agent 'mcp' needs the MCP SDK, which is not installed; install it: pip install 'searchmark[mcp]'"
        return None

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:  # noqa: ARG002  # it has none
        """Import the SDK while the agent is loaded: that takes a second, which is no time of the server."""
        if self._config.argv and not has_placeholder(self._config.argv[0], "corpus"):
            find_program(self._config.argv[0])
        if self.missing() is None:
            import_module("searchmark.agents.outside.mcp_connection")

    def initialize(self, corpus: Corpus) -> None:
        """Have a server that searches this corpus: another one only where its command or folder names the corpus."""
        folder = self._folder_of(corpus)
        if self._config.restart_on_change or (self._server_names_corpus and folder != self._folder):
            self.close()
        self._folder = folder
        self._ready()

    def update(self, changes: Changes) -> bool:
        """Files that have changed in place are there for the server too, which has to look for itself."""
        if self._config.restart_on_change:
            return False
        return not self.needs_corpus or self._folder_of(changes.corpus) == self._folder

    def start(self) -> None:
        """One that cannot be asked at all fails here, and not with every case."""
        self._ready()

    def reset(self) -> None:
        """Have a server: one that has failed is started again here, where no clock runs."""
        self._ready()

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        connection, tool = self._ready()
        self._last_text = None
        answer = ToolAnswerParts.of(connection.call(tool.name, tool.fill(query, k, self._folder)))
        self._restarts = 0
        parsed_answer = self._reader.read(answer)
        if parsed_answer.tokens is None:
            self._last_text = answer.read
            return parsed_answer.result()
        from searchmark.agents.vectors.chunking import STATED_BY_SERVER

        return parsed_answer.result(Usage(tokens=parsed_answer.tokens, tokens_by=STATED_BY_SERVER))

    def usage_of_last(self) -> Usage:
        """The tokens of the last answer, where the server has not stated them."""
        if self._last_text is None or not self._config.count_tokens:
            return NO_USAGE
        from searchmark.agents.vectors.chunking import count_tokens, tokenizer_problem

        return count_tokens(self._last_text) if tokenizer_problem() is None else NO_USAGE

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def describe(self) -> Mapping[str, Any]:
        if self._connection is None or self._tool is None:
            return {}
        offer = self._connection.offer
        server = " ".join(part for part in (offer.name, offer.version) if part)
        over = "stdio" if self._config.argv else "streamable HTTP"
        return {"server": server, "over": over, "tool": self._tool.name, "arguments": dict(self._tool.template)}

    def offers(self) -> Mapping[str, Any]:
        """The name and version of the server, and its tools with what they take; ``{corpus}`` is the working directory."""
        self._folder = os.getcwd() if self.needs_corpus else None  # noqa: PTH109  # as text
        connection = self._connection = self._connect()
        tools = [
            {
                "name": tool.name,
                "description": excerpt_of(next(iter((tool.description or "").strip().splitlines()), ""), _EXCERPT_LENGTH),
                "arguments": [
                    {"name": each.name, "type": each.type, "required": each.required} for each in tool_arguments(tool.input_schema)
                ],
            }
            for tool in connection.offer.tools
        ]
        return {"name": connection.offer.name, "version": connection.offer.version, "tools": tools}

    def _folder_of(self, corpus: Corpus) -> str | None:
        if not self.needs_corpus:
            return None
        if corpus.folder is None:
            raise UsageError(f"{{corpus}} is a folder, and the corpus {corpus.name!r} is not one; name a folder with --corpus")
        return str(corpus.folder)

    def _ready(self) -> tuple[McpConnection, SearchTool]:
        """A server that can be asked, started again if need be, and the tool in it that searches."""
        if self._connection is None or not self._connection.is_usable or self._tool is None:
            self._restart()
        assert self._connection is not None and self._tool is not None  # noqa: S101, PT018  # made above
        return self._connection, self._tool

    def _restart(self) -> None:
        if self._connection is not None and self._config.argv:
            if self._restarts >= MOST_RESTARTS:
                raise UsageError(f"the MCP server has failed {self._restarts + 1} times in a row, and is not started again")
            self._restarts += 1
        self.close()
        self._tool = None
        self._connection = self._connect()
        self._tool = search_tool(self._connection.offer.tools, self._config.tool, self._config.arguments, self._folder)

    def _connect(self) -> McpConnection:
        problem = self.missing()
        if problem is not None:
            raise Missing(problem)
        from searchmark.agents.outside.mcp_connection import McpConnection, McpTimeouts

        limits = McpTimeouts(self._config.timeout_seconds, self._config.start_timeout_seconds)
        server = self._program() if self._config.argv else self._address()
        return McpConnection(server, self._shown(), limits)

    def _program(self) -> McpServerProgram:
        from searchmark.agents.outside.mcp_connection import McpServerProgram

        program, *arguments = [fill_template(part, self._values()) for part in self._config.argv]
        folder = None if self._config.folder is None else fill_template(self._config.folder, self._values())
        environment = environment_with(self.given_variables)
        return McpServerProgram([find_program(program), *arguments], folder, environment, self._config.max_answer_bytes)

    def _address(self) -> McpServerAddress:
        from searchmark.agents.outside.mcp_connection import McpServerAddress

        headers = {name: fill_template(value, {}, variables=True) for name, value in self._config.headers.items()}
        return McpServerAddress(AddressTemplate(self._config.url or "", ()).fill({}), headers)

    def _values(self) -> dict[str, str]:
        return {} if self._folder is None else {"corpus": self._folder}

    def _shown(self) -> str:
        server = shlex.join(self._config.argv) if self._config.argv else without_credentials(self._config.url or "")
        return repr(shortened(server, _EXCERPT_LENGTH))
