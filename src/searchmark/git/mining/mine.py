"""Mine one repository, and explain why a commit is in or out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from searchmark.config.sections import DatasetSettings
from searchmark.errors import UsageError
from searchmark.git.clones import RepositorySource
from searchmark.git.log import MalformedCommit, commit_range
from searchmark.git.mining.cases import (
    MinedShare,
    OnShareProgress,
    Rewrite,
    Spool,
    SpooledCase,
    inspect_all,
    make_cases,
    make_cases_in_processes,
)
from searchmark.git.mining.decisions import NO_DECISIONS, Decisions, RepositoryDecisions
from searchmark.git.mining.drafts import Draft
from searchmark.git.mining.selection import (
    RemovedCommit,
    RuleCount,
    SelectedCommit,
    Selection,
    draw,
    reason_for_rule,
    select_commits,
    with_second_pass,
)
from searchmark.git.repository import Repository, open_repository, path_text

# Why a commit is in a gold set or out of it, in words.


def explain_commit(
    source: RepositorySource, revision: str, options: DatasetSettings, decisions: Decisions = NO_DECISIONS
) -> Iterator[str]:
    """Lines about one commit: the verdict, every changed file with its kind, and the query that it makes."""
    with open_repository(source.path) as repository:
        repository.check_objects()
        commit = repository.commit(revision)
        selection = select_commits(repository, options, watch=commit, decisions=decisions.of(source.label))
        if selection.watched is None:
            raise UsageError(f"{source.reference}: {revision!r} is not among the commits that were read from {selection.tip[:12]}")
        draft, removed_by = selection.watched
        is_drawn = None
        if removed_by is None:
            is_drawn, removed_by = _second_pass_verdict(repository, commit, selection, options)
    yield from _verdict_lines(commit, removed_by, is_drawn)
    decision = decisions.about(source.label, commit)
    if decision is not None and decision.because:
        yield f"decided, because: {decision.because}"
    if decision is not None and decision.query is not None:
        yield f"query (edited): {decision.query}"
    if isinstance(draft, MalformedCommit):
        yield f"why: {draft.reason}"
        return
    yield from _file_lines(draft, selection)
    yield f"query (clean): {draft.query.clean}"


def _second_pass_verdict(
    repository: Repository, commit: str, selection: Selection, options: DatasetSettings
) -> tuple[bool, str | None]:
    """Whether a commit that the first pass has let through is drawn, and which rule of the second removes it."""
    verdicts: dict[str, str | None] = {}

    def look(sample: list[SelectedCommit]) -> list[RemovedCommit]:
        inspections = inspect_all(repository, sample, selection.book, options)
        rules = {commit.hash: draft.removed_by for commit, draft in inspections}
        verdicts.update(rules)
        return [RemovedCommit(name, rule) for name, rule in rules.items() if rule is not None]

    draw(selection, options, look)
    return commit in verdicts, verdicts.get(commit)


def _verdict_lines(commit: str, removed_by: str | None, is_drawn: bool | None) -> Iterator[str]:
    if removed_by is not None:
        yield f"{commit} is out, by the rule {removed_by}: {reason_for_rule(removed_by)}"
    elif is_drawn:
        yield f"{commit} is in"
    else:
        yield f"{commit} passes every rule and was not drawn into the sample"


def _file_lines(draft: Draft, selection: Selection) -> Iterator[str]:
    statuses = {target.path: target.status for target in draft.targets}
    for path in draft.commit.paths:
        known_path = selection.book[path]
        why = statuses.get(known_path.path) or (
            "not of a wanted kind, or excluded" if not known_path.can_be_target else "no change of content"
        )
        yield f"file: {path_text(path)} ({known_path.kind}; {why.replace('_', ' ')})"


# One repository, mined: its history is read, commits are selected and looked at, and their trees say what a query gives away.

_COMMITS_PER_PROCESS = 400  # commits: fewer are done before another process has started


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
    """What is known of a repository once it has been mined."""

    repository: str
    path: str
    commit: str
    behind: str | None
    object_format: str
    shallow: bool
    commits_analyzed: int
    commits_passed: int
    cases: int
    origins: int  # clusters of cases
    largest_origin: int  # cases of the largest cluster
    target_sets: int  # different sets of targets
    largest_target_set: int  # cases of the most frequent set
    edited: int  # cases that ask what a person wrote
    unused_decisions: int  # about commits that made no case anyway
    unreachable_files: int
    ledger: Mapping[str, RuleCount]
    malformed: Mapping[str, str]
    newest: int | None  # date of the newest commit that was read
    kept: int = 0  # cases that the gold set in this file had before
    lost: int = 0  # those that it had and has no more

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


def mine_repository(
    source: RepositorySource,
    options: DatasetSettings,
    folder: Path,
    rewrite: Rewrite | None = None,
    on_progress: OnProgress | None = None,
    jobs: int = 1,
    decisions: Decisions = NO_DECISIONS,
) -> MinedRepository:
    """Mine one repository. Its cases wait in ``folder``, which is empty and must stay for as long as they are wanted."""
    shares: list[MinedShare] = []
    with open_repository(source.path) as repository:
        repository.check_objects()
        own_decisions = decisions.of(source.label)
        selection = _select_commits(repository, source.label, options, own_decisions, on_progress)
        tell = _progress_teller(
            source.label, min(options.max_cases or len(selection.selected), len(selection.selected)), on_progress
        )

        def look(sample: list[SelectedCommit]) -> list[RemovedCommit]:
            own = folder / f"{len(shares)}"
            own.mkdir()
            if rewrite is None and (count := min(jobs, len(sample) // _COMMITS_PER_PROCESS)) > 1:
                new_shares = make_cases_in_processes(source, sample, options, own, count, tell)
            else:
                new_shares = [make_cases(repository, source.label, sample, selection.book, options, own, rewrite, tell)]
            shares.extend(new_shares)
            return [removal for share in new_shares for removal in share.removed]

        draw(selection, options, look)
        return _join_shares(source, repository, selection, own_decisions, shares)


def _progress_teller(name: str, total: int, on_progress: OnProgress | None) -> OnShareProgress | None:
    if on_progress is None:
        return None
    return lambda phase, count: on_progress(MiningProgress(name, phase, count, total, count))


def _select_commits(
    repository: Repository, name: str, options: DatasetSettings, decisions: RepositoryDecisions, on_progress: OnProgress | None
) -> Selection:
    if on_progress is None:
        return select_commits(repository, options, decisions=decisions)
    total = count_commits(repository, options)
    tell: Callable[[int, int], None] = lambda read, kept: on_progress(MiningProgress(name, "commits", read, total, kept))  # noqa: E731
    return select_commits(repository, options, tell, decisions=decisions)


def count_commits(repository: Repository, options: DatasetSettings) -> int:
    """How many commits there are to read, which only a progress bar wants to know."""
    tip, excluded_tip = commit_range(repository, options.revisions)
    flags = ["--first-parent"] if options.first_parent else []
    return int(repository.run("rev-list", "--count", *flags, tip, *([] if excluded_tip is None else [f"^{excluded_tip}"])))


def _join_shares(
    source: RepositorySource,
    repository: Repository,
    selection: Selection,
    decisions: RepositoryDecisions,
    shares: Sequence[MinedShare],
) -> MinedRepository:
    """All shares together, in the order of the history."""
    age = {one.hash: number for number, one in enumerate(selection.selected)}
    cases_and_starts = [pair for share in shares for pair in zip(share.cases, share.rows.starts, strict=True)]
    cases_and_starts.sort(key=lambda pair: age[pair[0].commit])
    removals = [removal for share in shares for removal in share.removed]
    facts = _mining_facts(source, repository, selection, decisions, removals, [case for case, _ in cases_and_starts])
    return MinedRepository(facts, Spool(tuple(start for _, start in cases_and_starts)))


def _mining_facts(
    source: RepositorySource,
    repository: Repository,
    selection: Selection,
    decisions: RepositoryDecisions,
    removals: Iterable[RemovedCommit],
    cases: Sequence[SpooledCase],
) -> MiningFacts:
    ledger = with_second_pass(selection.removed, removals)
    sizes, sets = Counter(case.origin for case in cases), Counter(case.targets for case in cases)
    hashes = {one.hash for one in selection.selected}
    rejected = ledger["rejected"].commits if "rejected" in ledger else 0
    return MiningFacts(
        repository=source.label,
        path=source.reference,
        commit=selection.tip,
        behind=selection.excluded,
        object_format=repository.object_format,
        shallow=bool(repository.shallow),
        commits_analyzed=selection.read,
        commits_passed=selection.read - sum(count.commits for count in ledger.values()),
        cases=len(cases),
        origins=len(sizes),
        largest_origin=max(sizes.values(), default=0),
        target_sets=len(sets),
        largest_target_set=max(sets.values(), default=0),
        edited=sum(case.edited for case in cases),
        unused_decisions=len(decisions.rejected) - rejected + sum(commit not in hashes for commit in decisions.queries),
        unreachable_files=sum(case.unreachable_files for case in cases),
        ledger=ledger,
        malformed=selection.malformed,
        newest=selection.newest,
        kept=(kept := sum(case.commit in decisions.kept for case in cases)),
        lost=len(decisions.kept) - kept,
    )
