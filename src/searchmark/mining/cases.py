"""What mining makes: a case of a gold set as a record, and the same as JSON."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from searchmark.history.repository import path_bytes
from searchmark.mining.drafts import Target, TargetStatus
from searchmark.mining.hunks import Lines
from searchmark.mining.leakage import Leak

_LOW, _HIGH = 2, 20  # fewer files are of low complexity, more of high


@dataclass(frozen=True)
class Rewriting:
    """What a language model made of a query; without a text it has failed, and the reason is known."""

    text: str | None
    reason: str | None = None


Rewrite = Callable[[str, str], Rewriting]  # of message and query


@dataclass(frozen=True)
class MinedTarget:
    """A file that the commit changed. ``lines`` is None where there was no content to compare."""

    path: str
    status: TargetStatus
    moved_to: str | None = None
    lines: Lines | None = None

    @classmethod
    def of(cls, target: Target, lines: Lines | None = None) -> MinedTarget:
        return cls(target.path, target.status, target.moved_to, lines)

    @property
    def places(self) -> tuple[str, ...]:
        """The lines to find in it, as judgments name them."""
        ranges = () if self.lines is None else self.lines.places
        return tuple(f"{self.path}#L{first}" if first == last else f"{self.path}#L{first}-L{last}" for first, last in ranges)

    def as_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"path": self.path, "status": self.status}
        if not self.path.isascii() and any("\udc80" <= char <= "\udcff" for char in self.path):
            row["path_base64"] = b64encode(path_bytes(self.path)).decode()  # what is not UTF-8 cannot be told from its text
        if self.moved_to is not None:
            row["moved_to"] = self.moved_to
        if self.lines is not None:
            row["lines"] = [list(pair) for pair in self.lines.changed]
            row["inserted_after"] = list(self.lines.inserted_after)
        return row


@dataclass(frozen=True)
class Leakage:
    """What the query gives away: names of targets, rare identifiers that occur in them, and words that it shares with them."""

    leak: Leak
    identifiers: Mapping[str, int]
    overlap: float

    @property
    def tags(self) -> tuple[str, ...]:
        return ("leak:identifier",) if self.identifiers else ()

    def as_json(self) -> dict[str, Any]:
        return {
            "level": self.leak.level,
            "names": list(self.leak.names),
            "files_sharing_name": self.leak.files_sharing_name,
            "identifiers": dict(self.identifiers),
            "overlap": self.overlap,
        }


@dataclass(frozen=True)
class MinedCase:
    """One commit, or one pull request, as a case. ``targets`` are all files of it, those that can be found first.

    ``ground_truth_lines`` are the lines to find, as ``path#L3-L9``, where lines were asked for.
    """

    id: str
    repository: str
    commit: str
    parent: str
    unit: str
    origin: str
    query: str
    variants: Mapping[str, str]
    transformation: str
    transformation_error: str | None
    ground_truth: tuple[str, ...]
    ground_truth_lines: tuple[str, ...]
    unreachable: tuple[str, ...]
    targets: tuple[MinedTarget, ...]
    time: int
    leakage: Leakage
    scope: str | None = None
    encoding_guessed: bool = False

    @property
    def tags(self) -> tuple[str, ...]:
        return (f"leak:{self.leakage.leak.level}", f"query:{self.transformation}", *self.leakage.tags)

    def as_json(self) -> dict[str, Any]:
        """The row of a gold set."""
        return {
            "id": self.id,
            "repository": self.repository,
            "commit_hash": self.commit,
            "parent_commit": self.parent,
            "unit": self.unit,
            **({"origin": self.origin} if self.origin != self.commit else {}),
            "query": self.query,
            "variants": dict(self.variants),
            "transformation": self.transformation,
            **({"transformation_error": self.transformation_error} if self.transformation_error else {}),
            "ground_truth_files": list(self.ground_truth),
            **({"ground_truth_lines": list(self.ground_truth_lines)} if self.ground_truth_lines else {}),
            "unreachable_files": list(self.unreachable),
            "targets": [target.as_json() for target in self.targets],
            "complexity": complexity(len(self.ground_truth)),
            "timestamp": timestamp(self.time),
            "leakage": self.leakage.as_json(),
            "tags": list(self.tags),
            **({"scope": self.scope} if self.scope else {}),
            **({"encoding_guessed": True} if self.encoding_guessed else {}),
        }


def complexity(files: int) -> str:
    if files < _LOW:
        return "low"
    return "medium" if files <= _HIGH else "high"


def timestamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
