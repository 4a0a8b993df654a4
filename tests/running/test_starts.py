"""Blocks whose agent could not be started: who gets them next, and when nobody does any more."""

from __future__ import annotations

from typing import Any, cast

import pytest

from searchmark.running.blocks import (
    MAX_STARTS_WHILE_OTHERS_READY,
    MOST_STARTS,
    BlockResult,
    CaseBlock,
    StartRetries,
    pause_before_start,
)

NO = BlockResult(cast("Any", None), "somebody", unable="the agent could not be started: it is locked")


def block(place: int, in_vain: int = 0) -> CaseBlock:
    return CaseBlock(cast("Any", None), place, cast("Any", None), (), in_vain=in_vain)


def starts(*places: int) -> StartRetries:
    """Some blocks are on their way."""
    starts = StartRetries()
    for place in places:
        starts.hand_out(block(place))
    return starts


def fails(starts: StartRetries, place: int, times: int, *, able: int = 0) -> list[CaseBlock]:
    """The block comes home so many times without an answer, and is handed out again as soon as it may be."""
    again = [block(place)]
    for _ in range(times):
        (tried,) = again or starts.released(1)
        again = starts.unable(tried, NO, ready=able > 0, able=able, slots=2)
    return again


def test_a_block_is_tried_a_few_times_and_then_waits_for_somebody_who_is_ready() -> None:
    waiting = starts(0, 5)
    assert fails(waiting, 5, MOST_STARTS - 1) == [block(5, MOST_STARTS - 1)]
    assert fails(waiting, 5, MOST_STARTS) == []
    assert waiting.hopeless is None
    assert waiting.released(2) == [block(5, MOST_STARTS)]
    assert waiting.released(2) == []


def test_the_first_block_speaks_for_the_agent_once_all_that_were_on_their_way_were_tried() -> None:
    waiting = starts(0, 5, 10)
    assert fails(waiting, 0, MOST_STARTS) == []
    assert waiting.hopeless is None
    waiting.hand_out(block(15))  # later, so that nobody waits for it
    fails(waiting, 5, 1)
    assert waiting.hopeless is None
    fails(waiting, 10, 1)
    assert waiting.hopeless == (block(0, MOST_STARTS), NO)


def test_a_block_speaks_for_the_agent_only_if_all_before_it_have_their_answers() -> None:
    waiting = starts(20, 25)
    assert fails(waiting, 25, MOST_STARTS) == []
    fails(waiting, 20, 1)
    assert waiting.hopeless is None
    waiting.done(block(20))
    assert waiting.hopeless == (block(25, MOST_STARTS), NO)


def test_where_others_are_able_a_block_waits_until_one_of_them_has_nothing_else_to_do() -> None:
    """However often those who cannot start the agent would have tried it meanwhile."""
    waiting = starts(0, 5, 10)
    assert waiting.unable(block(5), NO, ready=True, able=1, slots=3) == []
    assert waiting.released(1) == []
    waiting.done(block(0))
    assert waiting.released(1) == []
    waiting.done(block(10))
    assert waiting.released(1) == [block(5, 1)]


def test_where_others_are_able_a_block_is_tried_often_before_its_cases_fail() -> None:
    (last,) = fails(starts(0), 0, MAX_STARTS_WHILE_OTHERS_READY, able=1)
    assert last.forced
    assert fails(starts(0), 0, MAX_STARTS_WHILE_OTHERS_READY - 1, able=1) == []


def test_everybody_on_a_large_cluster_gets_a_turn() -> None:
    waiting = starts(0)
    assert waiting.unable(block(0, 150), NO, ready=True, able=1, slots=100) == []
    assert [each.forced for each in waiting.unable(block(0, 199), NO, ready=True, able=1, slots=100)] == [True]


def test_an_agent_that_was_ready_before_and_is_nowhere_now_fails_in_its_cases() -> None:
    waiting = starts(0)
    assert waiting.unable(block(0, MOST_STARTS - 2), NO, ready=True, able=0, slots=2) == [block(0, MOST_STARTS - 1)]
    assert [each.forced for each in waiting.unable(block(0, MOST_STARTS - 1), NO, ready=True, able=0, slots=2)] == [True]


@pytest.mark.parametrize(("failed", "seconds"), [(0, 0.0), (1, 0.1), (2, 0.2), (6, 3.2), (7, 5.0), (100_000, 5.0)])
def test_a_worker_that_cannot_start_an_agent_tries_ever_more_rarely(failed: int, seconds: float) -> None:
    assert pause_before_start(failed) == pytest.approx(seconds)
