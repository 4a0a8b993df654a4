"""When a search must have ended: whoever waits inside of one knows what is left, and can still say what went wrong."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_RESERVED, _MOST_RESERVED = 0.1, 0.5  # of the time of a search, and seconds at most: for the way of the answer
_END: ContextVar[float] = ContextVar("end", default=math.inf)


@contextmanager
def search_ends_within(seconds: float | None) -> Iterator[None]:
    """What happens here is a search that is given up after so many seconds; None if it may take any time."""
    token = _END.set(math.inf if seconds is None else time.monotonic() + seconds - min(_RESERVED * seconds, _MOST_RESERVED))
    try:
        yield
    finally:
        _END.reset(token)


def seconds_left() -> float:
    """How many seconds are left, infinite outside of a search."""
    return _END.get() - time.monotonic()
