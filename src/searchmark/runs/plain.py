"""Plain JSON runs: what people get when they dump their results.

``{case: [{"id": ..., "score": ...}, ...]}`` and ``{case: [id, ...]}`` keep their order;
``{case: {id: score}}`` has no order of its own and is sorted as trec_eval sorts.
"""

from __future__ import annotations

import math
from os import PathLike
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError, shortened
from searchmark.files.store import inner_stem, parse_json, read_utf8
from searchmark.records import Answer, Hit, Run
from searchmark.records.id_columns import in_bytes


def read_plain(path: str | PathLike[str]) -> Run:
    path = Path(path)
    data = parse_json(path, read_utf8(path), constants=True)
    if not isinstance(data, dict):
        raise FormatError(path, None, "is not a mapping from case to hits")
    answers = [_answer(path, case, hits) for case, hits in data.items()]
    return Run.from_answers(inner_stem(path), answers)


def _answer(path: Path, case: str, entries: Any) -> Answer:
    if isinstance(entries, dict):
        pairs = [(_id(path, f"{case}.{hit}", hit), _score(path, f"{case}.{hit}", score)) for hit, score in entries.items()]
        pairs.sort(key=lambda pair: (-math.inf if pair[1] is None else pair[1], in_bytes(pair[0])), reverse=True)
    elif isinstance(entries, list):
        pairs = [_pair(path, f"{case}.{place}", entry) for place, entry in enumerate(entries)]
    else:
        raise FormatError(path, case, f"is {type(entries).__name__}, not a list of hits")
    hits = tuple(Hit(hit, rank, score) for rank, (hit, score) in enumerate(pairs, 1))
    return Answer(case, "ok" if hits else "empty", hits)


def _pair(path: Path, place: str, entry: Any) -> tuple[str, float | None]:
    if not isinstance(entry, dict):
        return _id(path, place, entry), None
    if "id" not in entry:
        raise FormatError(path, f"{place}.id", "is missing")
    return _id(path, f"{place}.id", entry["id"]), _score(path, f"{place}.score", entry.get("score"))


def _id(path: Path, place: str, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise FormatError(path, place, f"{shortened(repr(value), 60)} is not an id")
    return value


def _score(path: Path, place: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(path, place, f"the score {shortened(repr(value), 60)} is not a number")
    try:
        score = float(value)
    except OverflowError:
        raise FormatError(path, place, "the score is too large; scores must be finite numbers") from None
    if not math.isfinite(score):
        raise FormatError(path, place, f"the score is {score}; scores must be finite numbers")
    return score
