"""Which commits become cases: the rules that remove commits, what each removed, and the order in which the rest is drawn."""

from __future__ import annotations

import posixpath
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice, pairwise
from typing import Any, NamedTuple

from searchmark.config.sections import DatasetSettings
from searchmark.errors import UsageError
from searchmark.git.log import CommitRange, LoggedCommit, MalformedCommit, commit_range, parse_record, read_history
from searchmark.git.mining.decisions import NOTHING_DECIDED, RepositoryDecisions
from searchmark.git.mining.drafts import Draft, PathBook, PullRequests, is_squashed, request_of
from searchmark.git.mining.messages import (
    is_about_docs,
    is_about_specs,
    is_about_tests,
    is_backport,
    is_cut_off,
    is_dependency_bump,
    is_diary,
    is_edition_bump,
    is_follow_up,
    is_formatting,
    is_merge_message,
    is_revert,
    is_review,
    is_short,
    is_unfinished,
    is_vague,
    is_version_bump,
    pleases_tools,
    says_only_size,
)
from searchmark.git.mining.origins import CommitTraits, MergedBranches, near_wording, origins_of, same_wording, traits_of
from searchmark.git.repository import Repository
from searchmark.git.trees import is_odd_path
from searchmark.records.file_kinds import word_set

# Which commits make cases: rules, each small, named and switchable, the cheap ones first.
#
# A rule names what it removes. The first one that applies decides, so the counts of a ledger add up.

_FEWEST_MOVES = 3

_FOREIGN_SHARE = 0.2  # share of letters beyond ASCII


@dataclass(frozen=True)
class CommitRule:
    """A reason to leave a commit out: ``applies`` says whether, ``why`` is for people."""

    name: str
    why: str
    applies: Callable[[Draft, DatasetSettings], bool]


def _is_merge(draft: Draft, options: DatasetSettings) -> bool:
    return len(draft.commit.parents) > 1 and draft.request is None and not options.include_merge_commits


def _is_no_request(draft: Draft, options: DatasetSettings) -> bool:
    return options.unit == "pr" and draft.request is None and not is_squashed(draft.query.head)


def _is_outside_paths(draft: Draft, options: DatasetSettings) -> bool:
    if not options.paths:
        return False
    prefixes = tuple(posixpath.normpath(path.strip("/")).encode("utf-8", "surrogateescape") for path in options.paths)
    return b"." not in prefixes and not any(
        path == prefix or path.startswith(prefix + b"/") for path in draft.commit.paths for prefix in prefixes
    )


def _has_many_paths(draft: Draft, options: DatasetSettings) -> bool:
    return len(draft.commit.paths) > options.max_paths and draft.paths_but_tests_and_docs() > options.max_paths


def _is_mode_only(draft: Draft, _: DatasetSettings) -> bool:
    return not draft.files and all(change.old_blob == change.new_blob for change in draft.changes)


def _is_mass_rename(draft: Draft, _: DatasetSettings) -> bool:
    moves = len(draft.moves)
    return moves >= _FEWEST_MOVES and 2 * moves > len(draft.files) - moves


def _has_no_code(draft: Draft, _: DatasetSettings) -> bool:
    return not draft.has_wanted_path


def _has_nothing_to_find(draft: Draft, _: DatasetSettings) -> bool:
    return not draft.reachable


def _is_mostly_new(draft: Draft, _: DatasetSettings) -> bool:
    created = sum(target.status == "created" for target in draft.targets)
    deleted = sum(target.status == "deleted_or_renamed" for target in draft.targets)  # perhaps to where one was created
    return created - deleted > len(draft.reachable)


def _has_odd_path(draft: Draft, _: DatasetSettings) -> bool:
    return any(is_odd_path(target.path) for target in draft.reachable)


def _has_few_files(draft: Draft, options: DatasetSettings) -> bool:
    return len(draft.reachable) < options.min_files


def _has_many_files(draft: Draft, options: DatasetSettings) -> bool:
    return len(draft.reachable) > options.max_files


def _is_formatting(draft: Draft, _: DatasetSettings) -> bool:
    return is_formatting(draft.wording) or pleases_tools(draft.wording)


def _is_vague(draft: Draft, _: DatasetSettings) -> bool:
    return is_vague(draft.wording) or says_only_size(draft.wording)


def _is_about_tests(draft: Draft, _: DatasetSettings) -> bool:
    return is_about_tests(draft.wording) or (is_about_specs(draft.wording) and draft.changes_tests)


def _is_short(draft: Draft, options: DatasetSettings) -> bool:
    return is_short(draft.wording, options.min_words)


_BOT_NAME = re.compile(rb"(\[bot\]|(^|[\s\-_.])bot)$", re.IGNORECASE)

_BOT_MAIL = re.compile(rb"(\[bot\]|[-_.+]bot|^bot)@", re.IGNORECASE)


_BOTS = frozenset(
    {b"dependabot", b"renovate", b"greenkeeper", b"pyup-bot", b"pre-commit-ci", b"weblate", b"github actions", b"github-actions"}
)


def _is_bot(draft: Draft, _: DatasetSettings) -> bool:
    name = draft.commit.author
    return bool(_BOT_NAME.search(name) or _BOT_MAIL.search(draft.commit.email)) or name.lower() in _BOTS


def _is_backport(draft: Draft, _: DatasetSettings) -> bool:
    if draft.query.subject.isascii():
        return False
    letters = [char for char in draft.query.subject if char.isalpha()]
    return sum(not char.isascii() for char in letters) > _FOREIGN_SHARE * len(letters)


RULES: tuple[CommitRule, ...] = (
    CommitRule("merge", "it merges branches, and merges were not asked for", _is_merge),
    CommitRule("in_pull_request", "the pull request that brought it in makes the case", lambda draft, _: draft.in_request),
    CommitRule("no_pull_request", "it is not a pull request", _is_no_request),
    CommitRule("root", "it has no parent that could be searched", lambda draft, _: not draft.commit.parents),
    CommitRule("empty", "it changes no file", lambda draft, _: not draft.commit.paths),
    CommitRule("outside_paths", "it changes nothing below the paths that were asked for", _is_outside_paths),
    CommitRule("too_many_paths", "it changes more paths than one idea does", _has_many_paths),
    CommitRule("no_code_file", "no file of a wanted kind is changed, or all are excluded by patterns", _has_no_code),
    CommitRule("mode_only", "it changes nothing but modes", _is_mode_only),
    CommitRule("links_only", "it changes nothing but links, submodules and types of files", lambda draft, _: not draft.files),
    CommitRule("mass_rename", "it mostly moves files", _is_mass_rename),
    CommitRule("nothing_to_find", "its parent has nothing to find: all was created, or only moved", _has_nothing_to_find),
    CommitRule("odd_path", "it changes a file whose path no snapshot holds, such as ../x or .git/x", _has_odd_path),
    CommitRule("mostly_new", "it creates more files than it changes, so it asks for what is not there yet", _is_mostly_new),
    CommitRule("too_few_files", "fewer files than min_files are left", _has_few_files),
    CommitRule("too_many_files", "more files than max_files are left", _has_many_files),
    CommitRule("bot", "its author is a bot", _is_bot),
    CommitRule("revert", "it reverts another commit", lambda draft, _: is_revert(draft.wording, draft.message)),
    CommitRule("merge_message", "it has one parent and the message of a merge", lambda draft, _: is_merge_message(draft.wording)),
    CommitRule("fixup", "it is unfinished or fixes up another commit", lambda draft, _: is_unfinished(draft.wording)),
    CommitRule("backport", "it repeats a commit of another branch", lambda draft, _: is_backport(draft.message)),
    CommitRule("dependency_bump", "it changes what the project depends on", lambda draft, _: is_dependency_bump(draft.wording)),
    CommitRule("version_bump", "it prepares or makes a release", lambda draft, _: is_version_bump(draft.wording)),
    CommitRule("edition_bump", "it moves to another edition of its language", lambda draft, _: is_edition_bump(draft.wording)),
    CommitRule("formatting", "it is about typos, style, unused code or layout", _is_formatting),
    CommitRule("review", "it answers a review and says no more", lambda draft, _: is_review(draft.wording)),
    CommitRule("about_docs", "its message is about documentation or comments", lambda draft, _: is_about_docs(draft.wording)),
    CommitRule("about_tests", "its message is about tests", _is_about_tests),
    CommitRule("short", "too few words are left to ask anything", _is_short),
    CommitRule("torso", "what cleaning left of its message breaks off", lambda draft, _: is_cut_off(draft.wording)),
    CommitRule("follow_up", "it finishes another commit and says no more", lambda draft, _: is_follow_up(draft.wording)),
    CommitRule("diary", "it tells how the author's work goes", lambda draft, _: is_diary(draft.wording)),
    CommitRule("non_english", "a fifth of its letters or more are beyond ASCII", _is_backport),
    CommitRule("vague", "its words do not say what it is about", _is_vague),
)  # fmt: skip


# Rules that look beyond one commit; they are applied where that is known.
RULES_BEYOND_ONE_COMMIT = {
    "malformed": "it has no author, no date, or no readable record",
    "outside_dates": "it is older or newer than was asked for",
    "shallow_boundary": "its parent is not in this shallow clone",
    "duplicate_message": "a newer commit asks the same",
    "junk_type": "its conventional type is not about code (docs, ci, chore), where most commits have such a type",
    "rejected": "a person rejected it, as the file of decisions says",
    "same_targets": "max_alike other commits change exactly the same files",
    "near_duplicate": "max_alike other commits ask nearly the same: the same words, names and numbers apart",
    "binary": "what is left of its targets is binary",
    "generated_content": "what is left of its targets says that it is generated",
    "no_lines": "what is left of its targets has no line that it changes, and lines are asked for",
    "same_name": "two of its targets have the same name once accents are composed",
}

ALL_RULES = (*(rule.name for rule in RULES), *RULES_BEYOND_ONE_COMMIT)


# Without these there is nothing to ask, nothing to find, or nowhere to look.
ALWAYS_ON = word_set(
    "root empty links_only no_code_file nothing_to_find odd_path malformed shallow_boundary same_name binary no_lines rejected"
)


def reason_for_rule(name: str) -> str:
    """Why a rule removes a commit, for people."""
    return RULES_BEYOND_ONE_COMMIT.get(name) or next(rule.why for rule in RULES if rule.name == name)


class ActiveRules:
    """The rules that are switched on, to be asked about one draft after the other, newest first."""

    def __init__(self, options: DatasetSettings, shallow: Iterable[str] = ()) -> None:
        self._options = options
        self._off = _switched_off(options)
        self._shallow = frozenset(shallow)
        self._rules = tuple((rule.name, rule.applies) for rule in RULES if rule.name not in self._off)
        self._messages: set[int] = set()

    def removed_by(self, draft: Draft) -> str | None:
        """The name of the first rule that removes this commit; None if it stays."""
        if draft.commit.hash in self._shallow:
            return "shallow_boundary"
        for name, applies in self._rules:
            if applies(draft, self._options):
                return name
        return "duplicate_message" if self._repeats_message(draft) else None

    def _repeats_message(self, draft: Draft) -> bool:
        if "duplicate_message" in self._off:
            return False
        key = hash(same_wording(draft.query.subject))
        repeats = key in self._messages
        self._messages.add(key)
        return repeats


def _switched_off(options: DatasetSettings) -> frozenset[str]:
    for name in options.without_rules:
        if name not in ALL_RULES:
            raise UsageError(f"there is no rule {name!r}; the rules are {', '.join(ALL_RULES)}")
        if name in ALWAYS_ON:
            raise UsageError(f"the rule {name!r} cannot be switched off: {reason_for_rule(name)}")
    return frozenset(options.without_rules)


# What was removed, by which rule: every commit that was read is in a case or in here, once.

_SAMPLES = 5  # hashes that are shown per rule


class RemovedCommit(NamedTuple):
    """A commit that makes no case, and the rule that says so."""

    hash: str
    rule: str


@dataclass(frozen=True)
class RuleCount:
    """How many commits a rule has removed, and the first few of them."""

    commits: int
    samples: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"commits": self.commits, "samples": list(self.samples)}


class Ledger:
    """Counts removals while a history is read: of thousands of commits only the numbers and a few hashes are kept."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._samples: dict[str, list[str]] = {}

    def add(self, rule: str, commit: str) -> None:
        self._counts[rule] += 1
        samples = self._samples.setdefault(rule, [])
        if len(samples) < _SAMPLES:
            samples.append(commit)

    def counts(self) -> dict[str, RuleCount]:
        return {rule: RuleCount(count, tuple(self._samples[rule])) for rule, count in self._counts.items()}


def with_second_pass(counts: Mapping[str, RuleCount], late: Iterable[RemovedCommit]) -> dict[str, RuleCount]:
    """The counts of both passes, in the order of the rules. No rule belongs to both, so nothing is added up."""
    ledger = Ledger()
    for removal in late:
        ledger.add(removal.rule, removal.hash)
    every = {**counts, **ledger.counts()}
    return {rule: every[rule] for rule in ALL_RULES if rule in every}


# How many cases may be alike: with one and the same set of targets, or with one query but for names and numbers.
#
# A file of settings that is edited for every new kind of thing would fill a fifth of a gold set with one question.


def drop_too_alike(queue: Iterable[CommitTraits], options: DatasetSettings) -> Iterator[RemovedCommit]:
    """The commits beyond the first ``max_alike`` of each kind, in the order in which they would be drawn."""
    most = options.max_alike or sys.maxsize
    by_targets, by_wording = (name not in options.without_rules for name in ("same_targets", "near_duplicate"))
    targets: Counter[tuple[str, ...]] = Counter()
    wordings: Counter[frozenset[str]] = Counter()
    for one in queue:
        wording = near_wording(one.family)
        if by_targets and targets[one.files] >= most:
            yield RemovedCommit(one.commit, "same_targets")
        elif by_wording and wordings[wording] >= most:
            yield RemovedCommit(one.commit, "near_duplicate")
        else:
            targets[one.files] += 1
            wordings[wording] += 1


# The first pass over a history: every commit is read once, and the rules decide whether it is selected.

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
    """What the first pass has found, newest first, and what it removed."""

    tip: str
    excluded: str | None
    read: int  # commits
    newest: int | None  # the latest time of a commit that was read
    selected: tuple[SelectedCommit, ...]
    queue: tuple[SelectedCommit, ...]  # the same in the order in which they are taken until there are enough
    removed: Mapping[str, RuleCount]
    malformed: Mapping[str, str]
    book: PathBook  # what has been learnt about paths so far, and may learn more
    watched: tuple[Draft | MalformedCommit, str | None] | None = None  # the verdict on the commit that an explanation is about


def select_commits(
    repository: Repository,
    options: DatasetSettings,
    on_read: Callable[[int, int], None] | None = None,
    watch: str | None = None,
    decisions: RepositoryDecisions = NOTHING_DECIDED,
) -> Selection:
    """Read a history and select from it. ``on_read`` hears how many commits were read and selected."""
    tip, excluded_tip = commit_range(repository, options.revisions)
    since, until = parse_date(options.since, "since"), parse_date(options.until, "until")
    merges = options.include_merge_commits or options.unit != "commit"
    span = CommitRange(tip, excluded_tip, options.first_parent, merges)
    commits = CommitFilter(repository, options, tip, (since, until))
    candidates: list[SelectedCommit] = []
    ledger, malformed, verdict = Ledger(), {}, None
    branches, kin = MergedBranches(), dict[str, CommitTraits]()
    read_count, newest = 0, None
    for commit in read_history(repository, span, None if on_read is None else lambda count: on_read(count, len(candidates))):
        read_count += 1
        draft, rule_name = commits.verdict(commit)
        merge = branches.merge_of(commit)
        if isinstance(draft, MalformedCommit):
            malformed[draft.hash] = draft.reason
        else:
            newest = draft.commit.time if newest is None else max(newest, draft.commit.time)
        if rule_name is not None:
            ledger.add(rule_name, commit.hash)
        elif isinstance(draft, Draft):
            kin[commit.hash] = traits_of(draft, merge)
            candidates.append(SelectedCommit(commit.hash, draft.commit.record, draft.request, draft.query.type, commit.hash))
        if commit.hash == watch:
            verdict = (draft, rule_name)
    junk = _junk_types(candidates, options)
    remaining = _without_removed(candidates, junk)
    origin = origins_of([kin[one.hash] for one in remaining], branches)
    # What a person has rejected keeps its place until here, so that exactly one other commit takes it.
    queue = sorted(order_of_choice(remaining, options), key=lambda one: one.hash not in decisions.kept)
    rejections = [RemovedCommit(one.hash, "rejected") for one in remaining if one.hash in decisions.rejected]
    alike = [one for one in drop_too_alike((kin[one.hash] for one in queue), options) if one.hash not in decisions.rejected]
    with_origin = {
        one.hash: one._replace(origin=origin[one.hash], edited=decisions.queries.get(one.hash))
        for one in _without_removed(remaining, [*rejections, *alike])
    }
    selected, ordered = tuple(with_origin.values()), tuple(with_origin[one.hash] for one in queue if one.hash in with_origin)
    for removal in (*junk, *rejections, *alike):
        ledger.add(removal.rule, removal.hash)
        if verdict and removal.hash == watch:
            verdict = (verdict[0], removal.rule)
    return Selection(tip, excluded_tip, read_count, newest, selected, ordered, ledger.counts(), malformed, commits.book, verdict)


def _without_removed(commits: Sequence[SelectedCommit], removals: Collection[RemovedCommit]) -> list[SelectedCommit]:
    hashes = {one.hash for one in removals}
    return [one for one in commits if one.hash not in hashes]


class CommitFilter:
    """Says of one commit after the other, newest first, whether it is selected or which rule removes it."""

    def __init__(self, repository: Repository, options: DatasetSettings, tip: str, dates: tuple[int | None, int | None]) -> None:
        self.book = PathBook(options)
        self._rules = ActiveRules(options, repository.shallow)
        self._unit = options.unit
        self._landings = PullRequests(tip, lambda commit: request_of(commit) is not None)
        self._since, self._until = dates

    def verdict(self, commit: LoggedCommit | MalformedCommit) -> tuple[Draft | MalformedCommit, str | None]:
        in_request = self._unit != "commit" and self._landings.came_with_request(commit)
        if isinstance(commit, MalformedCommit):
            return commit, "malformed"
        draft = self._draft(commit, in_request)
        if (self._since is not None and commit.time < self._since) or (self._until is not None and commit.time > self._until):
            return draft, "outside_dates"
        return draft, self._rules.removed_by(draft)

    def _draft(self, commit: LoggedCommit, in_request: bool) -> Draft:
        is_merge = self._unit != "commit" and len(commit.parents) > 1
        return Draft(commit, self.book, request=request_of(commit) if is_merge else None, in_request=in_request)


def _junk_types(commits: Sequence[SelectedCommit], options: DatasetSettings) -> list[RemovedCommit]:
    """Types that are not about code go, but only where most commits have a type: elsewhere the word means nothing."""
    with_type = sum(one.type is not None for one in commits)
    if "junk_type" in options.without_rules or 2 * with_type < len(commits):
        return []
    return [RemovedCommit(one.hash, "junk_type") for one in commits if one.type in _JUNK_TYPES]


def parse_date(text: str | None, name: str) -> int | None:
    """A point in time as seconds: an ISO date, which means its midnight, or date and time; UTC unless it says otherwise."""
    if text is None:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{name}: {text!r} is not a date like 2024-03-15 or 2024-03-15T10:30:00Z") from error
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())


def order_of_choice(commits: Sequence[SelectedCommit], options: DatasetSettings) -> Iterator[SelectedCommit]:
    """The commits in the order in which they are taken until there are enough.

    Chance comes from a digest of seed and hash, so it is the same everywhere and one more commit does not reshuffle the
    rest. Spread over time: as many slices of history as there will be cases, and one after the other from each.
    """
    if options.max_cases is None or options.sample == "newest":
        return iter(commits)
    if options.sample == "random":
        return iter(sorted(commits, key=lambda one: _lot_of_commit(options.seed, one.hash)))
    slices = min(options.max_cases, len(commits))
    bounds = [len(commits) * number // slices for number in range(slices + 1)] if slices else []
    shares = [sorted(commits[low:high], key=lambda one: _lot_of_commit(options.seed, one.hash)) for low, high in pairwise(bounds)]
    return (share[turn] for turn in range(max(map(len, shares), default=0)) for share in shares if turn < len(share))


def draw(selection: Selection, options: DatasetSettings, look: Callable[[list[SelectedCommit]], Collection[RemovedCommit]]) -> None:
    """Hand out as many commits as are wanted; for each that turns out to make no case the next in line is handed out.

    ``look`` gets commits newest first and says which of them make no case.
    """
    queue = iter(selection.queue)
    age = {one.hash: number for number, one in enumerate(selection.selected)}
    missing = len(selection.queue) if options.max_cases is None else options.max_cases
    while missing and (sample := list(islice(queue, missing))):
        missing = len(look(sorted(sample, key=lambda one: age[one.hash])))


def _lot_of_commit(seed: int, commit: str) -> bytes:
    return sha256(f"{seed}:{commit}".encode()).digest()


def draft_of(selected_commit: SelectedCommit, book: PathBook) -> Draft:
    """A selected commit, unpacked again."""
    commit = parse_record(selected_commit.record)
    if isinstance(commit, MalformedCommit):  # it was parsed once already
        raise TypeError(commit.reason)
    return Draft(commit, book, request=selected_commit.request)
