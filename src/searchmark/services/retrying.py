"""Which answers are whole, and when a request is worth repeating and after how long."""

from __future__ import annotations

import math
import time
from email.utils import parsedate_to_datetime

LONGEST_BACKOFF = 30.0
LONGEST_WAIT = 300.0  # seconds, whatever the service says
LONGEST_WAITS = 600.0  # all between the attempts of one call together
_REQUEST_TIMEOUT, _TOO_MANY_REQUESTS, _SERVER_ERRORS = 408, 429, range(500, 600)
# Whole answers: some say of a POST that it has created something, and 204 that there is nothing. 206 is a part, 202 a promise.
ANSWERS = frozenset({200, 201, 203, 204})
# Refused for what holds for every request: no valid key, no permission, no such address or model.
HOPELESS = frozenset({401, 403, 404})


def is_retried(status: int) -> bool:
    return status in (_REQUEST_TIMEOUT, _TOO_MANY_REQUESTS) or status in _SERVER_ERRORS


def backoff(first: float, attempt: int) -> float:
    """Seconds after the given attempt, counted from 1: doubled each time, up to half a minute."""
    return min(first * 2.0 ** min(attempt - 1, 60), LONGEST_BACKOFF)


def retry_after(value: str | None) -> float | None:
    """Seconds that a ``Retry-After`` asks for, which holds a number or a date; at most five minutes, None if it is neither."""
    if value is None:
        return None
    seconds = _number(value) if _number(value) is not None else _seconds_until(value)
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_WAIT)


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _seconds_until(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
