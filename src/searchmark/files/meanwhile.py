"""Reading one file while another is read: the readers of large files work outside of Python, on several cores."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Meanwhile(Generic[T]):
    """Work that has begun in a thread of its own; ``result`` waits for it, and raises what it raised.

    No daemon: a thread that is ended inside of a foreign library takes the whole process down with it.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._results: list[T] = []
        self._errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except Exception as error:  # noqa: BLE001  # raised again where it is waited for
            self._errors.append(error)

    def result(self) -> T:
        self._thread.join()
        for error in self._errors:
            raise error
        return self._results[0]
