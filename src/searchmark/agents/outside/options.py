"""Settings of the agents `command`, `http` and `mcp`. A literal secret in them is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le

from searchmark.agents.outside.results import ResultFormat
from searchmark.agents.outside.templates import has_placeholder
from searchmark.agents.vectors import EmbedderEntry, plugin_settings
from searchmark.config.permissions import Address, CommandLine, FilePath, NestedSettings, OptionsMark
from searchmark.config.strict import STRICT, Whole, strict_record
from searchmark.errors import UsageError
from searchmark.io.paths import expand_paths
from searchmark.io.plugins import find_plugin, load_code
from searchmark.io.secrets import looks_secret, secrets_in, variables_in

# Keys do not belong in a config: a request that holds one is refused before it is sent or stored.

_FILLED = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}|\{[a-z]+\}")

_VALUE = re.compile(r"(?<!\$)\{[a-z]+\}")

_SCHEME = re.compile(r"(?i)^(bearer|basic|token|apikey|api-key)\s+")

_VARIABLE = re.compile(r"[^A-Za-z0-9]+")


def check_no_literal_secret(part: str, value: Any) -> None:
    """Refuse what is named or looks like a secret unless it is in ``${NAME}``; a value with a placeholder is filled later."""
    for path, text in _texts_with_paths(value, part):
        name = path.rpartition(".")[2]
        if not _FILLED.search(text) and text.strip() and ((name != part and looks_secret(name)) or secrets_in(text)):
            raise _literal_secret_error(path, name, text)
        if part == "url" and secrets_in(_VALUE.sub("", text)):
            raise _literal_secret_error(path, "password", "")


def _literal_secret_error(path: str, name: str, text: str) -> UsageError:
    scheme = _SCHEME.match(text)
    variable = _VARIABLE.sub("_", name).strip("_").upper() or "KEY"
    example = f"{scheme[0] if scheme else ''}${{MY_{variable}}}"
    return UsageError(
        f"{path} holds a secret, which would be stored with the config; put it into an environment variable and write {example}"
    )


def _texts_with_paths(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text below a part of a request, with where it is."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts_with_paths(each, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts_with_paths(each, path)


# How outside systems are described: programs, services over HTTP, MCP servers. docs/outside.md has every field with examples.

LONGEST_TIMEOUT = 86_400

LARGEST_OUTPUT = 64 << 20

COMMAND_PLACEHOLDERS = ("query", "k", "corpus")


@strict_record
class CommandSettings:
    """Options of ``command``.

    ``argv``: the program and its arguments, with ``{query}``, ``{k}`` and ``{corpus}``; no shell is involved. ``stdin``: what it
    reads, with the same placeholders. ``stays``: it is started once, and reads a query and writes an answer per line of JSON.
    ``streams``: hits count as they are printed, so that the time to the first one can be measured. ``folder``: where it is
    started, which may be ``{corpus}``; by default where you are. ``results``: how hits are read, by default a path per line.
    ``success``: exit codes of a search, ``nothing``: those of one that found nothing. ``startup``: an argv that only starts the
    program, such as ``[rg, --version]``, by which its start is measured. ``reads``: files and folders that it needs in a sandbox.
    ``max_output_bytes``: more is an error of the case.
    """

    argv: tuple[CommandLine, ...] = ()
    stdin: str | None = None
    stays: bool = False
    streams: bool = False
    folder: FilePath | None = None
    results: ResultFormat = ResultFormat()
    success: tuple[Whole, ...] = (0,)
    nothing: tuple[Whole, ...] = ()
    startup: tuple[CommandLine, ...] = ()
    reads: tuple[FilePath, ...] = ()
    max_output_bytes: Annotated[int, Gt(0), STRICT] = LARGEST_OUTPUT

    def __post_init__(self) -> None:
        expand_paths(self, "folder", "reads")
        wrong = self._wrong()
        if wrong:
            raise UsageError(wrong)

    def _wrong(self) -> str | None:
        """What no program could be started by; which one it is may still be missing, where this is a part of a config."""
        if any(has_placeholder(self.argv[:1], each) for each in COMMAND_PLACEHOLDERS):
            return f"the program is the same for every query, so the first of argv has no placeholder: {self.argv[0]!r}"
        variable = next(variables_in([self.argv, self.startup]), None)
        if variable is not None:
            return (
                f"argv names ${{{variable}}}, and every process can see arguments: let the program read the variable "
                f"(env: [{variable}])"
            )
        return self._wrong_for_staying() if self.stays else self._wrong_for_each()

    def _wrong_for_staying(self) -> str | None:
        if self.stdin is not None or any(has_placeholder(self.argv, each) for each in ("query", "k")):
            return "a program that stays reads every query as a line of JSON: argv has no {query} and no {k}, and there is no stdin"
        if self.startup:
            return "startup is for a program that is started for every query, and one that stays is not"
        return None

    def _wrong_for_each(self) -> str | None:
        if self.argv and not (has_placeholder(self.argv, "query") or has_placeholder(self.stdin, "query")):
            return "the query goes nowhere: write {query} in argv or in stdin"
        if self.streams and self.results.format_or("lines") == "json":
            return "a piece of JSON is read as a whole and cannot stream: use jsonl, lines or regex, or a program that stays"
        return None


def _read_preset(choice: Any) -> tuple[NestedSettings, ...]:
    """Presets are made from the settings below, so that they are reached by name here."""
    is_ours = not isinstance(choice, str) or choice in load_code("searchmark.agents.outside.presets:PRESETS")
    plugin = None if is_ours else find_plugin("presets", choice)
    return () if plugin is None else (plugin_settings(plugin),)


PresetName = Annotated[str, OptionsMark(_read_preset)]


@strict_record
class HttpSettings:
    """Options of ``http``.

    ``url``, ``parameters``, ``headers``, ``body`` (JSON) and ``form`` may hold ``{query}``, ``{k}`` and ``{vector}``, and
    ``${NAME}`` for an environment variable: keys belong there. ``preset``: a search engine whose requests and answers are known;
    what is given here goes before it. ``index`` and ``fields`` are for presets; ``requests: query`` makes them ask by the
    query even where a case brings a request of its own. ``method``: by default POST with a body or form, else GET.
    ``embedder``: makes ``{vector}`` of the query. ``results``: how hits are read, by default as JSON.
    ``timeout_seconds``: of one attempt, from the connection to the last byte. ``retries``: further attempts after 408, 429, 5xx,
    lost connections and time-outs; the first waits for ``backoff_seconds``, each later one twice as long as the one before.
    ``requests_per_second``: no more than that. ``connections``: how many are kept open. ``follow_redirects``: those within the
    same scheme, host and port. ``max_response_bytes``: more, as sent or as unpacked, is an error of the case.
    """

    url: Address | None = None
    preset: PresetName | None = None
    index: str | None = None
    fields: tuple[str, ...] = ()
    requests: Literal["case", "query"] = "case"
    method: Literal["GET", "POST"] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    form: Mapping[str, Any] = field(default_factory=dict)
    embedder: EmbedderEntry | None = None
    results: ResultFormat = ResultFormat()
    timeout_seconds: Annotated[float, Gt(0), Le(LONGEST_TIMEOUT), STRICT] = 30.0
    retries: Annotated[int, Ge(0), Le(100), STRICT] = 3
    backoff_seconds: Annotated[float, Ge(0), Le(LONGEST_TIMEOUT), STRICT] = 0.5
    requests_per_second: Annotated[float, Ge(1 / LONGEST_TIMEOUT), STRICT] | None = None
    connections: Annotated[int, Ge(1), Le(1000), STRICT] = 10
    follow_redirects: bool = False
    max_response_bytes: Annotated[int, Gt(0), STRICT] = LARGEST_OUTPUT

    def __post_init__(self) -> None:
        parts = {"url": self.url, "headers": self.headers, "parameters": self.parameters, "form": self.form, "body": self.body}
        for name, part in parts.items():
            check_no_literal_secret(name, part)


@strict_record
class McpSettings:
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
    timeout_seconds: Annotated[float, Gt(0), Le(LONGEST_TIMEOUT), STRICT] = 30.0
    start_timeout_seconds: Annotated[float, Gt(0), Le(LONGEST_TIMEOUT), STRICT] = 60.0
    restart_on_change: bool = False
    count_tokens: bool = True
    max_answer_bytes: Annotated[int, Gt(0), STRICT] = LARGEST_OUTPUT

    def __post_init__(self) -> None:
        expand_paths(self, "folder", "reads")
        if self.argv and self.url is not None:
            raise UsageError("an MCP server is started by argv or asked at url; give one of them")
        if self.headers and self.argv:
            raise UsageError("headers are for an MCP server at a url; one that is started by argv gets no headers")
        for name in ("url", "headers", "arguments"):
            check_no_literal_secret(name, getattr(self, name))
