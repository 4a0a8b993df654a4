"""Digests of what a suite asks and of what it judges, whatever the order of its cases and judgments.

Each is taken of lines of JSON, one per case, by id. They are put together from columns: there may be millions of judgments.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted


@dataclass(frozen=True, eq=False)
class JudgmentColumns:
    """Judgments as Python values, one per row; ranks and ranges are None where no judgment has any."""

    targets: list[str]
    match: Sequence[str]
    grades: list[int]
    ranks: list[int | None] | None
    ranges: list[list[float] | None] | None

    def as_json(self) -> list[str]:
        """Every judgment as a list of its values."""
        columns = zip(map(quoted, self.targets), self.match, self.grades, self._rest(), strict=True)
        return [f'[{target}, "{how}", {grade}, {rest}]' for target, how, grade, rest in columns]

    def _rest(self) -> Iterable[str]:
        if self.ranks is None and self.ranges is None:
            return ["null, null"] * len(self.targets)
        nothing = [None] * len(self.targets)
        pairs = zip(self.ranks or nothing, self.ranges or nothing, strict=True)
        return (f"{json.dumps(rank)}, {json.dumps(bounds)}" for rank, bounds in pairs)

    def by_target(self, start: int, end: int) -> list[int]:
        """The rows of one case, in an order that does not depend on the one they came in."""
        if len(set(self.targets[start:end])) == end - start:
            return sorted(range(start, end), key=self.targets.__getitem__)
        return sorted(range(start, end), key=lambda row: (self.targets[row], self.match[row], self.grades[row]))


def query_digest(query: str) -> str:
    """What tells queries apart, short enough to be kept with every answer."""
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def queries_digest(ids: Sequence[str], queries: Sequence[str | None] | None, unanswerable: Sequence[bool] | None) -> str:
    """The digest of all that is asked."""
    texts = ["null"] * len(ids) if queries is None else list(map(json.dumps, queries))
    marks = ["false"] * len(ids) if unanswerable is None else list(map(json.dumps, unanswerable))
    return _digest(f"[{quoted(ids[row])}, {texts[row]}, {marks[row]}]\n" for row in _by_id(ids))


def judgments_digest(ids: Sequence[str], starts: list[int], columns: JudgmentColumns) -> str:
    """The digest of all that is judged; the judgments of case ``i`` are the rows ``starts[i]`` to ``starts[i + 1]``."""
    texts = columns.as_json()

    def lines() -> Iterator[str]:
        for case in _by_id(ids):
            rows = columns.by_target(starts[case], starts[case + 1])
            yield f"[{quoted(ids[case])}, [{', '.join([texts[row] for row in rows])}]]\n"

    return _digest(lines())


def _by_id(ids: Sequence[str]) -> list[int]:
    return sorted(range(len(ids)), key=ids.__getitem__)


def _digest(lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode())
    return digest.hexdigest()
