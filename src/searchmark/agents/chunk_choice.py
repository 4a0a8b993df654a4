"""What the option ``chunking`` may say: ``lines``, ``{lines: 60}``, ``{tokens: 300-800, overlap: 15%}`` or ``whole``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from searchmark.agents.token_chunks import Overlap, Span, TokenChunks
from searchmark.corpora.chunks import LONGEST, chunks

FORMS = "lines, whole, {lines: 60}, {tokens: 300} or {tokens: 300-800, overlap: 15%}"
_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")
_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")


@dataclass(frozen=True)
class LineChunks:
    """Content-defined chunks; one of more than ``longest`` lines is cut at any blank line."""

    longest: int = LONGEST

    def __str__(self) -> str:
        return f"content-defined/{self.longest}"

    def spans(self, text: str) -> list[Span]:
        """Where each chunk begins and ends."""
        found, start = [], 0
        for chunk in chunks(text, self.longest):
            found.append((start, start + len(chunk)))
            start += len(chunk)
        return found


@dataclass(frozen=True)
class WholeTexts:
    """A text is one chunk, however long."""

    def __str__(self) -> str:
        return "whole"

    def spans(self, text: str) -> list[Span]:
        """All of it."""
        return [(0, len(text))] if text else []


Chunks = LineChunks | TokenChunks | WholeTexts


def read_chunking(choice: str | Mapping[str, Any]) -> Chunks:
    """How texts are cut; what cannot be is a ValueError of one sentence."""
    if choice == "whole":
        return WholeTexts()
    if choice == "lines":
        return LineChunks()
    if isinstance(choice, Mapping) and set(choice) == {"lines"}:
        return LineChunks(_number("lines", choice["lines"]))
    if isinstance(choice, Mapping) and "tokens" in choice and set(choice) <= {"tokens", "overlap"}:
        least, most = _sizes(choice["tokens"])
        return TokenChunks(least, most, _overlap(choice.get("overlap", 0), least))
    raise ValueError(f"chunking is {_shown(choice)}, and must be {FORMS}")


def _number(name: str, value: object, form: str = "a whole number") -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"chunking: {name} is {value!r}, and must be {form}")  # noqa: TRY004  # pydantic reads only ValueError
    if value < 1:
        raise ValueError(f"chunking: {name} is {value}, and must be 1 or more")
    return value


def _sizes(value: object) -> tuple[int, int]:
    written = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if written is None:
        number = _number("tokens", value, "a whole number or two of them, as 300-800")
        return number, number
    least, most = int(written[1]), int(written[2] or written[1])
    if least > most:
        raise ValueError(f"chunking: tokens is {value}; the smaller number comes first: {most}-{least}")
    return _number("tokens", least), most


def _overlap(value: object, least: int) -> Overlap:
    percent = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if percent is not None:
        if float(percent[1]) >= 100:  # noqa: PLR2004  # all of it
            raise ValueError(f"chunking: overlap is {value}, and must be less than 100%")
        return Overlap(share=float(percent[1]) / 100)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"chunking: overlap is {value!r}, and must be a share (15%) or a number of tokens")
    if value >= least:
        raise ValueError(f"chunking: overlap is {value} tokens, and must be less than the {least} that a chunk has at least")
    return Overlap(tokens=value)


def _shown(choice: object) -> str:
    text = repr(choice)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004  # enough to see what is meant
