"""The ``mcp`` agent: a tool of an MCP server, asked as a coding assistant asks it, through the official SDK."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from searchmark.agents.agent import NO_USAGE, RetrievalAgent, RetrievalResult, Usage
from searchmark.agents.outside.addresses import AddressTemplate
from searchmark.agents.outside.mcp_answers import AnswerReader, ToolAnswer
from searchmark.agents.outside.mcp_tools import SearchTool, arguments_of, search_tool
from searchmark.agents.outside.options import McpConfig
from searchmark.agents.outside.process import found_program
from searchmark.agents.outside.templates import filled, names
from searchmark.errors import UsageError, shortened
from searchmark.services.environment_secrets import environment_with
from searchmark.services.excerpts import excerpt_of
from searchmark.services.secret_forms import without_credentials

if TYPE_CHECKING:
    from searchmark.agents.outside.mcp_connection import Connection, ServerAddress
    from searchmark.agents.outside.mcp_stdio import ServerProgram
    from searchmark.corpora.corpus import Changes, Corpus

MOST_RESTARTS = 5  # without an answer between them
_SHOWN = 160


class McpAgent(RetrievalAgent):
    """A tool of an MCP server, which is started or asked at its address."""

    Config = McpConfig

    def __init__(self, config: McpConfig | None = None) -> None:
        self._config = config or McpConfig()
        if not self._config.argv and self._config.url is None:
            raise UsageError("say which MCP server: argv (a program that is started) or url")
        if self._config.arguments and not names(self._config.arguments, "query"):
            raise UsageError("the query goes nowhere: write {query} in arguments")
        self._server_names_corpus = names([*self._config.argv, self._config.folder], "corpus")
        self.needs_corpus = self._server_names_corpus or names(self._config.arguments, "corpus")
        self._reader = AnswerReader(self._config.results)
        self._folder: str | None = None
        self._connection: Connection | None = None
        self._tool: SearchTool | None = None
        self._restarts = 0
        self._said: str | None = None  # the last answer, whose tokens are yet to be counted

    @classmethod
    def missing(cls) -> str | None:
        if find_spec("mcp") is None or find_spec("mcp_types") is None:
            return "the agent 'mcp' needs the MCP SDK, which is not installed; install it: pip install 'searchmark[mcp]'"
        return None

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:  # noqa: ARG002  # it has none
        """Import the SDK while the agent is loaded: that takes a second, which is no time of the server."""
        if self._config.argv and not names(self._config.argv[0], "corpus"):
            found_program(self._config.argv[0])
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
        self._said = None
        answer = ToolAnswer.of(connection.call(tool.name, tool.filled(query, k, self._folder)))
        self._restarts = 0
        found = self._reader.read(answer)
        if found.tokens is None:
            self._said = answer.read
            return found.result()
        from searchmark.agents.outside.tokens import STATED

        return found.result(Usage(tokens=found.tokens, tokens_by=STATED))

    def usage_of_last(self) -> Usage:
        """The tokens of the last answer, where the server has not stated them."""
        if self._said is None or not self._config.count_tokens:
            return NO_USAGE
        from searchmark.agents.outside.tokens import counted, problem

        return counted(self._said) if problem() is None else NO_USAGE

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
        connection = self._connection = self._connected()
        tools = [
            {
                "name": tool.name,
                "description": excerpt_of(next(iter((tool.description or "").strip().splitlines()), ""), _SHOWN),
                "arguments": [
                    {"name": each.name, "type": each.type, "required": each.required} for each in arguments_of(tool.input_schema)
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

    def _ready(self) -> tuple[Connection, SearchTool]:
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
        self._connection = self._connected()
        self._tool = search_tool(self._connection.offer.tools, self._config.tool, self._config.arguments, self._folder)

    def _connected(self) -> Connection:
        lacking = self.missing()
        if lacking is not None:
            raise UsageError(lacking)
        from searchmark.agents.outside.mcp_connection import Connection, Limits

        limits = Limits(self._config.timeout_seconds, self._config.start_timeout_seconds)
        server = self._program() if self._config.argv else self._address()
        return Connection(server, self._shown(), limits)

    def _program(self) -> ServerProgram:
        from searchmark.agents.outside.mcp_stdio import ServerProgram

        program, *arguments = [filled(part, self._values()) for part in self._config.argv]
        folder = None if self._config.folder is None else filled(self._config.folder, self._values())
        environment = environment_with(self.given_variables)
        return ServerProgram([found_program(program), *arguments], folder, environment, self._config.max_answer_bytes)

    def _address(self) -> ServerAddress:
        from searchmark.agents.outside.mcp_connection import ServerAddress

        headers = {name: filled(value, {}, variables=True) for name, value in self._config.headers.items()}
        return ServerAddress(AddressTemplate(self._config.url or "", ()).filled({}), headers)

    def _values(self) -> dict[str, str]:
        return {} if self._folder is None else {"corpus": self._folder}

    def _shown(self) -> str:
        named = shlex.join(self._config.argv) if self._config.argv else without_credentials(self._config.url or "")
        return repr(shortened(named, _SHOWN))
