"""What a worker may answer. Its process runs somebody else's code, which can write into the same pipe.

Every reply has a shape, every text a length and every number a bound. What passes here can be computed with, written to a
journal and read again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from searchmark.agents.hits import LONGEST_ID
from searchmark.files.plain_data import is_too_deep
from searchmark.records import VectorStatistics, is_line_range
from searchmark.running.worker.tracebacks import LONGEST_TRACEBACK

if TYPE_CHECKING:
    from pydantic import TypeAdapter

LONGEST_METADATA = 4096
LONGEST_DESCRIPTION = 1 << 14  # characters of JSON; several arms describe themselves in it
MOST_VECTOR_SETS = 100  # arms with vectors of their own
LONGEST_OFFERS = 1 << 19  # characters of JSON: the tools of a server
LONGEST_REASON = 500
LONGEST_PLACE = 200
LONGEST_DIGEST = 256
LONGEST_NAME = 100
LARGEST_COUNT = 1 << 53  # what a float still holds exactly: nanoseconds of three months, bytes of 9 PB
LARGEST_AMOUNT = 1e15
LONGEST_MS = LARGEST_COUNT / 1e6
NEEDS_CORPUS = "needs a corpus: name what to search with --corpus or --repo"
DEEPEST = 32  # lists and objects inside each other, in what an agent says of itself or of an answer
DROPPED_KINDS = frozenset({"beyond_depth", "scores_unusable", "lines_unusable", "merged_chunks", "not_chunks"})
_ESCAPED = 6  # bytes that one character takes in JSON at most
_ROOM = 1 << 20


def longest_answer(depth: int) -> int:
    """How many bytes a reply can have at most."""
    return depth * (LONGEST_ID * _ESCAPED + 64) + _ROOM


def wrong_shape(operation: str, reply: Mapping[str, Any], depth: int) -> str | None:
    """What is wrong with a reply to a request of this kind; None if nothing is."""
    return _misfit(_FAILURE if "failed" in reply else _SHAPES[operation], reply, depth)


def wrong_part(frame: Mapping[str, Any], depth: int) -> str | None:
    """What is wrong with hits that come before the rest of their answer, of which at most ``depth`` are left; None if nothing is.

    Every part holds a hit and nothing else, so there cannot be more parts than hits.
    """
    unknown = next((key for key in frame if key not in _PART and key not in ("id", "part")), None)
    if unknown is not None or frame.get("part") is not True or not frame.get("ids"):
        return malformed(unknown or "part")
    return _misfit(_PART, frame, depth)


def _misfit(shape: Mapping[str, _Check], reply: Mapping[str, Any], depth: int) -> str | None:
    for key, (fits, needed) in shape.items():
        if (key in reply or needed) and not fits(reply.get(key), depth):
            return malformed(key)
    for column in ("scores", "lines"):
        if reply.get(column) is not None and len(reply[column]) != len(reply["ids"]):
            return malformed(column)
    return None


def malformed(key: str) -> str:
    """The reason of a case whose reply is of the wrong shape."""
    return f"the worker's answer is malformed: {key!r} is wrong"


def _is_count(value: Any, _: int = 0) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_COUNT


def _is_size(value: Any, _: int) -> bool:
    return value is None or _is_count(value)


def _is_flag(value: Any, _: int) -> bool:
    return type(value) is bool


def _is_number(value: Any) -> bool:
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) <= LARGEST_COUNT)


def is_cost(value: Any, _: int = 0) -> bool:
    """Whether this is what a search can have cost, if anything is known of that."""
    return value is None or (_is_number(value) and 0 <= value <= LARGEST_AMOUNT)


def is_duration(value: Any, _: int = 0) -> bool:
    """Whether this is a number of milliseconds that can have passed, if it is known."""
    return value is None or (_is_number(value) and 0 <= value <= LONGEST_MS)


def is_share(value: Any, _: int = 0) -> bool:
    """Whether this is a share of something, if it is known."""
    return value is None or (_is_number(value) and 0 <= value <= 1)


def _are_ids(value: Any, depth: int) -> bool:
    return isinstance(value, list) and len(value) <= depth and all(type(each) is str and len(each) <= LONGEST_ID for each in value)


def _are_scores(value: Any, _: int) -> bool:
    return value is None or (isinstance(value, list) and all(each is None or _is_number(each) for each in value))


def _are_lines(value: Any, _: int) -> bool:
    return value is None or (isinstance(value, list) and all(each is None or is_line_range(each) for each in value))


def _are_counts(value: Any, _: int) -> bool:
    return isinstance(value, dict) and value.keys() <= DROPPED_KINDS and all(map(_is_count, value.values()))


def _is_how(value: Any, _: int) -> bool:
    return value in ("initialised", "updated", "remote")


def _is_reason(value: Any, _: int) -> bool:
    return type(value) is str and len(value) <= LONGEST_REASON


def _is_traceback(value: Any, _: int) -> bool:
    return value is None or (type(value) is str and len(value) <= LONGEST_TRACEBACK)


def _is_digest(value: Any, _: int) -> bool:
    return value is None or (type(value) is str and len(value) <= LONGEST_DIGEST)


def _is_name(value: Any, _: int) -> bool:
    return value is None or (type(value) is str and len(value) <= LONGEST_NAME)


def _is_description(value: Any, _: int) -> bool:
    return isinstance(value, dict) and _is_small(value, LONGEST_DESCRIPTION)


def _are_statistics(value: Any, _: int) -> bool:
    if not isinstance(value, list) or len(value) > MOST_VECTOR_SETS or not _is_small(value, LONGEST_DESCRIPTION):
        return False
    try:
        _statistics().validate_python(value)
    except ValueError:
        return False
    return True


@cache
def _statistics() -> TypeAdapter[list[VectorStatistics]]:
    from pydantic import TypeAdapter

    return TypeAdapter(list[VectorStatistics])


def _are_offers(value: Any, _: int) -> bool:
    return isinstance(value, dict) and _is_small(value, LONGEST_OFFERS)


def _is_metadata(value: Any, _: int) -> bool:
    return _is_small(value, LONGEST_METADATA)


def _is_small(value: Any, longest: int) -> bool:
    """Whether this is JSON of that many characters at most, not nested too deeply, without numbers that JSON does not have."""
    try:
        return not is_too_deep(value, DEEPEST) and len(json.dumps(value, allow_nan=False)) <= longest
    except ValueError:
        return False


_Check = tuple[Callable[[Any, int], bool], bool]
_FAILURE: dict[str, _Check] = {
    "failed": (_is_reason, True),
    "excerpt": (_is_reason, False),
    "traceback": (_is_traceback, False),
    "ns": (_is_size, False),
    "spent": (_is_flag, False),
}
_PART: dict[str, _Check] = {"ids": (_are_ids, True), "scores": (_are_scores, False), "lines": (_are_lines, False)}
_AFTERWARDS: dict[str, _Check] = {
    "tokens": (_is_size, False),
    "tokens_by": (_is_name, False),
    "ann_k": (_is_size, False),
    "ann_recall": (is_share, False),
    "ann_overlap": (is_share, False),
}
_SHAPES: dict[str, dict[str, _Check]] = {
    "load": {
        "code": (_is_digest, True),
        "resets": (_is_flag, True),
        "counts": (_is_flag, True),
        "needs_corpus": (_is_flag, True),
    },
    "prepare": {
        "ns": (_is_count, True),
        "around_ns": (_is_count, True),
        "how": (_is_how, True),
        "index_bytes": (_is_size, True),
        "memory": (_is_size, True),
        "description": (_is_description, True),
        "vectors": (_are_statistics, False),
    },
    "reset": {},
    "search": {
        "ns": (_is_count, True),
        **_PART,
        "dropped": (_are_counts, True),
        "cost": (is_cost, False),
        **_AFTERWARDS,
        "retries": (_is_size, False),
        "waited_ms": (is_duration, False),
        "start_ms": (is_duration, False),
        "index_ms": (is_duration, False),
        "metadata": (_is_metadata, False),
    },
    "afterwards": _AFTERWARDS,
    "offers": {"offers": (_are_offers, True)},
    "again": {"ns": (_is_count, True), "same": (_is_flag, True), "index_ms": (is_duration, False)},
    "close": {"memory": (_is_size, True)},
}
