"""The first pass over a history: every commit is read once, and the rules decide whether it is selected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice, pairwise
from typing import NamedTuple

from searchmark.config import DatasetConfig
from searchmark.errors import UsageError
from searchmark.history.log import LoggedCommit, Malformed, Span, parsed, read_history, span_of
from searchmark.history.repository import Repository
from searchmark.mining.alike import too_alike
from searchmark.mining.commits import ActiveRules
from searchmark.mining.decisions import NOTHING_DECIDED, OwnDecisions
from searchmark.mining.drafts import Draft, PathBook, request_of
from searchmark.mining.ledger import Ledger, RemovedCommit, RuleCount
from searchmark.mining.origins import Kinship, MergedBranches, kinship, origins
from searchmark.mining.units import Landings

_JUNK_TYPES = frozenset({"docs", "doc", "style", "ci", "build", "chore", "test", "tests", "release", "deps"})


class SelectedCommit(NamedTuple):
    """A commit that passed, as small as it can be: thousands of them wait for the second pass."""

    hash: str
    record: bytes
    request: str | None
    type: str | None
    origin: str
    edited: str | None = None  # what a person decided to ask instead


@dataclass(frozen=True)
class Selection:
    """What the first pass has found, newest first, and what it removed.

    ``book`` is what has been learnt about paths so far, and may learn more. ``watched`` is the verdict on the commit that
    was asked about.
    """

    tip: str
    excluded: str | None
    read: int
    newest: int | None
    selected: tuple[SelectedCommit, ...]
    removed: Mapping[str, RuleCount]
    malformed: Mapping[str, str]
    book: PathBook
    watched: tuple[Draft | Malformed, str | None] | None = None


def select(
    repository: Repository,
    options: DatasetConfig,
    on_read: Callable[[int, int], None] | None = None,
    watch: str | None = None,
    decisions: OwnDecisions = NOTHING_DECIDED,
) -> Selection:
    """Read a history and select from it. ``on_read`` hears how many commits were read and selected."""
    tip, excluded = span_of(repository, options.revisions)
    since, until = moment(options.since, "since"), moment(options.until, "until")
    merges = options.include_merge_commits or options.unit != "commit"
    span = Span(tip, excluded, options.first_parent, merges)
    commits = CommitFilter(repository, options, tip, (since, until))
    selected: list[SelectedCommit] = []
    ledger, malformed, watched = Ledger(), {}, None
    branches, kin = MergedBranches(), dict[str, Kinship]()
    read, newest = 0, None
    for commit in read_history(repository, span, None if on_read is None else lambda count: on_read(count, len(selected))):
        read += 1
        draft, removed = commits.verdict(commit)
        merge = branches.merge_of(commit)
        if isinstance(draft, Malformed):
            malformed[draft.hash] = draft.reason
        else:
            newest = draft.commit.time if newest is None else max(newest, draft.commit.time)
        if removed is not None:
            ledger.add(removed, commit.hash)
        elif isinstance(draft, Draft):
            kin[commit.hash] = kinship(draft, merge)
            selected.append(SelectedCommit(commit.hash, draft.commit.record, draft.request, draft.query.type, commit.hash))
        if commit.hash == watch:
            watched = (draft, removed)
    junk = _junk_types(selected, options)
    left = _without(selected, junk)
    origin = origins([kin[one.hash] for one in left], branches)
    rejected = [RemovedCommit(one.hash, "rejected") for one in left if one.hash in decisions.rejected]
    left = _without(left, rejected)
    alike = list(too_alike((kin[one.hash] for one in in_order_of_choice(left, options)), options))
    bound = tuple(one._replace(origin=origin[one.hash], edited=decisions.queries.get(one.hash)) for one in _without(left, alike))
    for removal in (*junk, *rejected, *alike):
        ledger.add(removal.rule, removal.hash)
        if watched and removal.hash == watch:
            watched = (watched[0], removal.rule)
    return Selection(tip, excluded, read, newest, bound, ledger.counts(), malformed, commits.book, watched)


def _without(selected: Sequence[SelectedCommit], removed: Collection[RemovedCommit]) -> list[SelectedCommit]:
    gone = {one.hash for one in removed}
    return [one for one in selected if one.hash not in gone]


class CommitFilter:
    """Says of one commit after the other, newest first, whether it is selected or which rule removes it."""

    def __init__(self, repository: Repository, options: DatasetConfig, tip: str, dates: tuple[int | None, int | None]) -> None:
        self.book = PathBook(options)
        self._rules = ActiveRules(options, repository.shallow)
        self._unit = options.unit
        self._landings = Landings(tip, lambda commit: request_of(commit) is not None)
        self._since, self._until = dates

    def verdict(self, commit: LoggedCommit | Malformed) -> tuple[Draft | Malformed, str | None]:
        in_request = self._unit != "commit" and self._landings.came_with_request(commit)
        if isinstance(commit, Malformed):
            return commit, "malformed"
        draft = self._draft(commit, in_request)
        if (self._since is not None and commit.time < self._since) or (self._until is not None and commit.time > self._until):
            return draft, "outside_dates"
        return draft, self._rules.removed_by(draft)

    def _draft(self, commit: LoggedCommit, in_request: bool) -> Draft:
        merged = self._unit != "commit" and len(commit.parents) > 1
        return Draft(commit, self.book, request=request_of(commit) if merged else None, in_request=in_request)


def _junk_types(selected: Sequence[SelectedCommit], options: DatasetConfig) -> list[RemovedCommit]:
    """Types that are not about code go, but only where most commits have a type: elsewhere the word means nothing."""
    typed = sum(one.type is not None for one in selected)
    if "junk_type" in options.without_rules or 2 * typed < len(selected):
        return []
    return [RemovedCommit(one.hash, "junk_type") for one in selected if one.type in _JUNK_TYPES]


def moment(text: str | None, name: str) -> int | None:
    """A point in time as seconds: an ISO date, which means its midnight, or date and time; UTC unless it says otherwise."""
    if text is None:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{name}: {text!r} is not a date like 2024-03-15 or 2024-03-15T10:30:00Z") from error
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())


def in_order_of_choice(selected: Sequence[SelectedCommit], options: DatasetConfig) -> Iterator[SelectedCommit]:
    """The commits in the order in which they are taken until there are enough.

    Chance comes from a digest of seed and hash, so it is the same everywhere and one more commit does not reshuffle the
    rest. Spread over time: as many slices of history as there will be cases, and one after the other from each.
    """
    if options.max_cases is None or options.sample == "newest":
        return iter(selected)
    if options.sample == "random":
        return iter(sorted(selected, key=lambda one: _lot(options.seed, one.hash)))
    slices = min(options.max_cases, len(selected))
    bounds = [len(selected) * number // slices for number in range(slices + 1)] if slices else []
    shares = [sorted(selected[low:high], key=lambda one: _lot(options.seed, one.hash)) for low, high in pairwise(bounds)]
    return (share[turn] for turn in range(max(map(len, shares), default=0)) for share in shares if turn < len(share))


def draw(
    selected: Sequence[SelectedCommit], options: DatasetConfig, look: Callable[[list[SelectedCommit]], Collection[RemovedCommit]]
) -> None:
    """Hand out as many commits as are wanted; for each that turns out to make no case the next in line is handed out.

    ``look`` gets commits newest first and says which of them make no case.
    """
    queue = in_order_of_choice(selected, options)
    age = {one.hash: number for number, one in enumerate(selected)}
    wanted = len(selected) if options.max_cases is None else options.max_cases
    while wanted and (drawn := list(islice(queue, wanted))):
        wanted = len(look(sorted(drawn, key=lambda one: age[one.hash])))


def _lot(seed: int, commit: str) -> bytes:
    return sha256(f"{seed}:{commit}".encode()).digest()


def draft_of(selected: SelectedCommit, book: PathBook) -> Draft:
    """A selected commit, unpacked again."""
    commit = parsed(selected.record)
    if isinstance(commit, Malformed):  # it was parsed once already
        raise TypeError(commit.reason)
    return Draft(commit, book, request=selected.request)
