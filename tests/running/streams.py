"""Agents that yield hits, for a worker of their own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

RELEASE = "release"  # a named pipe in the working directory: the second hit is found when it has been opened for writing
MANY = 100_000


def yields(query: str, k: int) -> Iterator[Any]:
    """The first hit at once, the second when it is released; with scores."""
    yield "a.py", 2.0
    if Path(RELEASE).exists():
        os.close(os.open(RELEASE, os.O_RDONLY))
    yield "b.py", 1.0


async def yields_later(query: str, k: int) -> AsyncIterator[dict[str, Any]]:
    """The same, asynchronously, and as mappings."""
    for hit, score in yields(query, k):
        await asyncio.sleep(0)
        yield {"_id": hit, "_score": score}


def yields_many(query: str, k: int) -> Iterator[str]:
    """As many hits as are wanted."""
    return (f"f{number}" for number in range(k))


class Connected:
    """Opens in its loop what it uses there, and closes it there."""

    async def initialize(self, corpus: Any) -> None:
        self._loop, self._asked = asyncio.get_running_loop(), 0
        self._task = asyncio.create_task(asyncio.sleep(0, ["a.py", "b.py"]))

    async def retrieve(self, query: str, k: int) -> list[str]:
        assert asyncio.get_running_loop() is self._loop
        return (await self._task)[:k]

    async def close(self) -> None:
        assert asyncio.get_running_loop() is self._loop
        Path("closed").touch()
