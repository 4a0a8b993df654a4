"""A gold set from one repository or several: mined, then written, and the same bytes whatever the order of work."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from searchmark.config import DatasetConfig
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.executors.choice import ExecutorChoice, ProcessChoice, parse_executor
from searchmark.files.json_rows import write_rows
from searchmark.files.private_folders import private_folder
from searchmark.files.store import atomic_write, collector_paused
from searchmark.history.clones import resolved
from searchmark.history.repository import FETCH_ALL
from searchmark.history.sources import RepositorySource, parse_repositories
from searchmark.mining.cases import Rewrite, timestamp
from searchmark.mining.decisions import NO_DECISIONS, Decisions, decisions_beside, read_decisions
from searchmark.mining.mine import MinedRepository, MiningFacts, OnProgress, mine
from searchmark.mining.parallel import MiningRequest, mine_on_executor
from searchmark.mining.rewriting import described
from searchmark.options.placement import Placement
from searchmark.services.network import network_allowed

if TYPE_CHECKING:
    from searchmark.records import Suite

Row = dict[str, Any]


def generate_gold_set(
    repositories: Sequence[RepositorySource | str],
    output: str | PathLike[str],
    options: DatasetConfig = DatasetConfig(),
    *,
    jobs: int = 1,
    rewrite: Rewrite | None = None,
    on_progress: OnProgress | None = None,
    decisions: str | PathLike[str] | None = None,
    placement: Placement = Placement(),  # noqa: B008  # frozen
) -> tuple[MiningFacts, ...]:
    """Mine repositories, given as ``[NAME=]PATH`` or ``[NAME=]URL@COMMIT``, and write a gold set; returns what is known of each.

    The file is written whole or not at all, and its bytes are the same whoever mines. Repositories are mined side by side, by
    ``jobs`` processes or on the executor of the ``placement``, unless queries are rewritten: that shares one budget.
    ``decisions`` is a file of what people decided; unless one is named, the one beside the output, if any.
    """
    sources, who = parse_repositories(repositories), _miners(placement, jobs, len(repositories), rewrite)
    decided = read_decisions(decisions_beside(output), missing_ok=True) if decisions is None else read_decisions(decisions)
    # The file is opened first: one that cannot be written is refused at once, and not after minutes of mining.
    with atomic_write(output) as file, _mined(sources, options, who, rewrite, on_progress, decided) as mined:
        write_rows(file, "test_cases", _rows(mined), _metadata([one.facts for one in mined], options, decided))
    return tuple(one.facts for one in mined)


def mine_suite(
    repositories: Sequence[RepositorySource | str],
    options: DatasetConfig = DatasetConfig(),
    *,
    name: str | None = None,
    jobs: int = 1,
    rewrite: Rewrite | None = None,
    on_progress: OnProgress | None = None,
    decisions: str | PathLike[str] | None = None,
    placement: Placement = Placement(),  # noqa: B008  # frozen
) -> Suite:
    """Mine repositories, given as ``[NAME=]PATH`` or ``[NAME=]URL@COMMIT``: the suite that a gold set would hold, without a file.

    Unless it is given a ``name`` it is called like its repositories.
    """
    from searchmark.suites.gold_set import suite_of_rows  # with numpy, which no file needs

    sources, who = parse_repositories(repositories), _miners(placement, jobs, len(repositories), rewrite)
    decided = NO_DECISIONS if decisions is None else read_decisions(decisions)
    with _mined(sources, options, who, rewrite, on_progress, decided) as mined:
        metadata = _metadata([one.facts for one in mined], options, decided)
        # As JSON has it: lists for tuples, exactly what would be read from a file.
        return suite_of_rows(name or metadata["repository"], map(json.loads, _rows(mined)), json.loads(json.dumps(metadata)))


class _Miners(NamedTuple):
    """Who mines: an executor, a repository for each worker, or else this process, one repository after the other, by ``jobs``."""

    executor: ExecutorChoice | None
    jobs: int
    ship: bool


def _miners(placement: Placement, jobs: int, repositories: int, rewrite: Rewrite | None) -> _Miners:
    """Several processes share the history of one repository, or else mine one repository each."""
    named = placement.executor
    if named is not None and rewrite is not None:
        raise UsageError("--query llm has one budget, which the workers of an executor cannot share; leave out --executor")
    asked = ProcessChoice(jobs) if named is None else parse_executor(named, foreign=True, network=network_allowed())
    if isinstance(asked, ProcessChoice) and (repositories == 1 or asked.count == 1 or rewrite is not None):
        return _Miners(None, asked.count, placement.ship)
    return _Miners(asked, 1, placement.ship)


@contextmanager
def _mined(
    sources: Sequence[RepositorySource],
    options: DatasetConfig,
    who: _Miners,
    rewrite: Rewrite | None,
    on_progress: OnProgress | None,
    decided: Decisions,
) -> Iterator[list[MinedRepository]]:
    """All repositories, mined, in the order in which they were given; their cases wait on disk until this is left."""
    with private_folder() as folder, collector_paused():
        folders = [_made(folder / str(number)) for number in range(len(sources))]
        if who.executor is not None:
            yield mine_on_executor(MiningRequest(sources, folders, options, decided, who.ship), who.executor, on_progress)
        else:
            here = [resolved(source, network=network_allowed()) for source in sources]
            pairs = zip(here, folders, strict=True)
            yield [mine(source, options, own, rewrite, on_progress, who.jobs, decided) for source, own in pairs]


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _rows(mined: Iterable[MinedRepository]) -> Iterator[bytes]:
    return (row for one in mined for row in one.rows)


def _metadata(mined: Sequence[MiningFacts], options: DatasetConfig, decided: Decisions) -> Row:
    """What a gold set says of itself; without a single case there is none."""
    cases = sum(facts.cases for facts in mined)
    if not cases:
        raise NothingEvaluated(_nothing_left(mined, options))
    settings = {name: value for name, value in asdict(options).items() if name != "repository_path"}
    if options.rewriter is not None:
        settings["rewriter"] = described(options.rewriter)
    return {
        "repository": ", ".join(facts.repository for facts in mined),
        "generated_at": timestamp(max(facts.newest for facts in mined if facts.newest is not None)),
        "total_commits_analyzed": sum(facts.commits_analyzed for facts in mined),
        "test_cases_generated": cases,
        "unreachable_files": sum(facts.unreachable_files for facts in mined),
        "repositories": {facts.repository: facts.as_json() for facts in mined},
        "options": settings,
        **({"decisions": {"file": decided.file, "made": len(decided.made)}} if decided.file is not None else {}),
    }


def _nothing_left(mined: Iterable[MiningFacts], options: DatasetConfig) -> str:
    removed: Counter[str] = Counter()
    read, shallow = 0, ""
    for facts in mined:
        shallow = shallow or (f"; {facts.repository} is a shallow clone: {FETCH_ALL}" if facts.shallow else "")
        read += facts.commits_analyzed
        removed.update({rule: count.commits for rule, count in facts.ledger.items()})
    most = ", ".join(f"{rule} {count}" for rule, count in removed.most_common(3))
    told = f"none of {read} commits passes the filters ({most or 'there was nothing to read'}); there is nothing to ask"
    return f"{told}{_other_kinds(removed, options)}{shallow}"


def _other_kinds(removed: Counter[str], options: DatasetConfig) -> str:
    """What would help where most commits change files of other kinds, as in a repository of documents."""
    if "doc" in options.kinds and removed["about_docs"]:
        return ": --without-rule about_docs keeps commits that are about documents"
    if "doc" in options.kinds or not removed or removed.most_common(1)[0][0] != "no_code_file":
        return ""
    return f": targets are files of the kind {', '.join(options.kinds)}; --kind doc (dataset.kinds in the config) takes documents"
