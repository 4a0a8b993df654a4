"""``check_agent``: one line that says whether an agent will do."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentSpec
from searchmark.agents.modes import in_one_mode
from searchmark.corpora.corpus import load_corpus
from searchmark.corpora.downloads import local_path
from searchmark.corpora.locations import Documents, Folder, location_of
from searchmark.errors import with_excerpt
from searchmark.judging.existence import Existing
from searchmark.registry import load_agent
from searchmark.running.sandbox.launch import Launch
from searchmark.running.worker.client import Gone, Late, Output
from searchmark.running.worker.in_process import Worker, start_worker
from searchmark.running.worker.protocol import longest_answer

FILES = {
    "README.md": "# Shop\n\nA small shop that sells tea.\n",
    "src/cart.py": "class Cart:\n    def add_item(self, item):\n        self.items.append(item)\n",
    "src/login.py": "def login(user, password):\n    return check_password(user, password)\n",
    "docs/größe.txt": "Wie groß ist der Warenkorb?\n",
}
QUERIES = ("where is the login", "add_item", "Warenkorb Größe", "", "\"quotes' AND (NEAR: *", "x" * 5000)
K = 3


@dataclass(frozen=True)
class AgentCheck:
    """What was found out about an agent: everything that is wrong with it, or nothing."""

    agent: str
    problems: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """All of it, in words."""
        if not self.problems:
            return f"{self.agent} passed all checks: {len(QUERIES)} queries, each asked twice"
        failed = f"{len(self.problems)} check{'s' if len(self.problems) > 1 else ''}"
        return f"{self.agent} failed {failed}:\n" + "\n".join(f"- {problem}" for problem in self.problems)


def check_agent(agent: Any, config: Mapping[str, Any] | None = None, *, seconds: float = 60.0) -> None:
    """Run an agent on a small corpus; raises AssertionError with everything that is wrong with it.

    ``agent`` is whatever `load_agent` takes: a name, a class, an instance or a function. It runs in a worker, where
    ``seconds`` end it, unless only this process has it. A fault of the kind that would cost a case, or a run, is wrong; so
    are hits that do not exist, more hits than were asked for, and answers that change without need.
    """
    checked = checked_agent(load_agent(agent, **(config or {})), seconds=seconds)
    if checked.problems:
        raise AssertionError(checked.sentence)


def checked_agent(
    agent: AgentSpec, corpus: str | PathLike[str] | None = None, *, seconds: float = 60.0, network: bool = True
) -> AgentCheck:
    """The same as a record; with ``corpus`` the agent searches that, and not a small one of ours."""
    spec = in_one_mode(agent)
    with _searched(corpus, network=network) as (location, existing):
        process = start_worker(spec, {"stdout": Output(), "stderr": Output()}, longest_answer(K), Launch.of(spec, {}))
        try:
            return AgentCheck(spec.name, tuple(_problems(process, spec, location, existing, seconds, network)))
        finally:
            process.end()


@contextmanager
def _searched(path: str | PathLike[str] | None, *, network: bool) -> Iterator[tuple[Documents | Folder, Existing]]:
    """What the agent searches, and what exists there."""
    if path is not None:
        corpus = load_corpus(local_path(path, network=network))
        yield location_of(corpus), Existing(corpus.survey.ids, corpus.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file_name, text in FILES.items():
            file = folder / file_name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        yield Folder("shop", folder), Existing(tuple(FILES), folder)


def _problems(
    process: Worker, spec: AgentSpec, searched: Documents | Folder, existing: Existing, seconds: float, network: bool
) -> Sequence[str]:
    location = searched.to_plain()
    for doing, request in (
        ("loading it", {"op": "load", "agent": spec.to_plain(), "memory_limit_mb": None, "foreign": True, "network": network}),
        ("initialize", {"op": "prepare", "location": location}),
        ("initialize, called again", {"op": "prepare", "location": location}),
    ):
        problem = _failure(_asked(process, request, seconds), doing)
        if problem:
            return [problem]
    of_queries: dict[str, list[str]] = {}  # what is wrong with which answers: most faults are in all of them
    for query in QUERIES:
        shown = repr(query if len(query) < 40 else f"{query[:20]}...")  # noqa: PLR2004  # fits into a line
        forgotten = _failure(_asked(process, {"op": "reset"}, seconds), "reset")
        if forgotten:
            return [*_of_queries(of_queries), forgotten]
        first = _asked(process, {"op": "search", "query": query, "depth": K, "lines": False}, seconds)
        problem = _failure(first, "")
        if problem:
            of_queries.setdefault(problem, []).append(shown)
            if "ended" in first:
                return _of_queries(of_queries)
            continue
        for odd in _odd(first, existing):
            of_queries.setdefault(odd, []).append(shown)
        again = _asked(process, {"op": "again", "query": query, "depth": K, "lines": False}, seconds)
        problem = _failure(again, ", called again")
        if problem or not again.get("same"):
            of_queries.setdefault(problem or " gives a different answer when it is called again", []).append(shown)
    closed = _failure(_asked(process, {"op": "close"}, seconds), "close")
    return [*_of_queries(of_queries), *([closed] if closed else [])]


def _of_queries(problems: Mapping[str, Sequence[str]]) -> list[str]:
    """Every problem once, with the first query that showed it, and how many others did."""
    others = {problem: len(queries) - 1 for problem, queries in problems.items()}
    more = {problem: f" (and {count} more of {len(QUERIES)} queries)" if count else "" for problem, count in others.items()}
    return [f"retrieve({queries[0]}, {K}){problem}{more[problem]}" for problem, queries in problems.items()]


def _asked(process: Worker, request: dict[str, Any], seconds: float) -> dict[str, Any]:
    try:
        return process.ask(request, seconds)
    except Late:
        return {"failed": f"takes longer than {seconds:g} s", "ended": True}
    except Gone as gone:
        return {"failed": str(gone), "ended": True}


def _failure(reply: Mapping[str, Any], doing: str) -> str | None:
    return f"{doing}: {with_excerpt(reply['failed'], reply.get('excerpt'))}" if "failed" in reply else None


def _odd(answer: Mapping[str, Any], existing: Existing) -> list[str]:
    """What is wrong with an answer, each as the end of a sentence that begins with the call."""
    dropped = answer["dropped"]
    said = {
        "beyond_depth": f" returns more than {K} hits",
        "scores_unusable": " returns scores that are not finite numbers, or too few",
        "lines_unusable": " returns lines that are not [first, last], or too few",
    }
    unknown = [hit for hit in answer["ids"] if not existing.settled(hit)[1]]
    twice = len(answer["ids"]) - len({existing.settled(hit)[0] for hit in answer["ids"]})
    return [
        *(sentence for key, sentence in said.items() if dropped.get(key)),
        *([f" returns files that do not exist: {', '.join(map(repr, unknown[:3]))}"] if unknown else []),
        *([" returns the same file twice"] if twice else []),
    ]
