"""What the commit of a mined case changed, to be read beside its query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from searchmark.corpora.claimed_repositories import mined_repositories
from searchmark.errors import UsageError
from searchmark.history.clones import resolved
from searchmark.history.repository import FULL_HASH, open_repository
from searchmark.history.sources import parse_repository
from searchmark.records import Case, Suite
from searchmark.records.shown import quoted
from searchmark.services.network import network_allowed

LONGEST_DIFF = 2_000  # lines that are shown
_LONGEST_LINE = 10_000  # bytes of it that are read at a time


@dataclass(frozen=True)
class CaseDiff:
    """A diff from the parent of a case to its commit: its first lines, and whether there are more."""

    parent: str
    commit: str
    lines: tuple[str, ...]
    cut: bool


def diff_of_case(suite: Suite, case: Case, repositories: Sequence[str], base: Path) -> CaseDiff:
    """The diff of a mined case. ``repositories`` are those of --repo; else the gold set, which lies in ``base``, says where."""
    parent, commit = (case.fields.get(name) for name in ("parent_commit", "commit_hash"))
    if not all(isinstance(name, str) and FULL_HASH.fullmatch(name) for name in (parent, commit)):
        raise UsageError(f"the case {quoted(case.id)} names no commit and parent, so there is nothing to compare")
    sources = [resolved(parse_repository(text), network=network_allowed()) for text in repositories]
    given = {source.name: Path(source.path) for source in sources}
    known = {**mined_repositories(suite, base, given), **given}
    own = case.fields.get("repository")
    folder = known.get(own if isinstance(own, str) else None) or known.get(None)
    if folder is None:
        raise UsageError(f"the repository of {quoted(case.id)} is not known; name it with --repo PATH")
    with open_repository(folder) as repository:
        lost = repository.missing(f"{name}^{{commit}}" for name in (parent, commit))
        if lost:
            raise repository.lacks_commit(min(lost).removesuffix("^{commit}"))
        flags = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--stat=100", "-p")
        with repository.stream("diff", *flags, str(parent), str(commit)) as output:
            lines = _first(iter(lambda: output.readline(_LONGEST_LINE), b""))
    return CaseDiff(str(parent), str(commit), lines[:LONGEST_DIFF], len(lines) > LONGEST_DIFF)


def _first(rows: Iterable[bytes]) -> tuple[str, ...]:
    """As many lines as are shown, and one more if there are more."""
    lines = []
    for row in rows:
        lines.append(row.decode("utf-8", "replace").rstrip("\r\n").expandtabs(4))
        if len(lines) > LONGEST_DIFF:
            break
    return tuple(lines)
