"""What the docs show, held against what is printed.

A block begins with ``$ command``; the lines below it are what it prints. A line ``...`` stands for lines that are left out, and
``…`` within a line for text that is. Times and sizes differ from machine to machine: only their units are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

LEFT_OUT = "..."
_CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
_MEASURED = re.compile(r"(?<![\w.+-])[\d,]+(?:\.\d+)?(?:e-\d+)? ?(ms|µs|s|B|KB|kB|MB|GB)\b")
_MOMENT = re.compile(r"\b20\d{6}T\d{9}Z_(\S*?)_[0-9a-f]{8}\b")
_BLANKS = re.compile(r"\s+")
_RULE = re.compile(r"─{2,}")


@dataclass(frozen=True)
class ShownCommand:
    """A command of the docs, the lines that it is shown to print, and its exit code if the docs ask for it."""

    text: str
    lines: tuple[str, ...]
    code: int = 0

    @property
    def is_ours(self) -> bool:
        """Whether it needs no shell."""
        return self.text.startswith("searchmark ") and "$(" not in self.text


def shown_commands(page: str) -> Iterator[ShownCommand]:
    """Every command on a page, in order."""
    for block in _CONSOLE.findall(page):
        commands: list[ShownCommand] = []
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            text, *lines = piece.rstrip("\n").split("\n")
            if text == "echo $?":
                commands[-1] = ShownCommand(commands[-1].text, commands[-1].lines, int(lines[0]))
            else:
                commands.append(ShownCommand(text, tuple(lines)))
        yield from commands


def first_difference(shown: Sequence[str], *streams: str) -> str | None:
    """The first line of the docs that was not printed where it is shown; or a line of the first stream that they keep back."""
    printed = [[comparable(line) for line in stream.splitlines() if line.strip()] for stream in streams]
    at = [0] * len(printed)
    skipping = False
    for line in filter(str.strip, shown):
        if line.strip() == LEFT_OUT:
            skipping = True
            continue
        found = next(_places(comparable(line), printed, at, skipping=skipping), None)
        if found is None:
            return line
        stream, place = found
        at[stream], skipping = place + 1, False
    kept_back = printed[0][at[0] :]
    return kept_back[0] if kept_back and shown and not skipping else None


def _places(line: str, printed: Sequence[Sequence[str]], at: Sequence[int], *, skipping: bool) -> Iterator[tuple[int, int]]:
    for stream, lines in enumerate(printed):
        reach: Iterable[int] = range(at[stream], len(lines) if skipping else min(at[stream] + 1, len(lines)))
        yield from ((stream, place) for place in reach if _fits(line, lines[place]))


def _fits(shown: str, printed: str) -> bool:
    pattern = ".*".join(map(re.escape, shown.split("…")))
    return shown == printed or re.fullmatch(pattern, printed) is not None


def comparable(line: str) -> str:
    """A line without what differs from run to run."""
    line = _MOMENT.sub(r"MOMENT_\1", _MEASURED.sub(r"N \1", line))
    return _RULE.sub("──", _BLANKS.sub(" ", line)).strip()
