"""Which commits make cases: rules, each small, named and switchable, the cheap ones first.

A rule names what it removes. The first one that applies decides, so the counts of a ledger add up.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from searchmark.config import DatasetConfig
from searchmark.corpora.file_kinds import words
from searchmark.errors import UsageError
from searchmark.history.trees import is_odd
from searchmark.mining.drafts import Draft
from searchmark.mining.leaning import (
    is_about_specs,
    is_diary,
    is_edition_bump,
    is_follow_up,
    is_torso,
    pleases_tools,
    says_only_size,
)  # fmt: skip
from searchmark.mining.messages import (
    is_about_docs,
    is_about_tests,
    is_backport,
    is_dependency_bump,
    is_formatting,
    is_merge_message,
    is_revert,
    is_review,
    is_short,
    is_unfinished,
    is_vague,
    is_version_bump,
)
from searchmark.mining.origins import same_wording
from searchmark.mining.units import is_squashed

_FEWEST_MOVES = 3
_FOREIGN = 0.2  # share of letters beyond ASCII


@dataclass(frozen=True)
class CommitRule:
    """A reason to leave a commit out: ``applies`` says whether, ``why`` is for people."""

    name: str
    why: str
    applies: Callable[[Draft, DatasetConfig], bool]


def _is_merge(draft: Draft, options: DatasetConfig) -> bool:
    return len(draft.commit.parents) > 1 and draft.request is None and not options.include_merge_commits


def _is_no_request(draft: Draft, options: DatasetConfig) -> bool:
    return options.unit == "pr" and draft.request is None and not is_squashed(draft.query.head)


def _is_outside_paths(draft: Draft, options: DatasetConfig) -> bool:
    if not options.paths:
        return False
    prefixes = tuple(posixpath.normpath(path.strip("/")).encode("utf-8", "surrogateescape") for path in options.paths)
    return b"." not in prefixes and not any(
        path == prefix or path.startswith(prefix + b"/") for path in draft.commit.paths for prefix in prefixes
    )


def _has_many_paths(draft: Draft, options: DatasetConfig) -> bool:
    return len(draft.commit.paths) > options.max_paths and draft.paths_but_tests_and_docs() > options.max_paths


def _is_mode_only(draft: Draft, _: DatasetConfig) -> bool:
    return not draft.files and all(change.old_blob == change.new_blob for change in draft.changes)


def _is_mass_rename(draft: Draft, _: DatasetConfig) -> bool:
    moves = len(draft.moves)
    return moves >= _FEWEST_MOVES and 2 * moves > len(draft.files) - moves


def _has_no_code(draft: Draft, _: DatasetConfig) -> bool:
    return not draft.has_wanted_path


def _has_nothing_to_find(draft: Draft, _: DatasetConfig) -> bool:
    return not draft.reachable


def _is_mostly_new(draft: Draft, _: DatasetConfig) -> bool:
    created = sum(target.status == "created" for target in draft.targets)
    gone = sum(target.status == "deleted_or_renamed" for target in draft.targets)  # perhaps to where one was created
    return created - gone > len(draft.reachable)


def _has_odd_path(draft: Draft, _: DatasetConfig) -> bool:
    return any(is_odd(target.path) for target in draft.reachable)


def _has_few_files(draft: Draft, options: DatasetConfig) -> bool:
    return len(draft.reachable) < options.min_files


def _has_many_files(draft: Draft, options: DatasetConfig) -> bool:
    return len(draft.reachable) > options.max_files


def _is_formatting(draft: Draft, _: DatasetConfig) -> bool:
    return is_formatting(draft.wording) or pleases_tools(draft.wording)


def _is_vague(draft: Draft, _: DatasetConfig) -> bool:
    return is_vague(draft.wording) or says_only_size(draft.wording)


def _is_about_tests(draft: Draft, _: DatasetConfig) -> bool:
    return is_about_tests(draft.wording) or (is_about_specs(draft.wording) and draft.changes_tests)


def _is_short(draft: Draft, options: DatasetConfig) -> bool:
    return is_short(draft.wording, options.min_words)


_BOT_NAME = re.compile(rb"(\[bot\]|(^|[\s\-_.])bot)$", re.IGNORECASE)
_BOT_MAIL = re.compile(rb"(\[bot\]|[-_.+]bot|^bot)@", re.IGNORECASE)
_BOTS = frozenset(
    {b"dependabot", b"renovate", b"greenkeeper", b"pyup-bot", b"pre-commit-ci", b"weblate", b"github actions", b"github-actions"}
)


def _is_bot(draft: Draft, _: DatasetConfig) -> bool:
    name = draft.commit.author
    return bool(_BOT_NAME.search(name) or _BOT_MAIL.search(draft.commit.email)) or name.lower() in _BOTS


def _is_foreign(draft: Draft, _: DatasetConfig) -> bool:
    if draft.query.subject.isascii():
        return False
    letters = [char for char in draft.query.subject if char.isalpha()]
    return sum(not char.isascii() for char in letters) > _FOREIGN * len(letters)


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
    CommitRule("torso", "what cleaning left of its message breaks off", lambda draft, _: is_torso(draft.wording)),
    CommitRule("follow_up", "it finishes another commit and says no more", lambda draft, _: is_follow_up(draft.wording)),
    CommitRule("diary", "it tells how the author's work goes", lambda draft, _: is_diary(draft.wording)),
    CommitRule("non_english", "a fifth of its letters or more are beyond ASCII", _is_foreign),
    CommitRule("vague", "its words do not say what it is about", _is_vague),
)  # fmt: skip

# Rules that look beyond one commit; they are applied where that is known.
BEYOND_ONE_COMMIT = {
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
ALL_RULES = (*(rule.name for rule in RULES), *BEYOND_ONE_COMMIT)
# Without these there is nothing to ask, nothing to find, or nowhere to look.
ALWAYS_ON = words(
    "root empty links_only no_code_file nothing_to_find odd_path malformed shallow_boundary same_name binary no_lines rejected"
)


def reason(name: str) -> str:
    """Why a rule removes a commit, for people."""
    return BEYOND_ONE_COMMIT.get(name) or next(rule.why for rule in RULES if rule.name == name)


class ActiveRules:
    """The rules that are switched on, to be asked about one draft after the other, newest first."""

    def __init__(self, options: DatasetConfig, shallow: Iterable[str] = ()) -> None:
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
        return "duplicate_message" if self._is_repeated(draft) else None

    def _is_repeated(self, draft: Draft) -> bool:
        if "duplicate_message" in self._off:
            return False
        key = hash(same_wording(draft.query.subject))
        repeated = key in self._messages
        self._messages.add(key)
        return repeated


def _switched_off(options: DatasetConfig) -> frozenset[str]:
    for name in options.without_rules:
        if name not in ALL_RULES:
            raise UsageError(f"there is no rule {name!r}; the rules are {', '.join(ALL_RULES)}")
        if name in ALWAYS_ON:
            raise UsageError(f"the rule {name!r} cannot be switched off: {reason(name)}")
    return frozenset(options.without_rules)
