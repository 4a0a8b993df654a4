"""How documents are cut into chunks for embedding: by lines, by tokens, or not at all. Also counts tokens."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from searchmark.agents.chunks import LONGEST_CHUNK_LINES, content_chunks
from searchmark.agents.protocol import Usage
from searchmark.agents.vectors.models import WORDLLAMA_WEIGHTS, wordllama_tokenizer_file
from searchmark.errors import Missing
from searchmark.io.text import replace_surrogates
from searchmark.records.document import Document

# Tokens of what a tool says: the currency of assistants that read it.
#
# Counted by the tokenizer in wordllama's wheel, which is that of Llama 2: any model has its own, and numbers of different
# tokenizers are not to be compared. So its name is always beside the number.

TOKENIZER_NAME = f"wordllama {WORDLLAMA_WEIGHTS} tokenizer"

STATED_BY_SERVER = "the server"


def count_tokens(text: str) -> Usage:
    """How many tokens a text is of. That takes milliseconds, and is to be asked when no clock runs."""
    encoding = load_tokenizer().encode_batch_fast([replace_surrogates(text)], add_special_tokens=False)
    return Usage(tokens=len(encoding[0]), tokens_by=TOKENIZER_NAME)


def tokenizer_problem() -> str | None:
    """Why tokens cannot be counted here; None if they can."""
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None or not wordllama_tokenizer_file(Path(spec.origin).parent).is_file():
        return "tokens are counted by the tokenizer of wordllama, which is not installed: pip install 'wordllama==0.4.0.post1'"
    return None


@cache
def load_tokenizer() -> Any:
    """The tokenizer of wordllama, which pads and cuts nothing."""
    reason = tokenizer_problem()
    if reason is not None:
        raise Missing(reason)
    from tokenizers import Tokenizer

    spec = find_spec("wordllama")
    assert spec is not None and spec.origin is not None  # noqa: S101, PT018  # seen above
    tokenizer = Tokenizer.from_file(str(wordllama_tokenizer_file(Path(spec.origin).parent)))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


# Chunks of a number of tokens, which end where a paragraph, a line or a sentence does if one ends in time.
#
# Tokens are those of wordllama's tokenizer, whatever model the chunks are for: sizes mean the same for every embedder.

STRETCH = 50_000  # characters that are tokenised at once: the tokenizer takes more than twice as long for twice as many


# From the border that is liked best to the one that is liked least; each is right behind what was found.
_SENTENCE = r"[.!?][\"')\]]*\s+|[。！？]"  # full-width marks end sentences too, without a blank

_BORDERS = (re.compile(r"\n[^\S\n]*\n+"), re.compile(r"\n"), re.compile(_SENTENCE))

Span = tuple[int, int]


@dataclass(frozen=True)
class TokenOverlap:
    """How many tokens of a chunk are those of the one before: a number of them, or a share of the one before."""

    tokens: int = 0
    share: float = 0.0

    def of(self, size: int) -> int:
        """That of a chunk with so many tokens."""
        return self.tokens or int(size * self.share + 1e-9)  # 15 % of 100 are 15, whatever floats make of it

    def __str__(self) -> str:
        return f"{100 * self.share:.4g}%" if self.share else str(self.tokens)


@dataclass(frozen=True)
class TokenChunking:
    """Chunks of ``least`` to ``most`` tokens; the last of a text may be shorter. No character is ever cut in two."""

    least: int
    most: int
    overlap: TokenOverlap = TokenOverlap()

    def __str__(self) -> str:
        sizes = str(self.most) if self.least == self.most else f"{self.least}-{self.most}"
        return f"tokens/{sizes}/overlap {self.overlap}/{TOKENIZER_NAME}"

    def spans(self, text: str) -> list[Span]:
        """Where each chunk begins and ends; together they hold every character."""
        return list(self._spans(text, token_offsets(text)))

    def _spans(self, text: str, starts: list[int]) -> Iterator[Span]:
        start = end = 0
        while end < len(text):
            end = self._end(text, starts, start, end)
            yield start, end
            start = self._next(starts, start, end)

    def _next(self, starts: list[int], start: int, end: int) -> int:
        """Where the chunk after this one begins."""
        first, last = bisect_left(starts, start), bisect_left(starts, end)
        again = max(last - self.overlap.of(last - first), first)
        if again == last or starts[again] <= start:
            return end
        # It must hold more than what is known already, and a character of many tokens may leave no room for that.
        room = bisect_left(starts, starts[again]) + self.most
        return starts[again] if room >= len(starts) or starts[room] > end else end

    def _end(self, text: str, starts: list[int], start: int, before: int) -> int:
        """Where a chunk ends, which is behind the end of the one before."""
        first = bisect_left(starts, start)
        if first + self.most >= len(starts):
            return len(text)
        latest = starts[first + self.most]
        if latest <= start:  # one character has more tokens than a chunk may have
            return starts[bisect_left(starts, start + 1)] if starts[-1] > start else len(text)
        enough = starts[first + self.least - 1]  # whatever ends behind it has as many tokens as it must
        return _last_border(text, max(enough, before) + 1, latest) or latest


def token_offsets(text: str) -> list[int]:
    """Where each token begins, in characters."""
    stretches = list(_tokenizable_stretches(text))
    encoding = load_tokenizer().encode_batch(
        [replace_surrogates(text[start:end]) for start, end in stretches], add_special_tokens=False
    )
    return [start + offset for (start, _), each in zip(stretches, encoding, strict=True) for offset, _ in each.offsets]


def _tokenizable_stretches(text: str) -> Iterator[Span]:
    start = 0
    while start < len(text):
        end = min(start + STRETCH, len(text))
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        yield start, end
        start = end


def _last_border(text: str, earliest: int, latest: int) -> int | None:
    """The last border between two positions of the kind that is liked best; None if there is none."""
    before = max(earliest - 2, 0)  # a border has what it ends before it
    for border in _BORDERS:
        ends = [match.end() for match in border.finditer(text, before, latest) if match.end() >= earliest]
        if ends:
            return ends[-1]
    return None


# What the option ``chunking`` may say: ``lines``, ``{lines: 60}``, ``{tokens: 300-800, overlap: 15%}`` or ``whole``.

FORMS = "lines, whole, {lines: 60}, {tokens: 300} or {tokens: 300-800, overlap: 15%}"

_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")

_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")


@dataclass(frozen=True)
class LineChunking:
    """Content-defined chunks; one of more than ``longest`` lines is cut at any blank line."""

    longest: int = LONGEST_CHUNK_LINES

    def __str__(self) -> str:
        return f"content-defined/{self.longest}"

    def spans(self, text: str) -> list[Span]:
        """Where each chunk begins and ends."""
        spans, start = [], 0
        for chunk in content_chunks(text, self.longest):
            spans.append((start, start + len(chunk)))
            start += len(chunk)
        return spans


@dataclass(frozen=True)
class WholeTextChunking:
    """A text is one chunk, however long."""

    def __str__(self) -> str:
        return "whole"

    def spans(self, text: str) -> list[Span]:
        """All of it."""
        return [(0, len(text))] if text else []


Chunking = LineChunking | TokenChunking | WholeTextChunking


def parse_chunking(choice: str | Mapping[str, Any]) -> Chunking:
    """How texts are cut; what cannot be is a ValueError of one sentence."""
    if choice == "whole":
        return WholeTextChunking()
    if choice == "lines":
        return LineChunking()
    if isinstance(choice, Mapping) and set(choice) == {"lines"}:
        return LineChunking(_parse_number("lines", choice["lines"]))
    if isinstance(choice, Mapping) and "tokens" in choice and set(choice) <= {"tokens", "overlap"}:
        least, most = _parse_sizes(choice["tokens"])
        return TokenChunking(least, most, _parse_overlap(choice.get("overlap", 0), least))
    raise ValueError(f"chunking is {_choice_text(choice)}, and must be {FORMS}")


def _parse_number(name: str, value: object, form: str = "a whole number") -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"chunking: {name} is {value!r}, and must be {form}")  # noqa: TRY004  # pydantic reads only ValueError
    if value < 1:
        raise ValueError(f"chunking: {name} is {value}, and must be 1 or more")
    return value


def _parse_sizes(value: object) -> tuple[int, int]:
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        number = _parse_number("tokens", value, "a whole number or two of them, as 300-800")
        return number, number
    least, most = int(match[1]), int(match[2] or match[1])
    if least > most:
        raise ValueError(f"chunking: tokens is {value}; the smaller number comes first: {most}-{least}")
    return _parse_number("tokens", least), most


def _parse_overlap(value: object, least: int) -> TokenOverlap:
    percent = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if percent is not None:
        if float(percent[1]) >= 100:  # noqa: PLR2004  # all of it
            raise ValueError(f"chunking: overlap is {value}, and must be less than 100%")
        return TokenOverlap(share=float(percent[1]) / 100)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"chunking: overlap is {value!r}, and must be a share (15%) or a number of tokens")
    if value >= least:
        raise ValueError(f"chunking: overlap is {value} tokens, and must be less than the {least} that a chunk has at least")
    return TokenOverlap(tokens=value)


def _choice_text(choice: object) -> str:
    text = repr(choice)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004  # enough to see what is meant


# What of a document becomes a vector: its id, its title, and its chunks, each under a key that its text alone decides.

ChunkLines = tuple[int, int] | None

_BREAK = re.compile(r"\n")


@dataclass(frozen=True)
class Chunker:
    """How documents are cut. ``by_id``: not at all, they are known by their ids."""

    chunks: Chunking
    paths: bool
    by_id: bool

    def __str__(self) -> str:
        return "documents" if self.by_id else f"{self.chunks}{'+paths' if self.paths else ''}"

    def pieces(self, document: Document) -> dict[bytes, str]:
        """The texts of a document that become vectors, each under its key. Duplicates count once, what is blank does not count."""
        if self.by_id:
            return {text_key(document.id): document.id}
        text = document.text
        texts = (*self._heads(document), *(text[start:end] for start, end in self.chunks.spans(text)))
        pieces = {text_key(each): each for each in texts}
        pieces.pop(BLANK_KEY, None)
        return pieces

    def lines(self, document: Document) -> list[ChunkLines]:
        """The lines of each of the pieces; an id and a title have none."""
        lines_by_text: dict[str, ChunkLines] = dict.fromkeys([document.id] if self.by_id else self._heads(document))
        text = document.text
        breaks = [match.start() for match in _BREAK.finditer(text)]
        for start, end in [] if self.by_id else self.chunks.spans(text):
            chunk = text[start:end]
            if not chunk.isspace():
                first, last = end - len(chunk.lstrip()), start + len(chunk.rstrip())
                lines_by_text.setdefault(chunk, (1 + bisect_left(breaks, first), 1 + bisect_left(breaks, last)))
        return list(lines_by_text.values())

    def _heads(self, document: Document) -> list[str]:
        return [head for head in (document.id if self.paths else None, document.title) if head]


BLANK_KEY = b""  # the key of chunks that say nothing


def text_key(text: str) -> bytes:
    """A key that no other text has."""
    return BLANK_KEY if text.isspace() else hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
