"""Rows of a file that is read as UTF-8 piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import TypeVar

from searchmark.files.store import open_file
from searchmark.files.text_encoding import undecodable

T = TypeVar("T")


def naming_bytes(path: str | PathLike[str], rows: Iterator[T]) -> Iterator[T]:
    """The rows; where the decoder gives up, the line and the byte are looked for and named."""
    try:
        yield from rows
    except UnicodeDecodeError as error:
        with open_file(path) as file:
            raise undecodable(path, file) from error
