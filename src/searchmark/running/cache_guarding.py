"""The caches of a run in which code of others takes part: what built-in agents may use of them, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.agents.agent import AgentSpec
from searchmark.files.cache_folders import cache_folder, foreign_cache_folder
from searchmark.files.guarded import changed_at
from searchmark.files.private_folders import private_folder
from searchmark.running.sandbox.launch import Sandbox
from searchmark.running.sandbox.needs import is_foreign

if TYPE_CHECKING:
    from searchmark.embedders.cache_watch import CacheWatch


@dataclass(frozen=True)
class Caches:
    """``guard`` is for the workers of built-in agents. ``ours`` and ``theirs`` are the caches of built-in and of other agents.

    ``apart``: nobody but guarded workers has a reason to write into ours during this run.
    """

    guard: int | None = None
    ours: CacheWatch | None = None
    theirs: CacheWatch | None = None
    apart: bool = True

    def tampering(self) -> str | None:
        """What another process has changed in them, in a sentence; called when all agents have ended."""
        watches = [watch for watch in (self.ours, self.theirs) if watch is not None]
        changed = [(count, watch.path) for watch in watches if (count := watch.changed())]
        self._remove_added()
        where = ", ".join(f"{count} (removed from {path})" for count, path in changed)
        return f"cached vectors that another process changed during the run: {where}" if changed else None

    def _remove_added(self) -> None:
        """What was added by others has been used by no built-in agent in this run, and must not be in the next."""
        if self.ours is None or self.guard is None or not self.apart:
            return
        from searchmark.agents.lexical.disk_cache import remove_files_since

        self.ours.remove_added()
        remove_files_since(changed_at(self.guard))


@contextmanager
def guarded_caches(specs: Sequence[AgentSpec], sandbox: Sandbox | None) -> Iterator[Caches]:
    """To be entered before any agent is loaded. Built-in agents need no guard against each other, nor any in a sandbox."""
    if sandbox is not None or not any(map(is_foreign, specs)):
        yield Caches()
        return
    from searchmark.embedders.cache_watch import CacheWatch

    ours, theirs = CacheWatch(cache_folder()), CacheWatch(foreign_cache_folder())
    with ours.guard.as_file() as guard:
        yield Caches(guard, ours, theirs, apart=all(spec.isolated for spec in specs))


@dataclass(frozen=True)
class OwnCache:
    """A folder that the built-in agents of one process have for themselves, and its guard."""

    folder: Path
    guard: int


@contextmanager
def own_cache(specs: Sequence[AgentSpec], sandbox: Sandbox | None) -> Iterator[OwnCache | None]:
    """An empty cache for built-in agents on an executor beside which code of others runs; None where there is no such code.

    A process of an executor may be started at any time, when that code has long been at work: nobody could tell any more what of
    the cache of the machine was there before.
    """
    if sandbox is not None or not any(map(is_foreign, specs)):
        yield None
        return
    from searchmark.embedders.cache_watch import CacheWatch

    with private_folder() as folder, CacheWatch(folder).guard.as_file() as guard:
        yield OwnCache(folder, guard)
