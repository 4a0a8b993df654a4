"""What an agent returned, read while the clock runs and then made plain: ids, scores and lines that JSON can hold."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from searchmark.agents.adapted import read_now
from searchmark.errors import shortened
from searchmark.files.plain_data import is_too_deep
from searchmark.records import is_line_range
from searchmark.running.worker.protocol import (
    DEEPEST,
    LARGEST_COUNT,
    LONGEST_ID,
    LONGEST_METADATA,
    LONGEST_NAME,
    is_cost,
    is_duration,
)

Reply = dict[str, Any]

REMARKS = ("cost", "usage", "metadata")


class BadAnswer(Exception):
    """What an agent returned is no answer."""


@dataclass(frozen=True)
class Found:
    """What an agent returned, with all its parts as they were read: lazy ones have been drained."""

    kind: str
    files: Any
    scores: Any
    lines: Any
    remarks: Mapping[str, Any]

    @classmethod
    def read(cls, result: Any, depth: int) -> Found:
        files = read_now(getattr(result, "files", result), depth + 1)
        scores, lines = (read_now(getattr(result, name, None), depth) for name in ("scores", "lines"))
        return cls(type(result).__name__, files, scores, lines, {name: getattr(result, name, None) for name in REMARKS})


def plain_answer(found: Found, depth: int) -> Reply:
    """An answer as plain data, whatever the agent has put into it; what is left out or odd is counted.

    Entries that are no text keep their rank under a name that nothing in a corpus has.
    """
    files, remarks = found.files, found.remarks
    if not isinstance(files, list | tuple):
        raise BadAnswer(f"retrieve returned {found.kind}, not a RetrievalResult with a list of files, best first")
    ids, odd = _texts(files[:depth])
    scores, unusable = _numbers(found.scores, len(ids))
    counts = {"beyond_depth": len(files) - len(ids), "not_text": odd, "scores_unusable": unusable}
    answer: Reply = {"ids": ids, "dropped": {key: count for key, count in counts.items() if count}}
    if scores is not None:
        answer["scores"] = scores
    lines = _ranges(found.lines, len(ids))
    if any(lines):
        answer["lines"] = lines
    cost = remarks["cost"]
    if finite(cost) and is_cost(float(cost)):
        answer["cost"] = float(cost)
    answer |= plain_usage(remarks["usage"])
    metadata = _small(remarks["metadata"])
    return answer | ({"metadata": metadata} if metadata else {})


def plain_usage(usage: Any) -> Reply:
    """What an answer took beside time, as far as an agent says so and it can be."""
    counts: Reply = {name: getattr(usage, name, None) for name in ("tokens", "retries")}
    known: Reply = {name: int(count) for name, count in counts.items() if finite(count) and 0 <= float(count) <= LARGEST_COUNT}
    times: Reply = {name: getattr(usage, name, None) for name in ("waited_ms", "start_ms")}
    known |= {name: float(ms) for name, ms in times.items() if finite(ms) and is_duration(float(ms))}
    by = getattr(usage, "tokens_by", None)
    return known | ({"tokens_by": by[:LONGEST_NAME]} if isinstance(by, str) and "tokens" in known else {})


def _texts(entries: Sequence[Any]) -> tuple[list[str], int]:
    ids = [_text(entry) for entry in entries]
    return [_no_id(entry) if text is None else text for text, entry in zip(ids, entries, strict=True)], ids.count(None)


def _no_id(entry: Any) -> str:
    """A name that nothing in a corpus has, for an entry that names nothing."""
    if isinstance(entry, str):
        return f"<text of {len(entry)} characters>"
    return f"<not text: {shortened(type(entry).__name__, 60)}>"


def _text(entry: Any) -> str | None:
    if type(entry) is str and len(entry) <= LONGEST_ID:
        return entry
    if isinstance(entry, str):
        text = str.__str__(entry)
    elif type(entry) is int and abs(entry) < 1 << 63:
        text = str(entry)
    elif isinstance(entry, bytes | os.PathLike):
        text = os.fsdecode(entry)
    else:
        return None
    return text if len(text) <= LONGEST_ID else None  # never cut: what is left could be the id of something else


def _ranges(lines: Any, size: int) -> list[list[int] | None]:
    """First and last line for each hit; None for a hit on a whole document, or where the agent's range is none."""
    if not isinstance(lines, list | tuple):
        return [None] * size
    spans = [*lines[:size], *[None] * (size - len(lines))]
    return [list(span) if is_line_range(span) else None for span in spans]


def _numbers(scores: Any, size: int) -> tuple[list[float | None] | None, int]:
    """A finite number or nothing for each hit; how many were anything else."""
    if not isinstance(scores, list | tuple):
        return None, 0 if scores is None else size
    given = list(scores[:size])
    if not given:
        return None, 0
    given += [None] * (size - len(given))
    numbers = [float(score) if finite(score) else None for score in given]
    return numbers, numbers.count(None)


def finite(value: Any) -> bool:
    """Whether this is a number that JSON can hold; numpy's are among them."""
    if isinstance(value, bool | str | bytes) or value is None or not hasattr(value, "__float__"):
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _small(metadata: Any) -> Any:
    """What an agent says about an answer, if it is short, shallow and plain."""
    if not metadata:
        return None
    try:
        text = json.dumps(metadata, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    if len(text) > LONGEST_METADATA:
        return None
    plain = json.loads(text)
    return None if is_too_deep(plain, DEEPEST) else plain
