"""Several repositories at once, each by a worker of an executor; whoever mines them, the cases are the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from searchmark.config import DatasetConfig
from searchmark.errors import PoolGone, UsageError
from searchmark.executors.choice import ExecutorChoice
from searchmark.executors.completion import Completion, TaskLost
from searchmark.executors.opening import opened
from searchmark.executors.pool import TaskPool
from searchmark.executors.telling import Telling
from searchmark.history.log import span_of
from searchmark.history.repository import open_repository
from searchmark.history.sources import RepositorySource
from searchmark.mining.decisions import Decisions
from searchmark.mining.mine import MinedRepository, MiningProgress, OnProgress
from searchmark.mining.repository_task import MinedElsewhere, NotHere, RepositoryTask, mine_task, unpacked_rows
from searchmark.services.network import network_allowed
from searchmark.shipping.delivery import Delivery
from searchmark.shipping.installed import Installed, installed, refuse_other_version
from searchmark.shipping.lacks import refuse_lacks, refuse_missing, sentences_of
from searchmark.shipping.sending import Sender
from searchmark.shipping.supplies import NO_SUPPLIES


@dataclass(frozen=True)
class MiningRequest:
    """What is to be mined: a ``folder`` for each repository is where its cases wait. ``ship``: repositories are sent along."""

    sources: Sequence[RepositorySource]
    folders: Sequence[Path]
    options: DatasetConfig
    decisions: Decisions
    ship: bool = False


@dataclass(frozen=True)
class MiningCheck:
    """What every machine must have: one version of ours, and repositories at these paths, with these commits."""

    installed: Installed
    commits: Mapping[Path, tuple[str, ...]]


def mine_on_executor(request: MiningRequest, executor: ExecutorChoice, on_progress: OnProgress | None) -> list[MinedRepository]:
    """Mine every repository on an executor. One whose worker is lost is mined again, and without any of them there is no result."""
    commits = {_path(source): _commits(source, request.options) for source in request.sources if source.address is None}
    with opened(executor) as pool:
        repositories = _Repositories(request, commits, pool)
        repositories.check()
        try:
            return repositories.mined(on_progress)
        except PoolGone as error:
            raise PoolGone(error.reason, "nothing is written: run it again") from error


class _Repositories:
    """All repositories of a request, with the commits of those that have no address, and what came home of them."""

    def __init__(self, request: MiningRequest, commits: Mapping[Path, tuple[str, ...]], pool: TaskPool) -> None:
        self._request, self._commits, self._pool = request, commits, pool
        self._ship = request.ship and not pool.same_machine
        self._senders: dict[int, Sender] = {}

    def check(self) -> None:
        """Every machine that is known now must have the repositories that are not sent; one that comes later says so itself."""
        if not self._pool.same_machine:
            check = MiningCheck(installed(), {} if self._ship else self._commits)
            found = self._pool.everywhere(lacks_here, check)
            refuse_lacks(self._pool, (sentence for each in found or () for sentence in each), "mining")

    def mined(self, on_progress: OnProgress | None) -> list[MinedRepository]:
        """In the order in which they were given."""
        tell: OnProgress = on_progress or (lambda _: None)
        work = Telling(mine_task, None if on_progress is None else lambda _, news: tell(news))
        completion: Completion[RepositoryTask, MinedElsewhere | NotHere] = Completion(self._pool, work, self._tasks())
        home: dict[int, MinedRepository] = {}
        for outcome in completion:
            task = outcome.task
            if isinstance(outcome, TaskLost):
                raise _not_mined(outcome)
            if isinstance(outcome.result, NotHere):
                completion.add(replace(task, parcels=self._senders[task.number].opened(outcome.result.missing)))
            else:
                home[task.number] = self._taken(task, outcome.result)
                cases = outcome.result.facts.cases
                tell(MiningProgress(task.source.label, "cases", cases, cases, cases))
        return [home[number] for number in sorted(home)]

    def _tasks(self) -> Iterator[RepositoryTask]:
        """One after the other, as they are wanted: so few bundles lie about at a time."""
        request = self._request
        for number, source in enumerate(request.sources):
            path = _path(source)
            self._senders[number] = sender = self._sender(source, request.folders[number])
            options = _pinned(request.options, self._commits[path]) if path in self._commits else request.options
            yield RepositoryTask(number, source, path, options, request.decisions, installed(), sender.supplies)

    def _sender(self, source: RepositorySource, folder: Path) -> Sender:
        """How a repository gets elsewhere: from its address, as a bundle, or not at all."""
        path = _path(source)
        addresses = {} if source.address is None else {path: source.address}
        commits = {path: self._commits[path]} if path in self._commits else {}
        return Sender(Delivery(self._ship, (), addresses), commits, network_allowed(), folder)

    def _taken(self, task: RepositoryTask, result: MinedElsewhere) -> MinedRepository:
        self._senders.pop(task.number).clear()
        return MinedRepository(result.facts, unpacked_rows(result.rows, self._request.folders[task.number] / "cases"))


def lacks_here(check: MiningCheck) -> list[str]:
    """What this machine lacks, a sentence each."""
    other = list(sentences_of(partial(refuse_other_version, check.installed)))
    looks = [partial(refuse_missing, NO_SUPPLIES, path, commits) for path, commits in check.commits.items()]
    return other or [sentence for look in looks for sentence in sentences_of(look)]  # the rest would mean little


def _path(source: RepositorySource) -> Path:
    return Path(source.path).absolute()


def _commits(source: RepositorySource, options: DatasetConfig) -> tuple[str, ...]:
    """The commit that mining begins with, and the one that it ends at, if there is one."""
    with open_repository(source.path) as repository:
        return tuple(commit for commit in span_of(repository, options.revisions) if commit is not None)


def _pinned(options: DatasetConfig, commits: Sequence[str]) -> DatasetConfig:
    """The same commits for everybody, whatever becomes of branches meanwhile, and wherever they do not exist."""
    return replace(options, revisions="..".join(reversed(commits)))


def _not_mined(lost: TaskLost[RepositoryTask]) -> UsageError:
    return UsageError(
        f"{lost.task.source.label} was not mined: {lost.losses} workers ended while they mined it ({lost.reason}); "
        "mine it by itself to see why, or leave it out"
    )
