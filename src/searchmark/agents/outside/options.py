"""How outside systems are described: programs, services over HTTP, MCP servers. docs/outside.md has every field with examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le

from searchmark.agents.outside.results import ResultFormat
from searchmark.errors import UsageError
from searchmark.options.sensitive import Address, CommandLine, FilePath
from searchmark.options.strict import strict_record

LONGEST_TIMEOUT = 86_400
LARGEST_OUTPUT = 64 << 20


@strict_record
class CommandConfig:
    """Options of ``command``.

    ``argv``: the program and its arguments, with ``{query}``, ``{k}`` and ``{corpus}``; no shell is involved. ``stdin``: what it
    reads, with the same placeholders. ``stays``: it is started once, and reads a query and writes an answer per line of JSON.
    ``folder``: where it is started; by default what is searched. ``results``: how hits are read, by default a path per line.
    ``success``: exit codes of a search, ``nothing``: those of one that found nothing. ``startup``: an argv that only starts the
    program, such as ``[rg, --version]``, by which its start is measured. ``reads``: files and folders that it needs in a sandbox.
    ``max_output_bytes``: more is an error of the case.
    """

    argv: tuple[CommandLine, ...] = ()
    stdin: str | None = None
    stays: bool = False
    folder: FilePath | None = None
    results: ResultFormat = ResultFormat()
    success: tuple[int, ...] = (0,)
    nothing: tuple[int, ...] = ()
    startup: tuple[CommandLine, ...] = ()
    reads: tuple[FilePath, ...] = ()
    max_output_bytes: Annotated[int, Gt(0)] = LARGEST_OUTPUT


@strict_record
class HttpConfig:
    """Options of ``http``.

    ``url``, ``parameters``, ``headers``, ``body`` (JSON) and ``form`` may hold ``{query}``, ``{k}`` and ``{vector}``, and
    ``${NAME}`` for an environment variable: keys belong there. ``preset``: a search engine whose requests and answers are known;
    what is given here goes before it. ``index`` and ``fields`` are for presets. ``embedder``: makes ``{vector}`` of the query.
    ``results``: how hits are read. ``timeout_seconds``: of one attempt. ``retries``: further attempts after 429, 5xx and lost
    connections.
    ``connections``: how many are kept open.
    """

    url: Address | None = None
    preset: str | None = None
    index: str | None = None
    fields: tuple[str, ...] = ()
    method: Literal["GET", "POST"] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    form: Mapping[str, Any] = field(default_factory=dict)
    embedder: Any = None
    results: ResultFormat = ResultFormat()
    timeout_seconds: Annotated[float, Gt(0), Le(LONGEST_TIMEOUT)] = 30.0
    retries: Annotated[int, Ge(0), Le(100)] = 3
    backoff_seconds: Annotated[float, Ge(0)] = 0.5
    requests_per_second: Annotated[float, Gt(0)] | None = None
    connections: Annotated[int, Ge(1)] = 10
    follow_redirects: bool = False
    max_response_bytes: Annotated[int, Gt(0)] = LARGEST_OUTPUT


@strict_record
class McpConfig:
    """Options of ``mcp``.

    ``argv`` starts a server that speaks over its standard streams; ``url`` is that of one over HTTP, with ``headers`` that may hold
    ``${NAME}``. ``tool``: the one that searches. ``arguments``: what it is given, with ``{query}``, ``{k}`` and ``{corpus}``.
    ``results``: how hits are read, from structured content, JSON in text, or text. ``folder``: where the server is started.
    ``reads``: files and folders that it needs in a sandbox. ``timeout_seconds``: of an answer.
    ``start_timeout_seconds``: until it is ready, which may include a download.
    ``restart_on_change``: the server reads what it searches only when it starts, and is started again for every commit.
    ``count_tokens``: the tokens of each answer are counted, unless ``results.tokens`` says where the server states them.
    ``max_answer_bytes``: more is an error of the case.
    """

    argv: tuple[CommandLine, ...] = ()
    url: Address | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    tool: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    results: ResultFormat = ResultFormat()
    folder: FilePath | None = None
    reads: tuple[FilePath, ...] = ()
    timeout_seconds: Annotated[float, Gt(0), Le(LONGEST_TIMEOUT)] = 30.0
    start_timeout_seconds: Annotated[float, Gt(0), Le(LONGEST_TIMEOUT)] = 60.0
    restart_on_change: bool = False
    count_tokens: bool = True
    max_answer_bytes: Annotated[int, Gt(0)] = LARGEST_OUTPUT

    def __post_init__(self) -> None:
        if self.argv and self.url is not None:
            raise UsageError("an MCP server is started by argv or asked at url; give one of them")
        if self.headers and self.argv:
            raise UsageError("headers are for an MCP server at a url; one that is started by argv gets no headers")
