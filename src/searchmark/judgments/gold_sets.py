"""Mines a gold set from one repository or several; the order of work does not change a byte."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from gzip import GzipFile
from io import BufferedReader, BytesIO
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from searchmark.config.run import ExecutorSettings
from searchmark.config.sections import DatasetSettings, RewriterSettings
from searchmark.errors import NothingEvaluated, PoolGone, ServiceError, UsageError
from searchmark.executors.backends import open_executor
from searchmark.executors.packing import stop_event
from searchmark.executors.pool import PoolSettings, RetryingTasks, TaskLost, TaskPool, parse_executor, process_pool
from searchmark.git.clones import RepositorySource, clone_source, parse_repositories
from searchmark.git.log import commit_range
from searchmark.git.mining.cases import Rewrite, Rewriting, Spool, SpoolWriter, timestamp
from searchmark.git.mining.decisions import NO_DECISIONS, Decisions, decisions_path, read_decisions
from searchmark.git.mining.mine import MinedRepository, MiningFacts, MiningProgress, OnProgress, mine_repository
from searchmark.git.process import split_at_nul
from searchmark.git.repository import FETCH_ALL, open_repository
from searchmark.io.data import write_rows
from searchmark.io.folders import cache_folder, private_folder
from searchmark.io.http import Budget, ClientSettings, UnusableAnswer
from searchmark.io.json_service import ChatModel, ChatSettings, ResponseCache
from searchmark.io.network import network_allowed
from searchmark.io.secrets import without_secrets
from searchmark.io.store import atomic_write, pause_garbage_collector
from searchmark.running.distribution import (
    NO_SUPPLIES,
    Supplies,
    check_machines,
    refuse_missing_repository,
)

if TYPE_CHECKING:
    from searchmark.records.suite import Suite


# One repository that is mined by another process, here or on another machine: what goes there, and what comes back.


@dataclass(frozen=True)
class RepositoryTask:
    """A repository to be mined, perhaps on another machine."""

    number: int  # its place among all
    source: RepositorySource
    path: Path  # on the machine that all was started on
    options: DatasetSettings
    decisions: Decisions
    supplies: Supplies  # how other machines come by it


@dataclass(frozen=True)
class MinedElsewhere:
    """What came home of a repository: what is known of it, and its cases as they stand in a gold set, packed."""

    facts: MiningFacts
    rows: bytes = field(repr=False)


def mine_task(task: RepositoryTask, tell: Callable[[MiningProgress], None]) -> MinedElsewhere:
    """Mine a repository in this process."""
    task.supplies.refuse_missing()
    stop = stop_event()

    def on_progress(news: MiningProgress) -> None:
        if stop.is_set():
            raise PoolGone("the executor that mined this repository has been stopped")
        tell(news)

    # Its name and what files say of its place are those of the machine that all was started on.
    here = replace(task.source, path=str(task.supplies.path(task.path)), name=task.source.label)
    with private_folder() as folder, pause_garbage_collector():
        repository = mine_repository(here, task.options, folder, on_progress=on_progress, decisions=task.decisions)
        return MinedElsewhere(replace(repository.facts, path=task.source.reference), packed_rows(repository.rows))


def packed_rows(rows: Iterable[bytes]) -> bytes:
    """Rows of a gold set for their way; none of them has a NUL, as they are JSON in ASCII."""
    buffer = BytesIO()
    with GzipFile(fileobj=buffer, mode="wb", mtime=0) as file:
        for row in rows:
            file.write(row + b"\0")
    return buffer.getvalue()


def unpacked_rows(gzip_bytes: bytes, file: Path) -> Spool[bytes]:
    """The rows again, one by one into a file, where they wait."""
    with SpoolWriter[bytes](file) as spool, BufferedReader(GzipFile(fileobj=BytesIO(gzip_bytes))) as rows:
        for row in split_at_nul(rows):
            spool.add(row)
        return spool.finish()


# Several repositories at once, each by a worker of an executor. The cases do not depend on who mines them.


@dataclass(frozen=True)
class MiningRequest:
    """What is to be mined."""

    sources: Sequence[RepositorySource]
    folders: Sequence[Path]  # one for each repository, where its cases wait
    options: DatasetSettings
    decisions: Decisions
    ship: bool = False  # send repositories along


def mine_on_executor(request: MiningRequest, executor: PoolSettings, on_progress: OnProgress | None) -> list[MinedRepository]:
    """Mine every repository on an executor. One whose worker is lost is mined again, and without any of them there is no result."""
    commits = {_path(source): _commits(source, request.options) for source in request.sources if source.address is None}
    with open_executor(executor) as pool:
        repositories = _Repositories(request, commits, pool)
        repositories.check()
        try:
            return repositories.mine(on_progress)
        except PoolGone as error:
            raise PoolGone(error.reason, "nothing is written: run it again") from error


class _Repositories:
    """All repositories of a request, with the commits of those that have no address, and what came home of them."""

    def __init__(self, request: MiningRequest, commits: Mapping[Path, tuple[str, ...]], pool: TaskPool) -> None:
        self._request, self._commits, self._pool = request, commits, pool
        self._ship = request.ship and not pool.same_machine

    def check(self) -> None:
        """Every machine that is known now must have the repositories that are not sent; one that comes later says so itself."""
        if not self._pool.same_machine:
            expected = {} if self._ship else self._commits
            looks = [partial(refuse_missing_repository, NO_SUPPLIES, path, commits) for path, commits in expected.items()]
            check_machines(self._pool, looks, "mining")

    def mine(self, on_progress: OnProgress | None) -> list[MinedRepository]:
        """In the order in which they were given."""
        tell: OnProgress = on_progress or (lambda _: None)
        completion: RetryingTasks[RepositoryTask, MinedElsewhere] = RetryingTasks(
            self._pool,
            mine_task,
            self._tasks(),
            on_news=lambda _, news: tell(news),
            bring=lambda task, parcels, work: task.supplies.bring(parcels, work),
        )
        home: dict[int, MinedRepository] = {}
        for outcome in completion:
            task = outcome.task
            if isinstance(outcome, TaskLost):
                raise _not_mined(outcome)
            home[task.number] = self._unpack(task, outcome.result)
            cases = outcome.result.facts.cases
            tell(MiningProgress(task.source.label, "cases", cases, cases, cases))
        return [home[number] for number in sorted(home)]

    def _tasks(self) -> Iterator[RepositoryTask]:
        """The tasks, made one by one as workers need them, so that few bundles are on disk at a time."""
        request = self._request
        for number, source in enumerate(request.sources):
            path = _path(source)
            options = _with_commits(request.options, self._commits[path]) if path in self._commits else request.options
            supplies = self._supplies(number, source)
            yield RepositoryTask(number, source, path, options, request.decisions, supplies)

    def _supplies(self, number: int, source: RepositorySource) -> Supplies:
        """How a repository gets elsewhere: from its address, as a bundle, or not at all."""
        path = _path(source)
        addresses = {} if source.address is None else {path: source.address}
        supplies = Supplies(addresses, network=network_allowed())
        if not self._ship or path not in self._commits:
            return supplies
        return supplies.with_bundles({path: self._commits[path]}, self._request.folders[number])

    def _unpack(self, task: RepositoryTask, result: MinedElsewhere) -> MinedRepository:
        for bundle in task.supplies.parcels:
            bundle.file.unlink()
        return MinedRepository(result.facts, unpacked_rows(result.rows, self._request.folders[task.number] / "cases"))


def _path(source: RepositorySource) -> Path:
    return Path(source.path).absolute()


def _commits(source: RepositorySource, options: DatasetSettings) -> tuple[str, ...]:
    """The commit that mining begins with, and the one that it ends at, if there is one."""
    with open_repository(source.path) as repository:
        return tuple(commit for commit in commit_range(repository, options.revisions) if commit is not None)


def _with_commits(options: DatasetSettings, commits: Sequence[str]) -> DatasetSettings:
    """The options with commits instead of branches: branches may move meanwhile, or not exist elsewhere."""
    return replace(options, revisions="..".join(reversed(commits)))


def _not_mined(loss: TaskLost[RepositoryTask]) -> UsageError:
    return UsageError(
        f"{loss.task.source.label} was not mined: {loss.losses} workers ended while they mined it ({loss.reason}); "
        "mine it by itself to see why, or leave it out"
    )


# Queries in the words of a language model, over OpenAI's chat API or Anthropic's Messages API, cached, with bounds.
#
# Whatever goes wrong, a case falls back to the query that the rules made, is marked ``llm_failed``, and the reason is kept.
# The key comes from the environment and goes nowhere but into the request.

PROMPT = (
    "You turn the message of a commit into the question that a developer would have typed into a code search before the change was "
    "made. Ask for the behaviour or the part of the code, not for the change. One sentence, at most 25 words, simple English. Keep "
    "names of functions, classes, options and error texts that the message holds. Add no names of files or folders, no ticket "
    "numbers, and nothing that the message does not say. Answer with the question alone."
)

_LONGEST_ANSWER = 500  # characters: more is no query

_LONGEST_MESSAGE = 4_000


class Rewriter:
    """Rewrites queries, one request each, within the bounds of its config. ``tell`` gets the reason of each failure."""

    def __init__(self, config: RewriterSettings, tell: Callable[[str], None] = lambda _: None) -> None:
        self.budget = Budget(config.max_requests, config.max_tokens)
        self._tell = tell
        self._prompt = config.prompt or PROMPT
        cache = ResponseCache(Path(config.cache) if config.cache else cache_folder() / "rewriting")
        try:
            self._model = ChatModel(_chat_options(config), ClientSettings.of(config, gives_up=True), self.budget, cache)
        except UsageError as error:
            raise UsageError(f"dataset.rewriter: {error}") from error

    def __enter__(self) -> Rewriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._model.close()

    def rewrite(self, message: str, query: str) -> Rewriting:
        """The query of one message: from the cache, from the service, or not at all, with the reason."""
        text = f"Message:\n{message[:_LONGEST_MESSAGE]}\n\nWithout noise:\n{query}"
        try:
            return Rewriting(self._model.ask(self._prompt, text, _query).value)
        except ServiceError as error:
            self._tell(f"not rewritten, the query of the rules is used: {error}")
            return Rewriting(None, str(error))


def described(config: RewriterSettings) -> dict[str, Any]:
    """The settings as they may be written down: with the defaults of the API, without secrets."""
    settings: dict[str, Any] = without_secrets(asdict(config) | asdict(_chat_options(config).resolve()))
    return settings


def _chat_options(config: RewriterSettings) -> ChatSettings:
    return ChatSettings(
        config.model, config.api, config.base_url, config.key_variable, config.temperature, config.max_answer_tokens
    )


def _query(text: str) -> str:
    """A text on one line and without quotes; one that cannot be a query is refused."""
    line = " ".join(text.split()).strip("\"'` ")
    if not line or len(line) > _LONGEST_ANSWER:
        raise UnusableAnswer(f"gave an answer that is {'too long to be a query' if line else 'empty'}")
    return line


# A gold set from one repository or several: mined, then written.

Row = dict[str, Any]


def generate_gold_set(
    repositories: Sequence[RepositorySource | str],
    output: str | PathLike[str],
    options: DatasetSettings = DatasetSettings(),
    *,
    jobs: int = 1,
    rewrite: Rewrite | None = None,
    on_progress: OnProgress | None = None,
    decisions: str | PathLike[str] | None = None,
    placement: ExecutorSettings = ExecutorSettings(),  # noqa: B008  # frozen
    fresh: bool = False,
) -> tuple[MiningFacts, ...]:
    """Mine repositories, given as ``[NAME=]PATH`` or ``[NAME=]URL@COMMIT``, and write a gold set; returns what is known of each.

    Cases of a gold set that is there already stay in it if they still pass the rules, unless it was mined with other rules or
    ``fresh`` says otherwise.

    The file is written whole or not at all, and its bytes are the same whoever mines. Repositories are mined side by side, by
    ``jobs`` processes or on the executor of the ``placement``, unless queries are rewritten: that shares one budget.
    ``decisions`` is a file of what people decided; unless one is named, the one beside the output, if any.
    """
    sources, who = parse_repositories(repositories), _miners(placement, jobs, len(repositories), rewrite)
    past_decisions = read_decisions(decisions_path(output), missing_ok=True) if decisions is None else read_decisions(decisions)
    past_decisions = replace(past_decisions, kept={} if fresh else _commits_before(Path(output), options))
    # The file is opened first: one that cannot be written is refused at once, and not after minutes of mining.
    with atomic_write(output) as file, _mine(sources, options, who, rewrite, on_progress, past_decisions) as mined_repos:
        write_rows(file, "test_cases", _rows(mined_repos), _metadata([one.facts for one in mined_repos], options, past_decisions))
    return tuple(one.facts for one in mined_repos)


def mine_suite(
    repositories: Sequence[RepositorySource | str],
    options: DatasetSettings = DatasetSettings(),
    *,
    name: str | None = None,
    jobs: int = 1,
    rewrite: Rewrite | None = None,
    on_progress: OnProgress | None = None,
    decisions: str | PathLike[str] | None = None,
    placement: ExecutorSettings = ExecutorSettings(),  # noqa: B008  # frozen
) -> Suite:
    """Mine repositories, given as ``[NAME=]PATH`` or ``[NAME=]URL@COMMIT``: the suite that a gold set would hold, without a file.

    Unless it is given a ``name`` it is called like its repositories.
    """
    from searchmark.formats.suites.case_lists import suite_of_rows  # with numpy, which no file needs

    sources, who = parse_repositories(repositories), _miners(placement, jobs, len(repositories), rewrite)
    past_decisions = NO_DECISIONS if decisions is None else read_decisions(decisions)
    with _mine(sources, options, who, rewrite, on_progress, past_decisions) as mined_repos:
        metadata = _metadata([one.facts for one in mined_repos], options, past_decisions)
        # As JSON has it: lists for tuples, exactly what would be read from a file.
        return suite_of_rows(name or metadata["repository"], map(json.loads, _rows(mined_repos)), json.loads(json.dumps(metadata)))


class _Miners(NamedTuple):
    """Who mines: an executor, a repository for each worker, or else this process, one repository after the other, by ``jobs``."""

    executor: PoolSettings | None
    jobs: int
    ship: bool


def _miners(placement: ExecutorSettings, jobs: int, repositories: int, rewrite: Rewrite | None) -> _Miners:
    """Several processes share the history of one repository, or else mine one repository each."""
    executor = placement.executor
    if executor is not None and rewrite is not None:
        raise UsageError("--query llm has one budget, which the workers of an executor cannot share; leave out --executor")
    pool = process_pool(jobs) if executor is None else parse_executor(executor, foreign=True, network=network_allowed())
    if pool.kind == "process" and (repositories == 1 or pool.count == 1 or rewrite is not None):
        return _Miners(None, pool.count, placement.ship)
    return _Miners(pool, 1, placement.ship)


@contextmanager
def _mine(
    sources: Sequence[RepositorySource],
    options: DatasetSettings,
    who: _Miners,
    rewrite: Rewrite | None,
    on_progress: OnProgress | None,
    decisions: Decisions,
) -> Iterator[list[MinedRepository]]:
    """All repositories, mined, in the order in which they were given; their cases wait on disk until this is left."""
    with private_folder() as folder, pause_garbage_collector():
        folders = [_new_folder(folder / str(number)) for number in range(len(sources))]
        if who.executor is not None:
            yield mine_on_executor(MiningRequest(sources, folders, options, decisions, who.ship), who.executor, on_progress)
        else:
            here = [clone_source(source, network=network_allowed()) for source in sources]
            pairs = zip(here, folders, strict=True)
            yield [mine_repository(source, options, own, rewrite, on_progress, who.jobs, decisions) for source, own in pairs]


# Options that decide how much of a history is taken; a gold set that was mined with others of these keeps its cases.
_EXTENT = ("repository_path", "revisions", "since", "until", "max_cases")


def _commits_before(file: Path, options: DatasetSettings) -> dict[str, frozenset[str]]:
    """The commits of each repository that are cases of a gold set that is there, if it was mined in the same way."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):  # else it is no gold set, and is replaced
        content = json.loads(file.read_bytes())
        before, now = content["metadata"]["options"], json.loads(json.dumps(_settings(options)))
        if all(before.get(name) == value for name, value in now.items() if name not in _EXTENT):
            commits: dict[str, set[str]] = {}
            for row in content["test_cases"]:
                commits.setdefault(row["repository"], set()).add(row["commit_hash"])
            return {name: frozenset(hashes) for name, hashes in commits.items()}
    return {}


def _new_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _rows(repositories: Iterable[MinedRepository]) -> Iterator[bytes]:
    return (row for one in repositories for row in one.rows)


def _metadata(all_facts: Sequence[MiningFacts], options: DatasetSettings, decisions: Decisions) -> Row:
    """What a gold set says of itself; without a single case there is none."""
    cases = sum(facts.cases for facts in all_facts)
    if not cases:
        raise NothingEvaluated(_nothing_left(all_facts, options))
    return {
        "repository": ", ".join(facts.repository for facts in all_facts),
        "generated_at": timestamp(max(facts.newest for facts in all_facts if facts.newest is not None)),
        "total_commits_analyzed": sum(facts.commits_analyzed for facts in all_facts),
        "test_cases_generated": cases,
        "unreachable_files": sum(facts.unreachable_files for facts in all_facts),
        "repositories": {facts.repository: facts.as_json() for facts in all_facts},
        "options": _settings(options),
        **({"decisions": {"file": decisions.file, "made": len(decisions.by_commit)}} if decisions.file is not None else {}),
    }


def _settings(options: DatasetSettings) -> Row:
    settings = {name: value for name, value in asdict(options).items() if name != "repository_path"}
    return settings if options.rewriter is None else settings | {"rewriter": described(options.rewriter)}


def _nothing_left(all_facts: Iterable[MiningFacts], options: DatasetSettings) -> str:
    removals: Counter[str] = Counter()
    commit_count, shallow = 0, ""
    for facts in all_facts:
        shallow = shallow or (f"; {facts.repository} is a shallow clone: {FETCH_ALL}" if facts.shallow else "")
        commit_count += facts.commits_analyzed
        removals.update({rule: count.commits for rule, count in facts.ledger.items()})
    most = ", ".join(f"{rule} {count}" for rule, count in removals.most_common(3))
    message = f"none of {commit_count} commits passes the filters ({most or 'there was nothing to read'}); there is nothing to ask"
    return f"{message}{_other_kinds(removals, options)}{shallow}"


def _other_kinds(removals: Counter[str], options: DatasetSettings) -> str:
    """What would help where most commits change files of other kinds, as in a repository of documents."""
    if "doc" in options.kinds and removals["about_docs"]:
        return ": --without-rule about_docs keeps commits that are about documents"
    if "doc" in options.kinds or not removals or removals.most_common(1)[0][0] != "no_code_file":
        return ""
    return f": targets are files of the kind {', '.join(options.kinds)}; --kind doc (dataset.kinds in the config) takes documents"
