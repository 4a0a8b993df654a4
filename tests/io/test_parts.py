"""The parts of the client: waits, turns, budgets and what answers say of their use."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from threading import Lock
from typing import Any

import httpx
import pytest

from searchmark import UsageError
from searchmark.errors import BudgetSpent
from searchmark.io.http import Budget, RateLimit, follow_redirect, retry_after, tokens_of
from tests.test_architecture import loaded_modules


@pytest.mark.slow
def test_httpx_is_loaded_only_when_something_is_asked() -> None:
    assert "httpx" not in loaded_modules(
        "import searchmark.judgments.gold_sets, searchmark.agents.vectors.models, searchmark.agents.rerank"
    )


@pytest.mark.parametrize(
    ("elsewhere", "location", "followed"),
    [
        (True, "https://store/x?signed", "https://store/x?signed"), (False, "https://store/x", None),
        (True, "http://store/x", None), (True, "https://ada:hunter2@store/x", None), (False, "/y", "https://host/y"),
    ],
)  # fmt: skip
def test_a_redirect_to_another_host_needs_leave_and_takes_no_secret_along(
    elsewhere: bool, location: str, followed: str | None
) -> None:
    request = httpx.Request(
        "GET", "https://host/x", headers={"User-Agent": "searchmark", "Authorization": "Bearer k", "Cookie": "c"}
    )
    following = follow_redirect(request, httpx.Response(302, headers={"Location": location}), elsewhere=elsewhere)
    assert (None if following is None else str(following.url)) == followed
    assert following is None or elsewhere is not ("authorization" in following.headers)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3), ("0.5", 0.5), ("-1", 0), ("99999", 300), ("inf", 300), ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 300), ("nan", None), ("soon", None), ("", None), (None, None),
    ],
)  # fmt: skip
def test_how_long_a_service_asks_to_wait(value: str | None, seconds: float | None) -> None:
    assert retry_after(value) == seconds


def test_a_date_is_held_against_the_clock() -> None:
    assert retry_after(formatdate(time.time() + 100, usegmt=True)) == pytest.approx(100, abs=5)


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        ({"usage": {"total_tokens": 7, "prompt_tokens": 5}}, 7),
        ({"usage": {"input_tokens": 5, "output_tokens": 2}}, 7),
        ({"usage": {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 0}}, 17),
        ({"usage": {"total_tokens": "7"}}, None),
        ({"usage": {"total_tokens": -7}}, None),
        ({"usage": {"total_tokens": True}}, None),
        ({"usage": None}, None),
        ({}, None),
        ([], None),
    ],
)
def test_tokens_are_what_the_answer_says(answer: Any, tokens: int | None) -> None:
    assert tokens_of(answer) == tokens


def test_a_budget_counts_without_bounds_and_refuses_beyond_them() -> None:
    free, bounded = Budget(), Budget(max_tokens=10)
    for budget in (free, bounded):
        budget.take_request()
        budget.add_tokens(10)
    free.take_request()
    assert (free.requests, free.tokens) == (2, 10)
    with pytest.raises(BudgetSpent, match=r"the budget of 10 tokens is spent \(max_tokens\)"):
        bounded.take_request()
    assert bounded.requests == 1


@pytest.mark.parametrize("bound", ["max_requests", "max_tokens"])
def test_a_bound_is_not_negative(bound: str) -> None:
    with pytest.raises(UsageError, match=f"{bound} is -1, and must be 0 or more"):
        Budget(**{bound: -1})


def test_no_two_threads_have_the_same_turn() -> None:
    slept, lock = [], Lock()

    def sleep(seconds: float) -> None:
        with lock:
            slept.append(seconds)

    limit = RateLimit(2.0, lambda: 0.0, sleep)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: limit.wait(), range(20)))
    assert sorted(slept) == [number / 2 for number in range(1, 20)]


def test_turns_that_were_not_used_are_lost() -> None:
    now = [0.0]
    limit = RateLimit(1.0, lambda: now[0], lambda _: None)
    assert limit.wait() == 0.0
    now[0] = 10.0
    assert [limit.wait(), limit.wait()] == [0.0, 1.0]
