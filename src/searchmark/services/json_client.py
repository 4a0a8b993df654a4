"""Asking a server politely: as often as it allows, again when it is busy, and never for ever."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from searchmark.errors import UsageError, shortened

if TYPE_CHECKING:
    import httpx

BUSY = {408, 409, 429, 500, 502, 503, 504}


@dataclass
class JsonClient:
    """Posts JSON to one address. ``key_variable`` names the environment variable that holds the key, if one is needed."""

    url: str
    key_variable: str | None = None
    timeout_seconds: float = 60.0
    retries: int = 5
    requests_per_minute: float | None = None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    _http: httpx.Client | None = field(default=None, init=False, repr=False)
    _last: float | None = field(default=None, init=False, repr=False)

    def post(self, body: Mapping[str, Any]) -> Any:
        """The answer to a request, asked again while the server is busy, up to ``retries`` times."""
        import httpx

        for attempt in range(self.retries + 1):
            self._wait_for_turn()
            try:
                response = self._client().post(self.url, json=body)
            except httpx.HTTPError as error:
                problem, wait = f"{type(error).__name__}: {error}", None
            else:
                if response.is_success:
                    return self._parsed(response)
                problem, wait = f"{response.status_code} {shortened(response.text.strip(), 200)}", _asked_to_wait(response.headers)
                if response.status_code not in BUSY:
                    break
            if attempt < self.retries:
                self.sleep(min(2.0**attempt / 2, 30.0) if wait is None else wait)
        self.close()
        raise UsageError(f"{self.url} did not answer as it should: {problem}")

    def close(self) -> None:
        """Let go of the connection; the next request opens another."""
        if self._http is not None:
            self._http.close()
        self._http = None

    def _client(self) -> httpx.Client:
        import httpx

        if self._http is None:
            self._http = httpx.Client(headers=self._headers(), timeout=self.timeout_seconds)
        return self._http

    def _headers(self) -> dict[str, str]:
        if self.key_variable is None:
            return {}
        key = os.environ.get(self.key_variable)
        if not key:
            raise UsageError(f"{self.url} needs a key; put it into the environment variable {self.key_variable}")
        return {"Authorization": f"Bearer {key}"}

    def _wait_for_turn(self) -> None:
        if self.requests_per_minute is not None:
            now = self.clock()
            if self._last is not None and now < self._last + 60 / self.requests_per_minute:
                self.sleep(self._last + 60 / self.requests_per_minute - now)
            self._last = self.clock()

    def _parsed(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError as error:
            self.close()
            raise UsageError(f"{self.url} gave no JSON: {shortened(response.text, 200)!r}") from error


def _asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds, from Retry-After, which holds a number or a date; at most five minutes."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(seconds, 0.0), 300.0)
