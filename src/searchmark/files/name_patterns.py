"""Names of files with placeholders, such as ``eval_{date}_{model}``: no value can lead out of the folder that they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from glob import escape
from pathlib import Path
from string import Formatter

from searchmark.errors import UsageError
from searchmark.files.store import file_name
from searchmark.files.text_encoding import shortened_bytes

PLACEHOLDERS = ("timestamp", "date", "suite", "agent", "model", "index")
LONGEST = 200  # bytes of one name; file systems hold 255


def check_pattern(pattern: str) -> None:
    """Refuse a pattern with an unknown placeholder, and one that names no file below a folder."""
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    try:
        parsed = list(Formatter().parse(pattern))
    except ValueError as error:
        raise UsageError(f"file_name {pattern!r} has a brace without its partner; the placeholders are {known}") from error
    for _, field, form, conversion in parsed:
        if field is not None and (field not in PLACEHOLDERS or form or conversion):
            shown = field + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            raise UsageError(f"file_name {pattern!r}: there is no placeholder {{{shown}}}; available: {known}")
    if any(part.startswith(".") or not part for part in pattern.split("/")) or "\\" in pattern or not pattern.isprintable():
        raise UsageError(
            f"file_name {pattern!r} must be a name below the output directory: no part may be empty or begin with a dot, "
            "and none has a backslash or a control character"
        )


def filled(pattern: str, values: Mapping[str, str]) -> Path:
    """The name with its values, each made one that files can have."""
    safe = {name: file_name(value).lstrip("-.") or "none" for name, value in values.items()}
    return Path(*(_bounded(part.format_map(safe)) for part in pattern.split("/")))


def files_like(folder: Path, pattern: str) -> Iterator[Path]:
    """The files that are there under this name, whatever the values were."""
    anything = ((escape(literal), "" if field is None else "*") for literal, field, _, _ in Formatter().parse(pattern))
    return folder.glob("".join(part for parts in anything for part in parts))


def _bounded(name: str) -> str:
    """The name, cut where it is too long for a file, with a digest that keeps it apart from others; its extension stays."""
    if len(name.encode()) <= LONGEST:
        return name
    stem, dot, extension = name.rpartition(".")
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{shortened_bytes(stem, LONGEST - 30)}-{digest}{dot}{extension}"
