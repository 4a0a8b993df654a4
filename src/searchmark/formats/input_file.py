"""A file on its way to becoming a run: read once, parsed once, with the names that somebody gave its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError
from searchmark.files.store import BOM, inner_stem, inner_suffix, open_file, parse_json, read_utf8
from searchmark.options.column_names import OF_RUNS, squashed

HEAD = 1 << 16  # bytes that tell the format: the header of a CSV may name a hundred columns


@lru_cache(maxsize=4096)
def named(names: tuple[str, ...], words: tuple[str, ...]) -> str | None:
    """The first of some names that is one of the words, in the order of the words."""
    by_word = {squashed(name): name for name in reversed(names)}
    return next((by_word[word] for word in map(squashed, words) if word in by_word), None)


@dataclass(frozen=True, eq=False)
class RunFile:
    """One file or folder that runs are read from; ``field_names`` is what it calls a query, a hit and so on, if that was said."""

    path: Path
    field_names: Mapping[str, str] = field(default_factory=dict)
    format_given: bool = False  # by whoever knows better than what a file looks like

    @property
    def name(self) -> str:
        """What a run without a name of its own is called."""
        return self.path.resolve().name if self.path.is_dir() else inner_stem(self.path)

    @property
    def suffix(self) -> str:
        return inner_suffix(self.path)

    @cached_property
    def head(self) -> bytes:
        """How the content begins."""
        with open_file(self.path) as file:
            return file.read(HEAD).removeprefix(BOM).lstrip()

    @cached_property
    def text(self) -> str:
        return read_utf8(self.path)

    @cached_property
    def data(self) -> Any:
        """The content of a JSON file; NaN is let in, and refused with its place where it is a score."""
        return parse_json(self.path, self.text, constants=True)

    @cached_property
    def by_line(self) -> bool:
        """Whether every line is a JSON value of its own, by the name of the file or by its first two lines."""
        first, separator, rest = self.head.partition(b"\n")
        if not separator or not rest.strip():
            return self.suffix in {".jsonl", ".ndjson"}
        return first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{")

    def column(self, role: str, names: tuple[str, ...], words: tuple[str, ...] | None = None) -> str | None:
        """Which of some names has a role: the one that was given for it, or one that says so; None if none does."""
        given = self.field_names.get(role)
        if given is None:
            return named(names, OF_RUNS[role] if words is None else words)
        if given not in names:
            raise FormatError(
                self.path, None, f"has no field {given!r}, which --map run.{role} names; it has {', '.join(map(repr, names))}"
            )
        return given

    def error(self, place: str | None, reason: str) -> FormatError:
        return FormatError(self.path, place, reason)
