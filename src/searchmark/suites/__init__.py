"""Where cases come from: one reader per file format, chosen by what the file holds."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from searchmark.errors import FormatError, UsageError
from searchmark.records import Suite

FORMATS = ("native", "qrels")


def load_suite(path: str | PathLike[str], *, format: str | None = None, topics: str | PathLike[str] | None = None) -> Suite:  # noqa: A002  # the word that users know
    """Read a suite; ``topics`` adds the query texts that TREC keeps in a second file."""
    path = Path(path)
    chosen = format or _detect(path)
    if chosen not in FORMATS:
        raise UsageError(f"there is no suite format {chosen!r}; the formats are {', '.join(FORMATS)}")
    if chosen == "qrels":
        from searchmark.suites.trec import read_qrels

        return read_qrels(path, topics)
    if topics is not None:
        raise UsageError(f"{path} carries its own queries; topics belong to TREC qrels")
    from searchmark.suites.native import read_native

    return read_native(path)


def _detect(path: Path) -> str:
    """Structured text says so by its name or its first character; TREC lines are all the rest."""
    if path.suffix.lower() in {".yaml", ".yml", ".json", ".jsonl"}:
        return "native"
    try:
        with path.open("rb") as file:
            head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror}") from error
    return "native" if head.startswith((b"{", b"schema_version:")) else "qrels"


def save_suite(suite: Suite, path: str | PathLike[str]) -> None:
    """Write a suite in our own format, whole or not at all."""
    from searchmark.suites.native import write_native

    write_native(suite, path)
