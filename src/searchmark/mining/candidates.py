"""The second pass: commits that were selected are unpacked, looked at once, and become candidates.

All that needs a commit's message, changes and contents happens here, so that a commit is unpacked once and none of its
contents is read twice. A candidate then waits in a file: only when all of them are there is it known which identifiers
must be counted in the trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from searchmark.config import DatasetConfig
from searchmark.history.repository import Repository
from searchmark.mining.cases import MinedTarget, Rewrite, Rewriting
from searchmark.mining.drafts import Draft
from searchmark.mining.leakage import identifiers_of, words_inside
from searchmark.mining.ledger import RemovedCommit
from searchmark.mining.occurrences import identifiers_in
from searchmark.mining.selection import Selection, draft_of, in_order_of_choice
from searchmark.mining.spool import Spool, SpoolWriter
from searchmark.mining.targets import Inspected, inspect

_BATCH = 200  # commits that are unpacked at a time


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
class Choice:
    """The candidates in the order of the history, what turned out to make no case, and every identifier in a query."""

    candidates: Spool[Candidate]
    removed: tuple[RemovedCommit, ...]
    identifiers: frozenset[bytes]


def choose(
    repository: Repository,
    selection: Selection,
    options: DatasetConfig,
    file: Path,
    rewrite: Rewrite | None = None,
    on_inspected: Callable[[int, int], None] = lambda _, __: None,
) -> Choice:
    """As many candidates as are wanted, kept in ``file``; ``on_inspected`` hears how many of how many there are.

    For a commit that is removed at this late stage the next in line is taken.
    """
    queue, limit = in_order_of_choice(selection.selected, options), options.max_cases
    total = len(selection.selected) if limit is None else min(limit, len(selection.selected))
    numbers: dict[str, int] = {}  # commit -> where in the file
    removed: list[RemovedCommit] = []
    identifiers: set[bytes] = set()
    with SpoolWriter[Candidate](file) as spool:
        while batch := list(islice(queue, _BATCH if limit is None else min(_BATCH, limit - len(numbers)))):
            drafts = [draft_of(one, selection.book) for one in batch]
            for seen in inspect(repository, drafts, options):
                if seen.removed_by is not None:
                    removed.append(RemovedCommit(seen.draft.commit.hash, seen.removed_by))
                    continue
                candidate, named = _candidate(seen, options, rewrite)
                numbers[candidate.commit] = len(numbers)
                identifiers |= named
                spool.add(candidate)
                on_inspected(len(numbers), total)
        candidates = spool.finished()
    order = [numbers[one.hash] for one in selection.selected if one.hash in numbers]
    return Choice(candidates.in_order(order), tuple(removed), frozenset(identifiers))


def _candidate(seen: Inspected, options: DatasetConfig, rewrite: Rewrite | None) -> tuple[Candidate, frozenset[bytes]]:
    """A candidate, and the identifiers in its query."""
    draft, contents = seen.draft, list(seen.contents.values())
    rewriting = None if rewrite is None else rewrite(draft.message, draft.query.clean)
    text = _query_text(draft, options, rewriting)
    named = frozenset(name.encode() for name in identifiers_of(text))
    raw, guessed = draft.decoded
    candidate = Candidate(
        commit=draft.commit.hash,
        parent=draft.commit.parents[0],
        time=draft.commit.time,
        unit=draft.unit,
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
        identifiers_inside=frozenset().union(*(identifiers_in(content, named) for content in contents)),
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
