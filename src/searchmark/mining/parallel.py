"""Several repositories at once, a process each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from searchmark.config import DatasetConfig
from searchmark.history.sources import RepositorySource
from searchmark.mining.decisions import Decisions
from searchmark.mining.mine import MinedRepository, MiningProgress, OnProgress, mine
from searchmark.mining.processes import side_by_side


class _RepositoryTask(NamedTuple):
    """A repository that another process mines."""

    source: RepositorySource
    options: DatasetConfig
    folder: Path
    decisions: Decisions


def mine_side_by_side(
    sources: Sequence[RepositorySource],
    options: DatasetConfig,
    folders: Sequence[Path],
    jobs: int,
    on_progress: OnProgress | None,
    decisions: Decisions,
) -> list[MinedRepository]:
    """Mine every repository in a process of its own, ``jobs`` of them at a time; cases wait in the ``folders``."""
    tasks = [_RepositoryTask(source, options, folder, decisions) for source, folder in zip(sources, folders, strict=True)]
    return side_by_side(_mine, tasks, jobs, None if on_progress is None else lambda _, news: on_progress(news))


def _mine(task: _RepositoryTask, tell: Callable[[MiningProgress], None]) -> MinedRepository:
    return mine(task.source, task.options, task.folder, None, tell, decisions=task.decisions)
