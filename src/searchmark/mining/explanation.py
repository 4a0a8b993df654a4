"""Why a commit is in a gold set or out of it, in words."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.config import DatasetConfig
from searchmark.errors import UsageError
from searchmark.history.log import Malformed
from searchmark.history.repository import Repository, open_repository, path_text
from searchmark.history.sources import RepositorySource
from searchmark.mining.candidates import inspect_all
from searchmark.mining.commits import reason
from searchmark.mining.decisions import NO_DECISIONS, Decisions
from searchmark.mining.drafts import Draft
from searchmark.mining.ledger import RemovedCommit
from searchmark.mining.selection import SelectedCommit, Selection, draw, select


def explain(source: RepositorySource, revision: str, options: DatasetConfig, decisions: Decisions = NO_DECISIONS) -> Iterator[str]:
    """Lines about one commit: the verdict, every changed file with its kind, and the query that it makes."""
    with open_repository(source.path) as repository:
        repository.check_objects()
        commit = repository.commit(revision)
        selection = select(repository, options, watch=commit, decisions=decisions.of(source.label))
        if selection.watched is None:
            raise UsageError(f"{source.written}: {revision!r} is not among the commits that were read from {selection.tip[:12]}")
        draft, removed_by = selection.watched
        chosen = None
        if removed_by is None:
            chosen, removed_by = _late_verdict(repository, commit, selection, options)
    yield from _verdict(commit, removed_by, chosen)
    decided = decisions.about(source.label, commit)
    if decided is not None and decided.because:
        yield f"decided, because: {decided.because}"
    if decided is not None and decided.query is not None:
        yield f"query (edited): {decided.query}"
    if isinstance(draft, Malformed):
        yield f"why: {draft.reason}"
        return
    yield from _files(draft, selection)
    yield f"query (clean): {draft.query.clean}"


def _late_verdict(repository: Repository, commit: str, selection: Selection, options: DatasetConfig) -> tuple[bool, str | None]:
    """Whether a commit that the first pass has let through is drawn, and which rule of the second removes it."""
    verdicts: dict[str, str | None] = {}

    def look(drawn: list[SelectedCommit]) -> list[RemovedCommit]:
        seen = {one.hash: found.removed_by for one, found in inspect_all(repository, drawn, selection.book, options)}
        verdicts.update(seen)
        return [RemovedCommit(name, rule) for name, rule in seen.items() if rule is not None]

    draw(selection.selected, options, look)
    return commit in verdicts, verdicts.get(commit)


def _verdict(commit: str, removed_by: str | None, chosen: bool | None) -> Iterator[str]:
    if removed_by is not None:
        yield f"{commit} is out, by the rule {removed_by}: {reason(removed_by)}"
    elif chosen:
        yield f"{commit} is in"
    else:
        yield f"{commit} passes every rule and was not drawn into the sample"


def _files(draft: Draft, selection: Selection) -> Iterator[str]:
    statuses = {target.path: target.status for target in draft.targets}
    for path in draft.commit.paths:
        known = selection.book[path]
        why = statuses.get(known.path) or ("not of a wanted kind, or excluded" if not known.wanted else "no change of content")
        yield f"file: {path_text(path)} ({known.kind}; {why.replace('_', ' ')})"
