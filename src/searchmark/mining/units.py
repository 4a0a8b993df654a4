"""What counts as one change: a commit, or a pull request with its title and all that it brought in.

A commit belongs to the pull request through which it first reached the main line, the chain of first parents. That
is known without any look back because children come before their parents.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from searchmark.history.log import LoggedCommit, Malformed

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
    merged = _GITHUB.match(subject) or _BITBUCKET.match(subject) or (_GITLAB.match(subject) and _GITLAB_NUMBER.search(body))
    return _GITLAB_NUMBER.sub("", body).strip() or None if merged else None


def request_number(message: str) -> int | None:
    """The number of the pull request that a merge has brought in, or that a commit is, squashed."""
    found = _NUMBER.search(message.strip()) if "#" in message or "!" in message or "PR " in message else None
    return int(next(filter(None, found.groups()))) if found else None


def is_squashed(subject: str) -> bool:
    """Whether a commit is a whole pull request, squashed."""
    return bool(_SQUASHED.search(subject))


class Landings:
    """Tells of each commit whether it came with a pull request; to be fed every commit, children first."""

    def __init__(self, tip: str, is_pull_request: Callable[[LoggedCommit], bool]) -> None:
        self._next = tip  # the next commit of the main line
        self._is_pull_request = is_pull_request
        self._by_request: list[bool] = []  # for each step of the main line: a merged pull request?
        self._pending: dict[str, int] = {}  # commits yet to come: the step at which they came in

    def came_with_request(self, commit: LoggedCommit | Malformed) -> bool:
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

    def _step(self, commit: LoggedCommit | Malformed) -> None:
        self._pending.pop(commit.hash, None)
        self._next = commit.parents[0] if commit.parents else ""
        self._by_request.append(isinstance(commit, LoggedCommit) and len(commit.parents) > 1 and self._is_pull_request(commit))
        for parent in commit.parents[1:]:
            self._hand_down(parent, len(self._by_request) - 1)

    def _hand_down(self, parent: str, step: int) -> None:
        """Of all ways in, the oldest is the one that counts: steps are numbered from the newest on."""
        self._pending[parent] = max(self._pending.get(parent, step), step)
