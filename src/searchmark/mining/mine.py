"""One repository, mined: its history is read, commits are selected and looked at, and their trees say what a query gives away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from searchmark.config import DatasetConfig
from searchmark.history.log import span_of
from searchmark.history.repository import Repository, open_repository
from searchmark.history.sources import RepositorySource
from searchmark.mining.candidates import Candidate, Choice, choose
from searchmark.mining.cases import Leakage, MinedCase, Rewrite
from searchmark.mining.leakage import leak_of, masked, overlap, rare_identifiers
from searchmark.mining.ledger import RuleCount, with_late
from searchmark.mining.selection import Selection, select
from searchmark.mining.spool import Spool, SpoolWriter
from searchmark.mining.tree_names import TreeNames, names_along

_SHORT_HASH = 12


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
    """What is known of a repository once it has been mined. ``newest`` is the date of the newest commit that was read."""

    repository: str
    path: str
    commit: str
    behind: str | None
    object_format: str
    shallow: bool
    commits_analyzed: int
    commits_passed: int
    cases: int
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
            "unreachable_files": self.unreachable_files,
            "ledger": {rule: count.as_json() for rule, count in self.ledger.items()},
            **({"malformed": dict(self.malformed)} if self.malformed else {}),
        }


@dataclass(frozen=True)
class MinedRepository:
    """The cases of one repository, newest first, waiting in a file, and what is known of how they were mined."""

    facts: MiningFacts
    cases: Spool[MinedCase]


def mine(
    source: RepositorySource,
    options: DatasetConfig,
    folder: Path,
    rewrite: Rewrite | None = None,
    on_progress: OnProgress | None = None,
) -> MinedRepository:
    """Mine one repository. Its cases wait in ``folder``, which is empty and must stay for as long as they are wanted."""
    with open_repository(source.path) as repository:
        selection = _selected(repository, source.label, options, on_progress)
        waiting = folder / "candidates"
        choice = choose(repository, selection, options, waiting, rewrite, _teller(source.label, "targets", on_progress))
        tell = _teller(source.label, "cases", on_progress)
        unreachable = 0
        with SpoolWriter[MinedCase](folder / "cases") as spool:
            for number, case in enumerate(_cases(repository, source.label, selection, choice, options), 1):
                spool.add(case)
                unreachable += len(case.unreachable)
                tell(number, len(choice.candidates))
            cases = spool.finished()
        waiting.unlink()
    return MinedRepository(_facts(source, repository, selection, choice, unreachable), cases)


def _teller(name: str, phase: str, on_progress: OnProgress | None) -> Callable[[int, int], None]:
    if on_progress is None:
        return lambda _, __: None
    return lambda done, total: on_progress(MiningProgress(name, phase, done, total, done))


def _selected(repository: Repository, name: str, options: DatasetConfig, on_progress: OnProgress | None) -> Selection:
    if on_progress is None:
        return select(repository, options)
    total = count_commits(repository, options)
    return select(repository, options, lambda read, kept: on_progress(MiningProgress(name, "commits", read, total, kept)))


def count_commits(repository: Repository, options: DatasetConfig) -> int:
    """How many commits there are to read, which only a progress bar wants to know."""
    tip, excluded = span_of(repository, options.revisions)
    flags = ["--first-parent"] if options.first_parent else []
    return int(repository.run("rev-list", "--count", *flags, tip, *([] if excluded is None else [f"^{excluded}"])))


def _cases(repository: Repository, name: str, selection: Selection, choice: Choice, options: DatasetConfig) -> Iterator[MinedCase]:
    """The third pass: the tree of every parent, one after the other, says what the queries give away."""
    parents = [candidate.parent for candidate in choice.candidates]
    trees = names_along(repository, parents, selection.book, choice.identifiers)
    for candidate, tree in zip(choice.candidates, trees, strict=True):
        yield _case(name, candidate, tree, options)


def _case(name: str, candidate: Candidate, tree: TreeNames, options: DatasetConfig) -> MinedCase:
    variants = _variants(candidate, tree)
    query = variants["masked"] if options.query == "masked" else candidate.text
    paths = tuple(target.path for target in candidate.targets)
    return MinedCase(
        id=f"{name}@{candidate.commit[:_SHORT_HASH]}",
        repository=name,
        commit=candidate.commit,
        parent=candidate.parent,
        unit=candidate.unit,
        query=query,
        variants=variants,
        transformation=_transformation(candidate, options),
        transformation_error=None if candidate.rewriting is None else candidate.rewriting.reason,
        ground_truth=paths,
        unreachable=candidate.unreachable,
        targets=candidate.targets + candidate.beside,
        time=candidate.time,
        leakage=Leakage(
            leak_of(query, paths, tree),
            rare_identifiers(query, candidate.identifiers_inside, tree),
            overlap(query, candidate.words_inside),
        ),
        scope=candidate.scope,
        encoding_guessed=candidate.encoding_guessed,
    )


def _variants(candidate: Candidate, tree: TreeNames) -> dict[str, str]:
    rewritten = None if candidate.rewriting is None else candidate.rewriting.text
    return {
        "raw": candidate.raw,
        "subject": candidate.subject,
        "clean": candidate.clean,
        "masked": masked(candidate.clean, tree),
        **({} if rewritten is None else {"llm": rewritten}),
    }


def _transformation(candidate: Candidate, options: DatasetConfig) -> str:
    if options.query == "raw":
        return "raw"
    if options.query != "llm":
        return "rule"
    return "llm" if candidate.rewriting is not None and candidate.rewriting.text is not None else "llm_failed"


def _facts(source: RepositorySource, repository: Repository, selection: Selection, choice: Choice, unreachable: int) -> MiningFacts:
    ledger = with_late(selection.removed, choice.removed)
    return MiningFacts(
        repository=source.label,
        path=source.path,
        commit=selection.tip,
        behind=selection.excluded,
        object_format=repository.object_format,
        shallow=bool(repository.shallow),
        commits_analyzed=selection.read,
        commits_passed=selection.read - sum(count.commits for count in ledger.values()),
        cases=len(choice.candidates),
        unreachable_files=unreachable,
        ledger=ledger,
        malformed=selection.malformed,
        newest=selection.newest,
    )
