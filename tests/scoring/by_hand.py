"""Judging as one would do it by hand, hit by hit: slow, without columns, and what the package is held to.

Nothing here is shared with the package but what one text has to do with another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from searchmark import Case, Judgment
from searchmark.records.matching import judgment_fits, nfc, normal_path


@dataclass(frozen=True)
class Found:
    """One judged hit: its place in the answer as returned, its rank among the distinct hits, and its judgment."""

    place: int
    rank: int
    judgment: int


def distinct_places(case: Case, ids: Sequence[str]) -> list[int]:
    """The places of the hits that repeat no other."""
    name_of = normal_path if any(j.match == "path" for j in case.judgments) else nfc
    names = [name_of(hit) for hit in ids]
    return [place for place, name in enumerate(names) if name not in names[:place]]


def found_in(case: Case, ids: Sequence[str]) -> list[Found]:
    found = []
    for rank, place in enumerate(distinct_places(case, ids), 1):
        judgment = _judgment_of(case.judgments, ids[place])
        if judgment is not None:
            found.append(Found(place, rank, judgment))
    return found


def _judgment_of(judgments: Sequence[Judgment], hit: str) -> int | None:
    """By its id among the ids; then, if there are paths, by its path among paths and ids."""
    ids = {nfc(j.target): row for row, j in enumerate(judgments) if j.match == "id"}
    paths = {normal_path(j.target): row for row, j in enumerate(judgments) if j.match == "path"}
    row = ids.get(nfc(hit))
    if row is None and paths:
        row = paths.get(normal_path(hit), ids.get(normal_path(hit)))
    return row


def first_fitting(case: Case, ids: Sequence[str]) -> dict[str, int | None]:
    """For every relevant target of a case with globs or symbols the rank of the first hit that it fits."""
    hits = [ids[place] for place in distinct_places(case, ids)]
    return {
        j.target: next((rank for rank, hit in enumerate(hits, 1) if judgment_fits(j, hit)), None)
        for j in case.judgments
        if j.grade >= 1
    }


def credit_in(case: Case, ids: Sequence[str], k: int | None, rel: int) -> float:
    """What is found among the first k hits, directories included: paths pay by directory too, ids only exactly."""
    judgments, distinct = case.judgments, distinct_places(case, ids)
    by_id = [f for f in found_in(case, ids) if judgments[f.judgment].match == "id" and judgments[f.judgment].grade >= rel]
    targets = [j.target for j in judgments if j.match == "path" and j.grade >= rel]
    exactly = sum(found.rank <= (k or len(ids)) for found in by_id)
    return exactly + directory_credit(targets, [ids[place] for place in distinct[:k]])


def directory_credit(targets: Iterable[str], hits: Sequence[str]) -> float:
    """What the hits earn of the targets: 1 for each found exactly, half for one below a directory that was hit.

    Exact matches are settled first; then directories in path order each pay the first target below them, in
    path order, that is not paid yet. A hit pays one target at most, and a target is paid once.
    """
    wanted = {normal_path(target) for target in targets}
    answers = dict.fromkeys(map(normal_path, hits))
    paid = wanted & answers.keys()
    unpaid = sorted(wanted - paid, key=_segments)
    credit = float(len(paid))
    for directory in sorted(answers.keys() - wanted, key=_segments):
        below = next((target for target in unpaid if target.startswith(f"{directory}/")), None)
        if below is not None:
            unpaid.remove(below)
            credit += 0.5
    return credit


def _segments(path: str) -> list[str]:
    return path.split("/")
