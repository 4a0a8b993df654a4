"""Which state of which repository a case is about, as its fields say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_REPOSITORY = ("repository", "repo")  # of gold sets, and of SWE-bench
_COMMIT = ("parent_commit", "commit_hash", "base_commit")


def repository_of(fields: Mapping[str, Any]) -> str | None:
    """The repository that a case names; None if it names none."""
    return next((str(fields[name]) for name in _REPOSITORY if fields.get(name)), None)


def state_of(fields: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Repository and commits that a case names: a path of the same name in another of them is another file."""
    return repository_of(fields), *(str(fields[name]) if fields.get(name) else None for name in _COMMIT)
