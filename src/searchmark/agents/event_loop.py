"""The event loop of one agent: what it awaits and what it yields later, as if it had been called as usual.

An agent keeps its loop as long as it lives, since connections that were opened in one cannot be used in another.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from searchmark.agents.answers import HitStream

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor


class EventLoop:
    """Made when it is first needed. In a notebook, whose own loop runs already, it runs in a thread of its own."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._thread: ThreadPoolExecutor | None = None

    def settled(self, result: Any) -> Any:
        """What was awaited, or hits that come later as a stream; anything else as it is."""
        if isinstance(result, Awaitable):
            result = self.run(_awaited(result))
        return _AsyncStream(self, result) if isinstance(result, AsyncIterable) else result

    def run(self, coroutine: Any) -> Any:
        """The result of a coroutine."""
        runner = self._runner or self._started()
        return runner.run(coroutine) if self._thread is None else self._thread.submit(runner.run, coroutine).result()

    def _started(self) -> asyncio.Runner:
        import asyncio  # most agents await nothing, and every worker would pay for it
        from concurrent.futures import ThreadPoolExecutor

        self._runner = asyncio.Runner()
        self._thread = ThreadPoolExecutor(1) if asyncio._get_running_loop() is not None else None
        return self._runner

    def close(self) -> None:
        """End whatever still runs in it."""
        runner, self._runner, thread, self._thread = self._runner, None, self._thread, None
        if runner is None:
            return
        if thread is None:
            runner.close()
        else:
            with thread:
                thread.submit(runner.close).result()


class _AsyncStream(HitStream):
    """The hits of an asynchronous generator: one task reads them all, since a task for each would cost more than most hits."""

    def __init__(self, loop: EventLoop, hits: AsyncIterable[Any]) -> None:
        self._loop, self._hits = loop, hits

    def feed(self, take: Callable[[Any], bool]) -> None:
        self._loop.run(self._fed(take))

    async def _fed(self, take: Callable[[Any], bool]) -> None:
        try:
            async for hit in self._hits:
                if not take(hit):
                    return
        finally:
            if hasattr(self._hits, "aclose"):
                await self._hits.aclose()


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result
