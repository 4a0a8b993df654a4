"""What a worker may answer, and how it is encoded: shapes and limits of replies, hits in parts, tracebacks.

The runner trusts nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from time import perf_counter_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any

from searchmark.agents.answers import LONGEST_ID, LONGEST_TEXT, HitReader, HitStream, is_finite_number, is_table
from searchmark.io.data import is_too_deep
from searchmark.io.secrets import end_of, excerpt_of
from searchmark.records.document import is_line_range
from searchmark.records.provenance import VectorStatistics
from searchmark.running.worker.frames import InvalidFrame

if TYPE_CHECKING:
    from pydantic import TypeAdapter


# Where in somebody's code an error arose: calls by file, line and name, those of ours trimmed off.
#
# The lines themselves are not shown: the file may hold what others should not see, and its author has it.

LONGEST_TRACEBACK = 4000

FRAMES_SHOWN = 20  # of each error, the innermost ones

CAUSES_SHOWN = 3

_LONGEST_CAUSE = 300

_OURS = str(Path(__file__).resolve().parents[2])  # the package

_FROZEN_PREFIX = "<frozen "  # the machinery of imports


def traceback_of(error: BaseException) -> str | None:
    """The calls that led to an error, the innermost last; above them those of the error that caused it, with its words."""
    parts: list[str] = []
    for each in _chain_of_causes(error):
        calls = _shown_calls(each)
        if each is not error and calls:
            parts += [*calls, excerpt_of(error_text(each), _LONGEST_CAUSE), "which led to:"]
        else:
            parts += calls
    return end_of("\n".join(parts), LONGEST_TRACEBACK) or None


def error_text(error: BaseException) -> str:
    """What an error is and says; one that fails to say anything is somebody's code too."""
    try:
        text = str(error)
    except Exception as failure:  # noqa: BLE001  # it may raise anything
        text = f"(its text cannot be read: {type(failure).__name__})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def error_location(error: BaseException) -> str | None:
    """The innermost line of somebody's code that an error came through, as file and line; None if there is none."""
    frames = [frame for each in _chain_of_causes(error) for frame in _format_frames(each.__traceback__) if not _is_ours(frame)]
    if not frames:
        return None
    return f"{frames[-1].tb_frame.f_code.co_filename}, line {frames[-1].tb_lineno}"


def skip_our_calls(trace: TracebackType | None) -> TracebackType | None:
    """The calls from the first one into somebody's code on; all of them where there is none."""
    first = trace
    while first is not None and (_is_ours(first) or _file(first).startswith(_FROZEN_PREFIX)):
        first = first.tb_next
    return first or trace


def _chain_of_causes(error: BaseException) -> list[BaseException]:
    """The error behind what caused it, the first cause first."""
    chain, here = [error], error
    while len(chain) <= CAUSES_SHOWN:
        cause = here.__cause__ or (None if here.__suppress_context__ else here.__context__)
        if cause is None or cause in chain:
            break
        chain.append(cause)
        here = cause
    return chain[::-1]


def _shown_calls(error: BaseException) -> list[str]:
    """From the first call into somebody's code on; where all of it is ours, as with our own agents, all but the worker's own."""
    frames = list(_format_frames(error.__traceback__))
    first = next((place for place, frame in enumerate(frames) if not _is_ours(frame)), None)
    visible = frames[first:] if first is not None else [frame for frame in frames if "/running/" not in _file(frame)]
    return [f'File "{_file(each)}", line {each.tb_lineno}, in {each.tb_frame.f_code.co_name}' for each in visible[-FRAMES_SHOWN:]]


def _format_frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        if not _file(trace).startswith(_FROZEN_PREFIX):
            yield trace
        trace = trace.tb_next


def _file(frame: TracebackType) -> str:
    return frame.tb_frame.f_code.co_filename


def _is_ours(frame: TracebackType) -> bool:
    return _file(frame).startswith(_OURS)


# What a worker may answer. Its process runs somebody else's code, which can write into the same pipe.
#
# Every reply has a shape, every text a length and every number a bound. What passes here can be computed with, written to a
# journal and read again.

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

DROPPED_KINDS = frozenset({"beyond_depth", "scores_unusable", "lines_unusable", "merged_chunks", "not_chunks", "texts_cut"})

_BYTES_PER_CHARACTER = 6  # bytes that one character takes in JSON at most

_REPLY_MARGIN = 1 << 20


def longest_answer(depth: int) -> int:
    """How many bytes a reply can have at most."""
    return depth * ((LONGEST_ID + LONGEST_TEXT) * _BYTES_PER_CHARACTER + 64) + _REPLY_MARGIN


def reply_problem(operation: str, reply: Mapping[str, Any], depth: int) -> str | None:
    """What is wrong with a reply to a request of this kind; None if nothing is."""
    return _shape_problem(_FAILURE if "failed" in reply else _SHAPES[operation], reply, depth)


def part_problem(frame: Mapping[str, Any], depth: int) -> str | None:
    """What is wrong with hits that come before the rest of their answer, of which at most ``depth`` are left; None if nothing is.

    Every part holds a hit and nothing else, so there cannot be more parts than hits.
    """
    unknown = next((key for key in frame if key not in _PART and key not in ("id", "part")), None)
    if unknown is not None or frame.get("part") is not True or not frame.get("ids"):
        return malformed_reason(unknown or "part")
    return _shape_problem(_PART, frame, depth)


def _shape_problem(shape: Mapping[str, _Check], reply: Mapping[str, Any], depth: int) -> str | None:
    for key, (fits, required) in shape.items():
        if (key in reply or required) and not fits(reply.get(key), depth):
            return malformed_reason(key)
    for column in _BESIDE_IDS:
        if reply.get(column) is not None and len(reply[column]) != len(reply["ids"]):
            return malformed_reason(column)
    return None


def malformed_reason(key: str) -> str:
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


def _are_texts(value: Any, _: int) -> bool:
    return value is None or (
        isinstance(value, list) and all(each is None or (type(each) is str and len(each) <= LONGEST_TEXT) for each in value)
    )


def _are_starts(value: Any, _: int) -> bool:
    return value is None or (isinstance(value, list) and all(each is None or _is_count(each) for each in value))


def _are_counts(value: Any, _: int) -> bool:
    return isinstance(value, dict) and value.keys() <= DROPPED_KINDS and all(map(_is_count, value.values()))


def _is_exit_sentence(value: Any, _: int) -> bool:
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
        _statistics_fields().validate_python(value)
    except ValueError:
        return False
    return True


@cache
def _statistics_fields() -> TypeAdapter[list[VectorStatistics]]:
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
    "missing": (_is_flag, False),
}

_PART: dict[str, _Check] = {
    "ids": (_are_ids, True),
    "scores": (_are_scores, False),
    "lines": (_are_lines, False),
    "texts": (_are_texts, False),
    "starts": (_are_starts, False),
}

_BESIDE_IDS = tuple(_PART)[1:]


_USAGE_SHAPE: dict[str, _Check] = {
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
        "takes_count": (_is_flag, False),
    },
    "prepare": {
        "ns": (_is_count, True),
        "around_ns": (_is_count, True),
        "how": (_is_exit_sentence, True),
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
        **_USAGE_SHAPE,
        "retries": (_is_size, False),
        "waited_ms": (is_duration, False),
        "start_ms": (is_duration, False),
        "index_ms": (is_duration, False),
        "metadata": (_is_metadata, False),
    },
    "afterwards": _USAGE_SHAPE,
    "offers": {"offers": (_are_offers, True)},
    "again": {"ns": (_is_count, True), "same": (_is_flag, True), "index_ms": (is_duration, False)},
    "close": {"memory": (_is_size, True)},
}


# An answer that has been read, made plain: ids, scores, lines and texts that JSON can hold, and what an agent says beside them.

Reply = dict[str, Any]

REMARK_FIELDS = ("cost", "usage", "metadata", "dropped", "index_ms")


def read_remarks(result: Any) -> Reply:
    """What an agent says beside its hits, if it says anything."""
    return {name: None if is_table(result) else getattr(result, name, None) for name in REMARK_FIELDS}


def encode_hits(reader: HitReader, begin: int = 0) -> Reply:
    """The hits of an answer from some rank on, as plain data; scores and lines only where there are any."""
    hits: Reply = {"ids": reader.ids[begin:]}
    scores, lines = reader.scores[begin:], reader.lines[begin:]
    if scores.count(None) < len(scores):
        hits["scores"] = scores
    if lines.count(None) < len(lines):
        hits["lines"] = [None if span is None else list(span) for span in lines]
    for name, column in (("texts", reader.texts[begin:]), ("starts", reader.starts[begin:])):
        if any(each is not None for each in column):
            hits[name] = column
    return hits


def encode_remarks(reader: HitReader, remarks: Mapping[str, Any]) -> Reply:
    """What else is known of an answer, whatever the agent has put into it; what was left out or odd is counted."""
    counts = _counts(remarks["dropped"])
    for kind, count in reader.dropped().items():
        counts[kind] = counts.get(kind, 0) + count
    answer: Reply = {"dropped": {kind: count for kind, count in counts.items() if count}}
    cost = remarks["cost"]
    if is_finite_number(cost) and is_cost(float(cost)):
        answer["cost"] = float(cost)
    answer |= encode_usage(remarks["usage"]) | encode_index_ms(remarks)
    metadata = _encode_metadata(remarks["metadata"])
    return answer | ({"metadata": metadata} if metadata else {})


def _counts(raw_counts: Any) -> dict[str, int]:
    """What an agent says that it has left out, as far as it is of a kind that is counted."""
    counts = raw_counts if isinstance(raw_counts, Mapping) else {}
    return {
        kind: int(counts[kind])
        for kind in DROPPED_KINDS
        if is_finite_number(counts.get(kind)) and 0 <= counts[kind] <= LARGEST_COUNT
    }


def encode_usage(usage: Any) -> Reply:
    """What an answer took beside time, as far as an agent says so and it can be."""
    counts: Reply = {name: getattr(usage, name, None) for name in ("tokens", "retries")}
    reply: Reply = {
        name: int(count) for name, count in counts.items() if is_finite_number(count) and 0 <= float(count) <= LARGEST_COUNT
    }
    times: Reply = {name: getattr(usage, name, None) for name in ("waited_ms", "start_ms")}
    reply |= {name: float(ms) for name, ms in times.items() if is_finite_number(ms) and is_duration(float(ms))}
    by = getattr(usage, "tokens_by", None)
    return reply | _encode_recall(usage) | ({"tokens_by": by[:LONGEST_NAME]} if isinstance(by, str) and "tokens" in reply else {})


def encode_index_ms(remarks: Mapping[str, Any]) -> Reply:
    """What the index alone took, as far as an agent says so and it can be."""
    ms = remarks["index_ms"]
    return {"index_ms": float(ms)} if is_finite_number(ms) and is_duration(float(ms)) else {}


def _encode_recall(usage: Any) -> Reply:
    """All of what an agent says of its index, or nothing."""
    k: Any = getattr(usage, "ann_k", None)
    shares: Reply = {name: getattr(usage, name, None) for name in ("ann_recall", "ann_overlap")}
    if not is_finite_number(k) or not 1 <= float(k) <= LARGEST_COUNT or not all(map(is_finite_number, shares.values())):
        return {}
    reply: Reply = {"ann_k": int(k), **{name: float(share) for name, share in shares.items()}}
    return reply if all(is_share(reply[name]) for name in shares) else {}


def _encode_metadata(metadata: Any) -> Any:
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


# Answers in several frames: how a worker sends hits as they come, and how the runner puts them together.
#
# A part is ``{"part": true, "ids": [...]}`` with the id of the question; the last frame has the rest of the hits and all else.
# The runner's clock says when the first part came. Nothing else is known by parts: an answer is as good as its last frame.

PART_INTERVAL_NS = 5_000_000  # parts; a hundred thousand hits that come at once are a few of them

MAX_HITS_PER_PART = 5_000  # in a part, so that none is long in the making


class HitSender:
    """The hits of a stream as they come; ``ours_ns`` is for how long the agent had to wait while we took them.

    If there is a way to ``send`` them they go to the runner, the first one at once, the others together every few milliseconds.
    """

    def __init__(self, reader: HitReader, send: Callable[[Reply], None] | None, relativize: Callable[[Reply], Reply]) -> None:
        self._reader, self._send, self._relativize = reader, send, relativize
        self._last = 0
        self.sent = self.ours_ns = 0

    def take_all(self, stream: HitStream) -> None:
        """Read a stream to its end, or to the depth."""
        stream.feed(self._take if stream.searches_meanwhile else self._take_apart)

    def _take_apart(self, entry: Any) -> bool:
        start = perf_counter_ns()
        try:
            return self._take(entry)
        finally:
            self.ours_ns += perf_counter_ns() - start

    def _take(self, entry: Any) -> bool:
        """Read the next hit; whether another one is wanted."""
        more = self._reader.take(entry)
        waiting = len(self._reader.ids) - self.sent
        if self._send is not None and waiting and self._is_due(waiting):
            self._send({"part": True, **self._relativize(encode_hits(self._reader, self.sent))})
            self.sent += waiting
            self._last = perf_counter_ns()
        return more

    def _is_due(self, waiting: int) -> bool:
        return not self.sent or waiting >= MAX_HITS_PER_PART or perf_counter_ns() - self._last >= PART_INTERVAL_NS


class HitReceiver:
    """The parts of one answer as they come in; ``first_hit_ns`` is when the first one did, by this process's clock."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._depth: int = request["depth"] if request["op"] == "search" else 0
        self._parts: list[Reply] = []
        self._hits = 0
        self.first_hit_ns: int | None = None

    def add(self, frame: Reply, arrived_ns: int) -> None:
        """Take a part, unless something is wrong with it."""
        _refuse(part_problem(frame, self._depth - self._hits))
        self._parts.append(frame)
        self._hits += len(frame["ids"])
        self.first_hit_ns = arrived_ns if self.first_hit_ns is None else self.first_hit_ns

    def joined(self, last: Reply) -> Reply:
        """The whole answer; a failure is no answer, whatever came before it."""
        if not self._parts or "failed" in last:
            return last
        _refuse(reply_problem("search", last, self._depth - self._hits))
        frames = [*self._parts, last]
        whole = last | {"ids": [hit for frame in frames for hit in frame["ids"]]}
        for column in _BESIDE_IDS:
            if any(frame.get(column) for frame in frames):
                whole[column] = [each for frame in frames for each in frame.get(column) or [None] * len(frame["ids"])]
        return whole


def _refuse(wrong: str | None) -> None:
    if wrong is not None:
        raise InvalidFrame(wrong)
