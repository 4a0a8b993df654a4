"""Hits come as they are found, and the runner's own clock says when the first one came."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from searchmark import Answer, Case, Judgment, RetrievalResult, RunSettings, Suite, load_agent, run_suite
from searchmark.agents.answers import HitReader, RawHit
from searchmark.agents.outside.command import CommandHitStream
from searchmark.running.worker import client, protocol, server
from searchmark.running.worker.frames import FrameBuffer, InvalidFrame, encode_frame
from searchmark.running.worker.protocol import HitReceiver
from tests.running import streams

SUITE = Suite.from_cases("s", [Case("c1", "first", (Judgment("a.py", "path"),))])
ONCE = RunSettings(num_runs=1, warm_up=False)
AGAIN = RunSettings(num_runs=3)
REQUEST = {"op": "search", "depth": 3}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "corpus").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "corpus" / name).write_text(f"text of {name}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "corpus"


def answer_of(agent: Any, corpus: Path, options: RunSettings = ONCE) -> Answer:
    (answer,) = run_suite(SUITE, agent, corpus, options).answers
    return answer


@pytest.fixture
def released_by_first_part(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second hit is found once the first has come: whoever waits for all before it sends any, waits for ever."""
    os.mkfifo(streams.RELEASE)
    add = HitReceiver.add

    def released(self: HitReceiver, frame: dict[str, Any], arrived_ns: int) -> None:
        if self.first_hit_ns is None:
            os.close(os.open(streams.RELEASE, os.O_WRONLY))
        add(self, frame, arrived_ns)

    monkeypatch.setattr(HitReceiver, "add", released)


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["yields", "yields_later"])
@pytest.mark.usefixtures("released_by_first_part")
def test_the_first_hit_comes_before_the_last_is_found(agent: str, corpus: Path) -> None:
    answer = answer_of(f"{streams.__file__}:{agent}", corpus)
    assert [(hit.id, hit.score) for hit in answer.hits] == [("a.py", 2.0), ("b.py", 1.0)]
    assert answer.details.first_hit_ms is not None
    assert 0 < answer.details.first_hit_ms <= answer.details.cold_ms[0]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Nanoseconds of a clock that only the test moves."""
    now = [0]
    for module in (client, server, protocol):
        monkeypatch.setattr(module, "perf_counter_ns", lambda: now[0])
    return now


def test_the_time_until_the_first_hit_is_the_runners_and_that_of_a_search_is_until_the_last(corpus: Path, clock: list[int]) -> None:
    def slow(query: str, k: int) -> Iterator[str]:
        clock[0] += 3_000_000
        yield "a.py"
        clock[0] += 4_000_000
        yield "b.py"

    details = answer_of(slow, corpus, AGAIN).details
    assert (details.first_hit_ms, details.cold_ms, tuple(details.warm_ms)) == (3.0, (7.0,), (7.0, 7.0))


@pytest.fixture
def slow_reading(clock: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """To read a hit takes us half a millisecond, and to take in what was sent a whole one."""

    def slowed(work: Callable[..., Any], nanoseconds: int) -> Callable[..., Any]:
        def slow(*arguments: Any) -> Any:
            clock[0] += nanoseconds
            return work(*arguments)

        return slow

    monkeypatch.setattr(HitReader, "take", slowed(HitReader.take, 500_000))
    monkeypatch.setattr(HitReceiver, "add", slowed(HitReceiver.add, 1_000_000))


@pytest.mark.usefixtures("slow_reading")
def test_our_own_reading_and_sending_is_no_time_of_a_generator(corpus: Path, clock: list[int]) -> None:
    def paced(query: str, k: int) -> Iterator[str]:
        for name in ("a.py", "b.py"):
            clock[0] += 3_000_000
            yield name

    async def paced_later(query: str, k: int) -> AsyncIterator[str]:
        for name in paced(query, k):
            yield name

    def fails(query: str, k: int) -> Iterator[str]:
        yield from paced(query, k)
        raise OSError("the index is sad")

    for agent in (paced, paced_later):
        details = answer_of(agent, corpus, AGAIN).details
        assert (details.cold_ms, tuple(details.warm_ms)) == ((6.0,), (6.0, 6.0))
    assert answer_of(fails, corpus).details.cold_ms == (6.0,)


@pytest.mark.usefixtures("slow_reading")
def test_what_passes_while_a_program_searches_meanwhile_searching_is_its_time(corpus: Path, clock: list[int]) -> None:
    def paced() -> Generator[RawHit, None, None]:
        clock[0] += 3_000_000
        yield RawHit("a.py")

    details = answer_of(lambda query, k: CommandHitStream().of(paced()), corpus, AGAIN).details
    assert (details.cold_ms, tuple(details.warm_ms)) == ((4.5,), (3.5, 3.5))


def test_hits_that_come_at_once_are_few_parts_and_slow_ones_come_when_they_are_there(clock: list[int]) -> None:
    def paced(query: str, k: int) -> Iterator[str]:
        for number in range(k):
            clock[0] += 1_000_000
            yield f"f{number}"

    parts: list[int] = []
    worker = server.Server(load_agent(paced))
    worker.answer({"op": "load", "memory_limit_mb": None, "foreign": True, "network": True})
    reply = worker.answer({"op": "search", "query": "q", "depth": 12}, lambda part: parts.append(len(part["ids"])))
    assert (parts, reply["ids"]) == ([1, 5, 5], ["f11"])


@pytest.mark.slow
def test_a_hundred_thousand_hits_are_not_as_many_frames(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[int] = []
    add = HitReceiver.add
    monkeypatch.setattr(HitReceiver, "add", lambda self, frame, ns: received.append(len(frame["ids"])) or add(self, frame, ns))
    options = RunSettings(num_runs=1, warm_up=False, depth=streams.MANY)
    answer = answer_of(f"{streams.__file__}:yields_many", corpus, options)
    assert [hit.id for hit in answer.hits] == [f"f{number}" for number in range(streams.MANY)]
    assert len(received) < 2_000
    assert answer.details.doubted_times == 0


def generated(query: str, k: int) -> Iterator[Any]:
    yield from [("a.py", 2.0), {"id": "b.py", "score": 1.0}]


async def awaited(query: str) -> Any:
    await asyncio.sleep(0)
    return [("a.py", 2.0), ("b.py", 1.0)]


async def generated_later(query: str, k: int) -> AsyncIterator[Any]:
    yield "a.py", 2.0
    yield {"_id": "b.py", "_score": 1.0}


async def generator_later(query: str, k: int) -> AsyncIterator[Any]:
    return generated_later(query, k)


class Search:
    def __call__(self, query: str, k: int) -> Any:
        return awaited(query)

    async def find(self, query: str, limit: int = 5) -> Any:
        return await awaited(query)


class Retriever:
    """As LlamaIndex's: it knows what it searches."""

    def retrieve(self, str_or_query_bundle: str) -> Any:
        return RetrievalResult([("a.py", 2.0), ("b.py", 1.0)])  # type: ignore[list-item]  # any hit will do


class Invoked:
    def invoke(self, input: str, config: Any = None, **more: Any) -> Any:  # noqa: A002  # as LangChain calls it
        return [("a.py", 2.0), ("b.py", 1.0)]


FORMS: dict[str, tuple[Any, bool]] = {
    "generator": (generated, True),
    "coroutine": (awaited, False),
    "asynchronous generator": (generated_later, True),
    "coroutine that gives a generator": (generator_later, True),
    "partial of a coroutine": (functools.partial(awaited), False),
    "lambda that gives a coroutine": (lambda query, k: awaited(query), False),
    "callable object": (Search(), False),
    "bound method": (Search().find, False),
    "map": (lambda query, k: map(tuple, [["a.py", 2.0], ["b.py", 1.0]]), True),
    "scores by id": (lambda query, k: {"b.py": 1.0, "a.py": 2.0}, False),
    "retriever of LangChain": (Invoked(), False),
    "retriever of LlamaIndex": (Retriever(), False),
}


@pytest.mark.parametrize(("agent", "streams_hits"), FORMS.values(), ids=[*FORMS])
def test_every_form_of_search_gives_the_same_answer(agent: Any, streams_hits: bool, corpus: Path) -> None:
    answer = answer_of(agent, corpus, AGAIN)
    assert [(hit.id, hit.score) for hit in answer.hits] == [("a.py", 2.0), ("b.py", 1.0)]
    assert (answer.details.first_hit_ms is not None, answer.details.unstable, answer.details.failure) == (streams_hits, 0, None)


def test_an_asynchronous_agent_keeps_its_loop_and_is_closed_in_it(corpus: Path) -> None:
    answer = answer_of(f"{streams.__file__}:Connected", corpus, AGAIN)
    assert ([hit.id for hit in answer.hits], answer.details.failure) == (["a.py", "b.py"], None)
    assert Path("closed").exists()


def test_an_asynchronous_agent_can_be_asked_where_a_loop_runs_already_as_in_a_notebook(corpus: Path) -> None:
    async def cell() -> Answer:
        return answer_of(generated_later, corpus)

    assert [hit.id for hit in asyncio.run(cell()).hits] == ["a.py", "b.py"]


def test_a_stream_is_closed_where_no_more_is_wanted(corpus: Path) -> None:
    closed: list[str] = []

    def endless(query: str, k: int) -> Iterator[str]:
        try:
            while True:
                yield "a.py"
        finally:
            closed.append(query)

    async def endless_later(query: str, k: int) -> AsyncIterator[str]:
        try:
            while True:
                yield "a.py"
        finally:
            closed.append(query)

    for agent in (endless, endless_later):
        assert answer_of(agent, corpus).status == "ok"
    assert closed == ["first"] * 2


def test_a_stream_that_fails_after_some_hits_is_an_error_and_has_none(corpus: Path) -> None:
    def broken(query: str, k: int) -> Iterator[str]:
        yield "a.py"
        raise OSError("the index is sad")

    answer = answer_of(broken, corpus)
    assert (answer.status, answer.hits, answer.details.failure) == ("error", (), "OSError: the index is sad")
    assert answer.details.first_hit_ms is None


def part(**fields: Any) -> dict[str, Any]:
    return {"id": "q", "part": True, "ids": ["a"], **fields}


@pytest.mark.parametrize(
    "wrong",
    [
        part(part=1),
        part(ids=[]),
        part(ids="a"),
        part(ids=[1]),
        part(ids=["a"] * 4),
        part(ids=["x" * 4097]),
        part(scores=[1.0, 2.0]),
        part(scores=[True]),
        part(lines=[[0, 1]]),
        part(ns=1),
        part(padding="x"),
    ],
)
def test_a_part_has_a_shape(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidFrame, match="the worker's answer is malformed"):
        HitReceiver(REQUEST).add(wrong, 1)


def test_all_parts_together_hold_no_more_than_was_asked_for() -> None:
    received = HitReceiver(REQUEST)
    received.add(part(ids=["a", "b"]), 1)
    received.add(part(), 1)
    with pytest.raises(InvalidFrame, match="the worker's answer is malformed: 'ids' is wrong"):
        received.add(part(), 1)


@pytest.mark.parametrize("operation", ["load", "prepare", "reset", "again", "close"])
def test_only_a_search_is_answered_in_parts(operation: str) -> None:
    with pytest.raises(InvalidFrame):
        HitReceiver({"op": operation, "depth": 3}).add(part(), 1)


def test_parts_and_the_last_frame_are_one_answer() -> None:
    received = HitReceiver(REQUEST)
    received.add(part(), 5)
    received.add(part(ids=["b"], scores=[0.5], lines=[[1, 2]]), 7)
    whole = received.joined({"id": "q", "ns": 1, "ids": ["c"], "dropped": {}})
    assert (whole["ids"], whole["scores"], whole["lines"]) == (["a", "b", "c"], [None, 0.5, None], [None, [1, 2], None])
    assert received.first_hit_ns == 5


@pytest.mark.parametrize("last", [{"ns": 1, "ids": ["a"] * 3, "dropped": {}}, {"ns": 1, "ids": None, "dropped": {}}])
def test_a_last_frame_that_is_wrong_is_not_mended_by_parts(last: dict[str, Any]) -> None:
    received = HitReceiver(REQUEST)
    received.add(part(), 5)
    with pytest.raises(InvalidFrame, match="the worker's answer is malformed: 'ids' is wrong"):
        received.joined(last)


def test_a_failure_is_no_answer_whatever_came_before_it() -> None:
    received = HitReceiver(REQUEST)
    received.add(part(), 5)
    assert received.joined({"failed": "no"}) == {"failed": "no"}


def test_all_frames_of_an_answer_together_have_one_limit() -> None:
    buffer = FrameBuffer(100)
    for _ in range(2):
        buffer.begin()
        buffer.feed(encode_frame({"a": "x" * 80}))
        assert buffer.take() == {"a": "x" * 80}
    buffer.feed(encode_frame({"a": "x" * 80}))
    with pytest.raises(InvalidFrame, match="too long"):
        buffer.take()
