"""How much of every case goes into a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from searchmark.options.option import Option, check_fields

HITS_SHOWN = 10


@dataclass(frozen=True)
class ReportOptions:
    """How many hits of every answer a report keeps, and whether it shows what they say."""

    hits: Annotated[int, Ge(0), Option("Number of hits per answer that reports keep; 0 for all.")] = HITS_SHOWN
    hit_texts: Annotated[bool, Option("Keep the text of the hits too, where the corpus is at hand.", ("--hit-texts",))] = False

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def limit(self) -> int | None:
        """The number of hits to keep; None for all of them."""
        return self.hits or None
