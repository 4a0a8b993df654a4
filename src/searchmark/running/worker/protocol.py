"""What a worker may answer. Its process runs somebody else's code, which can write into the same pipe."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from searchmark.records import is_line_range

LONGEST_ID = 4096
LONGEST_METADATA = 4096
LONGEST_DESCRIPTION = 1 << 14  # characters of JSON; several arms describe themselves in it
_ESCAPED = 6  # bytes that one character takes in JSON at most
_ROOM = 1 << 20


def longest_answer(depth: int) -> int:
    """How many bytes a reply can have at most."""
    return depth * (LONGEST_ID * _ESCAPED + 64) + _ROOM


def wrong_shape(operation: str, reply: Mapping[str, Any], depth: int) -> str | None:
    """What is wrong with a reply to a request of this kind; None if nothing is."""
    wanted = _SHAPES.get(operation, {})
    for key, (fits, needed) in wanted.items():
        if (key in reply or needed) and not fits(reply.get(key), depth):
            return f"the worker's answer is malformed: {key!r} is wrong"
    for column in ("scores", "lines"):
        if reply.get(column) is not None and len(reply[column]) != len(reply["ids"]):
            return f"the worker's answer is malformed: {column!r} is wrong"
    return None


def failed_ms(reply: Mapping[str, Any]) -> float | None:
    """How long a search that failed took, by the worker's clock; None where no search had begun."""
    taken = reply.get("ns")
    return taken / 1e6 if taken is not None and _is_time(taken, 0) else None


def _is_time(value: Any, _: int) -> bool:
    return type(value) is int and value >= 0


def _is_size(value: Any, _: int) -> bool:
    return value is None or _is_time(value, _)


def _is_flag(value: Any, _: int) -> bool:
    return type(value) is bool


def _is_number(value: Any, _: int = 0) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _are_ids(value: Any, depth: int) -> bool:
    return isinstance(value, list) and len(value) <= depth and all(type(each) is str for each in value)


def _are_scores(value: Any, _: int) -> bool:
    return value is None or (isinstance(value, list) and all(each is None or _is_number(each) for each in value))


def _are_lines(value: Any, _: int) -> bool:
    return value is None or (isinstance(value, list) and all(each is None or is_line_range(each) for each in value))


def _are_counts(value: Any, _: int) -> bool:
    return isinstance(value, dict) and all(_is_time(each, _) for each in value.values())


def _is_how(value: Any, _: int) -> bool:
    return value in ("initialised", "updated", "remote")


def _is_description(value: Any, _: int) -> bool:
    try:
        return isinstance(value, dict) and len(json.dumps(value, allow_nan=False)) <= LONGEST_DESCRIPTION
    except (ValueError, RecursionError):
        return False


_Check = tuple[Callable[[Any, int], bool], bool]
_SHAPES: dict[str, dict[str, _Check]] = {
    "prepare": {
        "ns": (_is_time, True),
        "how": (_is_how, True),
        "index_bytes": (_is_size, True),
        "memory": (_is_size, True),
        "description": (_is_description, True),
    },
    "search": {
        "ns": (_is_time, True),
        "ids": (_are_ids, True),
        "scores": (_are_scores, False),
        "lines": (_are_lines, False),
        "dropped": (_are_counts, True),
        "cost": (_is_number, False),
        "first_hit_ms": (_is_number, False),
    },
    "again": {"ns": (_is_time, True), "same": (_is_flag, True)},
}
