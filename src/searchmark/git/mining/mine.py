"""One repository, mined: its history is read, commits are selected and looked at, and their trees say what a query gives away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from searchmark.config import DatasetConfig
from searchmark.history.log import span_of
from searchmark.history.repository import Repository, open_repository
from searchmark.history.sources import RepositorySource
from searchmark.mining.cases import Rewrite
from searchmark.mining.decisions import NO_DECISIONS, Decisions, OwnDecisions
from searchmark.mining.ledger import RemovedCommit, RuleCount, with_late
from searchmark.mining.selection import SelectedCommit, Selection, draw, select
from searchmark.mining.shares import MadeCase, OnShare, Share, make_cases, make_side_by_side
from searchmark.mining.spool import Spool

_WORTH_A_PROCESS = 400  # commits: fewer are done before another process has started


class MiningProgress(NamedTuple):
    """How far the mining of one repository is: commits read, targets looked at or cases made, of how many."""

    repository: str
    phase: str
    done: int
    total: int | None
    kept: int


OnProgress = Callable[[MiningProgress], None]


@dataclass(frozen=True)
class MiningFacts:
    """What is known of a repository once it has been mined.

    ``origins`` are its clusters of cases, ``largest_origin`` the cases of the largest one. ``target_sets`` are the different
    sets of targets, ``largest_target_set`` the cases of the most frequent one. ``edited`` cases ask what a person wrote, and
    ``unused_decisions`` are about commits that made no case anyway. ``newest`` is the date of the newest commit that was read.
    """

    repository: str
    path: str
    commit: str
    behind: str | None
    object_format: str
    shallow: bool
    commits_analyzed: int
    commits_passed: int
    cases: int
    origins: int
    largest_origin: int
    target_sets: int
    largest_target_set: int
    edited: int
    unused_decisions: int
    unreachable_files: int
    ledger: Mapping[str, RuleCount]
    malformed: Mapping[str, str]
    newest: int | None

    def as_json(self) -> dict[str, Any]:
        """What a gold set says of a repository."""
        return {
            "path": self.path,
            "commit": self.commit,
            **({} if self.behind is None else {"behind": self.behind}),
            "object_format": self.object_format,
            "shallow": self.shallow,
            "commits_analyzed": self.commits_analyzed,
            "commits_passed": self.commits_passed,
            "test_cases": self.cases,
            "origins": self.origins,
            "largest_origin": self.largest_origin,
            "target_sets": self.target_sets,
            "largest_target_set": self.largest_target_set,
            **({"edited": self.edited} if self.edited else {}),
            **({"unused_decisions": self.unused_decisions} if self.unused_decisions else {}),
            "unreachable_files": self.unreachable_files,
            "ledger": {rule: count.as_json() for rule, count in self.ledger.items()},
            **({"malformed": dict(self.malformed)} if self.malformed else {}),
        }


@dataclass(frozen=True)
class MinedRepository:
    """The cases of one repository, newest first, waiting in files as rows, and what is known of how they were mined."""

    facts: MiningFacts
    rows: Spool[bytes]


def mine(
    source: RepositorySource,
    options: DatasetConfig,
    folder: Path,
    rewrite: Rewrite | None = None,
    on_progress: OnProgress | None = None,
    jobs: int = 1,
    decisions: Decisions = NO_DECISIONS,
) -> MinedRepository:
    """Mine one repository. Its cases wait in ``folder``, which is empty and must stay for as long as they are wanted."""
    shares: list[Share] = []
    with open_repository(source.path) as repository:
        repository.check_objects()
        own_decisions = decisions.of(source.label)
        selection = _selected(repository, source.label, options, own_decisions, on_progress)
        tell = _teller(source.label, min(options.max_cases or len(selection.selected), len(selection.selected)), on_progress)

        def look(drawn: list[SelectedCommit]) -> list[RemovedCommit]:
            own = folder / f"{len(shares)}"
            own.mkdir()
            if rewrite is None and (count := min(jobs, len(drawn) // _WORTH_A_PROCESS)) > 1:
                made = make_side_by_side(source, drawn, options, own, count, tell)
            else:
                made = [make_cases(repository, source.label, drawn, selection.book, options, own, rewrite, tell)]
            shares.extend(made)
            return [removed for share in made for removed in share.removed]

        draw(selection.selected, options, look)
        return _mined(source, repository, selection, own_decisions, shares)


def _teller(name: str, total: int, on_progress: OnProgress | None) -> OnShare | None:
    if on_progress is None:
        return None
    return lambda phase, done: on_progress(MiningProgress(name, phase, done, total, done))


def _selected(
    repository: Repository, name: str, options: DatasetConfig, decisions: OwnDecisions, on_progress: OnProgress | None
) -> Selection:
    if on_progress is None:
        return select(repository, options, decisions=decisions)
    total = count_commits(repository, options)
    tell: Callable[[int, int], None] = lambda read, kept: on_progress(MiningProgress(name, "commits", read, total, kept))  # noqa: E731
    return select(repository, options, tell, decisions=decisions)


def count_commits(repository: Repository, options: DatasetConfig) -> int:
    """How many commits there are to read, which only a progress bar wants to know."""
    tip, excluded = span_of(repository, options.revisions)
    flags = ["--first-parent"] if options.first_parent else []
    return int(repository.run("rev-list", "--count", *flags, tip, *([] if excluded is None else [f"^{excluded}"])))


def _mined(
    source: RepositorySource, repository: Repository, selection: Selection, decisions: OwnDecisions, shares: Sequence[Share]
) -> MinedRepository:
    """All shares together, in the order of the history."""
    age = {one.hash: number for number, one in enumerate(selection.selected)}
    found = [pair for share in shares for pair in zip(share.made, share.rows.starts, strict=True)]
    found.sort(key=lambda pair: age[pair[0].commit])
    removed = [removed for share in shares for removed in share.removed]
    facts = _facts(source, repository, selection, decisions, removed, [made for made, _ in found])
    return MinedRepository(facts, Spool(tuple(start for _, start in found)))


def _facts(
    source: RepositorySource,
    repository: Repository,
    selection: Selection,
    decisions: OwnDecisions,
    removed: Iterable[RemovedCommit],
    made: Sequence[MadeCase],
) -> MiningFacts:
    ledger = with_late(selection.removed, removed)
    sizes, sets = Counter(case.origin for case in made), Counter(case.targets for case in made)
    passed = {one.hash for one in selection.selected}
    rejected = ledger["rejected"].commits if "rejected" in ledger else 0
    return MiningFacts(
        repository=source.label,
        path=source.written,
        commit=selection.tip,
        behind=selection.excluded,
        object_format=repository.object_format,
        shallow=bool(repository.shallow),
        commits_analyzed=selection.read,
        commits_passed=selection.read - sum(count.commits for count in ledger.values()),
        cases=len(made),
        origins=len(sizes),
        largest_origin=max(sizes.values(), default=0),
        target_sets=len(sets),
        largest_target_set=max(sets.values(), default=0),
        edited=sum(case.edited for case in made),
        unused_decisions=len(decisions.rejected) - rejected + sum(commit not in passed for commit in decisions.queries),
        unreachable_files=sum(case.unreachable_files for case in made),
        ledger=ledger,
        malformed=selection.malformed,
        newest=selection.newest,
    )
