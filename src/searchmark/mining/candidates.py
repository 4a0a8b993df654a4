"""The second pass: commits that were selected are unpacked, looked at once, and become candidates.

All that needs a commit's message, changes and contents happens here, so that a commit is unpacked once and none of its
contents is read twice. A candidate then waits in a file: only when all of them are there is it known which identifiers
must be counted in the trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from searchmark.config import DatasetConfig
from searchmark.history.repository import Repository
from searchmark.mining.cases import MinedTarget, Rewrite, Rewriting
from searchmark.mining.drafts import Draft, PathBook
from searchmark.mining.leakage import identifiers_of, words_inside
from searchmark.mining.ledger import RemovedCommit
from searchmark.mining.occurrences import few_identifiers_in
from searchmark.mining.selection import SelectedCommit, draft_of
from searchmark.mining.spool import Spool, SpoolWriter
from searchmark.mining.targets import Inspected, inspect

_BATCH = 1_000  # commits that are unpacked at a time


@dataclass(frozen=True)
class Candidate:
    """A case but for what its tree has to say.

    ``text`` is the wording that was asked for; where that is the masked one, what it was before. Of the contents of
    the targets only is kept which of its words and identifiers occur in them.
    """

    commit: str
    parent: str
    time: int
    unit: str
    origin: str
    edited: bool
    text: str
    raw: str
    subject: str
    clean: str
    scope: str | None
    encoding_guessed: bool
    rewriting: Rewriting | None
    targets: tuple[MinedTarget, ...]
    beside: tuple[MinedTarget, ...]
    unreachable: tuple[str, ...]
    identifiers_inside: frozenset[bytes]
    words_inside: frozenset[str]


@dataclass(frozen=True)
class ChosenCandidates:
    """The candidates among some commits, in their order, what turned out to make no case, and every identifier in a query."""

    waiting: Spool[Candidate]
    removed: tuple[RemovedCommit, ...]
    identifiers: frozenset[bytes]


def candidates_among(
    repository: Repository,
    selected: Iterable[SelectedCommit],
    book: PathBook,
    options: DatasetConfig,
    file: Path,
    rewrite: Rewrite | None = None,
    on_inspected: Callable[[int], None] = lambda _: None,
) -> ChosenCandidates:
    """Look at commits; candidates wait in ``file``. ``on_inspected`` hears how many there are."""
    removed: list[RemovedCommit] = []
    identifiers: set[bytes] = set()
    found = 0
    with SpoolWriter[Candidate](file) as spool:
        for one, seen in inspect_all(repository, selected, book, options):
            if seen.removed_by is not None:
                removed.append(RemovedCommit(one.hash, seen.removed_by))
                continue
            candidate, named = _candidate(seen, one, options, rewrite)
            identifiers |= named
            spool.add(candidate)
            found += 1
            on_inspected(found)
        return ChosenCandidates(spool.finished(), tuple(removed), frozenset(identifiers))


def inspect_all(
    repository: Repository, selected: Iterable[SelectedCommit], book: PathBook, options: DatasetConfig
) -> Iterator[tuple[SelectedCommit, Inspected]]:
    """Look at the targets of commits, some at a time."""
    rest = iter(selected)
    while batch := list(islice(rest, _BATCH)):
        yield from zip(batch, inspect(repository, [draft_of(one, book) for one in batch], options), strict=True)


def _candidate(
    seen: Inspected, one: SelectedCommit, options: DatasetConfig, rewrite: Rewrite | None
) -> tuple[Candidate, frozenset[bytes]]:
    """A candidate, and the identifiers in its query."""
    draft, contents = seen.draft, list(seen.contents.values())
    rewriting = None if rewrite is None or one.edited else rewrite(draft.message, draft.query.clean)
    text = one.edited or _query_text(draft, options, rewriting)
    named = frozenset(name.encode() for name in identifiers_of(text))
    raw, guessed = draft.decoded
    candidate = Candidate(
        commit=draft.commit.hash,
        parent=draft.commit.parents[0],
        time=draft.commit.time,
        unit=draft.unit,
        origin=one.origin,
        edited=one.edited is not None,
        text=text,
        raw=raw.strip(),
        subject=draft.query.subject,
        clean=draft.query.clean,
        scope=draft.query.scope,
        encoding_guessed=guessed,
        rewriting=rewriting,
        targets=tuple(MinedTarget.of(target, seen.lines.get(target.path)) for target in seen.targets),
        beside=tuple(MinedTarget.of(target) for target in draft.targets if target.status in ("moved", "created")),
        unreachable=tuple(target.path for target in draft.targets if target.status == "created"),
        identifiers_inside=frozenset().union(*(few_identifiers_in(content, named) for content in contents)),
        words_inside=words_inside(text, contents),
    )
    return candidate, named


def _query_text(draft: Draft, options: DatasetConfig, rewriting: Rewriting | None) -> str:
    """The text that leaks are looked for in; a masked query is judged by what it was before."""
    if options.query == "raw":
        return draft.decoded[0].strip()
    if options.query == "subject":
        return draft.query.subject
    return draft.query.clean if options.query != "llm" or rewriting is None or rewriting.text is None else rewriting.text
