"""A request to a worker that did not end well."""

from __future__ import annotations

from searchmark.errors import with_excerpt
from searchmark.records import Status


class RequestFailed(Exception):
    """A request did not end well; ``status`` is what that makes of a case.

    ``ms`` is how long the search took: the deadline if it had to be ended, None if it never began. ``doubted``: that is our own
    time, since the worker's is not to be believed. ``where`` is where in its code the agent was. ``excerpt`` is what a tool said,
    apart from the ``reason``. ``printed`` is the end of what the agent printed meanwhile.
    """

    def __init__(
        self,
        status: Status,
        reason: str,
        ms: float | None = None,
        *,
        doubted: bool = False,
        where: str | None = None,
        excerpt: str | None = None,
        printed: str | None = None,
    ) -> None:
        super().__init__(with_excerpt(reason, excerpt))
        self.reason, self.excerpt = reason, excerpt
        self.status: Status = status
        self.ms = ms
        self.doubted = doubted
        self.where = where
        self.printed = printed
