"""Digests of what a suite asks and judges, whatever the order."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from searchmark.records.columns import are_plain

_SUM = re.compile("[0-9a-f]{64}", re.ASCII)


# Grades that sort as texts as they do as numbers.
_DIGITS = frozenset(range(10))


@dataclass(frozen=True, eq=False)
class JudgmentColumns:
    """Judgments as Python values, one per row; what no judgment has is None, and without ``match`` all are met by id."""

    targets: list[str]
    match: list[str] | None
    grades: list[int]
    ranks: list[int | None] | None
    ranges: Sequence[object] | None
    gains: Sequence[float | None] | None = None
    aspects: Sequence[Mapping[str, int] | None] | None = None

    def as_json(self) -> list[str]:
        """Every judgment as a list of its values."""
        nothing = [None] * len(self.targets)
        columns: list[Sequence[object]] = [
            self.targets,
            self.match or ["id"] * len(self.targets),
            self.grades,
            self.ranks or nothing,
            self.ranges or nothing,
        ]
        # Older than these two are the digests in files: where no judgment has either, nothing is added.
        if self.gains is not None or self.aspects is not None:
            columns += [self.gains or nothing, self.aspects or nothing]
        return list(map(json.dumps, zip(*columns, strict=True)))

    def by_target(self, start: int, end: int) -> list[int]:
        """The rows of one case, in an order that does not depend on the one they came in."""
        match = self.match
        if match is None:
            return sorted(range(start, end), key=lambda row: (self.targets[row], self.grades[row]))
        return sorted(range(start, end), key=lambda row: (self.targets[row], match[row], self.grades[row]))

    @property
    def sort_as_json(self) -> bool:
        """Whether judgments sort as JSON as they do by target and grade: then nothing but texts has to be sorted."""
        usual = all(each is None for each in (self.match, self.ranks, self.ranges, self.gains, self.aspects))
        return usual and set(self.grades) <= _DIGITS and are_plain(self.targets)


def query_digest(query: str, request: Mapping[str, Any] | None = None) -> str:
    """What tells queries apart, and requests of cases, short enough to be kept with every answer."""
    return hashlib.sha256(f"{query}{_request_suffix(request)}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _request_suffix(request: Mapping[str, Any] | None) -> str:
    return f", {json.dumps(request, sort_keys=True)}" if request else ""


def queries_digest(
    ids: Sequence[str],
    queries: Sequence[str | None] | None,
    unanswerable: Sequence[bool] | None,
    requests: Sequence[Mapping[str, Any] | None] | None = None,
) -> str:
    """The digest of all that is asked."""
    texts = ["null"] * len(ids) if queries is None else list(map(json.dumps, queries))
    marks = ["false"] * len(ids) if unanswerable is None else list(map(json.dumps, unanswerable))
    ends = [""] * len(ids) if requests is None else list(map(_request_suffix, requests))
    return _digest(f"[{quoted(ids[row])}, {texts[row]}, {marks[row]}{ends[row]}]\n" for row in _rows_by_id(ids))


def judgments_digest(ids: Sequence[str], starts: list[int], columns: JudgmentColumns, more: Mapping[str, Sequence[Any]]) -> str:
    """The digest of all that is judged; the judgments of case ``i`` are the rows ``starts[i]`` to ``starts[i + 1]``.

    ``more`` is what else decides on the values of a case.
    """
    if columns.sort_as_json and not more:
        tails = {grade: f'", "id", {grade}, null, null]' for grade in _DIGITS}
        texts = [f'["{target}{tails[grade]}' for target, grade in zip(columns.targets, columns.grades, strict=True)]
        return _digest(f"[{quoted(ids[i])}, [{', '.join(sorted(texts[starts[i] : starts[i + 1]]))}]]\n" for i in _rows_by_id(ids))
    texts = columns.as_json()
    rows_of_cases = ((case, columns.by_target(starts[case], starts[case + 1])) for case in _rows_by_id(ids))
    ends = {case: "".join(f", {json.dumps(each)}" for each in values) for case, values in more.items()}
    return _digest(
        f"[{quoted(ids[case])}, [{', '.join([texts[row] for row in rows])}]{ends.get(ids[case], '')}]\n"
        for case, rows in rows_of_cases
    )


def digest_of_cases(corpora: Mapping[str, str]) -> str:
    """One digest of what each case searches, where that is not the same for all: a sum, to which other cases can be added."""
    each = (hashlib.sha256(f"{case}\0{digest}".encode("utf-8", "surrogatepass")).digest() for case, digest in corpora.items())
    return _sum(int.from_bytes(one) for one in each)


def sum_digests(digests: Iterable[str | None]) -> str | None:
    """The digest of all cases from digests of some of them each; None where one is not known."""
    parts = list(digests)
    if any(each is None or not _SUM.fullmatch(each) for each in parts):
        return None
    return _sum(int(each, 16) for each in parts if each is not None)


def _sum(numbers: Iterable[int]) -> str:
    return f"{sum(numbers) % (1 << 256):064x}"


def _rows_by_id(ids: Sequence[str]) -> list[int]:
    return sorted(range(len(ids)), key=ids.__getitem__)


def _digest(lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode())
    return digest.hexdigest()
