"""check_agent says everything that is wrong with an agent, and nothing about one that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import Corpus, RetrievalAgent, RetrievalResult
from searchmark.running.agent_check import check_agent


class Fine(RetrievalAgent):
    def initialize(self, corpus: Corpus) -> None:
        self._ids = [document.id for document in corpus]

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(self._ids[:k], [1.0] * len(self._ids[:k]))


class Greedy(Fine):
    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult([*self._ids, "ghost"])


class Doubling(Fine):
    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(["README.md", "./README.md", "ghost"], [float("nan"), 1.0, 0.5])


class Fickle(Fine):
    calls = 0

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        self.calls += 1
        return RetrievalResult(self._ids[self.calls % 2 :][:k])


class Touchy(Fine):
    def retrieve(self, query: str, k: int) -> RetrievalResult:
        if "NEAR" in query:
            raise ValueError("syntax error")
        return super().retrieve(query, k)


class Dying(Fine):
    def retrieve(self, query: str, k: int) -> RetrievalResult:
        raise SystemExit(1) if query else AssertionError


class Stillborn(Fine):
    def initialize(self, corpus: Corpus) -> None:
        raise OSError("no space")


@pytest.mark.parametrize(
    "agent",
    [Fine, "bm25", *(pytest.param(name, marks=pytest.mark.slow) for name in ("keyword", "path-match", "random", "in-memory"))],
)
def test_a_good_agent_passes(agent: str | type) -> None:
    check_agent(agent)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (Greedy(), ["returns more than 3 hits"]),
        (Doubling(), ["the same file twice", "do not exist: 'ghost'", "not finite numbers"]),
        (Fickle(), ["gives a different answer when it is called again"]),
        (Touchy(), ["ValueError: syntax error"]),
        (Dying, ["SystemExit: 1", "AssertionError"]),
        (Stillborn, ["Stillborn failed 1 check:", "initialize: OSError: no space"]),
        ("no.such.module:Agent", ["cannot be loaded"]),
    ],
)
def test_everything_wrong_is_said(agent: object, said: list[str]) -> None:
    """Of a class and of a name in a worker, of an object in this process."""
    with pytest.raises(AssertionError) as caught:
        check_agent(agent)
    assert all(sentence in str(caught.value) for sentence in said)


def local_agent() -> type:
    class Local(Fine):
        pass

    return Local


@pytest.mark.parametrize("agent", [lambda query, k: ["README.md"], local_agent(), Fine()])
def test_an_agent_that_only_this_process_has_passes_too(agent: object) -> None:
    check_agent(agent)


@pytest.mark.slow
def test_what_is_wrong_with_a_function_is_said_as_well() -> None:
    with pytest.raises(AssertionError, match=r"lambda failed 1 check:\n- retrieve\('', 3\): ZeroDivisionError"):
        check_agent(lambda query, k: ["README.md"] if query else 1 / 0)
    with pytest.raises(
        AssertionError, match=r"failed 1 check:\n- retrieve\(.where is the login., 3\): ValueError: no \(and 5 more of 6 queries\)"
    ):
        check_agent(_always_fails)


@pytest.mark.slow
def test_options_reach_the_agent() -> None:
    check_agent("in-memory", {"answers": {"add_item": ["src/cart.py"]}})
    with pytest.raises(AssertionError, match="do not exist: 'ghost'"):
        check_agent("in-memory", {"answers": {"add_item": ["ghost"]}})


@pytest.mark.slow
def test_an_agent_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import time\n\n\nclass Mine:\n    def initialize(self, corpus): time.sleep(3600)\n    def retrieve(self, query): return []\n"
    )
    with pytest.raises(AssertionError, match=r"initialize: takes longer than 4 s"):
        check_agent(f"{tmp_path / 'mine.py'}:Mine", seconds=4)


def _always_fails(query: str, k: int) -> list[str]:
    raise ValueError("no")
