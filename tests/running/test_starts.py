"""Blocks whose agent could not be started: who gets them next, and when nobody does any more."""

from __future__ import annotations

from typing import Any, cast

import pytest

from searchmark.running.scaling.block import BlockResult, CaseBlock
from searchmark.running.scaling.starts import MOST_STARTS, MOST_STARTS_ELSEWHERE_READY, Starts, pause_before_start

NO = BlockResult(cast("Any", None), "somebody", unable="the agent could not be started: it is locked")


def block(place: int, in_vain: int = 0) -> CaseBlock:
    return CaseBlock(cast("Any", None), place, cast("Any", None), (), in_vain=in_vain)


def starts(*places: int) -> Starts:
    """Some blocks are on their way."""
    starts = Starts()
    for place in places:
        starts.hand_out(block(place))
    return starts


def fails(starts: Starts, place: int, times: int, *, ready_elsewhere: bool = False) -> list[CaseBlock]:
    """The block comes home so many times without an answer."""
    again = [block(place)]
    for _ in range(times):
        (tried,) = again
        again = starts.unable(tried, NO, ready_elsewhere=ready_elsewhere)
    return again


def test_a_block_is_tried_a_few_times_and_then_waits_for_somebody_who_is_ready() -> None:
    waiting = starts(0, 5)
    assert fails(waiting, 5, MOST_STARTS - 1) == [block(5, MOST_STARTS - 1)]
    assert fails(waiting, 5, MOST_STARTS) == []
    assert waiting.hopeless is None
    assert waiting.released() == [block(5, MOST_STARTS)]
    assert waiting.released() == []


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


def test_where_others_are_ready_a_block_is_tried_often_before_its_cases_fail() -> None:
    waiting = starts(0)
    (last,) = fails(waiting, 0, MOST_STARTS_ELSEWHERE_READY, ready_elsewhere=True)
    assert last.forced
    (before,) = fails(waiting, 0, MOST_STARTS_ELSEWHERE_READY - 1, ready_elsewhere=True)
    assert not before.forced
    assert waiting.hopeless is None


@pytest.mark.parametrize(("failed", "seconds"), [(0, 0.0), (1, 0.1), (2, 0.2), (6, 3.2), (7, 5.0), (100_000, 5.0)])
def test_a_worker_that_cannot_start_an_agent_tries_ever_more_rarely(failed: int, seconds: float) -> None:
    assert pause_before_start(failed) == pytest.approx(seconds)
