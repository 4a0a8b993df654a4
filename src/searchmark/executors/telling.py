"""Work that has news while it is done: they are heard where processes of ours do it, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")
News = TypeVar("News")
Result = TypeVar("Result")
Post = Callable[[Callable[[], None]], None]


def _unheard(_: object) -> None:
    """What becomes of news that nobody can hear."""


def _at_once(hear: Callable[[], None]) -> None:
    hear()


class Telling(Generic[Task, News, Result]):
    """Work for a pool like any other. ``on_news`` hears which task tells what; it does not travel with the work.

    ``post`` is told whenever there is something to hear, in a thread of the pool.
    """

    def __init__(
        self,
        work: Callable[[Task, Callable[[News], None]], Result],
        on_news: Callable[[Task, News], None] | None = None,
        post: Post = _at_once,
    ) -> None:
        self._work, self._on_news, self._post = work, on_news, post

    def __call__(self, task: Task, tell: Callable[[News], None] = _unheard) -> Result:
        return self._work(task, tell)

    def __reduce__(self) -> tuple[Any, ...]:
        return Telling, (self._work,)

    def posted(self, post: Post) -> Telling[Task, News, Result]:
        """The same, heard when and where somebody else finds the time."""
        return Telling(self._work, self._on_news, post)

    def listener(self, task: Task) -> Callable[[News], None] | None:
        """Who hears the news of a task; None if nobody wants to."""
        on_news = self._on_news
        return None if on_news is None else lambda news: self._post(partial(on_news, task, news))
