"""What asking may cost: a bound on requests and tokens that many clients and threads share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from searchmark.errors import BudgetSpent, UsageError

# Of Anthropic's API; what was written to and read from its prompt cache is not part of input_tokens, and is paid for as well.
_PARTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_MOST_TOKENS = 10**12  # of one answer; a service that says more has not counted


@dataclass
class Budget:
    """Counts requests, repeated ones too, and tokens; without bounds it only counts.

    Requests that are under way are not stopped, so that tokens may exceed their bound by what these use.
    """

    max_requests: int | None = None
    max_tokens: int | None = None
    requests: int = field(default=0, init=False)
    tokens: int = field(default=0, init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("max_requests", "max_tokens"):
            bound = getattr(self, name)
            if bound is not None and bound < 0:
                raise UsageError(f"{name} is {bound}, and must be 0 or more")

    def take_request(self) -> None:
        """Count one request, or refuse it."""
        with self._lock:
            if self.max_requests is not None and self.requests >= self.max_requests:
                raise BudgetSpent(f"the budget of {self.max_requests} requests is spent (max_requests)")
            if self.max_tokens is not None and self.tokens >= self.max_tokens:
                raise BudgetSpent(f"the budget of {self.max_tokens} tokens is spent (max_tokens)")
            self.requests += 1

    def add_tokens(self, tokens: int) -> None:
        with self._lock:
            self.tokens += tokens


def tokens_of(answer: Any) -> int | None:
    """How many tokens an answer says it used, in OpenAI's words or Anthropic's; None if it does not say."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    total = _count(usage.get("total_tokens"))
    if total is not None:
        return total
    parts = [count for count in (_count(usage.get(name)) for name in _PARTS) if count is not None]
    return sum(parts) if parts else None


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None
