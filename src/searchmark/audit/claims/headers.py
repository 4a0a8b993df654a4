"""What the columns of a table of published numbers are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from searchmark.errors import UsageError, shortened
from searchmark.measures.grammar import AnyMeasure, parse_measure

Role = Literal["name", "system", "segment", "n", "vs", "p", "value", "low", "high", "skipped"]
_ROLES: dict[str, Role] = {
    **dict.fromkeys(("name", "row"), "name"),
    **dict.fromkeys(("system", "agent", "run", "model", "method", "engine", "retriever"), "system"),
    **dict.fromkeys(
        ("segment", "category", "dataset", "subset", "split", "language", "repository", "repo", "benchmark"), "segment"
    ),
    **dict.fromkeys(("n", "cases", "queries", "topics", "questions", "# queries", "#queries", "n queries"), "n"),
    **dict.fromkeys(("vs", "vs.", "against", "baseline"), "vs"),
    **dict.fromkeys(("p-value", "p value", "pvalue", "p_value"), "p"),
}
LONGEST = 100  # signs that the name of a measure has at most
_LIMITS: dict[str, Role] = {
    **dict.fromkeys(("low", "lower", "ci low", "ci lower", "95% low"), "low"),
    **dict.fromkeys(("high", "upper", "ci high", "ci upper", "95% high"), "high"),
    **dict.fromkeys(("p", "p-value", "p value"), "p"),
}
_LIMIT = re.compile(rf"(?P<measure>.+?)[\s_]+(?P<what>{'|'.join(map(re.escape, _LIMITS))})", re.IGNORECASE)
_PER_CENT = re.compile(r"\(?\s*(%|percent|per cent|in %)\s*\)?", re.IGNORECASE)
_SPELLINGS = ((r"\bhits?@", "HitRate@"), (r"\s+at\s+(?=\d)", "@"), (r"^mean\s+", ""), (r"[\s-]score\b", ""), (r"[*`]", ""))


@dataclass(frozen=True)
class ClaimColumn:
    """One column: what it is, of which measure, and whether its name says that it is in per cent."""

    role: Role
    header: str
    measure: AnyMeasure | None = None
    per_cent: bool = False


def column(header: str) -> ClaimColumn:
    """What a column is, by its name."""
    written = re.sub(r"[*`]", "", header).strip()
    if len(written) > LONGEST:
        return ClaimColumn("skipped", shortened(written, LONGEST))
    known = _ROLES.get(written.lower())
    if known is not None:
        return ClaimColumn(known, written)
    if written == "p":  # P is precision
        return ClaimColumn("p", written)
    limit = _LIMIT.fullmatch(written)
    if limit is not None and (measure := _measure(limit["measure"])) is not None:
        role = _LIMITS[limit["what"].lower()]
        return ClaimColumn(role, _without_sign(limit["measure"]), measure, role != "p" and bool(_PER_CENT.search(limit["measure"])))
    measure = _measure(written)
    if measure is None:
        return ClaimColumn("skipped", written)
    return ClaimColumn("value", _without_sign(written), measure, bool(_PER_CENT.search(written)))


def _without_sign(header: str) -> str:
    return _PER_CENT.sub("", header).strip()


def _measure(header: str) -> AnyMeasure | None:
    text = _without_sign(header)
    for pattern, ours in _SPELLINGS:
        text = re.sub(pattern, ours, text, flags=re.IGNORECASE)
    try:
        return parse_measure(text)
    except UsageError:
        return None
