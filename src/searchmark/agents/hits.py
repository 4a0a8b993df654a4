"""Hits as people have them: ids, pairs of id and score, mappings, documents of LangChain and LlamaIndex."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from searchmark.records import is_line_range
from searchmark.services.excerpts import excerpt_of

IDS = ("id", "_id", "path", "file", "file_path", "source")
SCORES = ("score", "_score", "similarity")
SOURCES = ("source", "file_path", "path")  # of what a document was cut from, in its metadata
LONGEST_ID = 4096  # characters; what is longer is never cut: the rest could be the id of something else
_SHOWN = 80
_LARGEST_NUMBER = 1 << 63


class NotAHit(Exception):
    """An entry of an answer is nothing that names a document."""


@dataclass(frozen=True, slots=True)
class FoundHit:
    """One entry of an answer: the id or path, and a score and a range of lines where they are known.

    A score is as it was given, finite or not.
    """

    id: str
    score: float | None = None
    lines: tuple[int, int] | None = None


def read_hit(entry: Any) -> FoundHit:
    """What an entry names, in whichever of the usual forms it is."""
    hit = entry if isinstance(entry, FoundHit) else _read(entry)
    if len(hit.id) > LONGEST_ID:
        raise NotAHit(f"an id has {len(hit.id)} characters, more than {LONGEST_ID}")
    return hit


def _read(entry: Any) -> FoundHit:
    text = _text(entry)
    if text is not None:
        return FoundHit(text)
    if isinstance(entry, tuple | list) and len(entry) == 2:  # noqa: PLR2004  # id and score, or a document and its score
        found = read_hit(entry[0])
        return FoundHit(found.id, _number(entry[1], entry), found.lines)
    if isinstance(entry, Mapping):
        return _of_mapping(entry)
    document = getattr(entry, "node", entry)  # LlamaIndex: a node with its score
    metadata = getattr(document, "metadata", None)
    if isinstance(metadata, Mapping):
        return FoundHit(_source(metadata, entry), _number(getattr(entry, "score", None), entry))
    raise NotAHit(f"{_shown(entry)} is not a hit: give an id, (id, score), a mapping with an id, or a document")


def _of_mapping(entry: Mapping[Any, Any]) -> FoundHit:
    named = next((text for key in IDS if (text := _text(entry.get(key))) is not None), None)
    if named is None and isinstance(entry.get("metadata"), Mapping):
        named = _source(entry["metadata"], entry)
    if named is None:
        raise NotAHit(f"{_shown(entry)} has none of {', '.join(IDS)}")
    score = next((entry[key] for key in SCORES if entry.get(key) is not None), None)
    lines: Any = entry.get("lines")
    return FoundHit(named, _number(score, entry), (lines[0], lines[1]) if is_line_range(lines) else None)


def _source(metadata: Mapping[Any, Any], entry: Any) -> str:
    named = next((text for key in SOURCES if (text := _text(metadata.get(key))) is not None), None)
    if named is None:
        raise NotAHit(f"the metadata of {_shown(entry)} has none of {', '.join(SOURCES)}")
    return named


def _text(value: Any) -> str | None:
    """An id as text: text itself, a path, or a whole number."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes | os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    number = operator.index(value)  # one of NumPy is a whole number too
    return str(number) if abs(number) < _LARGEST_NUMBER else None


def _number(value: Any, entry: Any) -> float | None:
    """A score, finite or not; what is no number at all makes the entry none."""
    if value is None:
        return None
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        raise NotAHit(f"the score of {_shown(entry)} is not a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise NotAHit(f"the score of {_shown(entry)} is not a number") from error


def _shown(entry: Any) -> str:
    try:
        return excerpt_of(repr(entry), _SHOWN)
    except Exception:  # noqa: BLE001  # whatever it is, its own words about itself are not needed
        return f"<{type(entry).__name__}>"
