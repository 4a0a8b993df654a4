"""An answer that has been read, made plain: ids, scores and lines that JSON can hold, and what an agent says beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from searchmark.agents.answers import HitReader, finite
from searchmark.agents.tables import is_table
from searchmark.files.plain_data import is_too_deep
from searchmark.running.worker.protocol import (
    DEEPEST,
    DROPPED_KINDS,
    LARGEST_COUNT,
    LONGEST_METADATA,
    LONGEST_NAME,
    is_cost,
    is_duration,
    is_share,
)

Reply = dict[str, Any]

REMARKS = ("cost", "usage", "metadata", "dropped", "index_ms")


def remarks_of(result: Any) -> Reply:
    """What an agent says beside its hits, if it says anything."""
    return {name: None if is_table(result) else getattr(result, name, None) for name in REMARKS}


def plain_hits(reader: HitReader, begin: int = 0) -> Reply:
    """The hits of an answer from some rank on, as plain data; scores and lines only where there are any."""
    hits: Reply = {"ids": reader.ids[begin:]}
    scores, lines = reader.scores[begin:], reader.lines[begin:]
    if scores.count(None) < len(scores):
        hits["scores"] = scores
    if lines.count(None) < len(lines):
        hits["lines"] = [None if span is None else list(span) for span in lines]
    return hits


def plain_remarks(reader: HitReader, remarks: Mapping[str, Any]) -> Reply:
    """What else is known of an answer, whatever the agent has put into it; what was left out or odd is counted."""
    counts = _counts(remarks["dropped"])
    for kind, count in reader.dropped().items():
        counts[kind] = counts.get(kind, 0) + count
    answer: Reply = {"dropped": {kind: count for kind, count in counts.items() if count}}
    cost = remarks["cost"]
    if finite(cost) and is_cost(float(cost)):
        answer["cost"] = float(cost)
    answer |= plain_usage(remarks["usage"]) | plain_index_ms(remarks)
    metadata = _small(remarks["metadata"])
    return answer | ({"metadata": metadata} if metadata else {})


def _counts(dropped: Any) -> dict[str, int]:
    """What an agent says that it has left out, as far as it is of a kind that is counted."""
    given = dropped if isinstance(dropped, Mapping) else {}
    return {kind: int(given[kind]) for kind in DROPPED_KINDS if finite(given.get(kind)) and 0 <= given[kind] <= LARGEST_COUNT}


def plain_usage(usage: Any) -> Reply:
    """What an answer took beside time, as far as an agent says so and it can be."""
    counts: Reply = {name: getattr(usage, name, None) for name in ("tokens", "retries")}
    known: Reply = {name: int(count) for name, count in counts.items() if finite(count) and 0 <= float(count) <= LARGEST_COUNT}
    times: Reply = {name: getattr(usage, name, None) for name in ("waited_ms", "start_ms")}
    known |= {name: float(ms) for name, ms in times.items() if finite(ms) and is_duration(float(ms))}
    by = getattr(usage, "tokens_by", None)
    return known | _plain_recall(usage) | ({"tokens_by": by[:LONGEST_NAME]} if isinstance(by, str) and "tokens" in known else {})


def plain_index_ms(remarks: Mapping[str, Any]) -> Reply:
    """What the index alone took, as far as an agent says so and it can be."""
    ms = remarks["index_ms"]
    return {"index_ms": float(ms)} if finite(ms) and is_duration(float(ms)) else {}


def _plain_recall(usage: Any) -> Reply:
    """All of what an agent says of its index, or nothing."""
    k: Any = getattr(usage, "ann_k", None)
    shares: Reply = {name: getattr(usage, name, None) for name in ("ann_recall", "ann_overlap")}
    if not finite(k) or not 1 <= float(k) <= LARGEST_COUNT or not all(map(finite, shares.values())):
        return {}
    known: Reply = {"ann_k": int(k), **{name: float(share) for name, share in shares.items()}}
    return known if all(is_share(known[name]) for name in shares) else {}


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
