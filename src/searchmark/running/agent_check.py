"""Trying an agent before a run: does it answer properly on a small corpus, and which tools does an MCP server offer?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from searchmark.agents.outside.options import McpSettings
from searchmark.agents.outside.process import find_program
from searchmark.agents.registry import agent_in_one_mode, check_spec, load_agent, settings_of_agent
from searchmark.config.agents import AgentSpec, CommandSource, HttpSource, McpSource
from searchmark.config.run import RunSettings
from searchmark.errors import UsageError, with_excerpt
from searchmark.formats.corpora.corpus import load_corpus, local_path
from searchmark.formats.corpora.locations import Documents, Folder, location_of
from searchmark.io.secrets import without_credentials
from searchmark.running.sandbox.launch import Launch, explain_missing_variable
from searchmark.running.worker.client import DeadlinePassed, OutputCapture, Worker, WorkerDied, WorkerProcess, start_worker
from searchmark.running.worker.protocol import longest_answer, reply_problem
from searchmark.scoring.targets import ExistingIds

# What an outside system offers to ask for: the tools of an MCP server, shown before anything is measured.
#
# The server runs below a worker, as in a run: what looks like a secret is withheld, there is a deadline, and nothing survives.

CLOSING_SECONDS = 10.0

PROBE_MARGIN_SECONDS = 15.0  # beside the time that the server itself has: to start a worker, and to end a server that hangs

ONLY_MCP = "only MCP servers offer tools"


@dataclass(frozen=True)
class OfferedArgument:
    """What a tool takes."""

    name: str
    type: str
    required: bool


@dataclass(frozen=True)
class OfferedTool:
    """A tool of a server, with the first line of what it says of itself."""

    name: str
    description: str
    arguments: tuple[OfferedArgument, ...]


@dataclass(frozen=True)
class ServerOffer:
    """A server and its tools, as it names them: texts of others, to be made harmless before they are shown."""

    name: str | None
    version: str | None
    tools: tuple[OfferedTool, ...]


def probe(spec: AgentSpec, options: RunSettings) -> ServerOffer | str:
    """The tools of an MCP server, which is started for that; of any other agent a sentence that says what it asks."""
    check_spec(spec, foreign=not options.no_exec, network=options.network)
    if not isinstance(spec.source, McpSource):
        return _not_mcp_sentence(spec)
    config: McpSettings = settings_of_agent(McpSettings, spec)
    return _offer_of_reply(_ask_for_offers(spec, options, config.start_timeout_seconds + PROBE_MARGIN_SECONDS))


def _not_mcp_sentence(spec: AgentSpec) -> str:
    if not isinstance(spec.source, CommandSource | HttpSource):
        return f"{spec.name!r} is not an outside system; {ONLY_MCP}"
    config = settings_of_agent(spec.source.load().Config, spec)
    if isinstance(spec.source, HttpSource):
        service = f"the service at {without_credentials(config.url)}" if config.url else "a service whose url is not given"
        return f"{spec.name!r} asks {service}; {ONLY_MCP}"
    if not config.argv:
        return f"{spec.name!r} starts a program that argv does not name yet; {ONLY_MCP}"
    return f"{spec.name!r} starts {find_program(config.argv[0])}; {ONLY_MCP}"


def _ask_for_offers(spec: AgentSpec, options: RunSettings, seconds: float) -> Mapping[str, Any]:
    launch = Launch.of(spec, {})
    process = WorkerProcess({"stdout": OutputCapture(), "stderr": OutputCapture()}, longest_answer(1), launch)
    limits = {"memory_limit_mb": options.memory_limit_mb, "foreign": not options.no_exec, "network": options.network}
    try:
        _ask_worker(process, {"op": "load", "agent": spec.to_plain(), **limits}, seconds, launch)
        reply = _ask_worker(process, {"op": "offers"}, seconds, launch)
        with suppress(UsageError):  # it has said what it offers
            _ask_worker(process, {"op": "close"}, CLOSING_SECONDS, launch)
        offers: Mapping[str, Any] = reply["offers"]
        return offers
    finally:
        process.end()


def _ask_worker(process: WorkerProcess, message: dict[str, Any], seconds: float, launch: Launch) -> dict[str, Any]:
    try:
        reply = process.ask(message, seconds)
    except DeadlinePassed:
        raise UsageError(f"the MCP server did not answer within {seconds:g} s") from None
    except WorkerDied as death:
        raise UsageError(str(death)) from death
    wrong = reply_problem(message["op"], reply, 1)
    if wrong or "failed" in reply:
        raise UsageError(wrong or with_excerpt(explain_missing_variable(reply["failed"], launch.withheld), reply.get("excerpt")))
    return reply


def _offer_of_reply(offers: Mapping[str, Any]) -> ServerOffer:
    """The reply as a record; whatever is no text becomes one, since code of others could have written it."""
    tools = [each for each in _list(offers.get("tools")) if isinstance(each, Mapping)]
    name, version = (None if offers.get(key) is None else str(offers[key]) for key in ("name", "version"))
    return ServerOffer(name, version, tuple(map(_tool_of_plain, tools)))


def _tool_of_plain(plain: Mapping[str, Any]) -> OfferedTool:
    arguments = [each for each in _list(plain.get("arguments")) if isinstance(each, Mapping)]
    properties = [OfferedArgument(str(each.get("name")), str(each.get("type")), each.get("required") is True) for each in arguments]
    return OfferedTool(str(plain.get("name")), str(plain.get("description") or ""), tuple(properties))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# ``check_agent``: one line that says whether an agent will do.

FILES = {
    "README.md": "# Shop\n\nA small shop that sells tea.\n",
    "src/cart.py": "class Cart:\n    def add_item(self, item):\n        self.items.append(item)\n",
    "src/login.py": "def login(user, password):\n    return check_password(user, password)\n",
    "docs/größe.txt": "Wie groß ist der Warenkorb?\n",
}

QUERIES = ("where is the login", "add_item", "Warenkorb Größe", "", "\"quotes' AND (NEAR: *", "x" * 5000)

SAMPLE_K = 3


@dataclass(frozen=True)
class AgentCheck:
    """What was found out about an agent: everything that is wrong with it, or nothing."""

    agent: str
    problems: tuple[str, ...]
    checked_existence: bool = True  # whether it is known what its hits should be

    @property
    def sentence(self) -> str:
        """All of it, in words."""
        if not self.problems:
            note = "" if self.checked_existence else "; whether its hits exist is not known: name what it searches with --corpus"
            return f"{self.agent} passed all checks: {len(QUERIES)} queries, each asked twice{note}"
        failed = f"{len(self.problems)} check{'s' if len(self.problems) > 1 else ''}"
        return f"{self.agent} failed {failed}:\n" + "\n".join(f"- {problem}" for problem in self.problems)


def check_agent(agent: Any, config: Mapping[str, Any] | None = None, *, seconds: float = 60.0) -> None:
    """Run an agent on a small corpus; raises AssertionError with everything that is wrong with it.

    ``agent`` is whatever `load_agent` takes: a name, a class, an instance or a function. It runs in a worker, where
    ``seconds`` end it, unless only this process has it. A fault of the kind that would cost a case, or a run, is wrong; so
    are hits that do not exist, more hits than were asked for, and answers that change without need.
    """
    check = find_agent_problems(load_agent(agent, **(config or {})), seconds=seconds)
    if check.problems:
        raise AssertionError(check.sentence)


def find_agent_problems(
    agent: AgentSpec, corpus: str | PathLike[str] | None = None, *, seconds: float = 60.0, network: bool = True
) -> AgentCheck:
    """The same as a record; with ``corpus`` the agent searches that, and not a small one of ours.

    An agent that brings its own corpus does not know ours: without ``corpus`` nothing is said of what exists.
    """
    spec = agent_in_one_mode(agent)
    with _sample_corpus(corpus, network=network) as (location, existing):
        process = start_worker(
            spec, {"stdout": OutputCapture(), "stderr": OutputCapture()}, longest_answer(SAMPLE_K), Launch.of(spec, {})
        )
        try:
            loading = {"op": "load", "agent": spec.to_plain(), "memory_limit_mb": None, "foreign": True, "network": network}
            reply = _ask_or_failure(process, loading, seconds)
            problem = _failure_sentence(reply, "loading it")
            if problem:
                return AgentCheck(spec.name, (problem,))
            known = existing if corpus is not None or reply.get("needs_corpus") else None
            problems = _all_problems(process, location, known, seconds, takes_count=bool(reply.get("takes_count", True)))
            return AgentCheck(spec.name, tuple(problems), known is not None)
        finally:
            process.end()


@contextmanager
def _sample_corpus(path: str | PathLike[str] | None, *, network: bool) -> Iterator[tuple[Documents | Folder, ExistingIds]]:
    """What the agent searches, and what exists there."""
    if path is not None:
        corpus = load_corpus(local_path(path, network=network))
        yield location_of(corpus), ExistingIds(corpus.survey.ids, corpus.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file_name, text in FILES.items():
            file = folder / file_name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        yield Folder("shop", folder), ExistingIds(tuple(FILES), folder)


def _all_problems(
    process: Worker, location: Documents | Folder, existing: ExistingIds | None, seconds: float, *, takes_count: bool
) -> Sequence[str]:
    place = location.to_plain()
    for action, request in (
        ("initialize", {"op": "prepare", "location": place}),
        ("initialize, called again", {"op": "prepare", "location": place}),
    ):
        problem = _failure_sentence(_ask_or_failure(process, request, seconds), action)
        if problem:
            return [problem]
    of_queries: dict[str, list[str]] = {}  # what is wrong with which answers: most faults are in all of them
    for query in QUERIES:
        query_text = repr(query if len(query) < 40 else f"{query[:20]}...")  # noqa: PLR2004  # fits into a line
        forgotten = _failure_sentence(_ask_or_failure(process, {"op": "reset"}, seconds), "reset")
        if forgotten:
            return [*_merge_query_problems(of_queries), forgotten]
        search = {"query": query, "depth": SAMPLE_K, "passages": True}
        first = _ask_or_failure(process, {"op": "search", **search}, seconds)
        problem = _failure_sentence(first, "")
        if problem:
            of_queries.setdefault(problem, []).append(query_text)
            if "ended" in first:
                return _merge_query_problems(of_queries)
            continue
        if not takes_count:  # it was told how many hits to give when it was made
            first["dropped"].pop("beyond_depth", None)
        for odd in _answer_problems(first, existing):
            of_queries.setdefault(odd, []).append(query_text)
        again = _ask_or_failure(process, {"op": "again", **search}, seconds)
        problem = _failure_sentence(again, ", called again")
        if problem or not again.get("same"):
            of_queries.setdefault(problem or " gives a different answer when it is called again", []).append(query_text)
    close_problem = _failure_sentence(_ask_or_failure(process, {"op": "close"}, seconds), "close")
    return [*_merge_query_problems(of_queries), *([close_problem] if close_problem else [])]


def _merge_query_problems(problems: Mapping[str, Sequence[str]]) -> list[str]:
    """Every problem once, with the first query that showed it, and how many others did."""
    others = {problem: len(queries) - 1 for problem, queries in problems.items()}
    more = {problem: f" (and {count} more of {len(QUERIES)} queries)" if count else "" for problem, count in others.items()}
    return [f"retrieve({queries[0]}, {SAMPLE_K}){problem}{more[problem]}" for problem, queries in problems.items()]


def _ask_or_failure(process: Worker, request: dict[str, Any], seconds: float) -> dict[str, Any]:
    try:
        return process.ask(request, seconds)
    except DeadlinePassed:
        return {"failed": f"takes longer than {seconds:g} s", "ended": True}
    except WorkerDied as death:
        return {"failed": str(death), "ended": True}


def _failure_sentence(reply: Mapping[str, Any], action: str) -> str | None:
    return f"{action}: {with_excerpt(reply['failed'], reply.get('excerpt'))}" if "failed" in reply else None


def _answer_problems(answer: Mapping[str, Any], existing: ExistingIds | None) -> list[str]:
    """What is wrong with an answer, each as the end of a sentence that begins with the call."""
    dropped_counts = answer["dropped"]
    sentences = {
        "beyond_depth": f" returns more than {SAMPLE_K} hits",
        "scores_unusable": " returns scores that are not finite numbers, or too few",
        "lines_unusable": " returns lines that are not [first, last], or too few",
    }
    ids = answer["ids"] if existing is None else [existing.resolve(hit)[0] for hit in answer["ids"]]
    unknown = [] if existing is None else [hit for hit in answer["ids"] if not existing.resolve(hit)[1]]
    parts = zip(ids, *(map(str, answer.get(name) or [None] * len(ids)) for name in ("lines", "texts")), strict=True)
    twice = len(ids) - len(set(parts))  # chunks of one file are several hits
    return [
        *(sentence for key, sentence in sentences.items() if dropped_counts.get(key)),
        *([f" returns files that do not exist: {', '.join(map(repr, unknown[:3]))}"] if unknown else []),
        *([" returns the same file twice"] if twice else []),
    ]
