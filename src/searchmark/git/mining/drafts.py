"""A commit under examination: what counts as one change, and which of its files and lines can be found at its parent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import IO, Literal, NamedTuple
from unicodedata import normalize

from searchmark.config.inputs import PathKind
from searchmark.config.sections import DatasetSettings
from searchmark.errors import UsageError
from searchmark.git.log import LoggedCommit, MalformedCommit, PathChange, changes_of, message_text
from searchmark.git.mining.messages import MessageWords
from searchmark.git.mining.queries import Query
from searchmark.git.repository import Repository, path_bytes, path_text
from searchmark.records.file_kinds import classify, exclusion_test

# What counts as one change: a commit, or a pull request with its title and all that it brought in.
#
# A commit belongs to the pull request through which it first reached the main line, the chain of first parents. That
# is known without any look back because children come before their parents.

_GITHUB = re.compile(r"^Merge pull request #\d+ from \S+")

_GITLAB = re.compile(r"^Merge branch '.+' into '?.+'?$|^Merge branch '.+'$")

_GITLAB_NUMBER = re.compile(r"^See merge request \S*!\d+$", re.MULTILINE)

_BITBUCKET = re.compile(r"^Merged in .+ \(pull request #\d+\)$")

_AZURE = re.compile(r"^Merged PR \d+: (?P<title>.+)$")

_SQUASHED = re.compile(r"\(#\d+\)\s*$")


_NUMBER = re.compile(
    r"\AMerge pull request #(\d+) from \S+|\A.*\(#(\d+)\)\s*$|\AMerged in .+ \(pull request #(\d+)\)$|\AMerged PR (\d+): "
    r"|^See merge request \S*!(\d+)$",
    re.MULTILINE,
)


def pull_request(message: str) -> str | None:
    """What a pull request says: its title and description; None if this is no merge of one, or has no title."""
    subject, _, body = message.strip().partition("\n")
    azure = _AZURE.match(subject)
    if azure:
        return f"{azure['title']}\n{body}"
    is_merge = _GITHUB.match(subject) or _BITBUCKET.match(subject) or (_GITLAB.match(subject) and _GITLAB_NUMBER.search(body))
    return _GITLAB_NUMBER.sub("", body).strip() or None if is_merge else None


def request_number(message: str) -> int | None:
    """The number of the pull request that a merge has brought in, or that a commit is, squashed."""
    match = _NUMBER.search(message.strip()) if "#" in message or "!" in message or "PR " in message else None
    return int(next(filter(None, match.groups()))) if match else None


def is_squashed(subject: str) -> bool:
    """Whether a commit is a whole pull request, squashed."""
    return bool(_SQUASHED.search(subject))


class PullRequests:
    """Tells of each commit whether it came with a pull request; to be fed every commit, children first."""

    def __init__(self, tip: str, is_pull_request: Callable[[LoggedCommit], bool]) -> None:
        self._next = tip  # the next commit of the main line
        self._is_pull_request = is_pull_request
        self._by_request: list[bool] = []  # for each step of the main line: a merged pull request?
        self._pending: dict[str, int] = {}  # commits yet to come: the step at which they came in

    def came_with_request(self, commit: LoggedCommit | MalformedCommit) -> bool:
        """Whether this commit is part of a pull request that makes the case."""
        if commit.hash == self._next:
            self._step(commit)
            return False
        step = self._pending.pop(commit.hash, None)
        if step is None:  # of a branch that the main line has not merged within this range
            return False
        for parent in commit.parents:
            self._hand_down(parent, step)
        return self._by_request[step]

    def _step(self, commit: LoggedCommit | MalformedCommit) -> None:
        self._pending.pop(commit.hash, None)
        self._next = commit.parents[0] if commit.parents else ""
        self._by_request.append(isinstance(commit, LoggedCommit) and len(commit.parents) > 1 and self._is_pull_request(commit))
        for parent in commit.parents[1:]:
            self._hand_down(parent, len(self._by_request) - 1)

    def _hand_down(self, parent: str, step: int) -> None:
        """Of all ways in, the oldest is the one that counts: steps are numbered from the newest on."""
        self._pending[parent] = max(self._pending.get(parent, step), step)


# A commit on its way to becoming a case: everything that a rule may ask about it, worked out when it is asked.

# What became of a file, seen from the parent commit.
TargetStatus = Literal["present", "deleted_or_renamed", "moved", "created"]

_LINKS = (b"120000", b"160000")


class KnownPath(NamedTuple):
    """A path as text, its kind, and whether it can be a target."""

    path: str
    kind: PathKind
    can_be_target: bool


class PathBook(dict[bytes, KnownPath]):
    """What is known about paths; a history names the same ones again and again."""

    def __init__(self, options: DatasetSettings) -> None:
        super().__init__()
        self._excluded = exclusion_test(options.exclude_patterns)
        self._kinds = frozenset(options.kinds)

    def __missing__(self, path: bytes) -> KnownPath:
        text = path_text(path)
        kind = classify(text)
        known_path = self[path] = KnownPath(text, kind, kind in self._kinds and not self._excluded(text))
        return known_path


@dataclass(frozen=True, slots=True)
class Target:
    """A changed file of a wanted kind and what the parent knows of it. ``blob`` is its content there, if it is there."""

    path: str
    status: TargetStatus
    blob: str | None
    new_blob: str | None = None
    moved_to: str | None = None


class Draft:
    """One commit, or one pull request, under examination."""

    def __init__(self, commit: LoggedCommit, book: PathBook, *, request: str | None = None, in_request: bool = False) -> None:
        self.commit = commit
        self.request = request  # what the pull request says, if this is one
        self.in_request = in_request  # whether a pull request makes the case of this commit
        self._book = book

    @property
    def unit(self) -> str:
        return "commit" if self.request is None else "pr"

    @cached_property
    def changes(self) -> list[PathChange]:
        return changes_of(self.commit)

    @cached_property
    def files(self) -> list[PathChange]:
        """The changes of file contents: no links, no submodules, no change of mode or type alone."""
        return [
            change
            for change in self.changes
            if change.old_mode not in _LINKS
            and change.new_mode not in _LINKS
            and change.old_blob != change.new_blob
            and change.status != b"T"
        ]

    @cached_property
    def moves(self) -> dict[bytes, bytes]:
        """Old path to new path of files that only moved: deleted and added with the same content."""
        if not any(change.status == b"A" for change in self.files):
            return {}
        added_by_blob = {change.new_blob: change.path for change in self.files if change.status == b"A"}
        return {c.path: added_by_blob[c.old_blob] for c in self.files if c.status == b"D" and c.old_blob in added_by_blob}

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """Every changed file that is of a wanted kind, reachable or not, in path order."""
        new_paths = set(self.moves.values())  # the same content under another path: nothing was created there
        targets = []
        for change in self.files:
            known_path = self._book[change.path]
            if known_path.can_be_target and change.path not in new_paths:
                targets.append(self._target(change, known_path.path))
        return tuple(targets)

    def _target(self, change: PathChange, path: str) -> Target:
        old, new = change.old_blob.decode(), change.new_blob.decode()
        if change.status == b"A":
            return Target(path, "created", None, new)
        if change.path in self.moves:
            return Target(path, "moved", old, moved_to=path_text(self.moves[change.path]))
        if change.status == b"D":
            return Target(path, "deleted_or_renamed", old)
        return Target(path, "present", old, new)

    @cached_property
    def reachable(self) -> tuple[Target, ...]:
        """The targets that a search at the parent can find and that the commit really changed."""
        return tuple(target for target in self.targets if target.status in ("present", "deleted_or_renamed"))

    @property
    def has_wanted_path(self) -> bool:
        book = self._book
        return any(book[path].can_be_target for path in self.commit.paths)

    def paths_but_tests_and_docs(self) -> int:
        return sum(self._book[path].kind not in ("test", "doc") for path in self.commit.paths)

    @property
    def changes_tests(self) -> bool:
        return any(self._book[path].kind == "test" for path in self.commit.paths)

    @cached_property
    def message_and_guess(self) -> tuple[str, bool]:
        return message_text(self.commit)

    @property
    def message(self) -> str:
        """What is turned into a query: the commit's message, or title and description of the pull request."""
        return self.message_and_guess[0] if self.request is None else self.request

    @cached_property
    def query(self) -> Query:
        return Query(self.message)

    @cached_property
    def wording(self) -> MessageWords:
        return MessageWords(self.query)


def request_of(commit: LoggedCommit) -> str | None:
    """What the pull request says that this merge has brought in."""
    return pull_request(message_text(commit)[0])


# Which lines a commit changes, as Git compares the contents before and after.

Hunk = tuple[int, int]  # first line at the parent, number of lines there

Hunks = dict[tuple[str, str], list[Hunk]]  # by old and new content


# Lines of files begin with one of "+-\", so whatever they hold, they are none of these.
_DIFF_LINE = re.compile(rb"\n(?:@@ -(\d+)(?:,(\d+))? \+|index ([0-9a-f]+)\.\.([0-9a-f]+)|([0-9a-f]{40}|[0-9a-f]{64})(?=\n))")

_CHUNK = 1 << 20

_MOST_PATHSPECS = 64  # folders that git is told to pass over


_DIFF = (
    "diff-tree", "--stdin", "--root", "-r", "-p", "-U0", "--no-renames", "--full-index", "--no-color", "--no-ext-diff",
    "--no-textconv", "--diff-filter=a",
)  # fmt: skip  # what a commit creates is not compared: it is no target


@dataclass(frozen=True)
class ChangedLines:
    """The lines of a file at the parent that a commit changes or deletes, and those behind which it inserts."""

    changed: tuple[tuple[int, int], ...]
    inserted_after: tuple[int, ...]

    @classmethod
    def of(cls, hunks: Iterable[Hunk]) -> ChangedLines:
        """Git writes an insertion as no line at all behind the line that it names."""
        all_hunks = list(hunks)
        ranges = tuple((first, first + count - 1) for first, count in all_hunks if count)
        return cls(ranges, tuple(first for first, count in all_hunks if not count))

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The lines at the parent that a reader must see: those that change, and the one behind which something is inserted.

        What is inserted at the top of a file is in front of its first line. Ranges that touch are one.
        """
        ranges: list[tuple[int, int]] = []
        for first, last in sorted([*self.changed, *((max(line, 1), max(line, 1)) for line in self.inserted_after)]):
            if ranges and first <= ranges[-1][1] + 1:
                ranges[-1] = ranges[-1][0], max(ranges[-1][1], last)
            else:
                ranges.append((first, last))
        return tuple(ranges)


def hunks_of(repository: Repository, drafts: Sequence[Draft]) -> dict[str, Hunks]:
    """What differs in the targets of some commits, by commit."""
    try:
        return _compare_targets(repository, drafts)
    except UsageError:  # Git stops at the first content that is missing, as in a partial clone, and does not say which
        missing = repository.missing(sorted(set().union(*map(_blobs, drafts))))
        if missing:
            raise repository.lacks("content", min(missing)) from None
        raise


def _compare_targets(repository: Repository, drafts: Sequence[Draft]) -> dict[str, Hunks]:
    """A file is told by its two contents and not by its path, which Git would quote where it is odd."""
    request = "".join(f"{draft.commit.hash} {draft.commit.parents[0]}\n" for draft in drafts).encode()
    hunks_by_commit: dict[str, Hunks] = {}
    current: Hunks = {}
    hunks: list[Hunk] = []
    with repository.stream(*_DIFF, *_pathspecs(drafts), input=request) as output:
        for text in _whole_lines(output):
            for first, count, old, new, commit in _DIFF_LINE.findall(text):
                if first:
                    hunks.append((int(first), int(count or 1)))
                elif old:
                    hunks = current[old.decode(), new.decode() if new.strip(b"0") else ""] = []
                else:
                    current = hunks_by_commit[commit.decode()] = {}
    return hunks_by_commit


def _whole_lines(output: IO[bytes]) -> Iterator[bytes]:
    """A text in large pieces that begin before a line and end behind one."""
    rest = b"\n"
    while chunk := output.read(_CHUNK):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield rest + chunk[:end]
            rest = b"\n" + chunk[end:]
        else:
            rest += chunk


def _pathspecs(drafts: Sequence[Draft]) -> list[str]:
    """What git need not compare: folders, as large as possible, that hold no target of these commits but much else."""
    targets = {path_bytes(target.path) for draft in drafts for target in draft.reachable}
    folders_needed = {folder for path in targets for folder in _folders(path)}
    others: Counter[bytes] = Counter()
    for draft in drafts:
        for path in draft.commit.paths:
            others.update(islice((folder for folder in _folders(path) if folder not in folders_needed), 1))
    return ["--", *(f":(top,exclude,literal){path_text(folder)}" for folder, _ in others.most_common(_MOST_PATHSPECS))]


def _folders(path: bytes) -> Iterator[bytes]:
    """The folders above a path, the outermost first."""
    end = path.find(b"/")
    while end >= 0:
        yield path[:end]
        end = path.find(b"/", end + 1)


def _blobs(draft: Draft) -> set[str]:
    """Every content that a comparison of this commit would read."""
    links = (b"160000",)
    old = {change.old_blob for change in draft.changes if change.old_mode not in links}
    new = {change.new_blob for change in draft.changes if change.new_mode not in links}
    return {blob.decode() for blob in old | new if blob.strip(b"0")}


# What of a commit can be found at its parent: contents that are there, are text and not generated, and the lines that change.
#
# Content is looked at only for commits that all other rules have let through.

_GENERATED = re.compile(
    rb"@generated\b|\bgenerated by\b.*\bdo not edit\b|\bdo not edit\b.*\bgenerated\b|\bauto-?generated\b.*\bdo not\b", re.IGNORECASE
)

_HEAD = 1_000  # bytes in which a file says that it is generated

_BINARY_HEAD = 8_000  # as Git itself looks for a NUL


@dataclass(frozen=True)
class InspectedDraft:
    """A draft whose targets were looked at. ``lines`` lacks what has no lines to compare."""

    draft: Draft
    targets: tuple[Target, ...]
    contents: dict[str, bytes]
    lines: dict[str, ChangedLines]
    removed_by: str | None = None


def inspect_targets(repository: Repository, drafts: Sequence[Draft], options: DatasetSettings) -> Iterator[InspectedDraft]:
    """Look at the targets of some drafts, a few processes for all of them together."""
    hunks = hunks_of(repository, drafts)
    contents = repository.contents(target.blob or "" for draft in drafts for target in draft.reachable)
    for draft in drafts:
        draft_contents = [
            _require_content(repository, *pair)
            for pair in zip(draft.reachable, islice(contents, len(draft.reachable)), strict=True)
        ]
        yield _inspect_draft(draft, draft_contents, hunks.get(draft.commit.hash, {}), options)


def _require_content(repository: Repository, target: Target, content: bytes | None) -> bytes:
    """A gold set of those commits alone whose contents happen to be here would be another one."""
    if content is None:
        raise repository.lacks("content", target.blob or "")
    return content


def _inspect_draft(draft: Draft, target_contents: list[bytes], hunks: Hunks, options: DatasetSettings) -> InspectedDraft:
    contents, targets, reasons = {}, [], []
    lines = {t.path: ChangedLines.of(hunks[key]) for t in draft.reachable if (key := (t.blob or "", t.new_blob or "")) in hunks}
    for target, content in zip(draft.reachable, target_contents, strict=True):
        problem = _content_problem(content) or _line_problem(content, lines.get(target.path), options)
        if problem is not None and problem not in options.without_rules:
            reasons.append(problem)
        else:
            contents[target.path] = content
            targets.append(target)
    removed_by = _removing_rule(targets, reasons, options.min_files)
    return InspectedDraft(draft, tuple(targets), contents, {t.path: lines[t.path] for t in targets if t.path in lines}, removed_by)


def _content_problem(content: bytes) -> str | None:
    if b"\0" in content[:_BINARY_HEAD]:
        return "binary"
    return "generated_content" if _GENERATED.search(content[:_HEAD]) else None


def _line_problem(content: bytes, lines: ChangedLines | None, options: DatasetSettings) -> str | None:
    """Where lines are asked for, a file of none and a change of none (of the mode alone) leave nothing to find."""
    return "no_lines" if options.granularity == "lines" and not (content and lines is not None and lines.places) else None


def _removing_rule(targets: list[Target], reasons: list[str], least: int) -> str | None:
    if len(targets) < least:
        return reasons[0]
    return "same_name" if len({normalize("NFC", target.path) for target in targets}) < len(targets) else None
