"""An event loop in a thread of its own, for libraries that want one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from multiprocessing.resource_tracker import ensure_running
from signal import SIG_BLOCK, SIGINT, pthread_sigmask
from threading import Thread
from typing import Any, TypeVar

Value = TypeVar("Value")


class LoopThread:
    """Runs coroutines until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Processes that are started from here inherit what is blocked: Ctrl-C at a terminal, which tells everybody, is ours."""
        ensure_running()  # Python's own, which unblocks it when it is started
        pthread_sigmask(SIG_BLOCK, {SIGINT})
        self._loop.run_forever()

    def start(self, coroutine: Coroutine[Any, Any, Value]) -> Future[Value]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, Value]) -> Value:
        """Wait for its result; Ctrl-C ends the waiting and the coroutine."""
        future = self.start(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End whatever still runs."""
        self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
