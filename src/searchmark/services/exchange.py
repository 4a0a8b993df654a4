"""What is sent between us and a service: a request, a reply, and how the service is to be asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Generic, Literal, TypeVar

from searchmark.errors import UsageError

LONGEST_TIMEOUT = 86_400  # seconds: a day
MOST_RETRIES = 100

T = TypeVar("T")


@dataclass(frozen=True)
class ApiKey:
    """Where the key of a service is and how it is sent: ``variable`` names the environment variable that holds it."""

    variable: str
    header: str = "Authorization"
    prefix: str = "Bearer "
    required: bool = True

    def header_for(self, address: str) -> dict[str, str]:
        """The header with the key, read now; none where there is no key and none is required."""
        key = os.environ.get(self.variable, "").strip()
        if not key and self.required:
            raise UsageError(f"{address} needs a key; put it into the environment variable {self.variable}")
        if not key.isascii() or not key.isprintable():
            raise UsageError(f"the environment variable {self.variable} holds characters that a key cannot have; set it again")
        return {self.header: f"{self.prefix}{key}"} if key else {}


@dataclass(frozen=True)
class ClientOptions:
    """How a service is asked.

    ``timeout_seconds`` bounds one attempt from the connection to the last byte of the answer, ``retries`` how many follow the
    first. Waits between them start at ``backoff_seconds`` and double, unless the service says how long; one is at most five
    minutes, all of one call ten. ``gives_up``: once a call has failed for a reason that
    holds for every other one (no connection, a refused key, a wrong address), later calls fail without a request.
    ``connections``: how many are kept open. ``follow_redirects``: those to the same scheme, host and port. With
    ``leave_host``, for requests that carry no secret, those to other hosts as well, over https.
    """

    key: ApiKey | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: float = 60.0
    retries: int = 5
    backoff_seconds: float = 0.5
    requests_per_second: float | None = None
    max_response_bytes: int = 64 << 20
    gives_up: bool = False
    connections: int = 10
    follow_redirects: bool = False
    leave_host: bool = False

    def __post_init__(self) -> None:
        day, most, rate = LONGEST_TIMEOUT, MOST_RETRIES, self.requests_per_second
        _check("timeout_seconds", self.timeout_seconds, 0 < self.timeout_seconds <= day, f"more than 0 and at most {day}")
        _check("retries", self.retries, 0 <= self.retries <= most, f"between 0 and {most}")
        _check("backoff_seconds", self.backoff_seconds, 0 <= self.backoff_seconds <= day, f"between 0 and {day}")
        _check("requests_per_second", rate, rate is None or 1 / day <= rate < inf, "at least one in a day")
        _check("max_response_bytes", self.max_response_bytes, self.max_response_bytes > 0, "more than 0")
        _check("connections", self.connections, self.connections > 0, "more than 0")


def _check(name: str, value: float | None, holds: bool, rule: str) -> None:
    if not holds:
        raise UsageError(f"{name} is {value}, and must be {rule}")


@dataclass(frozen=True)
class Request:
    """One question to a service. ``path`` follows the address of the client; ``body`` is sent as JSON, None not at all."""

    method: Literal["GET", "POST"] = "POST"
    path: str = ""
    body: Any = None
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Reply(Generic[T]):
    """What was made of an answer, and what it took: attempts (none if it was cached), seconds of waiting, tokens."""

    value: T
    attempts: int = 0
    waited_seconds: float = 0.0
    tokens: int | None = None

    @property
    def cached(self) -> bool:
        return self.attempts == 0


class Unusable(Exception):
    """An answer of another shape than expected; the text goes behind the address: "gave 3 vectors for 4 texts"."""
