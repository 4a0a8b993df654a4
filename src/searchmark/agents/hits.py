"""Hits as people have them: ids, pairs of id and score, mappings, documents of LangChain and LlamaIndex."""

from __future__ import annotations

import operator
import os
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any

from searchmark.services.excerpts import excerpt_of

IDS = ("id", "_id", "path", "file", "file_path", "source")
SCORES = ("score", "_score", "similarity")
SOURCES = ("source", "file_path", "path")  # of what a document was cut from, in its metadata
LONGEST_ID = 4096  # characters; what is longer is never cut: the rest could be the id of something else
_SHOWN = 80
_NO_SOURCE = f"the metadata of {{entry}} has none of {', '.join(SOURCES)}"
_LARGEST_NUMBER = 1 << 63


class NotAHit(Exception):
    """An entry of an answer is nothing that names a document; ``reason`` says why, with ``{entry}`` where the entry goes."""

    def __init__(self, reason: str, entry: Any) -> None:
        super().__init__(reason.replace("{entry}", _shown(entry)))
        self.of_any = reason.replace("{entry}", "it")


@dataclass(frozen=True, slots=True)
class FoundHit:
    """One entry of an answer: the id or path, and a score and a range of lines where they are known.

    A score is as it was given, finite or not, and so are lines: who reads the answer counts those that are of no use.
    """

    id: str
    score: float | None = None
    lines: Any = None


def read_hit(entry: Any) -> FoundHit:
    """What an entry names, in whichever of the usual forms it is."""
    hit = entry if isinstance(entry, FoundHit) else _read(entry)
    if not hit.id:
        raise NotAHit("the id of {entry} is empty", entry)
    if len(hit.id) > LONGEST_ID:
        raise NotAHit(f"an id has {len(hit.id)} characters, more than {LONGEST_ID}", entry)
    return hit


def _read(entry: Any) -> FoundHit:
    text = id_of(entry)
    if text is not None:
        return FoundHit(text)
    if isinstance(entry, Mapping) or _is_row(entry):
        return _of_mapping(entry if isinstance(entry, Mapping) else dict(entry))
    if hasattr(entry, "dtype") and hasattr(entry, "tolist"):  # a row of an array
        entry = entry.tolist()
    if isinstance(entry, tuple | list) and len(entry) == 2:  # noqa: PLR2004  # id and score, or a document and its score
        found = read_hit(entry[0])
        return FoundHit(found.id, _number(entry[1], entry), found.lines)
    if isinstance(entry, Awaitable):
        raise NotAHit("{entry} was not awaited: await it inside retrieve, which may be an async def", entry)
    document = getattr(entry, "node", entry)  # LlamaIndex: a node with its score
    metadata = getattr(document, "metadata", None)
    if isinstance(metadata, Mapping):
        return FoundHit(_source(metadata, entry), _number(getattr(entry, "score", None), entry))
    raise NotAHit("{entry} is not a hit: give an id, (id, score), a mapping with an id, or a document", entry)


def _is_row(entry: Any) -> bool:
    """Whether this is a row whose values have names: one of sqlite3, or of a table of pandas."""
    return callable(getattr(entry, "keys", None)) and hasattr(entry, "__getitem__")


def _of_mapping(entry: Mapping[Any, Any]) -> FoundHit:
    """A mapping whose metadata name a source is a document: its own id, if it has one, is that of a chunk or of a record."""
    metadata = entry.get("metadata")
    named = _named(metadata, SOURCES) if isinstance(metadata, Mapping) else None
    named = _named(entry, IDS) if named is None else named
    if named is None and isinstance(metadata, Mapping):
        raise NotAHit(_NO_SOURCE, entry)
    if named is None:
        raise NotAHit(f"{{entry}} has none of {', '.join(IDS)}", entry)
    score = next((entry[key] for key in SCORES if entry.get(key) is not None), None)
    lines = entry.get("lines")
    return FoundHit(named, _number(score, entry), tuple(lines) if isinstance(lines, list) else lines)


def _source(metadata: Mapping[Any, Any], entry: Any) -> str:
    named = _named(metadata, SOURCES)
    if named is None:
        raise NotAHit(_NO_SOURCE, entry)
    return named


def _named(fields: Mapping[Any, Any], names: tuple[str, ...]) -> str | None:
    return next((text for key in names if (text := id_of(fields.get(key))) is not None), None)


def id_of(value: Any) -> str | None:
    """An id as text: text itself, a path, or a whole number."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes | os.PathLike):
        return os.fsdecode(value)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a scalar of NumPy, or an array of nothing else
        return id_of(value.item())
    if isinstance(value, bool) or not hasattr(value, "__index__") or hasattr(value, "shape"):
        return None
    number = operator.index(value)
    return str(number) if abs(number) < _LARGEST_NUMBER else None


def _number(value: Any, entry: Any) -> float | None:
    """A score, finite or not; what is no number at all makes the entry none."""
    if value is None:
        return None
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        raise NotAHit("the score of {entry} is not a number", entry)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise NotAHit("the score of {entry} is not a number", entry) from error


def _shown(entry: Any) -> str:
    try:
        return excerpt_of(repr(entry), _SHOWN)
    except Exception:  # noqa: BLE001  # whatever it is, its own words about itself are not needed
        return f"<{type(entry).__name__}>"
